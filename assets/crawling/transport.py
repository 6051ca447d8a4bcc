"""One HTTP request through Scrapy's downloader: no redirects, no cookies, no retries, no decoding.

Everything a crawl decides (scope, robots, retries, redirects, coding) is decided by its caller;
here are the connection, its limits, and the refusal of private addresses. Imported in the crawl
subprocess only.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    StopDownload,
)
from scrapy.http import Response
from scrapy.logformatter import LogFormatter
from scrapy.resolver import CachingThreadedResolver
from twisted.internet.defer import Deferred

from assets.crawling.config import CrawlConfig, host_of
from assets.crawling.media import HTML, kind_of_header
from assets.crawling.reply import PrivateAddressError, Reply, TooLargeError, TransportError
from assets.crawling.urls import UrlRules

_PUBLIC_ONLY = "SITEQUEST_PUBLIC_ONLY_EXCEPT"


class QuietFormatter(LogFormatter):
    """Formats nothing per request: the journal is the log."""

    def crawled(self, request: Request, response: Response, spider: Spider) -> None:  # type: ignore[override]
        """Return None, which Scrapy documents as "no line"."""


class PublicResolver(CachingThreadedResolver):
    """Refuses names that resolve to an address that is not public, mapped hosts excepted."""

    refused: dict[str, str]
    trusted: frozenset[str] | None

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: Any) -> PublicResolver:
        """Build the resolver from the crawler's settings."""
        resolver: PublicResolver = super().from_crawler(crawler, reactor)
        trusted = crawler.settings[_PUBLIC_ONLY]
        resolver.trusted = None if trusted is None else frozenset(trusted)
        resolver.refused = _REFUSED
        return resolver

    def getHostByName(self, name: str, timeout: Any = ()) -> Deferred[str]:
        """Resolve ``name``; the result is checked each time, cached or not."""
        found: Deferred[str] = super().getHostByName(name, timeout)
        return found.addCallback(self._checked, name)

    def _checked(self, address: str, name: str) -> str:
        if self.trusted is None or name in self.trusted or is_public(address):
            return address
        self.refused[name] = address
        raise PrivateAddressError(f"{name} resolves to the private address {address}")


# Twisted turns a resolver's error into "no results"; the cause is kept here for the caller.
_REFUSED: dict[str, str] = {}


def is_public(address: str) -> bool:
    """Return whether an IP address literal is globally routable (multicast is not)."""
    ip = ipaddress.ip_address(address)
    return ip.is_global and not ip.is_multicast


def settings(config: CrawlConfig) -> dict[str, Any]:
    """Return the Scrapy settings: a bare downloader, all else off."""
    from urllib.parse import urlsplit

    trusted = {urlsplit(target).hostname for target in config.host_map.values()}
    return {
        _PUBLIC_ONLY: None if config.allow_private else trusted,
        "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        "TWISTED_DNS_RESOLVER": "assets.crawling.transport.PublicResolver",
        "DNS_TIMEOUT": config.timeout_seconds,
        "DOWNLOADER_MIDDLEWARES_BASE": {},
        "SPIDER_MIDDLEWARES_BASE": {},
        "EXTENSIONS_BASE": {},
        "ITEM_PIPELINES_BASE": {},
        "DOWNLOAD_HANDLERS": dict.fromkeys(("data", "file", "ftp", "s3")),
        "DOWNLOAD_VERIFY_CERTIFICATES": True,
        "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
        "LOG_ENABLED": False,
        "LOG_INSTALL_ROOT_HANDLER": False,
        "LOG_FORMATTER": "assets.crawling.transport.QuietFormatter",
        "TELNETCONSOLE_ENABLED": False,
        "CONCURRENT_REQUESTS": config.concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": config.concurrency,
        "DOWNLOAD_DELAY": 0,
        "DOWNLOAD_TIMEOUT": config.timeout_seconds,
        "DOWNLOAD_MAXSIZE": config.max_body_bytes,
        "DOWNLOAD_WARNSIZE": 0,
        "DOWNLOAD_FAIL_ON_DATALOSS": True,
    }


class Transport:
    """Fetches public URLs of one crawl."""

    def __init__(self, crawler: Crawler, config: CrawlConfig, rules: UrlRules) -> None:
        self._crawler, self._config, self._rules = crawler, config, rules
        self._headers = {
            "User-Agent": config.user_agent(),
            "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "Accept-Language": "en",
            "Accept-Encoding": "gzip",
        }
        crawler.signals.connect(_stop_at_other_media, signal=signals.headers_received)

    async def get(self, url: str, headers: dict[str, str], *, max_bytes: int, page: bool) -> Reply:
        """Request a public URL and return the reply as it came over the wire.

        ``page``: the body is wanted only when the header does not rule out HTML. Raises
        TooLargeError, PrivateAddressError or TransportError with the cause.
        """
        host = host_of(url)
        self._refuse_private_literal(url)
        request = Request(
            self._rules.to_served(url),
            headers={**self._headers, **headers, "Host": host},
            meta={
                "download_slot": host,
                "download_timeout": self._config.timeout_seconds,
                "download_maxsize": max_bytes,
                "page": page,
            },
        )
        try:
            response: Response = await self._crawler.engine.download_async(request)
        except Exception as error:
            raise self._explained(error, host) from error
        return Reply(
            status=response.status,
            headers={
                name.decode("latin-1").lower(): b", ".join(values).decode("latin-1")
                for name, values in response.headers.items()
            },
            body=response.body,
            complete="download_stopped" not in response.flags,
        )

    def _refuse_private_literal(self, url: str) -> None:
        """Refuse an address written as a number: it never comes to the resolver."""
        if self._config.allow_private or self._rules.is_mapped(url):
            return
        host = host_of(url).rpartition(":")[0] if host_of(url).count(":") == 1 else host_of(url)
        try:
            public = is_public(host.strip("[]"))
        except ValueError:
            return
        if not public:
            raise PrivateAddressError(f"{host} is a private address")

    def _explained(self, error: Exception, host: str) -> TransportError:
        name = host.partition(":")[0]
        match error:
            case DownloadCancelledError():
                return TooLargeError("larger than the configured size")
            case CannotResolveHostError():
                if name in _REFUSED:
                    return PrivateAddressError(
                        f"{name} resolves to the private address {_REFUSED[name]}"
                    )
                return TransportError(f"the name {name} cannot be resolved")
            case DownloadConnectionRefusedError():
                return TransportError("connection refused")
            case DownloadTimeoutError():
                return TransportError(f"no answer in {self._config.timeout_seconds:g} s")
            case ResponseDataLossError():
                return TransportError("connection broken off")
            case _:
                return TransportError(f"{type(error).__name__}: {error}")


def _stop_at_other_media(headers: Any, request: Request, **_: object) -> None:
    """End a download whose header says that it is no page."""
    kind = headers.get("Content-Type")
    declared = kind_of_header(kind.decode("latin-1") if kind else None)
    if request.meta.get("page") and declared not in (HTML, None):
        raise StopDownload(fail=False)
