"""Sitemaps: url sets, indexes and plain lists, gzipped or not, well-formed or not."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass, field
from io import BytesIO

MAX_BYTES = 50 * 1024 * 1024
MAX_FILES = 1_000
MAX_NESTING = 4


@dataclass
class Sitemap:
    """What one file lists: ``pages`` as (URL, lastmod or None), ``children`` of an index.

    ``broken`` says why the file could not be read to its end; what was read before is kept.
    """

    pages: list[tuple[str, str | None]] = field(default_factory=list)
    children: list[str] = field(default_factory=list)
    broken: str | None = None


def read(body: bytes) -> Sitemap:
    """Parse a sitemap file; never raises. Addresses are as written."""
    body, broken = _unpacked(body)
    start = body.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith(b"<"):
        lines = [line.strip() for line in start.decode("utf-8", "replace").splitlines()]
        urls = [line for line in lines if line.startswith(("http://", "https://"))]
        if not urls and broken is None:
            broken = "neither XML nor a list of URLs" if start else "empty"
        return Sitemap([(url, None) for url in urls], broken=broken)
    sitemap = _parse(start)
    sitemap.broken = broken or sitemap.broken
    return sitemap


def _unpacked(body: bytes) -> tuple[bytes, str | None]:
    """Return the file decompressed (as far as it goes, at most 50 MB), and what was wrong."""
    if body.startswith(b"\x1f\x8b"):
        unpacker = zlib.decompressobj(31)
        try:
            plain = unpacker.decompress(body, MAX_BYTES + 1)
        except zlib.error:
            return _salvaged(body), "damaged gzip"
        if not unpacker.eof and len(plain) <= MAX_BYTES:
            return plain, "truncated gzip"
        body = plain
    if len(body) > MAX_BYTES:
        return body[:MAX_BYTES], "larger than 50 MB"
    return body, None


def _salvaged(body: bytes) -> bytes:
    """Return what can be read of a damaged gzip file before the damage."""
    parts: list[bytes] = []
    try:
        with gzip.GzipFile(fileobj=BytesIO(body)) as file:
            while sum(map(len, parts)) < MAX_BYTES and (part := file.read1(65536)):
                parts.append(part)
    except (OSError, EOFError, zlib.error):
        return b"".join(parts)
    return b"".join(parts)


def _parse(body: bytes) -> Sitemap:
    """Read ``url`` and ``sitemap`` entries; entities are not expanded, nothing is fetched."""
    from lxml import etree

    sitemap = Sitemap()
    events = etree.iterparse(
        BytesIO(body), events=("end",), recover=True, resolve_entities=False, no_network=True,
        load_dtd=False, huge_tree=False, remove_comments=True,
    )  # fmt: skip
    try:
        for _, element in events:
            kind = etree.QName(element).localname if isinstance(element.tag, str) else ""
            if kind not in ("url", "sitemap"):
                continue
            # Only direct children: <image:image><image:loc> is no page.
            parts = {
                etree.QName(child).localname: (child.text or "").strip()
                for child in element
                if isinstance(child.tag, str)
            }
            if loc := parts.get("loc"):
                if kind == "url":
                    sitemap.pages.append((loc, parts.get("lastmod") or None))
                else:
                    sitemap.children.append(loc)
            element.clear()
    except etree.XMLSyntaxError as error:
        sitemap.broken = f"broken XML: {error}"
    if not sitemap.pages and not sitemap.children and sitemap.broken is None:
        sitemap.broken = "no entries"
    return sitemap
