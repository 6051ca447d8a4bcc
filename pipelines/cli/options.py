"""Options that several commands share, and how they find settings and snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pipelines.settings import Settings

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", envvar="SITEQUEST_CONFIG",
        help="Configuration file (default: ./sites.yaml, then ./.sitequest/sites.yaml).",
    ),
]  # fmt: skip
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
SiteOption = Annotated[
    str | None, typer.Option("--site", "-s", help="Site (needed when there are several).")
]
SiteArgument = Annotated[
    str | None, typer.Argument(help="Site of sites.yaml (needed when there are several).")
]


def settings_of(config: Path | None) -> Settings:
    """Load the settings that a command works on. Raises BadInputError."""
    from pipelines.settings import find_config, load_settings

    return load_settings(find_config(config))
