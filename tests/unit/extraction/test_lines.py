"""Texts read line by line: every line where it stands, nothing across its end."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.extraction.lines import Lines
from tests.graphkit import graph, page, parse

texts = st.lists(st.text(alphabet="aé\t \n日", max_size=12), max_size=6, unique=True)


@settings(deadline=None)
@given(texts)
def test_lines_stand_where_they_say(values: list[str]) -> None:
    frame = pl.DataFrame(
        {"text_hash": [str(n) for n in range(len(values))], "text": values},
        schema={"text_hash": pl.String, "text": pl.String},
    )
    lines = Lines.of(frame)
    whole = lines.said.select(
        "number", start=pl.lit(0, pl.Int32), end=pl.col("line").str.len_chars().cast(pl.Int32)
    )
    found = sorted(
        (int(text_hash), values[int(text_hash)][start:end], start)
        for text_hash, start, end in lines.spread(whole)
        .select("text_hash", "start", "end")
        .iter_rows()
    )
    expected = []
    for number, value in enumerate(values):
        position = 0
        for line in value.split("\n"):
            if line.strip():
                expected.append((number, line, position))
            position += len(line) + 1
    assert found == sorted(expected)


def test_a_site_name_does_not_go_on_in_the_next_line() -> None:
    built = graph(
        parse(
            {
                "/": page("Welcome", "<ul><li>The old Harbour</li><li>Office hours</li></ul>"
                          "<p>Ask the Harbour Office first.</p>"),
                "/harbour-office/": page("Harbour Office", "<p>It keeps the harbour.</p>"),
            }
        )
    )  # fmt: skip
    found = built["mentions"].filter(pl.col("extractor") == "gazetteer")
    assert "Harbour Office" in found["surface"].to_list()
    assert not found["surface"].str.contains("\n").any()
    assert built["texts"]["text"].str.contains("Harbour\nOffice").any()
