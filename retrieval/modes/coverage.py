"""Lexical coverage: how much of a question's distinctive words stands in a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from retrieval.modes.question import Question, stem, stems

Idf = Callable[[str], float]
"""Inverse document frequency of a folded word; the largest value for an unknown word."""


@dataclass(frozen=True)
class Lexis:
    """The stems of a question with their weights (idf, scaled so that they sum to 1)."""

    weights: dict[str, float]

    @classmethod
    def of(cls, question: Question, idf: Idf) -> Lexis:
        """Weigh the content words of ``question``; of words with one stem the commonest counts."""
        raw: dict[str, float] = {}
        for word in question.words:
            key = stem(word)
            raw[key] = min(raw.get(key, float("inf")), idf(word))
        total = sum(raw.values())
        return cls({key: value / total for key, value in raw.items()} if total else {})

    def coverage(self, found: Iterable[str]) -> float:
        """Return the weight (0..1) of the question's stems that are among ``found``."""
        return sum(self.weights.get(key, 0.0) for key in set(found))

    def heaviest_missing(self, found: Iterable[str]) -> float:
        """Return the weight of the most distinctive stem that is not among ``found``."""
        present = set(found)
        return max((w for key, w in self.weights.items() if key not in present), default=0.0)


def names_missing(question: Question, found: frozenset[str]) -> float:
    """Return the share of the question's names that do not stand in ``found`` as a whole."""
    if not question.names:
        return 0.0
    absent = sum(1 for name in question.names if not stems(name) <= found)
    return absent / len(question.names)
