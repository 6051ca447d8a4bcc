"""Facts: label → value on a page, tied to the block it stands in and to what it is about.

Subject, from near to far: the row's first cell or the person of the line; the deepest heading that
begins with a code; the deepest heading that is the page's own; the page. ``subject_id`` is set only
where it is certain: a page, a code, a cell that links to a page, a name that one page alone has.
"""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from assets.extraction.idcolumns import digests, joined
from assets.extraction.layout import fold, layout_pairs
from assets.extraction.patterns import leading_code
from assets.extraction.sitenames import site_names, without_units
from assets.extraction.values import value_type
from retrieval.index.gazetteer import normalise
from retrieval.snapshot import ids
from retrieval.snapshot.schemas import enforce

VERSION = "2"
_PAIR = ["block_id", "subject_text", "label", "value", "extractor", "again", "own_heading",
         "value_type"]  # fmt: skip
_GENERIC_PAGES = 3  # a heading on so many pages names a part of any page, not a thing
_SHORT_BODY_WORDS = 25
_BOILERPLATE_LABELS = 20  # a value that so many different labels have is a control's text
# Text that the site repeats on purpose; hidden, consent and navigation text states nothing.
_SITE_SCOPE_REASONS = ("footer", "repeated", "outside", "aside", "header")
_HEADING_UNITS = r"^.*\S\s+(\d[\d.]*(?:\s*(?:-|–|or|to)\s*\d[\d.]*)?)\s+(\p{L}+)$"


def code_entity_id(code: str) -> str:
    """Return the entity id of a code such as "CS 61A"."""
    return ids.entity_id("name", f"CODE|{normalise(code)}")


def page_entity_id(page_id: str) -> str:
    """Return the entity id of a page."""
    return ids.entity_id("page", page_id)


def build_facts(
    pages: pl.DataFrame, blocks: pl.DataFrame, links: pl.DataFrame, texts: pl.DataFrame
) -> pa.Table:
    """Return the ``facts`` table: of kept blocks per page, of repeated parts once for the site."""
    names, surfaces = site_names(pages, blocks, links)
    used = _used_blocks(blocks, texts)
    pairs = _paired(used, texts)
    headed = pl.concat([_heading_pairs(used, texts, pairs), _heading_units(used)])
    headed = headed.with_columns(value_type=value_type(pl.col("value")))
    pairs = _stating(pl.concat([pairs, headed]))
    told = _with_subjects(pairs, used, names, surfaces, links)
    table = _identified(told).with_columns(extractor_version=pl.lit(VERSION))
    columns = ["fact_id", "subject_id", "subject", "label", "value", "value_type", "block_id",
               "page_id", "scope", "extractor", "extractor_version"]  # fmt: skip
    return enforce("facts", table.select(columns).sort("fact_id").to_arrow())


def _identified(told: pl.DataFrame) -> pl.DataFrame:
    """Add fact_id: what `ids.fact_id` gives, equal facts of a block numbered by extractor."""
    parts = joined(pl.lit("fact"), "block_id", "subject", "label", "value")
    facts = told.with_columns(parts=parts).with_columns(twice=pl.col("parts").is_duplicated())
    first = facts.filter(~pl.col("twice")).with_columns(occurrence=pl.lit(0, pl.Int64))
    equal = facts.filter("twice").with_columns(
        occurrence=pl.int_range(pl.len()).over("parts", order_by="extractor")
    )
    numbered = pl.concat([first, equal])
    whole = joined(pl.col("parts") + pl.col("occurrence").cast(pl.String))
    return numbered.with_columns(fact_id=digests(numbered.select(whole).to_series()))


def _used_blocks(blocks: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Return kept blocks (scope page) and one block of each repeated text (scope site)."""
    columns = ["block_id", "page_id", "ordinal", "heading_path", "kind", "text_hash", "context"]
    kept = blocks.filter("kept").select(*columns, scope=pl.lit("page"))
    repeated = (
        blocks.filter(~pl.col("kept") & pl.col("drop_reason").is_in(_SITE_SCOPE_REASONS))
        .sort("block_id")
        .unique("text_hash", keep="first", maintain_order=True)
        .join(texts.filter(pl.col("kept_blocks") == 0), on="text_hash", how="semi")
        .select(*columns, scope=pl.lit("site"))
    )
    used = pl.concat([kept, repeated]).with_columns(
        path=pl.col("heading_path").list.eval(pl.element().struct.field("text")),
        depth=pl.col("heading_path").list.len(),
    )
    return used.sort("page_id", "ordinal")


def _paired(used: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    units = used.select("text_hash", "kind", "context").unique().join(texts, on="text_hash")
    pairs = layout_pairs(units.select("text_hash", "kind", "context", "text"))
    pairs = _without_boilerplate(pairs.with_columns(value_type=value_type(pl.col("value"))))
    keys = used.select(
        "block_id", "text_hash", "kind", "context", heading=fold(pl.col("path").list.last())
    )
    # The heading's own line opens a section's text: it is no pair, whatever it looks like.
    own_line = (pl.col("row") == 0) & (
        pl.col("heading") == pl.format("{}: {}", "label", "value")
    ).fill_null(False)
    again = (pl.col("extractor") == "line") & pl.col("heading").str.contains(
        pl.format("{}: {}", "label", pl.col("value").str.extract(r"^(\S+)")), literal=True
    )
    return (
        pairs.join(keys, on=["text_hash", "kind", "context"], nulls_equal=True)
        .filter(~((pl.col("extractor") == "line") & own_line))
        .with_columns(again=again.fill_null(False), own_heading=pl.lit(False))
        .select(_PAIR)
    )


def _without_boilerplate(pairs: pl.DataFrame) -> pl.DataFrame:
    """Drop lines whose value says the same of everything, as "Data Structures: Read Less"."""
    labels = pl.col("label").n_unique().over("value")
    return pairs.filter(
        (pl.col("extractor") != "line")
        | (labels < _BOILERPLATE_LABELS)
        | (labels * 2 < pl.len().over("value"))
        | (pl.col("value_type") != "text")
    )


def _stating(pairs: pl.DataFrame) -> pl.DataFrame:
    """Drop what states nothing: a heading said again, a header row as values, mere punctuation."""
    return pairs.filter(
        ~pl.col("again")
        & (pl.col("label").str.to_lowercase() != pl.col("value").str.to_lowercase())
        & pl.col("value").str.contains(r"[\p{L}\p{N}\p{S}]")
    )


def _heading_pairs(used: pl.DataFrame, texts: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return headings with a short body that is their only block: the heading is the label."""
    alone = (
        used.filter((pl.col("depth") > 1) & (pl.col("scope") == "page"))
        .filter(pl.len().over("page_id", "path") == 1)
        .filter(pl.col("kind").is_in(["prose", "list"]))
        .join(texts.filter(pl.col("words") <= _SHORT_BODY_WORDS), on="text_hash")
        .join(pairs, on="block_id", how="anti")
    )
    return alone.select(
        "block_id",
        subject_text=pl.lit(None, pl.String),
        label=fold(pl.col("path").list.last()),
        # A text that opens a section begins with the heading's own line.
        value=fold(pl.col("text").str.strip_prefix(pl.col("path").list.last())),
        extractor=pl.lit("heading"),
        again=pl.lit(False),
        own_heading=pl.lit(True),
    ).filter((pl.col("value") != "") & (pl.col("label").str.len_chars() <= 60))


def _heading_units(used: pl.DataFrame) -> pl.DataFrame:
    """Return what a heading such as "CS 61A Programs 4 Units" says of its code: 4 units."""
    first = (
        used.filter((pl.col("depth") > 0) & (pl.col("scope") == "page"))
        .with_columns(heading=fold(pl.col("path").list.last()))
        .filter(pl.col("heading").str.contains(r"^[A-Z&]{2}.*\d\s+\p{L}+$"))
        .unique(["page_id", "path"], keep="first", maintain_order=True)
        .with_columns(parts=pl.col("heading").str.extract_groups(_HEADING_UNITS))
        .unnest("parts")
        .filter(pl.col("1").is_not_null())
    )
    codes = [leading_code(h) is not None for h in first["heading"].to_list()]
    return first.filter(pl.Series(codes, dtype=pl.Boolean)).select(
        "block_id",
        subject_text=pl.lit(None, pl.String),
        label=pl.col("2"),
        value=pl.col("1") + " " + pl.col("2"),
        extractor=pl.lit("heading"),
        again=pl.lit(False),
        own_heading=pl.lit(False),
    )


def _with_subjects(
    pairs: pl.DataFrame,
    used: pl.DataFrame,
    names: pl.DataFrame,
    surfaces: pl.DataFrame,
    links: pl.DataFrame,
) -> pl.DataFrame:
    """Add page_id, scope, subject and subject_id to ``pairs``."""
    places = pairs.select("block_id", "own_heading").unique()
    places = _sections(places.join(used.select("block_id", "page_id", "path", "scope"),
                                   on="block_id"), used, names)  # fmt: skip
    # What a repeated part says is about the site: its topmost page.
    top = names.sort(pl.col("url").str.count_matches("/"), pl.col("url").str.len_chars(), "url")
    site = pl.lit(top["page_id"].first(), pl.String)
    places = (
        places.with_columns(
            about=pl.when(pl.col("scope") == "site").then(site).otherwise("page_id")
        )
        .join(_with_entity(names.select(about="page_id", page_name="name"), "about"),
              on="about", how="left")
        .select("block_id", "own_heading", "page_id", "scope", "section", "entity_id",
                above=pl.coalesce("section", "page_name", pl.lit("")))
    )  # fmt: skip
    # "Course: CS 61A" under two columns: a first cell with a code is what the row is about.
    told = pairs.join(places, on=["block_id", "own_heading"]).with_columns(
        subject=pl.coalesce("subject_text", "above"),
        about_page=pl.col("subject_text").is_null() & pl.col("section").is_null(),
    )
    linked = (
        links.filter(pl.col("dst_page_id").is_not_null() & pl.col("block_id").is_not_null())
        .with_columns(subject=fold(pl.col("anchor")))
        .group_by("block_id", "subject")
        .agg(pl.col("dst_page_id").first(), targets=pl.col("dst_page_id").n_unique())
        .filter(pl.col("targets") == 1)
        .join(names.select(dst_page_id="page_id"), on="dst_page_id", how="semi")
    )
    linked = _with_entity(linked, "dst_page_id").select("block_id", "subject", of_link="entity_id")
    return (
        told.join(_subject_ids(told["subject"], surfaces), on="subject", how="left")
        .join(linked, on=["block_id", "subject"], how="left")
        .with_columns(
            subject_id=pl.when("about_page")
            .then(pl.col("entity_id"))
            .otherwise(pl.coalesce("of_link", "named_id"))
        )
    )


def _with_entity(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Add entity_id: the entity of the page in ``column``."""
    pages = frame[column].unique().to_list()
    entities = {column: pages, "entity_id": [page_entity_id(page) for page in pages]}
    schema = {column: pl.String, "entity_id": pl.String}
    return frame.join(pl.DataFrame(entities, schema=schema), on=column, how="left")


def _sections(places: pl.DataFrame, used: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Add section to ``places`` (page_id, path, own_heading, scope): what their facts are about.

    Null is the page itself.
    """
    generic = set(
        used.filter(pl.col("scope") == "page")
        .select("page_id", heading=pl.col("path"))
        .explode("heading", empty_as_null=False)
        .unique()
        .group_by("heading")
        .len()
        .filter(pl.col("len") >= _GENERIC_PAGES)["heading"]
        .to_list()
    )
    named = places.join(names.select("page_id", "h1", "name"), on="page_id", how="left")
    sections = []
    for path, own, scope, h1, name in named.select(
        "path", "own_heading", "scope", "h1", "name"
    ).iter_rows():
        headings = [] if scope == "site" else path[: -1 if own else None]
        sections.append(_section(headings, generic, (h1, name)))
    return named.with_columns(section=pl.Series(sections, dtype=pl.String))


def _section(
    headings: list[str], generic: set[str], page: tuple[str | None, str | None]
) -> str | None:
    """Return the heading that a fact under ``headings`` is about, None for the page."""
    for heading in reversed(headings):
        if leading_code(heading):
            return without_units(heading)
    for heading in reversed(headings):
        if heading in page:
            return None
        if heading not in generic:
            return " ".join(heading.split())
    return None


def _subject_ids(subjects: pl.Series, surfaces: pl.DataFrame) -> pl.DataFrame:
    """Return subject, named_id: a code's entity, or the page that alone has the name."""
    own = surfaces.filter(
        (pl.col("holders") == 1) & pl.col("source").is_in(["title", "h1", "code"])
    )
    page_of = dict(own.select("form", "page_id").iter_rows())
    found: list[tuple[str, str | None]] = []
    for subject in subjects.unique().sort().to_list():
        code = leading_code(subject)
        page = page_of.get(normalise(subject)) or (code and page_of.get(normalise(code)))
        found.append((subject, page_entity_id(page) if page else code and code_entity_id(code)))
    # Typed: a site whose first hundred subjects have no id would make a column of nulls.
    schema = {"subject": pl.String, "named_id": pl.String}
    return pl.DataFrame(found, schema=schema, orient="row")
