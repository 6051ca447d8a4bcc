import pytest

from retrieval.answer.expected import counted, counts
from retrieval.answer.section import is_explicit
from retrieval.answer.spans import heading_span
from retrieval.answer.worth import Plain, states
from retrieval.modes.coverage import Lexis
from retrieval.modes.question import read_question, stems


@pytest.mark.parametrize(
    ("question", "text", "held"),
    [
        ("How many units is SURV 12?", "SURV 12 Tides 4 Units", True),
        ("How many units is SURV 12?", "SURV 12 has 3 hours of lecture", False),
        ("How many books may I borrow?", "You may borrow twelve library books", True),
        ("How many books may I borrow?", "Books are due after 3 weeks", False),
    ],
)
def test_a_number_counts_beside_its_noun(question: str, text: str, held: bool) -> None:
    assert counts(counted(question), text) is held


def test_the_heading_that_is_named_states_the_number() -> None:
    question = read_question("How many units is SURV 12?")
    lexis = Lexis.of(question, lambda word: 1.0)
    none = frozenset[str]()
    assert states(question, "SURV 12 Tides 4 Units", True, none, lexis) == 1.0
    assert states(question, "SURV 13 Rivers 3 Units", True, none, lexis) == 0.0
    assert heading_span("SURV 12 Tides 4 Units\nText.", ["Courses", "SURV 12 Tides 4 Units"])


def test_furniture_is_plain_unless_it_is_asked_about() -> None:
    common = {"read", "more", "grading", "letter", "grade"}

    def idf(word: str) -> float:
        return 0.5 if word in common else 6.0

    plain = Plain(["Profile\nA\nProfile\nB\nProfile"], stems("Who teaches Tides?"), idf)
    around = stems("SURV 12 Tides")
    assert plain("Tides: Read More [+]", around)
    assert plain("Profile", around)
    assert not plain("Instructor: Ramsey", around)
    graded = Plain([], stems("What is the grading of Tides?"), idf)
    assert not graded("Grading: Letter grade", around)


def test_a_path_or_a_quoted_heading_is_explicit() -> None:
    assert is_explicit("Which courses stand under 'Requirements > Electives' in Botany?")
    assert not is_explicit("Which electives does Botany's minor have?")


@pytest.mark.parametrize(
    ("question", "places"),
    [
        ("Which programmes list Jane Roe as a lecturer?", True),
        ("In which departments is the time limit six years?", True),
        ("Which programmes does the Department of Botany offer?", False),
        ("What is the unit value of SURV 12?", False),
    ],
)
def test_questions_for_the_places_of_a_thing(question: str, places: bool) -> None:
    assert read_question(question).asks_places is places


def test_a_number_in_brackets_is_the_size_of_a_thing_and_nothing_else() -> None:
    none = frozenset[str]()
    for question, held in (
        ("How many units is SURV 12?", 1.0),
        ("How many students are in SURV 12?", 0.0),
    ):
        asked = read_question(question)
        lexis = Lexis.of(asked, lambda word: 1.0)
        assert states(asked, "SURV 12 Tides (4)", True, none, lexis) == held
