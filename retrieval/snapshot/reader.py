"""Opening snapshots: by LATEST, id, label or date; one reader pins one snapshot for its life."""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from retrieval.errors import BadInputError, NoSnapshotError, SitequestError
from retrieval.snapshot.layout import CANDIDATE, MANIFEST, SEARCH, VECTORS, SitePaths
from retrieval.snapshot.manifest import MANIFEST_VERSION, Manifest
from retrieval.snapshot.schemas import TABLES, empty

SITE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_SHOWN = 5


class CorruptSnapshotError(SitequestError):
    """A file of the store does not hold what it must."""


@dataclass(frozen=True)
class Snapshot:
    """An opened snapshot directory (published, held or a candidate in staging): a fixed view.

    The object never follows LATEST: what it opened is what it reads, for its whole life.
    """

    dir: Path
    manifest: Manifest
    _cache: dict[tuple[str, tuple[str, ...] | None], pl.DataFrame] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def id(self) -> str:
        """Return the snapshot id; it sorts by time."""
        return self.manifest.id

    @property
    def label(self) -> str | None:
        """Return the label the snapshot was built under."""
        return self.manifest.label

    @property
    def search_dir(self) -> Path:
        """Return the directory that the query side maps (vector mirror, BM25)."""
        return self.dir / SEARCH

    def table(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return table ``name`` (or some of its ``columns``), kept in memory for the next call.

        Raises BadInputError for an unknown table or column, CorruptSnapshotError when the file is
        missing or unreadable.
        """
        key = (name, None if columns is None else tuple(columns))
        if key not in self._cache:
            self._cache[key] = self.read(name, columns)
        return self._cache[key]

    def read(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return table ``name`` like `table`, without keeping it.

        A table the manifest does not list (a candidate before its last stages) is empty.
        """
        _check_columns(name, columns)
        entry = self.manifest.tables.get(name)
        if entry is None:
            frame = pl.DataFrame(empty(name))
            return frame if columns is None else frame.select(columns)
        path = self.dir / entry.file
        try:
            return read_parquet(path, columns)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise CorruptSnapshotError(
                f"Table {name} of snapshot {self.id} cannot be read from {path}: {error}.",
                "Restore the file from a copy, or make another snapshot the published one.",
            ) from error

    @cached_property
    def _lance(self) -> Any:
        if self.manifest.vectors is None:
            raise CorruptSnapshotError(
                f"Snapshot {self.id} has no vectors.", "Run the sync again to build them."
            )
        import lancedb

        return lancedb.connect(str(self.dir)).open_table(Path(VECTORS).stem)

    def lance(self) -> Any:
        """Return the opened LanceDB table of the vectors (schema: `schemas.vector_schema`)."""
        return self._lance


class SiteStore:
    """The snapshots of one site below a data root."""

    def __init__(self, root: Path, site: str) -> None:
        if not SITE_NAME.fullmatch(site):
            raise BadInputError(
                f"'{site}' is not a site name.", "Use lower-case letters, digits, '-' and '_'."
            )
        self.paths = SitePaths(Path(root), site)

    def latest(self) -> Snapshot:
        """Return the published snapshot.

        Raises NoSnapshotError when nothing has been published, CorruptSnapshotError when
        LATEST.json is missing beside snapshots, unreadable, or names a snapshot that is not there.
        """
        pointer = latest_id(self.paths)
        if pointer is None:
            if not published_ids(self.paths):
                raise NoSnapshotError(
                    f"Site '{self.paths.site}' has no snapshot below {self.paths.root}.",
                    f"Run `sitequest sync {self.paths.site}` first.",
                )
            # The first publication may have ended between the two looks: look again.
            pointer = latest_id(self.paths)
        if pointer is None:
            raise CorruptSnapshotError(
                f"{self.paths.latest} is missing though there are snapshots.",
                _pointer_remedy(self.paths),
            )
        directory = self.paths.snapshots / pointer
        if not directory.is_dir():
            raise CorruptSnapshotError(
                f"{self.paths.latest} names snapshot {pointer}, which is not in "
                f"{self.paths.snapshots}.",
                _pointer_remedy(self.paths),
            )
        return open_dir(directory)

    def open(self, snapshot_id: str) -> Snapshot:
        """Return the published or held snapshot with exactly this id.

        Raises NoSnapshotError, naming what exists.
        """
        if snapshot_id in published_ids(self.paths):
            return open_dir(self.paths.snapshots / snapshot_id)
        if snapshot_id in held_ids(self.paths):
            return open_dir(self.paths.held / snapshot_id)
        raise NoSnapshotError(
            f"Site '{self.paths.site}' has no snapshot '{snapshot_id}'.", self._existing()
        )

    def list(self) -> builtins.list[Manifest]:
        """Return the manifests of the published snapshots, oldest first."""
        return [open_dir(self.paths.snapshots / i).manifest for i in published_ids(self.paths)]

    def resolve(self, ref: str | None) -> Snapshot:
        """Return the snapshot that ``ref`` names.

        None is the published one. Otherwise, in this order: an id; a label (the newest snapshot
        with it); a prefix of exactly one id; an ISO date or date-time (UTC unless it says
        otherwise): the newest published snapshot created up to the end of that day or second. Ids
        and prefixes find held snapshots too.

        Raises NoSnapshotError when nothing fits, BadInputError for an empty or ambiguous one.
        """
        if ref is None:
            return self.latest()
        ref = ref.strip()
        if not ref:
            raise BadInputError("The snapshot reference is empty.", self._existing())
        ids = published_ids(self.paths) + held_ids(self.paths)
        if ref in ids:
            return self.open(ref)
        manifests = self.list()
        labelled = [m.id for m in manifests if m.label == ref]
        if labelled:
            return self.open(labelled[-1])
        prefixed = [i for i in ids if i.startswith(ref)]
        if len(prefixed) == 1:
            return self.open(prefixed[0])
        end = _end_of(ref)
        if end is not None:
            return self._as_of(ref, end, manifests)
        if prefixed:
            raise BadInputError(
                f"'{ref}' is the beginning of {len(prefixed)} snapshot ids.",
                f"Say more of it: {_some(sorted(prefixed))}.",
            )
        raise NoSnapshotError(
            f"'{ref}' is no snapshot id, label, date or date-time of site '{self.paths.site}'.",
            self._existing(),
        )

    def _as_of(self, ref: str, end: datetime, manifests: Sequence[Manifest]) -> Snapshot:
        before = [m.id for m in manifests if m.created <= end]
        if before:
            return self.open(before[-1])
        raise NoSnapshotError(
            f"Site '{self.paths.site}' has no snapshot as old as {ref}.", self._existing()
        )

    def _existing(self) -> str:
        published = published_ids(self.paths)
        if not published:
            return f"It has none yet: run `sitequest sync {self.paths.site}`."
        return f"There are: {_some(published)}."


def open_dir(path: Path) -> Snapshot:
    """Open any snapshot directory.

    Raises CorruptSnapshotError naming the manifest when it is missing, unreadable or of another
    version.
    """
    file = Path(path) / MANIFEST
    remedy = (
        "Restore the file from a copy, or name another snapshot (`sitequest snapshots` lists them)."
    )
    try:
        raw = json.loads(file.read_bytes())
        version = raw.get("version") if isinstance(raw, dict) else None
        if version != MANIFEST_VERSION:
            raise CorruptSnapshotError(
                f"{file} has manifest version {version}; this program reads {MANIFEST_VERSION}.",
                remedy,
            )
        return Snapshot(Path(path), Manifest.model_validate(raw))
    except OSError as error:
        raise CorruptSnapshotError(f"{file} cannot be read: {error.strerror}.", remedy) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CorruptSnapshotError(
            f"{file} is corrupt: {where}: {first['msg']}.", remedy
        ) from error
    except ValueError as error:
        raise CorruptSnapshotError(f"{file} is corrupt: {error}.", remedy) from error


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read one Parquet file; brackets and equal signs in the path mean themselves."""
    wanted = None if columns is None else list(columns)
    return pl.read_parquet(path, columns=wanted, glob=False, hive_partitioning=False)


def read_arrow(path: Path, columns: Sequence[str] | None = None, filters: Any = None) -> pa.Table:
    """Read one Parquet file as arrow, memory-mapped; ``filters`` as pyarrow takes them.

    For the query side, which needs no polars frame. Raises CorruptSnapshotError.
    """
    try:
        return pq.read_table(path, columns=columns, filters=filters, memory_map=True)
    except (pa.ArrowException, OSError) as error:
        raise CorruptSnapshotError(
            f"{path} cannot be read: {' '.join(str(error).split())[:200]}",
            "Sync again, or ask another snapshot (--as-of).",
        ) from error


def sites(root: Path) -> list[str]:
    """Return the names of the sites that have a store below ``root``, sorted."""
    if not Path(root).is_dir():
        return []
    return sorted(
        entry.name
        for entry in Path(root).iterdir()
        if SITE_NAME.fullmatch(entry.name) and (entry / "snapshots").is_dir()
    )


def latest_id(paths: SitePaths) -> str | None:
    """Return the id LATEST.json names, or None without such a file.

    Raises CorruptSnapshotError when the file does not hold an id.
    """
    try:
        value = json.loads(paths.latest.read_bytes())["snapshot"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptSnapshotError(
            f"{paths.latest} cannot be read: {error!r}.", _pointer_remedy(paths)
        ) from error
    if not isinstance(value, str) or not value or Path(value).name != value:
        raise CorruptSnapshotError(
            f"{paths.latest} does not name a snapshot: {value!r}.", _pointer_remedy(paths)
        )
    return value


def published_ids(paths: SitePaths) -> list[str]:
    """Return the ids of the published snapshots, oldest first.

    A directory that still carries its candidate mark was on its way when its writer died: it is
    not published unless LATEST names it.
    """
    return [
        name
        for name in directories(paths.snapshots)
        if not (paths.snapshots / name / CANDIDATE).exists() or name == latest_id(paths)
    ]


def held_ids(paths: SitePaths) -> list[str]:
    """Return the ids of the held candidates, oldest first."""
    return directories(paths.held)


def verify(snapshot: Snapshot) -> list[str]:
    """Compare every table file with the manifest; return one line per defect, none when whole."""
    defects = []
    for name, entry in sorted(snapshot.manifest.tables.items()):
        path = snapshot.dir / entry.file
        try:
            with path.open("rb") as handle:
                found = file_digest(handle, "sha256").hexdigest()
        except OSError as error:
            defects.append(f"{name}: {path} cannot be read: {error.strerror}")
            continue
        if found != entry.sha256:
            defects.append(f"{name}: {path} has sha256 {found}, the manifest says {entry.sha256}")
    vectors = snapshot.manifest.vectors
    if vectors is not None and not (snapshot.dir / vectors.dir).is_dir():
        defects.append(f"vectors: {snapshot.dir / vectors.dir} is missing")
    return defects


def _check_columns(name: str, columns: Sequence[str] | None) -> None:
    if name not in TABLES:
        raise BadInputError(f"There is no table '{name}'.", f"Tables: {', '.join(TABLES)}.")
    known = TABLES[name].schema.names
    unknown = [column for column in columns or () if column not in known]
    if unknown:
        raise BadInputError(
            f"Table {name} has no column {', '.join(unknown)}.", f"Columns: {', '.join(known)}."
        )


def directories(path: Path) -> list[str]:
    """Return the names of the directories in ``path``, sorted; hidden ones are left out."""
    if not path.is_dir():
        return []
    return sorted(e.name for e in path.iterdir() if e.is_dir() and not e.name.startswith("."))


def _end_of(ref: str) -> datetime | None:
    """Return the last microsecond of the day or second that ``ref`` names; None if it is none."""
    try:
        return datetime.combine(date.fromisoformat(ref), time.max, tzinfo=UTC)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(ref)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.replace(microsecond=999_999)


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[-_SHOWN:])
    return shown if len(ids) <= _SHOWN else f"{shown} (the newest {_SHOWN} of {len(ids)})"


def _pointer_remedy(paths: SitePaths) -> str:
    known = directories(paths.snapshots)
    if not known:
        return f"Remove the file and run `sitequest sync {paths.site}`."
    return f'Write {{"snapshot": "ID"}} into it with the id of a kept snapshot: {_some(known)}.'
