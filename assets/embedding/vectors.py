"""vectors.lance: one row per distinct embedded string, kept in step with the candidate's blocks.

The parent's directory is linked into the candidate and only the difference is written: strings that
are new are embedded and added, strings no block needs any more are deleted. The table carries
the embedder's identity in its schema metadata; another embedder (or another version of its code)
starts a new table. Vectors are flushed as they are made, so a step that was killed and runs again
in the same candidate embeds only the rest.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from assets.embedding import upkeep
from assets.embedding.strings import rebuild, wanted_inputs
from assets.publishing.candidate import Candidate
from assets.publishing.files import storage
from retrieval.errors import SitequestError
from retrieval.models.base import Embedder, Floats
from retrieval.snapshot.layout import VECTORS
from retrieval.snapshot.schemas import vector_schema

CODE_VERSION = "1"
FLUSH = 4096  # vectors per commit: at most this many are embedded twice after a crash
BATCH = 256  # strings per progress report
DELETE_BATCH = 2000  # hashes per delete statement
_TABLE = Path(VECTORS).stem
_IDENTITY = b"embedder"

Progress = Callable[[int, int], None]


class VectorCountError(SitequestError):
    """The vector table does not hold exactly the strings it must."""


@dataclass(frozen=True)
class VectorStats:
    """What `update_vectors` did: counts of strings, and the model's share of the time.

    ``inputs`` = ``inputs_embedded`` + ``reused``; ``removed`` were in the parent and are gone.
    ``seconds`` and ``cpu_seconds`` are the model's alone (wall clock, CPU of this process).
    ``data_version`` hashes the embedder and the strings' hashes, as the manifest does.
    """

    inputs: int
    inputs_embedded: int
    reused: int
    removed: int
    seconds: float
    cpu_seconds: float
    compacted: bool
    data_version: str


def identity(embedder: Embedder) -> str:
    """Return what must be equal for a stored vector to be taken over."""
    return "|".join(
        (embedder.name, embedder.revision, embedder.sha256, str(embedder.dim), CODE_VERSION)
    )


def update_vectors(
    candidate: Candidate, embedder: Embedder, *, progress: Progress | None = None
) -> VectorStats:
    """Bring the candidate's vectors.lance in step with its kept blocks.

    Every distinct string is embedded once over the life of the site and embedder. When nothing
    changed nothing is written: the directory stays what was linked. ``progress(done, total)`` is
    called as strings are embedded. Raises ModelInputError (a string would be truncated),
    InputMismatchError, VectorCountError, StorageError.
    """
    wanted = wanted_inputs(candidate)
    with storage(candidate.dir / VECTORS):
        table = _open(candidate, embedder)
        known = _known(table)
        missing = wanted.join(known, on="input_hash", how="anti")
        turned = wanted.join(known, on="input_hash", suffix="_old").filter(
            pl.col("kind") != pl.col("kind_old")
        )
        gone = known.join(wanted, on="input_hash", how="anti")["input_hash"]
        stats = VectorStats(
            inputs=wanted.height,
            inputs_embedded=missing.height,
            reused=wanted.height - missing.height,
            removed=len(gone),
            seconds=0.0,
            cpu_seconds=0.0,
            compacted=False,
            data_version=_data_version(embedder, wanted),
        )
        if missing.is_empty() and turned.is_empty() and gone.is_empty():
            return stats
        seconds, cpu = _embed(table, rebuild(candidate, missing), embedder, progress)
        for kind in ("path", "text"):
            relabel = partial(table.update, values={"kind": kind})
            _in_batches(turned.filter(pl.col("kind") == kind)["input_hash"], relabel)
        _in_batches(gone, table.delete)
        compacted = upkeep.compact(table)
        upkeep.index(table)
        _verify(table, wanted)
    return replace(stats, seconds=seconds, cpu_seconds=cpu, compacted=compacted)


def _open(candidate: Candidate, embedder: Embedder) -> Any:
    """Return the candidate's table: resumed, or seeded from the parent, or new."""
    import lancedb

    directory = candidate.dir / VECTORS
    if not directory.is_dir():
        candidate.seed_vectors()
    database = lancedb.connect(str(candidate.dir))
    if directory.is_dir():
        table = database.open_table(_TABLE)
        if (table.schema.metadata or {}).get(_IDENTITY) == identity(embedder).encode():
            return table
        shutil.rmtree(directory)  # links only: the parent keeps its files
    schema = vector_schema(embedder.dim).with_metadata({_IDENTITY: identity(embedder).encode()})
    return database.create_table(_TABLE, schema=schema)


def _known(table: Any) -> pl.DataFrame:
    batches = table.search().select(["input_hash", "kind"]).to_batches()
    frame = pl.DataFrame(pa.Table.from_batches(batches, schema=batches.schema))
    return frame.select("input_hash", "kind")


def _embed(
    table: Any, strings: pl.DataFrame, embedder: Embedder, progress: Progress | None
) -> tuple[float, float]:
    """Embed ``strings`` and add them, flush by flush; return the model's seconds and CPU."""
    seconds = cpu = 0.0
    for start in range(0, strings.height, FLUSH):
        part = strings.slice(start, FLUSH)
        vectors: list[Floats] = []
        for offset in range(0, part.height, BATCH):
            texts = part["input"].slice(offset, BATCH).to_list()
            wall, process = time.perf_counter(), time.process_time()
            vectors.append(embedder.embed(texts, kind="passage"))
            seconds += time.perf_counter() - wall
            cpu += time.process_time() - process
            if progress is not None:
                progress(start + offset + len(texts), strings.height)
        # Added, not merged: the table holds none of these, and this is its only writer.
        table.add(_rows(part, np.concatenate(vectors), table.schema))
    return seconds, cpu


def _rows(strings: pl.DataFrame, vectors: Floats, schema: pa.Schema) -> pa.Table:
    columns = strings.select("input_hash", "kind", "input").to_arrow()
    flat = pa.array(vectors.reshape(-1), type=pa.float32())
    vector = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return pa.table([*(c.cast(pa.string()) for c in columns.columns), vector], schema=schema)


def _in_batches(hashes: pl.Series, act: Callable[[str], object]) -> None:
    """Call ``act`` with SQL conditions that together name all ``hashes`` (hex, so no quoting)."""
    for start in range(0, len(hashes), DELETE_BATCH):
        names = ", ".join(f"'{h}'" for h in hashes.slice(start, DELETE_BATCH))
        act(f"input_hash IN ({names})")


def _verify(table: Any, wanted: pl.DataFrame) -> None:
    """Read back what was written: what was added twice would be found twice."""
    stored = _known(table).sort("input_hash")
    if stored.equals(wanted.select("input_hash", "kind")):
        return
    raise VectorCountError(
        f"vectors.lance holds {stored.height} rows ({stored['input_hash'].n_unique()} distinct),"
        f" the blocks need {wanted.height}.",
        "Run the sync again; the published snapshot is unchanged.",
    )


def _data_version(embedder: Embedder, wanted: pl.DataFrame) -> str:
    digest = sha256(f"{embedder.name}|{embedder.revision}|{embedder.sha256}\n".encode())
    pairs = wanted.select(pl.concat_str("input_hash", "kind", separator="|")).to_series()
    digest.update("\n".join(pairs.sort()).encode())
    return digest.hexdigest()[:32]
