"""Everything that is needed to answer from a snapshot, and nothing that is needed to make one.

Belongs here: the snapshot contract (ids, schemas, manifest, reader, diff), the models, the search
index, routing, modes, fusion, reranking, answers and traces. Must not come here: crawling, parsing,
orchestration, validation (no dagster, scrapy or great_expectations, not even indirectly).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrieval.index.api import Index, open_index

__all__ = ["Index", "open_index"]


def __getattr__(name: str) -> Any:
    """Load the public names on first use: importing the package stays cheap."""
    if name in __all__:
        from retrieval.index import api

        return getattr(api, name)
    raise AttributeError(f"module 'retrieval' has no attribute {name!r}")
