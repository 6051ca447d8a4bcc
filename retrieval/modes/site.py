"""One opened snapshot as the modes see it: the search index, the graphs, the words' weights."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

import numpy as np

from retrieval.index.search import Search
from retrieval.modes.graph import EntityGraph, Ints, LinkGraph
from retrieval.snapshot.reader import Snapshot


class SiteView:
    """A snapshot opened for questions; graphs are built on first use and kept."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.search = Search(snapshot)
        self.page_of = self.search.page_of
        self.text_of = self.search.text_of
        self._frequency = lru_cache(maxsize=4096)(self.search.document_frequency)

    @cached_property
    def words_of(self) -> np.ndarray:
        """Return the words of each block's text [rows]."""
        return self.search.words_of

    @cached_property
    def links(self) -> LinkGraph:
        """Return the graph of content links between pages."""
        return LinkGraph(self.snapshot.dir, self.search.page_ids)

    @cached_property
    def entities(self) -> EntityGraph:
        """Return the graph of entities, relations and facts."""
        return EntityGraph(self.snapshot.dir, self.search.block_ids)

    def rows_of(self, page: int) -> Ints:
        """Return the block rows of a page, in document order (rows are sorted by page)."""
        first, last = np.searchsorted(self.page_of, [page, page + 1])
        return np.arange(first, last, dtype=np.int64)

    def page_url(self, page: int) -> str:
        """Return the public URL of a page; empty when it has no kept block."""
        rows = self.rows_of(page)
        return self.search.block(int(rows[0])).url if len(rows) else ""

    def block_id(self, row: int) -> str:
        """Return the id of a block."""
        return str(self.search.block_ids[row].as_py())

    def idf(self, word: str) -> float:
        """Return ln(1 + (N − n + 0.5) / (n + 0.5)) of a folded word, n of N blocks hold it."""
        n = self._frequency(word)
        return math.log(1 + (self.search.rows - n + 0.5) / (n + 0.5))

    def knows(self, word: str) -> bool:
        """Return whether any block holds the folded word."""
        return self._frequency(word) > 0
