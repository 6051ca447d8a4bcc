"""From found blocks to a response: what the reader is given, what it quotes, if it abstains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from retrieval.answer.abstain import Verdict, calibration, features, judge
from retrieval.answer.evidence import Evidence, Quote
from retrieval.answer.models import Citation, Claim
from retrieval.answer.reader import Reader, Reading, Section
from retrieval.answer.section import is_explicit, named_section
from retrieval.answer.trace import Trace
from retrieval.answer.write import claims
from retrieval.config import RetrievalConfig
from retrieval.index.view import BlockView
from retrieval.models.base import Embedder, Reranker
from retrieval.modes.candidates import Candidate
from retrieval.modes.coverage import Lexis
from retrieval.modes.pipeline import Found
from retrieval.modes.question import Question, read_question, stems
from retrieval.modes.rerank import place
from retrieval.modes.select import reading_order, same_text, within_budget
from retrieval.modes.site import SiteView

_ALTERNATES = 3  # further places cited for a text that stands on several pages
_PLACES = 12  # the same, when the question asks for the places
_SHOWN_SPANS = 20  # spans in the trace


@dataclass(frozen=True)
class Response:
    """What reading gave: claims (none when it abstains), and why."""

    claims: list[Claim]
    verdict: Verdict
    abstained: bool
    tokens: int
    """Tokens of the evidence given to the reader."""


def respond(
    site: SiteView,
    question: Question,
    found: Found,
    embedder: Embedder,
    reranker: Reranker,
    config: RetrievalConfig,
    trace: Trace,
) -> Response:
    """Read the found blocks within the token budget and quote what answers."""
    with trace.step("context"):
        views = [site.block(c.row) for c in found.ranked]
        under = named_section(question, views, site)
        ranked = _with_section(found.ranked, [block.row for block in under])
        texts = [reader_text(site.block(c.row)) for c in ranked]
        sizes = embedder.count_tokens(texts) if texts else []
        given = within_budget(ranked, sizes, config.context.token_budget)
        size_of = {c.row: size for c, size in zip(ranked, sizes, strict=True)}
        tokens = sum(size_of[c.row] for c in given)
        ordered = reading_order(site, given)
        evidence = [_evidence(site.block(c.row), c) for c in ordered]
        section = _section(question, under, evidence)
    queries = [
        (text, Lexis.of(read_question(text), site.idf))
        for name, text in found.queries.items()
        if name != "question"
    ]
    with trace.step("read"):
        reader = Reader(reranker, config.answer, config.rerank.temperature, site.idf)
        reading = reader.read(question, queries, evidence, found.lexis, section)
    with trace.step("write"):
        verdict, abstained = _judge(question, found, evidence, reading, reranker, config)
        made = [] if abstained else _claims(site, found, reading.chosen, question.asks_places)
        trace.stage(
            "reading",
            given=[site.block_id(c.row) for c in ordered],
            tokens=tokens,
            section=[block.block_id for block in under],
            queries=reading.queries,
            spans=[_entry(site, quote, reading) for quote in reading.scored[:_SHOWN_SPANS]],
        )
        trace.outcome = {
            "abstained": abstained,
            "probability": round(verdict.probability, 4),
            "features": {name: round(value, 4) for name, value in verdict.features.items()},
            "calibrated_for_this_reranker": calibration().reranker == reranker.sha256,
            "claims": len(made),
        }
    return Response(made, verdict, abstained, tokens)


def _with_section(ranked: list[Candidate], rows: list[int]) -> list[Candidate]:
    """Return the candidates with the section's rows first, in order, as good as its best one."""
    if not rows:
        return ranked
    known = {c.row: c for c in ranked}
    best = max((known[row].final for row in rows if row in known), default=0.0)
    section = [known.get(row) or Candidate(row, final=best, status="kept") for row in rows]
    return section + [c for c in ranked if c.row not in set(rows)]


def _section(
    question: Question, under: list[BlockView], evidence: list[Evidence]
) -> Section | None:
    """Return what of the named section is among the evidence."""
    if not under:
        return None
    by_row = {block.row: block for block in evidence}
    blocks = [by_row[block.row] for block in under if block.row in by_row]
    path = stems(" ".join([under[0].title, *under[0].heading_path]))
    return Section(blocks, path, is_explicit(question.text))


def reader_text(block: BlockView) -> str:
    """Return a block as the reader gets it: title and headings, the repeated header, the text."""
    lines = [place(block.title, block.heading_path), block.context or "", block.text]
    return "\n".join(line for line in lines if line)


def _evidence(block: BlockView, candidate: Candidate) -> Evidence:
    return Evidence(
        row=candidate.row, page_id=block.page_id, title=block.title,
        heading_path=list(block.heading_path), kind=block.kind, text=block.text,
        context=block.context, ordinal=block.ordinal, final=candidate.final,
    )  # fmt: skip


def _judge(
    question: Question, found: Found, evidence: list[Evidence], reading: Reading,
    reranker: Reranker, config: RetrievalConfig,
) -> tuple[Verdict, bool]:  # fmt: skip
    if not reading.chosen:
        return Verdict(0.0, {}), True
    constants = calibration()
    values = features(question, evidence, found.best_logit, found.similarity, reading, found.lexis)
    verdict = judge(values, constants)
    threshold = config.answer.abstain_below
    return verdict, verdict.probability < (constants.threshold if threshold is None else threshold)


def _claims(site: SiteView, found: Found, quotes: list[Quote], places: bool) -> list[Claim]:
    alternates = {c.row: c.alternates[:_ALTERNATES] for c in found.ranked}
    if places:
        alternates = {q.evidence.row: same_text(site, q.evidence.row)[:_PLACES] for q in quotes}

    def cite(row: int, quote: str) -> Citation:
        block = site.block(row)
        return Citation(
            block_id=block.block_id, lineage_id=block.lineage_id, url=block.url,
            heading_path=list(block.heading_path), quote=quote,
            entities=site.names_in(row), fetched_at=block.fetched_at,
        )  # fmt: skip

    return claims(quotes, cite, lambda row: alternates.get(row, []))


def _entry(site: SiteView, quote: Quote, reading: Reading) -> dict[str, Any]:
    return {
        "block_id": site.block_id(quote.evidence.row),
        "start": quote.span.start,
        "kind": quote.span.kind,
        "quote": quote.span.quote[:160],
        "logit": None if quote.logit is None else round(quote.logit, 4),
        "coverage": round(quote.coverage, 4),
        "expected": quote.expected,
        "score": round(quote.score, 4),
        "chosen": any(
            q.span == quote.span and q.evidence is quote.evidence for q in reading.chosen
        ),
    }
