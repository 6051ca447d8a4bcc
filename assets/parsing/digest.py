"""The light facts of one page that the crawl needs: title, language, addresses, content hash.

The content hash covers the title and every character of the page outside script, style and
template, with all whitespace taken out: it survives re-indentation and answers whether the text
of a page changed. A page without words hashes like any other such page, so an equal hash is a
proof of equal content only where ``words`` is above zero.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser

from assets.parsing.attributes import Attributes
from assets.parsing.dom import NOT_TEXT, parse
from assets.parsing.encoding import decode
from assets.parsing.words import count_words
from retrieval.snapshot import ids

__all__ = ["PageDigest", "decode", "page_digest", "page_title", "resolve", "tree_digest", "tree_of"]

_LANGUAGE = re.compile(r"[a-z]{2,3}(?=$|[-_])")
_REFRESH = re.compile(r"\s*(\d*\.?\d*)\s*[;,\s]\s*(?:url\s*=\s*)?(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class PageDigest:
    """Facts of one page. URLs are absolute; ``meta_refresh`` is the target, delay in seconds."""

    title: str | None
    language: str | None
    canonical_url: str | None
    base_url: str
    meta_refresh: str | None
    meta_refresh_seconds: float | None
    encoding: str
    content_hash: str
    words: int


def page_digest(body: bytes, content_type: str | None, url: str) -> PageDigest:
    """Return the digest of a body fetched from ``url`` (absolute); never raises on bad HTML."""
    return tree_digest(*tree_of(body, content_type), url)


def tree_of(body: bytes, content_type: str | None) -> tuple[LexborHTMLParser, str]:
    """Decode and parse a body; return the tree and the codec used (see `decode`)."""
    html, encoding = decode(body, content_type)
    return parse(html), encoding


def tree_digest(tree: LexborHTMLParser, encoding: str, url: str) -> PageDigest:
    """Return the digest of a page that was decoded and parsed already.

    Consumes the tree: what is not text is cut out of it in the end.
    """
    base = base_url(tree, url)
    title = page_title(tree)
    metas = [node.attributes for node in tree.css("meta[http-equiv][content]")]
    seconds, target = _meta_refresh(metas)
    language, canonical = _language(tree, metas), _canonical(tree, base)
    tree.strip_tags(list(NOT_TEXT))
    spaced = tree.root.text(deep=True, separator=" ") if tree.root is not None else ""
    parts = spaced.split()
    return PageDigest(
        title=title,
        language=language,
        canonical_url=canonical,
        base_url=base,
        meta_refresh=resolve(base, target) if target else None,
        meta_refresh_seconds=seconds if target else None,
        encoding=encoding,
        content_hash=ids.digest("content", title or "", "".join(parts)),
        words=len(parts) if spaced.isascii() else count_words(spaced),
    )


def page_title(tree: LexborHTMLParser) -> str | None:
    """Return the title element with whitespace folded, None when missing or blank."""
    node = tree.css_first("head > title") or tree.css_first("title")
    # `text_content` is for text nodes alone; on an element it is None.
    text = " ".join((node.text() or "").split()) if node is not None else ""
    return text or None


def base_url(tree: LexborHTMLParser, url: str) -> str:
    """Return the address that the page's links resolve against (base href over ``url``)."""
    node = tree.css_first("base[href]")
    href = (node.attributes.get("href") or "") if node is not None else ""
    return resolve(url, href) or url


def resolve(base: str, href: str) -> str | None:
    """Return ``href`` as an absolute http(s) URL, None when it is another scheme or no URL."""
    # Browsers drop tab and line ends inside an address and control characters around it.
    href = re.sub(r"[\t\r\n]", "", href).strip("".join(map(chr, range(33))))
    try:
        url = urljoin(base, href)
        parts = urlsplit(url)
        ok = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    return url if ok else None


def _canonical(tree: LexborHTMLParser, base: str) -> str | None:
    for node in tree.css("link[rel][href]"):
        if "canonical" in (node.attributes.get("rel") or "").lower().split():
            return resolve(base, node.attributes.get("href") or "")
    return None


def _language(tree: LexborHTMLParser, metas: list[Attributes]) -> str | None:
    root = tree.css_first("html")
    declared = [root.attributes.get("lang") or root.attributes.get("xml:lang")] if root else []
    declared += _http_equiv(metas, "content-language")
    for value in declared:
        if found := _LANGUAGE.match((value or "").strip().lower()):
            return found[0]
    return None


def _meta_refresh(metas: list[Attributes]) -> tuple[float | None, str | None]:
    """Return delay and target as written; a refresh without target reloads and counts as none."""
    for content in _http_equiv(metas, "refresh"):
        found = _REFRESH.match(content)
        if found and (target := found[2].strip().strip("\"'").strip()):
            delay = found[1]
            return (float(delay) if delay.strip(".") else 0.0), target
    return None, None


def _http_equiv(metas: list[Attributes], name: str) -> list[str]:
    return [
        meta.get("content") or ""
        for meta in metas
        if (meta.get("http-equiv") or "").strip().lower() == name
    ]
