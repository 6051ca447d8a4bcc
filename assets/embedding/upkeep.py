"""Upkeep of vectors.lance, each on a threshold: none of it is part of a usual sync.

Compaction rewrites the whole table (2.8 s at 50,000 rows). An index is worth having only above the
size up to which search is exact over the mirror.
"""

from __future__ import annotations

import math
import warnings
from datetime import timedelta
from typing import Any

from retrieval.index.search import SearchConfig

MAX_FRAGMENTS = 64
MAX_DELETED_SHARE = 0.3
MAX_UNINDEXED_SHARE = 0.1
INDEX_ABOVE = SearchConfig().exact_limit


def compact(table: Any) -> bool:
    """Compact when fragments or deleted rows have piled up; say whether it was done."""
    stats = table.stats()["fragment_stats"]
    stored = stats["num_fragments"] * stats["lengths"]["mean"]
    deleted = 1 - table.count_rows() / stored if stored else 0.0
    if stats["num_fragments"] <= MAX_FRAGMENTS and deleted <= MAX_DELETED_SHARE:
        return False
    _optimize(table)
    return True


def index(table: Any) -> bool:
    """Build an IVF index on a table that has outgrown exact search, or take new rows into it.

    √rows partitions, vectors kept whole (IVF_FLAT): the scores of what it finds are exact. Says
    whether anything was done.
    """
    rows = table.count_rows()
    if rows <= INDEX_ABOVE:
        return False
    existing = [i.name for i in table.list_indices() if "vector" in i.columns]
    if not existing:
        from lancedb.index import IvfFlat

        config = IvfFlat(distance_type="dot", num_partitions=max(math.isqrt(rows), 1))
        table.create_index("vector", config=config)
        return True
    if table.index_stats(existing[0]).num_unindexed_rows <= MAX_UNINDEXED_SHARE * rows:
        return False
    _optimize(table)
    return True


def _optimize(table: Any) -> None:
    with warnings.catch_warnings():
        # It warns of readers of older versions: a candidate in staging has none.
        warnings.filterwarnings("ignore", message=".*cleanup_older_than=0")
        table.optimize(cleanup_older_than=timedelta(0))
