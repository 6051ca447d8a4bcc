"""The extractive reader: from evidence blocks to quotes. No language model writes anything.

A span's score is

    0.40 · sigmoid(logit / T) + 0.15 · coverage + 0.15 · expected kind + 0.30 · block's final score

with the cross-encoder's logit of question against heading, header and span; coverage of the
question's idf-weighted stems by span and headings; expected kind 1 when the span holds the kind of
thing asked for (or nothing is known of the kind), else 0. The block counts as much as that because
a table row alone reads badly to a cross-encoder. A span that holds no word beyond the question's
says nothing and is no candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from retrieval.answer.expected import has_expected
from retrieval.answer.spans import Span, spans
from retrieval.config import AnswerConfig
from retrieval.modes.coverage import Lexis
from retrieval.modes.fusion import sigmoid
from retrieval.modes.question import Question, read_question, stems

CROSS, COVERAGE, KIND, BLOCK = 0.40, 0.15, 0.15, 0.30
_SPANS_OF_A_PART = 12
_LIST_KINDS = ("list", "table", "definitions")


class Scorer(Protocol):
    """What the reader needs of a reranker."""

    def score(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Return one logit per passage."""
        ...


@dataclass(frozen=True)
class Evidence:
    """One block as the reader gets it, in the reader's order."""

    row: int
    page_id: str
    title: str
    heading_path: list[str]
    kind: str
    text: str
    context: str | None
    ordinal: int
    final: float

    @property
    def heading_stems(self) -> frozenset[str]:
        """Return the stems of title, headings and context."""
        return stems(" ".join([self.title, *self.heading_path, self.context or ""]))


@dataclass(frozen=True)
class Quote:
    """A span of an evidence block with what speaks for it."""

    evidence: Evidence
    span: Span
    logit: float | None
    coverage: float
    expected: bool | None
    score: float


@dataclass(frozen=True)
class Reading:
    """The quotes that were chosen, and all that were scored (best first)."""

    chosen: list[Quote]
    scored: list[Quote]
    queries: list[str]


def read(
    question: Question,
    queries: Sequence[tuple[str, Lexis]],
    evidence: Sequence[Evidence],
    scorer: Scorer,
    lexis: Lexis,
    config: AnswerConfig,
    temperature: float,
) -> Reading:
    """Choose the quotes that answer ``question`` from ``evidence`` (best block first).

    ``queries`` are the sub-questions, with the weights of their words, that each deserve a quote of
    their own; it may be empty.
    """
    blocks = evidence[: config.read_blocks]
    candidates = _candidates(question, blocks, lexis, config)[: config.max_spans]
    if not candidates:
        return Reading([], [], [])
    scored = [_score(question.text, candidates, scorer, temperature)]
    for text, own in queries:
        # Sub-questions look at their best dozen only: each further pair is model time.
        nearest = _candidates(read_question(text), blocks, own, config)[:_SPANS_OF_A_PART]
        scored.append(_score(text, nearest, scorer, temperature))
    texts = [question.text, *(text for text, _ in queries)]
    best_overall = scored[0]
    if question.is_list:
        group = _list_group(scored[0], best_overall, evidence, lexis, config)
        if group:
            return Reading(group[: config.max_items], best_overall, list(texts))
        limit, margin = 2 * config.max_claims + 2, 2 * config.claim_margin
    else:
        limit, margin = config.max_claims, config.claim_margin
    firsts = [ranked[0] for ranked in scored[1:] if ranked]
    chosen = _distinct([best_overall[0], *firsts], best_overall, limit, margin)
    chosen = _whole_tables(chosen, texts, best_overall, lexis, config)
    return Reading(chosen, best_overall, list(texts))


def _candidates(
    question: Question, evidence: Sequence[Evidence], lexis: Lexis, config: AnswerConfig
) -> list[Quote]:
    """Return the spans worth reading: the best of each block, then by coverage and block."""
    found: list[Quote] = []
    asked = stems(question.text)
    for block in evidence:
        around = block.heading_stems
        for span in _spans(block, config):
            if stems(span.quote) <= asked:
                continue
            cover = lexis.coverage(around | stems(span.quote))
            expected = has_expected(question.expects, span.quote)
            value = COVERAGE * cover + KIND * (expected is not False) + BLOCK * block.final
            found.append(Quote(block, span, None, cover, expected, value))
    found.sort(key=lambda q: (-q.score, q.evidence.row, q.span.start))
    sure: list[Quote] = []
    rest: list[Quote] = []
    seen: set[int] = set()
    for quote in found:
        (rest if quote.evidence.row in seen else sure).append(quote)
        seen.add(quote.evidence.row)
    return sure + rest


def _spans(block: Evidence, config: AnswerConfig) -> list[Span]:
    return spans(block.text, block.kind, block.context, config.quote_words, block.heading_path)


def _score(query: str, candidates: list[Quote], scorer: Scorer, temperature: float) -> list[Quote]:
    """Return the candidates with the cross-encoder's logits for ``query``, best first."""
    logits = scorer.score(query, [passage(quote) for quote in candidates])
    scored = [
        replace(
            quote,
            logit=float(logit),
            score=quote.score + CROSS * sigmoid(float(logit), temperature),
        )
        for quote, logit in zip(candidates, logits, strict=True)
    ]
    return sorted(scored, key=lambda q: (-q.score, q.evidence.row, q.span.start))


def passage(quote: Quote) -> str:
    """Return what the cross-encoder reads of a quote: nearest heading and lead, then the quote."""
    block = quote.evidence
    near = block.heading_path[-2:] or [block.title]
    parts = list(dict.fromkeys([block.title, *near]))[-2:]
    lead = quote.span.header if quote.span.kind in ("item", "definition") else None
    return " ".join(filter(None, [" > ".join(parts) + ":", lead, quote.span.read]))


def _distinct(first: list[Quote], ranked: list[Quote], limit: int, margin: float) -> list[Quote]:
    """Return up to ``limit`` quotes: ``first``, then those within ``margin`` that add something."""
    best = ranked[0].score
    chosen: list[Quote] = []
    for quote in [*first, *(q for q in ranked if q.score >= best - margin)]:
        words = stems(quote.span.quote)
        if not words or len(chosen) >= limit:
            continue
        if not any(_repeats(words, stems(other.span.quote)) for other in chosen):
            chosen.append(quote)
    return chosen or [ranked[0]]


def _repeats(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether two quotes say the same: most words shared, and no other number."""
    smaller = min(len(a), len(b))
    numbers = {word for word in a ^ b if any(c.isdigit() for c in word)}
    return bool(smaller) and len(a & b) / smaller >= 0.7 and not numbers


def _list_group(
    ranked: list[Quote], scored: list[Quote], evidence: Sequence[Evidence], lexis: Lexis,
    config: AnswerConfig,
) -> list[Quote]:  # fmt: skip
    """Return all items of the list, table or definitions that answers, with its adjoining parts.

    Items are restricted to those that hold the question's words which tell the items apart: "which
    courses are taught in spring" keeps the rows that say spring.
    """
    leader = next((q for q in ranked[:3] if q.evidence.kind in _LIST_KINDS), None)
    if leader is None or leader.score < ranked[0].score - 2 * config.claim_margin:
        return []
    items = _items(leader, scored, config)
    weights = _telling(items, lexis)
    top = max(weights, default=0.0)
    chosen = [item for item, weight in zip(items, weights, strict=True) if weight >= top - 1e-9]
    if top > 0.0:
        chosen += _elsewhere(chosen, scored, evidence, lexis, config)
    return chosen


def _elsewhere(
    chosen: list[Quote], scored: list[Quote], evidence: Sequence[Evidence], lexis: Lexis,
    config: AnswerConfig,
) -> list[Quote]:  # fmt: skip
    """Return the items of other blocks that hold the words by which ``chosen`` were singled out.

    "Which programmes have a module led by X": one row in the module table of each programme.
    """
    rows = {quote.evidence.row for quote in chosen}
    telling = frozenset.intersection(*(stems(q.span.quote) for q in chosen)) & set(lexis.weights)
    known = {(q.evidence.row, q.span.start): q for q in scored}
    found = []
    for block in evidence:
        if block.row in rows or not telling:
            continue
        for span in _spans(block, config):
            if telling <= stems(span.quote):
                blank = Quote(block, span, None, 0.0, None, chosen[0].score)
                found.append(known.get((block.row, span.start), blank))
    return found


def _whole_tables(
    chosen: list[Quote], queries: Sequence[str], scored: list[Quote], lexis: Lexis,
    config: AnswerConfig,
) -> list[Quote]:  # fmt: skip
    """Put all rows of a small table in place of one row that no word of the question singles out.

    "When does the library open" is answered by the whole table of hours; "on Saturday" by a row.
    """
    asked = frozenset[str]().union(*(stems(query) for query in queries))
    complete: list[Quote] = []
    for quote in chosen:
        items = [quote]
        if quote.span.kind in ("row", "definition"):
            rows = _items(quote, scored, config)
            own = next(
                w for q, w in zip(rows, _telling(rows, lexis), strict=True) if _same(q, quote)
            )
            if (
                own == 0.0
                and len(rows) <= config.whole_rows
                and not asked & stems(quote.span.quote)
            ):
                items = rows
        complete += [q for q in items if not any(_same(q, other) for other in complete)]
    return complete


def _same(a: Quote, b: Quote) -> bool:
    return a.evidence.row == b.evidence.row and a.span.start == b.span.start


def _items(leader: Quote, scored: list[Quote], config: AnswerConfig) -> list[Quote]:
    """Return the spans of the leader's block and its adjoining parts, in document order."""
    blocks = {q.evidence.row: q.evidence for q in scored}
    parts = [
        block
        for block in blocks.values()
        if block.page_id == leader.evidence.page_id
        and block.heading_path == leader.evidence.heading_path
        and block.kind == leader.evidence.kind
    ]
    known = {(q.evidence.row, q.span.start): q for q in scored}
    return [
        known.get((block.row, span.start), Quote(block, span, None, 0.0, None, leader.score))
        for block in sorted(parts, key=lambda b: b.ordinal)
        for span in _spans(block, config)
    ]


def _telling(items: list[Quote], lexis: Lexis) -> list[float]:
    """Return for each item the weight of its question words that not (nearly) all items hold."""
    found = [stems(item.span.quote) for item in items]
    telling = {key for key in lexis.weights if 0 < sum(key in w for w in found) < len(found) * 0.9}
    return [sum(lexis.weights[key] for key in telling & words) for words in found]
