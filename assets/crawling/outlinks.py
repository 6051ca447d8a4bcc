"""The addresses a page links to: anchors and areas; resolved, public, cleaned, in scope."""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser

from assets.crawling.urls import UrlRules, clean
from assets.parsing.digest import resolve

_NO_PAGE = ("#", "mailto:", "javascript:", "tel:", "data:", "sms:", "about:", "blob:")
_CACHE_ITEMS = 200_000


class LinkReader:
    """Reads the links of pages; template links, the same on every page, are resolved once."""

    def __init__(self, rules: UrlRules) -> None:
        self._rules = rules
        self._resolved: dict[tuple[str, str], str | None] = {}

    def read(self, tree: LexborHTMLParser, base: str) -> list[str]:
        """Return the distinct in-scope public URLs of a page in order of appearance.

        ``base`` is what its links resolve against. Links with ``rel=nofollow`` are links.
        """
        hrefs: dict[str, None] = {}
        for node in tree.css("a[href], area[href]"):
            if (href := node.attributes.get("href")) and not href.startswith(_NO_PAGE):
                hrefs[href] = None
        found: dict[str, None] = {}
        origin = "/".join(base.split("/", 3)[:3])
        for href in hrefs:
            # A path from the root depends on the origin alone, not on the page.
            rooted = href.startswith("/") and not href.startswith("//")
            public = self._public(origin if rooted else base, href)
            if public is not None:
                found[public] = None
        return list(found)

    def one(self, url: str) -> str | None:
        """Return the public in-scope form of one absolute URL (a redirect or refresh target)."""
        cleaned = clean(self._rules.to_public(url))
        return cleaned if cleaned is not None and self._rules.in_scope(cleaned) else None

    def _public(self, base: str, href: str) -> str | None:
        pair = (base, href)
        if pair not in self._resolved:
            if len(self._resolved) >= _CACHE_ITEMS:
                self._resolved.clear()
            absolute = resolve(base, href)
            self._resolved[pair] = None if absolute is None else self.one(absolute)
        return self._resolved[pair]
