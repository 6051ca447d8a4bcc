"""Publishing: the only code that moves LATEST.

The order is what makes a crash harmless: manifest last, everything forced to the disk, the
directory renamed, then LATEST replaced. Whatever happens, LATEST names a whole snapshot.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from assets.publishing.candidate import Candidate, open_manifest
from assets.publishing.files import fsync_dir, fsync_tree, storage, write_json
from assets.publishing.lock import writer_lock
from assets.publishing.processes import ProcessMark
from assets.publishing.sweep import sweep, unmark
from retrieval.errors import HeldError, SitequestError
from retrieval.snapshot.layout import BUILD, CANDIDATE, MANIFEST, SitePaths
from retrieval.snapshot.manifest import Manifest, Verdict
from retrieval.snapshot.reader import SiteStore, Snapshot, held_ids, latest_id, open_dir
from retrieval.snapshot.schemas import TABLES

# Called with the name of each step before it is taken: tests stop a publisher at every one.
OnStep = Callable[[str], None]
STEPS = ("manifest", "sync", "move", "latest", "unmark")


def _silent(step: str) -> None:
    return None


def publish(
    candidate: Candidate, *, reason: str = "checks passed", on_step: OnStep = _silent
) -> Snapshot:
    """Make ``candidate`` the published snapshot and return it.

    Raises HeldError when an error check failed (call `hold`), SitequestError when a table is
    missing or LATEST moved since the candidate was begun, BusyError, StorageError. Until LATEST is
    replaced, each leaves the published snapshot as it was.
    """
    paths = candidate.paths
    with writer_lock(paths, candidate.run_id), storage(candidate.dir):
        _may_publish(candidate)
        on_step("manifest")
        _finish(candidate, Verdict(status="published", reason=reason, decided=datetime.now(UTC)))
        on_step("sync")
        fsync_tree(candidate.dir)
        on_step("move")
        with _back_unless_latest(paths, candidate.dir):
            _move(candidate.dir, paths.snapshots / candidate.id)
            snapshot = _make_latest(paths, candidate.id, candidate.run_id, on_step)
    return snapshot


def hold(candidate: Candidate, reason: str, *, on_step: OnStep = _silent) -> Path:
    """Keep ``candidate`` back in held/ with ``reason`` in its manifest; return its directory.

    LATEST does not move. Raises BusyError, StorageError.
    """
    paths = candidate.paths
    target = paths.held / candidate.id
    with writer_lock(paths, candidate.run_id), storage(candidate.dir):
        on_step("manifest")
        _finish(candidate, Verdict(status="held", reason=reason, decided=datetime.now(UTC)))
        on_step("sync")
        fsync_tree(candidate.dir)
        on_step("move")
        _move(candidate.dir, target)
        on_step("unmark")
        unmark(target)
    return target


def republish(paths: SitePaths, snapshot_id: str, *, on_step: OnStep = _silent) -> Snapshot:
    """Make a kept snapshot the published one again (rollback), or promote a held one (approve).

    Raises NoSnapshotError when there is no such snapshot, CorruptSnapshotError when its manifest is
    unreadable, BusyError, StorageError.
    """
    owner = f"republish {snapshot_id}"
    with writer_lock(paths, owner), storage(paths.home):
        # What an interrupted publication left is settled first: it may be the one meant.
        sweep(paths)
        held = paths.held / snapshot_id
        if snapshot_id not in held_ids(paths):
            SiteStore(paths.root, paths.site).open(snapshot_id)
            return _make_latest(paths, snapshot_id, owner, on_step)
        _approve(held, on_step)
        on_step("move")
        with _back_unless_latest(paths, held):
            _move(held, paths.snapshots / snapshot_id)
            snapshot = _make_latest(paths, snapshot_id, owner, on_step)
    return snapshot


def _may_publish(candidate: Candidate) -> None:
    if not (candidate.dir / MANIFEST).exists():
        raise SitequestError(
            f"Candidate {candidate.id} has no manifest.", "Write the manifest before publishing."
        )
    manifest = open_manifest(candidate.dir)
    missing = [name for name in TABLES if name not in manifest.tables]
    if missing:
        raise SitequestError(
            f"Candidate {candidate.id} lacks {', '.join(missing)}.", "Run the steps that make them."
        )
    failed = [c.name for c in manifest.checks if not c.passed and c.severity == "error"]
    if failed:
        raise HeldError(
            f"Candidate {candidate.id} failed {len(failed)} checks: {', '.join(failed[:5])}.",
            "Look at the report; approve the held candidate or mend the cause and sync again.",
        )
    parent = None if candidate.parent is None else candidate.parent.id
    now = latest_id(candidate.paths)
    if now != parent:
        raise SitequestError(
            f"The published snapshot moved from {parent} to {now} while {candidate.id} was built.",
            "Run the sync again: it starts from the snapshot published now.",
        )


def _finish(candidate: Candidate, verdict: Verdict) -> None:
    """Complete the manifest and remove the build notes, which no snapshot has."""
    manifest = open_manifest(candidate.dir)
    _write_verdict(candidate.dir, manifest, verdict)
    shutil.rmtree(candidate.dir / BUILD, ignore_errors=True)


def _approve(held: Path, on_step: OnStep) -> None:
    """Turn a held directory into one that is on its way: marked, its verdict changed, durable."""
    manifest = open_dir(held).manifest
    before = "" if manifest.verdict is None else manifest.verdict.reason
    on_step("manifest")
    write_json(held / CANDIDATE, {"owners": [ProcessMark.of().model_dump()]}, durable=False)
    verdict = Verdict(
        status="published", reason=f"approved, held for: {before}", decided=datetime.now(UTC)
    )
    _write_verdict(held, manifest, verdict)
    on_step("sync")
    fsync_tree(held)


def _write_verdict(directory: Path, manifest: Manifest, verdict: Verdict) -> None:
    decided = manifest.model_copy(update={"verdict": verdict})
    write_json(directory / MANIFEST, decided.model_dump(mode="json"), durable=False)


def _move(source: Path, target: Path) -> None:
    """Rename a directory durably; both parents are forced to the disk."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fsync_dir(target.parent.parent)
    os.rename(source, target)
    fsync_dir(target.parent)
    fsync_dir(source.parent)


@contextmanager
def _back_unless_latest(paths: SitePaths, origin: Path) -> Iterator[None]:
    """Move the directory back to ``origin`` when the body fails before LATEST names it.

    The error is what the caller must see: should the way back fail too, `sweep` does it later.
    """
    try:
        yield
    except BaseException:
        with suppress(OSError, SitequestError):
            if latest_id(paths) != origin.name and not origin.exists():
                os.rename(paths.snapshots / origin.name, origin)
        raise


def _make_latest(paths: SitePaths, snapshot_id: str, owner: str, on_step: OnStep) -> Snapshot:
    """Replace LATEST.json, the one thing that moves, then remove the candidate mark."""
    on_step("latest")
    pointer = {
        "snapshot": snapshot_id,
        "previous": latest_id(paths),
        "moved": datetime.now(UTC).isoformat(timespec="seconds"),
        "by": owner,
    }
    write_json(paths.latest, pointer)
    on_step("unmark")
    unmark(paths.snapshots / snapshot_id)
    return open_dir(paths.snapshots / snapshot_id)
