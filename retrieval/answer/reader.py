"""The extractive reader: from evidence blocks to quotes. No language model writes anything.

A span's score is

    0.40 · sigmoid(logit / T) + 0.15 · coverage + 0.15 · expected kind + 0.30 · block's final score
    + 0.30 · states − 0.20 · plain

with the cross-encoder's logit of question against heading, header and span; coverage of the
question's idf-weighted stems by span and headings; expected kind 1 when the span holds the kind of
thing asked for (or nothing is known of the kind), else 0. The block counts as much as that because
a table row alone reads badly to a cross-encoder. ``states`` (0, ½ or 1) says that the span, with
the heading that the question names, states the very thing: see `states`. ``plain`` is 1 for a short
line that says nothing of its own (`plain`). A span that holds no word beyond the question's says
nothing and is no candidate, unless the question asks where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from retrieval.answer.evidence import Evidence, Quote, heading_of, spans_of
from retrieval.answer.expected import has_expected
from retrieval.answer.groups import by_place, list_group, section_items, whole_tables
from retrieval.answer.worth import Plain, states
from retrieval.config import AnswerConfig
from retrieval.modes.coverage import Idf, Lexis
from retrieval.modes.fusion import sigmoid
from retrieval.modes.question import Question, read_question, stems

CROSS, COVERAGE, KIND, BLOCK = 0.40, 0.15, 0.15, 0.30
STATES, PLAIN = 0.30, 0.20
_SPANS_OF_A_PART = 12
_LOGITS = 4.0  # a further quote is read at most so much worse than the best, in logits


class Scorer(Protocol):
    """What the reader needs of a reranker."""

    def score(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Return one logit per passage."""
        ...


@dataclass(frozen=True)
class Reading:
    """The quotes that were chosen, and all that were scored (best first)."""

    chosen: list[Quote]
    scored: list[Quote]
    queries: list[str]


@dataclass(frozen=True)
class Section:
    """The blocks under a heading that the question names, in order."""

    blocks: list[Evidence]
    path: frozenset[str]
    """Stems of the heading path."""
    explicit: bool
    """The path is written as a path or in quotation marks."""


@dataclass(frozen=True)
class Reader:
    """Reads evidence for questions; holds what does not change between the parts of a question."""

    scorer: Scorer
    config: AnswerConfig
    temperature: float
    idf: Idf

    def read(
        self, question: Question, queries: Sequence[tuple[str, Lexis]],
        evidence: Sequence[Evidence], lexis: Lexis, section: Section | None = None,
    ) -> Reading:  # fmt: skip
        """Choose the quotes that answer ``question`` from ``evidence`` (best block first).

        ``queries`` are the sub-questions, with the weights of their words, that each deserve a
        quote of their own; it may be empty. ``section`` is quoted whole.
        """
        config = self.config
        blocks = evidence[: config.read_blocks]
        candidates = self._candidates(question, blocks, lexis)[: config.max_spans]
        texts = [question.text, *(text for text, _ in queries)]
        if not candidates:
            return Reading([], [], [])
        scored = self._score(question.text, candidates)
        if section and (items := section_items(
            section.blocks, lexis, section.path, section.explicit, config
        )):  # fmt: skip
            known = {q.place: q for q in scored}
            items = [known.get(q.place, q) for q in items][: 2 * config.max_items]
            return Reading(items, scored, texts)
        firsts = []
        for text, own in queries:
            # Sub-questions look at their best dozen only: each further pair is model time.
            nearest = self._candidates(read_question(text), blocks, own)[:_SPANS_OF_A_PART]
            firsts += self._score(text, nearest)[:1]
        chosen = self._choose(question, scored, firsts, evidence, lexis, texts)
        return Reading(chosen, scored, texts)

    def _choose(
        self, question: Question, scored: list[Quote], firsts: list[Quote],
        evidence: Sequence[Evidence], lexis: Lexis, texts: list[str],
    ) -> list[Quote]:  # fmt: skip
        config = self.config
        if question.asks_places:
            places = by_place(scored, evidence, lexis, config)
            if len(places) > 1:
                return places[: config.max_items]
        limit, margin = config.max_claims, config.claim_margin
        if question.is_list:
            if group := list_group(scored, scored, evidence, lexis, config):
                return group[: config.max_items]
            limit, margin = 2 * config.max_claims, 1.5 * config.claim_margin
        chosen = _distinct([scored[0], *firsts], scored, limit, margin)
        return whole_tables(chosen, texts, scored, lexis, config)

    def _candidates(
        self, question: Question, evidence: Sequence[Evidence], lexis: Lexis
    ) -> list[Quote]:
        """Return the spans worth reading: the best of each block, then by coverage and block."""
        asked = stems(question.text)
        plain = Plain((block.text for block in evidence), asked, self.idf)
        found: list[Quote] = []
        for block in evidence:
            around = block.heading_stems

            def alone(line: str, around: frozenset[str] = around) -> bool:
                return plain(line, around)

            for span in spans_of(block, self.config, alone):
                if stems(span.quote) <= asked and not question.asks_places:
                    continue
                cover = lexis.coverage(around | stems(span.quote))
                expected = has_expected(question.expects, span.quote)
                value = COVERAGE * cover + KIND * (expected is not False) + BLOCK * block.final
                says = states(question, span.quote, False, block.near_stems, lexis)
                empty = span.kind == "sentence" and alone(span.quote)
                value += STATES * says - PLAIN * empty
                found.append(Quote(block, span, None, cover, expected, value, says, empty))
            found += _heading(question, block, lexis)
        found.sort(key=lambda q: (-q.score, q.evidence.row, q.span.start))
        sure: list[Quote] = []
        rest: list[Quote] = []
        seen: set[int] = set()
        for quote in found:
            (rest if quote.evidence.row in seen else sure).append(quote)
            seen.add(quote.evidence.row)
        return sure + rest

    def _score(self, query: str, candidates: list[Quote]) -> list[Quote]:
        """Return the candidates with the cross-encoder's logits for ``query``, best first."""
        logits = self.scorer.score(query, [passage(quote) for quote in candidates])
        scored = [
            replace(
                quote,
                logit=float(logit),
                score=quote.score + CROSS * sigmoid(float(logit), self.temperature),
            )
            for quote, logit in zip(candidates, logits, strict=True)
        ]
        return sorted(scored, key=lambda q: (-q.score, q.evidence.row, q.span.start))


def _heading(question: Question, block: Evidence, lexis: Lexis) -> list[Quote]:
    """Return the block's own heading as a quote when it states what is asked."""
    span = heading_of(block)
    if span is None or not states(question, span.quote, True, frozenset(), lexis):
        return []
    cover = lexis.coverage(block.heading_stems)
    value = COVERAGE * cover + KIND + BLOCK * block.final + STATES
    return [Quote(block, span, None, cover, True, value, 1.0)]


def passage(quote: Quote) -> str:
    """Return what the cross-encoder reads of a quote: nearest heading and lead, then the quote."""
    block = quote.evidence
    near = block.heading_path[-2:] or [block.title]
    parts = list(dict.fromkeys([block.title, *near]))[-2:]
    lead = quote.span.header if quote.span.kind in ("item", "definition") else None
    return " ".join(filter(None, [" > ".join(parts) + ":", lead, quote.span.read]))


def _distinct(first: list[Quote], ranked: list[Quote], limit: int, margin: float) -> list[Quote]:
    """Return up to ``limit`` quotes: ``first``, then those within ``margin`` that add something."""
    best = ranked[0]
    near = [q for q in ranked if q.score >= best.score - margin and not q.plain]
    if best.states == 1.0 or any(quote.states for quote in first[1:]):
        near = []  # the thing itself is stated
    elif best.logit is not None:
        near = [q for q in near if q.logit is not None and q.logit >= best.logit - _LOGITS]
    chosen: list[Quote] = []
    for quote in [*first, *near]:
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
