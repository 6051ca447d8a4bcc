"""What speaks for or against a span beside the cross-encoder: it states the thing, or says nothing.

A heading or title is evidence like any other line ("SURV 12 Tides 4 Units"), and the cross-encoder
rates it low; lines that a site repeats ("Back to top", "Requirements") say nothing and it rates
them high when they hold the name that is asked about.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from retrieval.answer.expected import asks_size, closes_with_number, counted, counts, has_expected
from retrieval.modes.coverage import Idf, Lexis
from retrieval.modes.question import (
    ANY,
    DATE,
    EMAIL,
    MONEY,
    NUMBER,
    PERSON,
    PHONE,
    TIME,
    Question,
    content_words,
    stem,
    stems,
)

NAMED = 0.6
"""Share of the question's words that a heading holds when the question names it."""
_TYPED = frozenset({DATE, EMAIL, MONEY, PHONE, TIME})
_COMMON_SHARE = 0.2  # a word of a fifth of all blocks tells nothing
_COMMON = math.log(1 + (1 - _COMMON_SHARE) / _COMMON_SHARE)
_PLAIN_WORDS = 8
_REPEATS = 3  # so many times the same short line among a dozen blocks is furniture


def states(
    question: Question, quote: str, heading: bool, near: frozenset[str], lexis: Lexis
) -> float:
    """Return 1 when a title line states what is asked, ½ when another line does, else 0.

    ``near`` are the stems of the innermost heading over the quote. A line states the thing when it
    holds the number beside the counted noun, or (headings only) another kind of thing asked for
    beyond the question's own words, and when heading and line hold most of the question's words.
    """
    if question.expects == ANY:
        return 0.0
    nouns = counted(question.text)
    found = stems(quote)
    numbers = {stem(w) for w in question.words if any(c.isdigit() for c in w)}
    if not numbers <= found | near:
        return 0.0
    bracketed = (
        question.expects == NUMBER and asks_size(question.text) and closes_with_number(quote)
    )
    if nouns and (bracketed or counts(nouns, quote)):
        # A title may bracket its number without the noun: the noun counts as said.
        said = found | (nouns if bracketed else frozenset())
        if lexis.coverage(said) >= NAMED:
            return 1.0
        return 0.5 if lexis.coverage(said | near) >= NAMED else 0.0
    if not heading or lexis.coverage(found) < NAMED:
        return 0.0
    rest = " ".join(w for w in quote.split() if not stems(w) <= stems(question.text))
    if question.expects in _TYPED:
        return float(bool(has_expected(question.expects, rest)))
    labelled = ":" in quote and question.expects == PERSON
    return float(labelled and bool(has_expected(PERSON, rest)))


class Plain:
    """Short lines that say nothing: of common words only, or repeated among the blocks read."""

    def __init__(self, texts: Iterable[str], asked: frozenset[str], idf: Idf) -> None:
        lines = Counter(
            " ".join(line.split())
            for text in texts
            for line in text.splitlines()
            if len(line.split()) <= _PLAIN_WORDS
        )
        self._repeated = {line for line, count in lines.items() if count >= _REPEATS}
        self._asked, self._idf = asked, idf

    def __call__(self, line: str, around: frozenset[str]) -> bool:
        """Return whether ``line`` says nothing that its headings (stems ``around``) do not say.

        A line that holds a word of the question which its headings lack always says something.
        """
        words = content_words(line)
        if len(line.split()) > _PLAIN_WORDS or {stem(w) for w in words} & (self._asked - around):
            return False
        if " ".join(line.split()) in self._repeated:
            return True
        new = [w for w in words if stem(w) not in around and stem(w) not in self._asked]
        return all(self._idf(word) < _COMMON for word in new)
