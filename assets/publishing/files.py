"""Durable files: fsync, atomic replacement, hard links with a copy where links are impossible."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path
from typing import Any

from retrieval.errors import SitequestError

# A file system without hard links, or two file systems, or too many links to one file.
_NO_LINKS = {errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}

_REMEDIES = {
    errno.ENOSPC: "Free space on that disk, or move the data root to a larger one.",
    errno.EDQUOT: "Raise the disk quota, or move the data root.",
    errno.EFBIG: "Raise the limit on file size (ulimit -f).",
    errno.EROFS: "Make the file system writable, or choose another data root.",
    errno.EACCES: "Give this user the right to write there, or choose another data root.",
    errno.EPERM: "Give this user the right to write there, or choose another data root.",
}


class StorageError(SitequestError):
    """The disk did not take what was written; the published snapshot is as it was."""


@contextmanager
def storage(path: Path) -> Iterator[None]:
    """Turn an OSError of the body into a StorageError that names ``path`` and the remedy."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        code = error.errno or 0
        why = os.strerror(code) if code else str(error)
        raise StorageError(
            f"Cannot write {where}: {why}. The published snapshot is unchanged.",
            _REMEDIES.get(code, "Check the disk and the data root (`sitequest doctor`)."),
        ) from error


def fsync_file(path: Path) -> None:
    """Force the content of a file to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_dir(path: Path) -> None:
    """Force the entries of a directory to the disk: only then is a rename in it durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_tree(path: Path) -> None:
    """Force every file and directory below and including ``path`` to the disk."""
    for directory, _, files in os.walk(path, topdown=False):
        for name in files:
            fsync_file(Path(directory, name))
        fsync_dir(Path(directory))


def write_json(path: Path, value: dict[str, Any], *, durable: bool = True) -> None:
    """Write ``value`` as JSON so that a reader sees the old file or the new.

    ``durable``: also after a power failure. In staging that is not needed: publishing forces the
    whole directory to the disk.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as handle:
            json.dump(value, handle, indent=1, sort_keys=True, ensure_ascii=False)
            handle.write("\n")
            if durable:
                handle.flush()
                os.fsync(handle.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        fsync_dir(path.parent)


def link_or_copy(source: Path, target: Path) -> bool:
    """Make ``target`` a hard link to ``source``, or a copy where links are impossible.

    Returns whether it is a link. An existing target is replaced.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
        linked = True
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copyfile(source, temporary)
        linked = False
    os.replace(temporary, target)
    # rename() of two links to one file does nothing and leaves both names.
    temporary.unlink(missing_ok=True)
    return linked


def link_tree(source: Path, target: Path) -> int:
    """Recreate the directory ``source`` as ``target`` with every file linked (or copied).

    Returns the number of files. Directories are new, so that files may be added and removed in
    the target without touching the source; files themselves must never be written in place.
    """
    count = 0
    for directory, _, files in os.walk(source):
        there = target / Path(directory).relative_to(source)
        there.mkdir(parents=True, exist_ok=True)
        for name in files:
            link_or_copy(Path(directory, name), there / name)
            count += 1
    return count


def sha256_file(path: Path) -> str:
    """Return the sha256 of a file (hex)."""
    with path.open("rb") as handle:
        return file_digest(handle, "sha256").hexdigest()
