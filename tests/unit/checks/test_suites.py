"""The generated Great Expectations suites on real small tables, faults injected."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from assets.checks.gx import SuiteRunner
from assets.checks.suites import CONDITIONS, RANGES, VALUE_SETS
from retrieval.snapshot.schemas import TABLES
from tests.unit.checks.small_snapshot import frames

Fault = Callable[[pl.DataFrame], pl.DataFrame]


@pytest.fixture(scope="module")
def runner() -> SuiteRunner:
    return SuiteRunner()


@pytest.mark.parametrize("name", list(TABLES))
def test_valid_table_passes(name: str, runner: SuiteRunner) -> None:
    result = runner.check(name, frames()[name], shown=3)
    assert result.passed, result.detail
    assert result.severity == "error"
    assert "expectations over" in result.detail


def put(**values: object) -> Fault:
    """Put values into the whole columns of the first row."""

    def apply(frame: pl.DataFrame) -> pl.DataFrame:
        head = pl.int_range(pl.len()) == 0
        return frame.with_columns(
            pl.when(head).then(pl.lit(value, frame.schema[name])).otherwise(name).alias(name)
            for name, value in values.items()
        )

    return apply


def levels(level: int) -> Fault:
    return lambda frame: frame.with_columns(
        heading_path=pl.concat_list(pl.struct(level=pl.lit(level, pl.Int8), text=pl.lit("Top")))
    )


FAULTS: list[tuple[str, Fault, str, str]] = [
    ("links", lambda f: f.drop("rel"), "columns are", "error"),
    ("links", put(anchor=None), "anchor: 1 nulls", "error"),
    ("blocks", lambda f: pl.concat([f, f.head(1)]), "block_id: 2 rows share a value", "error"),
    ("links", lambda f: pl.concat([f, f]), "key: 2 rows share a value", "error"),
    ("pages", put(state="alive"), "state: 1 values ('alive')", "error"),
    ("blocks", put(kind="image"), "kind: 1 values ('image')", "error"),
    ("mentions", put(confidence=1.5), "confidence: 1 values (1.5) not in 0 to 1", "error"),
    ("texts", put(words=-1), "words: 1 values (-1) not in 0 to any", "error"),
    ("pages", put(reason="odd"), "a page is live, or says why not", "error"),
    ("pages", put(content_hash=None), "a live page has a content hash", "error"),
    ("pages", put(title=None), "a live page has a title", "warn"),
    ("blocks", put(drop_reason="why"), "a block is kept, or says why", "error"),
    ("blocks", put(input_hash=None), "exactly the kept blocks", "error"),
    ("blocks", levels(7), "heading levels are 1 to 6", "error"),
    ("texts", put(text=" \n"), "a text is not blank", "error"),
    ("mentions", put(end=0), "a mention ends after its start", "error"),
    ("entities", put(name=""), "an entity has a name", "error"),
    ("entities", put(types=[]), "an entity has a type", "error"),
    ("relations", put(literal="x"), "not both", "error"),
    ("facts", put(value=" "), "not blank", "error"),
    ("metrics", put(low=0.9), "an interval is in order", "error"),
    ("changes", put(before="aa"), "an added row has no before", "error"),
]


@pytest.mark.parametrize(("table", "fault", "says", "severity"), FAULTS)
def test_fault_is_found(
    table: str, fault: Fault, says: str, severity: str, runner: SuiteRunner
) -> None:
    result = runner.check(table, fault(frames()[table]), shown=3)
    assert not result.passed
    assert says in result.detail
    assert result.severity == severity


def test_a_grave_failure_beside_a_warning_is_an_error(runner: SuiteRunner) -> None:
    result = runner.check("pages", put(title=None, state="alive")(frames()["pages"]), shown=3)
    assert result.severity == "error"


def test_hand_written_rules_name_columns_that_exist() -> None:
    for table, column in [*VALUE_SETS, *RANGES]:
        assert column in TABLES[table].schema.names
    assert set(CONDITIONS) <= set(TABLES)
