"""A declared hash embedder: for benchmarks of scale, where only the number of vectors matters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

import numpy as np

from retrieval.models.base import Floats, TextKind, too_long

_WORD = re.compile(r"\w+|[^\w\s]")


class HashEmbedder:
    """Signed feature hashing of lower-cased words, unit length; texts are close if words agree.

    A text without words gets the first unit vector, so that no row is zero.
    """

    max_tokens = 510

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim
        self.revision = f"feature-hashing-1/{dim}"
        self.sha256 = ""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the words and punctuation marks of each text."""
        return [len(_WORD.findall(text)) for text in texts]

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Floats:
        """Return unit vectors [n, dim]; see `retrieval.models.base.Embedder`."""
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(out, texts, strict=True):
            words = _WORD.findall(text.lower())
            if len(words) > self.max_tokens:
                raise too_long(text, len(words), self.max_tokens)
            codes = np.array([crc32(w.encode()) for w in words], dtype=np.int64)
            np.add.at(row, (codes >> 1) % self.dim, 1.0 - 2.0 * (codes & 1))
            norm = float(np.sqrt(np.dot(row, row)))
            if norm > 0:
                row /= norm
            else:
                row[0] = 1.0
        return out
