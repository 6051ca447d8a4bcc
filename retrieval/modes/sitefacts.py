"""Repeated parts of pages whose facts are kept once for the site (a footer's phone number).

Their blocks are dropped from the search index as template, but the ``facts`` table keeps one of
them with scope *site*. Here each such block is a further candidate: its row follows the index's
rows, its text is the block's own, and it is found by the question's words. There are few.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from retrieval.index.view import BlockView
from retrieval.modes.candidates import Ranked
from retrieval.modes.coverage import Lexis
from retrieval.modes.question import stems
from retrieval.snapshot.reader import read_arrow

MAX_BLOCKS = 200  # a site repeats few parts; more would mean the template was not learned
_FOUND = 4


class SiteFacts:
    """The blocks of site-wide facts, as candidates."""

    def __init__(self, directory: Path, first_row: int) -> None:
        self.first_row = first_row
        self.blocks = [
            _view(directory, row, first_row + at)
            for at, row in enumerate(_rows(directory)[:MAX_BLOCKS])
        ]
        self._stems = [stems(f"{b.text} {' '.join(b.heading_path)}") for b in self.blocks]

    def find(self, lexis: Lexis) -> Ranked:
        """Return (row, coverage) of the blocks that hold words of the question, best first."""
        scored = [
            (self.first_row + at, lexis.coverage(found)) for at, found in enumerate(self._stems)
        ]
        ranked = sorted((s for s in scored if s[1] > 0), key=lambda item: (-item[1], item[0]))
        return ranked[:_FOUND]


def _rows(directory: Path) -> list[dict[str, Any]]:
    if not (directory / "facts.parquet").exists():
        return []
    facts = read_arrow(
        directory / "facts.parquet", columns=["block_id"], filters=[("scope", "=", "site")]
    )
    wanted = pc.unique(facts["block_id"])
    if not len(wanted):
        return []
    blocks = read_arrow(directory / "blocks.parquet", filters=pc.field("block_id").isin(wanted))
    blocks = blocks.filter(pc.invert(blocks["kept"]))
    return sorted(blocks.to_pylist(), key=lambda row: (row["page_id"], row["ordinal"]))


def _one(directory: Path, table: str, key: str, value: object, columns: list[str]) -> list[Any]:
    found: pa.Table = read_arrow(
        directory / f"{table}.parquet", columns=columns, filters=[(key, "=", value)]
    )
    row = found.slice(0, 1).to_pylist()[0]
    return [row[column] for column in columns]


def _view(directory: Path, row: dict[str, Any], at: int) -> BlockView:
    columns = ["url", "title", "fetched_at"]
    url, title, fetched = _one(directory, "pages", "page_id", row["page_id"], columns)
    text, words = _one(directory, "texts", "text_hash", row["text_hash"], ["text", "words"])
    return BlockView(
        row=at, block_id=row["block_id"], lineage_id=row["lineage_id"], page_id=row["page_id"],
        url=url, title=title or "", heading_path=[h["text"] for h in row["heading_path"]],
        kind=row["kind"], text=text, context=row["context"], words=words,
        ordinal=row["ordinal"], fetched_at=fetched,
    )  # fmt: skip
