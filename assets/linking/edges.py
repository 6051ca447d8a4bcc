"""Which entity each mention means: whole columns of occurrences against the lexicon of forms."""

from __future__ import annotations

import polars as pl

from assets.extraction.facts import page_entity_id
from assets.extraction.personnames import parse_person
from assets.linking.context import choose_homonyms

METHODS = ("home", "anchor", "exact", "alias", "context")  # from sure to weak
_CONTEXT_CONFIDENCE = 0.6
_ANCHOR_CONFIDENCE = 0.95
_SECTION_CONFIDENCE = 0.9
_EDGE = ["entity_id", "block_id", "page_id", "surface", "start", "confidence", "method", "section"]


def mention_edges(
    seen: pl.DataFrame,
    lexicon: pl.DataFrame,
    surfaces: pl.DataFrame,
    names: pl.DataFrame,
    links: pl.DataFrame,
) -> pl.DataFrame:
    """Resolve occurrences of mentions to entities.

    ``seen`` has a row per mention and kept block: form, surface, start, confidence, block_id and
    page_id.
    A form of one entity is that entity; a form that several pages share goes by context; a bare
    surname goes to the one person of that surname on the page (titled: or on the whole site).
    Result: entity_id, block_id, page_id, surface, start, confidence, method, section (false).
    """
    single = lexicon.filter(pl.len().over("form") == 1)
    direct = seen.join(single.select("form", "entity_id", "kind"), on="form").with_columns(
        method=pl.when(pl.col("kind").is_in(["title", "exact", "h1", "code", "person"]))
        .then(pl.lit("exact"))
        .otherwise(pl.lit("alias"))
    )
    shared = surfaces.filter(pl.col("holders") > 1).select("form", holder="page_id")
    doubtful = seen.join(shared.select("form").unique(), on="form", how="semi")
    chosen = choose_homonyms(
        doubtful.select("page_id", "form"), shared, names.select("page_id", "url"), links
    )
    chosen = with_page_entity(chosen, "holder")
    by_context = doubtful.join(chosen, on=["page_id", "form"]).with_columns(
        method=pl.lit("context"), confidence=pl.col("confidence") * _CONTEXT_CONFIDENCE
    )
    surnames = _surname_edges(seen, direct, lexicon)
    parts = [direct, by_context, surnames]
    return pl.concat([p.with_columns(section=pl.lit(False)).select(_EDGE) for p in parts])


def with_page_entity(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Add entity_id: the entity of the page in ``column``."""
    pages = frame[column].unique().sort()
    table = pl.DataFrame(
        {column: pages, "entity_id": [page_entity_id(p) for p in pages.to_list()]},
        schema={column: pl.String, "entity_id": pl.String},
    )
    return frame.join(table, on=column)


def _surname_edges(seen: pl.DataFrame, direct: pl.DataFrame, lexicon: pl.DataFrame) -> pl.DataFrame:
    """Resolve "~surname" and "^surname" forms to the only person they can be."""
    full = lexicon.filter((pl.col("type") == "PERSON") & pl.col("form").str.contains(" "))
    parsed = [parse_person(surface) for surface in full["surface"].to_list()]
    persons = (
        full.select(
            "entity_id",
            "page_id",
            surname=pl.Series([p and p.surname for p in parsed], dtype=pl.String),
        )
        .filter(pl.col("surname").is_not_null())
        .unique()
    )
    on_page = (
        pl.concat(
            [
                direct.select("page_id", "entity_id").join(
                    persons.select("entity_id", "surname").unique(), on="entity_id"
                ),
                persons.filter(pl.col("page_id").is_not_null()).select(
                    "page_id", "entity_id", "surname"
                ),
            ]
        )
        .unique()
        .filter(pl.len().over("page_id", "surname") == 1)
    )
    on_site = (
        persons.select("entity_id", "surname")
        .unique()
        .filter(pl.len().over("surname") == 1)
        .rename({"entity_id": "site_entity"})
    )
    bare = seen.filter(pl.col("form").str.contains(r"^[~^]")).with_columns(
        surname=pl.col("form").str.slice(1), titled=pl.col("form").str.starts_with("^")
    )
    return (
        bare.join(on_page, on=["page_id", "surname"], how="left")
        .join(on_site, on="surname", how="left")
        .with_columns(
            entity_id=pl.coalesce(
                "entity_id", pl.when("titled").then(pl.col("site_entity")).otherwise(None)
            ),
            method=pl.lit("context"),
            confidence=pl.col("confidence") * _CONTEXT_CONFIDENCE,
        )
        .filter(pl.col("entity_id").is_not_null())
    )


def structure_edges(
    kept: pl.DataFrame, names: pl.DataFrame, links: pl.DataFrame, codes: pl.DataFrame
) -> pl.DataFrame:
    """Return the edges that the structure gives: home, anchor, and sections about a code.

    ``kept`` has block_id, page_id, ordinal; ``codes`` block_id, page_id, code, entity_id.
    """
    home = (
        with_page_entity(kept.join(names.select("page_id", "name"), on="page_id"), "page_id")
        .sort("page_id", "ordinal")
        .unique("page_id", keep="first", maintain_order=True)
        .with_columns(
            surface=pl.col("name"),
            confidence=pl.lit(1.0),
            method=pl.lit("home"),
            section=pl.lit(False),
        )
    )
    anchors = (
        links.filter(
            (pl.col("region") == "content") & (pl.col("dst_page_id") != pl.col("src_page_id"))
        )
        .filter(pl.col("anchor") != "")
        .join(kept.select("block_id", "page_id"), on="block_id")
        .join(names.select(dst_page_id="page_id"), on="dst_page_id")
    )
    anchored = with_page_entity(anchors, "dst_page_id").with_columns(
        surface=pl.col("anchor"),
        confidence=pl.lit(_ANCHOR_CONFIDENCE),
        method=pl.lit("anchor"),
        section=pl.lit(False),
    )
    sections = codes.with_columns(
        surface=pl.col("code"),
        confidence=pl.lit(_SECTION_CONFIDENCE),
        method=pl.lit("exact"),
        section=pl.lit(True),
    )
    parts = [home, anchored, sections]
    return pl.concat(
        [
            p.with_columns(
                start=pl.lit(-1, pl.Int32), confidence=pl.col("confidence").cast(pl.Float32)
            ).select(_EDGE)
            for p in parts
        ]
    )
