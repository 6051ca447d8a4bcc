"""Metrics as pure functions; missing gold gives None, never 0.

Sources: answer EM and F1 are those of the SQuAD v1.1 evaluation script (HotpotQA's rule for yes, no
and no-answer added); nDCG is Järvelin and Kekäläinen (2002) with log2 discount; MRR and recall@k
are the usual ones; support precision, recall and F1 are set measures with both empty giving 1.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from evaluation.matching import says

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_POLAR = frozenset({"yes", "no", "noanswer"})


def normalise_answer(text: str) -> str:
    """Lower the case, drop ASCII punctuation and English articles, fold whitespace (SQuAD)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, golds: Sequence[str]) -> float | None:
    """Return 1.0 if the normalised answer equals any normalised gold variant."""
    if not golds:
        return None
    return float(any(normalise_answer(answer) == normalise_answer(gold) for gold in golds))


def answer_f1(answer: str, golds: Sequence[str]) -> float | None:
    """Return the best token F1 over the gold variants.

    When the answer or the gold is yes, no or noanswer and they differ, the score is 0 (HotpotQA).
    """
    if not golds:
        return None
    return max(_token_f1(normalise_answer(answer), normalise_answer(gold)) for gold in golds)


def _token_f1(answer: str, gold: str) -> float:
    if answer != gold and (answer in _POLAR or gold in _POLAR):
        return 0.0
    got, want = answer.split(), gold.split()
    if not got or not want:
        return float(got == want)
    same = sum((Counter(got) & Counter(want)).values())
    return 2 * same / (len(got) + len(want))


def fact_coverage(answer: str, parts: Sequence[Sequence[Sequence[str]]]) -> float | None:
    """Return the share of required parts that ``answer`` says in one of their variants.

    ``parts`` → variants → strings that must stand together (see matching.says).
    """
    if not parts:
        return None
    return sum(any(says(answer, v) for v in variants) for variants in parts) / len(parts)


def recall_at(ranked: Sequence[Hashable], relevant: AbstractSet[Hashable], k: int) -> float | None:
    """Return the share of ``relevant`` among the first ``k`` of ``ranked``."""
    if not relevant:
        return None
    return len(relevant & set(ranked[:k])) / len(relevant)


def reciprocal_rank(relevances: Sequence[float]) -> float:
    """Return 1 / rank of the first positive relevance, 0.0 when there is none."""
    return next((1 / rank for rank, gain in enumerate(relevances, start=1) if gain > 0), 0.0)


def dcg(gains: Sequence[float], k: int) -> float:
    """Return Σ gain / log2(rank + 1) over the first ``k`` ranks."""
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:k], start=1))


def ndcg(gains: Sequence[float], ideal: Sequence[float], k: int) -> float | None:
    """Return DCG over the ideal DCG; ``ideal`` holds the gains of all relevant items, any order.

    The quotient is capped at 1: one passage may carry several needs and so do better than the
    ideal of one need a rank.
    """
    best = dcg(sorted(ideal, reverse=True), k)
    return None if best == 0 else min(1.0, dcg(gains, k) / best)


@dataclass(frozen=True)
class Prf:
    """Precision, recall and F1 as fractions."""

    precision: float
    recall: float
    f1: float


def support_prf(got: AbstractSet[Hashable], gold: AbstractSet[Hashable]) -> Prf:
    """Compare two sets of units; both empty gives 1, one empty gives 0."""
    if not got and not gold:
        return Prf(1.0, 1.0, 1.0)
    same = len(got & gold)
    precision = same / len(got) if got else 0.0
    recall = same / len(gold) if gold else 0.0
    total = precision + recall
    return Prf(precision, recall, 2 * precision * recall / total if total else 0.0)


def abstention(
    abstained: Sequence[bool], answerable: Sequence[bool]
) -> tuple[float | None, float | None]:
    """Return precision and recall of abstaining.

    Precision: of the abstained, the share that is unanswerable; None when nothing was abstained.
    Recall: of the unanswerable, the share abstained; None when everything is answerable.
    """
    right = sum(a and not can for a, can in zip(abstained, answerable, strict=True))
    given, due = sum(abstained), sum(not can for can in answerable)
    return (right / given if given else None), (right / due if due else None)
