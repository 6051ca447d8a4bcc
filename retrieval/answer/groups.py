"""Answers of several quotes: the items of a list, a whole table, a section, one quote per page."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.answer.evidence import Evidence, Quote, spans_of
from retrieval.config import AnswerConfig
from retrieval.modes.coverage import Lexis
from retrieval.modes.question import stems

LIST_KINDS = ("list", "table", "definitions")
_PLACE_SHARE = 0.8  # of the question's words in the best quote, that another page's quote must hold
_PLACE_LEAST = 0.25
_SINGLED_OUT = 0.3  # weight of a question's words that single out items of a section


def list_group(
    ranked: list[Quote], scored: list[Quote], evidence: Sequence[Evidence], lexis: Lexis,
    config: AnswerConfig,
) -> list[Quote]:  # fmt: skip
    """Return all items of the list, table or definitions that answers, with its adjoining parts.

    Items are restricted to those that hold the question's words which tell the items apart: "which
    courses are taught in spring" keeps the rows that say spring.
    """
    leader = next((q for q in ranked[:3] if q.evidence.kind in LIST_KINDS), None)
    if leader is None or leader.score < ranked[0].score - 2 * config.claim_margin:
        return []
    items = _items(leader, scored, config)
    # The heading's words say which list is meant, not which of its items.
    weights = _telling(items, _beyond(lexis, leader.evidence.near_stems))
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
        for span in spans_of(block, config):
            if telling <= stems(span.quote):
                blank = Quote(block, span, None, 0.0, None, chosen[0].score)
                found.append(known.get((block.row, span.start), blank))
    return found


def whole_tables(
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
                w
                for q, w in zip(rows, _telling(rows, lexis), strict=True)
                if q.place == quote.place
            )
            if (
                own == 0.0
                and len(rows) <= config.whole_rows
                and not asked & stems(quote.span.quote)
            ):
                items = rows
        complete += [q for q in items if not any(q.place == other.place for other in complete)]
    return complete


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
        for span in spans_of(block, config)
    ]


def _telling(items: list[Quote], lexis: Lexis) -> list[float]:
    """Return for each item the weight of its question words that not (nearly) all items hold."""
    found = [stems(item.span.quote) for item in items]
    telling = {key for key in lexis.weights if 0 < sum(key in w for w in found) < len(found) * 0.9}
    return [sum(lexis.weights[key] for key in telling & words) for words in found]


def by_place(scored: list[Quote], evidence: Sequence[Evidence], lexis: Lexis,
             config: AnswerConfig) -> list[Quote]:  # fmt: skip
    """Return one quote of every page that says what the best quote says of the question's words."""
    leader = scored[0]
    telling = stems(leader.span.quote) & set(lexis.weights)
    least = _PLACE_SHARE * lexis.coverage(telling)
    if least < _PLACE_SHARE * _PLACE_LEAST:
        return []
    known = {q.place: q for q in scored}
    best: dict[str, tuple[float, Quote]] = {leader.evidence.page_id: (1.0, leader)}
    for block in evidence:
        if block.page_id == leader.evidence.page_id:
            continue
        for span in spans_of(block, config):
            held = lexis.coverage(telling & stems(span.quote))
            blank = Quote(block, span, None, held, None, 0.0)
            quote = known.get((block.row, span.start), blank)
            worth = held + quote.score
            if held >= least and worth > best.get(block.page_id, (0.0, blank))[0]:
                best[block.page_id] = (worth, quote)
    return [quote for _, quote in best.values()]


def section_items(section: Sequence[Evidence], lexis: Lexis, path: frozenset[str], explicit: bool,
                  config: AnswerConfig) -> list[Quote]:  # fmt: skip
    """Return all items under a named heading, in order.

    Where the heading is named in passing and the question has a word of weight beyond it (stems
    ``path``) that only some items hold, only these are returned.
    """
    listed = [block for block in section if block.kind in LIST_KINDS] or section
    items = [
        Quote(block, span, None, lexis.coverage(block.heading_stems | stems(span.quote)), None, 0.0)
        for block in listed
        for span in spans_of(block, config)
    ]
    weights = _telling(items, _beyond(lexis, path))
    # A row of nothing but the question's words is a heading among the items.
    said = path | set(lexis.weights)
    weights = [
        0.0 if stems(item.span.quote) <= said else weight
        for item, weight in zip(items, weights, strict=True)
    ]
    top = max(weights, default=0.0)
    if explicit or top < _SINGLED_OUT:
        return items
    return [item for item, weight in zip(items, weights, strict=True) if weight >= top - 1e-9]


def _beyond(lexis: Lexis, said: frozenset[str]) -> Lexis:
    return Lexis({key: weight for key, weight in lexis.weights.items() if key not in said})
