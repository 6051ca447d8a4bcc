"""One question through route → candidates → fusion → rerank → select, every stage in the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from retrieval.answer.trace import Trace
from retrieval.config import RetrievalConfig
from retrieval.models.base import Embedder, Reranker
from retrieval.modes.candidates import Candidate, Pool
from retrieval.modes.coverage import Lexis
from retrieval.modes.direct import direct
from retrieval.modes.fusion import finalise, fuse
from retrieval.modes.navigation import navigation
from retrieval.modes.question import Question
from retrieval.modes.reasoning import Embed, reasoning
from retrieval.modes.rerank import passage, share_out
from retrieval.modes.router import Route, route
from retrieval.modes.select import distinct, spread
from retrieval.modes.site import SiteView
from retrieval.modes.subquestions import subquestions


@dataclass(frozen=True)
class Found:
    """The best blocks of a question, best first, and what the reader needs to know of the way."""

    route: Route
    ranked: list[Candidate]
    queries: dict[str, str]
    lexis: Lexis
    similarity: float
    """Best dense score of a block for the question itself."""

    @property
    def best_logit(self) -> float | None:
        """Return the best cross-encoder logit of a kept block; None without reranking."""
        return max((c.logit for c in self.ranked if c.logit is not None), default=None)


def find(
    site: SiteView,
    embedder: Embedder,
    reranker: Reranker,
    question: Question,
    mode: str,
    k: int,
    config: RetrievalConfig,
    trace: Trace,
) -> Found:
    """Return the best ``k`` blocks for ``question`` in ``mode`` (auto routes)."""
    chosen = route(question, mode)
    trace.route = {
        "mode": chosen.mode, "confidence": chosen.confidence, "alternative": chosen.alternative,
        "reason": chosen.reason, "forced": chosen.forced,
    }  # fmt: skip
    lexis = Lexis.of(question, site.idf)
    parts: list[str] = []
    if chosen.mode == "navigation":
        parts = subquestions(question.text, config.navigation.max_subquestions)

    def embed(texts: Sequence[str]) -> np.ndarray:
        with trace.step("embed"):
            return embedder.embed(texts, kind="query")

    vectors = embed([question.text, *parts])
    with trace.step("candidates"):
        pooled = _pool(site, question, chosen, parts, vectors, lexis, embed, config)
        if repeated := site.site_facts.find(lexis):
            sources = {**pooled.sources, "site facts": repeated}
            pooled = Pool(sources, pooled.queries, pooled.notes)
    with trace.step("fusion"):
        candidates = fuse(pooled.sources, config.fusion)
    ranked = _rerank(site, reranker, candidates, pooled, config, trace)
    with trace.step("select"):
        kept = spread(site, distinct(site, ranked), k, config.context)
    _record(site, pooled, candidates, kept, config, trace)
    similarity = max((score for _, score in pooled.sources["dense"]), default=0.0)
    return Found(chosen, kept, dict(pooled.queries), lexis, similarity)


def _pool(
    site: SiteView, question: Question, chosen: Route, parts: list[str], vectors: np.ndarray,
    lexis: Lexis, embed: Embed, config: RetrievalConfig,
) -> Pool:  # fmt: skip
    if chosen.mode == "navigation":
        return navigation(site, question, parts, vectors, lexis, config.navigation, config.direct)
    if chosen.mode == "reasoning":
        return reasoning(site, question, vectors[0], embed, config.reasoning, config.direct)
    return direct(site, question, vectors[0], config.direct)


def _rerank(
    site: SiteView, reranker: Reranker, candidates: list[Candidate], pooled: Pool,
    config: RetrievalConfig, trace: Trace,
) -> list[Candidate]:  # fmt: skip
    if not config.rerank.enabled:
        return finalise(candidates, config.rerank)
    shares = share_out(candidates, pooled.queries, config.rerank, config.fusion.quota)
    with trace.step("fetch"):
        rows = {c.row for share in shares.values() for c in share}
        texts = {r: passage(site.block(r), config.rerank.max_words) for r in sorted(rows)}
    with trace.step("rerank"):
        for name, share in shares.items():
            if not share:
                continue
            logits = reranker.score(pooled.queries[name], [texts[c.row] for c in share])
            for candidate, logit in zip(share, logits, strict=True):
                candidate.logits[name] = float(logit)
                candidate.status = "reranked"
    return finalise(candidates, config.rerank)


def _record(
    site: SiteView, pooled: Pool, candidates: list[Candidate], kept: list[Candidate],
    config: RetrievalConfig, trace: Trace,
) -> None:  # fmt: skip
    with trace.step("trace"):
        trace.stage(
            "candidates",
            sources={name: len(ranked) for name, ranked in pooled.sources.items()},
            queries=dict(pooled.queries),
            **pooled.notes,
        )
        shown = sorted(candidates, key=lambda c: (-c.final, -c.fused, c.row))
        trace.stage(
            "ranking",
            total=len(candidates),
            shown=min(len(shown), config.trace.candidates),
            kept=[site.block_id(c.row) for c in kept],
            candidates=[_entry(site, c) for c in shown[: config.trace.candidates]],
        )


def _entry(site: SiteView, candidate: Candidate) -> dict[str, Any]:
    return {
        "block_id": site.block_id(candidate.row),
        "url": site.url(candidate.row),
        "sources": {n: [rank, round(s, 5)] for n, (rank, s) in candidate.sources.items()},
        "fused": round(candidate.fused, 5),
        "logits": {n: round(logit, 4) for n, logit in candidate.logits.items()},
        "final": round(candidate.final, 5),
        "status": candidate.status,
        "alternates": [site.block_id(row) for row in candidate.alternates[:10]],
    }
