"""`sitequest init`: write a commented sites.yaml for a website."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from pipelines.cli.options import JsonOption
from pipelines.cli.output import print_json, stdout
from retrieval.errors import BadInputError

TEMPLATE = """\
# Configuration of sitequest. Every key is explained in docs/configuration.md; a mistake is
# reported with its key and line. Check with: sitequest doctor

# Where snapshots, journals, traces and Dagster's history are kept; relative to this file.
root: .sitequest

sites:
  {name}:
    # Where the crawl begins. Links and the site's sitemaps lead on from there.
    seeds:
      - {url}

    # What belongs to the site. Nothing outside these hosts is ever requested.
    scope:
      hosts: [{host}]
      include: []          # regular expressions on path and query; empty: everything
      exclude: []          # e.g. ["/calendar/", "\\\\?print="]
      # max_depth: 10      # clicks from a seed

    # Public host -> where it is served, for a staging copy or a site on this machine.
    # Identities stay those of the public address.
    # host_map:
    #   {host}: http://127.0.0.1:8000

    budgets:
      max_pages: 20000
      max_body_bytes: 10000000       # a larger page is skipped, with the reason
      max_total_bytes: 5000000000

    politeness:
      concurrency: 4                 # requests at once
      delay_seconds: 0.5             # pause between requests; robots.txt may ask for more
      contact: ""                    # an address for the site's owner, sent in the user agent

    # Sync on a schedule (Dagster's daemon: `sitequest dagster`).
    # schedule:
    #   cron: "0 3 * * *"
    #   timezone: UTC
"""


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("init")(init)


def init(
    url: Annotated[str, typer.Argument(help="Address of the site's first page.")],
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the site (default: from the host).")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")] = Path(
        "sites.yaml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a commented sites.yaml for the site at URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInputError(f"{url!r} is not an http(s) address.", "Try https://www.example.org/.")
    if output.exists() and not force:
        raise BadInputError(f"{output} exists.", "Add the site there by hand, or use --force.")
    site = name or _name(parts.hostname)
    text = TEMPLATE.format(name=site, url=parts._replace(fragment="").geturl(), host=parts.netloc)
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInputError(
            f"{output} cannot be written: {error.strerror}.", "Name another file with --output."
        ) from error
    _check(output)
    if as_json:
        print_json({"config": str(output), "site": site})
    else:
        stdout.print(
            f"Wrote {output} for site {site}. Next: sitequest doctor; sitequest sync {site}"
        )


def _check(path: Path) -> None:
    """Load what was written: a template that does not load must not reach a person."""
    from pipelines.settings import load_settings

    try:
        load_settings(path)
    except BadInputError:
        path.unlink()
        raise


def _name(host: str) -> str:
    """Derive a site name from a host: the label before the public suffix, roughly."""
    labels = [label for label in host.lower().split(".") if label != "www"]
    word = labels[-2] if len(labels) > 1 and not labels[-1].isdigit() else labels[0]
    return re.sub(r"[^a-z0-9_-]", "-", word).strip("-") or "site"
