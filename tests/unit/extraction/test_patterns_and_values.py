"""Typed patterns, codes and value types, by their form alone."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.extraction.patterns import leading_code, pattern_rows
from assets.extraction.values import value_type
from retrieval.snapshot.schemas import VALUE_TYPES


def _found(text: str) -> list[tuple[str, str]]:
    rows = pattern_rows(pl.DataFrame({"text_hash": ["x"], "text": [text]}))
    return [
        (type_, text[start:end])
        for start, end, type_ in rows.sort("start").select("start", "end", "type").iter_rows()
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to a.b@x.example.edu now.", [("EMAIL", "a.b@x.example.edu")]),
        ("See (https://x.example/a).", [("URL", "https://x.example/a")]),
        ("Call (510) 642-1234 or 01632 960 224.",
         [("PHONE", "(510) 642-1234"), ("PHONE", "01632 960 224")]),
        ("It costs $1,200.50 a year.", [("MONEY", "$1,200.50")]),
        ("Apply by March 3, 2021 or 4 May.", [("DATE", "March 3, 2021"), ("DATE", "4 May")]),
        ("Open 9:30 a.m. – 5 p.m. daily", [("TIME", "9:30 a.m. – 5 p.m.")]),
        ("In T2.16 Tidewater Building", [("PLACE", "T2.16 Tidewater Building")]),
        ("Ask Dr. Jane Q. Smith today", [("PERSON", "Dr. Jane Q. Smith")]),
        ("Jack M. Potter, Professor Emeritus. Peasants.", [("PERSON", "Jack M. Potter")]),
        ("The Dean Engineering", []),
        ("Take PB\u00a0HLTH 271H OR MATH 1A", [("CODE", "PB\u00a0HLTH 271H"), ("CODE", "MATH 1A")]),
        ("IELTS 6.5 in MAY 2021", []),
    ],
)  # fmt: skip
def test_patterns(text: str, expected: list[tuple[str, str]]) -> None:
    assert _found(text) == expected


@settings(deadline=None)
@given(st.text(max_size=200))
def test_spans_lie_in_the_text_and_do_not_overlap(text: str) -> None:
    rows = pattern_rows(pl.DataFrame({"text_hash": ["x"], "text": [text]}, schema_overrides={
        "text": pl.String}))  # fmt: skip
    last = 0
    for start, end in rows.sort("start").select("start", "end").iter_rows():
        assert last <= start < end <= len(text)
        last = end


def test_leading_code() -> None:
    assert leading_code("PB HLTH 271H Greener Solutions") == "PB HLTH 271H"
    assert leading_code("MAY 2021") is None
    assert leading_code("Introduction") is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a@b.example", "email"), ("https://x.example", "url"), ("01632 960 224", "phone"),
        ("555-123-4567", "phone"), ("£7.50", "money"), ("$1,000 - $2,000", "money"),
        ("Saturday 18 October 2025", "date"), ("June 30", "date"), ("10:00 to 11:00", "time"),
        ("Monday to Friday, 08:30 to 17:30", "time"), ("9-5", "number"), ("4 Units", "number"),
        ("2 - 4 Units", "number"), ("1,250", "number"), ("none", "text"), ("", "text"),
    ],
)  # fmt: skip
def test_value_types(value: str, expected: str) -> None:
    typed = pl.DataFrame({"v": [value]}).select(value_type(pl.col("v"))).item()
    assert typed == expected
    assert typed in VALUE_TYPES
