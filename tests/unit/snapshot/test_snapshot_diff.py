from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.snapshot.diff import CONTENT_TABLES, diff, diff_table, summary
from retrieval.snapshot.hashing import content_hashes, row_hashes, row_keys
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.schemas import TABLES, empty, enforce
from tests.storekit import frame, published, rows, texts

row_sets = st.dictionaries(st.text("abc", min_size=1, max_size=4), st.text(max_size=8), max_size=10)


@settings(max_examples=60, deadline=None)
@given(row_sets, row_sets)
def test_a_diff_applied_to_the_one_gives_the_other(
    before: dict[str, str], after: dict[str, str]
) -> None:
    changes = diff_table("texts", frame(texts(before)), frame(texts(after)))
    assert changes["key"].to_list() == sorted(changes["key"].to_list())
    result = dict(before)
    for row in changes.iter_rows(named=True):
        key = row["key"]
        assert (row["before"] is None) == (key not in before)
        assert (row["after"] is None) == (key not in after)
        if row["kind"] == "removed":
            del result[key]
        else:
            assert (row["kind"] == "added") == (key not in before)
            result[key] = after[key]
    assert result == after
    back = diff_table("texts", frame(texts(after)), frame(texts(before)))
    assert back["key"].to_list() == changes["key"].to_list()
    assert back["before"].to_list() == changes["after"].to_list()


@pytest.mark.parametrize("name", list(TABLES))
def test_the_rows_of_a_diff_have_the_schema_of_changes(name: str) -> None:
    changes = diff_table(name, frame(rows(name, [1, 2])), frame(rows(name, [2, 3])))
    assert enforce("changes", changes.to_arrow()).num_rows == 2
    assert changes["kind"].to_list() == ["removed", "added"]
    assert diff_table(name, frame(rows(name, [1])), frame(rows(name, [1]))).height == 0


@pytest.mark.parametrize("name", CONTENT_TABLES)
def test_every_column_but_key_and_history_shows_as_a_change(name: str) -> None:
    table = TABLES[name]
    before = rows(name, [2])
    for column in table.columns:
        position = before.schema.get_field_index(column.name)
        other = before.set_column(
            position, before.schema.field(position), rows(name, [5])[position]
        )
        changes = diff_table(name, frame(before), frame(other))
        if column.name in table.history:
            assert changes.height == 0, column.name
        elif column.name in table.key:
            assert sorted(changes["kind"]) == ["added", "removed"], column.name
        elif column.type == pa.bool_():
            assert before[position].equals(other[position]) == (changes.height == 0)
        else:
            assert changes["kind"].to_list() == ["changed"], column.name


def test_null_and_look_alikes_hash_apart() -> None:
    values = pl.DataFrame(
        {
            "s": [None, "null", "", '"', "a\x1fb"],
            "f": [None, float("nan"), float("inf"), float("-inf"), 0.0],
            "l": [None, [], [None], [""], ["a", "b"]],
        }
    )
    for column in values.columns:
        assert row_hashes(values, [column]).n_unique() == 5, column
    shifted = pl.DataFrame({"a": ["x", "xy"], "b": ["yz", "z"]})
    assert row_hashes(shifted, ["a", "b"]).n_unique() == 2


def test_a_column_the_earlier_schema_lacked_counts_as_null() -> None:
    now = frame(texts({"a": "x"})).with_columns(words=pl.lit(None, pl.Int32))
    assert diff_table("texts", now.drop("words"), now).height == 0
    assert diff_table("texts", now.drop("words"), frame(texts({"a": "x"}))).height == 1


def test_hashes_are_fixed_values() -> None:
    """A change here makes every stored snapshot look changed: it needs a reason."""
    values = pl.DataFrame(
        {
            "s": ["plain", 'quoted " ü', None],
            "f": pl.Series([0.1, float("nan"), None], dtype=pl.Float32),
            "path": [[{"level": 1, "text": "A"}], [], None],
            "at": [datetime(2026, 1, 1, 12, tzinfo=UTC), None, None],
            "on": [True, False, None],
        }
    )
    assert row_hashes(values, values.columns).to_list() == [
        "7098b8abaf090c502749",
        "309e604d18a1b80af2db",
        "e0baaab6a4ceb4e19802",
    ]


def test_hashes_are_the_same_in_another_process() -> None:
    code = (
        "from tests.storekit import rows\n"
        "from retrieval.snapshot.hashing import content_hashes\n"
        "from retrieval.snapshot.schemas import TABLES\n"
        "for name in TABLES: print(*content_hashes(name, rows(name, [1, 2, 3])))\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, cwd=root,
        env={**os.environ, "PYTHONHASHSEED": "7", "POLARS_MAX_THREADS": "1"},
    )  # fmt: skip
    here = [" ".join(content_hashes(name, rows(name, [1, 2, 3]))) for name in TABLES]
    assert done.stdout.splitlines() == here


def test_the_order_of_rows_is_part_of_a_table_hash_and_values_are_not_confused() -> None:
    one, two = rows("texts", [1, 2]), rows("texts", [2, 1])
    assert content_hashes("texts", one) != content_hashes("texts", two)
    assert content_hashes("texts", one.slice(0, 0)) != content_hashes("links", empty("links"))
    assert content_hashes("changes", rows("changes", [1])) != content_hashes(
        "changes", rows("changes", [2])
    )


@pytest.mark.parametrize("name", list(TABLES))
def test_a_table_hash_sees_every_column_and_no_layout(name: str) -> None:
    table = rows(name, [2, 3, 4, 5])
    version, whole = content_hashes(name, table)
    pieces = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    assert content_hashes(name, pieces) == (version, whole)
    assert content_hashes(name, enforce(name, frame(table).to_arrow())) == (version, whole)
    for position, column in enumerate(TABLES[name].columns):
        shuffled = table[position].take([0, 1, 3, 2])
        other = table.set_column(position, table.schema.field(position), shuffled)
        same = shuffled.equals(table[position])
        history = column.name in TABLES[name].history and name != "changes"
        assert (content_hashes(name, other)[1] == whole) == same, column.name
        assert (content_hashes(name, other)[0] == version) == (same or history), column.name


def test_what_lies_below_a_null_is_no_content() -> None:
    column = pa.array([1, 7, 2], pa.int32())
    hidden = pa.Array.from_buffers(
        pa.int32(), 3, [pa.array([True, False, True]).buffers()[1], column.buffers()[1]]
    )
    page = rows("pages", [1, 2, 3])
    position = page.schema.get_field_index("status")
    hashes = {
        content_hashes("pages", page.set_column(position, page.schema.field(position), values))
        for values in (
            hidden.cast(pa.int16()),
            pa.array([1, None, 2], pa.int16()),
            pa.array([1, None, 2, 9], pa.int16()).slice(0, 3),
        )
    }
    assert len(hashes) == 1


@pytest.mark.parametrize(
    "values", [["ab", "c"], ["a", "bc"], ["abc", ""], [None, "abc"], ["", "abc"]]
)
def test_borders_between_strings_are_content(values: list[str | None]) -> None:
    every = [["ab", "c"], ["a", "bc"], ["abc", ""], [None, "abc"], ["", "abc"]]
    page = rows("pages", [1, 2])
    position = page.schema.get_field_index("title")

    def version(strings: list[str | None]) -> str:
        column = pa.array(strings, pa.string())
        return content_hashes("pages", page.set_column(position, "title", column))[0]

    assert [version(other) == version(values) for other in every].count(True) == 1


def test_keys_of_several_columns_are_joined() -> None:
    assert row_keys("links", frame(rows("links", [4]))).to_list() == ["v4\x1f4"]


def test_diff_of_snapshots_and_its_summary(tmp_path: Path) -> None:
    paths = SitePaths(tmp_path, "demo")
    a = published(paths, "r1", {"texts": texts({"a": "1", "b": "2", "c": "3"})})
    b = published(
        paths, "r2", {"texts": texts({"b": "9", "c": "3", "d": "4"}), "pages": rows("pages", [1])}
    )
    changes = diff(a, b)
    assert summary(changes) == {
        "pages": {"added": 1, "changed": 0, "removed": 0},
        "texts": {"added": 1, "changed": 1, "removed": 1},
    }
    assert changes.select("table", "key").rows() == [
        ("pages", "v1"), ("texts", "a"), ("texts", "b"), ("texts", "d"),
    ]  # fmt: skip
    assert changes.equals(b.table("changes"))
    assert diff(a, b, ["pages"]).height == 1
    assert diff(a, a).height == 0
    assert summary(diff(a, a)) == {}
    assert enforce("changes", diff(a, a).to_arrow()).equals(empty("changes"))
