"""Fusion of our own: rank and score of every source, weighted, with a quota for each source.

For a source ``s`` with candidates ranked r = 0, 1, … and scores x, a candidate has the part

    p_s = a · κ / (κ + r)  +  (1 − a) · (x − x_min) / (x_max − x_min)

(a = ``rank_share``, κ = ``rank_constant``; the score part of a source whose scores are all equal is
1). Sources ``name:1``, ``name:2`` … ask the same of different sub-questions: the best one counts.
The fused score is the mean of the parts, weighted by the sources' weights, over the sources that
returned anything; a source that does not have the candidate gives 0. So fused lies in 0..1, the
rank part keeps an outlier of one source from ruling, and the score part keeps near ties near.

The final score is ``(1 − b) · fused/max fused + b · sigmoid(logit / T)``: the cross-encoder never
speaks alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from retrieval.config import FusionConfig, RerankConfig
from retrieval.modes.candidates import Candidate, Ranked


def fuse(sources: Mapping[str, Ranked], config: FusionConfig) -> list[Candidate]:
    """Return one candidate per row, best fused score first (ties by row)."""
    found: dict[int, Candidate] = {}
    parts: dict[int, dict[str, float]] = {}
    for name, ranked in sources.items():
        kind = name.partition(":")[0]
        for rank, (row, score), part in zip(
            range(len(ranked)), ranked, _parts(ranked, config), strict=True
        ):
            candidate = found.setdefault(row, Candidate(row))
            candidate.sources[name] = (rank, score)
            best = parts.setdefault(row, {})
            best[kind] = max(best.get(kind, 0.0), part)
    kinds = {name.partition(":")[0] for name, ranked in sources.items() if ranked}
    total = sum(config.weights.get(kind, 1.0) for kind in kinds)
    for row, candidate in found.items():
        weighted = sum(config.weights.get(kind, 1.0) * part for kind, part in parts[row].items())
        candidate.fused = weighted / total if total else 0.0
    return sorted(found.values(), key=lambda c: (-c.fused, c.row))


def _parts(ranked: Ranked, config: FusionConfig) -> Iterable[float]:
    if not ranked:
        return
    scores = [score for _, score in ranked]
    low, span = min(scores), max(scores) - min(scores)
    for rank, score in enumerate(scores):
        by_rank = config.rank_constant / (config.rank_constant + rank)
        by_score = (score - low) / span if span else 1.0
        yield config.rank_share * by_rank + (1 - config.rank_share) * by_score


def pool(candidates: list[Candidate], size: int, quota: int) -> list[Candidate]:
    """Return the ``size`` candidates to rerank, in fused order.

    The best ``quota`` of each source are sure of a place (fewer when the sources together would ask
    for more than half of the pool); the rest goes by fused score.
    """
    if len(candidates) <= size:
        return candidates
    names = sorted({name for candidate in candidates for name in candidate.sources})
    sure_each = min(quota, size // 2 // len(names)) if names else 0
    chosen = {
        candidate.row
        for candidate in candidates
        if any(rank < sure_each for rank, _ in candidate.sources.values())
    }
    for candidate in candidates:
        if len(chosen) >= size:
            break
        chosen.add(candidate.row)
    for candidate in candidates:
        if candidate.row not in chosen:
            candidate.status = "below the pool"
    return [candidate for candidate in candidates if candidate.row in chosen]


def sigmoid(logit: float, temperature: float = 1.0) -> float:
    """Return 1 / (1 + exp(−logit / temperature)), without overflow."""
    x = logit / temperature
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    return math.exp(x) / (1.0 + math.exp(x))


def finalise(candidates: list[Candidate], config: RerankConfig) -> list[Candidate]:
    """Set the final scores and return the candidates best first (ties by row)."""
    top = max((c.fused for c in candidates), default=0.0)
    for candidate in candidates:
        fused = candidate.fused / top if top else 0.0
        logit = candidate.logit
        if not config.enabled:
            candidate.final = fused
        elif logit is None:
            candidate.final = (1 - config.share) * fused
        else:
            read = sigmoid(logit, config.temperature)
            candidate.final = (1 - config.share) * fused + config.share * read
    return sorted(candidates, key=lambda c: (-c.final, c.row))
