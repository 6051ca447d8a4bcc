"""The crawl as a process: killed, resumed, orphaned; and what the parent must not load."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from assets.crawling.config import CrawlConfig
from assets.crawling.journal import Journal, JournalError
from assets.crawling.pages import build_pages
from assets.crawling.run import crawl, journal_path
from pipelines.siteserver.faults import Fault
from pipelines.siteserver.server import SiteServer
from retrieval.errors import SitequestError
from retrieval.snapshot.bodies import Bodies
from retrieval.snapshot.layout import SitePaths

Serve = Callable[..., SiteServer]
HOST = "www.example.edu"
PAGES = 60


def wide_site() -> dict[str, str]:
    links = "".join(f'<a href="/{n}">{n}</a>' for n in range(PAGES))
    leaf = "<title>Page {n}</title><p>Text of page {n}</p><a href='/leaf/{n}'>leaf</a>"
    return {
        "/": f"<title>Home</title><p>Home</p>{links}",
        **{f"/{n}": leaf.format(n=n) for n in range(PAGES)},
        **{f"/leaf/{n}": f"<title>Leaf {n}</title><p>Leaf {n}</p>" for n in range(PAGES)},
    }


def config_for(server: SiteServer) -> CrawlConfig:
    return CrawlConfig(seeds=[f"http://{HOST}/"], host_map={HOST: server.url}, concurrency=4)


def child_of(pid: int) -> psutil.Process:
    """Wait for the crawl subprocess of ``pid`` and return it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for child in psutil.Process(pid).children():
            if "assets.crawling.spider_main" in child.cmdline():
                return child
        time.sleep(0.02)
    raise AssertionError("no crawl subprocess")


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_killed_and_resumed_gives_the_same_set(tmp_path: Path, serve_site: Serve) -> None:
    server = serve_site(wide_site())
    config = config_for(server)
    whole = SitePaths(tmp_path, "whole")
    report = crawl(config, whole, "c", None, None)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    expected = build_pages(report.journal, None, now=now, config=config)

    broken = SitePaths(tmp_path, "broken")
    server.set_faults(Fault(kind="latency", seconds=0.3))
    killed: list[int] = []

    def kill_once(event: dict[str, Any]) -> None:
        if not killed and event.get("done", 0) >= 10:
            killed.append(event["done"])
            child_of(os.getpid()).send_signal(signal.SIGKILL)

    with pytest.raises(SitequestError, match="before it was finished") as raised:
        crawl(config, broken, "c", None, kill_once)
    assert "Run the sync again" in raised.value.remedy
    assert not broken.bodies.exists()
    with Journal(journal_path(broken, "c")) as journal:
        done = journal.count("fetches")
        assert 10 <= done < 2 * PAGES
        assert journal.count("bodies") == done, "an outcome and its body stand or fall together"
        assert journal.meta("finished") is None

    server.set_faults()
    server.clear_requests()
    resumed = crawl(config, broken, "c", None, None)
    assert resumed.resumed
    # By target: a request of the killed crawl that the server was still delaying is logged late.
    asked = {entry.target for entry in server.requests()}
    assert len(asked) <= 2 * PAGES + 1 - done + 2, "what was fetched is not asked again"
    again = build_pages(resumed.journal, None, now=now, config=config)
    history = ["fetched_at"]
    assert again.drop_columns(history).equals(expected.drop_columns(history))
    assert Bodies(broken.bodies).known() == Bodies(whole.bodies).known()
    with Journal(journal_path(broken, "c")) as journal:
        assert journal.count("bodies") == 0
        assert journal.meta("finished") is not None


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_crawl_ends_with_its_parent(
    tmp_path: Path, serve_site: Serve, how: signal.Signals
) -> None:
    server = serve_site(wide_site())
    server.set_faults(Fault(kind="latency", seconds=0.5))
    code = (
        "import sys, json\n"
        "from pathlib import Path\n"
        "from assets.crawling.config import CrawlConfig\n"
        "from assets.crawling.run import crawl\n"
        "from retrieval.snapshot.layout import SitePaths\n"
        "config = CrawlConfig.model_validate_json(sys.argv[1])\n"
        "crawl(config, SitePaths(Path(sys.argv[2]), 'test'), 'c', None, None)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, config_for(server).model_dump_json(), str(tmp_path)],
        cwd=Path(__file__).parents[2],
        stderr=subprocess.DEVNULL,
    )
    child = child_of(parent.pid)
    wait_for(lambda: len(server.requests()) > 3)
    parent.send_signal(how)
    parent.wait(timeout=30)
    wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    with Journal(journal_path(SitePaths(tmp_path, "test"), "c")) as journal:
        assert journal.count("urls") > 0


def test_the_parent_stays_small() -> None:
    code = (
        "import sys, json\n"
        "import assets.crawling.run, assets.crawling.pages\n"
        "heavy = ('scrapy', 'twisted', 'lxml', 'torch', 'lancedb')\n"
        "print(json.dumps([name for name in heavy if name in sys.modules]))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, check=True
    )
    assert json.loads(ran.stdout) == []


def test_a_damaged_journal_is_a_clear_error(tmp_path: Path, serve_site: Serve) -> None:
    server = serve_site({"/": "<p>x"})
    paths = SitePaths(tmp_path, "test")
    paths.journal.mkdir(parents=True)
    journal_path(paths, "c").write_bytes(b"not a database, by any means" * 100)
    with pytest.raises(JournalError, match="cannot be opened"):
        crawl(config_for(server), paths, "c", None, None)


def test_a_missing_stored_body_is_a_clear_error(tmp_path: Path, serve_site: Serve) -> None:
    import polars as pl

    server = serve_site({"/": "<title>Home</title><p>Home"})
    config, paths = config_for(server), SitePaths(tmp_path, "test")
    report = crawl(config, paths, "c1", None, None)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    pages = pl.from_arrow(build_pages(report.journal, None, now=now, config=config))
    for part in paths.bodies.iterdir():
        part.unlink()
    with pytest.raises(SitequestError, match="bodies are not in"):
        crawl(config, paths, "c2", pages, None)  # type: ignore[arg-type]
    full = crawl(config, paths, "c3", pages, None, conditional=False)  # type: ignore[arg-type]
    assert full.counts == {"ok": 1}
