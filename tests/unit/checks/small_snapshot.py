"""A small valid snapshot on disk, and a way to open it with one table changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lancedb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from retrieval.snapshot import ids, schemas
from retrieval.snapshot.reader import Snapshot, open_dir

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DIM = 4
PAGES = 8

Rows = list[dict[str, Any]]
Change = Callable[[pl.DataFrame], pl.DataFrame]


def page(n: int, **values: Any) -> dict[str, Any]:
    key = f"https://x.test/p{n}"
    row: dict[str, Any] = dict.fromkeys(c.name for c in schemas.TABLES["pages"].columns)
    row |= {
        "page_id": ids.page_id(key),
        "key": key,
        "url": key,
        "state": "live",
        "status": 200,
        "title": f"Page {n}",
        "body_sha256": ids.body_sha256(str(n).encode()),
        "content_hash": ids.digest(str(n)),
        "in_sitemap": True,
        "linked": True,
        "first_seen": NOW,
    }
    return row | values


def block(page_id: str, ordinal: int, text: str, **values: Any) -> dict[str, Any]:
    path = [{"level": 1, "text": "Top"}, {"level": 2, "text": "Under"}]
    block_id = ids.block_id(page_id, ["Top", "Under"], text, ordinal)
    return {
        "block_id": block_id,
        "page_id": page_id,
        "ordinal": ordinal,
        "parent_block_id": None,
        "heading_path": path,
        "kind": "prose",
        "text_hash": ids.text_hash(text),
        "context": None,
        "signature": "s",
        "kept": True,
        "drop_reason": None,
        "input_hash": ids.input_hash(text),
        "path_input_hash": ids.input_hash(f"path {page_id}"),
        "lineage_id": block_id,
    } | values


def valid_rows() -> dict[str, Rows]:
    pages = [page(n) for n in range(PAGES)]
    first = pages[0]["page_id"]
    pages.append(page(90, state="duplicate", reason="same content", canonical_page_id=first))
    pages.append(page(91, state="gone", reason="404", status=404, body_sha256=None))
    blocks: Rows = []
    for n in range(PAGES):
        owner = pages[n]["page_id"]
        head = block(owner, 0, f"Ann Lee of office {n}")
        blocks += [head, block(owner, 1, "Open daily", parent_block_id=head["block_id"])]
        blocks.append(
            block(
                owner, 2, "Menu", kept=False, drop_reason="template", input_hash=None,
                path_input_hash=None,
            )
        )  # fmt: skip
    texts: Rows = [
        {
            "text_hash": ids.text_hash(text),
            "text": text,
            "words": len(text.split()),
            "tokens": len(text.split()) + 1,
            "kept_blocks": sum(b["kept"] for b in blocks if b["text_hash"] == ids.text_hash(text)),
            "dropped_blocks": sum(
                not b["kept"] for b in blocks if b["text_hash"] == ids.text_hash(text)
            ),
        }
        for text in [*(f"Ann Lee of office {n}" for n in range(PAGES)), "Open daily", "Menu"]
    ]
    ann, office = ids.entity_id("name", "person|ann lee"), ids.entity_id("page", first)
    heads = [b for b in blocks if b["ordinal"] == 0]
    topic = ids.topic_id(["office"])
    entity = {"aliases": [], "merge_evidence": [], "mentions": PAGES, "home_page_id": None}
    return {
        "pages": pages,
        "links": [
            {
                "src_page_id": first,
                "ordinal": 0,
                "dst_url": pages[1]["url"],
                "dst_page_id": pages[1]["page_id"],
                "anchor": "Page 1",
                "block_id": blocks[0]["block_id"],
                "region": "content",
                "rel": None,
            }
        ],
        "blocks": blocks,
        "texts": texts,
        "mentions": [
            {
                "text_hash": b["text_hash"], "start": 0, "end": 7, "type": "person",
                "surface": "Ann Lee", "confidence": 0.9, "extractor": "rule",
                "extractor_version": "1",
            }
            for b in heads
        ],
        "entities": [
            entity | {"entity_id": ann, "name": "Ann Lee", "types": ["person"]},
            entity
            | {"entity_id": office, "name": "Page 0", "types": ["page"], "home_page_id": first},
        ],
        "entity_edges": [
            {
                "entity_id": ann, "block_id": b["block_id"], "surface": "Ann Lee", "count": 1,
                "confidence": 0.9, "method": "exact",
            }
            for b in heads
        ],
        "relations": [
            {
                "relation_id": ids.relation_id(ann, "works in", office),
                "block_id": heads[0]["block_id"], "subject_id": ann, "predicate": "works in",
                "object_id": office, "literal": None, "kind": "role", "confidence": 0.5,
                "extractor": "rule", "extractor_version": "1",
            }
        ],
        "facts": [
            {
                "fact_id": ids.fact_id(b["block_id"], "Ann Lee", "office", str(n), 0),
                "subject_id": ann, "subject": "Ann Lee", "label": "office", "value": str(n),
                "value_type": "number", "block_id": b["block_id"], "page_id": b["page_id"],
                "scope": "page", "extractor": "line", "extractor_version": "1",
            }
            for n, b in enumerate(heads)
        ],
        "topics": [
            {
                "topic_id": topic, "label": "office", "terms": ["office"], "size": 8,
                "lineage_id": topic,
            }
        ],
        "topic_edges": [
            {"topic_id": topic, "target_kind": "entity", "target_id": ann, "weight": 1.0},
            {
                "topic_id": topic, "target_kind": "block", "target_id": heads[0]["block_id"],
                "weight": 0.5,
            },
        ],
        "metrics": [
            {
                "question_set": "q", "system": "sitequest", "question_type": "all",
                "metric": "span_recall@10", "value": 0.5, "low": 0.4, "high": 0.6, "n": 10,
            }
        ],
        "changes": [
            {"table": "pages", "key": first, "kind": "added", "before": None, "after": "aa"}
        ],
    }  # fmt: skip


def frames() -> dict[str, pl.DataFrame]:
    return {
        name: pl.DataFrame(schemas.enforce(name, pa.Table.from_pylist(rows, schema=_loose(name))))
        for name, rows in valid_rows().items()
    }


def _loose(name: str) -> pa.Schema:
    return pa.schema([f.with_nullable(True) for f in schemas.TABLES[name].schema])


def write_snapshot(
    directory: Path,
    tables: dict[str, pl.DataFrame],
    *,
    stats: dict[str, Any] | None = None,
    vectors: list[str] | None = None,
) -> Snapshot:
    """Write ``tables`` as they are (no schema enforced: faults must be possible).

    ``vectors`` are the input hashes that get a vector; None writes no vectors at all.
    """
    directory.mkdir(parents=True)
    entries = {}
    for name, frame in tables.items():
        data = frame.to_arrow()
        table = schemas.TABLES[name]
        if data.column_names == table.schema.names:
            loose = pa.schema(
                [f.with_nullable(f.nullable or data[f.name].null_count > 0) for f in table.schema]
            )
            data = data.cast(loose)
        pq.write_table(data, directory / f"{name}.parquet")
        entries[name] = {
            "file": f"{name}.parquet",
            "rows": frame.height,
            "sha256": "0" * 64,
            "data_version": "v",
            "content_hash": "c",
            "code_version": "1",
            "schema_fingerprint": table.fingerprint,
        }
    manifest = {
        "version": 1,
        "id": directory.name,
        "site": "x",
        "parent": None,
        "created": NOW.isoformat(),
        "config_fingerprint": "f",
        "tables": entries,
        "vectors": None if vectors is None else _lance(directory, vectors),
        "models": [],
        "stats": {"blocks.conservation_failures": 0} if stats is None else stats,
    }
    (directory / "manifest.json").write_text(json.dumps(manifest))
    return open_dir(directory)


def inputs(blocks: pl.DataFrame) -> list[str]:
    both = pl.concat([blocks["input_hash"], blocks["path_input_hash"].alias("input_hash")])
    return sorted(both.drop_nulls().unique().to_list())


def _lance(directory: Path, hashes: list[str]) -> dict[str, Any]:
    rows = [
        {"input_hash": h, "kind": "text", "input": h, "vector": [1.0, 0.0, 0.0, 0.0]}
        for h in hashes
    ]
    table = lancedb.connect(str(directory)).create_table(
        "vectors", pa.Table.from_pylist(rows, schema=schemas.vector_schema(DIM))
    )
    return {
        "dir": "vectors.lance",
        "rows": len(rows),
        "dim": DIM,
        "data_version": "v",
        "lance_version": table.version,
    }
