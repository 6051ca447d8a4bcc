"""Identities of many rows at once: what `retrieval.snapshot.ids` computes for one."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import polars as pl

from retrieval.snapshot.ids import ID_BYTES

_SEP = "\x1f"


def digest_column(frame: pl.DataFrame, kind: str, columns: Sequence[str]) -> pl.Series:
    """Return ``ids.digest(kind, *columns)`` of each row; the columns are strings without nulls."""
    joined = frame.select(
        pl.concat_str([pl.lit(kind), *columns, pl.lit("")], separator=_SEP)
    ).to_series()
    return pl.Series(
        [blake2b(text.encode(), digest_size=ID_BYTES).hexdigest() for text in joined.to_list()],
        dtype=pl.String,
    )
