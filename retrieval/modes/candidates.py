"""A candidate block on its way: candidates → fusion → rerank → select → reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Ranked = list[tuple[int, float]]
"""Block rows with scores, best first: what a source gives."""


@dataclass
class Candidate:
    """One block with what every stage said of it; ranks are 0-based."""

    row: int
    sources: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Source name → (rank, score) in that source."""
    fused: float = 0.0
    logits: dict[str, float] = field(default_factory=dict)
    """Query name (``question`` or ``subquestion:n``) → cross-encoder logit."""
    final: float = 0.0
    status: str = "pooled"
    """pooled, reranked, kept, or why not: below the pool, duplicate, over budget, over quota."""
    alternates: list[int] = field(default_factory=list)
    """Rows with the same text on other pages or places."""

    @property
    def logit(self) -> float | None:
        """Return the best cross-encoder logit; None when it was not read."""
        return max(self.logits.values()) if self.logits else None


@dataclass(frozen=True)
class Pool:
    """What a mode hands to fusion."""

    sources: Mapping[str, Ranked]
    queries: Mapping[str, str]
    """Query name → text the cross-encoder compares with; ``question`` is always there."""
    notes: Mapping[str, object] = field(default_factory=dict)
    """What the mode did, for the trace (sub-questions, pages, entities, fall-back)."""
