"""The table section of docs/data-model.md, made from the schemas so that the two cannot part.

``python -m retrieval.snapshot.describe docs/data-model.md`` rewrites the section in place; a test
asserts that it is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from retrieval.snapshot import schemas
from retrieval.snapshot.schemas import TABLES, Column, Table, vector_schema

BEGIN = "<!-- tables: made by retrieval.snapshot.describe -->"
END = "<!-- end of tables -->"

_VALUE_LISTS = ("PAGE_STATES", "BLOCK_KINDS", "VALUE_TYPES", "RELATION_KINDS", "CHANGE_KINDS")

_VECTOR_DOCS = {
    "input_hash": "hash of `input`; key",
    "kind": "text (heading and text of a block) or path (title and headings)",
    "input": "the embedded string",
    "vector": "embedding, unit length, dimension of the model",
}


def meaning(column: Column) -> str:
    """Return what a column means, the names of value lists replaced by the values."""
    text = column.doc
    for name in _VALUE_LISTS:
        text = text.replace(name, ", ".join(getattr(schemas, name)))
    return text


def tables_markdown() -> str:
    """Return every table with its columns: type, nullability, key, history and meaning."""
    parts = [_table(table) for table in TABLES.values()]
    return "\n".join([*parts, _vectors()])


def replace_section(document: str) -> str:
    """Return ``document`` with the text between BEGIN and END made anew.

    Raises ValueError when the marks are not there, in that order.
    """
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the document needs the marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{tables_markdown()}\n{END}{after}"


def _table(table: Table) -> str:
    lines = [
        f"### {table.name}",
        "",
        table.doc,
        f"Key: {', '.join(f'`{name}`' for name in table.key)}. "
        f"History columns: {', '.join(f'`{name}`' for name in table.history) or 'none'}.",
        "",
        "| column | type | null | meaning |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{c.name}` | {_type(c.type)} | {'yes' if c.nullable else 'no'} | {meaning(c)} |"
        for c in table.columns
    ]
    return "\n".join(lines) + "\n"


def _vectors() -> str:
    lines = [
        "### vectors (Lance)",
        "",
        "One row per distinct embedded string, in `vectors.lance/`. Key: `input_hash`.",
        "",
        "| column | type | null | meaning |",
        "|---|---|---|---|",
    ]
    for field in vector_schema(1):
        kind = "float32 × dimension" if field.name == "vector" else _type(field.type)
        lines.append(f"| `{field.name}` | {kind} | no | {_VECTOR_DOCS[field.name]} |")
    return "\n".join(lines) + "\n"


def _type(type_: pa.DataType) -> str:
    if pa.types.is_list(type_):
        return f"list of {_type(type_.value_type)}"
    if pa.types.is_struct(type_):
        return "{" + ", ".join(f"{f.name}: {_type(f.type)}" for f in type_) + "}"
    if pa.types.is_timestamp(type_):
        return "timestamp µs UTC"
    return {"float": "float32", "double": "float64"}.get(str(type_), str(type_))


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(replace_section(path.read_text("utf-8")), "utf-8")
