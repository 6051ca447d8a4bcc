from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import BaseModel

from retrieval.snapshot import ids, manifest
from retrieval.snapshot.bodies import BODY_SCHEMA
from retrieval.snapshot.describe import BEGIN, END, meaning, replace_section
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.schemas import (
    TABLES,
    VECTOR_COLUMNS,
    SchemaError,
    empty,
    enforce,
    vector_schema,
)
from tests.storekit import rows

DOCUMENT = Path(__file__).parents[3] / "docs" / "data-model.md"


@pytest.fixture(scope="module")
def document() -> str:
    return DOCUMENT.read_text("utf-8")


def section(document: str, title: str) -> str:
    match = re.search(rf"^#+ {re.escape(title)}$(.*?)(?=^#|\Z)", document, re.M | re.S)
    assert match, f"no section {title}"
    return match.group(1)


@pytest.mark.parametrize("name", list(TABLES))
def test_every_column_is_documented_with_type_and_nullability(document: str, name: str) -> None:
    table = TABLES[name]
    text = section(document, name)
    documented = re.findall(r"^\| `(\w+)` \| (.+?) \| (yes|no) \| (.+) \|$", text, re.M)
    assert [row[0] for row in documented] == table.schema.names
    for column, (_, _, null, said) in zip(table.columns, documented, strict=True):
        assert (null == "yes") == column.nullable
        assert said == meaning(column)
    for history in table.history:
        assert f"`{history}`" in text.partition("History columns:")[2].partition("\n")[0]


def test_the_section_is_what_the_schemas_say(document: str) -> None:
    """When this fails: python -m retrieval.snapshot.describe docs/data-model.md."""
    assert replace_section(document) == document
    with pytest.raises(ValueError, match="marks"):
        replace_section(END + BEGIN)


def test_vectors_and_bodies_are_documented(document: str) -> None:
    vectors = section(document, "vectors (Lance)")
    assert all(f"| `{name}` |" in vectors for name in VECTOR_COLUMNS)
    assert vector_schema(3).names == list(VECTOR_COLUMNS)
    bodies = section(document, "bodies/&lt;crawl&gt;.parquet")
    assert all(f"| `{name}` |" in bodies for name in BODY_SCHEMA.names)


def test_every_field_of_the_manifest_is_documented(document: str) -> None:
    text = section(document, "manifest.json")
    nested: list[type[BaseModel]] = [
        manifest.TableEntry,
        manifest.VectorsEntry,
        manifest.ModelEntry,
        manifest.CheckResult,
        manifest.Verdict,
    ]
    for name in manifest.Manifest.model_fields:
        assert f"| `{name}` |" in text
    for model in nested:
        assert all(f"`{name}`" in text for name in model.model_fields), model


def test_the_layout_is_documented(document: str) -> None:
    text = section(document, "Directory layout")
    paths = SitePaths(Path("root"), "site")
    for path in (
        paths.snapshots, paths.staging, paths.held, paths.bodies, paths.journal, paths.traces,
        paths.results, paths.answers, paths.pins, paths.latest, paths.lock,
    ):  # fmt: skip
        assert path.parent == paths.home
        assert path.name in text


@pytest.mark.parametrize("name", list(TABLES))
def test_keys_and_history_are_columns_and_keys_are_not_null(name: str) -> None:
    table = TABLES[name]
    nullable = {c.name: c.nullable for c in table.columns}
    assert table.key
    assert not any(nullable[column] for column in table.key)
    assert set(table.history) <= set(nullable)
    assert len(nullable) == len(table.columns)
    assert enforce(name, empty(name)).schema.equals(table.schema)


def test_enforce_casts_what_loses_nothing_and_orders_the_columns() -> None:
    given = rows("texts", [1])
    loose = pa.table(
        {name: given[name] for name in reversed(given.column_names)}
    ).set_column(0, "dropped_blocks", pa.array([1], pa.int64()))  # fmt: skip
    assert enforce("texts", loose).equals(given)


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("words", pa.array([2**40]), "words"),
        ("words", pa.array([1.5]), "words"),
        ("words", pa.array([None], pa.int32()), "1 nulls"),
        ("text", pa.array([[1]]), "text"),
    ],
)
def test_enforce_names_the_column(column: str, values: pa.Array, says: str) -> None:
    table = rows("texts", [1])
    bad = table.set_column(table.schema.get_field_index(column), column, values)
    with pytest.raises(SchemaError, match=says) as caught:
        enforce("texts", bad)
    assert "texts" in caught.value.message


def test_enforce_names_unknown_columns() -> None:
    with pytest.raises(SchemaError, match="extra"):
        enforce("texts", rows("texts", [1]).append_column("extra", pa.array([1])))


def test_a_fingerprint_follows_names_types_and_nullability() -> None:
    assert len({table.fingerprint for table in TABLES.values()}) == len(TABLES)


def test_ids_are_fixed_values_and_keep_boundaries_apart() -> None:
    """A change here orphans every stored id: it needs a reason."""
    assert ids.page_id("https://example.org/") == "7aad913c7c80e2398b5e"
    assert ids.block_id("p", ["A", "B"], "t", 0) == "b63ffa5e06d9ff8bbce3"
    assert ids.digest("ab", "c") != ids.digest("a", "bc")
    assert ids.topic_id(["b", "a"]) == ids.topic_id(["a", "b"])
    assert ids.text_hash("x") != ids.input_hash("x")
    assert ids.body_sha256(b"") == (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )


def test_a_manifest_survives_its_json() -> None:
    value = manifest.Manifest(
        id="i", site="s", parent=None, created=datetime(2026, 1, 1, tzinfo=UTC),
        config_fingerprint="f", tables={}, vectors=None, models=[], stats={"a": 1, "b": 0.5},
        verdict=manifest.Verdict(
            status="held", reason="r", decided=datetime(2026, 1, 2, tzinfo=UTC)
        ),
    )  # fmt: skip
    assert manifest.Manifest.model_validate_json(value.model_dump_json()) == value
