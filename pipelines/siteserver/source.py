"""What a site is to the server: versions, and a resource or redirect for each request target."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

# The system's own MIME tables differ from machine to machine; the packaged one does not.
_TYPES = mimetypes.MimeTypes()


@dataclass(frozen=True)
class Resource:
    """A body with its Content-Type header value and its last change (aware, UTC)."""

    body: bytes
    content_type: str
    last_modified: datetime


@dataclass(frozen=True)
class Redirect:
    """A redirect: the Location header value as it is sent, and the status (301, 302, 307, 308)."""

    location: str
    status: int


class SiteSource(Protocol):
    """A site in one or more versions."""

    @property
    def versions(self) -> tuple[str, ...]:
        """Return the names of the versions, oldest first."""
        ...

    def lookup(self, version: str, target: str) -> Resource | Redirect | None:
        """Return what stands at ``target`` in ``version``; None is a 404.

        ``target`` is the request target in origin form as it was sent: it starts with ``/``, is
        percent-encoded, and carries ``?query`` when there is one. Called from the server's thread.
        """
        ...


class DirectorySource:
    """Unpacked sites on disk, one directory per version, served as a static host would.

    Order for a path: the file itself; ``path.html`` for a path without extension and trailing
    slash; a redirect to ``path/`` for a directory; ``index.html`` for a path with a trailing
    slash. The query is ignored. A path that leaves the root, by ``..`` or by a symbolic link,
    is not found.
    """

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = {version: Path(root).resolve() for version, root in roots.items()}

    @property
    def versions(self) -> tuple[str, ...]:
        """Return the names of the versions in the order given."""
        return tuple(self._roots)

    def lookup(self, version: str, target: str) -> Resource | Redirect | None:
        """Return the file, a redirect, or None. Raises KeyError for an unknown version."""
        root = self._roots[version]
        path, _, query = target.partition("?")
        relative = unquote(path).lstrip("/")
        if "\x00" in relative:
            return None
        file = (root / relative).resolve()
        if not file.is_relative_to(root):
            return None
        if path.endswith("/"):
            return _read(root, file / "index.html")
        if file.is_file():
            return _read(root, file)
        page = file.with_name(f"{file.name}.html")
        if not file.suffix and page.is_file():
            return _read(root, page)
        if (file / "index.html").is_file():
            # One leading slash: "//name/" would send the client to another host.
            return Redirect(f"/{path.lstrip('/')}/" + (f"?{query}" if query else ""), 301)
        return None


def _read(root: Path, file: Path) -> Resource | None:
    """Return the file as a resource; None where there is none or it lies outside ``root``."""
    if not file.is_file() or not file.resolve().is_relative_to(root):
        return None
    kind, coding = _TYPES.guess_type(file.name)
    if coding is not None or kind is None:
        kind = "application/gzip" if coding == "gzip" else "application/octet-stream"
    changed = datetime.fromtimestamp(int(file.stat().st_mtime), UTC)
    return Resource(file.read_bytes(), kind, changed)
