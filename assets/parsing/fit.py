"""Blocks that fit the embedding model: token counts, each distinct text counted once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from assets.parsing.links import Link
from assets.parsing.model import Draft
from assets.parsing.page import ParsedPage
from assets.parsing.split import halve
from assets.parsing.words import count_words
from retrieval.snapshot import ids, inputs

SPECIAL_TOKENS = 2  # [CLS] and [SEP], which counts leave out

CountTokens = Callable[[list[str]], list[int]]


def fit(
    pages: dict[str, ParsedPage], count: CountTokens, max_tokens: int, known: dict[str, int]
) -> dict[str, int]:
    """Split, in place, what would be cut by the model; return tokens by text hash.

    The embedded string (nearest heading, context, text) of every block that its page keeps is at
    most ``max_tokens`` with special tokens. ``known`` holds counts by text hash from earlier.
    """
    tokens = dict(known)
    budget = max_tokens - SPECIAL_TOKENS
    unsettled: Iterable[str] = pages
    while unsettled := list(unsettled):
        drafts = [draft for page in unsettled for draft in pages[page].drafts]
        _count_texts(drafts, count, tokens)
        over = _too_long(drafts, count, tokens, budget)
        unsettled = [page for page in unsettled if _split_page(pages[page], over)]
    return tokens


def _count_texts(drafts: list[Draft], count: CountTokens, tokens: dict[str, int]) -> None:
    new: dict[str, str] = {}
    for draft in drafts:
        if not draft.text_hash:
            draft.text_hash = ids.text_hash(draft.text)
        if draft.text_hash not in tokens:
            new[draft.text_hash] = draft.text
    tokens.update(zip(new, count(list(new.values())) if new else (), strict=True))


def _too_long(
    drafts: list[Draft], count: CountTokens, tokens: dict[str, int], budget: int
) -> set[Draft]:
    """Return the kept drafts whose embedded string is over ``budget`` tokens.

    Heading and context are counted apart: a line end parts tokens, so counts add up. Most blocks
    are cleared by the prefix's weight, an upper bound of its tokens.
    """
    doubtful = []
    for draft in drafts:
        if draft.reason is None and tokens[draft.text_hash] + inputs.PREFIX_WEIGHT > budget:
            prefix = prefix_of(draft)
            if tokens[draft.text_hash] + inputs.weight(prefix) > budget:
                doubtful.append((draft, prefix))
    prefixes = list(dict.fromkeys(prefix for _, prefix in doubtful))
    counted = dict(zip(prefixes, count(prefixes) if prefixes else (), strict=True))
    over = set()
    for draft, prefix in doubtful:
        if counted[prefix] > budget // 2:
            draft.context = None  # a heading alone is at most a fraction of any model's window
        if counted[prefix] + tokens[draft.text_hash] > budget and len(draft.text.strip()) > 1:
            over.add(draft)
    return over


def prefix_of(draft: Draft) -> str:
    """Return what stands in front of the draft's text in its embedded string."""
    whole = inputs.text_input([text for _, text in draft.heads], draft.context, draft.text)
    return whole[: len(whole) - len(draft.text.strip())]


def _split_page(page: ParsedPage, over: set[Draft]) -> bool:
    """Halve the drafts of ``page`` that are too long; return whether there were any."""
    if over.isdisjoint(page.drafts):
        return False
    parts = [_halves(draft) if draft in over else [draft] for draft in page.drafts]
    firsts = [0]
    for part in parts:
        firsts.append(firsts[-1] + len(part))
    page.drafts[:] = [draft for part in parts for draft in part]
    page.links[:] = [_moved(link, parts, firsts) for link in page.links]
    return True


def _halves(draft: Draft) -> list[Draft]:
    first, second = halve(draft.text)
    return [
        replace(draft, text=first, words=count_words(first), text_hash=""),
        replace(draft, text=second, words=count_words(second), text_hash="", opens=False),
    ]


def _moved(link: Link, parts: list[list[Draft]], firsts: list[int]) -> Link:
    if link.draft is None:
        return link
    part = parts[link.draft]
    held = [at for at, draft in enumerate(part) if link.anchor in draft.text]
    return replace(link, draft=firsts[link.draft] + (held[0] if held else 0))
