"""The search files against the blocks, built by the real stage on a real candidate."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import lancedb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from assets.checks import rules
from assets.checks.config import ChecksConfig
from assets.embedding.search import build_search
from assets.publishing.candidate import Candidate
from retrieval.index.mirror import VECTORS_FILE
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.schemas import TABLES, vector_schema
from tests.unit.checks.small_snapshot import DIM, frames

CONFIG = ChecksConfig()


@pytest.fixture
def candidate(tmp_path: Path) -> Candidate:
    tables = frames()
    made = Candidate.begin(
        SitePaths(tmp_path, "x"), run_id="run", now=datetime(2026, 1, 1, tzinfo=UTC)
    )
    for name in TABLES:
        made.write(name, tables[name].to_arrow(), code_version="1")
    kept = tables["blocks"].filter("kept")
    inputs = sorted({*kept["input_hash"], *kept["path_input_hash"]})
    rows = [
        {"input_hash": key, "kind": "text", "input": key, "vector": [1.0, 0.0, 0.0, 0.0]}
        for key in inputs
    ]
    lancedb.connect(str(made.dir)).create_table(
        "vectors", pa.Table.from_pylist(rows, schema=vector_schema(DIM))
    )
    build_search(made)
    made.write_manifest(config_fingerprint="f", models=[], stats={})
    return made


def problems(candidate: Candidate) -> list[str]:
    return rules.apply("search_complete", candidate.snapshot(), CONFIG)


def test_the_built_files_pass(candidate: Candidate) -> None:
    assert problems(candidate) == []
    assert rules.apply("vectors_complete", candidate.snapshot(), CONFIG) == []


def test_blocks_that_changed_afterwards(candidate: Candidate) -> None:
    blocks = candidate.table("blocks")
    gone = blocks.with_columns(kept=pl.col("kept") & (pl.int_range(pl.len()) != 0))
    candidate.write("blocks", gone.to_arrow(), code_version="1")
    (problem,) = problems(candidate)
    assert problem.startswith("1 blocks not kept")
    every = blocks.with_columns(kept=pl.lit(True))
    candidate.write("blocks", every.to_arrow(), code_version="1")
    (problem,) = problems(candidate)
    assert problem.startswith("8 kept blocks not there")


def test_vectors_of_another_length(candidate: Candidate) -> None:
    path = candidate.dir / "search" / VECTORS_FILE
    vectors = np.load(path)
    vectors[0] *= 2
    np.save(path, vectors)
    assert problems(candidate) == ["1 vectors are not of unit length"]
    np.save(path, vectors[1:])
    (problem,) = problems(candidate)
    assert "vectors for" in problem


def test_files_that_are_missing_or_damaged(candidate: Candidate) -> None:
    path = candidate.dir / "search" / VECTORS_FILE
    path.write_bytes(b"no array")
    (problem,) = problems(candidate)
    assert "cannot be used" in problem
    path.unlink()
    (problem,) = problems(candidate)
    assert "cannot be used" in problem
