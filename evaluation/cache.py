"""A content-keyed cache of model outputs that runs and builds share.

A hit is charged the seconds recorded when the vector was computed, so that ratios stay true while
reruns stay short. The key is the model (hash of its weights, kind of input) and the hash of the
input, so a vector is taken only where it would be computed equal.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from retrieval.models.base import Embedder, Floats
from retrieval.snapshot.ids import input_hash

_BUSY_SECONDS = 60.0
_IN_LIMIT = 500  # names in one IN (...): far below SQLite's limit
_BATCH = 256  # texts embedded between two writes: what an interruption loses


@dataclass(frozen=True)
class Cached:
    """A vector and the seconds its computation took."""

    vector: Floats
    seconds: float


class VectorCache(Protocol):
    """Where vectors are kept: by model and input hash."""

    def get_many(self, model: str, keys: Sequence[str]) -> dict[str, Cached]:
        """Return the known ones of ``keys``."""

    def put_many(self, model: str, items: Mapping[str, Cached]) -> None:
        """Keep ``items``; a key that is known already keeps its first value."""


class SqliteVectorCache:
    """A VectorCache in one SQLite file; safe for several processes (write-ahead log, busy wait)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute(
                "CREATE TABLE IF NOT EXISTS vectors (model TEXT, key TEXT, vector BLOB NOT NULL,"
                " seconds REAL NOT NULL, PRIMARY KEY (model, key)) WITHOUT ROWID"
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self._path, timeout=_BUSY_SECONDS)
        try:
            with db:
                yield db
        finally:
            db.close()

    def get_many(self, model: str, keys: Sequence[str]) -> dict[str, Cached]:
        """Return the known ones of ``keys``."""
        found: dict[str, Cached] = {}
        with self._open() as db:
            for start in range(0, len(keys), _IN_LIMIT):
                part = list(keys[start : start + _IN_LIMIT])
                marks = ",".join("?" * len(part))
                query = (  # only question marks are put in
                    "SELECT key, vector, seconds FROM vectors"  # noqa: S608
                    f" WHERE model = ? AND key IN ({marks})"
                )
                rows = db.execute(query, (model, *part))
                for key, blob, seconds in rows:
                    found[key] = Cached(np.frombuffer(blob, dtype="<f4"), seconds)
        return found

    def put_many(self, model: str, items: Mapping[str, Cached]) -> None:
        """Keep ``items``; a key that is known already keeps its first value."""
        with self._open() as db:
            db.executemany(
                "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?)",
                [
                    (model, key, item.vector.astype("<f4").tobytes(), item.seconds)
                    for key, item in items.items()
                ],
            )


@dataclass(frozen=True)
class EmbedCost:
    """What an embedding pass cost: distinct texts, cache hits, seconds charged and really spent."""

    texts: int
    hits: int
    charged_seconds: float
    spent_seconds: float


def embed_cached(
    embedder: Embedder, texts: Sequence[str], cache: VectorCache | None
) -> tuple[Floats, EmbedCost]:
    """Embed ``texts`` as passages through ``cache``; each distinct text once.

    A batch's time is shared out among its texts by their length in characters.
    """
    model = f"{embedder.sha256}|passage"
    keys = [input_hash(text) for text in texts]
    distinct = dict(zip(keys, texts, strict=True))
    known = cache.get_many(model, list(distinct)) if cache else {}
    hits, spent = len(known), 0.0
    missing = sorted((k for k in distinct if k not in known), key=lambda k: (len(distinct[k]), k))
    for start in range(0, len(missing), _BATCH):
        part = missing[start : start + _BATCH]
        began = time.perf_counter()
        vectors = embedder.embed([distinct[k] for k in part], kind="passage")
        seconds = time.perf_counter() - began
        spent += seconds
        total = sum(len(distinct[k]) for k in part) or 1
        new = {
            k: Cached(np.asarray(vectors[i], dtype=np.float32), seconds * len(distinct[k]) / total)
            for i, k in enumerate(part)
        }
        if cache:
            cache.put_many(model, new)
        known.update(new)
    charged = sum(known[k].seconds for k in distinct)
    matrix = np.empty((len(keys), embedder.dim), dtype=np.float32)
    for row, key in enumerate(keys):
        matrix[row] = known[key].vector
    return matrix, EmbedCost(len(distinct), hits, charged, spent)
