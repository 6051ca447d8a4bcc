"""When evidence counts as found: hand-worked cases for page, block, span and answer parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.matching import Found, Pages, Passage, Reading, page_key, says, squeeze
from evaluation.questions import Evidence

PAGES = Pages()


def passage(text: str, page: str = "https://x.org/a/", **more: object) -> Passage:
    values: dict[str, object] = {"heading_path": (), "tokens": 1, "ordinal": None, **more}
    return Passage(page=page, text=text, **values)  # type: ignore[arg-type]


def gold(text: str, page: str = "a/index.html", **more: object) -> Evidence:
    return Evidence(page=page, text=text, **more)  # type: ignore[arg-type]


def find(evidence: Evidence, *passages: Passage, pages: Pages = PAGES) -> Found:
    return Reading(passages, pages).find(evidence)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("courses/x/index.html", "https://g.edu/courses/x/"),
        ("courses/x/index.html", "/courses/x/index.html?a=1#top"),
        ("index.html", "https://g.edu/"),
        ("pgtrgm.html", "http://127.0.0.1:8000/pgtrgm.html"),
        ("a%20b/index.html", "/a b/"),
    ],
)
def test_page_keys_that_are_equal(one: str, other: str) -> None:
    assert page_key(one) == page_key(other)


def test_page_keys_that_differ() -> None:
    assert page_key("courses/x/index.html") != page_key("/courses/y/")
    assert page_key("/docs/15/a.html", "/docs/15/") == page_key("a.html", "/docs/15/")
    assert page_key("xindex.html") == "xindex.html"


def test_span_block_and_page() -> None:
    span = gold("The library opens at nine and closes at five.")
    assert find(span, passage("Hours. The library opens\nat nine and closes at five.")) == Found(
        page=True, block=True, span=True, text=True
    )
    half = find(span, passage("Today the library opens at nine and closes late."))
    assert half == Found(page=True, block=True, span=False, text=False)
    other = find(span, passage("We serve coffee to everyone."))
    assert other == Found(page=True, block=False, span=False, text=False)
    elsewhere = find(span, passage(span.text, page="/b/"))
    assert elsewhere == Found(page=False, block=False, span=False, text=False)


def test_a_short_block_inside_the_span_is_its_block() -> None:
    span = gold("Ann Lee, Bob May, Cy Poe, Di Roe, Ed Sun and many more of them")
    assert find(span, passage("Ann Lee, Bob May, Cy")).block  # five words
    assert not find(span, passage("Ann Lee")).block


def test_glued_cells_and_the_spaced_form() -> None:
    span = gold("CodeTitle3", text_spaced="Code, Title, 3")
    assert find(span, passage("Code\tTitle\t3\n")).span
    assert find(span, passage("Code, Title, 3")).span


def test_a_span_over_two_adjacent_passages_counts_in_document_order() -> None:
    span = gold("first half second half")
    one, two = passage("the first half", ordinal=4), passage("second half of it", ordinal=5)
    assert find(span, two, one).span
    assert not find(span, one, passage("second half of it", ordinal=7)).span
    assert not find(span, one, passage("second half of it", page="/b/", ordinal=5)).span
    assert not find(span, passage("the first half"), passage("second half")).span  # no places


def test_headings_are_given_to_the_reader_but_text_alone_does_not_see_them() -> None:
    span = gold("ART 1 Drawing 3 Units")
    found = find(span, passage("How to draw.", heading_path=("Art", "ART 1 Drawing 3 Units")))
    assert found == Found(page=True, block=True, span=True, text=False)
    joined = gold("ART 1 How to draw")
    assert find(joined, passage("How to draw.", heading_path=("Art", "ART 1"))).span
    # An outer heading does not stand right above the text.
    assert not find(joined, passage("How to draw.", heading_path=("ART 1", "Aims"))).span


def test_a_heading_is_put_in_once_for_passages_that_share_it() -> None:
    span = gold("Hours Mon nine Tue ten")
    parts = [
        passage("Mon nine", heading_path=("Hours",), ordinal=1),
        passage("Tue ten", heading_path=("Hours",), ordinal=2),
    ]
    assert find(span, *parts).span


def test_a_repeated_table_header_is_given_too() -> None:
    assert find(gold("SaltBits12860"), passage("128\t60", context="Salt Bits")).span


def test_also_on_aliases_and_further_places() -> None:
    span = gold("open daily", also_on=("c/index.html",))
    assert find(span, passage("open daily", page="/c/")).span
    alias = Pages(aliases={"a": "real"})
    assert find(span, passage("open daily", page="/real/"), pages=alias).span
    placed = passage("open daily", page="/z/", also_at=(("/a/", ("Hours",)),))
    assert find(span, placed).span
    assert not Reading([placed], PAGES, also_at=False).find(span).page


def test_generic_spans_are_judged_by_heading() -> None:
    span = gold("graded pass or fail", generic=True, heading_path=("Art", "ART 1"))
    under = passage("graded pass or fail", heading_path=("Art", "ART 1"))
    assert find(span, under) == Found(page=True, block=True, span=True, text=True)
    other = passage("graded pass or fail", heading_path=("Art", "ART 2"))
    assert find(span, other) == Found(page=True, block=False, span=False, text=False)
    chunk = passage("ART 1 is graded pass or fail")
    assert find(span, chunk).span
    assert not find(span, passage("graded pass or fail")).block


def test_ranks() -> None:
    span = gold("open daily from nine")
    reading = Reading(
        [passage("no"), passage("open daily from nine"), passage("open daily from nine")], PAGES
    )
    assert reading.ranks(span) == {1, 2}


@given(st.text(max_size=60), st.text(max_size=60), st.text(min_size=1, max_size=40))
def test_what_contains_the_span_has_it_whatever_the_whitespace(a: str, b: str, span: str) -> None:
    if not squeeze(span):
        return
    spread = "\n".join(span)
    assert squeeze(span) in squeeze(a + span + b) or squeeze(spread) != squeeze(span)
    found = find(gold(span), passage(f"{a} {span} {b}"))
    assert found.span or squeeze(span) not in squeeze(f"{a} {span} {b}")
    assert found.block >= found.span
    assert found.page >= found.block


@pytest.mark.parametrize(
    ("answer", "variant", "said"),
    [
        ("It takes 15 units.", ("15",), True),
        ("It takes 15.5 units.", ("15",), False),
        ("It takes 1,500 units.", ("500",), False),
        ("A GPA of 3.5, or higher", ("3.5",), True),
        ("receive a C- or above", ("C-",), True),
        ("on WEEKDAY  evenings", ("weekday evenings",), True),
        ("the 80-min seminar", ("80 min",), True),
        ("from 10–20 students", ("10-20",), True),
        ("category", ("cat",), False),
        ("No, it is not.", ("No",), True),
        ("There is no major.", ("No",), False),
        ("There is no major.", ("no major",), True),
        ("Yes", ("No",), False),
        ("MATH 1A\tCalculus", ("MATH 1A",), True),
        ("Max LengthAdaptive?Salt bitsOutput", ("Max Length Adaptive? Salt bits Output",), True),
        ("", ("x",), False),
        ("anything", ("...",), False),
        ("ART 1 Drawing 3 Units\nART 2 Clay 4 Units", ("ART 2", "4 Units"), True),
        ("ART 1 Drawing 3 Units\nART 2 Clay 4 Units", ("ART 1", "4 Units"), False),
        ("U S , Thailand , and more", ("U S, Thailand, and more",), True),
    ],
)
def test_answer_parts(answer: str, variant: tuple[str, ...], said: bool) -> None:
    assert says(answer, variant) is said
