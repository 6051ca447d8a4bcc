"""Content hashes of rows and tables: the same in every process, on every run.

polars' own ``hash`` is seeded and may change between releases. A table is hashed column by column
over the bytes of its values (0.1 s for 300,000 rows of facts); a row is serialised to JSON and
hashed with blake2b (2.5 s for as many), which only rows that differ need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b, sha256

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from retrieval.snapshot.ids import ID_BYTES
from retrieval.snapshot.schemas import TABLES

_KEY_SEPARATOR = "\x1f"


def value_columns(name: str) -> list[str]:
    """Return the columns of table ``name`` that are neither key nor history."""
    table = TABLES[name]
    skip = {*table.key, *table.history}
    return [c.name for c in table.columns if c.name not in skip]


def data_columns(name: str) -> list[str]:
    """Return the columns that the data version covers: all but history.

    A table that is history as a whole (``changes``) is covered in full.
    """
    table = TABLES[name]
    names = [c.name for c in table.columns if c.name not in table.history]
    return names or [c.name for c in table.columns]


def row_hashes(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Return one hash (hex, 80 bits) per row over ``columns`` in the order given.

    A column that ``frame`` does not have counts as null, so that frames written under an earlier
    schema compare. Lists and structs are included; null, NaN and infinities differ.
    """
    if not columns:
        return pl.Series("hash", [_hash("{}")] * frame.height, dtype=pl.String)
    row = pl.struct(_canonical(frame, name) for name in columns)
    text = frame.select(row.struct.json_encode().alias("hash")).to_series()
    return pl.Series("hash", [_hash(value) for value in text.to_list()], dtype=pl.String)


def row_keys(name: str, frame: pl.DataFrame) -> pl.Series:
    """Return the key of each row as one string: the key values joined by U+001F."""
    parts = [pl.col(column).cast(pl.String) for column in TABLES[name].key]
    return frame.select(pl.concat_str(parts, separator=_KEY_SEPARATOR).alias("key")).to_series()


def content_hashes(name: str, table: pa.Table) -> tuple[str, str]:
    """Return the data version (without history columns) and the hash of the whole content.

    ``table`` has the schema of table ``name`` (`schemas.enforce`). Both are 32 hex characters; the
    schema and the order of rows are part of them.
    """
    columns = {column: _column_digest(table[column]) for column in table.column_names}
    version, whole = (
        _table_hash(name, {column: columns[column] for column in names})
        for names in (data_columns(name), TABLES[name].schema.names)
    )
    return version, whole


def _table_hash(name: str, columns: dict[str, bytes]) -> str:
    digest = sha256(f"{name}|{TABLES[name].fingerprint}|{','.join(columns)}\n".encode())
    for column in columns.values():
        digest.update(column)
    return digest.hexdigest()[:32]


def _column_digest(column: pa.ChunkedArray) -> bytes:
    digest = sha256()
    for part in _content(column.combine_chunks()):
        digest.update(part)
    return digest.digest()


def _content(values: pa.Array) -> Iterator[bytes | memoryview]:
    """Yield what determines ``values`` of a known type, and nothing else.

    Arrow's buffers alone do not: they hold anything below a null and beyond the last row.
    """
    yield len(values).to_bytes(8, "little")
    yield values.null_count.to_bytes(8, "little")
    if values.null_count:
        yield _bytes(values.is_valid())
        values = values.drop_null()
    if pa.types.is_struct(values.type):
        for field in values.flatten():
            yield from _content(field)
    elif pa.types.is_list(values.type):
        yield _bytes(pc.list_value_length(values))
        yield from _content(values.flatten())
    elif pa.types.is_string(values.type):
        yield _bytes(pc.binary_length(values))
        yield _characters(values)
    elif pa.types.is_timestamp(values.type):
        yield _bytes(values.cast(pa.int64()))
    elif pa.types.is_floating(values.type):
        numbers = values.to_numpy()
        yield np.where(np.isnan(numbers), np.nan, numbers).astype(numbers.dtype).tobytes()
    else:
        yield _bytes(values)


def _bytes(values: pa.Array) -> bytes:
    """Return the bytes of numbers or booleans without nulls."""
    return values.to_numpy(zero_copy_only=False).tobytes()  # type: ignore[no-any-return]


def _characters(values: pa.StringArray) -> memoryview:
    """Return the strings' bytes one after another, which is how Arrow keeps them."""
    _, offsets, data = values.buffers()
    if data is None:
        return memoryview(b"")
    ends = np.frombuffer(offsets, np.int32, len(values) + 1, values.offset * 4)
    return memoryview(data)[ends[0] : ends[-1]]


def _canonical(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Return an expression of the column that JSON can tell apart (it has no NaN)."""
    if name not in frame.columns:
        return pl.lit(None, dtype=pl.String).alias(name)
    if frame.schema[name].is_float():
        return pl.col(name).cast(pl.String)
    return pl.col(name)


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8"), digest_size=ID_BYTES).hexdigest()
