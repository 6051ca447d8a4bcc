from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrieval.models.pins import PINNED, locate
from retrieval.snapshot.inputs import (
    CONTEXT_WEIGHT,
    HEADING_WEIGHT,
    PATH_WEIGHT,
    clip,
    path_input,
    text_input,
    text_prefix,
    weight,
)

words = st.text(max_size=400)


def test_nearest_heading_and_context_stand_before_the_text() -> None:
    assert text_input(["Study", "Fees"], None, " 4,200 euros\n") == "Fees\n4,200 euros"
    assert text_input(["Fees"], "Year\tSum", "1\t2") == "Fees\nYear Sum\n1\t2"
    assert text_input([], None, "Lead.") == "Lead."


def test_a_text_that_is_its_heading_is_said_once() -> None:
    assert text_input(["Study", "Fees  now"], None, "Fees now\n") == "Fees now"


def test_the_path_holds_title_and_headings_without_repeats() -> None:
    assert path_input("Economics", ["economics", "Major", "Fees"]) == "Economics > Major > Fees"
    assert path_input(None, []) == ""
    assert path_input(" A \n B ", ["", "C"]) == "A B > C"


def test_a_long_path_loses_its_outermost_parts_first() -> None:
    path = path_input("T" * 100, ["a" * 100, "b" * 100, "Innermost"])
    assert path == f"{'a' * 100} > {'b' * 100} > Innermost"
    assert path_input("Title", ["word " * 100]) == ("word " * 48).strip()


@given(words, st.integers(min_value=3, max_value=200))
def test_clip_keeps_a_start_within_the_budget(text: str, budget: int) -> None:
    cut = clip(text, budget)
    assert weight(cut) <= budget
    assert " ".join(text.split()).startswith(cut)


@given(words, st.lists(words, max_size=3), words | st.none())
def test_prefix_and_path_never_have_more_tokens_than_their_weight(
    title: str, headings: list[str], context: str | None
) -> None:
    from tokenizers import Tokenizer

    pinned = PINNED["bge-small-en-v1.5"]
    tokenizer = Tokenizer.from_file(str(locate(pinned) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for string, most in (
        (path_input(title, headings), PATH_WEIGHT),
        (text_prefix(headings, context), HEADING_WEIGHT + CONTEXT_WEIGHT + 2),
    ):
        assert weight(string) <= most
        assert len(tokenizer.encode(string, add_special_tokens=False).ids) <= weight(string)
