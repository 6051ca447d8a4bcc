"""Which pages are content: the one expression that every later stage filters `pages` by."""

from __future__ import annotations

import polars as pl

from retrieval.snapshot.schemas import CONTENT_STATES

HAS_CONTENT: pl.Expr = pl.col("state").is_in(CONTENT_STATES) & pl.col("body_sha256").is_not_null()
"""True for a page whose body is indexed: live, or not to be had now but had before."""
