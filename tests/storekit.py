"""Small snapshots for tests of the store: real files, every table present."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from assets.publishing.candidate import Candidate
from assets.publishing.publish import publish
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.schemas import TABLES, empty

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def value(type_: pa.DataType, number: int) -> Any:
    """Return a value of an arrow type that says ``number``."""
    if pa.types.is_string(type_):
        return f"v{number}"
    if pa.types.is_boolean(type_):
        return number % 2 == 0
    if pa.types.is_timestamp(type_):
        return EPOCH + timedelta(seconds=number)
    if pa.types.is_list(type_):
        return [value(type_.value_type, number)]
    if pa.types.is_struct(type_):
        return {f.name: value(f.type, number) for f in type_}
    return number % 100 if pa.types.is_int8(type_) else number


def rows(name: str, numbers: list[int]) -> pa.Table:
    """Return one row of table ``name`` per number, every column filled from it."""
    schema = TABLES[name].schema
    return pa.table(
        [pa.array([value(f.type, n) for n in numbers], f.type) for f in schema], schema=schema
    )


def texts(mapping: Mapping[str, str]) -> pa.Table:
    """Return a `texts` table of {text_hash: text}."""
    n = len(mapping)
    columns = [list(mapping), list(mapping.values()), [1] * n, [1] * n, [1] * n, [0] * n]
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, TABLES["texts"].schema, strict=True)],
        schema=TABLES["texts"].schema,
    )


def build(
    paths: SitePaths,
    run_id: str,
    tables: Mapping[str, pa.Table] | None = None,
    *,
    label: str | None = None,
    now: datetime | None = None,
    fill: Callable[[Candidate], None] = lambda candidate: None,
) -> Candidate:
    """Build a candidate: ``tables`` as given, the others empty, changes computed."""
    candidate = Candidate.begin(paths, run_id=run_id, label=label, now=now)
    given = dict(tables or {})
    for name in TABLES:
        if name != "changes":
            candidate.write(name, given.get(name, empty(name)), code_version="1")
    fill(candidate)
    candidate.write_manifest(config_fingerprint="test", models=[], stats={})
    candidate.write_changes(code_version="1")
    return candidate


def published(paths: SitePaths, run_id: str, *args: Any, **kwargs: Any) -> Snapshot:
    """Build a candidate and publish it (arguments as for `build`)."""
    return publish(build(paths, run_id, *args, **kwargs))


def files(directory: Path) -> dict[str, str]:
    """Return {relative path: sha256} of every file below a directory."""
    return {
        str(p.relative_to(directory)): sha256(p.read_bytes()).hexdigest()
        for p in sorted(directory.rglob("*"))
        if p.is_file()
    }


def frame(table: pa.Table) -> pl.DataFrame:
    """Return an arrow table as polars reads it from a snapshot."""
    return pl.DataFrame(table)
