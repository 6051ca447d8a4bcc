"""The cross-encoder over the pool: question or sub-question against title, headings and text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrieval.config import RerankConfig
from retrieval.index.view import BlockView
from retrieval.modes.candidates import Candidate
from retrieval.modes.fusion import pool


def place(title: str, heading_path: Sequence[str]) -> str:
    """Return "title > heading > …" without a heading that repeats the one before it."""
    parts: list[str] = []
    for part in (title, *heading_path):
        if part and (not parts or part.casefold() not in parts[-1].casefold()):
            parts.append(part)
    return " > ".join(parts)


def passage(block: BlockView, max_words: int) -> str:
    """Return what the cross-encoder reads of a block."""
    words = " ".join(filter(None, (block.context, block.text))).split()
    return f"{place(block.title, block.heading_path)}: {' '.join(words[:max_words])}"


def share_out(
    candidates: list[Candidate], queries: Mapping[str, str], config: RerankConfig, quota: int
) -> dict[str, list[Candidate]]:
    """Return which candidates are read against which query, ``config.pool`` pairs in all.

    The question itself gets half when there are sub-questions; the rest is shared among them, each
    reading the best that it found itself.
    """
    others = [name for name in queries if name != "question"]
    size = config.pool if not others else max(config.pool // 2, 1)
    read = {"question": pool(candidates, size, quota)}
    each = (config.pool - size) // len(others) if others else 0
    for name in others:
        own = [c for c in candidates if name in c.sources]
        own.sort(key=lambda c: (c.sources[name][0], c.row))
        read[name] = own[:each]
    return read
