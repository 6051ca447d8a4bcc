"""Rules across tables, in polars: each returns what is wrong in words, nothing when all is well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from assets.checks.config import ChecksConfig
from assets.checks.keys import FOREIGN_KEYS, unresolved
from retrieval.errors import SitequestError
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.schemas import TABLES
from retrieval.snapshot.states import HAS_CONTENT

Problems = list[str]
Rule = Callable[[Snapshot, ChecksConfig], Problems]
UNIT_TOLERANCE = 1e-3
CONSERVATION_STAT = "blocks.conservation_failures"


def _named(frame: pl.DataFrame, what: str, column: str, config: ChecksConfig) -> Problems:
    """Return one line for the rows of ``frame`` with the first values of ``column``, or nothing."""
    if frame.is_empty():
        return []
    examples = ", ".join(map(str, frame[column].head(config.shown).to_list()))
    return [f"{frame.height} {what} ({examples})"]


def foreign_keys(rule: str, snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """Return a line for each foreign key of ``rule`` that does not resolve everywhere."""
    return [
        line
        for key in FOREIGN_KEYS
        if key.rule == rule
        for line in _named(
            unresolved(key, snapshot),
            f"rows of {key.table} whose {key.column} is no {key.target.name}",
            key.column,
            config,
        )
    ]


def tables_have_schema(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """Every table is listed, of this program's schema, and its file has the columns and types."""
    problems = []
    for name, table in TABLES.items():
        entry = snapshot.manifest.tables.get(name)
        if entry is None:
            problems.append(f"{name} is missing")
        elif entry.schema_fingerprint != table.fingerprint:
            problems.append(f"{name} was written under another schema")
        elif not pq.read_schema(snapshot.dir / entry.file).equals(table.schema):
            problems.append(f"the file of {name} has other columns or types")
    return problems


def site_not_empty(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """There is something to answer from."""
    pages = snapshot.table("pages")
    problems = []
    if pages.filter(HAS_CONTENT).is_empty():
        states = dict(pages.group_by("state").len().sort("state").iter_rows())
        problems.append(f"no page with content (states: {states})")
    if snapshot.table("blocks").filter("kept").is_empty():
        problems.append("no kept block")
    return problems


def pages_have_bodies(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """A live page has a body to be parsed from."""
    bodiless = snapshot.table("pages").filter(
        (pl.col("state") == "live") & pl.col("body_sha256").is_null()
    )
    return _named(bodiless, "live pages without a body", "url", config)


def links_stand_in_blocks(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """A link's block, where it has one, is a block of its page."""
    blocks = snapshot.table("blocks").select("block_id", block_page="page_id")
    placed = snapshot.table("links").filter(pl.col("block_id").is_not_null())
    wrong = placed.join(blocks, on="block_id", how="left").filter(
        ~pl.col("block_page").eq_missing(pl.col("src_page_id"))
    )
    return _named(wrong, "links in no block of their page", "dst_url", config)


def blocks_have_places(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """A parent block is on the same page; no two blocks share a place."""
    blocks = snapshot.table("blocks")
    parents = blocks.select(parent_block_id="block_id", parent_page="page_id")
    orphans = (
        blocks.filter(pl.col("parent_block_id").is_not_null())
        .join(parents, on="parent_block_id", how="left")
        .filter(~pl.col("parent_page").eq_missing(pl.col("page_id")))
    )
    places = blocks.filter(pl.struct("page_id", "ordinal").is_duplicated())
    return [
        *_named(orphans, "blocks whose parent is not on their page", "block_id", config),
        *_named(places, "blocks that share a place on their page", "block_id", config),
    ]


def blocks_conserve_text(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """Parsing counted no page whose visible text is not that of its blocks."""
    failures = snapshot.manifest.stats.get(CONSERVATION_STAT)
    if failures is None:
        return [f"the manifest has no statistic {CONSERVATION_STAT}"]
    return [f"{failures} pages lost or doubled visible text"] if float(failures) > 0 else []


def texts_are_counted(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """`kept_blocks` and `dropped_blocks` of each text are the blocks there are; none is unused."""
    counts = (
        snapshot.table("blocks")
        .group_by("text_hash")
        .agg(kept_now=pl.col("kept").sum(), dropped_now=(~pl.col("kept")).sum())
    )
    texts = snapshot.table("texts").join(counts, on="text_hash", how="left")
    unused = texts.filter(pl.col("kept_now").is_null())
    wrong = texts.filter(
        (pl.col("kept_blocks") != pl.col("kept_now"))
        | (pl.col("dropped_blocks") != pl.col("dropped_now"))
    )
    return [
        *_named(unused, "texts of no block", "text_hash", config),
        *_named(wrong, "texts with a wrong count of blocks", "text_hash", config),
    ]


def texts_fit_model(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """No kept text is longer than the embedder takes."""
    limit = config.max_block_tokens
    long = snapshot.table("texts").filter((pl.col("kept_blocks") > 0) & (pl.col("tokens") > limit))
    return _named(
        long.sort("tokens", descending=True),
        f"kept texts of more than {limit} tokens",
        "text_hash",
        config,
    )


def mentions_are_slices(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """A mention is the slice of its text that it says it is."""
    texts = snapshot.table("texts").select("text_hash", "text")
    length = pl.col("end") - pl.col("start")
    wrong = (
        snapshot.table("mentions")
        .join(texts, on="text_hash", how="inner")
        .filter(pl.col("text").str.slice(pl.col("start"), length) != pl.col("surface"))
    )
    return _named(wrong, "mentions whose surface is not in its place", "surface", config)


def entities_are_supported(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """An entity has a home page or a kept block that mentions it."""
    unsupported = (
        snapshot.table("entities")
        .filter(pl.col("home_page_id").is_null())
        .join(snapshot.table("entity_edges"), on="entity_id", how="anti")
    )
    return _named(unsupported, "entities that nothing supports", "name", config)


def facts_have_places(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """A fact stands in a block of its page."""
    places = snapshot.table("blocks").select("block_id", block_page="page_id")
    lost = (
        snapshot.table("facts")
        .join(places, on="block_id", how="left")
        .filter(~pl.col("block_page").eq_missing(pl.col("page_id")))
    )
    return _named(lost, "facts in no block of their page", "fact_id", config)


def vectors_complete(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """The Lance table has one vector for each distinct input of the kept blocks, and no other."""
    kept = snapshot.table("blocks").filter("kept")
    wanted = pl.concat(
        [kept.select(input_hash=column) for column in ("input_hash", "path_input_hash")]
    ).drop_nulls()
    wanted = wanted.unique(maintain_order=True)
    if snapshot.manifest.vectors is None:
        return ["there are no vectors"] if wanted.height else []
    table: Any = snapshot.lance()
    query = table.search().select(["input_hash"]).limit(max(table.count_rows(), 1))
    found = pl.DataFrame(query.to_arrow().select(["input_hash"]))
    without = wanted.join(found, on="input_hash", how="anti")
    left_over = found.join(wanted, on="input_hash", how="anti")
    twice = found.filter(pl.col("input_hash").is_duplicated())
    return [
        *_named(without, "inputs without a vector", "input_hash", config),
        *_named(left_over, "vectors of no kept block", "input_hash", config),
        *_named(twice, "vectors that occur twice", "input_hash", config),
    ]


def search_complete(snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """The search files hold exactly the kept blocks, and a unit vector for each input."""
    from retrieval.index.mirror import Mirror

    mirror = Mirror(snapshot.search_dir)
    kept = snapshot.table("blocks").filter("kept")
    ids = pl.DataFrame({"block_id": pl.Series(mirror.block_ids, dtype=pl.String)})
    norms = np.linalg.norm(mirror.vectors, axis=1)
    bent = int((~np.isclose(norms, 1.0, atol=UNIT_TOLERANCE)).sum())
    problems = [
        *_named(
            kept.join(ids, on="block_id", how="anti"), "kept blocks not there", "block_id", config
        ),
        *_named(ids.join(kept, on="block_id", how="anti"), "blocks not kept", "block_id", config),
    ]
    if ids.height != ids.unique().height:
        problems.append(f"{ids.height - ids.unique().height} blocks are there twice")
    if len(mirror.input_hashes) != len(norms):
        problems.append(f"{len(norms)} vectors for {len(mirror.input_hashes)} inputs")
    if bent:
        problems.append(f"{bent} vectors are not of unit length")
    return problems


# Rules beyond the foreign keys that have the same name in `keys`.
RULES: dict[str, Rule | None] = {
    "tables_have_schema": tables_have_schema,
    "site_not_empty": site_not_empty,
    "pages_resolve": pages_have_bodies,
    "links_resolve": links_stand_in_blocks,
    "blocks_resolve": blocks_have_places,
    "blocks_conserve_text": blocks_conserve_text,
    "texts_resolve": texts_are_counted,
    "texts_fit_model": texts_fit_model,
    "mentions_resolve": mentions_are_slices,
    "entities_resolve": entities_are_supported,
    "entity_edges_resolve": None,
    "relations_resolve": None,
    "facts_resolve": facts_have_places,
    "topics_resolve": None,
    "vectors_complete": vectors_complete,
    "search_complete": search_complete,
}


def apply(name: str, snapshot: Snapshot, config: ChecksConfig) -> Problems:
    """Return the problems rule ``name`` finds; what stops a rule from running is one."""
    rule = RULES[name]
    try:
        problems = foreign_keys(name, snapshot, config)
        return problems if rule is None else problems + rule(snapshot, config)
    except (SitequestError, pa.ArrowException, OSError) as error:
        return [str(error)]
    except pl.exceptions.PolarsError as error:
        # A column that is missing or of another type: the suites say which.
        return [f"the rule could not be applied: {error}"]
