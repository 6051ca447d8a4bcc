"""The site's graphs at query time: pages by links, entities by relations, as small CSR arrays.

Built from the snapshot's Parquet files with pyarrow on first use (memory-mapped, only the columns
that are needed, ids turned into integers by arrow's hash join), then kept for the snapshot's life.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retrieval.index.gazetteer import Gazetteer
from retrieval.snapshot.reader import read_arrow
from retrieval.snapshot.schemas import empty

# How far a relation of each kind can be trusted to lead to the answer.
KIND_WEIGHT = {"membership": 1.0, "role": 1.0, "fact": 0.8, "hyperlink": 0.6, "cooccurrence": 0.3}
Ints = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float32]]


def _read(directory: Path, table: str, columns: Sequence[str]) -> pa.Table:
    """Return columns of a table; no rows where the snapshot was made without that stage."""
    file = directory / f"{table}.parquet"
    if not file.exists():
        return empty(table).select(list(columns))
    return read_arrow(file, columns=list(columns))


def _codes(column: pa.ChunkedArray, values: pa.Array) -> Ints:
    """Return the position of each value of ``column`` in ``values``; −1 when it is not there."""
    found = pc.index_in(column, value_set=values)
    return np.asarray(pc.fill_null(found, -1).combine_chunks().to_numpy(), dtype=np.int64)


@dataclass(frozen=True)
class Csr:
    """Neighbours of node i: ``target[start[i]:start[i+1]]``, with ``item`` the row of the edge."""

    start: Ints
    target: Ints
    item: Ints

    @classmethod
    def of(cls, source: Ints, target: Ints, nodes: int) -> Csr:
        """Group edges by source; edges with a negative end are left out, order is kept."""
        item = np.flatnonzero((source >= 0) & (target >= 0))
        order = item[np.argsort(source[item], kind="stable")]
        counts = np.bincount(source[order], minlength=nodes)
        return cls(np.concatenate([[0], np.cumsum(counts)]), target[order], order)

    def edges(self, node: int) -> tuple[Ints, Ints]:
        """Return (targets, edge rows) of ``node``."""
        part = slice(int(self.start[node]), int(self.start[node + 1]))
        return self.target[part], self.item[part]


class LinkGraph:
    """Hyperlinks between live pages that stand in content (a menu links all to all)."""

    def __init__(self, directory: Path, page_ids: pa.Array) -> None:
        columns = ("src_page_id", "dst_page_id", "anchor", "region")
        links = _read(directory, "links", columns)
        content = links.filter(pc.equal(links["region"], "content"))
        source = _codes(content["src_page_id"], page_ids)
        target = _codes(content["dst_page_id"], page_ids)
        self._anchors = content["anchor"]
        self._csr = Csr.of(source, target, len(page_ids))

    def out(self, page: int) -> list[tuple[int, str]]:
        """Return (page, anchor text) of each content link of ``page`` to another live page."""
        targets, rows = self._csr.edges(page)
        return [
            (int(t), self._anchors[int(r)].as_py())
            for t, r in zip(targets, rows, strict=True)
            if t != page
        ]


class EntityGraph:
    """Entities of a snapshot: names, the blocks they stand in, relations, facts."""

    def __init__(self, directory: Path, block_ids: pa.Array) -> None:
        entities = _read(directory, "entities", ("entity_id", "name", "types", "aliases"))
        self.ids: pa.Array = entities["entity_id"].combine_chunks()
        self.names: list[str] = entities["name"].to_pylist()
        persons = ["PERSON" in (types or ()) for types in entities["types"].to_pylist()]
        ids = self.ids.to_pylist()
        self.gazetteer = Gazetteer(ids, self.names, entities["aliases"].to_pylist(), persons)
        self.code = {entity: code for code, entity in enumerate(ids)}
        count, blocks = len(ids), len(block_ids)

        edges = _read(directory, "entity_edges", ("entity_id", "block_id", "confidence"))
        entity, block = _codes(edges["entity_id"], self.ids), _codes(edges["block_id"], block_ids)
        self.edge_confidence: Floats = edges["confidence"].to_numpy().astype(np.float32)
        self.blocks_of = Csr.of(entity, block, count)
        self.entities_of = Csr.of(block, entity, blocks)

        relations = _read(
            directory,
            "relations",
            ("subject_id", "object_id", "block_id", "kind", "predicate", "confidence"),
        )
        self._predicates = relations["predicate"]
        subject = _codes(relations["subject_id"], self.ids)
        obj = _codes(relations["object_id"], self.ids)
        shown = _codes(relations["block_id"], block_ids)
        kinds = relations["kind"].to_pylist()
        trust = np.array([KIND_WEIGHT.get(kind, 0.3) for kind in kinds], dtype=np.float32)
        weight = trust * relations["confidence"].to_numpy().astype(np.float32)
        # Both directions: "who teaches X" walks from the course to the person.
        self.relation_weight: Floats = np.concatenate([weight, weight])
        self.relation_block: Ints = np.concatenate([shown, shown])
        self.related = Csr.of(np.concatenate([subject, obj]), np.concatenate([obj, subject]), count)

        facts = _read(directory, "facts", ("subject_id", "label", "block_id"))
        self._labels = facts["label"]
        self.facts_of = Csr.of(
            _codes(facts["subject_id"], self.ids), _codes(facts["block_id"], block_ids), count
        )

    def relations(self, code: int) -> list[tuple[int, str, float]]:
        """Return (entity, predicate, weight) of each relation of an entity, both directions."""
        targets, edges = self.related.edges(code)
        count = len(self._predicates)
        return [
            (int(target), str(self._predicates[int(edge) % count].as_py()), float(weight))
            for target, edge, weight in zip(
                targets, edges, self.relation_weight[edges], strict=True
            )
        ]

    def label(self, fact: int) -> str:
        """Return the label of a fact by its row."""
        return str(self._labels[fact].as_py())

    def names_in(self, block_row: int, limit: int = 20) -> list[str]:
        """Return the names of the entities linked to a block, surest first."""
        entities, edges = self.entities_of.edges(block_row)
        order = np.argsort(-self.edge_confidence[edges], kind="stable")[:limit]
        return [self.names[int(code)] for code in entities[order]]
