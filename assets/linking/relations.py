"""Typed edges between entities, each with the blocks that show it.

- *hyperlink*: a page links to a page; the predicate is the heading the link stands under.
- *membership*: a page below another in the URL tree or in its breadcrumb, and a thing that opens a
  row or an item of a list on a page.
- *role*: a label that names a role, with a person as its value; a line "Name, Role".
- *fact*: a fact whose value is the name of an entity.
- *cooccurrence*: two entities in one block, weak, capped per block and per entity.
"""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from assets.extraction.facts import page_entity_id
from assets.extraction.forms import forms
from assets.extraction.idcolumns import coded, digest_column
from assets.extraction.layout import PERSON_LABEL, fold
from assets.extraction.roles import ROLE_LABEL_PATTERN
from assets.extraction.sitenames import page_names
from retrieval.snapshot.schemas import enforce

VERSION = "2"
_LINKS_TO = "links to"
_PART_OF = "part of"
_LISTED = "listed under"
_DESCRIBED = "described on"
_WITH = "appears with"
_MAX_IN_BLOCK = 6  # entities of a block that enter co-occurrence, rarest first
_MAX_PARTNERS = 5  # co-occurrence partners of an entity, most blocks first
_MAX_EVIDENCE = 3  # evidence blocks of a co-occurrence
_PREDICATE_CHARS = 80
_CRUMB_WORDS = 40
_LISTED_TYPES = ("CODE", "PERSON")
_COLUMNS = ["block_id", "subject_id", "predicate", "object_id", "literal", "kind", "confidence",
            "extractor"]  # fmt: skip


def build_relations(
    pages: pl.DataFrame,
    blocks: pl.DataFrame,
    links: pl.DataFrame,
    texts: pl.DataFrame,
    entities: pl.DataFrame,
    entity_edges: pl.DataFrame,
    facts: pl.DataFrame,
) -> pa.Table:
    """Return the ``relations`` table."""
    named = _page_entities(page_names(pages, blocks))
    kept = blocks.filter("kept").select(
        "block_id", "page_id", "ordinal", "kind", "text_hash",
        path=pl.col("heading_path").list.eval(pl.element().struct.field("text")),
    ).with_columns(
        heading=fold(pl.col("path").list.last()).str.slice(0, _PREDICATE_CHARS)
    )  # fmt: skip
    known = _entity_forms(entities)
    parts = [
        _hyperlinks(kept, links, named),
        _tree(blocks, texts, kept, links, named),
        _listed(kept, texts, entities, entity_edges, named),
        _valued(facts, known, entities, named),
        _together(kept, entity_edges),
    ]
    frame = (
        pl.concat([p.select(_COLUMNS) for p in parts])
        .filter(pl.col("object_id").is_null() | (pl.col("object_id") != pl.col("subject_id")))
        .with_columns(target=pl.coalesce("object_id", "literal"), extractor_version=pl.lit(VERSION))
    )
    ids = digest_column(frame, "relation", ["subject_id", "predicate", "target"])
    key = ["relation_id", "block_id"]
    frame = frame.with_columns(relation_id=ids).drop("target")
    # Of equal edges the surest stays.
    frame = frame.sort(
        *key, "confidence", *_COLUMNS[3:6], descending=[False, False, True, False, False, False]
    ).unique(key, keep="first", maintain_order=True)
    return enforce("relations", frame.to_arrow())


def _page_entities(names: pl.DataFrame) -> pl.DataFrame:
    """Return page_id, entity_id, url, h1, name of the pages that are entities."""
    found = [page_entity_id(p) for p in names["page_id"].to_list()]
    return names.select("page_id", "url", "h1", "name", entity_id=pl.Series(found, dtype=pl.String))


def _hyperlinks(kept: pl.DataFrame, links: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    page = named.select("page_id", "entity_id", "h1")
    found = (
        links.filter((pl.col("region") == "content") & pl.col("dst_page_id").is_not_null())
        .join(kept.select("block_id", "heading"), on="block_id")
        .join(page.select(src_page_id="page_id", subject_id="entity_id", h1="h1"), on="src_page_id")
        .join(page.select(dst_page_id="page_id", object_id="entity_id"), on="dst_page_id")
    )
    own = pl.col("heading").is_null() | (pl.col("heading") == fold(pl.col("h1")))
    return found.select(
        "block_id",
        "subject_id",
        "object_id",
        predicate=pl.when(own.fill_null(True)).then(pl.lit(_LINKS_TO)).otherwise("heading"),
        literal=pl.lit(None, pl.String),
        kind=pl.lit("hyperlink"),
        confidence=pl.lit(0.95),
        extractor=pl.lit("link"),
    ).unique()


def _tree(
    blocks: pl.DataFrame,
    texts: pl.DataFrame,
    kept: pl.DataFrame,
    links: pl.DataFrame,
    named: pl.DataFrame,
) -> pl.DataFrame:
    """Return each page's parent: the last link of its breadcrumb, else the next page up its URL.

    The evidence is the link on the parent that leads to the page, else the breadcrumb, else the
    page's first block.
    """
    parents = _url_parents(named)
    crumbs = _breadcrumbs(blocks, texts, links, named)
    tree = (
        named.select("page_id")
        .join(parents, on="page_id", how="left")
        .join(crumbs, on="page_id", how="left")
        .with_columns(parent=pl.coalesce("crumb_parent", "url_parent"))
        .filter(pl.col("parent").is_not_null())
    )
    first = (
        kept.sort("page_id", "ordinal")
        .group_by("page_id", maintain_order=True)
        .agg(first_block=pl.col("block_id").first())
    )
    down = (
        links.filter((pl.col("region") == "content") & pl.col("dst_page_id").is_not_null())
        .join(kept.select("block_id"), on="block_id", how="semi")
        .sort("src_page_id", "ordinal")
        .unique(["src_page_id", "dst_page_id"], keep="first", maintain_order=True)
        .select(parent="src_page_id", page_id="dst_page_id", down_block="block_id")
    )
    page = named.select("page_id", "entity_id")
    return (
        tree.join(first, on="page_id", how="left")
        .join(down, on=["parent", "page_id"], how="left")
        .join(page.rename({"entity_id": "subject_id"}), on="page_id")
        .join(page.select(parent="page_id", object_id="entity_id"), on="parent")
        .with_columns(block_id=pl.coalesce("down_block", "crumb_block", "first_block"))
        .filter(pl.col("block_id").is_not_null())
        .select(
            "block_id",
            "subject_id",
            "object_id",
            predicate=pl.lit(_PART_OF),
            literal=pl.lit(None, pl.String),
            kind=pl.lit("membership"),
            confidence=pl.when(pl.col("crumb_parent").is_not_null()).then(0.95)
            .when(pl.col("down_block").is_not_null()).then(0.9).otherwise(0.7),
            extractor=pl.when(pl.col("crumb_parent").is_not_null()).then(pl.lit("breadcrumb"))
            .otherwise(pl.lit("url")),
        )
    )  # fmt: skip


def _breadcrumbs(
    blocks: pl.DataFrame, texts: pl.DataFrame, links: pl.DataFrame, named: pl.DataFrame
) -> pl.DataFrame:
    """Return the last link of each page's breadcrumb: page_id, crumb_parent, crumb_block.

    A breadcrumb is a short dropped block that ends with the page's own name after links to other
    pages; the name itself may be a link.
    """
    own = named.select("page_id", "name", "h1")
    short = (
        blocks.filter(~pl.col("kept"))
        .select("block_id", "page_id", "text_hash", "ordinal")
        .join(texts.filter(pl.col("words") <= _CRUMB_WORDS), on="text_hash")
        .join(own, on="page_id")
        .with_columns(end=fold(pl.col("text")))
        .filter(
            pl.col("end").str.ends_with(pl.col("name"))
            | pl.col("end").str.ends_with(fold(pl.col("h1"))).fill_null(False)
        )
    )
    return (
        links.filter(
            pl.col("dst_page_id").is_not_null() & (pl.col("dst_page_id") != pl.col("src_page_id"))
        )
        .select("ordinal", "block_id", crumb_parent="dst_page_id")
        .join(short.select("block_id", "page_id", place="ordinal"), on="block_id")
        .sort("page_id", "place", "ordinal", descending=[False, False, True])
        .unique("page_id", keep="first", maintain_order=True)
        .select("page_id", "crumb_parent", crumb_block="block_id")
    )


def _url_parents(named: pl.DataFrame) -> pl.DataFrame:
    """Return page_id, url_parent: the page of the longest folder above a page's URL."""
    by_folder = {
        folder: page
        for page, folder in named.sort("page_id").select("page_id", _folder()).iter_rows()
    }
    rows = []
    for page, folder in named.select("page_id", _folder()).iter_rows():
        above = folder
        while above.count("/") > 2:
            above = above.rpartition("/")[0]
            if above in by_folder and by_folder[above] != page:
                rows.append((page, by_folder[above]))
                break
    return pl.DataFrame(rows, schema={"page_id": pl.String, "url_parent": pl.String}, orient="row")


def _folder() -> pl.Expr:
    """Return the URL as a node of a tree: without query, index file, suffix and last slash."""
    return (
        pl.col("url")
        .str.replace(r"[?#].*$", "")
        .str.replace(r"/(?:index|default)\.\w+$", "")
        .str.replace(r"\.(?:html?|php|aspx?)$", "")
        .str.strip_chars_end("/")
        .alias("folder")
    )


def _listed(
    kept: pl.DataFrame,
    texts: pl.DataFrame,
    entities: pl.DataFrame,
    edges: pl.DataFrame,
    named: pl.DataFrame,
) -> pl.DataFrame:
    """Return the codes and persons that begin a row or an item: listed under its heading."""
    things = entities.filter(pl.col("types").list.first().is_in(_LISTED_TYPES)).select(
        "entity_id", "home_page_id"
    )
    found = (
        edges.filter(pl.col("method") != "home")
        .join(things, on="entity_id")
        .join(kept.filter(pl.col("heading").is_not_null()), on="block_id")
        .join(texts.select("text_hash", "text"), on="text_hash")
        .join(named.select("page_id", object_id="entity_id"), on="page_id")
        .filter(
            pl.col("text").str.starts_with(pl.col("surface"))
            | pl.col("text").str.contains(pl.lit("\n") + pl.col("surface"), literal=True)
        )
    )
    return found.select(
        "block_id",
        "object_id",
        subject_id="entity_id",
        # A thing's own section is no list that it stands in.
        predicate=pl.when(pl.col("heading").str.starts_with(pl.col("surface")))
        .then(pl.lit(_DESCRIBED))
        .otherwise(pl.format("{} {}", pl.lit(_LISTED), "heading")),
        literal=pl.lit(None, pl.String),
        kind=pl.lit("membership"),
        confidence=pl.lit(0.85),
        extractor=pl.lit("list"),
    )


def _entity_forms(entities: pl.DataFrame) -> pl.DataFrame:
    """Return form, entity_id of the names and aliases that one entity alone has."""
    every = entities.select(
        "entity_id", surface=pl.concat_list(pl.concat_list("name"), "aliases")
    ).explode("surface", empty_as_null=False)
    return (
        every.select("entity_id", form=forms(every["surface"]))
        .filter(pl.col("form") != "")
        .unique()
        .filter(pl.len().over("form") == 1)
    )


def _valued(
    facts: pl.DataFrame, known: pl.DataFrame, entities: pl.DataFrame, named: pl.DataFrame
) -> pl.DataFrame:
    """Return facts as relations: values that are entities, and roles with their persons."""
    labels = facts.select("label").unique()
    labels = labels.with_columns(role=pl.col("label").str.contains(ROLE_LABEL_PATTERN))
    paged = (
        facts.filter((pl.col("scope") == "page") & (pl.col("value_type") == "text"))
        .select("block_id", "page_id", "subject_id", "label", "value")
        .join(labels, on="label")
    )
    # Few of the distinct values are names: all else is done for those alone.
    said = paged.select("role", "value").unique().with_columns(
        part=pl.when("role")
        .then(pl.col("value").str.replace_all("; ", " and ", literal=True).str.split(" and "))
        .otherwise(pl.concat_list("value"))
    ).explode("part", empty_as_null=False).with_columns(
        # "Jane Smith, Professor of …" names the person before the comma.
        part=pl.when("role").then(pl.col("part").str.split(", ").list.first()).otherwise("part")
    )  # fmt: skip
    meant = said.with_columns(form=forms(said["part"])).join(known, on="form")
    values = paged.join(meant.select("role", "value", "entity_id"), on=["role", "value"])
    persons = entities.filter(pl.col("types").list.contains("PERSON")).select(
        "entity_id", person=pl.lit(True)
    )
    values = values.join(persons, on="entity_id", how="left").with_columns(
        role=pl.col("role") & pl.col("person").fill_null(False)
    )
    about = values.join(named.select("page_id", page_entity="entity_id"), on="page_id", how="left")
    about = about.with_columns(thing=pl.coalesce("subject_id", "page_entity")).filter(
        pl.col("thing").is_not_null() & (pl.col("subject_id").is_not_null() | pl.col("role"))
    )
    valued = about.select(
        "block_id",
        subject_id=pl.when("role").then("entity_id").otherwise("thing"),
        predicate=fold(pl.col("label")),
        object_id=pl.when("role").then("thing").otherwise("entity_id"),
        literal=pl.lit(None, pl.String),
        kind=pl.when("role").then(pl.lit("role")).otherwise(pl.lit("fact")),
        confidence=pl.lit(0.9),
        extractor=pl.lit("fact"),
    )
    titled = facts.filter((pl.col("label") == PERSON_LABEL) & (pl.col("extractor") == "line"))
    titled = (
        titled.with_columns(form=forms(titled["subject"]))
        .join(known, on="form")
        .join(persons, on="entity_id")
        .join(named.select("page_id", page_entity="entity_id"), on="page_id")
    )
    roles = titled.select(
        "block_id",
        subject_id="entity_id",
        predicate=pl.col("value").str.slice(0, _PREDICATE_CHARS),
        object_id="page_entity",
        literal=pl.lit(None, pl.String),
        kind=pl.lit("role"),
        confidence=pl.lit(0.85),
        extractor=pl.lit("line"),
    )
    return pl.concat([valued.select(_COLUMNS), roles.select(_COLUMNS)])


def _together(kept: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """Return co-occurrence in running text: at most 6 entities a block, 5 partners an entity.

    A text that stands on several pages brings its entities together once, in its first block.
    """
    prose = (
        kept.filter(pl.col("kind") == "prose")
        .sort("block_id")
        .unique("text_hash", keep="first", maintain_order=True)
        .select("block_id")
    )
    inside = (
        coded(
            edges.filter(pl.col("method") != "home")
            .join(prose, on="block_id", how="semi")
            .select("entity_id", "block_id")
        )
        .with_columns(spread=pl.len().over("entity_id"))
        .sort("block_id", "spread", "entity_id")
        .with_columns(place=pl.int_range(pl.len()).over("block_id"))
        .filter(pl.col("place") < _MAX_IN_BLOCK)
        .select("entity_id", "block_id")
    )
    pairs = inside.join(inside, on="block_id", suffix="_b").filter(
        pl.col("entity_id") < pl.col("entity_id_b")
    )
    counted = pairs.group_by("entity_id", "entity_id_b").agg(
        blocks=pl.len(), evidence=pl.col("block_id").unique().sort().head(_MAX_EVIDENCE)
    )
    both = pl.concat(
        [
            counted.select(one="entity_id", two="entity_id_b", a="entity_id", b="entity_id_b",
                           blocks="blocks"),
            counted.select(one="entity_id_b", two="entity_id", a="entity_id", b="entity_id_b",
                           blocks="blocks"),
        ]
    )  # fmt: skip
    ranked = both.sort("one", "blocks", "two", descending=[False, True, False]).with_columns(
        rank=pl.int_range(pl.len()).over("one")
    )
    # A pair stays when it is among the first of both ends: hubs keep five partners as well.
    best = (
        ranked.filter(pl.col("rank") < _MAX_PARTNERS)
        .group_by("a", "b")
        .len()
        .filter(pl.col("len") == 2)
    )
    return (
        counted.join(best.select(entity_id="a", entity_id_b="b"), on=["entity_id", "entity_id_b"])
        .explode("evidence", empty_as_null=False)
        .select(
            block_id=pl.col("evidence").cast(pl.String),
            subject_id=pl.col("entity_id").cast(pl.String),
            predicate=pl.lit(_WITH),
            object_id=pl.col("entity_id_b").cast(pl.String),
            literal=pl.lit(None, pl.String),
            kind=pl.lit("cooccurrence"),
            confidence=(0.1 + 0.05 * pl.col("blocks").clip(1, 4)).cast(pl.Float64),
            extractor=pl.lit("cooccurrence"),
        )
    )
