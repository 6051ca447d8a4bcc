"""Each rule passes on the valid snapshot and fails on the fault that it is there for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from assets.checks import rules
from assets.checks.config import ChecksConfig
from assets.checks.names import RULES as NAMED_RULES
from tests.unit.checks.small_snapshot import frames, inputs, write_snapshot

CONFIG = ChecksConfig()
Fault = Callable[[pl.DataFrame], pl.DataFrame]
STRANGER = "f" * 20


def first(column: str, value: object) -> Fault:
    """Put ``value`` into the first row where it stands in ``column``."""

    def apply(frame: pl.DataFrame) -> pl.DataFrame:
        row = pl.int_range(pl.len()) == 0
        return frame.with_columns(
            pl.when(row).then(pl.lit(value, frame.schema[column])).otherwise(column).alias(column)
        )

    return apply


def where(condition: pl.Expr, column: str, value: object) -> Fault:
    """Put ``value`` into ``column`` of the rows where ``condition`` holds."""

    def apply(frame: pl.DataFrame) -> pl.DataFrame:
        lit = pl.lit(value, frame.schema[column])
        return frame.with_columns(pl.when(condition).then(lit).otherwise(column).alias(column))

    return apply


def without(condition: pl.Expr) -> Fault:
    return lambda frame: frame.filter(~condition)


LIVE = pl.col("state") == "live"

FAULTS: list[tuple[str, str, Fault, str]] = [
    ("site_not_empty", "pages", where(LIVE, "state", "gone"), "no page with content"),
    ("site_not_empty", "blocks", where(pl.col("kept"), "kept", False), "no kept block"),
    ("pages_resolve", "pages", where(LIVE, "body_sha256", None), "without a body"),
    (
        "pages_resolve",
        "pages",
        where(pl.col("state") == "duplicate", "canonical_page_id", STRANGER),
        "canonical_page_id is no page with content",
    ),
    (
        "links_resolve",
        "links",
        first("src_page_id", STRANGER),
        "src_page_id is no page with content",
    ),
    (
        "links_resolve",
        "links",
        first("dst_page_id", STRANGER),
        "dst_page_id is no page with content",
    ),
    ("links_resolve", "links", first("block_id", STRANGER), "links in no block of their page"),
    ("blocks_resolve", "blocks", first("page_id", STRANGER), "page_id is no page with content"),
    ("blocks_resolve", "blocks", first("text_hash", STRANGER), "text_hash is no text"),
    (
        "blocks_resolve",
        "blocks",
        where(pl.col("ordinal") == 1, "parent_block_id", STRANGER),
        "parent is not on their page",
    ),
    ("blocks_resolve", "blocks", where(pl.col("ordinal") == 1, "ordinal", 0), "share a place"),
    ("texts_resolve", "texts", first("kept_blocks", 99), "wrong count"),
    ("texts_resolve", "blocks", without(pl.col("ordinal") == 2), "texts of no block"),
    ("texts_fit_model", "texts", first("tokens", 511), "more than 510 tokens"),
    ("mentions_resolve", "mentions", first("text_hash", STRANGER), "no text of a kept block"),
    ("mentions_resolve", "mentions", first("surface", "Ann Loo"), "not in its place"),
    (
        "entities_resolve",
        "entities",
        where(pl.col("home_page_id").is_not_null(), "home_page_id", STRANGER),
        "home_page_id is no page with content",
    ),
    ("entities_resolve", "entity_edges", without(pl.lit(True)), "nothing supports"),
    ("entity_edges_resolve", "entity_edges", first("entity_id", STRANGER), "no entity"),
    ("entity_edges_resolve", "entity_edges", first("block_id", STRANGER), "no kept block"),
    ("relations_resolve", "relations", first("subject_id", STRANGER), "subject_id is no entity"),
    ("relations_resolve", "relations", first("object_id", STRANGER), "object_id is no entity"),
    ("relations_resolve", "relations", first("block_id", STRANGER), "no kept block"),
    ("facts_resolve", "facts", first("subject_id", STRANGER), "subject_id is no entity"),
    ("facts_resolve", "facts", first("block_id", STRANGER), "facts in no block"),
    ("topics_resolve", "topic_edges", first("topic_id", STRANGER), "no topic"),
    (
        "topics_resolve",
        "topic_edges",
        where(pl.col("target_kind") == "entity", "target_id", STRANGER),
        "no entity",
    ),
    (
        "topics_resolve",
        "topic_edges",
        where(pl.col("target_kind") == "block", "target_id", STRANGER),
        "no kept block",
    ),
    ("tables_have_schema", "links", lambda frame: frame.drop("rel"), "links has other columns"),
    (
        "tables_have_schema",
        "texts",
        lambda frame: frame.drop("words").with_columns(words=pl.lit("many")),
        "texts has other columns or types",
    ),
    ("links_resolve", "links", lambda frame: frame.drop("block_id"), "could not be applied"),
]


# The search files are tested where they are built: test_search_complete.
@pytest.mark.parametrize("name", [name for name in rules.RULES if name != "search_complete"])
def test_valid_snapshot_passes(name: str, tmp_path: Path) -> None:
    tables = frames()
    vectors = inputs(tables["blocks"]) if name == "vectors_complete" else None
    assert rules.apply(name, write_snapshot(tmp_path / "s", tables, vectors=vectors), CONFIG) == []


@pytest.mark.parametrize(("name", "table", "fault", "says"), FAULTS)
def test_fault_is_found(name: str, table: str, fault: Fault, says: str, tmp_path: Path) -> None:
    tables = frames()
    tables[table] = fault(tables[table])
    problems = rules.apply(name, write_snapshot(tmp_path / "s", tables), CONFIG)
    assert any(says in problem for problem in problems), problems


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    tables = frames()
    del tables["topics"]
    snapshot = write_snapshot(tmp_path / "s", tables)
    assert rules.apply("tables_have_schema", snapshot, CONFIG) == ["topics is missing"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda hashes: hashes[1:], "inputs without a vector"),
        (lambda hashes: [*hashes, STRANGER], "vectors of no kept block"),
        (lambda hashes: [*hashes, hashes[0]], "vectors that occur twice"),
        (lambda hashes: [], "inputs without a vector"),
    ],
)
def test_vectors_are_exactly_the_inputs(
    change: Callable[[list[str]], list[str]], says: str, tmp_path: Path
) -> None:
    tables = frames()
    hashes = change(inputs(tables["blocks"]))
    snapshot = write_snapshot(tmp_path / "s", tables, vectors=hashes)
    problems = rules.apply("vectors_complete", snapshot, CONFIG)
    assert any(says in problem for problem in problems), problems


def test_a_candidate_without_vectors(tmp_path: Path) -> None:
    snapshot = write_snapshot(tmp_path / "s", frames())
    assert rules.apply("vectors_complete", snapshot, CONFIG) == ["there are no vectors"]


@pytest.mark.parametrize(
    ("stats", "says"),
    [
        ({"blocks.conservation_failures": 2}, "2 pages lost or doubled"),
        ({}, "no statistic"),
    ],
)
def test_conservation_is_read_from_the_manifest(
    stats: dict[str, int], says: str, tmp_path: Path
) -> None:
    snapshot = write_snapshot(tmp_path / "s", frames(), stats=stats)
    (problem,) = rules.apply("blocks_conserve_text", snapshot, CONFIG)
    assert says in problem


def test_a_damaged_file_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    snapshot = write_snapshot(tmp_path / "s", frames())
    (snapshot.dir / "facts.parquet").write_bytes(b"not parquet")
    (problem,) = rules.apply("facts_resolve", snapshot, CONFIG)
    assert "facts" in problem
    assert "cannot be read" in problem


def test_every_rule_has_a_fault_here() -> None:
    elsewhere = {"vectors_complete", "blocks_conserve_text", "search_complete"}
    tested = {name for name, *_ in FAULTS} | elsewhere
    assert tested == set(rules.RULES)
    assert set(rules.RULES) <= {check.name for check in NAMED_RULES}
