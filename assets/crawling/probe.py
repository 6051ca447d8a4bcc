"""A few cheap requests to a site: can it be reached, and does it look as it did.

No crawl and no scrapy: robots.txt, sitemap.xml and the first seeds, redirects not followed.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from assets.crawling.config import CrawlConfig
from assets.crawling.urls import UrlRules
from retrieval.snapshot.ids import body_sha256, digest

_SEEDS = 3
_READ_BYTES = 1_000_000


@dataclass(frozen=True)
class Reach:
    """The outcome of one request: ``status`` is None when there was no answer.

    ``mark`` identifies the content seen: the validators sent, else the hash of the body.
    """

    url: str
    status: int | None
    detail: str
    mark: str


def probe(config: CrawlConfig) -> str:
    """Return a hash that moves when robots.txt, the sitemap or a seed does."""
    return digest(*(f"{reach.url} {reach.status} {reach.mark}" for reach in _all(config)))


def reach(config: CrawlConfig) -> list[Reach]:
    """Return the outcome for robots.txt (missing is fine) and the first seeds."""
    outcomes = [_get(config, seed) for seed in config.seeds[:_SEEDS]]
    robots = _get(config, _on_host(config.seeds[0], "/robots.txt"))
    return outcomes if robots.status in (404, 410) else [robots, *outcomes]


def _all(config: CrawlConfig) -> Iterator[Reach]:
    for path in ("/robots.txt", "/sitemap.xml"):
        yield _get(config, _on_host(config.seeds[0], path))
    for seed in config.seeds[:_SEEDS]:
        yield _get(config, seed)


def _on_host(url: str, path: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{path}"


class _NoRedirects(HTTPRedirectHandler):
    """Leaves a redirect as it is: a probe never goes where it was not sent."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Return None: do not follow."""


def _get(config: CrawlConfig, url: str) -> Reach:
    rules = UrlRules(config)
    if not rules.is_mapped(url) and not config.allow_private:
        refused = _private(urlsplit(url).hostname or "")
        if refused:
            return Reach(url, None, refused, "")
    request = Request(rules.to_served(url))  # noqa: S310 (CrawlConfig admits http and https only)
    request.add_header("User-Agent", config.user_agent())
    request.add_header("Host", urlsplit(url).netloc)
    try:
        with build_opener(_NoRedirects).open(request, timeout=config.timeout_seconds) as response:
            body = response.read(_READ_BYTES)
            return Reach(url, response.status, f"HTTP {response.status}", _mark(response, body))
    except HTTPError as error:
        return Reach(url, error.code, f"HTTP {error.code}", error.headers.get("Location", ""))
    except (URLError, HTTPException, OSError) as error:
        cause = getattr(error, "reason", None) or error
        return Reach(url, None, f"no answer ({cause})", "")


def _mark(response: IO[bytes], body: bytes) -> str:
    headers = getattr(response, "headers", {})
    return headers.get("ETag") or headers.get("Last-Modified") or body_sha256(body)


def _private(host: str) -> str | None:
    """Return why ``host`` must not be asked, or None."""
    try:
        found = socket.getaddrinfo(host, None)
    except OSError as error:
        return f"the name does not resolve ({error.strerror or error})"
    addresses = {str(item[4][0]) for item in found}
    private = sorted(a for a in addresses if not ipaddress.ip_address(a).is_global)
    if private:
        return f"{host} resolves to {private[0]}, which is private; see `allow_private`"
    return None
