"""Splitting of over-long text at lines, sentences, words; exact but for the whitespace cut at."""

from __future__ import annotations

import re
from math import ceil

from assets.parsing.words import CJK, count_words

WORD_CHARACTERS = 16  # more characters a word than this on average count as more words

# Every match is whitespace or empty: what is cut out is never text.
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"(?<=[.!?;…])\s+|(?<=[.!?][\"'”’)\]])\s+|(?<=[。！？；])|\n")
_WORD = re.compile(rf"\s+|(?<={CJK.pattern})|(?={CJK.pattern})")
_SPACE = re.compile(r"\s+")

Pieces = list[tuple[str, str]]  # (whitespace in front, text)


def size(text: str, words: int | None = None) -> int:
    """Return the size of ``text`` in words, where very long words count as several."""
    return max(count_words(text) if words is None else words, -(-len(text) // WORD_CHARACTERS))


def split_words(text: str, limit: int, *, lines: bool = False) -> Pieces:
    """Split ``text`` into (separator, part) of at most ``limit`` words, evenly filled.

    Parts joined with the separators in front of them give the text again; a separator is the
    whitespace cut at, the first one empty. Cuts fall at line ends and sentences, in a longer
    sentence between words, in an endless word between characters. With ``lines`` (code) they fall
    at line ends alone as long as the lines fit.
    """
    total = size(text)
    if total <= limit:
        return [("", text)]
    pieces: Pieces = [("", text)]
    for pattern in (_LINE, _WORD) if lines else (_LINE, _SENTENCE, _WORD):
        pieces = [
            (sep if number == 0 else inner, part)
            for sep, piece in pieces
            for number, (inner, part) in enumerate(
                _cut(piece, pattern) if size(piece) > limit else [("", piece)]
            )
        ]
    pieces = [
        (sep if at == 0 else "", piece[at : at + limit * WORD_CHARACTERS])
        for sep, piece in pieces
        for at in range(0, len(piece), limit * WORD_CHARACTERS)
    ]
    return _pack(pieces, limit, total / ceil(total / limit))


def halve(text: str) -> tuple[str, str]:
    """Cut ``text`` (two characters or more) in two near its middle, at the best place there is.

    A line end in the middle three fifths is best, then a sentence end, then any whitespace; a
    text without any is cut between characters. The whitespace cut at is left out.
    """
    low, high = len(text) // 5, len(text) - len(text) // 5
    for pattern in (_LINE, _SENTENCE, _SPACE):
        cuts = [found.span() for found in pattern.finditer(text, low, high)]
        for start, end in sorted(cuts, key=lambda span: abs(sum(span) - len(text))):
            if text[:start].strip() and text[end:].strip():
                return text[:start], text[end:]
    return text[: len(text) // 2], text[len(text) // 2 :]


def _cut(text: str, pattern: re.Pattern[str]) -> Pieces:
    """Cut ``text`` at every match that has text on its left since the last cut."""
    pieces: Pieces = []
    start, sep = 0, ""
    for found in pattern.finditer(text):
        if text[start : found.start()].strip():
            pieces.append((sep, text[start : found.start()]))
            sep, start = found[0], found.end()
    if text[start:].strip() or not pieces:
        pieces.append((sep, text[start:]))
    else:
        pieces[-1] = (pieces[-1][0], pieces[-1][1] + sep + text[start:])
    return pieces


def _pack(pieces: Pieces, limit: int, target: float) -> Pieces:
    parts: list[tuple[str, list[str]]] = []
    filled = 0
    for sep, piece in pieces:
        words = size(piece)
        if not parts or filled + words > limit or filled >= target:
            parts.append((sep, [piece]))
            filled = words
        else:
            parts[-1][1].extend((sep, piece))
            filled += words
    return [(sep, "".join(chunk)) for sep, chunk in parts]
