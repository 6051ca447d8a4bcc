"""Stable identities: pure functions of content, hex strings of 80 bits (20 characters).

80 bits keep the chance of one collision among 10 million ids below 1e-10.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b, sha256

ID_BYTES = 10
_SEP = b"\x1f"


def digest(*parts: str) -> str:
    """Hash ``parts`` in order; the boundary between parts matters."""
    h = blake2b(digest_size=ID_BYTES)
    for part in parts:
        h.update(part.encode("utf-8", "surrogatepass"))
        h.update(_SEP)
    return h.hexdigest()


def body_sha256(body: bytes) -> str:
    """Return the content address of a response body (full sha256, hex)."""
    return sha256(body).hexdigest()


def page_id(canonical_key: str) -> str:
    """Identify a page by its canonical key, built on the site's public address."""
    return digest("page", canonical_key)


def text_hash(text: str) -> str:
    """Identify a distinct text, byte for byte."""
    return digest("text", text)


def input_hash(text: str) -> str:
    """Identify a distinct embedded string (heading prefix included)."""
    return digest("input", text)


def block_id(page: str, heading_path: Iterable[str], text: str, occurrence: int) -> str:
    """Identify a block: page id, heading path, text hash and 0-based occurrence of that triple."""
    return digest("block", page, *heading_path, text, str(occurrence))


def fact_id(block: str, subject: str, label: str, value: str, occurrence: int) -> str:
    """Identify a fact by the block it stands in, its three parts and its occurrence."""
    return digest("fact", block, subject, label, value, str(occurrence))


def entity_id(kind: str, key: str) -> str:
    """Identify an entity by an order-independent key (home page id or sorted normalised name)."""
    return digest("entity", kind, key)


def relation_id(subject: str, predicate: str, obj: str) -> str:
    """Identify a relation by subject id, predicate and object id or literal."""
    return digest("relation", subject, predicate, obj)


def topic_id(terms: Iterable[str]) -> str:
    """Identify a topic by its sorted terms."""
    return digest("topic", *sorted(terms))
