"""Names of pages, normal forms, matching of many names, persons' spellings, acronyms."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.extraction.personnames import parse_person
from assets.extraction.sitenames import clean_title, common_affixes, page_type
from assets.linking.acronyms import explained_acronyms
from assets.linking.persons import merge_persons
from retrieval.index.gazetteer import Gazetteer, NameMatcher, normalise


def test_the_sites_own_part_of_titles_is_learned() -> None:
    titles = [f"{t} < University of X" for t in ("Art", "Law", "History", "Music", "Physics")]
    affixes = common_affixes(titles)
    assert affixes == {"University of X"}
    assert clean_title("Art < University of X", affixes) == "Art"
    assert clean_title("53.17. pg_default_acl", affixes) == "pg_default_acl"
    assert clean_title("Art - A History", affixes) == "Art - A History"


@pytest.mark.parametrize(
    ("name", "url", "expected"),
    [
        ("Department of Computing", "https://x.example/d/", "ORG"),
        ("Helen Marsh", "https://x.example/people/helen-marsh/", "PERSON"),
        ("Literature Faculty", "https://x.example/faculty/lit.html", "ORG"),
        ("CS 61A Programs", "https://x.example/c/", "CODE"),
        ("Environmental Science, Policy, and Management", "https://x.example/e/", "PAGE"),
    ],
)
def test_page_types(name: str, url: str, expected: str) -> None:
    assert page_type(name, url) == expected


def test_normal_forms() -> None:
    assert normalise("The Café’s “Film & Media”") == "café film and media".replace("é", "e")
    assert normalise("CS C100") == normalise("cs\u00a0c100")
    assert normalise("O'Brien's") == "o brien"


@given(st.lists(st.text(alphabet="ab c'é&", min_size=1, max_size=12), max_size=8), st.text(
    alphabet="ab c'é&.", max_size=40))  # fmt: skip
def test_matches_have_the_form_of_their_name(names: list[str], text: str) -> None:
    forms = sorted({normalise(n) for n in names} - {""})
    last = 0
    for index, start, end in NameMatcher(forms).find(text):
        assert last <= start < end
        words = normalise("x " + text[start:end]).removeprefix("x ")
        assert words == forms[index]
        last = end


def test_questions_find_entities() -> None:
    gazetteer = Gazetteer(
        ["e1", "e2", "e3", "e4"],
        ["Jack M. Potter", "Film & Media", "Music", "Music"],
        [[], ["Department of Film"], [], []],
        [True, False, False, False],
    )

    def found(question: str) -> list[tuple[str, float]]:
        return [(h.entity_id, round(h.score, 2)) for h in gazetteer.find(question)]

    assert found("What are the research interests of Jack M. Potter?") == [("e1", 1.0)]
    assert found("Jack Potter's field?") == [("e1", 0.8)]
    assert found("What does potter teach?") == [("e1", 0.25)]
    assert found("the FILM AND MEDIA minor") == [("e2", 1.0)]
    assert found("department of film?") == [("e2", 0.9)]
    assert found("Music or law") == [("e3", 0.71), ("e4", 0.71)]
    assert found("") == []
    hit = gazetteer.find("about Jack M. Potter")[0]
    assert (hit.start, hit.end, hit.name) == (6, 20, "Jack M. Potter")


def _merged(*surfaces: str) -> dict[str, str]:
    parsed = {parse_person(s) for s in surfaces}
    return merge_persons({p for p in parsed if p is not None}).canonical


def test_spellings_of_one_person_merge_in_one_step() -> None:
    merged = _merged("Dr. Jane Smith", "Jane A. Smith", "J. Smith", "Smith, Jane Alice")
    assert set(merged.values()) == {"jane alice smith"}


def test_doubtful_spellings_stay_apart() -> None:
    merged = _merged("Jane Smith", "John Smith", "J. Smith")
    assert merged == {s: s for s in ("jane smith", "john smith", "j smith")}
    merged = _merged("Jane A. Smith", "Jane B. Smith", "Jane Smith")
    assert all(form == target for form, target in merged.items())


@given(st.permutations(["Jane Smith", "J. Smith", "Jane A. Smith", "John B. Doe", "J. B. Doe"]))
def test_merging_does_not_depend_on_order(order: list[str]) -> None:
    assert _merged(*order) == _merged("Jane Smith", "J. Smith", "Jane A. Smith", "John B. Doe",
                                      "J. B. Doe")  # fmt: skip


def test_acronyms_need_their_initials_and_one_meaning() -> None:
    texts = pl.DataFrame(
        {
            "text": [
                "The University Library System (ULS) lends.",
                "A Graduate Record Examination (GRE) and Good Reasons Exist (GRE).",
                "Computer Science (COMPSCI) and Data Science (XYZ)",
            ]
        }
    )
    found = explained_acronyms(texts)
    assert found.select("short", "name").rows() == [("uls", "University Library System")]
