"""Running the suites: one ephemeral Great Expectations context, no analytics, no progress bars."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import polars as pl

from assets.checks.names import suite_name
from assets.checks.suites import (
    RANGES,
    condition_doc,
    expectations,
    frame_under_test,
    range_flags,
)
from retrieval.snapshot.manifest import CheckResult
from retrieval.snapshot.schemas import TABLES

_SHOWN_FAILURES = 5
# GX severities: critical stops the candidate, the two lesser ones only warn.
_SEVERITIES: dict[str, Literal["error", "warn"]] = {
    "critical": "error",
    "warning": "warn",
    "info": "warn",
}


@dataclass(frozen=True)
class Failure:
    """One failed expectation in words."""

    severity: Literal["error", "warn"]
    detail: str


class SuiteRunner:
    """Validates tables; importing Great Expectations costs 1.3 s, so it is done on first use."""

    def __init__(self) -> None:
        # Read when GX is imported: without it every run reports home.
        os.environ["GX_ANALYTICS_ENABLED"] = "false"
        with _left_out("scipy", "scipy.stats", "altair"):
            import great_expectations as gx
        from great_expectations.data_context.types.base import ProgressBarsConfig

        self._gx = gx
        self._context = gx.get_context(mode="ephemeral")
        self._context.variables.progress_bars = ProgressBarsConfig(globally=False)
        asset = self._context.data_sources.add_pandas("candidate").add_dataframe_asset("table")
        self._whole = asset.add_batch_definition_whole_dataframe("whole")

    def check(self, table: str, data: pl.DataFrame, *, shown: int) -> CheckResult:
        """Validate ``data`` against the suite of ``table``.

        The result's severity is the gravest of its failed expectations; ``shown`` examples of
        each failure are named.
        """
        frame = frame_under_test(table, data)
        name = suite_name(table)
        suite = expectations(table, frame.columns)
        outcome = self._validate(table, frame, suite)
        failures = [
            self._failure(table, data, frame, result, shown)
            for result in outcome.results
            if not result.success
        ]
        grave = any(failure.severity == "error" for failure in failures)
        detail = "; ".join(failure.detail for failure in failures[:_SHOWN_FAILURES])
        return CheckResult(
            name=name,
            table=table,
            severity="error" if grave or not failures else "warn",
            passed=not failures,
            detail=detail or f"{len(suite)} expectations over {data.height} rows",
        )

    def _validate(self, table: str, frame: pl.DataFrame, suite: Sequence[Any]) -> Any:
        batch = self._whole.get_batch(batch_parameters={"dataframe": frame.to_pandas()})
        return batch.validate(
            self._gx.ExpectationSuite(name=table, expectations=list(suite)),
            result_format="BOOLEAN_ONLY",
        )

    def _failure(
        self, table: str, data: pl.DataFrame, frame: pl.DataFrame, result: Any, shown: int
    ) -> Failure:
        config = result.expectation_config
        severity = _SEVERITIES[str(getattr(config.severity, "value", config.severity))]
        if result.exception_info and result.exception_info.get("raised_exception"):
            return Failure("error", f"{config.type}: {result.exception_info['exception_message']}")
        column = config.kwargs.get("column")
        if column is None:
            return Failure(severity, f"columns are {', '.join(frame.columns)}")
        flags = frame.select(column).to_series()
        return Failure(severity, _words(table, data, flags, config, shown))


class _Empty(ModuleType):
    """A module of which every name is an empty class."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


@contextmanager
def _left_out(*modules: str) -> Iterator[None]:
    """Put empty modules in the place of those of ``modules`` that are not imported yet.

    GX imports scipy and altair for tests of distributions and their plots, which no suite here
    has: 0.9 of its 2.2 CPU seconds.
    """
    missing = [name for name in modules if name not in sys.modules]
    sys.modules.update((name, _Empty(name)) for name in missing)
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


def _words(table: str, data: pl.DataFrame, tested: pl.Series, config: Any, shown: int) -> str:
    """Say which expectation failed and show values: found again in polars, where it is cheap.

    ``tested`` is the column of the frame under test that failed, ``data`` the table itself.
    """
    column, kind = tested.name, str(config.type)
    doc = condition_doc(table, column)
    if kind == "expect_column_values_to_not_be_null":
        return f"{column}: {data[column].null_count()} nulls"
    if kind == "expect_column_values_to_be_unique":
        key = TABLES[table].key
        name = key[0] if len(key) == 1 else "key"
        return f"{name}: {tested.is_duplicated().sum()} rows share a value"
    if doc is not None:
        return f"{(~tested).sum()} rows break “{doc}”"
    if column in (flags := range_flags(table)):
        of = flags[column]
        ends = " to ".join("any" if end is None else f"{end:g}" for end in RANGES[table, of])
        return f"{of}: {_some(data.filter(~tested), of, shown)} not in {ends}"
    allowed = config.kwargs["value_set"]
    bad = data.filter(~pl.col(column).is_in(allowed))
    return f"{column}: {_some(bad, column, shown)} not in {allowed}"


def _some(bad: pl.DataFrame, column: str, shown: int) -> str:
    examples = bad[column].unique(maintain_order=True).head(shown).to_list()
    return f"{bad.height} values ({', '.join(map(repr, examples))})"
