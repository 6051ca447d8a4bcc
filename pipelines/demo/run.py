"""`make demo`: the main job from nothing to cited answers, on the demo site.

Serves the demo site on loopback, syncs it, asks one question for each retrieval mode, switches the
site to its second version, syncs again, shows what changed and an answer that changed with it.
Everything goes to ./.sitequest; running it again works and takes what is there as the parent.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path

from pipelines.cli.ask import show as show_answer
from pipelines.cli.output import print_error, progress, stdout
from pipelines.cli.snapshots import show_pages
from pipelines.cli.sync import show as show_sync
from pipelines.demo.showcase import CHANGED, SHOWCASE
from pipelines.demo.site import HOST, DemoSource
from pipelines.settings import Settings, load_settings
from pipelines.siteserver.server import SiteServer
from pipelines.sync import SyncReport, sync
from retrieval import open_index
from retrieval.errors import SitequestError
from retrieval.snapshot.pagechanges import page_changes
from retrieval.snapshot.reader import open_dir

HOME = Path(".sitequest")
PORT = 8377
SITE = "demo"


def main() -> int:
    """Run the demo; returns the exit code."""
    began = time.perf_counter()
    try:
        with SiteServer(DemoSource(), "v1", port=_port()) as server, progress(quiet=False):
            settings = load_settings(write_config(HOME, server.url))
            _run(settings, server)
            _next_steps(time.perf_counter() - began, server.url.rpartition(":")[2])
    except SitequestError as error:
        print_error(error, as_json=False)
        return error.exit_code
    return 0


def _port() -> int:
    """Return the demo's own port where it is free, else 0: any free one."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", PORT))
        except OSError:
            return 0
    return PORT


def write_config(home: Path, served_at: str) -> Path:
    """Write the demo's sites.yaml: the public host is mapped to where the site is served."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / "sites.yaml"
    path.write_text(
        "# Written by `make demo`. The demo site is served by the demo itself, or by\n"
        "# `sitequest site-server`; change host_map to where it listens.\n"
        "root: .\n"
        "sites:\n"
        f"  {SITE}:\n"
        f"    seeds: [https://{HOST}/]\n"
        f"    host_map: {{{HOST}: {json.dumps(served_at)}}}\n",
        encoding="utf-8",
    )
    return path


def _run(settings: Settings, server: SiteServer) -> None:
    _title(f"1. First sync of https://{HOST}/ (version 1, served at {server.url})")
    _sync(settings, "v1")
    _title("2. Three questions, one for each retrieval mode")
    for mode, question in SHOWCASE.items():
        _ask(settings, question, f"{mode}")
    _title("3. A question whose answer will change")
    _ask(settings, CHANGED, None)
    _title("4. The site changes (version 2); second sync")
    server.set_version("v2")
    report = _sync(settings, "v2")
    _changes(report)
    _title("5. The same question, from the new snapshot")
    _ask(settings, CHANGED, None)
    if report.manifest.parent:
        stdout.print(
            f'\nThe old answer is still there: sitequest ask "{CHANGED}" --as-of v1', markup=False
        )


def _sync(settings: Settings, label: str) -> SyncReport:
    report = sync(settings, SITE, label=label)
    show_sync(report)
    if report.status == "held":
        raise SitequestError(
            "The demo's candidate was held.",
            "See the failed checks above; `make clean` starts anew.",
        )
    return report


def _changes(report: SyncReport) -> None:
    """Print what changed on the site, page by page."""
    after = open_dir(report.directory)
    if after.manifest.parent is None:
        return
    before = open_dir(report.directory.parent / after.manifest.parent)
    show_pages(page_changes(before, after), most=8)


def _ask(settings: Settings, question: str, meant_for: str | None) -> None:
    stdout.print(
        f"\nQ: {question}" + (f"   [for mode {meant_for}]" if meant_for else ""), markup=False
    )
    index = open_index(settings.root, SITE)
    show_answer(index.ask(question))


def _title(text: str) -> None:
    stdout.print(f"\n== {text}", style="bold cyan", markup=False)


def _next_steps(seconds: float, port: str) -> None:
    _title(f"Done in {seconds:.0f} s. What next")
    serve = f".venv/bin/sitequest site-server --port {port}"
    steps = [*NEXT, (serve, "serve the demo site again: doctor and sync need it")]
    for command, what in [*steps, *OWN_SITE]:
        stdout.print(f"  {command:<46}{what}", markup=False)


NEXT = (
    ("make dagster", "the lineage, checks and plots in Dagster's UI"),
    ('.venv/bin/sitequest ask "…" --as-of v1', "ask the demo site yourself (also --json)"),
    (".venv/bin/sitequest diff v1 v2", "what changed between the two versions"),
)
OWN_SITE = (
    (
        ".venv/bin/sitequest init https://your.site/",
        "your own site: writes sites.yaml, which wins from then on",
    ),
    (".venv/bin/sitequest doctor", "check that everything is there"),
    (".venv/bin/sitequest sync", "build your index"),
    (
        ".venv/bin/sitequest ask … -c .sitequest/sites.yaml",
        "the demo, once you have your own sites.yaml",
    ),
)


if __name__ == "__main__":
    sys.exit(main())
