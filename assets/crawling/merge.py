"""Which URLs are one page: a canonical link whose content agrees, or equal content."""

from __future__ import annotations

import numpy as np
import polars as pl

from assets.crawling.reach import Rows, resolve

# A canonical link is believed when title and language are equal and the lengths are this near.
_WORDS_APART = 0.05


def primaries(rows: pl.DataFrame) -> tuple[Rows, pl.Series]:
    """Return for each row the row of the page it stands for (itself when it is one), and the proof.

    Looks at rows with ``content``. Needs row, key, best_url, canonical_key, content_hash, words,
    title, language, in_sitemap (``listed``). Among URLs of equal content the one that canonical
    links name comes first, then one that a sitemap lists, one without a query, the shortest, the
    first in order: nothing of it depends on the order of the crawl.
    """
    canonical = _canonical(rows)
    equal = _equal(rows, canonical)
    ends, _ = resolve(np.where(canonical >= 0, canonical, equal))
    why = np.where(canonical >= 0, "canonical link, content agrees", "equal content")
    return ends, pl.Series(why)


def _canonical(rows: pl.DataFrame) -> Rows:
    """Return the row that a row's canonical link names and whose content agrees, else -1."""
    facts = ("row", "content_hash", "words", "title", "language")
    content = rows.filter("content")
    targets = content.select("key", *(pl.col(name).alias(f"to_{name}") for name in facts))
    pairs = content.select("canonical_key", *facts).join(
        targets, left_on="canonical_key", right_on="key", how="inner"
    )
    near = (pl.col("words") - pl.col("to_words")).abs() <= _WORDS_APART * pl.max_horizontal(
        "words", "to_words"
    )
    same = pl.col("content_hash").eq(pl.col("to_content_hash")) | (
        near
        & pl.col("title").eq(pl.col("to_title"))
        & pl.col("language").eq_missing(pl.col("to_language"))
    )
    pairs = pairs.filter(pl.col("row").ne(pl.col("to_row")) & same.fill_null(False))
    found = np.full(rows.height, -1, dtype=np.int64)
    found[pairs["row"].to_numpy()] = pairs["to_row"].to_numpy()
    # Two pages that name each other prove nothing.
    _, loops = resolve(found)
    found[loops] = -1
    return found


def _equal(rows: pl.DataFrame, canonical: Rows) -> Rows:
    """Return the first row of each group of equal content for its other rows, else -1."""
    named = np.zeros(rows.height, dtype=np.bool_)
    named[canonical[canonical >= 0]] = True
    ranked = (
        rows.with_columns(named=pl.Series(named), merged=pl.Series(canonical >= 0))
        # Pages without words all hash alike: that is no proof.
        .filter(pl.col("content") & pl.col("words").gt(0) & ~pl.col("merged"))
        .sort(
            "content_hash",
            ~pl.col("named"),
            ~pl.col("listed"),
            pl.col("best_url").str.contains("?", literal=True),
            pl.col("best_url").str.len_bytes(),
            "best_url",
        )
        .with_columns(first=pl.col("row").first().over("content_hash"))
        .filter(pl.col("row").ne(pl.col("first")))
    )
    found = np.full(rows.height, -1, dtype=np.int64)
    found[ranked["row"].to_numpy()] = ranked["first"].to_numpy()
    return found
