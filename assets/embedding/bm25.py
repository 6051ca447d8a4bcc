"""The BM25 files of a snapshot, from its rows: linear in the words of distinct strings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from retrieval.index.lexical import (
    ARRAYS,
    FIELD_WEIGHTS,
    K1,
    STOP_WORDS,
    TERMS_FILE,
    B,
    stem,
    words,
)

FILES = (TERMS_FILE, *(f"bm25_{name}.npy" for name in ARRAYS))


@dataclass(frozen=True)
class Field:
    """One field of the documents: distinct strings, and which of them each block has."""

    name: str
    strings: pl.Series
    of_block: NDArray[np.int64]
    """Position in ``strings`` of each block's value [blocks]; −1 for none."""


def build_bm25(fields: list[Field], directory: Path) -> int:
    """Write the BM25 files of the blocks into ``directory``; return the number of terms.

    Each distinct string is tokenised once; its term counts are then spread over the blocks that
    have it.
    """
    blocks = len(fields[0].of_block)
    counted = [_count(field.strings) for field in fields]
    vocabulary = pl.concat([c["word"] for c in counted]).unique().cast(pl.String)
    vocabulary = vocabulary.filter(~vocabulary.is_in(sorted(STOP_WORDS))).sort()
    stems = pl.DataFrame({"word": vocabulary, "stem": stem(vocabulary.to_list())})
    terms = stems["stem"].unique().sort()  # by UTF-8 bytes
    codes = stems.join(
        pl.DataFrame({"stem": terms, "term": np.arange(len(terms), dtype=np.int64)}), on="stem"
    ).select(pl.col("word").cast(pl.Categorical), "term")

    keys, weights = [], []
    for field, counts in zip(fields, counted, strict=True):
        term, row, tf = _spread(field, counts.join(codes, on="word"), blocks)
        keys.append(term * blocks + row)
        weights.append(tf * np.float32(FIELD_WEIGHTS[field.name]))
    key, tf = _sum_by_key(np.concatenate(keys), np.concatenate(weights))
    term, row = np.divmod(key, max(blocks, 1))
    _write(directory, terms, term, row, tf, blocks)
    return len(terms)


def _count(strings: pl.Series) -> pl.DataFrame:
    """Return (string, word, tf): how often each word is in each string.

    Words are categorical, so that millions of them are counted and joined as numbers.
    """
    return (
        pl.DataFrame({"text": strings.cast(pl.String)})
        .lazy()
        .with_row_index("string")
        .select(pl.col("string").cast(pl.Int64), words(pl.col("text")).alias("word"))
        .explode("word")
        .drop_nulls("word")
        .with_columns(pl.col("word").cast(pl.Categorical))
        .group_by("string", "word")
        .agg(pl.len().cast(pl.Float32).alias("tf"))
        .collect()
    )


def _spread(
    field: Field, counts: pl.DataFrame, blocks: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return (term, block row, tf) of a field for every block that has a value."""
    have = np.flatnonzero(field.of_block >= 0)
    owners = pl.DataFrame({"string": field.of_block[have], "row": have})
    joined = owners.lazy().join(counts.lazy(), on="string").select("term", "row", "tf").collect()
    return joined["term"].to_numpy(), joined["row"].to_numpy(), joined["tf"].to_numpy()


def _sum_by_key(
    key: NDArray[np.int64], weight: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the distinct keys, ascending, with the sums of their weights.

    Weights are multiples of a small power of two, so that the order of addition does not matter.
    """
    if not len(key):
        return key, weight
    order = np.argsort(key, kind="stable")
    key, weight = key[order], weight[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    return key[first], np.add.reduceat(weight, first)


def _write(
    directory: Path,
    terms: pl.Series,
    term: NDArray[np.int64],
    row: NDArray[np.int64],
    tf: NDArray[np.float32],
    blocks: int,
) -> None:
    """Score the postings (sorted by term and row) and write the files."""
    length = np.bincount(row, weights=tf, minlength=blocks)
    mean = float(length.mean()) if blocks and length.any() else 1.0
    frequency = np.bincount(term, minlength=len(terms))
    idf = np.log1p((blocks - frequency + 0.5) / (frequency + 0.5))
    scores = idf[term] * tf / (tf + K1 * (1 - B + B * length[row] / mean))
    starts = np.concatenate([[0], np.cumsum(frequency)]).astype(np.int64)
    np.save(directory / "bm25_starts.npy", starts)
    np.save(directory / "bm25_rows.npy", row.astype(np.int32))
    np.save(directory / "bm25_scores.npy", scores.astype(np.float32))
    batch = pa.record_batch([pa.array(terms.to_list(), type=pa.string())], names=["term"])
    with (
        pa.OSFile(str(directory / TERMS_FILE), "wb") as sink,
        pa.ipc.new_file(sink, batch.schema) as writer,
    ):
        writer.write_batch(batch)
