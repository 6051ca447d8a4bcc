"""The section that a question names: its heading path, and all blocks under it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from retrieval.index.view import BlockView
from retrieval.modes.coverage import Idf
from retrieval.modes.question import Question, stems
from retrieval.modes.site import SiteView

_QUOTED = re.compile(r"[\"“‘']([^\"”’']{3,}(?:['’]\w[^\"”’']*)?)[\"”’']|[\w)] (?:>|›|»|→) \w")
_BRACKETS = re.compile(r"\([^)]*\)")
_LEAST_PAGE = 0.6  # share of the words of the page's name, by idf, that the question holds
_LEAST = 0.7  # the same of page and headings together
_BEYOND = 2  # words of the headings beyond the page's own name
MAX_BLOCKS = 12


def is_explicit(question: str) -> bool:
    """Return whether a heading is written in quotation marks or as a path ("A > B")."""
    return bool(_QUOTED.search(question))


def named_section(
    question: Question, blocks: Sequence[BlockView], site: SiteView
) -> list[BlockView]:
    """Return the blocks, in order, under the heading that ``question`` names; none if it does not.

    A heading is named when the question holds all its words, most of the page's name and most words
    of the headings between. Of several the one with most words is taken, then the best block's.
    ``blocks`` are the found ones, best first; at most MAX_BLOCKS are returned.
    """
    if not question.is_list:
        return []
    asked = stems(question.text)
    explicit = is_explicit(question.text)
    best: tuple[int, BlockView] | None = None
    for block in blocks:
        size = _named(block, asked, explicit, site.idf)
        if size and (best is None or size > best[0]):
            best = size, block
    return _under(best[1], site) if best else []


def _named(block: BlockView, asked: frozenset[str], explicit: bool, idf: Idf) -> int:
    """Return how many words of the block's headings the question names, 0 when it names others."""
    if len(block.heading_path) < 2:
        return 0
    # What a heading adds in brackets ("(choose one)") is not its name.
    page, *inner = [_BRACKETS.sub(" ", heading) for heading in block.heading_path]
    top, last = stems(page), stems(inner[-1])
    whole = stems(" ".join(inner))
    named_page = max(_share(top, asked, idf), _share(stems(block.title), asked, idf))
    if not last or not last <= asked or named_page < _LEAST_PAGE:
        return 0
    # A path may be given without its outer headings, and in passing only by most of its words.
    if not explicit and _share(whole | top, asked, idf) < _LEAST:
        return 0
    beyond = (whole & asked) - top
    return len(beyond) if len(beyond) >= (1 if explicit else _BEYOND) else 0


def _share(words: frozenset[str], asked: frozenset[str], idf: Idf) -> float:
    """Return the share of ``words``, by idf, that is among ``asked``."""
    weights = {word: idf(word) for word in words}
    total = sum(weights.values())
    return sum(w for word, w in weights.items() if word in asked) / total if total else 0.0


def _under(block: BlockView, site: SiteView) -> list[BlockView]:
    """Return the blocks of the page whose heading path begins with that of ``block``, in order."""
    depth = len(block.heading_path)
    own = [site.block(int(row)) for row in site.rows_of(site.page(block.row))]
    under = [b for b in own if b.heading_path[:depth] == block.heading_path]
    under.sort(key=lambda b: b.ordinal)
    at = next(i for i, b in enumerate(under) if b.row == block.row)
    # The same headings may come again further down the page: only the run around the block.
    first = last = at
    while first > 0 and under[first].ordinal - under[first - 1].ordinal == 1:
        first -= 1
    while last + 1 < len(under) and under[last + 1].ordinal - under[last].ordinal == 1:
        last += 1
    return under[first : last + 1][:MAX_BLOCKS]
