"""A candidate: the next snapshot while it is built in staging, table by table."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import polars as pl
import pyarrow as pa

from assets.publishing import vectors
from assets.publishing.files import (
    link_or_copy,
    sha256_file,
    storage,
    write_json,
)
from assets.publishing.lock import writer_lock
from assets.publishing.processes import ProcessMark
from assets.publishing.sweep import sweep
from assets.publishing.tables import prepare, write_parquet
from retrieval.errors import BadInputError, NoSnapshotError
from retrieval.snapshot import reader
from retrieval.snapshot.diff import diff, diff_table, summary
from retrieval.snapshot.hashing import content_hashes
from retrieval.snapshot.ids import digest
from retrieval.snapshot.layout import BUILD, CANDIDATE, MANIFEST, SitePaths
from retrieval.snapshot.manifest import CheckResult, Manifest, ModelEntry, TableEntry
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.schemas import TABLES, SchemaError, empty

_ID_TIME = "%Y%m%dT%H%M%SZ"
_TAG_CHARACTERS = 6


@dataclass(frozen=True)
class Written:
    """What `Candidate.write` did.

    ``data_version`` hashes the content without history columns; ``unchanged`` says that the file is
    the parent's (all columns equal); ``added``, ``changed`` and ``removed`` count rows against the
    parent, history columns left out (all rows are added when there is no parent).
    """

    rows: int
    data_version: str
    unchanged: bool
    added: int
    changed: int
    removed: int


@dataclass(frozen=True)
class Candidate:
    """The next snapshot of a site, in staging until it is published or held."""

    id: str
    dir: Path
    paths: SitePaths
    parent: Snapshot | None
    run_id: str
    label: str | None
    created: datetime

    @classmethod
    def begin(
        cls,
        paths: SitePaths,
        *,
        run_id: str,
        label: str | None = None,
        now: datetime | None = None,
        owner_pid: int | None = None,
    ) -> Self:
        """Create ``staging/<id>`` on top of the published snapshot; dead stagings are swept first.

        ``now`` (UTC) defaults to the clock; the id is later than every id the site has, also when
        the clock went backwards. The candidate lives as long as process ``owner_pid`` (default:
        this one): name the process whose life is the run's when steps are processes of their own.
        Raises BusyError, StorageError, CorruptSnapshotError (unreadable parent), BadInputError.
        """
        store = reader.SiteStore(paths.root, paths.site)
        if label is not None and not label.strip():
            raise BadInputError("The label is empty.", "Give a name, or leave the label out.")
        with writer_lock(paths, run_id), storage(paths.staging):
            paths.staging.mkdir(parents=True, exist_ok=True)
            sweep(paths)
            parent = _parent(store)
            identity, created = _new_id(paths, run_id, now or datetime.now(UTC))
            directory = paths.staging / identity
            directory.mkdir()
            (directory / BUILD).mkdir()
            note = {
                "id": identity,
                "run_id": run_id,
                "label": label,
                "parent": None if parent is None else parent.id,
                "created": created.isoformat(),
                "owners": [ProcessMark.of(owner_pid).model_dump()],
            }
            write_json(directory / CANDIDATE, note, durable=False)
        return cls(identity, directory, paths, parent, run_id, label, created)

    @classmethod
    def find(cls, paths: SitePaths, run_id: str) -> Self:
        """Return the candidate of run ``run_id``, begun by an earlier step.

        The calling process becomes one of its owners. Raises NoSnapshotError when the run has none.
        """
        for note_file in sorted(paths.staging.glob(f"*/{CANDIDATE}"), reverse=True):
            note = json.loads(note_file.read_bytes())
            if note["run_id"] == run_id:
                break
        else:
            raise NoSnapshotError(
                f"Run {run_id} has no candidate in {paths.staging}.", "Start the sync anew."
            )
        mine = ProcessMark.of().model_dump()
        if mine not in note["owners"]:
            with storage(note_file):
                owners = [*note["owners"], mine]
                write_json(note_file, {**note, "owners": owners}, durable=False)
        store = reader.SiteStore(paths.root, paths.site)
        return cls(
            id=note["id"],
            dir=note_file.parent,
            paths=paths,
            parent=None if note["parent"] is None else store.open(note["parent"]),
            run_id=run_id,
            label=note["label"],
            created=datetime.fromisoformat(note["created"]),
        )

    def write(self, name: str, table: pa.Table, *, code_version: str) -> Written:
        """Write table ``name``: schema enforced, sorted by key, the key unique.

        When every column equals the parent's table, the file becomes a hard link to the parent's
        (a copy where links are impossible); otherwise it is written anew, and the same rows give
        the same bytes. Raises SchemaError and StorageError.
        """
        prepared = prepare(name, table)
        data_version, content = content_hashes(name, prepared)
        path = self.paths.table_file(self.dir, name)
        old = None if self.parent is None else self.parent.manifest.tables.get(name)
        with storage(path):
            unchanged = self._link(name, old, content, path)
            if not unchanged:
                write_parquet(path, prepared)
            entry = TableEntry(
                file=path.name,
                rows=prepared.num_rows,
                sha256=sha256_file(path),
                data_version=data_version,
                content_hash=content,
                code_version=code_version,
                schema_fingerprint=TABLES[name].fingerprint,
            )
            write_json(self.dir / BUILD / f"{name}.json", entry.model_dump(), durable=False)
        if (self.dir / MANIFEST).exists():
            self._save(open_manifest(self.dir).model_copy(update={"tables": self.entries()}))
        counts = self._counts(name, prepared, old, data_version)
        return Written(prepared.num_rows, data_version, unchanged, **counts)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return table ``name``, or some of its ``columns``, as written by this run.

        Raises NoSnapshotError when no step has written it yet.
        """
        path = self.paths.table_file(self.dir, name)
        if not path.exists():
            raise NoSnapshotError(
                f"Candidate {self.id} has no table {name} yet.", "Run the step that makes it first."
            )
        return reader.read_parquet(path, columns)

    def parent_table(self, name: str, code_version: str | None = None) -> pl.DataFrame | None:
        """Return the parent's table ``name``, from which rows of unchanged input may be taken.

        None without a parent, without that table, or, when ``code_version`` is given, when the
        parent's was made by other code or under another schema. Raises SchemaError when the schema
        differs and ``code_version`` is None: the caller wants the history, and it cannot be read.
        """
        if self.parent is None or name not in self.parent.manifest.tables:
            return None
        entry = self.parent.manifest.tables[name]
        same_schema = entry.schema_fingerprint == TABLES[name].fingerprint
        if code_version is not None and (entry.code_version != code_version or not same_schema):
            return None
        if not same_schema:
            raise SchemaError(
                f"Table {name} of snapshot {self.parent.id} has another schema than this program.",
                "Sync with the version that wrote it, or begin a new data root.",
            )
        return self.parent.read(name)

    def seed_vectors(self) -> Path | None:
        """Link the parent's vectors into the candidate; return their directory, None without."""
        return None if self.parent is None else vectors.seed(self.parent.dir, self.dir)

    def write_changes(self, *, code_version: str) -> Written:
        """Write table ``changes``: what differs from the parent; empty without a parent.

        Call it after `write_manifest`.
        """
        if self.parent is None:
            return self.write("changes", empty("changes"), code_version=code_version)
        changes = diff(self.parent, self.snapshot())
        return self.write("changes", changes.to_arrow(), code_version=code_version)

    def write_manifest(
        self,
        *,
        config_fingerprint: str,
        models: list[ModelEntry],
        stats: dict[str, Any],
        git_sha: str | None = None,
    ) -> Manifest:
        """Write the manifest over the tables and vectors there are, so that checks can open it.

        ``git_sha`` is the commit of the code, where it runs from a checkout.
        Tables written later (metrics, changes) enter it by themselves. Raises StorageError.
        """
        manifest = Manifest(
            id=self.id,
            site=self.paths.site,
            parent=None if self.parent is None else self.parent.id,
            created=self.created,
            label=self.label,
            run_id=self.run_id,
            git_sha=git_sha,
            config_fingerprint=config_fingerprint,
            tables=self.entries(),
            vectors=vectors.describe(self.dir, models),
            models=models,
            stats=stats,
        )
        self._save(manifest)
        return manifest

    def record_checks(self, results: list[CheckResult]) -> None:
        """Put the results of the checks into the manifest, in place of earlier ones."""
        self._save(open_manifest(self.dir).model_copy(update={"checks": results}))

    def snapshot(self) -> Snapshot:
        """Open the candidate like any snapshot; `write_manifest` comes first."""
        return reader.open_dir(self.dir)

    def drop(self) -> None:
        """Remove the candidate: its run has failed and nothing of it is wanted."""
        shutil.rmtree(self.dir, ignore_errors=True)

    def _link(self, name: str, old: TableEntry | None, content: str, path: Path) -> bool:
        """Link the parent's file when it holds this content; a damaged one is not passed on."""
        if self.parent is None or old is None or old.content_hash != content:
            return False
        source = self.paths.table_file(self.parent.dir, name)
        if not source.exists() or sha256_file(source) != old.sha256:
            return False
        link_or_copy(source, path)
        return True

    def entries(self) -> dict[str, TableEntry]:
        """Return the manifest's entries of the tables written so far."""
        return {
            name: TableEntry.model_validate_json(file.read_bytes())
            for name in TABLES
            if (file := self.dir / BUILD / f"{name}.json").exists()
        }

    def _save(self, manifest: Manifest) -> None:
        with storage(self.dir / MANIFEST):
            write_json(self.dir / MANIFEST, manifest.model_dump(mode="json"), durable=False)

    def _counts(
        self, name: str, table: pa.Table, old: TableEntry | None, data_version: str
    ) -> dict[str, int]:
        none = {"added": 0, "changed": 0, "removed": 0}
        if self.parent is None or old is None:
            return {**none, "added": table.num_rows}
        if old.data_version == data_version:
            return none
        changes = diff_table(name, self.parent.read(name), pl.DataFrame(table))
        return summary(changes).get(name, none)


def open_manifest(directory: Path) -> Manifest:
    """Return the manifest of a snapshot directory (errors as in `reader.open_dir`)."""
    return reader.open_dir(directory).manifest


def _parent(store: reader.SiteStore) -> Snapshot | None:
    try:
        return store.latest()
    except NoSnapshotError:
        return None


def _new_id(paths: SitePaths, run_id: str, now: datetime) -> tuple[str, datetime]:
    """Return an id later than every id of the site, and the time the snapshot is created at."""
    if now.tzinfo is None:
        raise BadInputError("The time of a snapshot needs a time zone.", "Pass it in UTC.")
    moment = now.astimezone(UTC)
    for directory in (paths.snapshots, paths.held, paths.staging):
        for name in reader.directories(directory):
            known = _time_of(name)
            if known is not None and known >= moment.replace(microsecond=0):
                moment = known + timedelta(seconds=1)
    tag = digest("snapshot", paths.site, run_id, moment.isoformat())[:_TAG_CHARACTERS]
    return f"{moment.strftime(_ID_TIME)}-{tag}", moment


def _time_of(name: str) -> datetime | None:
    try:
        return datetime.strptime(name.partition("-")[0], _ID_TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
