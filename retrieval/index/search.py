"""Search over one snapshot: exact by vector over the mirror, BM25, and the blocks themselves.

Above `SearchConfig.exact_limit` embedded strings the candidates come from LanceDB's own index and
are scored exactly over the mirror; the interface and the scores are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from retrieval.index.lexical import Lexical
from retrieval.index.mirror import Floats, Ints, Mirror, SearchFilesError, top_k
from retrieval.index.view import BlockView
from retrieval.snapshot.reader import Snapshot

_PROBES = 64  # partitions of LanceDB's index that are read, of √rows
Ranked = list[tuple[int, float]]


class SearchConfig(BaseModel):
    """How blocks are scored and when LanceDB's index takes over.

    ``path_weight`` was chosen on 125 questions of our own over two sites: hit@10 of vectors alone
    rises from 0.887 to 0.984 on the one and from 0.952 to 0.968 on the other; beyond 0.5 the first
    gains nothing and the second falls.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    path_weight: float = Field(
        default=0.4, ge=0, description="weight of cos(path input) beside cos(text input)"
    )
    exact_limit: int = Field(
        default=200_000, ge=0, description="embedded strings up to which search is exact"
    )
    candidates: int = Field(
        default=1_000, ge=1, description="strings of each kind taken from LanceDB's index"
    )


class Search:
    """An opened snapshot's search files; nothing is read until it is asked for.

    Raises SearchFilesError when they are missing or unreadable. Not bound to a thread: every method
    may be called from several threads at once.
    """

    def __init__(self, snapshot: Snapshot, config: SearchConfig | None = None) -> None:
        directory = snapshot.search_dir
        if not directory.is_dir():
            raise SearchFilesError(directory, "there are none")
        self.config = config or SearchConfig()
        self._snapshot = snapshot
        self._mirror = Mirror(directory)
        self._lexical = Lexical(directory, self._mirror.rows)
        self.rows: int = self._mirror.rows
        self.block_ids: pa.StringArray = self._mirror.block_ids
        self.lineage_ids: pa.StringArray = self._mirror.lineage_ids
        self.page_ids: pa.StringArray = self._mirror.page_ids
        self.page_of: Ints = self._mirror.page_of
        self.text_of: Ints = self._mirror.text_of

    @property
    def words_of(self) -> Ints:
        """Return the words of each block's text [rows]."""
        return self._mirror.words_of

    def dense(
        self, query_vector: Floats, k: int, rows: NDArray[np.integer[Any]] | None = None
    ) -> Ranked:
        """Return (row, score) of the best ``k`` blocks, ties by row.

        Score = cos(query, text input) + path_weight · cos(query, path input); ``query_vector`` has
        unit length [dim]. ``rows`` restricts the search to those blocks.
        """
        query = np.ascontiguousarray(query_vector, dtype=np.float32).reshape(-1)
        if rows is None and len(self._mirror.vectors) > self.config.exact_limit:
            rows = self._from_lance(query)
        if rows is None:
            scores = self._all(query)
            return [(int(row), float(scores[row])) for row in top_k(scores, k)]
        subset = np.unique(np.asarray(rows, dtype=np.int64))
        scores = self._some(query, subset)
        return [(int(subset[i]), float(scores[i])) for i in top_k(scores, k)]

    def lexical(self, query: str, k: int) -> Ranked:
        """Return (row, BM25 score) of the best ``k`` blocks that share a term, ties by row."""
        return self._lexical.search(query, k)

    def document_frequency(self, word: str) -> int:
        """Return the blocks that have the stem of ``word``; all of them for a stop word."""
        return self._lexical.document_frequency(word)

    def block(self, row: int) -> BlockView:
        """Return block ``row``; raises IndexError when there is no such row."""
        return self._mirror.block(row)

    def vector(self, row: int) -> Floats:
        """Return the unit vector of the text input of block ``row`` [dim]."""
        return np.array(self._mirror.vectors[self._mirror.input_of[row]])

    def collapse(self, ranked: Iterable[tuple[int, float]]) -> list[tuple[int, float, list[int]]]:
        """Return the first block of each text with its score and the rows of its repeats."""
        first: dict[int, tuple[int, float, list[int]]] = {}
        for row, score in ranked:
            text = int(self.text_of[row])
            if text in first:
                first[text][2].append(row)
            else:
                first[text] = (row, score, [])
        return list(first.values())

    def _all(self, query: Floats) -> Floats:
        similarity = self._mirror.vectors @ query
        weight = np.float32(self.config.path_weight)
        scores: Floats = (
            similarity[self._mirror.input_of] + weight * similarity[self._mirror.path_of]
        )
        return scores

    def _some(self, query: Floats, rows: NDArray[np.int64]) -> Floats:
        inputs = np.concatenate([self._mirror.input_of[rows], self._mirror.path_of[rows]])
        needed, position = np.unique(inputs, return_inverse=True)
        similarity = (self._mirror.vectors[needed] @ query)[position]
        weight = np.float32(self.config.path_weight)
        scores: Floats = similarity[: len(rows)] + weight * similarity[len(rows) :]
        return scores

    def _from_lance(self, query: Floats) -> NDArray[np.int64]:
        """Return the rows of blocks whose text or path input is among the nearest strings."""
        hit = np.zeros(len(self._mirror.vectors), dtype=bool)
        for kind in ("text", "path"):
            found = (
                self._snapshot.lance()
                .search(query, vector_column_name="vector")
                .distance_type("dot")
                .nprobes(_PROBES)
                .where(f"kind = '{kind}'", prefilter=True)
                .select(["input_hash", "_distance"])
                .limit(self.config.candidates)
                .to_arrow()
            )
            inputs = pc.index_in(found["input_hash"], value_set=self._mirror.input_hashes)
            hit[inputs.to_numpy()] = True
        return np.flatnonzero(hit[self._mirror.input_of] | hit[self._mirror.path_of])
