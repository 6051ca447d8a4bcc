"""Hyperlinks of a page, and which live page an address leads to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urldefrag

import polars as pl

from assets.parsing.digest import resolve
from assets.parsing.model import Draft, Page
from retrieval.snapshot.states import HAS_CONTENT

OTHER_SCHEMES = ("mailto:", "tel:")
MAX_HOPS = 10  # of redirected and duplicate pages; a longer chain leads nowhere


@dataclass(frozen=True, slots=True)
class Link:
    """A resolved link; ``draft`` is the number of its block, None for a link without text."""

    url: str
    anchor: str
    rel: str | None
    draft: int | None
    region: str


def resolve_links(
    page: Page, drafts: list[Draft], reasons: list[str | None], base: str
) -> list[Link]:
    """Return the links of a page in document order, without those that are no address.

    http(s) addresses are absolute without fragment; mailto and tel stay as written, since the
    address is often nowhere in the text.
    """
    starts = [draft.start for draft in drafts]
    origin = "/".join(base.split("/", 3)[:3])
    resolved: dict[str, str | None] = {}
    links = []
    for raw in page.links:
        if raw.href not in resolved:
            resolved[raw.href] = _resolved(base, origin, raw.href)
        if (url := resolved[raw.href]) is None:
            continue
        number = bisect_right(starts, raw.start) - 1 if raw.end > raw.start else None
        if number is not None:
            # The parts of a split atom share its number; the first of them stands for it.
            number = bisect_right(starts, drafts[number].start - 1)
        reason = page.zones[raw.zone].reason if number is None else drafts[number].reason
        links.append(
            Link(url, raw.anchor, raw.rel, number, "content" if reason is None else "template")
        )
    return links


def _resolved(base: str, origin: str, href: str) -> str | None:
    """Resolve ``href``; links of the template, the same on every page, are resolved once."""
    if href.startswith("#"):
        return _absolute(base, "#")
    rooted = href.startswith("/") and not href.startswith("//")
    return _absolute(origin if rooted else base, href)


@lru_cache(maxsize=16_384)
def _absolute(base: str, href: str) -> str | None:
    if href.strip().lower().startswith(OTHER_SCHEMES):
        return href.strip()
    url = resolve(base, href)
    return urldefrag(url).url if url else None


def destinations(pages: pl.DataFrame, key_of: Callable[[str], str | None]) -> dict[str, str]:
    """Map the canonical key of every known URL to the live page it ends at.

    ``key_of`` maps a URL to its key; redirected and duplicate pages are followed by their
    ``canonical_page_id``. URLs that end nowhere live are left out.
    """
    known = pages.select("page_id", "key", "url", "final_url", "state", "canonical_page_id")
    live = set(pages.filter(HAS_CONTENT)["page_id"])
    following: dict[str, str | None] = dict(
        known.select("page_id", "canonical_page_id").iter_rows()
    )
    ends: dict[str, str] = {}
    for page, key, url, final, _state, _canonical in known.iter_rows():
        end: str | None = page
        for _ in range(MAX_HOPS):
            if end is None or end in live:
                break
            end = following.get(end)
        if end in live and end is not None:
            ends[key] = end
            for address in (url, final):
                if address and (other := key_of(address)):
                    ends.setdefault(other, end)
    return ends
