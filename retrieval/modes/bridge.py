"""Bridges: a relation that the question's words name leads to the entity it really asks about.

"When can I see the head of the Department of Computing?" names an entity and a relation of it
("Head of department"). The entity at the other end takes the place of the phrase, and the question
is asked again of that entity: "When can I see Desmond Adeyemi?"
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from retrieval.index.gazetteer import EntityHit
from retrieval.modes.graph import EntityGraph
from retrieval.modes.question import stem, stems

# Words of predicates that name the way a relation was found, not what it says.
_GENERIC = frozenset({"listed", "part", "link", "appear", "people", "peopl", "staff", "page"})
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Bridge:
    """The entity reached from a named one, and the question asked of it."""

    entity: int
    name: str
    predicate: str
    question: str
    weight: float


@lru_cache(maxsize=4096)
def _predicate_stems(predicate: str) -> frozenset[str]:
    return stems(predicate) - _GENERIC


def bridges(text: str, hits: list[EntityHit], graph: EntityGraph, limit: int) -> list[Bridge]:
    """Return at most ``limit`` bridges from the entities named in ``text``, strongest first."""
    asked = stems(text)
    found: dict[int, Bridge] = {}
    for hit in hits:
        own = stems(text[hit.start : hit.end])
        code = graph.code[hit.entity_id]
        for target, predicate, trust in graph.relations(code):
            shared = (_predicate_stems(predicate) & asked) - own
            if not shared or stems(graph.names[target]) <= asked:
                continue
            share = len(shared) / len(_predicate_stems(predicate))
            weight = hit.score * trust * share
            if target not in found or weight > found[target].weight:
                rewritten = _rewrite(text, hit, shared, graph.names[target])
                found[target] = Bridge(target, graph.names[target], predicate, rewritten, weight)
    ranked = sorted(found.values(), key=lambda b: (-b.weight, b.name))
    return ranked[:limit]


def _rewrite(text: str, hit: EntityHit, shared: frozenset[str], name: str) -> str:
    """Put ``name`` in place of the words from the relation's to the entity's, in either order."""
    spots = [(hit.start, hit.end)]
    spots += [m.span() for m in _WORD.finditer(text) if stem(m.group().casefold()) in shared]
    start, end = min(s for s, _ in spots), max(e for _, e in spots)
    before = re.sub(r"\b(?:the|a|an)\s+$", "", text[:start], flags=re.IGNORECASE)
    return " ".join(f"{before} {name}{text[end:]}".split())
