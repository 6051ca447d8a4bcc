"""`sitequest ask`: a cited answer from the published snapshot, or an earlier one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipelines.cli.options import ConfigOption, JsonOption, SiteOption, settings_of
from pipelines.cli.output import print_json, stdout

if TYPE_CHECKING:
    from retrieval.answer.models import Answer


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("ask")(ask)


def ask(
    question: Annotated[str, typer.Argument(help="The question, in the site's language.")],
    site: SiteOption = None,
    mode: Annotated[
        Literal["auto", "direct", "navigation", "reasoning"],
        typer.Option("--mode", help="Retrieval mode; auto lets the router choose."),
    ] = "auto",
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="Snapshot id, label or date (YYYY-MM-DD).")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer QUESTION with quotes, each cited to its block, page and snapshot."""
    from retrieval import open_index

    settings = settings_of(config)
    name = settings.only_site(site)
    index = open_index(
        settings.root, name, as_of=as_of, config=settings.retrieval, models=settings.models
    )
    answer = index.ask(question, mode=mode)
    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        show(answer)


def show(answer: Answer) -> None:
    """Print an answer for a person. Crawled text is printed as text, never as markup."""
    stdout.print(answer.answer, markup=False, style="bold")
    for number, claim in enumerate(answer.claims, start=1):
        for citation in claim.citations:
            stdout.print(f"\n[{number}] “{citation.quote}”", markup=False)
            stdout.print(f"    {' > '.join(citation.heading_path)}", markup=False, style="dim")
            fetched = f"{citation.fetched_at:%Y-%m-%d %H:%M} UTC" if citation.fetched_at else "?"
            stdout.print(f"    {citation.url}  (fetched {fetched})", markup=False)
            if citation.entities:
                names = ", ".join(citation.entities[:5])
                stdout.print(f"    about: {names}", markup=False, style="dim")
    stdout.print(
        f"\nmode {answer.mode} · snapshot {answer.snapshot_id} · trace {answer.trace_id} · "
        f"{answer.reader_tokens} tokens read · {answer.seconds:.2f} s",
        markup=False,
        style="dim",
    )
