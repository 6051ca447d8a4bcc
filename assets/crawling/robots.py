"""robots.txt as RFC 9309 has it: 4xx allows everything, 5xx or no answer forbids everything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from assets.crawling.config import PRODUCT

MAX_BYTES = 512 * 1024
MAX_REDIRECTS = 5

RobotsState = Literal["rules", "absent", "unreachable"]


@dataclass
class Robots:
    """The rules of one host for our product token.

    ``state``: ``rules`` were read; ``absent`` (4xx) allows everything; ``unreachable`` (5xx, 429,
    no answer, or a redirect out of scope) forbids everything, with the cause in ``detail``.
    ``crawl_delay`` is in seconds, not yet capped.
    """

    state: RobotsState
    detail: str = ""
    crawl_delay: float | None = None
    sitemaps: list[str] = field(default_factory=list)
    _rules: Any = None

    def allows(self, url: str) -> bool:
        """Return whether the public URL may be requested."""
        if self.state != "rules":
            return self.state == "absent"
        return bool(self._rules.can_fetch(url, PRODUCT))


def read(body: bytes) -> Robots:
    """Return the rules of a robots.txt; lines that make no sense are skipped, as the RFC asks."""
    from protego import Protego

    text = body[:MAX_BYTES].decode("utf-8-sig", "replace")
    rules = Protego.parse(text)
    return Robots(
        state="rules",
        crawl_delay=rules.crawl_delay(PRODUCT),
        sitemaps=list(rules.sitemaps),
        _rules=rules,
    )


def from_status(status: int, body: bytes) -> Robots:
    """Return what a final (not redirected) response to ``/robots.txt`` means."""
    if 200 <= status < 300:
        return read(body)
    # 429 is a server that is busy, not a file that is absent.
    if 400 <= status < 500 and status != 429:
        return Robots("absent", f"HTTP {status}")
    return Robots("unreachable", f"HTTP {status}")
