"""Running the suites: one ephemeral Great Expectations context, no analytics, no progress bars."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from assets.checks.names import suite_name
from assets.checks.suites import KEY, condition_doc, expectations, frame_under_test
from retrieval.snapshot.manifest import CheckResult

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
    """Validates tables; importing Great Expectations costs 3 s, so it is done on first use."""

    def __init__(self) -> None:
        # Read when GX is imported: without it every run reports home.
        os.environ["GX_ANALYTICS_ENABLED"] = "false"
        import great_expectations as gx
        from great_expectations.data_context.types.base import ProgressBarsConfig

        self._gx = gx
        self._context = gx.get_context(mode="ephemeral")
        self._context.variables.progress_bars = ProgressBarsConfig(globally=False)
        self._source = self._context.data_sources.add_pandas("candidate")

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
            self._failure(table, frame, result, shown)
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
        asset = self._source.add_dataframe_asset(table)
        try:
            batch = asset.add_batch_definition_whole_dataframe("whole").get_batch(
                batch_parameters={"dataframe": frame.to_pandas(use_pyarrow_extension_array=True)}
            )
            return batch.validate(
                self._gx.ExpectationSuite(name=table, expectations=list(suite)),
                result_format="BOOLEAN_ONLY",
            )
        finally:
            self._source.delete_asset(table)

    def _failure(self, table: str, frame: pl.DataFrame, result: Any, shown: int) -> Failure:
        config = result.expectation_config
        severity = _SEVERITIES[str(getattr(config.severity, "value", config.severity))]
        if result.exception_info and result.exception_info.get("raised_exception"):
            return Failure("error", f"{config.type}: {result.exception_info['exception_message']}")
        column = config.kwargs.get("column")
        if column is None:
            return Failure(severity, f"columns are {', '.join(frame.columns)}")
        return Failure(severity, _words(table, frame, str(column), config, shown))


def _words(table: str, frame: pl.DataFrame, column: str, config: Any, shown: int) -> str:
    """Say which expectation failed and show values: found again in polars, where it is cheap."""
    doc = condition_doc(table, column)
    values = pl.col(column)
    kind, kwargs = str(config.type), config.kwargs
    if kind == "expect_column_values_to_not_be_null":
        return f"{column}: {frame[column].null_count()} nulls"
    if kind == "expect_column_values_to_be_unique":
        count = frame.filter(values.is_duplicated()).height
        return f"{'key' if column == KEY else column}: {count} rows share a value"
    if kind == "expect_column_values_to_be_between":
        low, high = kwargs.get("min_value"), kwargs.get("max_value")
        bad = frame.filter(
            (values < low if low is not None else pl.lit(False))
            | (values > high if high is not None else pl.lit(False))
        )
        ends = " to ".join("any" if end is None else f"{end:g}" for end in (low, high))
        return f"{column}: {_some(bad, column, shown)} not in {ends}"
    bad = frame.filter(~values.is_in(kwargs["value_set"]))
    if doc is not None:
        return f"{bad.height} rows break “{doc}”"
    return f"{column}: {_some(bad, column, shown)} not in {kwargs['value_set']}"


def _some(bad: pl.DataFrame, column: str, shown: int) -> str:
    examples = bad[column].unique(maintain_order=True).head(shown).to_list()
    return f"{bad.height} values ({', '.join(map(repr, examples))})"
