"""Small sites for tests of vectors and search: the tables that parsing would make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from assets.embedding.search import build_search
from assets.embedding.vectors import VectorStats, update_vectors
from assets.publishing.candidate import Candidate
from assets.publishing.publish import publish
from retrieval.models.base import Embedder
from retrieval.snapshot import ids
from retrieval.snapshot.inputs import path_input, text_input
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.schemas import TABLES
from tests.storekit import EPOCH, build, value


@dataclass(frozen=True)
class Block:
    text: str
    path: tuple[str, ...] = ()
    context: str | None = None
    kept: bool = True


Site = Mapping[str, tuple[str | None, Sequence[Block]]]
"""URL → (title, blocks)."""


def tables(site: Site) -> dict[str, pa.Table]:
    """Return the tables `pages`, `blocks` and `texts` of a site."""
    pages, blocks, seen = [], [], Counter[tuple[str, bool]]()
    for url, (title, content) in site.items():
        page = ids.page_id(url)
        pages.append(
            {
                "page_id": page,
                "key": url,
                "url": url,
                "state": "live",
                "body_sha256": ids.body_sha256(url.encode()),
                "title": title,
                "in_sitemap": False,
                "linked": True,
                "fetched_at": EPOCH,
                "first_seen": EPOCH,
            }
        )
        for ordinal, block in enumerate(content):
            text_hash = ids.text_hash(block.text)
            seen[block.text, block.kept] += 1
            identity = ids.block_id(page, block.path, block.text, ordinal)
            string = text_input(block.path, block.context, block.text)
            place = path_input(title, block.path)
            blocks.append(
                {
                    "block_id": identity,
                    "page_id": page,
                    "ordinal": ordinal,
                    "heading_path": [{"level": n + 1, "text": h} for n, h in enumerate(block.path)],
                    "kind": "prose",
                    "text_hash": text_hash,
                    "context": block.context,
                    "kept": block.kept,
                    "drop_reason": None if block.kept else "template",
                    "input_hash": ids.input_hash(string) if block.kept else None,
                    "path_input_hash": ids.input_hash(place) if block.kept else None,
                    "lineage_id": identity,
                }
            )
    texts = [
        {
            "text_hash": ids.text_hash(text),
            "text": text,
            "words": len(text.split()),
            "tokens": len(text.split()),
            "kept_blocks": seen[text, True],
            "dropped_blocks": seen[text, False],
        }
        for text in sorted({text for text, _ in seen})
    ]
    made = {"pages": pages, "blocks": blocks, "texts": texts}
    return {name: _table(name, rows) for name, rows in made.items()}


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Return rows as the table; a column they do not name is null, or filled if it must not be."""
    schema = TABLES[name].schema
    blank = {f.name: None if f.nullable else value(f.type, 0) for f in schema}
    return pa.Table.from_pylist([{**blank, **row} for row in rows], schema=schema)


def candidate(paths: SitePaths, run: str, site: Site) -> Candidate:
    """Return a candidate with the site's tables and no vectors."""
    begun = Candidate.begin(paths, run_id=run)
    for name, table in tables(site).items():
        begun.write(name, table, code_version="1")
    return begun


def published(
    paths: SitePaths, run: str, site: Site, embedder: Embedder
) -> tuple[Snapshot, VectorStats]:
    """Build and publish the site with vectors and search files."""
    stats: list[VectorStats] = []

    def fill(made: Candidate) -> None:
        stats.append(update_vectors(made, embedder))
        build_search(made)

    return publish(build(paths, run, tables(site), fill=fill)), stats[0]


def lance_rows(snapshot: Snapshot) -> pl.DataFrame:
    """Return all rows of the snapshot's Lance table, sorted by hash."""
    return pl.DataFrame(snapshot.lance().to_arrow()).sort("input_hash")
