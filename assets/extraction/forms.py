"""Functions of names over whole columns, called once for each distinct value."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from retrieval.index.gazetteer import normalise


def forms(names: pl.Series) -> pl.Series:
    """Return the normal form of each name; null stays null."""
    return mapped(names, normalise)


def mapped(values: pl.Series, function: Callable[[str], str | None]) -> pl.Series:
    """Return ``function`` of each value; null stays null."""
    distinct = values.drop_nulls().unique()
    results = pl.Series([function(value) for value in distinct.to_list()], dtype=pl.String)
    return values.replace_strict(distinct, results, default=None, return_dtype=pl.String)
