import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.modes.subquestions import subquestions


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "When does the library open and who runs the museum?",
            ["When does the library open", "who runs the museum"],
        ),
        (
            "When does Grove Library open and where is it?",
            ["When does Grove Library open", "where is it Grove Library"],
        ),
        (
            "What is the difference between the day card and the year card?",
            ["What is the difference the day card", "What is the difference the year card"],
        ),
        (
            "Which has more units, MATH 10A or MATH 20A?",
            ["Which has more units MATH 10A", "Which has more units MATH 20A"],
        ),
        ("Who chairs the department that offers CHEM 6A?", ["department offers CHEM 6A"]),
        (
            "What are the hours of the gym and the fee of the pool?",
            ["What are the hours of the gym", "What are the fee of the pool"],
        ),
        ("What is the fee?", []),
    ],
)
def test_splitting(text: str, parts: list[str]) -> None:
    assert subquestions(text, 3) == parts


@given(st.text(max_size=120), st.integers(0, 3))
def test_the_limit_holds_and_nothing_fails(text: str, limit: int) -> None:
    assert len(subquestions(text, limit)) <= limit


def test_two_codes_are_two_questions() -> None:
    parts = subquestions("Do SURV 12 and BOT 101 have the same number of units?", 3)
    assert [("SURV 12" in part, "BOT 101" in part) for part in parts] == [
        (True, False), (False, True),
    ]  # fmt: skip
