"""What a crawl knows of each host: robots rules, pace, and the pages its sitemaps list."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import Protocol
from urllib.parse import urljoin, urlsplit

from assets.crawling import robots, sitemaps
from assets.crawling.config import CrawlConfig, host_of
from assets.crawling.journal import Journal
from assets.crawling.outlinks import LinkReader
from assets.crawling.reply import Reply, TooLargeError, TransportError, retry_after
from assets.crawling.robots import Robots
from assets.crawling.urls import UrlRules


class Get(Protocol):
    """Requests one public URL; see ``Transport.get``."""

    def __call__(
        self, url: str, headers: dict[str, str], *, max_bytes: int, page: bool
    ) -> Awaitable[Reply]:
        """Return the reply, or raise a TransportError."""
        ...


class Gate:
    """The pace of one host: a delay between requests, and pauses that the host asks for.

    Times are those of ``time.monotonic``.
    """

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self._next = 0.0
        self._paused_until = 0.0

    def reserve(self, now: float) -> float:
        """Return when the next request may start, and take that slot."""
        at = max(now, self._next, self._paused_until)
        self._next = at + self.delay
        return at

    def pause(self, until: float) -> None:
        """Let no further request start before ``until``."""
        self._paused_until = max(self._paused_until, until)

    def paused(self, now: float) -> float:
        """Return the seconds still to wait."""
        return max(0.0, self._paused_until - now)


class Hosts:
    """Robots rules and gates by host, loaded once per crawl; sitemaps on request."""

    def __init__(
        self, config: CrawlConfig, rules: UrlRules, links: LinkReader, journal: Journal, get: Get
    ) -> None:
        self._config, self._rules, self._links = config, rules, links
        self._journal, self._get = journal, get
        self._gates: dict[str, Gate] = {}
        self._robots: dict[str, asyncio.Future[Robots]] = {}
        self._schemes = {host_of(seed): urlsplit(seed).scheme for seed in reversed(config.seeds)}

    def gate(self, host: str) -> Gate:
        """Return the gate of a host."""
        if host not in self._gates:
            self._gates[host] = Gate(self._config.delay_seconds)
        return self._gates[host]

    async def robots(self, host: str) -> Robots:
        """Return the host's rules, loading them on first use; callers at once share one load."""
        if host not in self._robots:
            self._robots[host] = asyncio.ensure_future(self._load_robots(host))
        return await self._robots[host]

    def backoff(self, host: str, reply: Reply | None, attempt: int) -> float:
        """Return the seconds to wait before attempt ``attempt + 1``; a Retry-After holds the host.

        ``attempt`` counts from 1. Both the header and the doubling back-off are capped.
        """
        cap = self._config.retry_after_cap_seconds
        asked = retry_after(reply.headers.get("retry-after")) if reply is not None else None
        if asked is None:
            return float(min(cap, self._config.backoff_seconds * 2 ** (attempt - 1)))
        wait = min(asked, cap)
        self.gate(host).pause(time.monotonic() + wait)
        detail = f"Retry-After {asked:g} s, waiting {wait:g} s"
        self._journal.note(time.time(), "pause", host, detail)
        return wait

    def origin(self, host: str) -> str:
        """Return scheme and host, with the scheme that the seeds use."""
        return f"{self._schemes.get(host, 'http')}://{host}"

    # -- robots --------------------------------------------------------------------------------

    async def _load_robots(self, host: str) -> Robots:
        found = await self._robots_of(host)
        detail = f"{found.state}{f' ({found.detail})' if found.detail else ''}"
        if found.crawl_delay:
            cap = self._config.crawl_delay_cap_seconds
            gate = self.gate(host)
            gate.delay = max(gate.delay, min(found.crawl_delay, cap))
            detail += f"; Crawl-delay {found.crawl_delay:g} s, waiting {gate.delay:g} s"
        self._journal.note(time.time(), "robots", host, detail)
        return found

    async def _robots_of(self, host: str) -> Robots:
        url = f"{self.origin(host)}/robots.txt"
        for _ in range(robots.MAX_REDIRECTS + 1):
            try:
                reply = await self._patiently(url, robots.MAX_BYTES)
                body = reply.decoded(robots.MAX_BYTES)
            except TooLargeError:
                return Robots("unreachable", f"larger than {robots.MAX_BYTES} bytes")
            except TransportError as error:
                return Robots("unreachable", str(error))
            location = reply.headers.get("location")
            if not (300 <= reply.status < 400 and location):
                return robots.from_status(reply.status, body)
            target = self._links.one(urljoin(url, location))
            if target is None:
                return Robots("unreachable", f"redirects out of scope, to {location[:200]}")
            url = target
        # RFC 9309, 2.3.1.2: after five redirects the file counts as unavailable.
        return Robots("absent", "too many redirects")

    async def _patiently(self, url: str, max_bytes: int) -> Reply:
        """Request with retries. Returns the last reply; raises TransportError without any."""
        host = host_of(url)
        for attempt in range(1, self._config.retries + 2):
            last = attempt > self._config.retries
            reply = None
            try:
                reply = await self._get(url, {}, max_bytes=max_bytes, page=False)
            except TooLargeError:
                raise
            except TransportError:
                if last:
                    raise
            if reply is not None and (last or not is_busy(reply.status)):
                return reply
            await asyncio.sleep(self.backoff(host, reply, attempt))
        raise AssertionError("the last attempt returns or raises")

    # -- sitemaps ------------------------------------------------------------------------------

    async def read_sitemaps(self, host: str) -> tuple[dict[str, str | None], list[str]]:
        """Read the sitemaps of ``host``: lastmod (or None) by cleaned public URL, and problems.

        Problems are what was wrong with files that should have been there; an absent
        ``/sitemap.xml`` that no robots.txt names is no problem.
        """
        rules = await self.robots(host)
        default = f"{self.origin(host)}/sitemap.xml"
        named = [u for u in map(self._links.one, rules.sitemaps) if u is not None]
        queue = [(url, 0) for url in dict.fromkeys([*named, default])]
        seen: set[str] = set()
        listed: dict[str, str | None] = {}
        problems: list[str] = []
        while queue and len(seen) < sitemaps.MAX_FILES:
            url, depth = queue.pop(0)
            if url in seen or not (await self.robots(host_of(url))).allows(url):
                continue
            seen.add(url)
            try:
                found = await self._sitemap(url)
            except TransportError as error:
                found = sitemaps.Sitemap(broken=str(error))
                problems.append(f"{url}: {error}")
            else:
                if found.broken is not None and (found.pages or url in named or depth):
                    problems.append(f"{url}: {found.broken}")
            detail = found.broken or f"{len(found.pages)} pages, {len(found.children)} sitemaps"
            self._journal.note(time.time(), "sitemap", url, detail)
            for page, lastmod in found.pages:
                if (public := self._links.one(urljoin(url, page))) is not None:
                    listed.setdefault(public, lastmod)
            if depth < sitemaps.MAX_NESTING:
                children = (self._links.one(urljoin(url, child)) for child in found.children)
                queue += [(child, depth + 1) for child in children if child is not None]
        return listed, problems

    async def _sitemap(self, url: str) -> sitemaps.Sitemap:
        """Return the sitemap at ``url``; ``broken`` says why it is empty or ends early.

        Raises TransportError when the server gives no answer now: it may have one later.
        """
        reply = await self._patiently(url, sitemaps.MAX_BYTES)
        for _ in range(self._config.max_redirects):
            location = reply.headers.get("location")
            if not (300 <= reply.status < 400 and location):
                break
            target = self._links.one(urljoin(url, location))
            if target is None or not (await self.robots(host_of(target))).allows(target):
                return sitemaps.Sitemap(broken="redirects out of scope")
            url = target
            reply = await self._patiently(url, sitemaps.MAX_BYTES)
        if is_busy(reply.status):
            raise TransportError(f"HTTP {reply.status}")
        if reply.status != 200:
            return sitemaps.Sitemap(broken=f"HTTP {reply.status}")
        return sitemaps.read(reply.decoded(sitemaps.MAX_BYTES))


def is_busy(status: int) -> bool:
    """Return whether the status says to come back later."""
    return status in (408, 425, 429) or status >= 500
