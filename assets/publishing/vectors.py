"""The vectors of a candidate: the parent's Lance directory linked file by file, and its entry."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from assets.publishing.files import link_tree, storage
from retrieval.snapshot.layout import VECTORS
from retrieval.snapshot.manifest import ModelEntry, VectorsEntry


def seed(parent: Path, child: Path) -> Path | None:
    """Link the vectors of snapshot directory ``parent`` into ``child``; None when it has none.

    Lance never writes a file in place: `add` and `delete` on the child add files of their
    own, so the parent stays byte-identical. What the child already has is left alone.
    """
    source, target = parent / VECTORS, child / VECTORS
    if not source.is_dir():
        return None
    if not target.is_dir():
        with storage(target):
            link_tree(source, target)
    return target


def describe(directory: Path, models: list[ModelEntry]) -> VectorsEntry | None:
    """Return the manifest entry of the vectors below ``directory``; None when there are none.

    The data version hashes the sorted input hashes with the embedder's name, revision and weights:
    a vector is a function of its input and its model, so the floats need not be read.
    """
    if not (directory / VECTORS).is_dir():
        return None
    import lancedb

    table = lancedb.connect(str(directory)).open_table(Path(VECTORS).stem)
    rows = table.count_rows()
    hashes = table.search().select(["input_hash", "kind"]).limit(max(rows, 1)).to_arrow()
    digest = sha256()
    for model in models:
        if model.role == "embedder":
            digest.update(f"{model.name}|{model.revision}|{model.sha256}\n".encode())
    pairs = zip(hashes["input_hash"].to_pylist(), hashes["kind"].to_pylist(), strict=True)
    digest.update("\n".join(sorted(f"{key}|{kind}" for key, kind in pairs)).encode())
    return VectorsEntry(
        dir=VECTORS,
        rows=rows,
        dim=table.schema.field("vector").type.list_size,
        data_version=digest.hexdigest()[:32],
        lance_version=table.version,
    )
