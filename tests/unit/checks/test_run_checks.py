"""The whole run: one result a name, the brake, a damaged file, the summary."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from assets.checks import drift
from assets.checks.config import ChecksConfig
from assets.checks.names import CHECK_NAMES, CHECKS
from assets.checks.run import run_checks, summarise
from retrieval.snapshot.schemas import TABLES
from tests.unit.checks.small_snapshot import frames, write_snapshot

CONFIG = ChecksConfig()


def test_names_are_unique_and_fit_dagster() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(name.replace("_", "").isalnum() for name in names)
    assert set(CHECK_NAMES) == set(TABLES)
    assert all(CHECK_NAMES.values())


@pytest.mark.slow
def test_one_result_for_each_name_and_a_bad_candidate_does_not_raise(tmp_path: Path) -> None:
    parent = write_snapshot(tmp_path / "parent", frames())
    tables = frames()
    tables["pages"] = tables["pages"].with_columns(
        state=pl.when(pl.col("state") == "live").then(pl.lit("gone")).otherwise("state")
    )
    candidate = write_snapshot(tmp_path / "candidate", tables)
    (candidate.dir / "facts.parquet").write_bytes(b"not parquet")
    results = run_checks(candidate, parent, CONFIG)
    assert [result.name for result in results] == [check.name for check in CHECKS]
    failed = {result.name for result in results if not result.passed}
    assert {"facts_expectations", "facts_resolve", "site_not_empty", "drift_drop"} <= failed
    assert "topics_expectations" not in failed
    text = summarise(results)
    assert text.splitlines()[0].startswith(f"{len(CHECKS)} checks: ")
    assert "ERROR site_not_empty: no page with content" in text


def counts(**values: int) -> dict[str, int]:
    base = dict.fromkeys(("live_pages", "kept_blocks", "kept_words", "facts"), 100)
    return {**base, "entities": 100, "content_links": 100, **values}


@pytest.mark.parametrize(
    ("before", "after", "dropped"),
    [
        (counts(), counts(live_pages=75), False),  # exactly the allowed quarter
        (counts(), counts(live_pages=74), True),
        (counts(), counts(facts=49), True),
        (counts(), counts(facts=500), False),
        (counts(live_pages=4), counts(live_pages=1), False),  # too few to judge
        (counts(live_pages=5), counts(live_pages=1), True),
        (counts(facts=0), counts(facts=0), False),
    ],
)
def test_the_brake(before: dict[str, int], after: dict[str, int], dropped: bool) -> None:
    assert bool(drift.drops(before, after, CONFIG)) is dropped


def test_growth_warns_and_the_line_says_how_much() -> None:
    assert drift.growths(counts(), counts(live_pages=200), CONFIG) == []
    (line,) = drift.growths(counts(), counts(live_pages=250), CONFIG)
    assert line == "live_pages grew from 100 to 250 (+150%)"


def test_counts_of_the_small_snapshot(tmp_path: Path) -> None:
    assert drift.counts(write_snapshot(tmp_path / "s", frames())) == {
        "live_pages": 8,
        "kept_blocks": 16,
        "kept_words": 8 * 5 + 8 * 2,
        "facts": 8,
        "entities": 2,
        "content_links": 1,
    }


def test_limits_can_be_named_in_part_of_the_configuration() -> None:
    config = ChecksConfig(max_drop={"facts": 0.1})
    assert drift.drops(counts(), counts(live_pages=0, facts=95), config) == []
    assert drift.drops(counts(), counts(facts=80), config) != []


def test_great_expectations_is_imported_late_and_silent() -> None:
    code = (
        "import sys, assets.checks.run, assets.checks.names, assets.checks.suites;"
        "assert 'great_expectations' not in sys.modules and 'lancedb' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
