"""One opened snapshot as the modes see it: the search index, the graphs, the words' weights."""

from __future__ import annotations

from functools import cached_property

from retrieval.index.search import Search
from retrieval.modes.graph import EntityGraph, LinkGraph
from retrieval.snapshot.reader import Snapshot


class SiteView:
    """A snapshot opened for questions; graphs are built on first use and kept."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.search = Search(snapshot)

    @cached_property
    def links(self) -> LinkGraph:
        """Return the graph of content links between pages."""
        return LinkGraph(self.snapshot.dir, self.page_ids)

    @cached_property
    def entities(self) -> EntityGraph:
        """Return the graph of entities, relations and facts."""
        return EntityGraph(self.snapshot.dir, self.block_ids)
