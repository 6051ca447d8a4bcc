"""What kind of resource a response is: by header, by sniffing, or (before asking) by extension."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import urlsplit

HTML = "html"
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_KINDS = {
    "application/pdf": "pdf",
    "application/zip": "archive",
    "application/gzip": "archive",
    "application/x-gzip": "archive",
    "application/x-tar": "archive",
    "application/msword": "office",
    "application/vnd": "office",
    "application/json": "json",
    "application/javascript": "script",
    "application/x-javascript": "script",
    "application/xml": "xml",
    "application/rss+xml": "feed",
    "application/atom+xml": "feed",
    "text/css": "css",
    "text/javascript": "script",
    "text/xml": "xml",
    "text/calendar": "calendar",
    "text/plain": "text",
    "image/": "image",
    "audio/": "audio",
    "video/": "video",
    "font/": "font",
}
_EXTENSIONS = {
    "pdf": ("pdf",),
    "office": ("doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "odp", "rtf", "csv"),
    "archive": ("zip", "gz", "tgz", "bz2", "xz", "7z", "rar", "tar", "dmg", "exe", "jar", "iso"),
    "image": ("jpg", "jpeg", "png", "gif", "svg", "webp", "bmp", "ico", "tif", "tiff", "avif"),
    "audio": ("mp3", "wav", "ogg", "m4a", "flac"),
    "video": ("mp4", "webm", "avi", "mov", "wmv", "mkv", "m4v"),
    "font": ("woff", "woff2", "ttf", "otf", "eot"),
    "css": ("css",),
    "script": ("js", "mjs", "map"),
    "calendar": ("ics",),
}
_BY_EXTENSION = {f".{ext}": kind for kind, exts in _EXTENSIONS.items() for ext in exts}
_MAGIC = (
    (b"%PDF-", "pdf"), (b"PK\x03\x04", "archive"), (b"\x1f\x8b", "archive"),
    (b"\x89PNG", "image"), (b"GIF8", "image"), (b"\xff\xd8\xff", "image"),
    (b"\xd0\xcf\x11\xe0", "office"),
)  # fmt: skip
_MARKUP = (b"<!doctype html", b"<html", b"<head", b"<body", b"<title", b"<p", b"<div", b"<h1")
_UNSURE = ("", "application/octet-stream", "text/plain", "unknown/unknown", "*/*")
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_SNIFF_BYTES = 1024


def media_type(header: str | None) -> str:
    """Return the media type of a Content-Type header, lowered, without parameters."""
    return (header or "").partition(";")[0].strip().lower()


def kind_of_url(url: str) -> str | None:
    """Return the kind that the extension names when it is certainly not a page, else None.

    A URL with a query is never judged by its extension.
    """
    parts = urlsplit(url)
    return None if parts.query else _BY_EXTENSION.get(PurePosixPath(parts.path).suffix.lower())


def kind_of_header(header: str | None) -> str | None:
    """Return the kind that the header names: ``html``, another kind, or None when it is unsure."""
    kind = media_type(header)
    if kind in _HTML_TYPES:
        return HTML
    if kind in _UNSURE:
        return None
    return next((name for prefix, name in _KINDS.items() if kind.startswith(prefix)), kind)


def kind_of(header: str | None, body: bytes) -> str:
    """Return the kind of a response from its header and its first bytes.

    The bytes win where the header is unsure, and where they are plainly something else than the
    HTML that the header promises.
    """
    declared = kind_of_header(header)
    if declared not in (HTML, None):
        return str(declared)
    start = body[:_SNIFF_BYTES]
    for magic, kind in _MAGIC:
        if start.startswith(magic):
            return kind
    utf16 = start.startswith(_BOMS) or "utf-16" in (header or "").lower()
    if b"\x00" in start and not utf16:
        return "binary"
    if declared == HTML:
        return HTML
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if media_type(header) != "text/plain" and text.startswith(_MARKUP):
        return HTML
    if media_type(header) == "text/plain":
        return "text"
    return "unknown"
