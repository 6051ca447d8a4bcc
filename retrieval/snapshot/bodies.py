"""Raw response bodies by content: append-only Parquet parts, one per crawl.

Columns: sha256 (hex), body (binary), content_type (string or null), first_fetched (UTC). Row groups
are small, so that one body costs one row group and a walk over thousands stays bounded in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from retrieval.errors import SitequestError
from retrieval.snapshot.schemas import TIME

BODY_SCHEMA = pa.schema(
    [
        pa.field("sha256", pa.string(), nullable=False),
        pa.field("body", pa.binary(), nullable=False),
        pa.field("content_type", pa.string()),
        pa.field("first_fetched", TIME, nullable=False),
    ]
)


class MissingBodyError(SitequestError):
    """A body that a page refers to is not in the store."""


class CorruptBodyError(SitequestError):
    """A part of the body store is damaged."""


@dataclass(frozen=True)
class _Place:
    part: Path
    group: int


class Bodies:
    """The bodies of one site, read by sha256.

    The parts are indexed on first use (their sha256 columns alone are read) and again when an
    address is asked for that is not known, so that a reader sees parts added after it was opened.
    """

    def __init__(self, dir: Path) -> None:
        self.dir = Path(dir)
        self._places: dict[str, _Place] = {}
        self._indexed: set[Path] = set()

    def known(self) -> set[str]:
        """Return the sha256 of every body in the store."""
        self._index()
        return set(self._places)

    def get(self, sha: str) -> bytes:
        """Return the body with this sha256.

        Raises MissingBodyError when there is none, CorruptBodyError when its content differs.
        """
        return next(body for _, body in self.iter([sha]))

    def iter(self, shas: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield (sha256, body) once for each distinct address, in the order of storage.

        One row group is in memory at a time. Raises MissingBodyError before the first body when
        an address is not in the store, CorruptBodyError when a body's content differs.
        """
        wanted = set(shas)
        self._require(wanted)
        groups: dict[_Place, None] = dict.fromkeys(
            sorted({self._places[s] for s in wanted}, key=lambda p: (p.part, p.group))
        )
        part, file = None, None
        for place in groups:
            if file is None or place.part != part:
                if file is not None:
                    file.close()
                part, file = place.part, _open(place.part)
            yield from _read_group(file, place, wanted)
        if file is not None:
            file.close()

    def _require(self, wanted: set[str]) -> None:
        if wanted - self._places.keys():
            self._index()
        missing = sorted(wanted - self._places.keys())
        if missing:
            raise MissingBodyError(
                f"{len(missing)} of {len(wanted)} bodies are not in {self.dir}, "
                f"the first is {missing[0]}.",
                "Restore the missing part from a copy, or crawl the site anew.",
            )

    def _index(self) -> None:
        parts = sorted(p for p in self.dir.glob("*.parquet") if not p.name.startswith("."))
        for part in parts:
            if part in self._indexed:
                continue
            with _open(part) as file:
                for group in range(file.num_row_groups):
                    place = _Place(part, group)
                    for sha in _read(file, part, group, ["sha256"])["sha256"].to_pylist():
                        self._places.setdefault(sha, place)
            self._indexed.add(part)


def _open(part: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(part)
    except (OSError, pa.ArrowException) as error:
        raise _corrupt(part, str(error)) from error


def _read(file: pq.ParquetFile, part: Path, group: int, columns: list[str]) -> pa.Table:
    try:
        return file.read_row_group(group, columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise _corrupt(part, str(error)) from error


def _read_group(
    file: pq.ParquetFile, place: _Place, wanted: set[str]
) -> Iterator[tuple[str, bytes]]:
    rows = _read(file, place.part, place.group, ["sha256", "body"])
    bodies = rows["body"]
    for position, sha in enumerate(rows["sha256"].to_pylist()):
        if sha not in wanted:
            continue
        # A part is written only with bodies not stored before, so the first place is the only one.
        body: bytes = bodies[position].as_py()
        if sha256(body).hexdigest() != sha:
            raise _corrupt(place.part, f"the body at {sha} has other content")
        yield sha, body


def _corrupt(part: Path, why: str) -> CorruptBodyError:
    return CorruptBodyError(
        f"{part} is damaged: {why}.", "Restore the file from a copy, or crawl the site anew."
    )
