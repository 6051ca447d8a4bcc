from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.publishing import files as durable
from assets.publishing.candidate import Candidate
from assets.publishing.publish import publish
from retrieval.errors import BadInputError, NoSnapshotError
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.manifest import CheckResult
from retrieval.snapshot.schemas import TABLES, SchemaError, empty
from tests.storekit import build, files, frame, published, rows, texts

keys = st.text("abcdef0123456789", min_size=1, max_size=6)
contents = st.text(max_size=20)
row_sets = st.dictionaries(keys, contents, max_size=12)
relaxed = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def paths(tmp_path: Path) -> SitePaths:
    return SitePaths(tmp_path, "demo")


def test_id_has_the_time_and_sorts_after_the_parent_when_the_clock_goes_backwards(
    paths: SitePaths,
) -> None:
    now = datetime(2026, 3, 1, 10, 0, 5, 250_000, tzinfo=UTC)
    first = published(paths, "r1", now=now)
    assert first.id.startswith("20260301T100005Z-")
    assert first.manifest.created == now
    second = published(paths, "r2", now=now - timedelta(days=40))
    third = published(paths, "r3", now=now)
    assert first.id < second.id < third.id
    assert first.manifest.created < second.manifest.created < third.manifest.created


def test_ids_of_two_candidates_of_the_same_second_differ_and_keep_their_order(
    paths: SitePaths,
) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    ids = [Candidate.begin(paths, run_id="same", now=now).id for _ in range(5)]
    assert ids == sorted(set(ids))


def test_a_naive_time_is_refused(paths: SitePaths) -> None:
    with pytest.raises(BadInputError, match="time zone"):
        Candidate.begin(paths, run_id="r", now=datetime(2026, 1, 1))  # noqa: DTZ001


def test_an_empty_label_is_refused(paths: SitePaths) -> None:
    with pytest.raises(BadInputError, match="label"):
        Candidate.begin(paths, run_id="r", label=" ")


@pytest.mark.parametrize("name", list(TABLES))
def test_every_table_reads_back_as_written(paths: SitePaths, name: str) -> None:
    table = rows(name, [3, 1, 2])
    candidate = Candidate.begin(paths, run_id="r")
    written = candidate.write(name, table, code_version="1")
    assert (written.rows, written.added, written.unchanged) == (3, 3, False)
    back = candidate.table(name)
    assert back.equals(frame(table).sort(TABLES[name].key))
    assert (
        back.to_arrow()
        .cast(TABLES[name].schema)
        .equals(frame(table).sort(TABLES[name].key).to_arrow().cast(TABLES[name].schema))
    )


def values(type_: pa.DataType, nullable: bool) -> st.SearchStrategy[Any]:
    """Return a strategy of everything an arrow type can hold."""
    if pa.types.is_string(type_):
        made: st.SearchStrategy[Any] = st.text(max_size=6)
    elif pa.types.is_boolean(type_):
        made = st.booleans()
    elif pa.types.is_timestamp(type_):
        made = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(  # noqa: DTZ001
            lambda moment: moment.replace(tzinfo=UTC)
        )
    elif pa.types.is_floating(type_):
        made = st.floats(width=type_.bit_width)
    elif pa.types.is_list(type_):
        made = st.lists(values(type_.value_type, True), max_size=3)
    elif pa.types.is_struct(type_):
        made = st.fixed_dictionaries({f.name: values(f.type, True) for f in type_})
    else:
        bound = 2 ** (type_.bit_width - 1)
        made = st.integers(-bound, bound - 1)
    return st.none() | made if nullable else made


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, pa.Table]:
    """Draw a table name and rows of it, keys distinct."""
    table = TABLES[draw(st.sampled_from(sorted(TABLES)))]
    row = st.tuples(*(values(c.type, c.nullable) for c in table.columns))
    positions = [table.schema.names.index(name) for name in table.key]
    drawn = draw(
        st.lists(row, max_size=5, unique_by=lambda r: tuple(r[position] for position in positions))
    )
    columns = list(zip(*drawn, strict=True)) or [()] * len(table.columns)
    arrays = [pa.array(list(c), f.type) for c, f in zip(columns, table.schema, strict=True)]
    return table.name, pa.table(arrays, schema=table.schema)


@relaxed
@given(tables())
def test_whatever_a_schema_allows_reads_back_and_is_recognised_as_unchanged(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[str, pa.Table]
) -> None:
    name, table = drawn
    paths = SitePaths(tmp_path_factory.mktemp("store"), "demo")
    candidate = Candidate.begin(paths, run_id="a")
    written = candidate.write(name, table, code_version="1")
    key = list(TABLES[name].key)
    assert candidate.table(name).equals(frame(table).sort(key), null_equal=True)
    assert pq.read_schema(candidate.dir / f"{name}.parquet").equals(TABLES[name].schema)
    again = candidate.write(name, candidate.table(name).to_arrow(), code_version="1")
    assert again == written


def test_a_path_with_brackets_spaces_and_equal_signs(tmp_path: Path) -> None:
    paths = SitePaths(tmp_path / "we[i]rd *?=x y%20", "demo")
    first = published(paths, "r1", {"texts": texts({"a": "x"})})
    second = published(paths, "r2", {"texts": texts({"a": "x"})})
    assert second.table("texts").equals(first.table("texts"))
    assert second.table("texts").columns == TABLES["texts"].schema.names


@relaxed
@given(row_sets, st.randoms(use_true_random=False))
def test_same_rows_in_any_order_and_chunking_give_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, wanted: dict[str, str], random: object
) -> None:
    paths = SitePaths(tmp_path_factory.mktemp("store"), "demo")
    shuffled = list(wanted.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    half = len(shuffled) // 2
    chunked = pa.concat_tables([texts(dict(shuffled[:half])), texts(dict(shuffled[half:]))])
    one = Candidate.begin(paths, run_id="a")
    two = Candidate.begin(paths, run_id="b")
    assert one.write("texts", texts(wanted), code_version="1") == two.write(
        "texts", chunked, code_version="1"
    )
    assert (one.dir / "texts.parquet").read_bytes() == (two.dir / "texts.parquet").read_bytes()
    assert dict(two.table("texts").select("text_hash", "text").iter_rows()) == wanted


@relaxed
@given(row_sets, row_sets)
def test_counts_against_the_parent_and_changes_lead_from_one_to_the_other(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, str], after: dict[str, str]
) -> None:
    paths = SitePaths(tmp_path_factory.mktemp("store"), "demo")
    published(paths, "r1", {"texts": texts(before)})
    candidate = build(paths, "r2", {"texts": texts(after)})
    again = candidate.write("texts", texts(after), code_version="1")
    assert again.added == len(after.keys() - before.keys())
    assert again.removed == len(before.keys() - after.keys())
    assert again.changed == sum(before[k] != after[k] for k in before.keys() & after.keys())
    assert again.unchanged == (before == after)
    changes = publish(candidate).table("changes")
    added = set(changes.filter(kind="added")["key"])
    removed = set(changes.filter(kind="removed")["key"])
    assert (before.keys() - removed) | added == after.keys()
    assert changes.height == again.added + again.changed + again.removed


def test_unchanged_table_is_the_same_inode_and_a_changed_one_is_not(paths: SitePaths) -> None:
    first = published(paths, "r1", {"texts": texts({"a": "x"}), "pages": rows("pages", [1, 2])})
    before = files(first.dir)
    second = published(paths, "r2", {"texts": texts({"a": "y"}), "pages": rows("pages", [2, 1])})

    def inode(directory: Path, name: str) -> int:
        return (directory / f"{name}.parquet").stat().st_ino

    assert inode(first.dir, "pages") == inode(second.dir, "pages")
    assert inode(first.dir, "texts") != inode(second.dir, "texts")
    assert files(first.dir) == before


def test_rewriting_a_linked_table_leaves_the_parent_alone(paths: SitePaths) -> None:
    first = published(paths, "r1", {"texts": texts({"a": "x"})})
    before = files(first.dir)
    candidate = Candidate.begin(paths, run_id="r2")
    assert candidate.write("texts", texts({"a": "x"}), code_version="1").unchanged
    assert not candidate.write("texts", texts({"a": "z"}), code_version="1").unchanged
    assert files(first.dir) == before


def test_history_alone_keeps_the_data_version_but_not_the_file(paths: SitePaths) -> None:
    table = rows("pages", [1])
    published(paths, "r1", {"pages": table})
    later = table.set_column(
        table.schema.get_field_index("first_seen"),
        table.schema.field("first_seen"),
        pa.array([datetime(2030, 1, 1, tzinfo=UTC)], table.schema.field("first_seen").type),
    )
    candidate = Candidate.begin(paths, run_id="r2")
    written = candidate.write("pages", later, code_version="1")
    assert candidate.parent is not None
    assert written.data_version == candidate.parent.manifest.tables["pages"].data_version
    assert (written.unchanged, written.added, written.changed, written.removed) == (False, 0, 0, 0)
    assert candidate.table("pages")["first_seen"][0].year == 2030


def test_a_copy_takes_the_place_of_a_link_that_the_file_system_refuses(
    paths: SitePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = published(paths, "r1", {"texts": texts({"a": "x"})})

    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(durable.os, "link", refuse)
    second = published(paths, "r2", {"texts": texts({"a": "x"})})
    one, two = first.dir / "texts.parquet", second.dir / "texts.parquet"
    assert one.stat().st_ino != two.stat().st_ino
    assert one.read_bytes() == two.read_bytes()


def test_a_damaged_parent_file_is_not_passed_on(paths: SitePaths) -> None:
    first = published(paths, "r1", {"texts": texts({"a": "x"})})
    (first.dir / "texts.parquet").write_bytes(b"damaged")
    candidate = Candidate.begin(paths, run_id="r2")
    written = candidate.write("texts", texts({"a": "x"}), code_version="1")
    assert not written.unchanged
    assert candidate.table("texts").height == 1


def test_duplicate_keys_are_named(paths: SitePaths) -> None:
    candidate = Candidate.begin(paths, run_id="r")
    twice = pa.concat_tables([texts({"abc": "x"}), texts({"abc": "y", "d": "z"})])
    with pytest.raises(SchemaError, match=r"texts: 1 keys .*abc"):
        candidate.write("texts", twice, code_version="1")
    assert not (candidate.dir / "texts.parquet").exists()


def test_a_table_without_its_schema_is_refused(paths: SitePaths) -> None:
    candidate = Candidate.begin(paths, run_id="r")
    with pytest.raises(SchemaError, match="missing columns"):
        candidate.write("texts", texts({"a": "x"}).drop_columns(["words"]), code_version="1")
    with pytest.raises(SchemaError, match="no table 'nonsense'"):
        candidate.write("nonsense", texts({}), code_version="1")


def test_find_by_run_from_another_step(paths: SitePaths) -> None:
    parent = published(paths, "r0")
    begun = Candidate.begin(paths, run_id="r1", label="v2")
    Candidate.begin(paths, run_id="other")
    found = Candidate.find(paths, "r1")
    assert (found.id, found.dir, found.label, found.created) == (
        begun.id, begun.dir, "v2", begun.created,
    )  # fmt: skip
    assert found.parent is not None
    assert found.parent.id == parent.id
    with pytest.raises(NoSnapshotError, match="r9"):
        Candidate.find(paths, "r9")


def test_parent_table_is_a_cache_for_the_same_code_only(paths: SitePaths) -> None:
    first = Candidate.begin(paths, run_id="r1")
    assert first.parent_table("texts") is None
    published(paths, "r2", {"texts": texts({"a": "x"})})
    second = Candidate.begin(paths, run_id="r3")
    assert second.parent_table("texts", "2") is None
    cached = second.parent_table("texts", "1")
    history = second.parent_table("texts")
    assert cached is not None
    assert history is not None
    assert cached.equals(history)
    assert cached["text"].to_list() == ["x"]


def test_tables_written_after_the_manifest_enter_it(paths: SitePaths) -> None:
    candidate = Candidate.begin(paths, run_id="r")
    candidate.write("texts", texts({"a": "x"}), code_version="1")
    manifest = candidate.write_manifest(config_fingerprint="f", models=[], stats={"pages": 3})
    assert set(manifest.tables) == {"texts"}
    candidate.record_checks([CheckResult(name="c", severity="warn", passed=True)])
    candidate.write("metrics", rows("metrics", [1]), code_version="7")
    opened = candidate.snapshot()
    assert set(opened.manifest.tables) == {"texts", "metrics"}
    assert opened.manifest.tables["metrics"].code_version == "7"
    assert [c.name for c in opened.manifest.checks] == ["c"]
    assert opened.table("pages").equals(pl.DataFrame(empty("pages")))


def test_reading_a_table_that_no_step_wrote_is_an_error(paths: SitePaths) -> None:
    candidate = Candidate.begin(paths, run_id="r")
    with pytest.raises(NoSnapshotError, match="facts"):
        candidate.table("facts")


def test_a_dropped_candidate_leaves_nothing(paths: SitePaths) -> None:
    candidate = build(paths, "r")
    candidate.drop()
    assert os.listdir(paths.staging) == []
    with pytest.raises(NoSnapshotError):
        Candidate.find(paths, "r")
