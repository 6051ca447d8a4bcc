"""All checks of a candidate, one result for each name of `names.CHECKS`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assets.checks import drift, rules
from assets.checks.config import ChecksConfig
from assets.checks.gx import SuiteRunner
from assets.checks.names import CHECKS, SUITES, Check
from retrieval.errors import SitequestError
from retrieval.snapshot.manifest import CheckResult
from retrieval.snapshot.reader import Snapshot


def run_checks(
    candidate: Snapshot, parent: Snapshot | None, config: ChecksConfig
) -> list[CheckResult]:
    """Check ``candidate`` and return the results in the order of `names.CHECKS`.

    Severity error blocks publishing when the check failed; a check whose failures are all of
    severity warn is reported as warn. Nothing is raised for a bad candidate: a table that cannot
    be read is a failed check.
    """
    runner = SuiteRunner()
    results = {check.name: _suite(runner, check, candidate, config) for check in SUITES}
    for name in rules.RULES:
        results[name] = _result(name, rules.apply(name, candidate, config))
    for result in _drift(candidate, parent, config):
        results[result.name] = result
    return [results[check.name] for check in CHECKS]


def _suite(
    runner: SuiteRunner, check: Check, candidate: Snapshot, config: ChecksConfig
) -> CheckResult:
    table = str(check.table)
    try:
        data = candidate.table(table)
    except SitequestError as error:
        return _result(check.name, [str(error)])
    return runner.check(table, data, shown=config.shown)


def _drift(candidate: Snapshot, parent: Snapshot | None, config: ChecksConfig) -> list[CheckResult]:
    if parent is None:
        note = "no parent to compare with"
        return [_result("drift_drop", [], note), _result("drift_growth", [], note, "warn")]
    try:
        before, after = drift.counts(parent), drift.counts(candidate)
    except SitequestError as error:
        failed = [str(error)]
        return [_result("drift_drop", failed), _result("drift_growth", failed, severity="warn")]
    line = drift.summary(before, after)
    return [
        _result("drift_drop", drift.drops(before, after, config), line),
        _result("drift_growth", drift.growths(before, after, config), line, "warn"),
    ]


def _result(
    name: str,
    problems: Sequence[str],
    note: str = "",
    severity: Literal["error", "warn"] = "error",
) -> CheckResult:
    table = next(check.table for check in CHECKS if check.name == name)
    return CheckResult(
        name=name,
        table=table,
        severity=severity,
        passed=not problems,
        detail="; ".join(problems) or note,
    )


def summarise(results: Sequence[CheckResult]) -> str:
    """Return the outcome for a person: a headline, then a line for each failed check."""
    failed = [result for result in results if not result.passed]
    errors = sum(result.severity == "error" for result in failed)
    lines = [f"{len(results)} checks: {errors} errors, {len(failed) - errors} warnings"]
    lines += [
        f"{'ERROR' if result.severity == 'error' else 'warn '} {result.name}: {result.detail}"
        for result in sorted(failed, key=lambda r: (r.severity != "error", r.name))
    ]
    return "\n".join(lines)
