"""Abstention: the probability that the evidence answers the question, and the fitted threshold.

A logistic regression over a few features of the reading; its constants live in
``calibration.json`` beside this module, written by ``python -m evaluation.calibration.fit`` with
their date, their data and the model they hold for (docs: `evaluation/calibration/README.md`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from retrieval.answer.evidence import Evidence
from retrieval.answer.reader import Reading
from retrieval.modes.coverage import Lexis, names_missing
from retrieval.modes.fusion import sigmoid
from retrieval.modes.question import EMAIL, MONEY, PHONE, URL, Question, stem, stems

FILE = Path(__file__).with_name("calibration.json")

_SURE = frozenset({EMAIL, PHONE, URL, MONEY})
FEATURES = (
    "block_logit",
    "span_logit",
    "similarity",
    "coverage",
    "span_coverage",
    "heaviest_missing",
    "names_missing",
    "quote_missing",
    "quote_names_missing",
    "numbers_missing",
    "kind_missing",
    "kind_found",
    "states",
)


class Calibration(BaseModel):
    """Fitted constants: p = sigmoid(bias + Σ weight · (feature − mean) / scale)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fitted: str
    data: dict[str, int]
    reranker: str
    features: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    threshold: float
    scores: dict[str, float] = {}


@cache
def calibration() -> Calibration:
    """Return the shipped constants."""
    return Calibration.model_validate(json.loads(FILE.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Verdict:
    """Probability of being answered, and the features it came from."""

    probability: float
    features: dict[str, float]


def features(
    question: Question, evidence: Sequence[Evidence], block_logit: float | None,
    similarity: float, reading: Reading, lexis: Lexis,
) -> dict[str, float]:  # fmt: skip
    """Return the features of FEATURES.

    ``block_logit`` is the best cross-encoder logit of a block, ``similarity`` the best dense score.

    ``coverage``, ``heaviest_missing`` and ``names_missing`` look at the blocks read, the ``quote_``
    features at the chosen quotes with their headings; ``numbers_missing`` is the share of the
    question's numbers that no chosen quote or its headings hold; ``kind_missing`` is 1 when no
    chosen quote holds the kind of thing asked for; ``kind_found`` is the best quote's coverage
    when it holds an address or amount that was asked for (e-mail, telephone, URL, money), else 0;
    ``states`` is the best `worth.states` of the chosen quotes.
    """
    best = reading.chosen[0]
    quoted = frozenset[str]().union(
        *(quote.evidence.heading_stems | stems(quote.span.quote) for quote in reading.chosen)
    )
    numbers = [word for word in question.words if any(c.isdigit() for c in word)]
    found = frozenset[str]().union(
        *(block.heading_stems | stems(block.text) for block in evidence[:5])
    )
    span_logit = max(q.logit for q in reading.scored[:8] if q.logit is not None)
    return {
        "block_logit": span_logit if block_logit is None else block_logit,
        "span_logit": span_logit,
        "similarity": similarity,
        "coverage": lexis.coverage(found),
        "span_coverage": best.coverage,
        "heaviest_missing": lexis.heaviest_missing(found),
        "names_missing": names_missing(question, found),
        "quote_missing": lexis.heaviest_missing(quoted),
        "quote_names_missing": names_missing(question, quoted),
        "numbers_missing": sum(stem(n) not in quoted for n in numbers) / max(1, len(numbers)),
        "kind_missing": float(all(quote.expected is False for quote in reading.chosen)),
        "kind_found": best.coverage if best.expected and question.expects in _SURE else 0.0,
        "states": max(quote.states for quote in reading.chosen),
    }


def judge(values: dict[str, float], constants: Calibration) -> Verdict:
    """Return the probability that the question is answered."""
    total = constants.bias
    for name, mean, scale, weight in zip(
        constants.features, constants.mean, constants.scale, constants.weights, strict=True
    ):
        total += weight * (values[name] - mean) / scale
    return Verdict(sigmoid(total), values)
