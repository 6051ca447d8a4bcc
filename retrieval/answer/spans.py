"""Quotable spans of a block: headings, sentences, list items, table rows, definition lines.

A span is a slice of the block's text, so its quote is verbatim by construction. What a reader needs
beside it (a table's header cells, a list's lead) is ``header`` and never part of the quote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

SpanKind = Literal["heading", "sentence", "row", "item", "definition", "code"]

# A full stop after one of these, or after a single letter, does not end a sentence.
_ABBREVIATIONS_WORDS = """
dr mr mrs ms prof st no vs etc e.g i.e jr sr inc ltd co dept univ approx fig sec ch vol pp p u.s
u.k ph.d m.a b.a b.s m.s a.m p.m jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed
thu fri sat sun tel ext rm bldg ave blvd min max hrs
"""
_ABBREVIATIONS = frozenset(_ABBREVIATIONS_WORDS.split())
_END = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s+[\"'“‘(\[]?[A-Z0-9])")
_LAST_WORD = re.compile(r"([\w.]+)$")
_LABELLED = re.compile(r"[^:]{1,60}:\s+\S")
Line = tuple[int, int]
# A line that names what the next line says: "Phone:", "Office hours:".
_LABEL_WORDS = 8
_RUN_WORDS = 32  # a run of short lines that is longer is cut
_ITEM_WORDS = 60  # a line whose short first sentence names what the rest says stays whole up to it
_ALIKE_LINES = 4  # so many short lines, nearly all of several words, are the items of a list
_ALIKE_WORDS = 3
_LEAST_SENTENCE = 3  # "SE 2L." before "Structural Materials" numbers a course, it says nothing


@dataclass(frozen=True)
class Span:
    """``text[start:end]`` of a block, without surrounding whitespace."""

    start: int
    end: int
    kind: SpanKind
    quote: str
    header: str | None = None

    @property
    def words(self) -> int:
        """Return the number of whitespace-separated words of the quote."""
        return len(self.quote.split())

    @property
    def read(self) -> str:
        """Return the quote as it is read: cells named by their header cells, one line."""
        if self.kind == "definition" and "\t" in self.quote:
            term, _, value = self.quote.partition("\t")
            return f"{' '.join(term.split()).rstrip(':')}: {' '.join(value.split())}"
        if self.kind != "row":
            return " ".join(self.quote.split())
        cells = [" ".join(cell.split()) for cell in self.quote.split("\t")]
        heads = [" ".join(h.split()) for h in self.header.split("\t")] if self.header else []
        if len(heads) == len(cells):
            named = [
                f"{h}: {c}" if h and c and h != c else c for h, c in zip(heads, cells, strict=True)
            ]
            return "; ".join(part for part in named if part)
        return " | ".join(cell for cell in cells if cell)


def spans(
    text: str,
    kind: str,
    context: str | None,
    max_words: int,
    headings: Sequence[str] = (),
    alone: Callable[[str], bool] | None = None,
) -> list[Span]:
    """Split the ``text`` of a block of ``kind`` into spans of at most ``max_words`` words.

    ``context`` is the repeated header or lead of a split part, ``headings`` the block's heading
    path; a short line of which ``alone`` is true is not joined to its neighbours. Order is document
    order; spans do not overlap and leave out only whitespace, empty lines, a table's caption and
    header row, and leading lines that are the block's own headings (unless there is nothing else).
    """
    lines = list(_lines(text))
    first = _own_headings(text, lines, headings)
    if first < len(lines):
        lines = lines[first:]
    if kind == "table":
        found = list(_rows(text, lines, context))
    elif kind == "code":
        found = [_span(text, start, end, "code") for start, end in lines]
    elif kind == "definitions":
        found = list(_definitions(text, lines, context))
    elif kind == "list":
        found = [_span(text, s, e, "item", context) for s, e in _labelled(text, lines)]
    else:
        found = list(_prose(text, lines, alone))
    return [part for span in found for part in _bounded(text, span, max_words)]


def heading_span(text: str, headings: Sequence[str]) -> Span | None:
    """Return the innermost of the block's own headings at the beginning of ``text``, if any."""
    lines = list(_lines(text))
    count = _own_headings(text, lines, headings)
    return _span(text, *lines[count - 1], "heading") if count else None


def _own_headings(text: str, lines: Sequence[Line], headings: Sequence[str]) -> int:
    """Return how many of the first ``lines`` are headings of the block."""
    known = {" ".join(heading.split()) for heading in headings}
    count = 0
    while count < len(lines) and " ".join(text[slice(*lines[count])].split()) in known:
        count += 1
    return count


def _span(text: str, start: int, end: int, kind: SpanKind, header: str | None = None) -> Span:
    raw = text[start:end]
    start += len(raw) - len(raw.lstrip())
    quote = raw.strip()
    return Span(start, start + len(quote), kind, quote, header)


def _lines(text: str) -> Iterator[Line]:
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            yield start, start + len(line)
        start += len(line)


def _labelled(text: str, lines: Sequence[Line]) -> Iterator[Line]:
    """Yield lines, a line that ends in a colon together with the next one."""
    held: int | None = None
    for start, end in lines:
        line = text[start:end].strip()
        if line.endswith(":") and len(line.split()) <= _LABEL_WORDS and held is None:
            held = start
            held_end = end
            continue
        yield (start if held is None else held), end
        held = None
    if held is not None:
        yield held, held_end


def _prose(text: str, lines: Sequence[Line], alone: Callable[[str], bool] | None) -> Iterator[Span]:
    """Yield sentences and items; a run of short lines, as in an address, is one span.

    Short lines that are alike are the items of a list: each is a span.
    """
    run: list[Line] = []
    for start, end in [*lines, (len(text), len(text))]:
        words = text[start:end].split()
        short = 0 < len(words) <= _LABEL_WORDS and words[-1][-1] not in ".!?"
        single = short and alone is not None and alone(text[start:end].strip())
        labelled = bool(run) and text[slice(*run[-1])].strip().endswith(":")
        if run and (not short or single):
            if labelled and words:
                run.append((start, end))
            yield from _runs(text, run)
            run = []
            if labelled and words:
                continue
        if short and not single:
            run.append((start, end))
        else:
            yield from _line(text, start, end)


def _runs(text: str, run: Sequence[Line]) -> Iterator[Span]:
    """Yield a run of short lines: alike ones by line, others together up to a length."""
    sizes = [len(text[slice(*line)].split()) for line in run]
    several = sum(size >= _ALIKE_WORDS for size in sizes)
    if len(run) >= _ALIKE_LINES and several >= 0.75 * len(run):
        for start, end in _labelled(text, run):
            yield _span(text, start, end, "item")
        return
    first, total = 0, 0
    for at, size in enumerate(sizes):
        held = at > 0 and text[slice(*run[at - 1])].strip().endswith(":")
        if total and total + size > _RUN_WORDS and not held:
            yield _span(text, run[first][0], run[at - 1][1], "sentence")
            first, total = at, 0
        total += size
    yield _span(text, run[first][0], run[-1][1], "sentence")


def _line(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the sentences of a line; a name or title before the first stop stays with what follows.

    "Jane Roe, Professor. Seaweed, tides." is one item.
    """
    found = list(_sentences(text, start, end))
    if len(found) > 1 and _is_name(text[slice(*found[0])]):
        if len(text[start:end].split()) <= _ITEM_WORDS:
            yield _span(text, start, end, "item")
            return
        found[:2] = [(found[0][0], found[1][1])]
    yield from (_span(text, s, e, "sentence") for s, e in found)


def _is_name(sentence: str) -> bool:
    """Return whether a sentence is a few words, all but the small ones with a capital."""
    words = sentence.split()
    long = [w for w in words if len(w) > 3 and w[0].isalpha()]
    return len(words) <= _LABEL_WORDS and bool(long) and all(w[0].isupper() for w in long)


def _definitions(text: str, lines: Sequence[Line], lead: str | None) -> Iterator[Span]:
    """Yield term and definition together.

    A line that holds a tab or "label: value" is whole; any other short line is a term whose
    definition is the next line.
    """
    held: Line | None = None
    for start, end in lines:
        line = text[start:end].strip()
        whole = "\t" in line or bool(_LABELLED.match(line))
        if held is not None:
            yield _span(text, held[0], end, "definition", lead)
            held = None
        elif whole or len(line.split()) > 2 * _LABEL_WORDS:
            yield _span(text, start, end, "definition", lead)
        else:
            held = (start, end)
    if held is not None:
        yield _span(text, *held, "definition", lead)


def _rows(text: str, lines: Sequence[Line], context: str | None) -> Iterator[Span]:
    header = context.strip("\n") if context else None
    if header is None and len(lines) > 2 and "\t" not in text[slice(*lines[0])].strip():
        # A caption: one cell above a row of several that name the columns.
        lines = lines[1:] if _is_header(text[slice(*lines[1])]) else lines
    if header is None and len(lines) > 1 and _is_header(text[slice(*lines[0])]):
        header = text[slice(*lines[0])].strip("\n")
        lines = lines[1:]
    if header is not None:
        header = header.rstrip("\t")
    for start, end in lines:
        yield _span(text, start, end, "row", header)


def _is_header(line: str) -> bool:
    cells = [cell.strip() for cell in line.strip("\n").split("\t") if cell.strip()]
    return len(cells) > 1 and not any(c.isdigit() or c == "@" for cell in cells for c in cell)


def _sentences(text: str, start: int, end: int) -> Iterator[Line]:
    at = start
    for match in _END.finditer(text, start, end):
        before = _LAST_WORD.search(text, at, match.start())
        word = before.group().lower().strip(".") if before else ""
        if match.group().startswith(".") and (
            word in _ABBREVIATIONS
            or len(word) == 1
            or len(text[at : match.end()].split()) < _LEAST_SENTENCE
        ):
            continue
        yield at, match.end()
        at = match.end()
    if text[at:end].strip():
        yield at, end


def _bounded(text: str, span: Span, max_words: int) -> Iterator[Span]:
    """Cut a span that is too long at sentence ends, then at words."""
    if span.words <= max_words:
        yield span
        return
    pieces = list(_sentences(text, span.start, span.end))
    if len(pieces) > 1:
        for start, end in pieces:
            piece = _span(
                text, start, end, span.kind if span.kind != "row" else "item", span.header
            )
            yield from _bounded(text, piece, max_words)
        return
    words = list(re.finditer(r"\S+", span.quote))
    for first in range(0, len(words), max_words):
        last = words[min(first + max_words, len(words)) - 1]
        kind: SpanKind = "item" if span.kind == "row" else span.kind
        yield _span(
            text, span.start + words[first].start(), span.start + last.end(), kind, span.header
        )
