"""One opened snapshot as the modes see it: the search index, the graphs, the words' weights."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

import numpy as np

from retrieval.index.search import Search
from retrieval.index.view import BlockView
from retrieval.modes.graph import EntityGraph, Ints, LinkGraph
from retrieval.modes.sitefacts import SiteFacts
from retrieval.snapshot.reader import Snapshot


class SiteView:
    """A snapshot opened for questions; graphs are built on first use and kept."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.search = Search(snapshot)
        self._page_of, self._text_of = self.search.page_of, self.search.text_of
        self._frequency = lru_cache(maxsize=4096)(self.search.document_frequency)

    @cached_property
    def site_facts(self) -> SiteFacts:
        """Return the repeated parts whose facts are kept once; their rows follow the index's."""
        return SiteFacts(self.snapshot.dir, self.search.rows)

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
        first, last = np.searchsorted(self._page_of, [page, page + 1])
        return np.arange(first, last, dtype=np.int64)

    def page_url(self, page: int) -> str:
        """Return the public URL of a page; empty when it has no kept block."""
        rows = self.rows_of(page)
        return self.search.block(int(rows[0])).url if len(rows) else ""

    def block(self, row: int) -> BlockView:
        """Return a block, of the index or of the site's facts."""
        beyond = row - self.search.rows
        return self.search.block(row) if beyond < 0 else self.site_facts.blocks[beyond]

    def page(self, row: int) -> int:
        """Return the page of a block; a repeated part is a page of its own (negative)."""
        beyond = row - self.search.rows
        return int(self._page_of[row]) if beyond < 0 else -1 - beyond

    def text(self, row: int) -> int:
        """Return a number that blocks with the same text share."""
        beyond = row - self.search.rows
        return int(self._text_of[row]) if beyond < 0 else -1 - beyond

    def rows_with_text(self, text: int) -> list[int]:
        """Return the rows of the index whose text has this number (`text`), in order."""
        return [int(row) for row in np.flatnonzero(self._text_of == text)]

    def words(self, row: int) -> int:
        """Return the words of a block's text."""
        beyond = row - self.search.rows
        return int(self._words_of[row]) if beyond < 0 else self.site_facts.blocks[beyond].words

    def url(self, row: int) -> str:
        """Return the public URL of a block's page."""
        return self.block(row).url

    def block_id(self, row: int) -> str:
        """Return the id of a block."""
        if row < self.search.rows:
            return str(self.search.block_ids[row].as_py())
        return self.block(row).block_id

    def names_in(self, row: int) -> list[str]:
        """Return the names of the entities linked to a block (none to a repeated part)."""
        return self.entities.names_in(row) if row < self.search.rows else []

    @cached_property
    def _words_of(self) -> np.ndarray:
        return self.search.words_of

    def idf(self, word: str) -> float:
        """Return ln(1 + (N − n + 0.5) / (n + 0.5)) of a folded word, n of N blocks hold it."""
        n = self._frequency(word)
        return math.log(1 + (self.search.rows - n + 0.5) / (n + 0.5))

    def knows(self, word: str) -> bool:
        """Return whether any block holds the folded word."""
        return self._frequency(word) > 0
