from hypothesis import given
from hypothesis import strategies as st

from retrieval.answer.spans import spans


def quotes(text: str, kind: str, context: str | None = None, words: int = 80) -> list[str]:
    return [span.quote for span in spans(text, kind, context, words)]


def test_sentences_are_split_but_not_at_abbreviations() -> None:
    text = "Dr. Berg (Room 3.14) teaches, e.g. Latin. Ask her! See p. 4 for St. Mary's."
    assert quotes(text, "prose") == [
        "Dr. Berg (Room 3.14) teaches, e.g. Latin.", "Ask her!", "See p. 4 for St. Mary's.",
    ]  # fmt: skip


def test_a_label_line_keeps_its_value() -> None:
    long = "In term the office is open on every working day from nine to five o'clock."
    assert quotes(f"Office hours:\n{long}\n", "prose") == [f"Office hours:\n{long}"]


def test_a_run_of_short_lines_is_one_span() -> None:
    address = "STUDENT SERVICES\nSequoyah Hall, Room 245\n(858) 534 1055"
    text = f"{address}\nWe answer questions of all kinds.\n"
    assert quotes(text, "prose") == [address, "We answer questions of all kinds."]


def test_a_course_number_is_no_sentence() -> None:
    text = "SE 2L. Structural Materials Lab is a laboratory course for majors."
    assert quotes(text, "prose") == [text]


def test_rows_know_their_header_and_leave_it_out() -> None:
    found = spans("Term\tFee\t\nFall\t$120\t\nSpring\t$90\t\n", "table", None, 80)
    assert [s.read for s in found] == ["Term: Fall; Fee: $120", "Term: Spring; Fee: $90"]
    assert found[0].quote == "Fall\t$120"


def test_a_split_table_reads_with_the_repeated_header() -> None:
    found = spans("Spring\t$90\t\n", "table", "Term\tFee\t", 80)
    assert found[0].read == "Term: Spring; Fee: $90"
    assert found[0].quote == "Spring\t$90"


def test_a_table_without_header_keeps_its_first_row() -> None:
    assert quotes("Phone\t555 0101\t\nRoom\t12\t\n", "table") == ["Phone\t555 0101", "Room\t12"]


def test_list_items_carry_the_lead() -> None:
    found = spans("apples\npears\n", "list", "We sell:", 80)
    assert [(s.quote, s.header) for s in found] == [("apples", "We sell:"), ("pears", "We sell:")]


def test_definitions_keep_term_and_text_together() -> None:
    text = "Late fee\n£5 for each day after the deadline.\nDeposit: £50\n"
    assert quotes(text, "definitions") == [
        "Late fee\n£5 for each day after the deadline.", "Deposit: £50",
    ]  # fmt: skip


def test_a_tab_separates_term_and_definition() -> None:
    found = spans("Room\tGlasshouse 3\nTelephone\t01632 960 455\n", "definitions", None, 80)
    assert [s.quote for s in found] == ["Room\tGlasshouse 3", "Telephone\t01632 960 455"]
    assert found[1].read == "Telephone: 01632 960 455"


def test_the_blocks_own_heading_is_no_span_unless_it_is_all() -> None:
    text = "Opening  hours\nDay\tOpens\t\nSaturday\t10:00\t\n"
    found = spans(text, "table", None, 80, ["Library", "Opening hours"])
    assert [s.read for s in found] == ["Day: Saturday; Opens: 10:00"]
    assert [s.quote for s in spans("Library", "heading", None, 80, ["Library"])] == ["Library"]


kinds = st.sampled_from(["prose", "list", "table", "code", "definitions", "heading"])


@given(st.text(alphabet="ab A.:?\t\n1", max_size=120), kinds, st.integers(1, 12))
def test_every_quote_is_a_slice_in_order_without_overlap(text: str, kind: str, limit: int) -> None:
    found = spans(text, kind, None, limit)
    end = 0
    for span in found:
        assert text[span.start : span.end] == span.quote == span.quote.strip() != ""
        assert span.words <= limit
        assert span.start >= end
        end = span.end
    if kind != "table":
        assert "".join("".join(s.quote.split()) for s in found) == "".join(text.split())


def test_a_person_and_what_is_said_of_them_is_one_item() -> None:
    text = (
        "Jane Roe, Professor. Seaweed, tides, estuaries.\nResearch Profile\nAda Ash, Dean. Peat.\n"
    )
    assert quotes(text, "prose") == [
        "Jane Roe, Professor. Seaweed, tides, estuaries.", "Research Profile",
        "Ada Ash, Dean. Peat.",
    ]  # fmt: skip


def test_alike_short_lines_are_items() -> None:
    text = "Ada Ash, PhD, Botany\nBo Bay, PhD, Music\nCy Cole, PhD, Peat\nDi Dow, MFA, Clay\n"
    assert quotes(text, "prose") == text.splitlines()


def test_a_caption_above_the_header_is_left_out() -> None:
    found = spans("Course List\nCode\tTitle\t\nBOT 101\tMosses\t\n", "table", None, 80)
    assert [s.read for s in found] == ["Code: BOT 101; Title: Mosses"]
