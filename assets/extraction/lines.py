"""Texts line by line: a site says most of its lines more than once, and each is read once.

What is found stands within a line: rows, items and headings are units of their own, so a name that
begins at the end of one and goes on in the next is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Lines:
    """Distinct lines and where they stand.

    ``said`` has number and line (not blank); ``places`` text_hash, number and offset: where in the
    text the line begins, in characters.
    """

    said: pl.DataFrame
    places: pl.DataFrame

    @classmethod
    def of(cls, texts: pl.DataFrame) -> Lines:
        """Split ``texts`` (text_hash, text)."""
        size = pl.col("line").str.len_chars().cast(pl.Int32) + 1
        lines = (
            texts.select("text_hash", line=pl.col("text").str.split("\n"))
            .explode("line", empty_as_null=False)
            .with_columns(offset=size.cum_sum().over("text_hash") - size)
        )
        said = lines.select("line").unique().filter(pl.col("line").str.contains(r"\S"))
        said = said.with_row_index("number")
        return cls(said, lines.join(said, on="line").select("text_hash", "number", "offset"))

    def spread(self, found: pl.DataFrame) -> pl.DataFrame:
        """Return ``found`` (number, start, end, …) once for each text that has the line.

        ``start`` and ``end`` count from the beginning of the line, in the result of the text.
        """
        return (
            found.join(self.places, on="number")
            .with_columns(
                start=pl.col("start") + pl.col("offset"), end=pl.col("end") + pl.col("offset")
            )
            .drop("number", "offset")
        )
