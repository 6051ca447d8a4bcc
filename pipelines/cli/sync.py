"""`sitequest sync`: crawl, rebuild what changed, check, publish."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.options import ConfigOption, JsonOption, QuietOption, SiteArgument, settings_of
from pipelines.cli.output import print_json, print_table, progress, stderr, stdout
from retrieval.errors import HeldError

if TYPE_CHECKING:
    from pipelines.sync import SyncReport


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("sync")(sync)


def sync(
    site: SiteArgument = None,
    label: Annotated[
        str | None, typer.Option("--label", help="Name the snapshot, e.g. a version of the site.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Bring the index of SITE in step with the website and publish a snapshot.

    Exit code 3: the candidate failed a check and is held; the published snapshot stays.
    """
    from pipelines.sync import sync as run_sync

    settings = settings_of(config)
    name = settings.only_site(site)
    with progress(quiet=quiet):
        report = run_sync(settings, name, label=label)
    if as_json:
        print_json(as_dict(report))
    else:
        show(report)
    if report.status == "held":
        raise typer.Exit(HeldError.exit_code)


def as_dict(report: SyncReport) -> dict[str, Any]:
    """Return the report as JSON-ready data."""
    manifest = report.manifest
    return {
        "site": report.site,
        "status": report.status,
        "snapshot_id": manifest.id,
        "parent": manifest.parent,
        "label": manifest.label,
        "run_id": report.run_id,
        "rows": {name: entry.rows for name, entry in manifest.tables.items()},
        "changes": report.changes,
        "failed_checks": [c.model_dump() for c in manifest.checks if not c.passed],
        "stages": {name: asdict(cost) for name, cost in report.stages.items()},
        "path": str(Path(report.directory)),
    }


def show(report: SyncReport) -> None:
    """Print the report for a person."""
    manifest = report.manifest
    if report.status == "unchanged":
        stdout.print(f"{report.site}: nothing changed; {manifest.id} stays published.")
        return
    kinds = () if manifest.parent is None else KINDS
    rows = [
        [name, entry.rows, *(report.changes.get(name, {}).get(kind, 0) for kind in kinds)]
        for name, entry in manifest.tables.items()
        if name not in ("changes", "metrics")
    ]
    print_table(f"{report.site} {manifest.id}", ["table", "rows", *kinds], rows)
    if report.status == "held":
        reason = manifest.verdict.reason if manifest.verdict else ""
        stderr.print(f"held: {reason}", style="bold red", markup=False)
        stays = "the published snapshot stays" if manifest.parent else "nothing is published yet"
        stderr.print(f"kept under {report.directory}; {stays}.", markup=False)
        stderr.print(
            "remedy: mend the site, its configuration or the limits (`checks`); sync again."
        )
    else:
        stdout.print(f'Published {manifest.id}. Ask it: sitequest ask "…" --site {report.site}')


KINDS = ("added", "changed", "removed")
