"""search/ of a candidate: what the query side maps (formats: `retrieval.index.mirror`, `.lexical`).

Everything is rebuilt from the candidate's tables, so it is a function of them alone. A part whose
content is the parent's becomes a hard link to the parent's file: the rows are compared by their
bytes; vectors and BM25, which cost something to build, by the hash of what they are made from.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from assets.embedding.bm25 import FILES as BM25_FILES
from assets.embedding.bm25 import Field, build_bm25
from assets.publishing.candidate import Candidate
from assets.publishing.files import link_or_copy, sha256_file, storage, write_json
from retrieval.errors import SitequestError
from retrieval.index import lexical, mirror
from retrieval.index.mirror import ROW_FILES, SCHEMAS, VECTORS_FILE
from retrieval.snapshot.layout import SEARCH, VECTORS
from retrieval.snapshot.states import HAS_CONTENT

CODE_VERSION = f"1/{mirror.VERSION}/{lexical.VERSION}"
PARTS = "parts.json"


class MissingVectorError(SitequestError):
    """A kept block's embedded string has no vector."""


@dataclass(frozen=True)
class SearchStats:
    """What `build_search` made; ``linked`` names the parts taken over from the parent."""

    blocks: int
    texts: int
    inputs: int
    terms: int
    bytes: int
    seconds: float
    linked: tuple[str, ...]


def build_search(candidate: Candidate) -> SearchStats:
    """Write the candidate's ``search/`` from pages, blocks, texts and vectors.lance.

    Raises MissingVectorError when `update_vectors` did not run for these blocks, StorageError.
    """
    started = time.perf_counter()
    rows = search_rows(candidate)
    directory = candidate.dir / SEARCH
    with storage(directory):
        directory.mkdir(exist_ok=True)
        builder = _Parts(candidate, directory)
        for name in ROW_FILES:
            builder.rows(name, _batch(rows[name], SCHEMAS[name]))
        keys = builder.keys
        builder.part(
            "vectors",
            _key(keys["inputs"], _embedder(candidate)),
            (VECTORS_FILE,),
            lambda: _write_vectors(candidate, rows["inputs"], directory / VECTORS_FILE),
        )
        lexical_rows = rows["blocks"].select("page", "heading", "text", "context")
        builder.part(
            "bm25",
            _key(
                keys["texts"],
                keys["headings"],
                _ipc_hash(rows["pages"].select("title")),
                _ipc_hash(lexical_rows),
            ),
            BM25_FILES,
            lambda: build_bm25(_fields(rows), directory),
        )
        builder.close()
        terms = len(np.load(directory / "bm25_starts.npy", mmap_mode="r")) - 1
        size = sum(f.stat().st_size for f in directory.iterdir())
    return SearchStats(
        blocks=rows["blocks"].height,
        texts=rows["texts"].height,
        inputs=rows["inputs"].height,
        terms=terms,
        bytes=size,
        seconds=time.perf_counter() - started,
        linked=tuple(builder.linked),
    )


def search_rows(candidate: Candidate) -> dict[str, pl.DataFrame]:
    """Return the frames of ROW_FILES, in their order, pointing at each other by row."""
    live = candidate.table("pages").filter(HAS_CONTENT)
    pages = live.select("page_id", "url", "title", "fetched_at").sort("page_id")
    kept = (
        candidate.table("blocks")
        .lazy()
        .filter("kept")
        .sort("page_id", "ordinal")
        .with_columns(
            pl.col("heading_path").list.eval(pl.element().struct.field("text")).alias("path"),
            pl.col("path_input_hash").fill_null(pl.col("input_hash")),
        )
        .collect()
    )
    used = kept.select("text_hash").unique()
    texts = (
        candidate.table("texts")
        .join(used, on="text_hash", how="semi")
        .select("text_hash", "text", "words")
        .sort("text_hash")
    )
    # As one string for sorting and joining: U+001F cannot be part of a heading's visible text.
    kept = kept.with_columns(pl.col("path").list.join("\x1f").alias("joined"))
    headings = kept.select("joined", "path").unique("joined").sort("joined")
    hashes = pl.concat([kept["input_hash"], kept["path_input_hash"]]).drop_nulls()
    inputs = pl.DataFrame({"input_hash": hashes.unique().sort()})
    blocks = kept.with_columns(
        _rows_of(kept["page_id"], pages["page_id"]).alias("page"),
        _rows_of(kept["joined"], headings["joined"]).alias("heading"),
        _rows_of(kept["text_hash"], texts["text_hash"]).alias("text"),
        _rows_of(kept["input_hash"], inputs["input_hash"]).alias("input"),
        _rows_of(kept["path_input_hash"], inputs["input_hash"]).alias("path_input"),
    )
    return {
        "blocks": blocks.select(SCHEMAS["blocks"].names),
        "pages": pages,
        "texts": texts.select("text", "words"),
        "headings": headings.select("path"),
        "inputs": inputs,
    }


def _rows_of(values: pl.Series, known: pl.Series) -> pl.Series:
    """Return the position of each value in ``known`` (distinct); raises when one is not there."""
    index = pl.DataFrame({"value": known}).with_row_index("row")
    found = pl.DataFrame({"value": values}).join(
        index, on="value", how="left", maintain_order="left"
    )["row"]
    if found.null_count():
        raise MissingVectorError(
            f"{found.null_count()} kept blocks name a {values.name} that is not in the tables.",
            "The tables do not belong together: run the sync again.",
        )
    return found.cast(pl.Int32)


def _fields(rows: dict[str, pl.DataFrame]) -> list[Field]:
    blocks = rows["blocks"]
    contexts = blocks["context"].drop_nulls().unique().sort()
    positions = pl.DataFrame({"context": contexts}).with_row_index("row")
    context = blocks.select("context").join(
        positions, on="context", how="left", maintain_order="left"
    )["row"]

    def of(values: pl.Series) -> NDArray[np.int64]:
        return values.cast(pl.Int64).fill_null(-1).to_numpy()

    return [
        Field("text", rows["texts"]["text"], of(blocks["text"])),
        Field("context", contexts, of(context)),
        Field("headings", rows["headings"]["path"].list.join("\n"), of(blocks["heading"])),
        Field("title", rows["pages"]["title"].fill_null(""), of(blocks["page"])),
    ]


def _write_vectors(candidate: Candidate, inputs: pl.DataFrame, path: Path) -> None:
    """Copy the vectors of ``inputs`` from Lance, batch by batch, in their order."""
    table = _lance(candidate)
    dim = table.schema.field("vector").type.list_size
    out = np.lib.format.open_memmap(path, "w+", np.float32, (inputs.height, dim))
    positions = inputs.with_row_index("row")
    filled = 0
    for batch in table.search().select(["input_hash", "vector"]).to_batches(8192):
        hashes = pl.DataFrame({"input_hash": pl.Series(batch["input_hash"], dtype=pl.String)})
        found = hashes.join(positions, on="input_hash", how="left", maintain_order="left")["row"]
        mine = found.is_not_null().to_numpy()
        vectors = batch["vector"].flatten().to_numpy().reshape(-1, dim)
        out[found.drop_nulls().to_numpy()] = vectors[mine]
        filled += int(mine.sum())
    out.flush()
    if filled != inputs.height:
        raise MissingVectorError(
            f"{inputs.height - filled} embedded strings of kept blocks have no vector.",
            "Run the step that makes vectors first.",
        )


def _lance(candidate: Candidate) -> Any:
    import lancedb

    return lancedb.connect(str(candidate.dir)).open_table(Path(VECTORS).stem)


def _embedder(candidate: Candidate) -> str:
    return str((_lance(candidate).schema.metadata or {}).get(b"embedder"))


def _batch(frame: pl.DataFrame, schema: pa.Schema) -> pa.RecordBatch:
    table = frame.to_arrow().cast(schema).combine_chunks()
    batches = table.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=schema)


def _ipc_hash(frame: pl.DataFrame) -> str:
    digest = sha256()
    for batch in frame.rechunk().to_arrow().combine_chunks().to_batches():
        digest.update(batch.serialize())
    return digest.hexdigest()


def _key(*parts: str) -> str:
    return sha256("\n".join((CODE_VERSION, *parts)).encode()).hexdigest()


class _Parts:
    """Files of search/, each with the hash of what it is made from; linked if the parent's is."""

    def __init__(self, candidate: Candidate, directory: Path) -> None:
        self._directory = directory
        self._parent = None if candidate.parent is None else candidate.parent.search_dir
        self._old: dict[str, str] = {}
        if self._parent is not None and (self._parent / PARTS).is_file():
            self._old = json.loads((self._parent / PARTS).read_bytes())
        self.keys: dict[str, str] = {}
        self.linked: list[str] = []

    def rows(self, name: str, batch: pa.RecordBatch) -> None:
        """Write a row file; link it if the parent's has the same bytes."""
        path = self._directory / f"{name}.arrow"
        path.unlink(missing_ok=True)  # never write through a link
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)
        self.part(name, sha256_file(path), (path.name,), lambda: None)

    def part(
        self, name: str, key: str, files: tuple[str, ...], build: Callable[[], object]
    ) -> None:
        """Link ``files`` from the parent when their key is the parent's, else ``build`` them."""
        self.keys[name] = key
        parent = self._parent
        if parent is not None and self._old.get(name) == key:
            for file in files:
                link_or_copy(parent / file, self._directory / file)
            self.linked.append(name)
            return
        if name not in ROW_FILES:
            for file in files:
                (self._directory / file).unlink(missing_ok=True)
        build()

    def close(self) -> None:
        """Write the keys; the file comes last."""
        write_json(self._directory / PARTS, dict(self.keys))
