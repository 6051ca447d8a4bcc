"""Clearing up after writers that died: their stagings, and publications cut off halfway."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from assets.publishing.files import fsync_dir, write_json
from assets.publishing.lock import writer_lock
from assets.publishing.processes import ProcessMark
from retrieval.errors import BusyError
from retrieval.snapshot.layout import CANDIDATE, MANIFEST, SitePaths
from retrieval.snapshot.manifest import Verdict
from retrieval.snapshot.reader import directories, latest_id, open_dir

INTERRUPTED = "its publication was interrupted"


def sweep(paths: SitePaths) -> list[str]:
    """Remove the stagings of dead runs; return their ids. A live one is never touched.

    A candidate whose publication was cut off between leaving staging and LATEST was complete: it is
    moved to held/, where a person may approve it. One that LATEST names loses its mark only.
    """
    swept = []
    for name in directories(paths.staging):
        directory = paths.staging / name
        if _dead(paths, directory):
            shutil.rmtree(directory)
            swept.append(name)
    for name in directories(paths.snapshots):
        directory = paths.snapshots / name
        if not (directory / CANDIDATE).exists() or not _dead(paths, directory):
            continue
        if name == latest_id(paths):
            unmark(directory)
        else:
            _retreat(paths, name)
            swept.append(name)
    for name in directories(paths.held):
        directory = paths.held / name
        if (directory / CANDIDATE).exists() and _dead(paths, directory):
            _settle_held(directory)
    return swept


def unmark(directory: Path) -> None:
    """Remove the candidate mark: the directory is finished."""
    (directory / CANDIDATE).unlink(missing_ok=True)
    fsync_dir(directory)


def _dead(paths: SitePaths, directory: Path) -> bool:
    try:
        note = json.loads((directory / CANDIDATE).read_bytes())
        owners = [ProcessMark.model_validate(owner) for owner in note["owners"]]
    except (OSError, ValueError, KeyError, TypeError, ValidationError):
        # No readable note: it is being begun or discarded under the lock, or its writer died there.
        return _nobody_writes(paths)
    return not any(owner.alive() for owner in owners)


def _nobody_writes(paths: SitePaths) -> bool:
    try:
        with writer_lock(paths, f"sweep by process {os.getpid()}"):
            return True
    except BusyError:
        return False


def _retreat(paths: SitePaths, name: str) -> None:
    paths.held.mkdir(exist_ok=True)
    os.rename(paths.snapshots / name, paths.held / name)
    fsync_dir(paths.held)
    fsync_dir(paths.snapshots)
    _settle_held(paths.held / name)


def _settle_held(directory: Path) -> None:
    """Make sure that a held candidate's manifest says so, then remove its mark."""
    manifest = open_dir(directory).manifest
    if manifest.verdict is None or manifest.verdict.status != "held":
        verdict = Verdict(status="held", reason=INTERRUPTED, decided=datetime.now(UTC))
        held = manifest.model_copy(update={"verdict": verdict})
        write_json(directory / MANIFEST, held.model_dump(mode="json"))
    unmark(directory)
