"""From parsed pages to columns: identities, embedded strings' hashes, arrow lists of headings."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import polars as pl
import pyarrow as pa

from assets.parsing.model import Draft
from assets.parsing.page import ParsedPage
from retrieval.snapshot import ids, inputs
from retrieval.snapshot.schemas import HEADINGS

Heads = tuple[tuple[int, str], ...]


class BlockRows:
    """Collects the block and link rows of pages, column by column."""

    def __init__(self) -> None:
        self._blocks: dict[str, list[Any]] = defaultdict(list)
        self._links: dict[str, list[Any]] = defaultdict(list)
        self._heads: list[Heads] = []
        self._signatures: dict[str, str] = {}
        self.texts: dict[str, str] = {}

    def add(self, page_id: str, title: str | None, page: ParsedPage) -> None:
        """Add a page whose drafts carry their text hashes; ``title`` is the pages table's."""
        paths: dict[Heads, tuple[list[str], str]] = {}
        seen: dict[tuple[Heads, str], int] = defaultdict(int)
        opened: dict[int, str] = {}
        block_ids: list[str] = []
        for ordinal, draft in enumerate(page.drafts):
            if draft.heads not in paths:
                path = [text for _, text in draft.heads]
                paths[draft.heads] = path, ids.input_hash(inputs.path_input(title, path))
            path, path_hash = paths[draft.heads]
            key = draft.heads, draft.text_hash
            block = ids.block_id(page_id, path, draft.text, seen[key])
            seen[key] += 1
            parent = opened.get(draft.above if draft.opens else draft.section)
            if draft.opens:
                opened[draft.section] = block
            block_ids.append(block)
            self._add_block(page_id, ordinal, draft, block, parent)
            self._add_inputs(draft, path, path_hash)
        self._add_links(page_id, page, block_ids)

    def _add_block(
        self, page_id: str, ordinal: int, draft: Draft, block: str, parent: str | None
    ) -> None:
        if draft.path not in self._signatures:
            self._signatures[draft.path] = ids.digest("path", draft.path)
        columns = self._blocks
        columns["block_id"].append(block)
        columns["page_id"].append(page_id)
        columns["ordinal"].append(ordinal)
        columns["parent_block_id"].append(parent)
        columns["kind"].append(draft.kind)
        columns["text_hash"].append(draft.text_hash)
        columns["context"].append(draft.context)
        columns["signature"].append(self._signatures[draft.path])
        columns["drop_reason"].append(draft.reason)
        self._heads.append(draft.heads)
        self.texts[draft.text_hash] = draft.text

    def _add_inputs(self, draft: Draft, path: list[str], path_hash: str) -> None:
        kept = draft.reason is None
        text = inputs.text_input(path, draft.context, draft.text) if kept else None
        self._blocks["input_hash"].append(None if text is None else ids.input_hash(text))
        self._blocks["path_input_hash"].append(path_hash if kept else None)

    def _add_links(self, page_id: str, page: ParsedPage, block_ids: list[str]) -> None:
        columns = self._links
        for ordinal, link in enumerate(page.links):
            columns["src_page_id"].append(page_id)
            columns["ordinal"].append(ordinal)
            columns["dst_url"].append(link.url)
            columns["anchor"].append(link.anchor)
            columns["block_id"].append(None if link.draft is None else block_ids[link.draft])
            columns["region"].append(link.region)
            columns["rel"].append(link.rel)

    def blocks(self) -> pl.DataFrame:
        """Return the block rows; `drop_reason` is the page's own, repetition not yet decided."""
        frame = pl.DataFrame(
            {name: self._blocks.get(name, []) for name in BLOCK_SCHEMA}, schema=BLOCK_SCHEMA
        )
        return frame.with_columns(heading_path=_headings(self._heads)).select(BLOCK_COLUMNS)

    def links(self) -> pl.DataFrame:
        """Return the link rows, without the pages they lead to."""
        return pl.DataFrame(
            {name: self._links.get(name, []) for name in LINK_SCHEMA}, schema=LINK_SCHEMA
        )


BLOCK_SCHEMA: dict[str, Any] = {
    "block_id": pl.String, "page_id": pl.String, "ordinal": pl.Int32,
    "parent_block_id": pl.String, "kind": pl.String, "text_hash": pl.String,
    "context": pl.String, "signature": pl.String, "drop_reason": pl.String,
    "input_hash": pl.String, "path_input_hash": pl.String,
}  # fmt: skip
BLOCK_COLUMNS = [*BLOCK_SCHEMA, "heading_path"]
LINK_SCHEMA: dict[str, Any] = {
    "src_page_id": pl.String, "ordinal": pl.Int32, "dst_url": pl.String, "anchor": pl.String,
    "block_id": pl.String, "region": pl.String, "rel": pl.String,
}  # fmt: skip


def _headings(paths: list[Heads]) -> pl.Series:
    """Return heading paths as a column of lists of (level, text), built from flat arrays."""
    offsets, total = [0], 0
    for path in paths:
        total += len(path)
        offsets.append(total)
    flat = pa.StructArray.from_arrays(
        [
            pa.array([level for path in paths for level, _ in path], pa.int8()),
            pa.array([text for path in paths for _, text in path], pa.string()),
        ],
        names=["level", "text"],
    )
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat).cast(HEADINGS)
    series = pl.from_arrow(lists)
    assert isinstance(series, pl.Series)  # noqa: S101 - narrows the type for the checker
    return series
