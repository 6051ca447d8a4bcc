"""Writing one table file: schema, order, unique key, and the same bytes for the same rows."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assets.publishing.files import storage
from retrieval.snapshot.schemas import TABLES, SchemaError, enforce

# Fixed, because the bytes of a file depend on them.
_ROW_GROUP = 65_536
_LEVEL = 1  # of zstd; level 3 takes a quarter more time and saves nothing on ids
_SHOWN = 3


def prepare(name: str, data: pa.Table) -> pa.Table:
    """Return ``data`` with the schema of table ``name``, sorted by its key, in one chunk.

    Raises SchemaError when the schema does not fit or a key occurs twice (naming the first ones).
    """
    if name not in TABLES:
        raise SchemaError(f"There is no table '{name}'.", f"Tables: {', '.join(TABLES)}.")
    key = list(TABLES[name].key)
    table = enforce(name, data).combine_chunks()
    sorted_, repeats = _steps(table, key)
    if not sorted_:
        order = pc.sort_indices(table, sort_keys=[(column, "ascending") for column in key])
        table = table.take(order).combine_chunks()
        _, repeats = _steps(table, key)
    if pc.any(repeats).as_py():
        twice = pl.DataFrame(table.select(key).slice(1).filter(repeats)).unique(maintain_order=True)
        shown = "; ".join(str(row) for row in twice.head(_SHOWN).iter_rows())
        raise SchemaError(f"Table {name}: {twice.height} keys occur more than once: {shown}.")
    return table


def _steps(table: pa.Table, key: list[str]) -> tuple[bool, pa.BooleanArray]:
    """Say whether rows ascend by ``key``, and which rows have the key of the row before them."""
    rows = max(table.num_rows - 1, 0)
    equal = pa.repeat(pa.scalar(True), rows)
    falls = pa.repeat(pa.scalar(False), rows)
    for column in key:
        before, after = table[column].slice(0, rows), table[column].slice(1)
        falls = pc.or_(falls, pc.and_(equal, pc.greater(before, after)))
        equal = pc.and_(equal, pc.equal(before, after))
    return not pc.any(falls).as_py(), equal


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write a prepared table so that ``path`` is the whole file or not there.

    A hard link that stood at ``path`` is replaced, never written through. The bytes are a function
    of the rows and of the pyarrow version. Raises StorageError.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with storage(path):
        try:
            pq.write_table(
                table,
                temporary,
                compression="zstd",
                compression_level=_LEVEL,
                row_group_size=_ROW_GROUP,
                write_statistics=False,
            )
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
