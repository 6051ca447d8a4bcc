"""Typed patterns: mentions whose form says what they are.

Each pattern has a *gate*, a cheap expression of the regex dialect of polars, that selects the texts
worth scanning; the scan itself needs look-around and offsets in characters, so it is Python's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from assets.extraction.lines import Lines
from assets.extraction.roles import ROLE_PATTERN

VERSION = "1"
EXTRACTOR = "rule"
REMEMBERED = 1 << 15  # headings whose code is remembered: they recur in every stage

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan\.?|Feb\.?|Mar\.?|Apr\.?|Jun\.?|Jul\.?|Aug\.?|Sept?\.?|Oct\.?|Nov\.?|Dec\.?)"
)
_CLOCK = r"(?:[01]?\d|2[0-3])(?:[:.][0-5]\d)?\s?(?:[ap]\.?\s?m\b\.?)|(?:[01]?\d|2[0-3]):[0-5]\d"
_GAP = r"[ \u00a0]"
_CAP = r"[A-Z][\w’'&-]*"
_BUILDING = r"(?:Hall|Building|House|Library|Center|Centre|Tower|Annex|Pavilion|Laboratory)"
_STREET = r"(?:Street|St\.|Avenue|Ave\.|Road|Rd\.|Boulevard|Blvd\.?|Lane|Drive|Square|Way|Place)"
_HONORIFIC = (
    r"(?:(?:Dr|Prof|Mr|Mrs|Ms)\.?|Sir|Dame|Professor(?!\sEmerit)|Dean|Rector|Provost|Chancellor)"
)

# "Jack M. Potter", "Ana de la Cruz": two to five parts, the first and last with a capital.
PERSON_NAME = (
    r"[A-ZÀ-Þ][\w’'-]*\.?(?:[ \u00a0](?:[A-ZÀ-Þ][\w’'-]*\.?|de|da|van|von|der|del|la|le)){0,3}"
    r"[ \u00a0][A-ZÀ-Þ][\w’'-]+"
)

# A code is one to three upper-case words and a number: "PB HLTH 271H", "CS C100", "RFC 4180".
CODE = r"[A-Z][A-Z&]{1,9}(?:[ \u00a0][A-Z&]{1,9}){0,2}[ \u00a0][A-Z]{0,2}\d{1,4}[A-Z]{0,3}"
_NO_CODE_WORD = frozenset(
    ("A", "AND", "AT", "BY", "FOR", "FROM", "IN", "OF", "ON", "OR", "PLUS", "SEE", "THE", "TO",
     "WITH", "JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER",
     "OCTOBER", "NOVEMBER", "DECEMBER", "FALL", "SPRING", "SUMMER", "WINTER")
)  # fmt: skip


@dataclass(frozen=True)
class Pattern:
    """One typed pattern: mention type, confidence, scan and gate."""

    type: str
    confidence: float
    scan: re.Pattern[str]
    gate: str


def _p(type_: str, confidence: float, scan: str, gate: str) -> Pattern:
    return Pattern(type_, confidence, re.compile(scan), gate)


PATTERNS = (
    _p("EMAIL", 0.99, r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b", "@"),
    _p("URL", 0.99, r"\b(?:https?://|www\.)[^\s<>\"'()\[\]]+[^\s<>\"'()\[\].,;:!?]", r"://|www\."),
    _p(
        "PHONE", 0.9,
        r"(?<![\w+-])(?:\+\d{1,3}[\s.-]?)?(?:\(\d{2,4}\)\s?|\d{2,4}[\s.-])\d{3,4}[\s.-]\d{3,4}"
        r"(?:\s?(?:ext\.?|x)\s?\d{1,5})?(?![\w-])"
        r"|(?<![\w+-])(?:\+\d{1,3}[ .-]?(?:\(0\))?|0)\d{1,5}(?:[ .-]\d{2,4}){2,4}(?![\w-])",
        r"\d{2,4}[\s.-]\d{2,4}",
    ),
    _p(
        "MONEY", 0.95,
        r"(?:US\s?|CA\s?)?[$€£¥]\s?\d[\d,]*(?:\.\d+)?(?:\s?(?:million|billion|k)\b)?"
        r"|\b\d[\d,.]*\s?(?:dollars|euros?|pounds|EUR|USD|GBP|CHF)\b",
        r"[$€£¥]\s?\d|\d\s?(?:dollars|euro|pounds|EUR|USD|GBP|CHF)",
    ),
    _p(
        "DATE", 0.95,
        rf"\b{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?\b"
        rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTH}(?:\s\d{{4}})?\b"
        rf"|\b{_MONTH}\s\d{{4}}\b|\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}\b",
        r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*\.?\s\d|\d\s(?:Jan|Feb|Mar|Apr|May"
        r"|Jun|Jul|Aug|Sep|Oct|Nov|Dec)|\d-\d\d-\d|\d[/.]\d{1,2}[/.]\d{4}",
    ),
    _p(
        "TIME", 0.9,
        rf"(?<![\w:.])(?:{_CLOCK})(?:\s?(?:-|–|—|to|until)\s?(?:{_CLOCK}|noon|midnight))?(?![\w:])",
        r"\d\s?[apAP]\.?\s?[mM]\b|\d:\d\d",
    ),
    _p(
        "PLACE", 0.8,
        rf"\b(?:[Rr]oom|[Ss]uite){_GAP}[A-Z]?\d+[A-Z]?(?:,?{_GAP}(?:{_CAP}{_GAP}){{1,3}}{_BUILDING}\b)?"
        rf"|(?<![\w.])[A-Z]?\d{{1,4}}(?:\.\d{{1,3}})?[A-Z]?{_GAP}(?:{_CAP}{_GAP}){{1,3}}{_BUILDING}\b"
        rf"|(?<![\w.])\d{{1,5}}{_GAP}(?:{_CAP}{_GAP}){{1,3}}{_STREET}(?!\w)",
        rf"[Rr]oom\s|[Ss]uite\s|\d\w?\s[A-Z].*(?:{_BUILDING}|{_STREET})",
    ),
    _p(
        "PERSON", 0.9,
        rf"\b{_HONORIFIC}{_GAP}(?:[A-Z]\.{_GAP}?){{0,2}}[A-Z][a-z’'-]+[\w’'-]*"
        rf"(?:{_GAP}(?:[A-Z]\.{_GAP})?[A-Z][a-z’'-]+[\w’'-]*){{0,2}}",
        r"(?:Dr|Prof|Mr|Mrs|Ms|Sir|Dame|Professor|Dean|Rector|Provost|Chancellor)\.?\s[A-Z]",
    ),
    _p(
        "PERSON", 0.9,
        rf"(?m)^{PERSON_NAME}(?=,{_GAP}(?:[\w/&-]+{_GAP}){{0,4}}{ROLE_PATTERN}\b)",
        rf"(?m)^\p{{Lu}}[^,\n\t]{{3,50}},[ \u00a0].*{ROLE_PATTERN}",
    ),
    _p("CODE", 0.9, rf"(?<![\w&-]){CODE}(?![\w-]|\.\d)", r"[A-Z&][ \u00a0][A-Z]{0,2}\d"),
)  # fmt: skip

_FOUND = {
    "number": pl.UInt32, "start": pl.Int32, "end": pl.Int32, "type": pl.String,
    "confidence": pl.Float32,
}  # fmt: skip
# Titles that may be followed by the name of what is led: "Dean Engineering" is no person.
_BARE_TITLES = re.compile(r"(?:Dean|Rector|Provost|Chancellor)\s")
_CODE_AT_START = re.compile(rf"{CODE}(?![\w-]|\.\d)")


@lru_cache(maxsize=REMEMBERED)
def leading_code(text: str) -> str | None:
    """Return the code that ``text`` begins with ("CS 61A" of "CS 61A Programs"), or None."""
    match = _CODE_AT_START.match(text)
    return None if match is None or _trimmed(match.group()) else match.group()


def _trimmed(code: str) -> int:
    """Return how many characters of ``code`` are leading words that belong to no code."""
    cut = 0
    while True:
        word, gap, rest = code[cut:].replace("\u00a0", " ").partition(" ")
        if not gap or word not in _NO_CODE_WORD:
            return cut
        cut += len(word) + 1
        if not rest or not rest[0].isalpha() or " " not in rest:
            return len(code)


def scan(pattern: Pattern, text: str) -> list[tuple[int, int]]:
    """Return the spans (characters) of ``pattern`` in ``text``."""
    spans = []
    for match in pattern.scan.finditer(text):
        start, end = match.span()
        if pattern.type == "CODE":
            start += _trimmed(match.group())
        elif pattern.type == "PERSON":
            title = _BARE_TITLES.match(match.group())
            if title and " " not in match.group()[title.end() :]:
                continue
        if start < end:
            spans.append((start, end))
    return spans


def pattern_rows(texts: pl.DataFrame) -> pl.DataFrame:
    """Return the pattern mentions of ``texts`` (text_hash, text).

    Columns: text_hash, start, end, type, confidence. Where two patterns overlap the one listed
    first in `PATTERNS` keeps the span.
    """
    lines = Lines.of(texts)
    rows: list[tuple[int, int, int, str, float]] = []
    taken: dict[int, list[tuple[int, int]]] = {}
    for pattern in PATTERNS:
        gated = lines.said.filter(pl.col("line").str.contains(pattern.gate))
        for number, line in gated.iter_rows():
            spans = scan(pattern, line)
            if not spans:
                continue
            before = taken.setdefault(number, [])
            for start, end in spans:
                if not any(start < e and s < end for s, e in before):
                    before.append((start, end))
                    rows.append((number, start, end, pattern.type, pattern.confidence))
    return lines.spread(pl.DataFrame(rows, schema=_FOUND, orient="row")).select(
        "text_hash", "start", "end", "type", "confidence"
    )
