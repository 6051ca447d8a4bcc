"""Mode navigation: sub-questions → pages → linked neighbours → blocks of several pages ∪ BM25.

A page's score for a query is its best block plus a third of the mean of its best three (a page that
answers in several places is more likely about the thing). A link's score is

    w · overlap(question, anchor) + (1 − w) · score of the page it stands on

(both 0..1; w = ``anchor_weight``; overlap = idf-weighted share of the question's stems among the
anchor's). The best linked pages join the pages found; blocks are taken from all of them by vector,
at most ``blocks_per_page`` from one page.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from retrieval.config import DirectConfig, NavigationConfig
from retrieval.modes.candidates import Pool, Ranked
from retrieval.modes.coverage import Lexis
from retrieval.modes.question import Question, stems
from retrieval.modes.site import SiteView

_PAGE_DEPTH = 200  # blocks looked at to rank pages


def navigation(
    site: SiteView,
    question: Question,
    queries: Sequence[str],
    vectors: np.ndarray,
    lexis: Lexis,
    config: NavigationConfig,
    direct: DirectConfig,
) -> Pool:
    """Return the candidates; row 0 of ``vectors`` is the question, the others are ``queries``."""
    hits = [site.search.dense(vector, _PAGE_DEPTH) for vector in vectors]
    pages: dict[int, float] = {}
    for ranked in hits:
        for page, score in _pages(site, ranked)[: config.pages]:
            pages[page] = max(score, pages.get(page, 0.0))
    linked = _neighbours(site, pages, lexis, config)
    whole = vectors[0]
    sources: dict[str, Ranked] = {
        "dense": hits[0][: direct.dense_k],
        "pages": _blocks_of(site, whole, list(pages), config.blocks_per_page),
        "neighbours": _blocks_of(
            site, whole, [page for page, _, _ in linked], config.blocks_per_page
        ),
    }
    if direct.lexical_k:
        sources["lexical"] = site.search.lexical(question.text, direct.lexical_k)
    asked = {"question": question.text}
    for number, (query, ranked) in enumerate(zip(queries, hits[1:], strict=True), start=1):
        asked[f"subquestion:{number}"] = query
        sources[f"subquestion:{number}"] = ranked[: config.subquestion_k]
    notes = {
        "subquestions": list(queries),
        "pages": [{"url": site.page_url(page), "score": round(s, 4)} for page, s in pages.items()],
        "neighbours": [
            {"url": site.page_url(page), "anchor": anchor[:80], "score": round(score, 4)}
            for page, anchor, score in linked
        ],
    }
    return Pool(sources, asked, notes)


def _pages(site: SiteView, ranked: Ranked) -> list[tuple[int, float]]:
    """Return (page, score) best first, scores scaled so that the best is 1."""
    scores: dict[int, list[float]] = {}
    for row, score in ranked:
        scores.setdefault(site.page(row), []).append(score)
    raw = {p: s[0] + sum(s[:3]) / 9 for p, s in scores.items()}
    top = max(raw.values(), default=1.0)
    return sorted(((p, max(s / top, 0.0)) for p, s in raw.items()), key=lambda x: (-x[1], x[0]))


def _neighbours(
    site: SiteView, pages: dict[int, float], lexis: Lexis, config: NavigationConfig
) -> list[tuple[int, str, float]]:
    best: dict[int, tuple[float, str]] = {}
    for page, score in pages.items():
        for target, anchor in site.links.out(page):
            overlap = lexis.coverage(stems(anchor))
            if target in pages or overlap == 0.0:
                continue
            value = config.anchor_weight * overlap + (1 - config.anchor_weight) * score
            best[target] = max(best.get(target, (0.0, "")), (value, anchor))
    ranked = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))
    return [(page, anchor, score) for page, (score, anchor) in ranked[: config.neighbours]]


def _blocks_of(site: SiteView, vector: np.ndarray, pages: list[int], per_page: int) -> Ranked:
    """Return the blocks of ``pages`` by vector, at most ``per_page`` from each."""
    if not pages:
        return []
    rows = np.concatenate([site.rows_of(page) for page in pages])
    taken: dict[int, int] = {}
    found: Ranked = []
    for row, score in site.search.dense(vector, len(rows), rows):
        page = site.page(row)
        if taken.setdefault(page, 0) < per_page:
            taken[page] += 1
            found.append((row, score))
    return found
