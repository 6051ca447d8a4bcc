"""Identities of many rows at once: what `retrieval.snapshot.ids` computes for one."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import polars as pl

from retrieval.snapshot.ids import ID_BYTES

_SEP = "\x1f"


def joined(*parts: str | pl.Expr) -> pl.Expr:
    """Return the expression of what is hashed: ``parts`` (strings without nulls), each ended."""
    return pl.concat_str([*parts, pl.lit("")], separator=_SEP)


def digest_column(frame: pl.DataFrame, kind: str, columns: Sequence[str]) -> pl.Series:
    """Return ``ids.digest(kind, *columns)`` of each row; the columns are strings without nulls."""
    return digests(frame.select(joined(pl.lit(kind), *columns)).to_series())


def digests(texts: pl.Series) -> pl.Series:
    """Return the identities of texts made by `joined`."""
    hashes = [
        blake2b(text, digest_size=ID_BYTES).digest() for text in texts.cast(pl.Binary).to_list()
    ]
    return pl.Series(hashes, dtype=pl.Binary).bin.encode("hex")


def coded(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Return ``frame`` with ids (default: every column) as numbers that have their order.

    They are quicker to sort, group and join; a cast to String gives the ids back.
    """
    return frame.cast({c: pl.Enum(frame[c].unique().sort()) for c in columns or frame.columns})
