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
_LEVEL = 3
_SHOWN = 3


def prepare(name: str, data: pa.Table) -> pa.Table:
    """Return ``data`` with the schema of table ``name``, sorted by its key, in one chunk.

    Raises SchemaError when the schema does not fit or a key occurs twice (naming the first ones).
    """
    if name not in TABLES:
        raise SchemaError(f"There is no table '{name}'.", f"Tables: {', '.join(TABLES)}.")
    key = list(TABLES[name].key)
    table = enforce(name, data).combine_chunks()
    order = pc.sort_indices(table, sort_keys=[(column, "ascending") for column in key])
    table = table.take(order).combine_chunks()
    keys = pl.DataFrame(table.select(key))
    twice = keys.filter(keys.is_duplicated()).unique(maintain_order=True)
    if twice.height:
        shown = "; ".join(str(row) for row in twice.head(_SHOWN).iter_rows())
        raise SchemaError(f"Table {name}: {twice.height} keys occur more than once: {shown}.")
    return table


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
                write_statistics=True,
            )
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
