"""The crawl subprocess: ``python -m assets.crawling.spider_main``.

One JSON line on standard input says what to do (``Job``); standard input then stays open, and its
end means that the parent is gone: the process ends at once, the journal holds what was done.
Progress goes to standard output as JSON lines; the last one is ``finished`` or ``error``.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess

from assets.crawling.config import CrawlConfig
from assets.crawling.core import Crawl
from assets.crawling.journal import Journal
from assets.crawling.transport import Transport, settings
from assets.crawling.urls import UrlRules
from assets.publishing.bodies import BodyWriter
from assets.stage import peak_rss_mb
from retrieval.errors import SitequestError
from retrieval.snapshot.bodies import Bodies
from retrieval.snapshot.layout import SitePaths

_PR_SET_PDEATHSIG = 1


class Job(BaseModel):
    """What the parent asks for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: CrawlConfig
    root: Path
    site: str
    crawl_id: str
    journal: Path
    parent_pid: int


class SiteSpider(Spider):
    """Runs a `Crawl` on Scrapy's downloader; schedules nothing with Scrapy."""

    name = "sitequest"
    job: Job
    result: dict[str, Any]

    async def start(self) -> AsyncIterator[Request]:
        """Run the crawl to its end; yields no request."""
        job = self.job
        try:
            with Journal(job.journal) as journal:
                transport = Transport(self.crawler, job.config, UrlRules(job.config))
                bodies = Bodies(SitePaths(job.root, job.site).bodies)
                crawl = Crawl(job.config, journal, transport.get, bodies, emit)
                await crawl.run()
                self.result["totals"] = crawl.totals
        except BaseException as error:
            # Scrapy would log it and report success.
            self.result["error"] = error
        nothing: tuple[Request, ...] = ()
        for request in nothing:
            yield request


def emit(event: dict[str, Any]) -> None:
    """Write one JSON line for the parent."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run the job on standard input; return the exit code."""
    started = time.monotonic()
    job = Job.model_validate_json(sys.stdin.readline())
    _end_with_parent(job.parent_pid)
    # Its warnings about single responses are outcomes in the journal.
    logging.getLogger("scrapy").setLevel(logging.ERROR)
    result: dict[str, Any] = {}
    try:
        process = AsyncCrawlerProcess(settings(job.config))
        process.crawl(SiteSpider, job=job, result=result)
        process.start()
        if (error := result.get("error")) is not None:
            raise error
        _keep_bodies(job)
    except SitequestError as error:
        emit({"event": "error", "message": error.message, "remedy": error.remedy})
        return 1
    totals = result["totals"]
    times = os.times()
    emit(
        {
            "event": "finished",
            "requests": totals.requests,
            "bytes": totals.wire_bytes,
            "seconds": time.monotonic() - started,
            "cpu_seconds": times.user + times.system,
            "peak_rss_mb": peak_rss_mb(),
        }
    )
    return 0


def _keep_bodies(job: Job) -> None:
    """Move the bodies from the journal to the store, durably, then mark the crawl as finished.

    Killed in between, the next run of the same crawl finds them known and only drops them.
    """
    with Journal(job.journal) as journal:
        if journal.count("bodies"):
            from datetime import UTC, datetime

            with BodyWriter(SitePaths(job.root, job.site), job.crawl_id) as writer:
                for body in journal.bodies():
                    fetched = datetime.fromtimestamp(body.fetched_at, UTC)
                    writer.add(body.sha, body.plain(), body.content_type, fetched)
            journal.drop_bodies()
        journal.set_meta("finished", str(time.time()))


def _end_with_parent(parent_pid: int) -> None:
    """Make this process end when its parent does, however that comes about.

    The kernel's signal (Linux) comes at once; the closed pipe works everywhere.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent_pid:
            os._exit(1)

    descriptor = sys.stdin.fileno()

    def watch() -> None:
        # The bare descriptor: a thread inside a buffered reader would upset the interpreter's end.
        with contextlib.suppress(OSError):
            while os.read(descriptor, 4096):
                pass
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
