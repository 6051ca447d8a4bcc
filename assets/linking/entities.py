"""Entities of a crawl and the blocks that mention them.

The pages of the site are the backbone: each live page with a name is an entity. Other entities come
from mentions: one per normal form of a name (persons: one per person, see `persons`), unless the
form is the name of one page. Everything is recomputed from the tables of the crawl, sorted before
each choice, so that the result depends on no order and on no earlier crawl.
"""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from assets.extraction import sitenames
from assets.extraction.casing import lower_shares
from assets.extraction.facts import code_entity_id, page_entity_id
from assets.extraction.idcolumns import coded
from assets.extraction.mentions import text_kinds
from assets.extraction.patterns import leading_code
from assets.extraction.personnames import bare_name, parse_person
from assets.linking.acronyms import explained_acronyms
from assets.linking.edges import METHODS, mention_edges, structure_edges
from assets.linking.persons import PersonMerges, merge_persons
from assets.linking.surfaces import label_forms, linkable_mentions, plain_name, with_forms
from retrieval.index.gazetteer import normalise
from retrieval.snapshot import ids
from retrieval.snapshot.schemas import enforce

VERSION = "1"
_METHODS = {method: rank for rank, method in enumerate(METHODS)}
_MAX_ALIASES = 20
_CODED = r"^[A-Z&]{2,}[A-Z& \u00a0]*\d"
_TITLED = "title after code"  # evidence: the rest of a heading that begins with a code


def build_entities(
    pages: pl.DataFrame,
    blocks: pl.DataFrame,
    links: pl.DataFrame,
    texts: pl.DataFrame,
    mentions: pl.DataFrame,
) -> tuple[pa.Table, pa.Table]:
    """Return the tables ``entities`` and ``entity_edges``."""
    kinds = text_kinds(blocks, texts)
    names, surfaces = sitenames.site_names(pages, blocks, links)
    kept = blocks.filter("kept").select(
        "block_id", "page_id", "ordinal", "text_hash", "heading_path"
    )
    labels = label_forms(kinds, blocks)
    found, persons = with_forms(linkable_mentions(mentions), lower_shares(kinds), labels)
    profiles = names.filter(pl.col("type") == "PERSON")["name"].to_list()
    merges = merge_persons(persons | {p for p in map(parse_person, profiles) if p})
    codes = _code_sections(kept, surfaces)
    lexicon = _lexicon(names, surfaces, found, merges, codes, explained_acronyms(kinds))
    seen = found.join(kept.select("text_hash", "block_id", "page_id"), on="text_hash")
    edges = pl.concat(
        [
            mention_edges(seen, lexicon, surfaces, names, links),
            structure_edges(kept, names, links, codes),
        ]
    )
    return _entity_table(lexicon, edges, names), _edge_table(edges)


def _code_sections(kept: pl.DataFrame, surfaces: pl.DataFrame) -> pl.DataFrame:
    """Return the kept blocks under a heading that begins with a code.

    Columns: block_id, page_id, code, title (the rest of the heading, another name of what the code
    stands for, or null), home (the page of that name, or null), entity_id.
    """
    headings = pl.col("heading_path").list.eval(pl.element().struct.field("text"))
    paths = (
        kept.select("block_id", "page_id", path=headings)
        .with_columns(depth=pl.int_ranges(pl.col("path").list.len()))
        .explode("path", "depth", empty_as_null=False)
    )
    page_of = _pages_by_form(surfaces)
    rows = []
    coded = paths["path"].unique().sort()
    for heading in coded.filter(coded.str.contains(_CODED)).to_list():
        code = leading_code(heading)
        if code:
            home = page_of.get(normalise(code))
            entity = page_entity_id(home) if home else code_entity_id(code)
            title = _title_after(heading, code)
            rows.append((heading, " ".join(code.split()), title, home, entity))
    columns = ["path", "code", "title", "home", "entity_id"]
    table = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    return (
        paths.join(table, on="path")
        .sort("block_id", "depth")
        .unique("block_id", keep="last", maintain_order=True)
        .drop("path", "depth")
    )


def _pages_by_form(surfaces: pl.DataFrame) -> dict[str, str]:
    """Return the page of each form that one page alone has."""
    return dict(surfaces.filter(pl.col("holders") == 1).select("form", "page_id").iter_rows())


def _title_after(heading: str, code: str) -> str | None:
    rest = sitenames.without_units(heading[len(code) :].strip(" \u00a0.:–—-"))
    return rest if len(rest) > 3 and rest[0].isalpha() else None


def _lexicon(
    names: pl.DataFrame,
    surfaces: pl.DataFrame,
    found: pl.DataFrame,
    merges: PersonMerges,
    codes: pl.DataFrame,
    acronyms: pl.DataFrame,
) -> pl.DataFrame:
    """Return which form names which entity: form, entity_id, name, type, page_id, kind, detail.

    One row per form and entity; ``kind`` and ``detail`` are the evidence of the form.
    """
    typed_pages = surfaces.join(names.select("page_id", "type"), on="page_id")
    page_rows = [
        (form, page_entity_id(page), surface, type_, page, source, surface)
        for form, page, surface, source, type_ in typed_pages.sort("form", "page_id")
        .select("form", "page_id", "surface", "source", "type")
        .iter_rows()
    ]
    page_of = _pages_by_form(surfaces)
    several = set(surfaces["form"].to_list())
    rows: list[tuple[str | None, ...]] = list(page_rows)
    counted = (
        found.group_by("form", "type", "surface")
        .len()
        .sort("form", "len", "type", "surface", descending=[False, True, False, False])
    )
    # A form goes to one entity: the type most often given to it decides.
    typed = (
        counted.group_by("form", "type")
        .agg(pl.col("len").sum(), pl.col("surface").first())
        .sort("form", "len", "type", descending=[False, True, False])
        .unique("form", keep="first", maintain_order=True)
    )
    for form, type_, _, surface in typed.select("form", "type", "len", "surface").iter_rows():
        if form[0] in "~^" or form in several:
            continue
        target = merges.canonical.get(form, form) if type_ == "PERSON" else form
        home = page_of.get(target)
        entity = page_entity_id(home) if home else ids.entity_id("name", f"{type_}|{target}")
        kind = merges.evidence.get(form, "exact") if type_ == "PERSON" else "exact"
        name = bare_name(surface) if type_ == "PERSON" else plain_name(surface)
        rows.append((form, entity, name, type_, home, kind, surface))
    section = codes.select("code", "title", "home", "entity_id").unique()
    for code, title, home, entity in section.sort("code", "title").iter_rows():
        rows.append((normalise(code), entity, code, "CODE", home, "heading", code))
        if title and normalise(title) not in several:
            rows.append((normalise(title), entity, title, "CODE", home, _TITLED, f"{code} {title}"))
    schema = {"form": pl.String, "entity_id": pl.String, "surface": pl.String, "type": pl.String,
              "page_id": pl.String, "kind": pl.String, "detail": pl.String}  # fmt: skip
    lexicon = pl.DataFrame(rows, schema=schema, orient="row").unique(
        ["form", "entity_id"], keep="first", maintain_order=True
    )
    explained = (
        acronyms.join(
            lexicon.select("form", "entity_id", "type", "page_id"), left_on="long", right_on="form"
        )
        .filter(pl.len().over("short") == 1)
        .join(lexicon.select(short="form"), on="short", how="anti")
        .select(
            form="short",
            entity_id="entity_id",
            surface="acronym",
            type="type",
            page_id="page_id",
            kind=pl.lit("acronym"),
            detail=pl.format("{} ({})", "name", "acronym"),
        )
    )
    return pl.concat([lexicon, explained])


def _entity_table(lexicon: pl.DataFrame, edges: pl.DataFrame, names: pl.DataFrame) -> pa.Table:
    """Return the ``entities`` table: the pages' entities and all others that an edge supports."""
    page_ids = [page_entity_id(p) for p in names["page_id"].to_list()]
    own = names.select(
        entity_id=pl.Series(page_ids, dtype=pl.String),
        own_name="name",
        own_type="type",
        home="page_id",
    )
    blocks_of = edges.group_by("entity_id").agg(mentions=pl.col("block_id").n_unique())
    homes = (
        edges.filter(pl.col("section"))
        .group_by("entity_id")
        .agg(pl.col("page_id").first(), pages=pl.col("page_id").n_unique())
        .filter(pl.col("pages") == 1)
        .select("entity_id", section_home="page_id")
    )
    grouped = (
        lexicon.join(own.select("entity_id", "own_name"), on="entity_id", how="left")
        .with_columns(
            # The fullest spelling of a person and the form of a code itself come first.
            short=pl.col("kind").is_in(["initials", "middle name", "acronym", "anchor", _TITLED])
        )
        .sort("entity_id", "short", "form")
        .group_by("entity_id", maintain_order=True)
        .agg(
            first=pl.col("surface").first(),
            type=pl.col("type").drop_nulls().first(),
        )
    )
    table = (
        pl.concat([grouped.select("entity_id"), own.select("entity_id")])
        .unique()
        .join(grouped, on="entity_id", how="left")
        .join(own, on="entity_id", how="left")
        .join(blocks_of, on="entity_id", how="left")
        .join(homes, on="entity_id", how="left")
        .filter(pl.col("mentions").is_not_null() | pl.col("home").is_not_null())
        .with_columns(name=pl.coalesce("own_name", "first"))
    )
    types = pl.concat_list(
        "own_type",
        "type",
        pl.when(pl.col("own_type").is_not_null()).then(pl.lit("PAGE")),
    )
    result = (
        table.join(_aliases(lexicon, table), on="entity_id", how="left")
        .join(_evidence(lexicon), on="entity_id", how="left")
        .select(
            "entity_id",
            "name",
            types=types.list.drop_nulls().list.unique(maintain_order=True),
            aliases=pl.col("aliases").fill_null([]),
            home_page_id=pl.coalesce("home", "section_home"),
            mentions=pl.col("mentions").fill_null(0).cast(pl.Int32),
            merge_evidence=pl.col("evidence").fill_null([]),
        )
        .sort("entity_id")
    )
    return enforce("entities", result.to_arrow())


def _aliases(lexicon: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    """Return entity_id and aliases: its first 20 surfaces but its name, sorted."""
    return (
        lexicon.select("entity_id", "surface")
        .unique()
        .join(named.select("entity_id", "name"), on="entity_id")
        .filter(pl.col("surface") != pl.col("name"))
        .sort("entity_id", "surface")
        .group_by("entity_id", maintain_order=True)
        .agg(aliases=pl.col("surface").head(_MAX_ALIASES))
    )


def _evidence(lexicon: pl.DataFrame) -> pl.DataFrame:
    """Return entity_id and evidence of the entities that have several forms."""
    return (
        lexicon.select("entity_id", "kind", "detail")
        .unique()
        .filter(pl.len().over("entity_id") > 1)
        .sort("entity_id", "kind", "detail")
        .group_by("entity_id", maintain_order=True)
        .agg(evidence=pl.struct("kind", "detail").head(_MAX_ALIASES))
    )


def _edge_table(edges: pl.DataFrame) -> pa.Table:
    """Return ``entity_edges``: the best method, the first surface, all mentions counted."""
    table = (
        coded(edges, "entity_id", "block_id")
        .with_columns(rank=pl.col("method").replace_strict(_METHODS, return_dtype=pl.Int8))
        .sort("entity_id", "block_id", "start", "surface")
        .group_by("entity_id", "block_id", maintain_order=True)
        .agg(
            pl.col("surface").first(),
            count=pl.len().cast(pl.Int32),
            confidence=pl.col("confidence").max().cast(pl.Float32),
            rank=pl.col("rank").min(),
        )
        .with_columns(
            method=pl.col("rank").replace_strict(
                {rank: method for method, rank in _METHODS.items()}, return_dtype=pl.String
            )
        )
        .cast({"entity_id": pl.String, "block_id": pl.String})
        .select("entity_id", "block_id", "surface", "count", "confidence", "method")
    )
    return enforce("entity_edges", table.to_arrow())
