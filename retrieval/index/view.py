"""A kept block as questions see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class BlockView:
    """One kept block with its place and provenance; ``row`` is its position in the search order.

    ``heading_path`` is outermost first; ``title`` is empty when the page has none; ``context`` is a
    repeated table header or list lead that is not the block's own text; ``fetched_at`` is UTC.
    """

    row: int
    block_id: str
    lineage_id: str
    page_id: str
    url: str
    title: str
    heading_path: list[str]
    kind: str
    text: str
    context: str | None
    words: int
    ordinal: int
    fetched_at: datetime | None
