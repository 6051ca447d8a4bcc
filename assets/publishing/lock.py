"""One writer per site: an flock that the kernel drops when its holder dies."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from assets.publishing.files import storage
from assets.publishing.processes import ProcessMark
from retrieval.errors import BusyError
from retrieval.snapshot.layout import SitePaths


@dataclass
class _Held:
    owner: str
    thread: int
    depth: int


# By process as well: a forked child inherits the dictionary, not the right.
_held: dict[tuple[int, Path], _Held] = {}
_guard = threading.Lock()


@contextmanager
def writer_lock(paths: SitePaths, owner: str) -> Iterator[None]:
    """Hold the right to write below the site's directory; ``owner`` says who, usually the run id.

    The lock belongs to a run: it may be entered again by the thread that holds it and by any
    thread or process with the same ``owner`` while the holder lives (steps of one run). Raises
    BusyError, naming process, owner and time, when another holds it; StorageError when the lock
    file cannot be written.
    """
    if _enter_again(paths.lock, owner):
        try:
            yield
        finally:
            _leave(paths.lock)
        return
    with storage(paths.lock):
        paths.home.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if not _take(descriptor, paths, owner):
            yield
            return
        with _guard:
            _held[_key(paths.lock)] = _Held(owner, threading.get_ident(), 1)
        try:
            yield
        finally:
            _leave(paths.lock)
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _enter_again(lock: Path, owner: str) -> bool:
    with _guard:
        held = _held.get(_key(lock))
        if held is None or (held.owner != owner and held.thread != threading.get_ident()):
            return False
        held.depth += 1
        return True


def _leave(lock: Path) -> None:
    with _guard:
        held = _held[_key(lock)]
        held.depth -= 1
        if held.depth == 0:
            del _held[_key(lock)]


def _key(lock: Path) -> tuple[int, Path]:
    return os.getpid(), lock.absolute()


def _take(descriptor: int, paths: SitePaths, owner: str) -> bool:
    """Lock the file and sign it; False when another process of the same run has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        note = _note(descriptor)
        if note.get("owner") == owner and _of_living_process(note):
            return False
        raise _busy(paths, note) from error
    with storage(paths.lock):
        _sign(descriptor, owner)
    return True


def _sign(descriptor: int, owner: str) -> None:
    note = {
        "owner": owner,
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        **ProcessMark.of().model_dump(),
    }
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(note).encode(), 0)


def _note(descriptor: int) -> dict[str, object]:
    """Read who holds the lock; empty when the holder has not signed yet."""
    try:
        note = json.loads(os.pread(descriptor, 4096, 0))
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}


def _of_living_process(note: dict[str, object]) -> bool:
    try:
        mark = ProcessMark.model_validate({k: note.get(k) for k in ProcessMark.model_fields})
    except ValidationError:
        return False
    return mark.alive()


def _busy(paths: SitePaths, note: dict[str, object]) -> BusyError:
    who = "another process"
    if note:
        who = f"process {note.get('pid')} ({note.get('owner')}, since {note.get('since')})"
    return BusyError(
        f"Site '{paths.site}' is being written by {who}.",
        "Wait until it is done, or stop it; the lock goes with its process.",
    )
