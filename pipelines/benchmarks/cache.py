"""Model outputs kept across runs, each with the cost it had: a hit is charged that cost.

So a benchmark that is run again is short, and its ratios are those of a run without the cache.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evaluation.cache import Cached, SqliteVectorCache
from pipelines.resources import LoadedModels
from retrieval.snapshot.ids import digest, input_hash

if TYPE_CHECKING:
    from assets.extraction.ner import Ner, Span
    from retrieval.models.base import Embedder, Floats, TextKind
    from retrieval.models.config import ModelsConfig

_CHUNK = 256


class CachedEmbedder:
    """An embedder that looks up first; ``saved_seconds`` is what the hits are charged."""

    def __init__(self, inner: Embedder, path: Path) -> None:
        self._inner = inner
        self._cache = SqliteVectorCache(path)
        self.name, self.revision, self.sha256 = inner.name, inner.revision, inner.sha256
        self.dim, self.max_tokens = inner.dim, inner.max_tokens
        self.saved_seconds = 0.0

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text (not cached: it is part of what is measured)."""
        return self._inner.count_tokens(texts)

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Floats:
        """Return the vectors of ``texts``, in their order."""
        import numpy as np

        model = f"{self.sha256}|{kind}"
        keys = [input_hash(text) for text in texts]
        known = self._cache.get_many(model, keys)
        self.saved_seconds += sum(hit.seconds for hit in known.values())
        missing = {k: t for k, t in zip(keys, texts, strict=True) if k not in known}
        order = sorted(missing, key=lambda key: (len(missing[key]), key))
        for start in range(0, len(order), _CHUNK):
            known |= self._compute(
                model, {key: missing[key] for key in order[start:][:_CHUNK]}, kind
            )
        return np.stack([known[key].vector for key in keys])

    def _compute(self, model: str, part: dict[str, str], kind: TextKind) -> dict[str, Cached]:
        """Embed ``part`` and keep it; its time is shared out by length."""
        began = time.perf_counter()
        vectors = self._inner.embed(list(part.values()), kind=kind)
        seconds = time.perf_counter() - began
        total = sum(map(len, part.values())) or 1
        new = {
            key: Cached(vector, seconds * len(text) / total)
            for (key, text), vector in zip(part.items(), vectors, strict=True)
        }
        self._cache.put_many(model, new)
        return new


class CachedNer:
    """A recogniser that looks up first; hits are charged to ``saved_seconds``."""

    def __init__(self, inner: Ner, path: Path) -> None:
        self._inner = inner
        self._path = path
        self.name, self.version = inner.name, inner.version
        self.saved_seconds = 0.0
        with sqlite3.connect(path) as db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS spans (key TEXT PRIMARY KEY, spans TEXT, seconds REAL)"
            )

    @property
    def texts(self) -> int:
        """Return the number of texts the model really read."""
        return self._inner.texts

    @property
    def seconds(self) -> float:
        """Return the wall time really spent in the model."""
        return self._inner.seconds

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time really spent in the model."""
        return self._inner.cpu_seconds

    @property
    def load_seconds(self) -> float:
        """Return the wall time spent loading the model."""
        return self._inner.load_seconds

    def __call__(self, texts: Sequence[str]) -> list[list[Span]]:
        """Return the mentions of each text."""
        from assets.extraction.ner import Span

        model = f"{self.name}@{self.version}"
        keys = [digest(model, text) for text in texts]
        found: dict[str, list[Span]] = {}
        with sqlite3.connect(self._path) as db:
            for key in keys:
                row = db.execute(
                    "SELECT spans, seconds FROM spans WHERE key = ?", (key,)
                ).fetchone()
                if row is not None:
                    found[key] = [Span(*span) for span in json.loads(row[0])]
                    self.saved_seconds += row[1]
        missing = {k: t for k, t in zip(keys, texts, strict=True) if k not in found}
        for start in range(0, len(missing), _CHUNK):
            part = dict(list(missing.items())[start : start + _CHUNK])
            found |= self._compute(part)
        return [found[key] for key in keys]

    def _compute(self, part: dict[str, str]) -> dict[str, list[Span]]:
        began = self._inner.seconds
        results = self._inner(list(part.values()))
        total = sum(map(len, part.values())) or 1
        share = (self._inner.seconds - began) / total
        new = dict(zip(part, results, strict=True))
        with sqlite3.connect(self._path) as db:
            db.executemany(
                "INSERT OR IGNORE INTO spans VALUES (?, ?, ?)",
                [(key, json.dumps(spans), share * len(part[key])) for key, spans in new.items()],
            )
        return new


class CachedModels(LoadedModels):
    """The models of a benchmark: those of the configuration behind one shared cache."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._wrapped: dict[str, CachedEmbedder] = {}
        self._recognisers: dict[str, CachedNer] = {}

    def embedder(self, config: ModelsConfig) -> Embedder:
        """Return the embedder behind the cache."""
        inner = super().embedder(config)
        if inner.sha256 not in self._wrapped:
            path = self._directory / "vectors.sqlite"
            self._wrapped[inner.sha256] = CachedEmbedder(inner, path)
        return self._wrapped[inner.sha256]

    def ner(self, config: ModelsConfig) -> Ner:
        """Return the recogniser behind the cache."""
        inner = super().ner(config)
        if inner.name not in self._recognisers:
            self._recognisers[inner.name] = CachedNer(inner, self._directory / "mentions.sqlite")
        return self._recognisers[inner.name]

    @property
    def saved_seconds(self) -> float:
        """Return what all hits so far are charged, in seconds of wall time."""
        vectors = sum(embedder.saved_seconds for embedder in self._wrapped.values())
        return vectors + sum(ner.saved_seconds for ner in self._recognisers.values())
