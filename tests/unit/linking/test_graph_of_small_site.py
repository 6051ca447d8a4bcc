"""The graph of a small site: entities, links of mentions, relations, topics, invariants."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.snapshot import ids
from tests.graphkit import BASE, LATER, Graph, WordNer, entity, graph, page, parse, pure, site


@pytest.fixture(scope="module")
def built() -> Graph:
    return graph(parse(site()))


def _edges(built: Graph, name: str) -> pl.DataFrame:
    return (
        built["entity_edges"]
        .filter(pl.col("entity_id") == entity(built, name)["entity_id"])
        .join(built["blocks"].select("block_id", "page_id", "text_hash"), on="block_id")
        .join(built["texts"].select("text_hash", "text"), on="text_hash")
    )


def _relations(built: Graph, kind: str) -> set[tuple[str, str, str]]:
    names = dict(built["entities"].select("entity_id", "name").iter_rows())
    rows = built["relations"].filter(pl.col("kind") == kind)
    return {
        (names[s], p, names[o])
        for s, p, o in rows.select("subject_id", "predicate", "object_id").iter_rows()
    }


def test_a_page_is_an_entity_with_its_home_page_and_aliases(built: Graph) -> None:
    helen = entity(built, "Dr Helen Marsh")
    assert helen["home_page_id"] == ids.page_id(f"{BASE}/people/helen-marsh/")
    assert helen["entity_id"] == ids.entity_id("page", helen["home_page_id"])
    assert {"Helen Marsh", "Marsh, Helen"} <= set(helen["aliases"])
    assert helen["types"][0] == "PERSON"


def test_a_bare_surname_goes_to_the_person_of_the_page(built: Graph) -> None:
    owen = _edges(built, "Dr Owen Marsh").filter(pl.col("text").str.contains("edits the letters"))
    helen = _edges(built, "Dr Helen Marsh").filter(pl.col("text").str.contains("learning machines"))
    assert owen.height == 1
    assert helen.height == 1
    assert not _edges(built, "Dr Helen Marsh")["text"].str.contains("edits the letters").any()


def test_an_explained_acronym_is_an_alias(built: Graph) -> None:
    board = entity(built, "Royal Harbour Board")
    assert "RHB" in board["aliases"]
    assert ("acronym", "Royal Harbour Board (RHB)") in {
        (e["kind"], e["detail"]) for e in board["merge_evidence"]
    }


def test_a_code_is_an_entity_with_the_title_of_its_heading(built: Graph) -> None:
    code = entity(built, "COMP 101")
    assert code["types"] == ["CODE"]
    assert "Programs" in code["aliases"]
    assert code["home_page_id"] == ids.page_id(f"{BASE}/courses/")


def test_roles_membership_and_hyperlinks(built: Graph) -> None:
    assert ("Dr Helen Marsh", "Head of department", "Department of Computing") in _relations(
        built, "role"
    )
    members = _relations(built, "membership")
    assert ("Dr Helen Marsh", "part of", "People") in members
    assert ("COMP 101", "listed under Courses", "Department of Computing") in members
    assert ("Welcome", "links to", "Department of Computing") in _relations(built, "hyperlink")
    assert ("COMP 101", "described on", "Courses of study") in members


def test_a_repeated_text_brings_its_entities_together_once() -> None:
    said = "<p>Hello.</p><h2>Gate</h2><p>The Harbour Office and the Tidal Museum share one.</p>"
    html = {
        "/": page("Welcome", "<p>All begins here.</p>"),
        "/harbour-office/": page("Harbour Office", "<p>It keeps the harbour.</p>"),
        "/tidal-museum/": page("Tidal Museum", "<p>It keeps the tides.</p>"),
        "/north/": page("North", said),
        "/south/": page("South", said),
    }
    once = graph(parse(html))["relations"].filter(pl.col("kind") == "cooccurrence")
    assert (once.height, once["confidence"].to_list()) == (1, pytest.approx([0.15]))
    html["/gates/"] = page("Gates", "<p>Beside the Harbour Office lies the Tidal Museum.</p>")
    twice = graph(parse(html))["relations"].filter(pl.col("kind") == "cooccurrence")
    assert (twice.height, twice["confidence"].to_list()) == (2, pytest.approx([0.2, 0.2]))


def test_every_reference_holds(built: Graph) -> None:
    entities = set(built["entities"]["entity_id"])
    blocks = set(built["blocks"]["block_id"])
    kept = set(built["blocks"].filter("kept")["block_id"])
    relations = built["relations"]
    assert set(relations["subject_id"]) | set(relations["object_id"].drop_nulls()) <= entities
    assert set(relations["block_id"]) <= blocks
    assert set(built["entity_edges"]["block_id"]) <= kept
    assert set(built["entity_edges"]["entity_id"]) <= entities
    assert set(built["facts"]["subject_id"].drop_nulls()) <= entities
    targets = built["topic_edges"]
    assert set(targets.filter(pl.col("target_kind") == "block")["target_id"]) <= kept
    assert set(targets.filter(pl.col("target_kind") == "entity")["target_id"]) <= entities
    assert set(targets["topic_id"]) == set(built["topics"]["topic_id"])


def test_mention_counts_are_those_of_the_edges(built: Graph) -> None:
    counts = dict(built["entity_edges"].group_by("entity_id").len().iter_rows())
    for key, mentions in built["entities"].select("entity_id", "mentions").iter_rows():
        assert counts.get(key, 0) == mentions


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_rows_does_not_matter(built: Graph, seed: int) -> None:
    mixed = graph(parse(site()), shuffle=seed)
    for name in LATER:
        assert pure(mixed[name], name) == pure(built[name], name), name


_EDITS = st.lists(
    st.sampled_from(
        ["drop helen", "drop courses", "rename", "add person", "add text", "edit foot"]
    ),
    max_size=4,
    unique=True,
)


def _edited(edits: list[str]) -> dict[str, str]:
    html = site()
    for edit in edits:
        if edit == "drop helen":
            html.pop("/people/helen-marsh/", None)
        elif edit == "drop courses":
            html.pop("/courses/", None)
        elif edit == "rename":
            html["/people/owen-marsh/"] = html["/people/owen-marsh/"].replace("Owen", "Olaf")
        elif edit == "add person":
            html["/people/ada-marsh/"] = page(
                "Dr Ada Marsh", "<p>Dr Marsh plays in Port Ostre.</p>"
            )
        elif edit == "add text":
            html["/"] = html["/"].replace("</main>", "<p>We thank Quillon Trust.</p></main>")
        else:
            html = {k: v.replace("960 100", "960 101") for k, v in html.items()}
    return html


@settings(max_examples=25, deadline=None)
@given(first=_EDITS, second=_EDITS)
def test_an_incremental_build_equals_a_clean_one(first: list[str], second: list[str]) -> None:
    parent = graph(parse(_edited(first)))
    tables = parse(_edited(second))
    clean, step = graph(tables), graph(tables, parent=parent)
    for name in LATER:
        assert pure(step[name], name) == pure(clean[name], name), name


def test_only_new_texts_are_read() -> None:
    parent = graph(parse(site()))
    ner = WordNer()
    graph(parse(_edited(["add text"])), parent=parent, ner=ner)
    assert [t for t in ner.read if "Quillon" not in t] == []
    assert ner.read


def test_what_a_vanished_page_alone_supported_is_gone() -> None:
    html = _edited(["drop helen", "drop courses"])
    html.pop("/people/owen-marsh/")
    html["/departments/computing/"] = page("Department of Computing", "<p>It is closed.</p>")
    built = graph(parse(html), parent=graph(parse(site())))
    text = repr([built[name].rows() for name in LATER])
    for gone in ("RHB", "Royal Harbour", "COMP 101", "h.marsh@example.edu", "Head of department"):
        assert gone not in text


def test_topics_keep_their_lineage_through_a_small_edit() -> None:
    parent = graph(parse(site()))
    step = graph(parse(_edited(["add text"])), parent=parent)
    known = set(parent["topics"]["lineage_id"])
    assert step["topics"].height > 0
    assert set(step["topics"]["lineage_id"]) <= known
