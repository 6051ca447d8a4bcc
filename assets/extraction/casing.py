"""How the site writes its words: which capitalised words are names and which only begin a sentence.

A word that the site also writes in lower case is no name by its capital alone ("History" the
department, "history" the subject). This is counted over all kept prose, once per snapshot.
"""

from __future__ import annotations

import polars as pl

# A word is *plain* when at least this share of its uses is in lower case.
PLAIN_SHARE = 0.1
COMMON_SHARE = 0.5


def lower_shares(texts: pl.DataFrame) -> dict[str, float]:
    """Return for each word (lower case) the share of its uses that are in lower case.

    ``texts`` has a column text; words are runs of letters and digits that begin with a letter.
    """
    # A word is within a line, and a site says most of its short lines more than once.
    lines = texts.select(line=pl.col("text").str.split("\n")).explode("line", empty_as_null=False)
    words = (
        lines.group_by("line")
        .len("uses")
        .with_columns(word=pl.col("line").str.extract_all(r"\p{L}[\p{L}\d]*"))
        .select("uses", "word")
        .explode("word", empty_as_null=False)
        .group_by("word")
        .agg(pl.col("uses").sum())
        .with_columns(
            folded=pl.col("word").str.to_lowercase(),
            low=pl.when(pl.col("word") == pl.col("word").str.to_lowercase())
            .then(pl.col("uses"))
            .otherwise(0),
        )
        .group_by("folded")
        .agg(share=pl.col("low").sum() / pl.col("uses").sum())
    )
    return dict(zip(words["folded"].to_list(), words["share"].to_list(), strict=True))


def begins_sentence(text: str, start: int) -> bool:
    """Say whether position ``start`` of ``text`` begins a line, a cell, an item or a sentence."""
    before = text[max(0, start - 3) : start].rstrip(" \u00a0\"'“‘(")
    return not before or before[-1] in ".!?:;•\n\t-–—/|"
