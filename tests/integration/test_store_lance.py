"""Vectors by linked copy: what is done to the child never reaches the parent (real LanceDB)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from assets.publishing.candidate import Candidate
from assets.publishing.publish import publish
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.manifest import ModelEntry
from retrieval.snapshot.reader import SiteStore, Snapshot, verify
from retrieval.snapshot.schemas import vector_schema
from tests.storekit import build, files

DIM = 8
MODEL = ModelEntry(role="embedder", name="m", revision="1", sha256="0" * 64)


def vectors(numbers: range, salt: str = "") -> pa.Table:
    """Return rows for the given numbers; the vector is a function of number and salt."""
    values = [
        np.random.default_rng([n, len(salt)]).standard_normal(DIM).astype(np.float32)
        for n in numbers
    ]
    return pa.table(
        [
            [f"h{n:04}" for n in numbers],
            ["text"] * len(numbers),
            [f"{salt}{n}" for n in numbers],
            [v / np.linalg.norm(v) for v in values],
        ],
        schema=vector_schema(DIM),
    )


@pytest.fixture
def parent(tmp_path: Path) -> Snapshot:
    import lancedb

    def create(candidate: Candidate) -> None:
        table = lancedb.connect(str(candidate.dir)).create_table("vectors", vectors(range(500)))
        assert table.count_rows() == 500

    # A data root may have any name: LanceDB takes addresses as well as paths.
    root = tmp_path / "da ta [1]%20#?=é"
    return publish(build(SitePaths(root, "demo"), "r1", fill=create))


def begin_child(parent: Snapshot) -> Candidate:
    return Candidate.begin(SitePaths(parent.dir.parents[2], "demo"), run_id="child")


def test_a_first_candidate_has_no_vectors_to_seed(tmp_path: Path) -> None:
    assert Candidate.begin(SitePaths(tmp_path, "demo"), run_id="r").seed_vectors() is None


def test_the_manifest_describes_the_vectors(parent: Snapshot) -> None:
    entry = parent.manifest.vectors
    assert entry is not None
    assert (entry.dir, entry.rows, entry.dim) == ("vectors.lance", 500, DIM)
    assert parent.lance().count_rows() == 500
    assert verify(parent) == []


def test_seeding_links_every_file_and_twice_does_nothing_more(parent: Snapshot) -> None:
    candidate = begin_child(parent)
    directory = candidate.seed_vectors()
    assert directory == candidate.dir / "vectors.lance"
    source = parent.dir / "vectors.lance"
    assert files(directory) == files(source)
    inodes = {(directory / name).stat().st_ino == (source / name).stat().st_ino
              for name in files(source)}  # fmt: skip
    assert inodes == {True}
    assert candidate.seed_vectors() == directory
    assert files(directory) == files(source)


def test_the_parent_stays_byte_identical_under_all_that_is_done_to_the_child(
    parent: Snapshot,
) -> None:
    import lancedb

    before = files(parent.dir)
    rows_before = parent.lance().to_arrow().sort_by("input_hash")
    candidate = begin_child(parent)
    candidate.seed_vectors()
    table = lancedb.connect(str(candidate.dir)).open_table("vectors")
    (
        table.merge_insert("input_hash")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute(vectors(range(490, 520), "new"))
    )
    assert files(parent.dir) == before
    table.delete("input_hash < 'h0010'")
    assert files(parent.dir) == before
    table.optimize()
    assert files(parent.dir) == before
    table.delete("input_hash = 'h0100'")
    assert table.count_rows() == 500 - 10 + 20 - 1

    assert files(parent.dir) == before
    again = SiteStore(parent.dir.parents[2], "demo").open(parent.id).lance()
    assert again.to_arrow().sort_by("input_hash").equals(rows_before)


def test_a_published_child_and_its_parent_are_read_side_by_side(parent: Snapshot) -> None:
    import lancedb

    paths = SitePaths(parent.dir.parents[2], "demo")

    def change(candidate: Candidate) -> None:
        candidate.seed_vectors()
        lancedb.connect(str(candidate.dir)).open_table("vectors").delete("input_hash >= 'h0400'")

    child = publish(build(paths, "r2", fill=change))
    assert (child.lance().count_rows(), parent.lance().count_rows()) == (400, 500)
    assert child.manifest.vectors is not None
    assert parent.manifest.vectors is not None
    assert child.manifest.vectors.rows == 400
    assert child.manifest.vectors.data_version != parent.manifest.vectors.data_version
    grandchild = publish(build(paths, "r3", fill=lambda c: c.seed_vectors() and None))
    assert grandchild.manifest.vectors == child.manifest.vectors


def test_the_version_of_the_vectors_depends_on_inputs_and_model_not_on_write_order(
    tmp_path: Path,
) -> None:
    import lancedb

    from assets.publishing.vectors import describe

    versions = []
    for name, parts in {"a": [range(20)], "b": [range(10, 20), range(10)]}.items():
        directory = tmp_path / name
        table = lancedb.connect(str(directory)).create_table("vectors", vectors(parts[0]))
        for part in parts[1:]:
            table.add(vectors(part))
        entry = describe(directory, [MODEL])
        assert entry is not None
        versions.append(entry.data_version)
    assert versions[0] == versions[1]
    other = describe(tmp_path / "a", [MODEL.model_copy(update={"revision": "2"})])
    assert other is not None
    assert other.data_version != versions[0]
