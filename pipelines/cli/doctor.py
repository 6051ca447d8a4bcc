"""`sitequest doctor`: is everything there that a sync and an answer need, and what to do if not."""

from __future__ import annotations

import typer

from pipelines.cli.options import ConfigOption, JsonOption, settings_of
from pipelines.cli.output import print_json, stdout

MARKS = {"ok": "[green]ok  [/]", "warn": "[yellow]warn[/]", "fail": "[red]FAIL[/]"}


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("doctor")(doctor)


def doctor(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Check models, disk, links, Dagster's home, snapshots and the sites; say the remedy.

    Exit code 1 when something failed.
    """
    from rich.markup import escape

    from pipelines.health import examine

    findings = examine(settings_of(config))
    if as_json:
        print_json([finding.model_dump() for finding in findings])
    else:
        for finding in findings:
            stdout.print(
                f"{MARKS[finding.status]} {escape(finding.what)}: {escape(finding.detail)}"
            )
            if finding.remedy:
                stdout.print(f"       remedy: {finding.remedy}", markup=False)
    if any(finding.status == "fail" for finding in findings):
        raise typer.Exit(1)
