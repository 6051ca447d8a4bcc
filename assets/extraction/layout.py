"""Label and value pairs by the layout of a text: tables, definition lists, "Label: value" lines.

Cells end in a tab and rows, items and lines in a newline (the contract of `texts`); ``context``
holds the header row of a table part. Everything here is a function of (text, kind, context).
"""

from __future__ import annotations

import polars as pl

from assets.extraction.roles import ROLE_PATTERN

MAX_LABEL_CHARS = 60
MAX_LABEL_WORDS = 5  # a longer one is a sentence that ends in a colon
MAX_VALUE_CHARS = 600
_SPACE = r"[\s\u00a0]+"
# "Office hours: Mon 9-5": a capital, no sentence mark, a colon, a space, something.
_LINE = rf"^[\s•*–-]*([\p{{Lu}}\d][^:\t.?!;]{{1,{MAX_LABEL_CHARS}}}?)\s*:[\s\u00a0]+(\S.*)$"
_PERSON = (
    r"^([\p{Lu}][\p{L}’'-]*\.?(?: (?:[\p{Lu}][\p{L}’'-]*\.?|de|da|van|von|der|del|la|le)){1,4}), "
    rf"((?:[\p{{L}}/&-]+ ){{0,4}}{ROLE_PATTERN}[^.,;\t\n]{{0,60}})(?:[.,;]\s*(.*))?$"
)
_OUT = ["text_hash", "kind", "context", "row", "nth", "subject_text", "label", "value", "extractor"]
_OF_LINE = ["line", "nth", "subject_text", "label", "value", "extractor"]
_CODE_CELL = r"^[A-Z&]{2,}(?:[ \u00a0][A-Z&]+)*[ \u00a0][A-Z]{0,2}\d"
_LIST_SHARE = 0.3
PERSON_LABEL = "Title"
PERSON_REST_LABEL = "About"


def fold(text: pl.Expr) -> pl.Expr:
    """Fold runs of whitespace (no-break spaces too) to one space, and trim."""
    return text.str.replace_all(_SPACE, " ").str.strip_chars()


def layout_pairs(units: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of distinct ``units`` (text_hash, kind, context, text).

    Columns: text_hash, kind, context, row (line number), nth (within the row), subject_text (the
    row's first cell or the person of the line; null when the pair is about the section), label,
    value (verbatim but for folded whitespace), extractor.
    """
    lines = (
        units.with_columns(line=pl.col("text").str.split("\n"))
        .with_columns(row=pl.int_ranges(pl.col("line").list.len(), dtype=pl.Int32))
        .explode("line", "row", empty_as_null=False)
        .filter(pl.col("line").str.strip_chars() != "")
        .drop("text")
    )
    # Lines of a table text without a tab are the heading or the caption above it.
    table = lines.filter((pl.col("kind") == "table") & pl.col("line").str.contains("\t"))
    defined = lines.filter((pl.col("kind") == "definitions") & pl.col("line").str.contains("\t"))
    running = lines.filter(
        ~pl.col("kind").is_in(["table", "code", "heading"])
        & ~((pl.col("kind") == "definitions") & pl.col("line").str.contains("\t"))
    )
    said = running.select("line").unique()  # a site says most of its lines more than once
    spoken = pl.concat([_line_pairs(said), _person_pairs(said)])
    found = [_table_pairs(table), _definition_pairs(defined), running.join(spoken, on="line")]
    return pl.concat([f.select(_OUT) for f in found]).filter(
        (pl.col("label").str.len_chars() <= MAX_LABEL_CHARS)
        & (pl.col("label").str.contains(r"\p{L}"))
        & (pl.col("value") != "")
        & (pl.col("value").str.len_chars() <= MAX_VALUE_CHARS)
    )


def _line_pairs(lines: pl.DataFrame) -> pl.DataFrame:
    return (
        lines.filter(pl.col("line").str.contains(":", literal=True))
        .with_columns(parts=pl.col("line").str.extract_groups(_LINE))
        .unnest("parts")
        .filter(pl.col("1").is_not_null())
        .with_columns(
            label=fold(pl.col("1")),
            value=fold(pl.col("2")),
            nth=pl.lit(0, pl.Int32),
            subject_text=pl.lit(None, pl.String),
            extractor=pl.lit("line"),
        )
        .filter(pl.col("label").str.count_matches(" ") < MAX_LABEL_WORDS)
        .select(_OF_LINE)
    )


def _person_pairs(lines: pl.DataFrame) -> pl.DataFrame:
    """Return "Name, Title. Rest" lines: the title and, when there is one, the rest."""
    found = (
        lines.filter(pl.col("line").str.contains(",", literal=True))
        .with_columns(parts=fold(pl.col("line")).str.extract_groups(_PERSON))
        .unnest("parts")
        .filter(pl.col("1").is_not_null())
        .with_columns(subject_text=pl.col("1"), extractor=pl.lit("line"))
    )
    titles = found.with_columns(
        label=pl.lit(PERSON_LABEL), value=fold(pl.col("2")), nth=pl.lit(0, pl.Int32)
    )
    rests = found.filter(pl.col("3").is_not_null()).with_columns(
        label=pl.lit(PERSON_REST_LABEL), value=fold(pl.col("3")), nth=pl.lit(1, pl.Int32)
    )
    return pl.concat([titles, rests]).select(_OF_LINE)


def _definition_pairs(lines: pl.DataFrame) -> pl.DataFrame:
    """Return one pair for each definition of a term."""
    cells = pl.col("line").str.strip_chars_end("\t").str.split("\t")
    return (
        lines.with_columns(
            label=fold(cells.list.get(0)).str.strip_chars_end(": "), value=cells.list.slice(1)
        )
        .with_columns(nth=pl.int_ranges(pl.col("value").list.len(), dtype=pl.Int32))
        .explode("value", "nth", empty_as_null=False)
        .with_columns(
            value=fold(pl.col("value")),
            subject_text=pl.lit(None, pl.String),
            extractor=pl.lit("definitions"),
        )
    )


def _table_pairs(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of table rows.

    Two columns: the first cell is the label, unless a header names both columns and the cells of
    the first are what the rows are about (decided later by who they name). More columns: the row is
    about its first cell, the header of the column is the label; without a header nothing is said.
    """
    key = ["text_hash", "kind", "context"]
    cells = (
        rows.with_columns(cells=pl.col("line").str.strip_chars_end("\t").str.split("\t"))
        .with_columns(cells=pl.col("cells").list.eval(fold(pl.element())))
        .with_columns(width=pl.col("cells").list.len())
        .with_columns(
            columns=pl.col("width").max().over(key),
            first=pl.col("row") == pl.col("row").min().over(key),
            digits=pl.col("line").str.contains(r"\d"),
        )
    )
    given = pl.col("context").is_not_null()
    cells = cells.with_columns(
        head=pl.col("first")
        & ~given
        & ~pl.col("digits")
        & (pl.col("width") == pl.col("columns"))
        & (pl.col("width") > 1)
        & (pl.len().over(key) > 1)
        & pl.col("cells").list.eval(pl.element() != "").list.all()
        # Two columns without digits below are as well two labels: only numbers tell a header apart.
        & (
            (pl.col("columns") > 2)
            | ((pl.col("digits") & ~pl.col("first")).sum().over(key) * 2 > pl.len().over(key) - 1)
        )
    )
    heads = cells.filter("head").select(*key, header="cells")
    body = cells.filter(~pl.col("head") & (pl.col("width") > 1)).join(
        heads, on=key, how="left", nulls_equal=True
    )
    body = body.with_columns(
        header=pl.when(given)
        .then(
            # Label rows of a table part have one cell; the last row with several is the header.
            pl.col("context")
            .str.extract(r"(?:^|[\s\S]*\n)([^\n]*\t[^\n]*)")
            .str.strip_chars_end("\t")
            .str.split("\t")
            .list.eval(fold(pl.element()))
        )
        .otherwise(pl.col("header"))
    )
    pair = (pl.col("columns") == 2) & (pl.col("width") == 2)
    simple = body.filter(pair).with_columns(
        subject_text=pl.lit(None, pl.String),
        label=pl.col("cells").list.get(0).str.strip_chars_end(": "),
        value=pl.col("cells").list.get(1),
        nth=pl.lit(0, pl.Int32),
        extractor=pl.lit("table"),
    )
    wide = (
        body.filter(
            ~pair
            & pl.col("header").is_not_null()
            & (pl.col("width") <= pl.col("header").list.len())
        )
        .with_columns(
            subject_text=pl.col("cells").list.get(0),
            value=pl.col("cells").list.slice(1),
            label=pl.col("header").list.slice(1, pl.col("width") - 1),
        )
        .with_columns(nth=pl.int_ranges(pl.col("value").list.len(), dtype=pl.Int32))
        .explode("value", "label", "nth", empty_as_null=False)
        .with_columns(extractor=pl.lit("table"))
        .filter(pl.col("subject_text") != "")
    )
    return pl.concat([simple.select(_OUT), _lists_apart(wide)])


def _lists_apart(wide: pl.DataFrame) -> pl.DataFrame:
    """Take tables that are lists side by side out of their rows: each column is a label's values.

    "FALL | WINTER | SPRING" over course codes says nothing about the first code of a row. A table
    is such a list when codes fill its first column and the others alike.
    """
    key = ["text_hash", "kind", "context"]
    marked = wide.with_columns(
        aside=(pl.col("subject_text").str.contains(_CODE_CELL).mean().over(key) > _LIST_SHARE)
        & (pl.col("value").str.contains(_CODE_CELL).mean().over(key) > _LIST_SHARE)
    )
    lists = marked.filter("aside")
    first = lists.filter(pl.col("nth") == 0).with_columns(
        label=pl.col("header").list.first(), value="subject_text", nth=pl.lit(-1, pl.Int32)
    )
    nobody = pl.lit(None, pl.String).alias("subject_text")
    return pl.concat(
        [
            marked.filter(~pl.col("aside")).select(_OUT),
            lists.with_columns(nobody).select(_OUT),
            first.with_columns(nobody).select(_OUT),
        ]
    )
