"""Facts from tables, definition lists, lines, headings and repeated parts."""

from __future__ import annotations

import polars as pl
import pytest

from assets.extraction.facts import build_facts, code_entity_id, page_entity_id
from assets.extraction.layout import layout_pairs
from retrieval.snapshot import ids
from tests.graphkit import BASE, page, parse, site


def _pairs(text: str, kind: str, context: str | None = None) -> list[tuple[str | None, str, str]]:
    units = pl.DataFrame(
        {"text_hash": ["x"], "kind": [kind], "context": [context], "text": [text]},
        schema_overrides={"context": pl.String},
    )
    return layout_pairs(units).sort("row", "nth").select("subject_text", "label", "value").rows()


def test_a_table_with_a_header_speaks_of_its_rows() -> None:
    table = "Courses\nCode\tTitle\tUnits\t\nCS 1\tPrograms\t4\t\nCS 2\tData\t3\t"
    expected = [("CS 1", "Title", "Programs"), ("CS 1", "Units", "4"),
                ("CS 2", "Title", "Data"), ("CS 2", "Units", "3")]  # fmt: skip
    assert _pairs(table, "table") == expected


def test_a_later_part_of_a_table_takes_its_header_from_the_context() -> None:
    pairs = _pairs("CS 3\tMore\t2", "table", "Code\tTitle\tUnits\nUpper division")
    assert pairs == [("CS 3", "Title", "More"), ("CS 3", "Units", "2")]


def test_two_columns_are_label_and_value() -> None:
    assert _pairs("Phone\t555-123-4567\nDean\tJane Smith", "table") == [
        (None, "Phone", "555-123-4567"),
        (None, "Dean", "Jane Smith"),
    ]
    assert _pairs("Day\tHours\nMonday\t9:00-17:00\nSunday\t11:00-15:00", "table") == [
        (None, "Monday", "9:00-17:00"),
        (None, "Sunday", "11:00-15:00"),
    ]


def test_lists_side_by_side_say_nothing_of_their_rows() -> None:
    table = "FALL\tWINTER\tSPRING\nCS 1\tCS 2\tMATH 3\nCS 4\tCS 5\tCS 6"
    assert _pairs(table, "table")[:3] == [
        (None, "FALL", "CS 1"),
        (None, "WINTER", "CS 2"),
        (None, "SPRING", "MATH 3"),
    ]


def test_each_definition_of_a_term_is_a_fact() -> None:
    assert _pairs("Members\tAda\tGrace\nLeader:\tAlan", "definitions") == [
        (None, "Members", "Ada"),
        (None, "Members", "Grace"),
        (None, "Leader", "Alan"),
    ]


def test_lines() -> None:
    text = (
        "Prerequisites: CS 1.\nsee also: that\nIt rains. Why: nobody knows\nAda Byron, Dean. Maths."
    )
    assert _pairs(text, "prose") == [
        (None, "Prerequisites", "CS 1."),
        ("Ada Byron", "Title", "Dean"),
        ("Ada Byron", "About", "Maths."),
    ]


@pytest.fixture(scope="module")
def facts() -> pl.DataFrame:
    tables = parse(site())
    return pl.DataFrame(
        build_facts(tables["pages"], tables["blocks"], tables["links"], tables["texts"])
    )


def _fact(facts: pl.DataFrame, label: str, value: str) -> dict[str, object]:
    rows = facts.filter((pl.col("label") == label) & (pl.col("value") == value)).rows(named=True)
    assert len(rows) == 1, (label, value, rows)
    return rows[0]


def test_subjects(facts: pl.DataFrame) -> None:
    helen = page_entity_id(ids.page_id(f"{BASE}/people/helen-marsh/"))
    assert _fact(facts, "Email", "h.marsh@example.edu")["subject_id"] == helen
    department = page_entity_id(ids.page_id(f"{BASE}/departments/computing/"))
    head = _fact(facts, "Head of department", "Dr Helen Marsh")
    assert (head["subject"], head["subject_id"]) == ("Department of Computing", department)
    assert _fact(facts, "Units", "4")["subject_id"] == code_entity_id("COMP 101")
    units = _fact(facts, "Units", "4 Units")
    assert (units["subject"], units["subject_id"]) == (
        "COMP 101 Programs",
        code_entity_id("COMP 101"),
    )
    needs = _fact(facts, "Prerequisites", "COMP 101.")
    assert needs["subject_id"] == code_entity_id("COMP 102")


def test_a_footer_states_its_fact_once_and_of_the_site(facts: pl.DataFrame) -> None:
    fact = _fact(facts, "Switchboard", "01632 960 100")
    assert fact["scope"] == "site"
    assert fact["value_type"] == "phone"
    assert fact["subject"] == "Welcome"


def test_what_states_nothing_is_no_fact() -> None:
    """A heading said again, a header row among the rows, mere punctuation."""
    courses = "".join(
        f"<h2>ART {n} Sculpture {n}: Foundations {n}</h2>"
        f"<p>Sculpture {n}: Foundations {n}: Read more</p><p>Prerequisites: ART {n + 1} or 9</p>"
        for n in range(3)
    )
    plan = "".join(
        f"<tr><td>{a}</td><td>{b}</td><td>{c}</td></tr>"
        for a, b, c in [("Kind", "Size", "Use"), ("Oak", "3", "✓"), ("Kind", "size", "Use"),
                        ("Elm", "4", "–")]
    )  # fmt: skip
    tables = parse(
        {
            "/": page("Arts", courses),
            "/plan": page("Plan", f"<table>{plan}</table>"),
        }
    )
    facts = pl.DataFrame(build_facts(*(tables[n] for n in ("pages", "blocks", "links", "texts"))))
    rows = facts.filter(pl.col("scope") == "page").select("subject", "label", "value").rows()
    assert sorted(rows) == [
        ("ART 0 Sculpture 0: Foundations 0", "Prerequisites", "ART 1 or 9"),
        ("ART 1 Sculpture 1: Foundations 1", "Prerequisites", "ART 2 or 9"),
        ("ART 2 Sculpture 2: Foundations 2", "Prerequisites", "ART 3 or 9"),
        ("Elm", "Size", "4"),
        ("Oak", "Size", "3"),
        ("Oak", "Use", "✓"),
    ]


def test_a_site_whose_first_hundred_subjects_have_no_page() -> None:
    """Ids that begin with more nulls than polars looks at are still a column of strings."""
    rows = "".join(f"<dt>Aa {n:03}</dt><dd>{n} metres</dd>" for n in range(150))
    tables = parse(
        {
            "/": page("Register", f"<h1>Register</h1><dl>{rows}</dl>"),
            "/zeta": page("Zeta Hall", "<h1>Zeta Hall</h1><p>Opening hours: 9:00 to 17:00</p>"),
            "/list": page(
                "List",
                "<h1>List</h1><table><tr><th>Name</th><th>Floor</th><th>Use</th></tr>"
                + "".join(
                    f"<tr><td>Aa {n:03}</td><td>{n}</td><td>stores</td></tr>" for n in range(150)
                )
                + "<tr><td>Zeta Hall</td><td>3</td><td>hall</td></tr></table>",
            ),
        }
    )
    facts = pl.DataFrame(build_facts(*(tables[n] for n in ("pages", "blocks", "links", "texts"))))
    hall = facts.filter((pl.col("subject") == "Zeta Hall") & (pl.col("label") == "Floor"))
    assert hall["subject_id"].null_count() == 0
