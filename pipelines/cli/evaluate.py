"""`sitequest eval`: how well an existing snapshot answers a file of questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.cli.options import (
    ConfigOption,
    JsonOption,
    QuietOption,
    SiteOption,
    settings_of,
)
from pipelines.cli.output import print_json, print_table, progress

SHOWN = (
    "n", "span_recall@10", "block_recall@10", "page_recall@10", "fact_coverage",
    "abstain_precision", "abstain_recall", "reader_tokens",
)  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("eval")(evaluate)


def evaluate(
    questions: Annotated[
        Path, typer.Option("--questions", help="JSONL file of questions with gold evidence.")
    ],
    site: SiteOption = None,
    snapshot: Annotated[
        str | None, typer.Option("--snapshot", help="Snapshot id, label or date (default: latest).")
    ] = None,
    version: Annotated[
        str | None, typer.Option("--version", help="Version whose gold holds (default: the label).")
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system", help="sitequest, chunk, chunk-all; may be repeated (default: sitequest)."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="A deterministic sample of this size.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Evaluate an existing snapshot; never builds one."""
    from pipelines.evaluating import evaluate_snapshot

    settings = settings_of(config)
    with progress(quiet=quiet):
        report = evaluate_snapshot(
            settings,
            settings.only_site(site),
            questions,
            snapshot=snapshot,
            version=version,
            systems=system or ["sitequest"],
            limit=limit,
        )
    if as_json:
        print_json(report)
    else:
        _show(report)


def _show(report: dict[str, Any]) -> None:
    for name, types in report["systems"].items():
        rows = [
            [kind, *(_cell(figures.get(key)) for key in SHOWN)] for kind, figures in types.items()
        ]
        print_table(
            f"{name} on {report['questions']} at {report['snapshot']}", ["type", *SHOWN], rows
        )


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
