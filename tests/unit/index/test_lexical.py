from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.embedding.bm25 import Field, build_bm25
from retrieval.index.lexical import FIELD_WEIGHTS, K1, B, Lexical, query_terms

VOCABULARY = ["fees", "tuition", "library", "courses", "teacher", "2021", "exam", "zürich"]


def index(directory: Path, texts: list[str], headings: list[str] | None = None) -> Lexical:
    """Index documents of a text field and, if given, a headings field."""
    distinct = sorted(set(texts))
    fields = [
        Field("text", pl.Series(distinct), np.array([distinct.index(t) for t in texts], dtype=int))
    ]
    if headings is not None:
        fields.append(Field("headings", pl.Series(headings), np.arange(len(texts))))
    build_bm25(fields, directory)
    return Lexical(directory, len(texts))


def test_more_and_rarer_words_of_the_query_rank_higher(tmp_path: Path) -> None:
    lexical = index(
        tmp_path,
        [
            "The library has a reading room.",
            "The library has opening hours; opening hours of the library are long.",
            "Dogs are not allowed in any building of the university, with exceptions.",
            "The library and the fees.",
        ],
    )
    assert [row for row, _ in lexical.search("When are the library's opening hours?", 10)] == [
        1,
        3,
        0,
    ]
    assert lexical.search("a dog", 10)[0][0] == 2
    assert lexical.search("unheard words", 10) == []
    assert lexical.search("the of and", 10) == []
    assert lexical.search("", 10) == []
    assert len(lexical.search("library", 2)) == 2


def test_case_diacritics_inflection_and_other_scripts_meet(tmp_path: Path) -> None:
    lexical = index(
        tmp_path, ["ZÜRICH requires two examinations", "東京の大学", "Студенты учатся", "none"]
    )
    assert [r for r, _ in lexical.search("Zurich", 5)] == [0]
    assert [r for r, _ in lexical.search("required examination", 5)] == [0]
    assert [r for r, _ in lexical.search("大学", 5)] == [1]
    assert [r for r, _ in lexical.search("СТУДЕНТЫ", 5)] == [2]


def test_document_frequency_counts_blocks_by_stem(tmp_path: Path) -> None:
    lexical = index(tmp_path, ["course fees", "courses", "course", "other"])
    assert lexical.document_frequency("courses") == 3
    assert lexical.document_frequency("fee") == 1
    assert lexical.document_frequency("absent") == 0
    assert lexical.document_frequency("course fee") == 1
    assert lexical.document_frequency("the") == 4


def test_a_word_in_the_headings_counts_more_than_in_the_text(tmp_path: Path) -> None:
    texts = ["exam library", "exam fees"]
    lexical = index(tmp_path, texts, headings=["fees", "library"])
    assert FIELD_WEIGHTS["headings"] > FIELD_WEIGHTS["text"]
    assert [r for r, _ in lexical.search("library", 2)] == [1, 0]
    assert [r for r, _ in lexical.search("fees", 2)] == [0, 1]


documents = st.lists(
    st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12).map(" ".join),
    min_size=1,
    max_size=12,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts=documents, query=st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=4))
def test_scores_are_those_of_bm25s(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: list[str]
) -> None:
    import bm25s

    lexical = index(tmp_path_factory.mktemp("bm25"), texts)
    reference = bm25s.BM25(method="lucene", k1=K1, b=B)
    stems = [list(query_terms(t).elements()) for t in texts]
    reference.index(stems, show_progress=False)
    known = [s for s in query_terms(" ".join(query)).elements() if any(s in d for d in stems)]
    expected = reference.get_scores(known) if known else np.zeros(len(texts))
    assert np.allclose(lexical.scores(" ".join(query)), expected, atol=1e-5)


@given(st.text(max_size=60))
def test_any_query_gives_clean_terms(text: str) -> None:
    for term in query_terms(text):
        assert term
        assert not any(c.isspace() for c in term)
