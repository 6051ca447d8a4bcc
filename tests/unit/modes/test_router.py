import pytest

from retrieval.errors import BadInputError
from retrieval.modes.question import read_question
from retrieval.modes.router import route


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("What is the tuition fee for the MSc in Archaeology?", "direct"),
        ("When does the gym open on Sunday?", "direct"),
        ("What is the difference between the day card and the year card?", "navigation"),
        ("When does the library open and where is it?", "navigation"),
        ("Where can I find the form for housing?", "navigation"),
        ("List all scholarships for international students.", "reasoning"),
        ("Who heads the department that offers marine biology?", "reasoning"),
        ("Which courses does Anna Berg teach?", "reasoning"),
    ],
)
def test_the_mode_of_a_question(text: str, mode: str) -> None:
    assert route(read_question(text)).mode == mode


def test_the_reason_names_the_words_that_decided() -> None:
    decided = route(read_question("List all scholarships."))
    assert "'List all'" in decided.reason
    assert 0 < decided.confidence < 1
    assert decided.alternative == "direct"


def test_a_forced_mode_is_honoured_and_the_rules_stay_visible() -> None:
    forced = route(read_question("List all scholarships."), "navigation")
    assert (forced.mode, forced.forced, forced.alternative) == ("navigation", True, "reasoning")


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(BadInputError, match="'fast'"):
        route(read_question("x y"), "fast")
