from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.publishing.bodies import GROUP_BYTES, BodyWriter
from retrieval.snapshot.bodies import Bodies, CorruptBodyError, MissingBodyError
from retrieval.snapshot.ids import body_sha256
from retrieval.snapshot.layout import SitePaths


@pytest.fixture
def paths(tmp_path: Path) -> SitePaths:
    return SitePaths(tmp_path, "demo")


def store(paths: SitePaths, crawl: str, bodies: list[bytes]) -> Path | None:
    writer = BodyWriter(paths, crawl)
    for body in bodies:
        writer.add(body_sha256(body), body, "text/html", datetime(2026, 1, 1, tzinfo=UTC))
    return writer.close()


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(st.binary(max_size=40), max_size=8), max_size=4))
def test_every_body_is_stored_once_and_read_back(
    tmp_path_factory: pytest.TempPathFactory, crawls: list[list[bytes]]
) -> None:
    paths = SitePaths(tmp_path_factory.mktemp("bodies"), "demo")
    for number, bodies in enumerate(crawls):
        store(paths, f"c{number}", bodies)
    distinct = {body_sha256(b): b for bodies in crawls for b in bodies}
    reader = Bodies(paths.bodies)
    assert reader.known() == set(distinct)
    assert dict(reader.iter(list(distinct) * 2)) == distinct
    assert {sha: reader.get(sha) for sha in distinct} == distinct
    parts = [pq.read_table(p) for p in paths.bodies.glob("*.parquet")]
    assert sum(p.num_rows for p in parts) == len(distinct)


def test_a_crawl_without_new_bodies_leaves_no_part(paths: SitePaths) -> None:
    assert store(paths, "c1", [b"x"]) == paths.bodies / "c1.parquet"
    assert store(paths, "c2", [b"x", b"x"]) is None
    assert os.listdir(paths.bodies) == ["c1.parquet"]


def test_nothing_is_visible_before_close_and_an_abort_leaves_nothing(paths: SitePaths) -> None:
    big = b"x" * GROUP_BYTES
    writer = BodyWriter(paths, "c1")
    assert writer.add(body_sha256(big), big)
    assert Bodies(paths.bodies).known() == set()
    writer.abort()
    assert os.listdir(paths.bodies) == []

    def fail_halfway() -> None:
        with BodyWriter(paths, "c1") as again:
            assert again.add(body_sha256(big), big)
            again.add("0" * 64, b"x")

    with pytest.raises(ValueError, match="sha256"):
        fail_halfway()
    assert os.listdir(paths.bodies) == []


def test_what_a_killed_writer_left_is_replaced(paths: SitePaths) -> None:
    paths.bodies.mkdir(parents=True)
    (paths.bodies / ".c1.tmp").write_bytes(b"half")
    store(paths, "c1", [b"x"])
    assert os.listdir(paths.bodies) == ["c1.parquet"]


def test_a_resumed_crawl_adds_a_second_part(paths: SitePaths) -> None:
    store(paths, "c1", [b"x"])
    assert store(paths, "c1", [b"x", b"y"]) == paths.bodies / "c1.2.parquet"
    assert Bodies(paths.bodies).known() == {body_sha256(b"x"), body_sha256(b"y")}


def test_a_wrong_address_is_refused(paths: SitePaths) -> None:
    with pytest.raises(ValueError, match="sha256"):
        BodyWriter(paths, "c1").add("0" * 64, b"x")


def test_row_groups_stay_small(paths: SitePaths) -> None:
    bodies = [bytes([i]) * (GROUP_BYTES // 4) for i in range(20)]
    part = store(paths, "c1", bodies)
    assert part is not None
    metadata = pq.ParquetFile(part).metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [4] * 5
    column = metadata.row_group(0).column(1)
    assert column.compression == "ZSTD"


def test_a_reader_sees_parts_added_after_it_was_opened(paths: SitePaths) -> None:
    reader = Bodies(paths.bodies)
    assert reader.known() == set()
    store(paths, "c1", [b"x"])
    assert reader.get(body_sha256(b"x")) == b"x"


def test_missing_and_damaged_bodies_are_named(paths: SitePaths) -> None:
    part = store(paths, "c1", [b"x"])
    assert part is not None
    reader = Bodies(paths.bodies)
    absent = body_sha256(b"absent")
    with pytest.raises(MissingBodyError, match=absent):
        list(reader.iter([body_sha256(b"x"), absent]))
    table = pq.read_table(part)
    other = table.set_column(1, table.schema.field(1), [[b"y"]])
    pq.write_table(other, part)
    with pytest.raises(CorruptBodyError, match=r"c1\.parquet"):
        Bodies(paths.bodies).get(body_sha256(b"x"))
    part.write_bytes(b"PAR1 no more")
    with pytest.raises(CorruptBodyError, match=r"c1\.parquet"):
        Bodies(paths.bodies).known()


def test_first_fetched_and_content_type_are_kept(paths: SitePaths) -> None:
    part = store(paths, "c1", [b"x"])
    row = pq.read_table(part).to_pylist()[0]
    assert row["content_type"] == "text/html"
    assert row["first_fetched"] == datetime(2026, 1, 1, tzinfo=UTC)
