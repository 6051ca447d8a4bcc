"""Great Expectations suites: generated from the table schemas, with hand-written rules beside.

GX has no polars engine, hashes every frame it is given twice and tests a range in a Python call a
row. So it gets what is tested and no more: of most columns where they are null, keys as one 64-bit
hash, ranges and conditions over several columns as one boolean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from retrieval.snapshot import schemas
from retrieval.snapshot.schemas import TABLES, Table

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

Severity = Literal["critical", "warning"]
KEY = "_key"

VALUE_SETS: dict[tuple[str, str], tuple[str, ...]] = {
    ("pages", "state"): schemas.PAGE_STATES,
    ("links", "region"): schemas.REGIONS,
    ("blocks", "kind"): schemas.BLOCK_KINDS,
    ("relations", "kind"): schemas.RELATION_KINDS,
    ("facts", "value_type"): schemas.VALUE_TYPES,
    ("facts", "scope"): ("page", "site"),
    ("topic_edges", "target_kind"): ("entity", "block"),
    ("changes", "table"): tuple(TABLES),
    ("changes", "kind"): schemas.CHANGE_KINDS,
}

RANGES: dict[tuple[str, str], tuple[float | None, float | None]] = {
    ("pages", "status"): (100, 599),
    ("pages", "depth"): (0, None),
    ("pages", "body_bytes"): (0, None),
    ("links", "ordinal"): (0, None),
    ("blocks", "ordinal"): (0, None),
    ("texts", "words"): (0, None),
    ("texts", "tokens"): (0, None),
    ("texts", "kept_blocks"): (0, None),
    ("texts", "dropped_blocks"): (0, None),
    ("mentions", "start"): (0, None),
    ("mentions", "confidence"): (0, 1),
    ("entities", "mentions"): (0, None),
    ("entity_edges", "count"): (1, None),
    ("entity_edges", "confidence"): (0, 1),
    ("relations", "confidence"): (0, 1),
    ("topics", "size"): (1, None),
    ("topic_edges", "weight"): (0, 1),
    ("metrics", "n"): (0, None),
}


@dataclass(frozen=True)
class Condition:
    """A hand-written rule over one row: an expression that must be true (null counts as false).

    ``doc`` completes "rows where not: …" in a failure.
    """

    name: str
    expression: pl.Expr
    doc: str
    severity: Severity = "critical"


_LEVELS = pl.col("heading_path").list.eval(pl.element().struct.field("level"))

CONDITIONS: dict[str, tuple[Condition, ...]] = {
    "pages": (
        Condition(
            "_live_or_reason",
            (pl.col("state") == "live") == pl.col("reason").is_null(),
            "a page is live, or says why not",
        ),
        Condition(
            "_live_hashed",
            (pl.col("state") != "live") | pl.col("content_hash").is_not_null(),
            "a live page has a content hash",
        ),
        Condition(
            "_live_titled",
            (pl.col("state") != "live") | (pl.col("title").fill_null("") != ""),
            "a live page has a title",
            "warning",
        ),
    ),
    "blocks": (
        Condition(
            "_kept_or_reason",
            pl.col("kept") == pl.col("drop_reason").is_null(),
            "a block is kept, or says why it was dropped",
        ),
        Condition(
            "_kept_inputs",
            (pl.col("kept") == pl.col("input_hash").is_not_null())
            & (pl.col("kept") | pl.col("path_input_hash").is_null()),
            "exactly the kept blocks have embedded strings",
        ),
        Condition(
            "_levels",
            (_LEVELS.list.min().fill_null(1) >= 1) & (_LEVELS.list.max().fill_null(1) <= 6),
            "heading levels are 1 to 6",
        ),
    ),
    "texts": (
        Condition("_text", pl.col("text").str.contains(r"\S"), "a text is not blank"),
    ),
    "mentions": (
        Condition("_span", pl.col("end") > pl.col("start"), "a mention ends after its start"),
    ),
    "entities": (
        Condition("_named", pl.col("name").str.contains(r"\S"), "an entity has a name"),
        Condition("_typed", pl.col("types").list.len() > 0, "an entity has a type"),
    ),
    "relations": (
        Condition(
            "_object_or_literal",
            pl.col("object_id").is_null() != pl.col("literal").is_null(),
            "a relation has an entity or a literal as object, not both",
        ),
    ),
    "facts": (
        Condition(
            "_filled",
            pl.col("label").str.contains(r"\S") & pl.col("value").str.contains(r"\S"),
            "label and value of a fact are not blank",
        ),
    ),
    "metrics": (
        Condition(
            "_inside",
            pl.col("value").is_null()
            | pl.col("low").is_null()
            | ((pl.col("low") <= pl.col("high")) & pl.col("value").is_finite()),
            "an interval is in order",
        ),
    ),
    "changes": (
        Condition(
            "_sides",
            (pl.col("before").is_null() == (pl.col("kind") == "added"))
            & (pl.col("after").is_null() == (pl.col("kind") == "removed")),
            "an added row has no before, a removed one no after",
        ),
    ),
}  # fmt: skip


def frame_under_test(name: str, data: pl.DataFrame) -> pl.DataFrame:
    """Return what the suite of ``name`` looks at: a column for each of the table's, and flags.

    When columns are missing or unknown the frame is returned with no derived ones: the suite then
    fails on the columns alone.
    """
    table = TABLES[name]
    if set(data.columns) != set(table.schema.names):
        return data.select(pl.lit(0).alias(column) for column in data.columns)
    plain = [
        pl.col(c.name).cast(pl.Categorical)
        if (name, c.name) in VALUE_SETS
        else pl.when(pl.col(c.name).is_not_null()).then(pl.lit(1, pl.Int8)).alias(c.name)
        for c in table.columns
    ]
    derived = [c.expression.fill_null(False).alias(c.name) for c in CONDITIONS.get(name, ())]
    derived += [in_range(name, column).alias(flag) for flag, column in range_flags(name).items()]
    return data.select(*plain, *derived, pl.struct(table.key).hash(seed=0).alias(KEY))


def expectations(name: str, columns: Sequence[str]) -> list[Expectation]:
    """Return the suite of table ``name`` for a frame that has ``columns``."""
    import great_expectations.expectations as gxe
    from great_expectations.expectations.metadata_types import FailureSeverity

    table = TABLES[name]
    derived = [*range_flags(name), *(c.name for c in CONDITIONS.get(name, ()))]
    wanted = {*table.schema.names, *derived, KEY}
    found: list[Expectation] = [gxe.ExpectTableColumnsToMatchSet(column_set=wanted)]
    if set(columns) != wanted:
        return found
    found += [gxe.ExpectColumnValuesToNotBeNull(column=c.name) for c in _not_null(table)]
    found.append(gxe.ExpectColumnValuesToBeUnique(column=KEY))
    found += [
        gxe.ExpectColumnValuesToBeInSet(column=column, value_set=list(values))
        for (of, column), values in VALUE_SETS.items()
        if of == name
    ]
    found += [
        gxe.ExpectColumnValuesToBeInSet(column=flag, value_set=[True]) for flag in range_flags(name)
    ]
    found += [
        gxe.ExpectColumnValuesToBeInSet(
            column=c.name, value_set=[True], severity=FailureSeverity(c.severity)
        )
        for c in CONDITIONS.get(name, ())
    ]
    return found


def range_flags(name: str) -> dict[str, str]:
    """Return the columns of table ``name`` that have a range, by the name of their flag."""
    return {f"_{column}_in_range": column for of, column in RANGES if of == name}


def in_range(name: str, column: str) -> pl.Expr:
    """Return the expression that is true where ``column`` is null or within its range."""
    low, high = RANGES[name, column]
    values = pl.col(column)
    above = pl.lit(True) if low is None else values >= low
    below = pl.lit(True) if high is None else values <= high
    return (above & below).fill_null(True)


def _not_null(table: Table) -> list[schemas.Column]:
    return [column for column in table.columns if not column.nullable]


def condition_doc(name: str, column: str) -> str | None:
    """Return what a derived column of table ``name`` says, None for a column of the table."""
    return next((c.doc for c in CONDITIONS.get(name, ()) if c.name == column), None)
