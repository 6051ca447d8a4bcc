"""From what a system did with a question to one row of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.matching import Found, Pages, Reading
from evaluation.metrics import fact_coverage, ndcg, reciprocal_rank
from evaluation.questions import Question
from evaluation.systems.base import SystemRun

LEVELS = ("page", "block", "span")
VARIANTS = ("span_recall_text", "span_recall_own", "span_recall_strict")


@dataclass(frozen=True)
class Scored:
    """One question of one system.

    ``values`` holds the metric's value (a fraction, tokens or seconds), None without gold.
    ``missed`` names the gold pages of needs not found at span level at the largest k.
    """

    question: Question
    run: SystemRun
    values: dict[str, float | None]
    missed: tuple[str, ...]


def metric_names(ks: Sequence[int]) -> list[str]:
    """Return every metric of a scored question, in report order."""
    names = [f"{level}_recall@{k}" for k in ks for level in LEVELS]
    names += [f"{name}@{k}" for k in ks for name in VARIANTS]
    names += ["span_recall_given", f"ndcg@{max(ks)}", f"mrr@{max(ks)}"]
    return [
        *names,
        "fact_coverage",
        "abstain_precision",
        "abstain_recall",
        "reader_tokens",
        "seconds",
    ]


def score(question: Question, run: SystemRun, pages: Pages, ks: Sequence[int]) -> Scored:
    """Score one question; evidence metrics are None when the question has no gold evidence.

    `span_recall` is the main figure. Beside it: `span_recall_text` without the headings a reader
    is given with each block, `span_recall_own` without further places of a passage,
    `span_recall_strict` for every evidence row (see questions), `span_recall_given` over what the
    reader was given within its budget.
    """
    values: dict[str, float | None] = {}
    missed: tuple[str, ...] = ()
    for k in ks:
        found = _find(question, Reading(run.passages[:k], pages))
        own = _find(question, Reading(run.passages[:k], pages, also_at=False))
        values |= _recalls(found, own, k)
        if k == max(ks):
            missed = tuple(
                need[0].page
                for need, rows in zip(question.needs, found, strict=True)
                if not any(row.span for row in rows)
            )
    given = run.passages if run.given is None else run.given
    values["span_recall_given"] = _met(_find(question, Reading(given, pages)), "span")
    values |= _ranking(question, run, pages, max(ks))
    values |= _answer(question, run)
    return Scored(question, run, values, missed)


def _find(question: Question, reading: Reading) -> list[list[Found]]:
    return [[reading.find(evidence) for evidence in need] for need in question.needs]


def _met(found: list[list[Found]], level: str) -> float | None:
    """Return the share of needs met at ``level`` by any of their alternatives."""
    hits = [any(getattr(one, level) for one in need) for need in found]
    return sum(hits) / len(hits) if hits else None


def _recalls(found: list[list[Found]], own: list[list[Found]], k: int) -> dict[str, float | None]:
    rows = [[one] for need in found for one in need]
    return {f"{level}_recall@{k}": _met(found, level) for level in LEVELS} | {
        f"span_recall_text@{k}": _met(found, "text"),
        f"span_recall_own@{k}": _met(own, "span"),
        f"span_recall_strict@{k}": _met(rows, "span"),
    }


def _ranking(question: Question, run: SystemRun, pages: Pages, k: int) -> dict[str, float | None]:
    """nDCG and MRR at block level; a passage gains one for each need nothing above it has met."""
    if not question.needs:
        return {f"ndcg@{k}": None, f"mrr@{k}": None}
    reading = Reading(run.passages[:k], pages)
    gains = [0.0] * k
    for need in question.needs:
        ranks = set().union(*(reading.ranks(evidence) for evidence in need))
        if ranks:
            gains[min(ranks)] += 1.0
    return {
        f"ndcg@{k}": ndcg(gains, [1.0] * len(question.needs), k),
        f"mrr@{k}": reciprocal_rank(gains),
    }


def _answer(question: Question, run: SystemRun) -> dict[str, float | None]:
    """Score the answer: an abstention says no part.

    The abstention metrics are per question here: precision has a value for the abstained,
    recall for the unanswerable; their means over questions are precision and recall.
    """
    answer = run.answer
    text = "" if answer.abstained else answer.text
    right = float(answer.abstained and not question.answerable)
    return {
        "fact_coverage": fact_coverage(text, [part.variants for part in question.parts]),
        "abstain_precision": right if answer.abstained else None,
        "abstain_recall": None if question.answerable else right,
        "reader_tokens": float(answer.reader_tokens),
        "seconds": answer.seconds,
    }
