"""A reply as it came over the wire, its decoding under a limit, and what can go wrong."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


class TransportError(Exception):
    """No usable reply; the text says why in words. Worth another try."""


class TooLargeError(TransportError):
    """The body is larger than the limit. Not worth another try."""


class PrivateAddressError(TransportError):
    """The host is a private address that the configuration does not allow. Not retried."""


@dataclass(frozen=True)
class Reply:
    """Status, headers (lower-case names) and body before decoding.

    ``complete`` is False when the download was ended at the headers because it is no page.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    complete: bool = True

    def decoded(self, limit: int) -> bytes:
        """Return the body without its content coding.

        Raises TooLargeError above ``limit`` bytes, TransportError when the coding is unknown or
        damaged.
        """
        coding = self.headers.get("content-encoding", "").strip().lower()
        if coding in ("", "identity"):
            return self.body
        if coding not in ("gzip", "x-gzip", "deflate"):
            raise TransportError(f"unknown content coding {coding!r}")
        # 47: zlib or gzip, found out from the header; servers send "deflate" for either.
        unpacker = zlib.decompressobj(47)
        try:
            plain = unpacker.decompress(self.body, limit + 1)
        except zlib.error as error:
            raise TransportError(f"damaged {coding} body: {error}") from error
        if len(plain) > limit:
            raise TooLargeError("larger than the configured size when unpacked")
        if not unpacker.eof:
            raise TransportError(f"truncated {coding} body")
        return plain

    @property
    def is_gzip(self) -> bool:
        """Return whether the wire bytes are one gzip member."""
        coding = self.headers.get("content-encoding", "").strip().lower()
        return coding in ("gzip", "x-gzip") and self.body.startswith(b"\x1f\x8b")


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds that a Retry-After header asks for, None when it says nothing readable.

    Both forms of RFC 9110, 10.2.3: whole seconds, or an HTTP date.
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())
