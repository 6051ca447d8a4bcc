"""What changed between two snapshots, page by page, as a person would say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.states import HAS_CONTENT

Kind = Literal["added", "edited", "moved", "removed"]


@dataclass(frozen=True)
class PageChange:
    """One page: ``added`` and ``removed`` are kept texts that came or went, in document order.

    ``moved_from`` is the page's old URL when it moved.
    """

    kind: Kind
    url: str
    title: str
    added: list[str]
    removed: list[str]
    moved_from: str | None = None


def page_changes(before: Snapshot, after: Snapshot) -> list[PageChange]:
    """Return the pages whose kept text or address changed, sorted by kind and URL.

    A page is ``moved`` when its old URL now redirects to a new page; only the texts that differ
    between the two are then told. Markup, navigation and other dropped parts do not count.
    """
    new_of = _moves(before, after)
    old = _texts(before).with_columns(pl.col("page_id").replace(new_of))
    new = _texts(after)
    came = new.join(old, on=["page_id", "text_hash"], how="anti")
    went = old.join(new, on=["page_id", "text_hash"], how="anti")
    were, are = _pages(before), _pages(after)
    old_of = {moved: page for page, moved in new_of.items()}
    changes = []
    for page in sorted({*came["page_id"], *went["page_id"], *old_of}):
        url, title = are.get(page) or were[page]
        kind: Kind = "edited"
        if page in old_of:
            kind = "moved"
        elif page not in were:
            kind = "added"
        elif page not in are:
            kind = "removed"
        moved_from = were[old_of[page]][0] if page in old_of else None
        changes.append(PageChange(kind, url, title, _of(came, page), _of(went, page), moved_from))
    return sorted(changes, key=lambda change: (change.kind, change.url))


def _moves(before: Snapshot, after: Snapshot) -> dict[str, str]:
    """Return old page id → new page id for pages whose old address now leads to a new page."""
    known = before.table("pages").filter(HAS_CONTENT).select("page_id")
    new = after.table("pages").filter(HAS_CONTENT).join(known, on="page_id", how="anti")
    moved = (
        after.table("pages")
        .filter(pl.col("state") == "redirected")
        .join(known, on="page_id", how="semi")
        .join(new.select(canonical_page_id="page_id"), on="canonical_page_id", how="semi")
        .unique("canonical_page_id", keep="first", maintain_order=True)
    )
    return dict(moved.select("page_id", "canonical_page_id").iter_rows())


def _texts(snapshot: Snapshot) -> pl.DataFrame:
    """Return page_id, text_hash, text, ordinal of kept blocks."""
    kept = snapshot.table("blocks").filter("kept").select("page_id", "text_hash", "ordinal")
    texts = snapshot.table("texts", ["text_hash", "text"])
    return kept.join(texts, on="text_hash").sort("page_id", "ordinal")


def _pages(snapshot: Snapshot) -> dict[str, tuple[str, str]]:
    frame = snapshot.table("pages").filter(HAS_CONTENT).select("page_id", "url", "title")
    return {page: (url, title or url) for page, url, title in frame.iter_rows()}


def _of(texts: pl.DataFrame, page: str) -> list[str]:
    return texts.filter(pl.col("page_id") == page)["text"].to_list()
