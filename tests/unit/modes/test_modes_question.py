import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.config import LimitsConfig
from retrieval.errors import BadInputError
from retrieval.modes.question import (
    MONEY,
    PERSON,
    PHONE,
    TIME,
    check_question,
    read_question,
    stem,
    stems,
)  # fmt: skip

LIMITS = LimitsConfig()


def nothing(word: str) -> bool:
    return False


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "???", "... -- !"])
def test_a_question_without_words_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(BadInputError) as caught:
        check_question(text, LIMITS, nothing)
    assert caught.value.remedy
    assert caught.value.exit_code == 2


def test_a_question_of_ten_thousand_words_is_refused() -> None:
    with pytest.raises(BadInputError, match="10000 words"):
        check_question("fee " * 10_000, LIMITS, nothing)


def test_another_script_is_refused_unless_the_site_uses_it() -> None:
    text = "какова плата за обучение"
    with pytest.raises(BadInputError, match="Cyrillic"):
        check_question(text, LIMITS, nothing)
    assert check_question(text, LIMITS, lambda word: word == "плата") == text


def test_a_foreign_name_in_an_english_question_is_no_other_script() -> None:
    text = "Who is 王小明 of the physics department?"
    assert check_question(text, LIMITS, nothing) == text


def test_accents_and_digits_are_latin() -> None:
    assert check_question("Où est l'école 42 ?", LIMITS, nothing)


@pytest.mark.parametrize(
    ("text", "expects"),
    [
        ("What is the tuition fee for the MSc?", MONEY),
        ("Who chairs the department?", PERSON),
        ("What is the phone number of the library?", PHONE),
        ("What time does the gym open?", TIME),
    ],
)
def test_what_is_asked_for(text: str, expects: str) -> None:
    assert read_question(text).expects == expects


def test_names_leave_out_the_question_word_and_the_calendar() -> None:
    names = read_question("When does Grove Library open on Sunday in May?").names
    assert names == ("Grove Library",)
    assert read_question("Who is Professor Tanaka's assistant?").names == ("Professor Tanaka",)


@pytest.mark.parametrize(
    ("text", "is_list"),
    [
        ("List all scholarships", True),
        ("Which courses does Anna Berg teach?", True),
        ("Who are the members of the board?", True),
        ("When does the library open?", False),
        ("What is the fee?", False),
    ],
)
def test_lists_are_recognised(text: str, is_list: bool) -> None:
    assert read_question(text).is_list is is_list


def test_stems_bring_forms_together() -> None:
    assert stem("fees") == stem("fee")
    assert stem("libraries") == stem("library")
    assert stem("opening") == stem("open")
    assert "the" not in stems("the fees of the library")


@given(st.text(max_size=200))
def test_reading_never_fails_and_words_are_distinct(text: str) -> None:
    question = read_question(text)
    assert len(set(question.words)) == len(question.words)
