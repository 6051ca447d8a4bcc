"""What changed between two snapshots: rows by key and content hash, history columns left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from retrieval.snapshot.hashing import row_hashes, row_keys, value_columns
from retrieval.snapshot.schemas import CHANGE_KINDS, TABLES

if TYPE_CHECKING:
    from retrieval.snapshot.reader import Snapshot

# What a diff covers unless told otherwise: `changes` is itself a diff, `metrics` measures.
CONTENT_TABLES = tuple(name for name in TABLES if name not in ("changes", "metrics"))

_SCHEMA = {
    "table": pl.String, "key": pl.String, "kind": pl.String,
    "before": pl.String, "after": pl.String,
}  # fmt: skip


def diff_table(name: str, before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``changes`` that lead from ``before`` to ``after``, sorted by key.

    ``kind`` is added (``before`` null), removed (``after`` null) or changed; the hashes cover the
    columns that are neither key nor history.
    """
    before, after = _unlike(name, before, after)
    joined = _hashed(name, before, "before").join(
        _hashed(name, after, "after"), on="key", how="full", coalesce=True
    )
    kind = (
        pl.when(pl.col("before").is_null())
        .then(pl.lit("added"))
        .when(pl.col("after").is_null())
        .then(pl.lit("removed"))
        .otherwise(pl.lit("changed"))
    )
    return (
        joined.filter(pl.col("before").ne_missing(pl.col("after")))
        .select(pl.lit(name).alias("table"), "key", kind.alias("kind"), "before", "after")
        .sort("key")
    )


def diff(a: Snapshot, b: Snapshot, tables: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the rows of ``changes`` that lead from snapshot ``a`` to ``b``, by table and key.

    ``tables`` defaults to CONTENT_TABLES. A table whose data version is the same in both is not
    read; one that only one side has counts as empty on the other.
    """
    parts = [pl.DataFrame(schema=_SCHEMA)]
    for name in CONTENT_TABLES if tables is None else tables:
        before, after = a.manifest.tables.get(name), b.manifest.tables.get(name)
        if before and after and before.data_version == after.data_version:
            continue
        parts.append(diff_table(name, a.read(name), b.read(name)))
    return pl.concat(parts).sort("table", "key")


def summary(changes: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Count the rows of a diff: ``{table: {"added": n, "changed": n, "removed": n}}``."""
    counts: dict[str, dict[str, int]] = {}
    grouped = changes.group_by("table", "kind").len().sort("table", "kind")
    for table, kind, rows in grouped.iter_rows():
        counts.setdefault(table, dict.fromkeys(CHANGE_KINDS, 0))[kind] = rows
    return counts


def _unlike(
    name: str, before: pl.DataFrame, after: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows of both that the other does not have: most rows need no hash."""
    key, columns = list(TABLES[name].key), value_columns(name)
    if any(before.schema.get(c) != after.schema.get(c) for c in (*key, *columns)):
        return before, after  # of another schema: only hashes compare
    same = pl.lit(True)
    for column in columns:
        same &= pl.col(column).eq_missing(pl.col(f"{column}_after"))
    like = before.join(after, on=key, suffix="_after").filter(same).select(key)
    return before.join(like, on=key, how="anti"), after.join(like, on=key, how="anti")


def _hashed(name: str, frame: pl.DataFrame, alias: str) -> pl.DataFrame:
    return pl.DataFrame(
        [row_keys(name, frame), row_hashes(frame, value_columns(name)).alias(alias)]
    )
