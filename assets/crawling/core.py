"""The crawl itself: from the frontier to an outcome for each URL. Knows no Scrapy.

A loop takes URLs in order of discovery, keeps at most ``concurrency`` of them in flight, and puts
back what must wait (a pause the host asked for, a back-off, a second look at a 404). A redirect is
an outcome of its URL; its target is a URL like any other.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urljoin

from assets.crawling.config import CrawlConfig, host_of
from assets.crawling.hosts import Get, Hosts, is_busy
from assets.crawling.journal import HELD_STATES, Body, Fetch, Journal, Outcome, Source, Todo
from assets.crawling.media import HTML, kind_of, kind_of_url, media_type
from assets.crawling.outlinks import LinkReader
from assets.crawling.reply import PrivateAddressError, Reply, TooLargeError, TransportError
from assets.crawling.urls import UrlRules
from assets.parsing.digest import base_url, tree_digest, tree_of
from retrieval.snapshot.bodies import Bodies
from retrieval.snapshot.ids import body_sha256

# A page that sends its reader elsewhere within this many seconds is a redirect.
REFRESH_SECONDS = 10.0
_WINDOW = 500
_PROGRESS_SECONDS = 1.0


@dataclass
class Totals:
    """What the crawl has done so far: ``pages`` over all its runs, the rest in this process."""

    requests: int = 0
    wire_bytes: int = 0
    pages: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)


class Crawl:
    """One crawl: configuration, journal, a way to request, and the store of known bodies."""

    def __init__(
        self,
        config: CrawlConfig,
        journal: Journal,
        get: Get,
        bodies: Bodies,
        progress: Callable[[dict[str, Any]], None],
    ) -> None:
        self._config, self._journal, self._get = config, journal, get
        self._bodies, self._progress = bodies, progress
        self._rules = UrlRules(config)
        self._links = LinkReader(self._rules)
        self._hosts = Hosts(config, self._rules, self._links, journal, self._counted)
        self.totals = Totals()
        self._waiting: list[tuple[float, int, Todo]] = []
        self._window: list[Todo] = []
        self._after = 0
        self._attempts: Counter[int] = Counter()
        self._ids: dict[str, int] = {}
        self._last_progress = 0.0

    async def run(self) -> None:
        """Crawl until the frontier is empty or a budget is spent.

        Raises MissingBodyError when a body that the parent snapshot refers to is not in the store.
        """
        earlier = self._journal.outcomes()
        self.totals.pages = earlier.get("ok", 0) + earlier.get("unchanged", 0)
        self._journal.begin()
        for url in filter(None, map(self._links.one, self._config.seeds)):
            self._journal.mark_seed(self._add(url, "seed"))
        self._journal.commit()
        await self._read_hosts()
        while True:
            await self._drain()
            if not self._read_stored() or self._budget() is not None:
                break
        if (budget := self._budget()) is not None and self._journal.outcomes().get("pending"):
            self._journal.set_meta("budget", budget)

    # -- hosts and frontier --------------------------------------------------------------------

    async def _read_hosts(self) -> None:
        hosts = [host for host in sorted(self._config.scope()) if not host.startswith("*")]
        await asyncio.gather(*(self._hosts.robots(host) for host in hosts))
        if not self._config.sitemaps:
            return
        problems: list[str] = []
        listed: dict[str, str | None] = {}
        for host in hosts:
            found, wrong = await self._hosts.read_sitemaps(host)
            problems += wrong
            listed |= found
        self._journal.begin()
        for url, lastmod in listed.items():
            self._journal.mark_sitemap(self._add(url, "sitemap"), lastmod)
        self._journal.set_meta("sitemap_problems", "\n".join(problems))
        self._journal.commit()

    def _add(self, url: str, source: Source, *, clicks: int = 0, hops: int = 0) -> int:
        """Return the id of a cleaned in-scope public URL, adding it to the frontier when new."""
        found = self._ids.get(url)
        if found is None:
            found = self._journal.add_url(
                self._rules.key(url), url, source, clicks=clicks, hops=hops
            )
            self._ids[url] = found
        return found

    def _budget(self) -> str | None:
        """Return the name of the budget that is spent, None when there is room."""
        if self.totals.pages >= self._config.max_pages:
            return "max_pages"
        return "max_total_bytes" if self.totals.wire_bytes >= self._config.max_total_bytes else None

    async def _drain(self) -> None:
        """Process everything in the frontier, new URLs included."""
        running: set[asyncio.Task[None]] = set()
        try:
            while True:
                room = self._config.max_pages - self.totals.pages - len(running)
                while len(running) < self._config.concurrency and room > 0:
                    todo = self._next() if self._budget() is None else None
                    if todo is None:
                        break
                    running.add(asyncio.create_task(self._process(todo)))
                    room -= 1
                if not running and (not self._waiting or self._budget() is not None):
                    return
                running = await self._pause(running)
                self._report()
        finally:
            for task in running:
                task.cancel()

    async def _pause(self, running: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        """Wait until a request ends or, when another may start, a waiting URL is due."""
        due = max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None
        if not running:
            await asyncio.sleep(due or 0.0)
            return running
        full = len(running) >= self._config.concurrency or self._budget() is not None
        done, running = await asyncio.wait(
            running, timeout=None if full else due, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            task.result()
        return running

    def _next(self) -> Todo | None:
        """Return a URL that may be processed now; None when all must wait or none is left."""
        now = time.monotonic()
        if self._waiting and self._waiting[0][0] <= now:
            return heapq.heappop(self._waiting)[2]
        while len(self._waiting) < 2 * _WINDOW:
            if not self._window:
                self._window = self._journal.todo(self._after, _WINDOW)[::-1]
                if not self._window:
                    return None
                self._after = self._window[0].id
            todo = self._window.pop()
            due = self._hosts.gate(host_of(todo.url)).reserve(now)
            if due <= now:
                return todo
            self._later(todo, due)
        return None

    def _later(self, todo: Todo, due: float) -> None:
        heapq.heappush(self._waiting, (due, todo.id, todo))

    def _report(self) -> None:
        now = time.monotonic()
        if now - self._last_progress >= _PROGRESS_SECONDS:
            self._last_progress = now
            self._progress(
                {
                    "event": "progress",
                    "done": sum(self.totals.outcomes.values()),
                    "known": self._journal.count("urls"),
                    "requests": self.totals.requests,
                    "bytes": self.totals.wire_bytes,
                    "outcomes": dict(self.totals.outcomes),
                }
            )

    # -- one URL -------------------------------------------------------------------------------

    async def _process(self, todo: Todo) -> None:
        """Bring one URL to an outcome, or put it back for later."""
        host = host_of(todo.url)
        paused = self._hosts.gate(host).paused(time.monotonic())
        if paused > 0:
            self._later(todo, self._hosts.gate(host).reserve(time.monotonic()))
            return
        robots = await self._hosts.robots(host)
        if robots.state == "unreachable":
            self._finish(todo, "unreachable", f"robots.txt: {robots.detail}")
        elif not robots.allows(todo.url):
            self._finish(todo, "blocked", "robots.txt")
        elif (reason := self._unwanted(todo)) is not None:
            self._finish(todo, "skipped", reason)
        else:
            await self._request(todo, host)

    def _unwanted(self, todo: Todo) -> str | None:
        """Return why the URL is not even asked for; seeds always are."""
        if todo.seed:
            return None
        if not self._rules.wanted(todo.url):
            return "excluded by configuration"
        if self._config.max_depth is not None and todo.clicks > self._config.max_depth:
            return "deeper than max_depth"
        return kind_of_url(todo.url)

    async def _request(self, todo: Todo, host: str) -> None:
        self._attempts[todo.id] += 1
        attempt = self._attempts[todo.id]
        headers: dict[str, str] = {}
        if todo.state in HELD_STATES and todo.body_sha is not None:
            if todo.etag:
                headers["If-None-Match"] = todo.etag
            if todo.last_modified:
                headers["If-Modified-Since"] = todo.last_modified
        try:
            reply = await self._counted(
                todo.url, headers, max_bytes=self._config.max_body_bytes, page=True
            )
            body = self._body_of(reply)
        except TooLargeError as error:
            self._finish(todo, "skipped", f"{error} ({self._config.max_body_bytes} bytes)")
        except PrivateAddressError as error:
            self._finish(todo, "unreachable", str(error))
        except TransportError as error:
            if attempt <= self._config.retries:
                self._later(todo, time.monotonic() + self._hosts.backoff(host, None, attempt))
            else:
                self._finish(todo, "unreachable", str(error))
        else:
            self._judge(todo, reply, body, attempt, host)

    def _body_of(self, reply: Reply) -> bytes:
        """Return the decoded body of a page; nothing else needs one."""
        if reply.status not in (200, 203) or not reply.complete:
            return b""
        return reply.decoded(self._config.max_body_bytes)

    async def _counted(
        self, url: str, headers: dict[str, str], *, max_bytes: int, page: bool
    ) -> Reply:
        self.totals.requests += 1
        reply = await self._get(url, headers, max_bytes=max_bytes, page=page)
        self.totals.wire_bytes += len(reply.body)
        return reply

    def _judge(self, todo: Todo, reply: Reply, body: bytes, attempt: int, host: str) -> None:
        """Decide what a reply means."""
        status = reply.status
        held = todo.state in HELD_STATES
        if status in (200, 203):
            self._page(todo, reply, body)
        elif status == 304 and held:
            self._finish(todo, "unchanged", None, reply)
        elif status in (301, 302, 303, 307, 308) and "location" in reply.headers:
            self._redirect(todo, reply)
        elif status in (404, 410):
            # A page that was there is looked at twice: servers being deployed answer 404.
            if held and attempt == 1:
                self._later(todo, time.monotonic() + self._config.confirm_gone_seconds)
            else:
                self._finish(todo, "missing", f"HTTP {status}", reply)
        elif is_busy(status) and attempt <= self._config.retries:
            self._later(todo, time.monotonic() + self._hosts.backoff(host, reply, attempt))
        elif status in (401, 402, 403, 407, 451) and not held:
            self._finish(todo, "denied", f"HTTP {status}", reply)
        else:
            self._finish(todo, "unreachable", f"HTTP {status}", reply)

    def _redirect(self, todo: Todo, reply: Reply) -> None:
        location = reply.headers["location"]
        target = self._links.one(urljoin(todo.url, location))
        hops = todo.hops + 1
        if target is None:
            self._finish(todo, "redirect", f"redirects out of scope, to {location[:200]}", reply)
        elif target == todo.url:
            self._finish(todo, "redirect", "redirect loop", reply)
        elif hops > self._config.max_redirects:
            self._finish(todo, "redirect", "too many redirects", reply)
        elif self._rules.key(target) == self._rules.key(todo.url):
            # The same page under an address that differs by a parameter: ask there.
            follow = replace(todo, url=target, final_url=target, hops=hops)
            self._later(follow, time.monotonic())
        else:
            self._journal.begin()
            target_id = self._add(target, "redirect", clicks=todo.clicks, hops=hops)
            self._journal.record(
                replace(self._fetch(todo, "redirect", None, reply), target_id=target_id)
            )
            self._journal.commit()
            self.totals.outcomes["redirect"] += 1

    def _page(self, todo: Todo, reply: Reply, body: bytes) -> None:
        header = reply.headers.get("content-type")
        kind = kind_of(header, body)
        if kind != HTML:
            self._finish(todo, "skipped", kind, reply)
            return
        if not body.strip():
            self._finish(todo, "skipped", "empty body", reply)
            return
        sha = body_sha256(body)
        self._journal.begin()
        facts, links = self._read(body, header, todo.url, todo.clicks)
        fetch = replace(
            self._fetch(todo, "ok", None, reply), body_sha=sha, body_bytes=len(body), **facts
        )
        data, coding = (reply.body, "gzip") if reply.is_gzip else (body, "plain")
        kept = Body(sha, coding, data, header, fetch.fetched_at)  # type: ignore[arg-type]
        self._journal.record(fetch, kept, links)
        self._journal.commit()
        self.totals.pages += 1
        self.totals.outcomes["ok"] += 1

    def _read(
        self, body: bytes, header: str | None, url: str, clicks: int
    ) -> tuple[dict[str, Any], list[int]]:
        """Return the digest's facts and the ids the page links to; call within a transaction."""
        tree, encoding = tree_of(body, header)
        found = self._links.read(tree, base_url(tree, url))
        links = [self._add(link, "link", clicks=clicks + 1) for link in found]
        digest = tree_digest(tree, encoding, url)  # last: it consumes the tree
        refresh = self._links.one(digest.meta_refresh) if digest.meta_refresh else None
        canonical = self._links.one(digest.canonical_url) if digest.canonical_url else None
        extra = {u: self._add(u, "link", clicks=clicks + 1) for u in (refresh, canonical) if u}
        quick = (digest.meta_refresh_seconds or 0.0) <= REFRESH_SECONDS
        facts: dict[str, Any] = {
            "encoding": digest.encoding,
            "language": digest.language,
            "title": digest.title,
            "content_hash": digest.content_hash,
            "words": digest.words,
            "canonical_key": self._rules.key(canonical) if canonical else None,
            "refresh_id": extra[refresh] if refresh and quick else None,
        }
        return facts, sorted({*links, *extra.values()})

    def _fetch(
        self, todo: Todo, outcome: Outcome, reason: str | None, reply: Reply | None
    ) -> Fetch:
        headers = reply.headers if reply is not None else {}
        return Fetch(
            url_id=todo.id,
            outcome=outcome,
            fetched_at=time.time(),
            reason=reason,
            status=reply.status if reply is not None else None,
            etag=headers.get("etag"),
            last_modified=headers.get("last-modified"),
            content_type=media_type(headers.get("content-type")) or None,
            final_url=todo.final_url,
            attempts=self._attempts[todo.id],
            wire_bytes=len(reply.body) if reply is not None else 0,
        )

    def _finish(
        self, todo: Todo, outcome: Outcome, reason: str | None, reply: Reply | None = None
    ) -> None:
        self._journal.begin()
        self._journal.record(self._fetch(todo, outcome, reason, reply))
        self._journal.commit()
        self.totals.outcomes[outcome] += 1
        self.totals.pages += outcome == "unchanged"

    # -- content that stands from the parent ---------------------------------------------------

    def _read_stored(self) -> bool:
        """Read the links of pages that were not sent again; return whether there were any.

        Their bodies come from the store in its own order, one row group in memory at a time.
        """
        by_sha: dict[str, list[tuple[int, str | None, int, str]]] = {}
        for url_id, sha, content_type, clicks, url in self._journal.unread():
            by_sha.setdefault(sha, []).append((url_id, content_type, clicks, url))
        for sha, body in self._bodies.iter(list(by_sha)) if by_sha else ():
            self._journal.begin()
            for url_id, content_type, clicks, url in by_sha[sha]:
                facts, links = self._read(body, content_type, url, clicks)
                self._journal.reading(url_id, facts)
                self._journal.set_links(url_id, links)
            self._journal.commit()
        return bool(by_sha)
