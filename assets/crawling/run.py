"""Running a crawl from a process that must stay small: spawn, follow, report, explain failures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

import assets
from assets.crawling.config import CrawlConfig, host_of
from assets.crawling.journal import HELD_STATES, Journal
from assets.crawling.urls import UrlRules
from retrieval.errors import SitequestError
from retrieval.snapshot.layout import SitePaths

if TYPE_CHECKING:
    import polars as pl

Progress = Callable[[dict[str, Any]], None]

# A page that is gone, or that was never a page, is asked for again only when something links to it.
_REVISITED = (*HELD_STATES, "redirected")


class CrawlError(SitequestError):
    """A crawl that gave nothing to build from."""


class CrawlReport(BaseModel):
    """What a crawl did.

    ``counts`` is URLs by outcome (ok, unchanged, redirect, missing, denied, unreachable, blocked,
    skipped, and pending when a budget ended the crawl). ``requests`` counts every request, robots
    and sitemaps included; ``bytes`` are bodies as sent over the wire. ``seconds`` is wall time,
    ``cpu_seconds`` and ``peak_rss_mb`` (MiB) are those of the subprocess. ``resumed`` says that an
    earlier, broken off run of the same crawl was continued; requests, bytes and costs are then of
    the last run alone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    crawl_id: str
    journal: Path
    counts: dict[str, int]
    requests: int
    bytes: int
    seconds: float
    cpu_seconds: float
    peak_rss_mb: float
    resumed: bool
    budget: str | None
    sitemap_problems: list[str]


def journal_path(paths: SitePaths, crawl_id: str) -> Path:
    """Return the journal of a crawl."""
    return paths.journal / f"{crawl_id}.sqlite"


def crawl(
    config: CrawlConfig,
    paths: SitePaths,
    crawl_id: str,
    parent_pages: pl.DataFrame | None,
    progress: Progress | None = None,
    *,
    conditional: bool = True,
) -> CrawlReport:
    """Crawl a site in a subprocess; the journal and new bodies are on disk afterwards.

    ``parent_pages`` is the parent's `pages` table: its pages are revisited, with conditional
    requests unless ``conditional`` is False (for a change of the code that reads pages). A crawl
    with the id of one that was broken off goes on where that one stood. ``progress`` receives
    ``{"event": "progress", "done", "known", "requests", "bytes", "outcomes"}`` about once a second.

    Raises CrawlError when the host cannot be reached, robots.txt forbids everything, or there is
    no page to index; JournalError for a damaged journal; SitequestError for anything else that
    ends the subprocess. The caller holds the site's writer lock.
    """
    path = journal_path(paths, crawl_id)
    with Journal(path) as journal:
        resumed = journal.count("urls") > 0
        if not resumed and parent_pages is not None:
            _plant(journal, config, parent_pages, conditional)
    job = {
        "config": config.model_dump(mode="json"),
        "root": str(paths.root.resolve()),
        "site": paths.site,
        "crawl_id": crawl_id,
        "journal": str(path.resolve()),
        "parent_pid": os.getpid(),
    }
    finished: dict[str, Any] | None = None
    for event in _events(job):
        if event["event"] == "error":
            raise SitequestError(event["message"], event["remedy"])
        if event["event"] == "finished":
            finished = event
        if progress is not None:
            progress(event)
    if finished is None:
        raise SitequestError(
            "The crawl ended before it was finished.",
            "Run the sync again: it goes on from the journal.",
        )
    with Journal(path) as journal:
        _explain_nothing(journal, config)
        return CrawlReport(
            crawl_id=crawl_id,
            journal=path,
            counts=journal.outcomes(),
            resumed=resumed,
            budget=journal.meta("budget"),
            sitemap_problems=(journal.meta("sitemap_problems") or "").splitlines(),
            **{key: value for key, value in finished.items() if key != "event"},
        )


def _plant(
    journal: Journal, config: CrawlConfig, parent_pages: pl.DataFrame, conditional: bool
) -> None:
    """Put what the parent snapshot knows into the frontier, nearest pages first."""
    import polars as pl

    rules = UrlRules(config)
    is_content = pl.col("state").is_in(HELD_STATES)
    validator = is_content & pl.lit(conditional)
    rows = (
        parent_pages.filter(pl.col("state").is_in(_REVISITED))
        .sort("depth", "key", nulls_last=True)
        .select(
            "url",
            pl.coalesce("depth", pl.lit(0)),
            "state",
            pl.when(validator).then("etag"),
            pl.when(validator).then("last_modified"),
            # The body is decoded again by the codec that was found the first time.
            pl.format("{}; charset={}", "content_type", "encoding"),
            pl.when(is_content).then("body_sha256"),
        )
    )
    journal.begin()
    known = []
    for url, depth, *rest in rows.iter_rows():
        if rules.in_scope(url):
            known.append((journal.add_url(rules.key(url), url, "known", clicks=depth), *rest))
    journal.add_known(known)
    journal.commit()


def _events(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Run the subprocess and yield its lines; it is gone when the iteration ends, however."""
    search = [str(Path(next(iter(assets.__path__))).parent), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, "-m", "assets.crawling.spider_main"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, search))},
    )
    assert process.stdin is not None  # noqa: S101  both are pipes
    assert process.stdout is not None  # noqa: S101
    try:
        # A child that died at its start has closed the pipe; its silence is reported below.
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
        for line in process.stdout:
            yield json.loads(line)
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        if process.poll() is None:
            process.terminate()
        process.wait()


def _explain_nothing(journal: Journal, config: CrawlConfig) -> None:
    """Raise CrawlError, with cause and remedy, when the crawl gave no page at all."""
    counts = journal.outcomes()
    if counts.get("ok") or counts.get("unchanged"):
        return
    seeds = ", ".join(config.seeds[:3]) + (", …" if len(config.seeds) > 3 else "")
    robots = dict(journal.notes("robots"))
    closed = [f"{host}: {said}" for host, said in robots.items() if said.startswith("unreachable")]
    reasons = journal.reasons()
    if closed:
        raise CrawlError(
            f"The site cannot be crawled from {seeds}: its robots.txt cannot be had "
            f"({'; '.join(closed)}), which forbids every request.",
            "Check the address and host_map, that the site is up and can be reached from here "
            "(a private address needs allow_private or a host_map entry), then sync again.",
        )
    if counts.get("unreachable"):
        raise CrawlError(
            f"No page of the site could be reached from {seeds}: {reasons['unreachable']}.",
            "Check that the site is up and can be reached from here, then sync again.",
        )
    if counts.get("blocked"):
        hosts = ", ".join(sorted({host_of(seed) for seed in config.seeds}))
        raise CrawlError(
            f"robots.txt of {hosts} forbids every page that is known of the site to this crawler.",
            "Choose seeds that it allows, or ask the site's keeper to allow the user agent "
            "“sitequest”.",
        )
    if counts.get("skipped"):
        raise CrawlError(
            f"There is no HTML page to index from {seeds}: everything was skipped "
            f"({reasons['skipped']}).",
            "Choose seeds that are HTML pages, and check include and exclude.",
        )
    raise CrawlError(
        f"The site is empty: {seeds} led to no page "
        f"({', '.join(f'{n} {outcome}' for outcome, n in sorted(counts.items()))}).",
        "Check the seeds: they must be public URLs of existing pages.",
    )
