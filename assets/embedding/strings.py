"""The distinct strings that a candidate's kept blocks need embedded, rebuilt from its tables."""

from __future__ import annotations

import polars as pl

from assets.extraction.idcolumns import digests, joined
from assets.publishing.candidate import Candidate
from retrieval.errors import SitequestError
from retrieval.snapshot.inputs import path_input, text_input


class InputMismatchError(SitequestError):
    """A block's input hash is not the hash of its string: two stages disagree on the string."""


def wanted_inputs(candidate: Candidate) -> pl.DataFrame:
    """Return (input_hash, kind, block_id), one row per distinct string, sorted by hash.

    ``kind`` is ``text`` when any kept block has the string as its text input, else ``path``;
    ``block_id`` is one block the string can be rebuilt from, in the role of ``kind``.
    """
    columns = ["block_id", "kept", "input_hash", "path_input_hash"]
    kept = candidate.table("blocks", columns).filter("kept")
    texts = kept.select("input_hash", pl.lit("text").alias("kind"), "block_id")
    paths = kept.select(
        pl.col("path_input_hash").alias("input_hash"), pl.lit("path").alias("kind"), "block_id"
    )
    # "text" sorts after "path": the greatest kind wins, with the first of its blocks.
    return (
        pl.concat([texts, paths])
        .drop_nulls("input_hash")
        .sort("input_hash", "kind", "block_id", descending=[False, True, False])
        .unique("input_hash", keep="first", maintain_order=True)
    )


def rebuild(candidate: Candidate, wanted: pl.DataFrame) -> pl.DataFrame:
    """Return (input_hash, kind, input) for rows of `wanted_inputs`, sorted by hash.

    Raises InputMismatchError when a string does not have the hash its block names.
    """
    rows = (
        wanted.lazy()
        .join(
            candidate.table(
                "blocks", ["block_id", "page_id", "text_hash", "context", "heading_path"]
            )
            .lazy()
            .with_columns(pl.col("heading_path").list.eval(pl.element().struct.field("text"))),
            on="block_id",
        )
        .join(candidate.table("texts", ["text_hash", "text"]).lazy(), on="text_hash")
        .join(candidate.table("pages", ["page_id", "title"]).lazy(), on="page_id")
        .sort("input_hash")
        .collect()
    )
    if rows.height != wanted.height:
        raise InputMismatchError(
            f"{wanted.height - rows.height} embedded strings have no block, text or page.",
            "The tables do not belong together: run the sync again.",
        )
    strings = pl.Series("input", _strings(rows), dtype=pl.String)
    found = digests(strings.to_frame().select(joined(pl.lit("input"), "input")).to_series())
    wrong = rows.filter(found != rows["input_hash"])
    if wrong.height:
        row = wrong.row(0, named=True)
        raise InputMismatchError(
            f"Block {row['block_id']} names {row['kind']} input {row['input_hash']}, but its"
            " string has another hash.",
            "The blocks were made by another version: run the sync again.",
        )
    return rows.select("input_hash", "kind").with_columns(strings)


def _strings(rows: pl.DataFrame) -> list[str]:
    columns = rows.select("kind", "title", "heading_path", "context", "text")
    return [
        text_input(headings, context, text) if kind == "text" else path_input(title, headings)
        for kind, title, headings, context, text in columns.iter_rows()
    ]
