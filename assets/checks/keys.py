"""Foreign keys between the tables, as data: what must resolve to what."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.states import HAS_CONTENT


@dataclass(frozen=True)
class Target:
    """The rows a key may lead to; ``name`` is how a failure calls one of them."""

    name: str
    table: str
    key: str
    where: pl.Expr | None = None


LIVE_PAGE = Target("page with content", "pages", "page_id", HAS_CONTENT)
BLOCK = Target("block", "blocks", "block_id")
KEPT_BLOCK = Target("kept block", "blocks", "block_id", pl.col("kept"))
TEXT = Target("text", "texts", "text_hash")
KEPT_TEXT = Target("text of a kept block", "texts", "text_hash", pl.col("kept_blocks") > 0)
ENTITY = Target("entity", "entities", "entity_id")
TOPIC = Target("topic", "topics", "topic_id")


@dataclass(frozen=True)
class ForeignKey:
    """``column`` of ``table`` (where ``where`` holds and it is not null) leads to ``target``."""

    rule: str
    table: str
    column: str
    target: Target
    where: pl.Expr | None = None


FOREIGN_KEYS = (
    ForeignKey(
        "pages_resolve",
        "pages",
        "canonical_page_id",
        LIVE_PAGE,
        pl.col("state").is_in(["redirected", "duplicate"]),
    ),
    ForeignKey("links_resolve", "links", "src_page_id", LIVE_PAGE),
    ForeignKey("links_resolve", "links", "dst_page_id", LIVE_PAGE),
    ForeignKey("blocks_resolve", "blocks", "page_id", LIVE_PAGE),
    ForeignKey("blocks_resolve", "blocks", "text_hash", TEXT),
    ForeignKey("mentions_resolve", "mentions", "text_hash", KEPT_TEXT),
    ForeignKey("entities_resolve", "entities", "home_page_id", LIVE_PAGE),
    ForeignKey("entity_edges_resolve", "entity_edges", "entity_id", ENTITY),
    ForeignKey("entity_edges_resolve", "entity_edges", "block_id", KEPT_BLOCK),
    ForeignKey("relations_resolve", "relations", "subject_id", ENTITY),
    ForeignKey("relations_resolve", "relations", "object_id", ENTITY),
    ForeignKey("relations_resolve", "relations", "block_id", BLOCK),
    # Breadcrumbs and facts of the site stand in repeated parts, which are dropped as text.
    ForeignKey(
        "relations_resolve",
        "relations",
        "block_id",
        KEPT_BLOCK,
        ~pl.col("kind").is_in(["fact", "membership"]),
    ),
    ForeignKey("facts_resolve", "facts", "subject_id", ENTITY),
    ForeignKey("topics_resolve", "topic_edges", "topic_id", TOPIC),
    ForeignKey(
        "topics_resolve", "topic_edges", "target_id", ENTITY, pl.col("target_kind") == "entity"
    ),
    ForeignKey(
        "topics_resolve", "topic_edges", "target_id", KEPT_BLOCK, pl.col("target_kind") == "block"
    ),
)


def unresolved(key: ForeignKey, snapshot: Snapshot) -> pl.DataFrame:
    """Return the rows of the key's table that lead nowhere."""
    rows = snapshot.table(key.table).filter(pl.col(key.column).is_not_null())
    if key.where is not None:
        rows = rows.filter(key.where)
    known = snapshot.table(key.target.table)
    if key.target.where is not None:
        known = known.filter(key.target.where)
    return rows.join(
        known.select(key.target.key), left_on=key.column, right_on=key.target.key, how="anti"
    )
