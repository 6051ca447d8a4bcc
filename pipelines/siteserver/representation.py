"""The HTTP representation of a resource: validators, coding, and conditional requests."""

from __future__ import annotations

import gzip
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from hashlib import sha256
from typing import Literal

from pipelines.siteserver.source import Resource

EtagKind = Literal["strong", "weak", "none"]

_COMPRESSIBLE = (
    "text/",
    "application/json",
    "application/xml",
    "application/javascript",
    "image/svg",
)
_MIN_GZIP_BYTES = 512
_CACHE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Validators:
    """Which validators the server sends: the kind of ETag, and whether Last-Modified."""

    etag: EtagKind = "strong"
    last_modified: bool = True


class GzipCache:
    """Compressed bodies by content, the least recently used ones dropped above 64 MB.

    A benchmark shares its cores with this server; a body is compressed once, not on each crawl.
    """

    def __init__(self) -> None:
        self._items: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def compress(self, digest: str, body: bytes) -> bytes:
        """Return ``body`` gzipped; ``digest`` is its content hash."""
        packed = self._items.get(digest)
        if packed is None:
            packed = gzip.compress(body, compresslevel=6, mtime=0)
            self._items[digest] = packed
            self._bytes += len(packed)
            while self._bytes > _CACHE_BYTES and len(self._items) > 1:
                self._bytes -= len(self._items.popitem(last=False)[1])
        self._items.move_to_end(digest)
        return packed


def represent(
    resource: Resource, request: Mapping[str, str], validators: Validators, cache: GzipCache
) -> tuple[int, dict[str, str], bytes]:
    """Return status (200 or 304), headers and body for a request with these headers."""
    digest = sha256(resource.body).hexdigest()[:32]
    coded = (
        len(resource.body) >= _MIN_GZIP_BYTES
        and resource.content_type.startswith(_COMPRESSIBLE)
        and accepts_gzip(request.get("Accept-Encoding", ""))
    )
    # A strong tag names the bytes sent, so each coding has its own.
    tag = f'"{digest}-gzip"' if coded else f'"{digest}"'
    etag = {"strong": tag, "weak": f"W/{tag}", "none": None}[validators.etag]
    modified = resource.last_modified.astimezone(UTC) if validators.last_modified else None
    headers = {"Vary": "Accept-Encoding"}
    if etag is not None:
        headers["ETag"] = etag
    if modified is not None:
        headers["Last-Modified"] = format_datetime(modified.replace(microsecond=0), usegmt=True)
    if not_modified(request, etag, modified):
        return 304, headers, b""
    headers["Content-Type"] = resource.content_type
    if not coded:
        return 200, headers, resource.body
    headers["Content-Encoding"] = "gzip"
    return 200, headers, cache.compress(digest, resource.body)


def not_modified(request: Mapping[str, str], etag: str | None, modified: datetime | None) -> bool:
    """Decide a conditional GET or HEAD (RFC 9110, 13.2.2).

    If-None-Match, compared weakly, wins over If-Modified-Since; a date that cannot be read is
    ignored.
    """
    wanted = request.get("If-None-Match")
    if wanted is not None:
        if etag is None:
            return False
        tags = {part.strip().removeprefix("W/") for part in wanted.split(",")}
        return "*" in tags or etag.removeprefix("W/") in tags
    since = request.get("If-Modified-Since")
    if since is None or modified is None:
        return False
    try:
        return modified.replace(microsecond=0) <= parsedate_to_datetime(since)
    except (TypeError, ValueError):
        return False


def accepts_gzip(header: str) -> bool:
    """Return whether an Accept-Encoding value allows gzip (``gzip;q=0`` does not)."""
    for part in header.split(","):
        name, _, parameters = part.strip().lower().partition(";")
        if name.strip() in ("gzip", "*"):
            return parameters.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
