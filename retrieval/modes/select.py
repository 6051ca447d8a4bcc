"""From ranked candidates to what the reader gets: duplicates once, quotas, budget, order."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.config import ContextConfig
from retrieval.modes.candidates import Candidate
from retrieval.modes.site import SiteView

# A short text means its heading ("4 units"): equal only under an equal nearest heading.
_SHORT_WORDS = 25
_SPLIT_KINDS = ("table", "list", "definitions", "code")


def distinct(site: SiteView, ranked: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates without repeats of a text; repeats become alternates of the first."""
    first: dict[tuple[int, str], Candidate] = {}
    kept = []
    for candidate in ranked:
        row = candidate.row
        key = (site.text(row), _meaning(site, row))
        if key in first:
            first[key].alternates.append(row)
            candidate.status = "duplicate"
        else:
            first[key] = candidate
            kept.append(candidate)
    return kept


def _meaning(site: SiteView, row: int) -> str:
    """Return the nearest heading of a short block, empty for one that speaks for itself."""
    if site.words(row) >= _SHORT_WORDS:
        return ""
    block = site.block(row)
    return (block.heading_path or [block.title])[-1]


def same_text(site: SiteView, row: int) -> list[int]:
    """Return the other rows of the index with the text of ``row``, one for each page, in order."""
    meaning, seen, found = _meaning(site, row), {site.page(row)}, []
    for other in site.rows_with_text(site.text(row)):
        if site.page(other) not in seen and _meaning(site, other) == meaning:
            seen.add(site.page(other))
            found.append(other)
    return found


def spread(
    site: SiteView, ranked: Sequence[Candidate], k: int, config: ContextConfig
) -> list[Candidate]:
    """Return the best ``k``: same-page penalty first, then a quota for each sub-question.

    Each sub-question is sure of its best ``k // (2 · sub-questions)`` candidates by its own logit.
    """
    better: dict[int, int] = {}
    penalised = []
    for candidate in ranked:
        page = site.page(candidate.row)
        penalised.append(
            (candidate.final - config.same_page_penalty * better.get(page, 0), candidate)
        )
        better[page] = better.get(page, 0) + 1
    order = [c for _, c in sorted(penalised, key=lambda item: (-item[0], item[1].row))]
    names = sorted({n for c in order for n in c.logits if n != "question"})
    sure: set[int] = set()
    for name in names:
        own = sorted((c for c in order if name in c.logits), key=lambda c: (-c.logits[name], c.row))
        sure.update(c.row for c in own[: k // (2 * len(names))])
    chosen = set(sure)
    for candidate in order:
        if len(chosen) >= k:
            break
        chosen.add(candidate.row)
    for candidate in order:
        if candidate.row in chosen:
            candidate.status = "kept"
        elif candidate.status == "reranked":
            candidate.status = "over quota"
    return [c for c in order if c.row in chosen][:k]


def within_budget(
    candidates: Sequence[Candidate], tokens: Sequence[int], budget: int
) -> list[Candidate]:
    """Return the candidates that fit ``budget`` tokens, best first; the first always fits.

    One that is too large is passed over so that a smaller one behind it still gets in.
    """
    kept: list[Candidate] = []
    used = 0
    for candidate, size in zip(candidates, tokens, strict=True):
        if kept and used + size > budget:
            candidate.status = "over budget"
            continue
        used += size
        kept.append(candidate)
    return kept


def reading_order(site: SiteView, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with adjoining parts of one table or list in document order.

    A run of parts (same page, kind and headings, neighbouring ordinals) stands where its best part
    stood.
    """
    blocks = {c.row: site.block(c.row) for c in candidates}

    def place(candidate: Candidate) -> tuple[str, tuple[str, ...], str, int]:
        block = blocks[candidate.row]
        return block.page_id, tuple(block.heading_path), block.kind, block.ordinal

    by_place = {place(c): c for c in candidates}
    ordered: list[Candidate] = []
    done: set[int] = set()
    for candidate in candidates:
        if candidate.row in done:
            continue
        page, path, kind, ordinal = place(candidate)
        run = [candidate]
        if kind in _SPLIT_KINDS:
            while (page, path, kind, ordinal - 1) in by_place:
                ordinal -= 1
            run = []
            while (page, path, kind, ordinal) in by_place:
                run.append(by_place[page, path, kind, ordinal])
                ordinal += 1
        ordered += [c for c in run if c.row not in done]
        done.update(c.row for c in run)
    return ordered
