"""Mode reasoning: entities of the question → bounded walk → blocks that cover them.

The entities named in the question weigh their gazetteer score; each hop follows the
``neighbours`` strongest relations of an entity (edge weight = trust of the kind × confidence) and
multiplies by ``decay``. A block's score is

    similarity · cos + coverage · min(Σ weight of its entities, cap) / cap
        + conciseness · max(0, 1 − words / concise_words)

and then, in descending order, ``same_page_penalty`` is taken off for each better block of the same
page, and the order is made anew: the penalty reorders. Facts of the named entities whose labels
share a word with the question are a source of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from retrieval.config import DirectConfig, ReasoningConfig
from retrieval.modes.bridge import bridges
from retrieval.modes.candidates import Pool, Ranked
from retrieval.modes.direct import direct as direct_mode
from retrieval.modes.question import Question, stems
from retrieval.modes.site import SiteView

Embed = Callable[[Sequence[str]], np.ndarray]


def reasoning(
    site: SiteView,
    question: Question,
    vector: np.ndarray,
    embed: Embed,
    config: ReasoningConfig,
    direct: DirectConfig,
) -> Pool:
    """Return the candidates; falls back to mode direct, and says so, when no entity is named.

    ``embed`` gives the vectors of questions asked of bridges (see `retrieval.modes.bridge`).
    """
    base = direct_mode(site, question, vector, direct)
    graph = site.entities
    seeds: dict[int, float] = {}
    hits = graph.gazetteer.find(question.text)[: config.max_entities]
    for hit in hits:
        code = graph.code[hit.entity_id]
        seeds[code] = max(hit.score, seeds.get(code, 0.0))
    if not seeds:
        fallback = "direct: no entity of the site is named"
        return Pool(base.sources, base.queries, {"entities": [], "fallback": fallback})
    over = bridges(question.text, hits, graph, config.bridges)
    for bridge in over:
        seeds[bridge.entity] = max(bridge.weight, seeds.get(bridge.entity, 0.0))
    reached, shown = _walk(site, seeds, config)
    blocks = _entity_blocks(site, reached, shown, config)
    sources = {
        **base.sources,
        "entities": _scored(site, vector, blocks, config),
        "facts": _facts(site, question, seeds, vector),
    }
    queries = dict(base.queries)
    if over:
        for number, (bridge, own) in enumerate(
            zip(over, embed([bridge.question for bridge in over]), strict=True), start=1
        ):
            queries[f"subquestion:{number}"] = bridge.question
            sources[f"subquestion:{number}"] = site.search.dense(own, config.bridge_k)
    names = sorted(reached.items(), key=lambda item: (-item[1], item[0]))[:30]
    notes: dict[str, object] = {
        "entities": [{"name": hit.name, "score": round(hit.score, 3)} for hit in hits],
        "bridges": [
            {"name": b.name, "predicate": b.predicate, "question": b.question} for b in over
        ],
        "reached": [{"name": graph.names[code], "weight": round(w, 3)} for code, w in names],
        "blocks": len(blocks),
    }
    return Pool(sources, queries, notes)


def _walk(
    site: SiteView, seeds: dict[int, float], config: ReasoningConfig
) -> tuple[dict[int, float], dict[int, float]]:
    """Return (entity → weight, block row that shows a followed relation → weight)."""
    graph = site.entities
    reached, shown = dict(seeds), dict[int, float]()
    frontier = dict(seeds)
    for _ in range(config.hops):
        following: dict[int, float] = {}
        for code in sorted(frontier):
            targets, edges = graph.related.edges(code)
            weights = graph.relation_weight[edges]
            for at in np.argsort(-weights, kind="stable")[: config.neighbours]:
                weight = frontier[code] * config.decay * float(weights[at])
                target, block = int(targets[at]), int(graph.relation_block[edges[at]])
                if block >= 0:
                    shown[block] = max(weight, shown.get(block, 0.0))
                if weight > reached.get(target, 0.0):
                    reached[target] = following[target] = weight
        frontier = following
    return reached, shown


def _entity_blocks(
    site: SiteView, reached: dict[int, float], shown: dict[int, float], config: ReasoningConfig
) -> dict[int, float]:
    """Return block row → summed weight of its reached entities, the heaviest ``max_blocks``."""
    graph = site.entities
    covered = dict(shown)
    for code, weight in reached.items():
        rows, edges = graph.blocks_of.edges(code)
        # A name that stands everywhere says little of any one block.
        rare = weight / (1.0 + math.log1p(len(rows)) / 4.0)
        for row, confidence in zip(rows.tolist(), graph.edge_confidence[edges], strict=True):
            covered[row] = covered.get(row, 0.0) + rare * float(confidence)
    heaviest = sorted(covered.items(), key=lambda item: (-item[1], item[0]))
    return dict(heaviest[: config.max_blocks])


def _scored(
    site: SiteView, vector: np.ndarray, blocks: dict[int, float], config: ReasoningConfig
) -> Ranked:
    rows = np.fromiter(blocks, dtype=np.int64, count=len(blocks))
    if not len(rows):
        return []
    scores: Ranked = []
    for row, similarity in site.search.dense(vector, len(rows), rows):
        cover = min(blocks[row], config.coverage_cap) / config.coverage_cap
        brief = max(0.0, 1.0 - site.words(row) / config.concise_words)
        score = (
            config.similarity * similarity + config.coverage * cover + config.conciseness * brief
        )
        scores.append((row, score))
    return penalise(scores, site, config.same_page_penalty)[: config.keep]


def penalise(scores: Ranked, site: SiteView, penalty: float) -> Ranked:
    """Take ``penalty`` off for each better block of the same page, and order anew."""
    better: dict[int, int] = {}
    adjusted: Ranked = []
    for row, score in sorted(scores, key=lambda item: (-item[1], item[0])):
        page = site.page(row)
        adjusted.append((row, score - penalty * better.get(page, 0)))
        better[page] = better.get(page, 0) + 1
    return sorted(adjusted, key=lambda item: (-item[1], item[0]))


def _facts(
    site: SiteView, question: Question, seeds: dict[int, float], vector: np.ndarray
) -> Ranked:
    """Return the blocks of the seeds' facts whose label shares a word with the question."""
    graph, asked = site.entities, stems(question.text)
    found: dict[int, float] = {}
    for code, weight in seeds.items():
        rows, facts = graph.facts_of.edges(code)
        for row, fact in zip(rows.tolist(), facts.tolist(), strict=True):
            label = stems(graph.label(fact))
            shared = len(label & asked) / len(label) if label else 0.0
            if shared:
                found[row] = max(weight * shared, found.get(row, 0.0))
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:20]
