"""Every check by name, known before anything runs: asset checks are declared from this list.

`run.run_checks` returns exactly one result for each, in this order.
"""

from __future__ import annotations

from dataclasses import dataclass

from retrieval.snapshot.schemas import TABLES


@dataclass(frozen=True)
class Check:
    """One check: its stable name, the table it is about (None: several) and what it says."""

    name: str
    table: str | None
    description: str


def suite_name(table: str) -> str:
    """Return the name of the Great Expectations check of ``table``."""
    return f"{table}_expectations"


SUITES = tuple(
    Check(
        suite_name(name),
        name,
        f"Great Expectations suite of {name}: columns, nulls, unique key, value sets, ranges.",
    )
    for name in TABLES
)

RULES = (
    Check("tables_have_schema", None, "Every table is there, with the columns and types it must."),
    Check("site_not_empty", "pages", "At least one live page and one kept block."),
    Check("pages_resolve", "pages", "Live pages have a body; canonical pages are live pages."),
    Check("links_resolve", "links", "Links go from live pages to live pages, from known blocks."),
    Check("blocks_resolve", "blocks", "Blocks stand on live pages and have a text and a parent."),
    Check("blocks_conserve_text", "blocks", "No visible text was lost when pages were parsed."),
    Check("texts_resolve", "texts", "Texts are counted by the blocks that have them, none unused."),
    Check("texts_fit_model", "texts", "No kept text is longer than the embedder takes."),
    Check("mentions_resolve", "mentions", "Mentions are slices of texts of kept blocks."),
    Check("entities_resolve", "entities", "Home pages of entities are live; each is mentioned."),
    Check("entity_edges_resolve", "entity_edges", "Edges join known entities and kept blocks."),
    Check(
        "relations_resolve",
        "relations",
        "Relations join entities, each shown by a block.",
    ),
    Check("facts_resolve", "facts", "Facts stand in blocks of their page; subjects are entities."),
    Check("topics_resolve", "topics", "Topic edges join topics with entities and blocks."),
    Check("vectors_complete", "blocks", "Both inputs of every kept block have one vector."),
    Check("search_complete", "blocks", "The search index has exactly the kept blocks."),
    Check("drift_drop", None, "No count fell by more than the brake allows (against the parent)."),
    Check("drift_growth", None, "No count grew beyond what is usual (a warning)."),
)

CHECKS: tuple[Check, ...] = SUITES + RULES
CHECK_NAMES: dict[str, list[str]] = {
    table: [check.name for check in CHECKS if check.table == table] for table in TABLES
}
