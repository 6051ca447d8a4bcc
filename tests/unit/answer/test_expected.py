import pytest

from retrieval.answer.expected import has_expected
from retrieval.modes import question as q


@pytest.mark.parametrize(
    ("kind", "yes", "no"),
    [
        (q.EMAIL, "write to a.b@c.edu", "write to us"),
        (q.PHONE, "(858) 534-4551", "room 12"),
        (q.PHONE, "01632 960 441", "in 1998"),
        (q.MONEY, "It costs £9,480.", "It costs a lot."),
        (q.DATE, "by 14 October", "by then"),
        (q.DATE, "founded in 1926", "founded by monks"),
        (q.TIME, "opens at 08:15", "opens late"),
        (q.NUMBER, "twelve books", "some books"),
        (q.PERSON, "The librarian is Marta Quill.", "the librarian is away"),
        (q.PLACE, "in Room 12", "in the morning"),
    ],
)
def test_kinds(kind: str, yes: str, no: str) -> None:
    assert has_expected(kind, yes) is True
    assert has_expected(kind, no) is False


def test_a_kind_without_a_pattern_says_nothing() -> None:
    assert has_expected(q.ANY, "anything") is None
