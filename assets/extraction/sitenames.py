"""The site names its own things: names of pages from titles, first headings and anchors.

A page's *name* is its title without what the site adds to every title and without a section number.
Other surfaces of the page: its first heading, the parts of a name with brackets ("Public Health (PB
HLTH)"), and anchors that agree on one page. Whether a surface is worth looking for in running text
is decided by counting over the site, never by lists of phrases.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import polars as pl

from assets.extraction.forms import forms
from assets.extraction.patterns import REMEMBERED, leading_code
from assets.extraction.personnames import bare_name
from retrieval.index.gazetteer import normalise
from retrieval.snapshot.states import HAS_CONTENT

VERSION = "1"
_SEPARATORS = re.compile(r"\s+[|<>»«·–—-]\s+|\s*(?:::|\|)\s*|:\s+")
_NUMBERED = re.compile(
    r"^(?:(?:Chapter|Appendix|Part|Section)\s+[\dA-Z]+\.?|(?:\d+|[A-Z])(?:\.\d+)*\.)\s+(?=\S)"
)
_UNITS = re.compile(r"\s+\d[\d.]*(?:\s*(?:-|–|or|to)\s*\d[\d.]*)?\s+[^\W\d_]+$|\s*\(\d[^()]*\)$")
_BRACKETS = re.compile(r"^(.{3,}?)\s*\(([^()]{2,40})\)$")
_AFFIX_PAGES = 5  # a part shared by fewer titles is no site name
_AFFIX_SHARE = 0.2
MAX_ANCHOR_WORDS = 10
_MAX_NAME_WORDS = 12
_MAX_HOMONYMS = 5  # a name that more pages share says nothing about which is meant

_TYPE_WORDS = (
    ("ORG", "department school college institute center centre office library faculty division "
            "laboratory museum committee council university bureau board senate registrar team"),
    ("PROGRAM", "program programme major minor bachelor master phd doctorate certificate degree "
                "diploma curriculum"),
    ("EVENT", "conference workshop seminar lecture symposium festival ceremony fair"),
    ("POLICY", "policy policies regulation regulations rules statute code terms"),
    ("PLACE", "hall building campus park garden theatre theater stadium"),
)  # fmt: skip
_TYPE_OF_WORD = {word: type_ for type_, words in _TYPE_WORDS for word in words.split()}
_PERSON_SEGMENTS = frozenset(
    (
        "people",
        "person",
        "persons",
        "staff",
        "faculty",
        "profile",
        "profiles",
        "team",
        "members",
        "directory",
        "authors",
    )
)
_PERSON_NAME = re.compile(
    r"^(?:(?:Dr|Prof|Mr|Mrs|Ms|Professor|Sir|Dame)\.?\s+)*[A-ZÀ-Þ][\w’'-]+(?:\s+[A-ZÀ-Þ]\.?)*"
    r"(?:\s+(?:de|da|van|von|der|del|la|le|bin|al))*(?:\s+[A-ZÀ-Þ][\w’'-]+){1,2}$"
)


def common_affixes(titles: Iterable[str]) -> set[str]:
    """Return the first or last parts that the site adds to its titles.

    A part counts when it ends (or begins) at least 5 titles and a fifth of those that have parts.
    """
    first: Counter[str] = Counter()
    last: Counter[str] = Counter()
    total = 0
    for title in set(titles):
        parts = _SEPARATORS.split(title)
        if len(parts) > 1:
            total += 1
            first[parts[0]] += 1
            last[parts[-1]] += 1
    least = max(_AFFIX_PAGES, _AFFIX_SHARE * total)
    return {part for ends in (first, last) for part, count in ends.items() if count >= least}


def clean_title(title: str, affixes: set[str]) -> str:
    """Return ``title`` without the site's affixes and without a leading section number."""
    parts = _SEPARATORS.split(title)
    if len(parts) > 1:
        begin, end = 0, len(title)
        marks = list(_SEPARATORS.finditer(title))
        while marks and title[marks[-1].end() : end] in affixes:
            end = marks.pop().start()
        while marks and title[begin : marks[0].start()] in affixes:
            begin = marks.pop(0).end()
        title = title[begin:end]
    return without_number(title.strip())


def without_number(heading: str) -> str:
    """Return ``heading`` without its section number ("53.17. pg_am" → "pg_am")."""
    return _NUMBERED.sub("", heading)


@lru_cache(maxsize=REMEMBERED)
def without_units(heading: str) -> str:
    """Return ``heading`` without an amount at its end ("Programs 4 Units" → "Programs")."""
    return _UNITS.sub("", " ".join(heading.split()))


def page_type(name: str, url: str) -> str:
    """Guess what the page ``name`` at ``url`` is about: an entity type, PAGE when nothing tells."""
    if leading_code(name):
        return "CODE"
    words = normalise(name).split(" ")
    heads = [words[i] for i in range(len(words) - 1) if words[i + 1] in ("of", "for", "on")]
    for word in (*heads[:1], words[-1]):
        if word in _TYPE_OF_WORD:
            return _TYPE_OF_WORD[word]
    segments = [s for s in url.lower().split("/")[3:] if s]
    if _PERSON_NAME.match(name) and _PERSON_SEGMENTS.intersection(segments[:-1]):
        return "PERSON"
    return "PAGE"


def page_names(pages: pl.DataFrame, blocks: pl.DataFrame) -> pl.DataFrame:
    """Return one row per page with content that has a name.

    Columns: page_id, url, name, form (normal form), type, h1 (first heading or null), homonyms (how
    many pages have the form).
    """
    live = pages.filter(HAS_CONTENT).select("page_id", "url", "title")
    frame = live.join(first_headings(blocks), on="page_id", how="left").sort("page_id")
    affixes = common_affixes(t for t in frame["title"].to_list() if t)
    names, types = [], []
    for url, title, h1 in frame.select("url", "title", "h1").iter_rows():
        name = clean_title(title or "", affixes) or without_number(h1 or "")
        names.append(name)
        types.append(page_type(name, url))
    return (
        frame.with_columns(
            name=pl.Series(names, dtype=pl.String),
            form=pl.Series([normalise(n) for n in names], dtype=pl.String),
            type=pl.Series(types, dtype=pl.String),
        )
        .filter(pl.col("form") != "")
        .with_columns(homonyms=pl.len().over("form").cast(pl.Int32))
        .select("page_id", "url", "name", "form", "type", "h1", "homonyms")
    )


def first_headings(blocks: pl.DataFrame) -> pl.DataFrame:
    """Return page_id and h1: the page's first heading of the highest level above kept text."""
    return (
        blocks.filter(pl.col("kept") & (pl.col("heading_path").list.len() > 0))
        .with_columns(top=pl.col("heading_path").list.first())
        .sort("page_id", pl.col("top").struct.field("level"), "ordinal")
        .group_by("page_id", maintain_order=True)
        .agg(h1=pl.col("top").first().struct.field("text"))
    )


def site_names(
    pages: pl.DataFrame, blocks: pl.DataFrame, links: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the pages' names (see `page_names`) and all surfaces that name a page.

    Surfaces: form, page_id, surface, source (title, person, h1, code, bracket, anchor), holders
    (how many pages have the form, at most 5); one row per form and page.
    """
    names = page_names(pages, blocks)
    rows: list[tuple[str, str, str, int]] = []
    for page, name, h1, type_ in names.select("page_id", "name", "h1", "type").iter_rows():
        rows.append((page, name, "title", 0))
        if type_ == "PERSON":
            rows.append((page, bare_name(name), "person", 1))
        heading = without_number(h1) if h1 else ""
        if heading:
            rows.append((page, heading, "h1", 1))
        for text in dict.fromkeys((name, heading)):
            code = leading_code(text)
            if code and code != text:
                rows.append((page, code, "code", 2))
            match = _BRACKETS.match(text)
            if match:
                rows.append((page, match.group(1), "bracket", 2))
                if _is_short_form(match.group(2)):
                    rows.append((page, match.group(2), "bracket", 2))
    schema = {"page_id": pl.String, "surface": pl.String, "source": pl.String, "rank": pl.Int64}
    named = pl.DataFrame(rows, schema=schema, orient="row")
    surfaces = pl.concat([named, _anchor_names(links, named)]).with_columns(
        form=_forms(pl.col("surface"))
    )
    surfaces = (
        surfaces.filter(
            (pl.col("form").str.len_chars() > 1)
            & (pl.col("form").str.count_matches(" ") < _MAX_NAME_WORDS)
            & pl.col("form").str.contains(r"\p{L}{2}")
        )
        .sort("form", "page_id", "rank", "surface")
        .unique(["form", "page_id"], keep="first", maintain_order=True)
        .with_columns(holders=pl.len().over("form").cast(pl.Int32))
        .filter(pl.col("holders") <= _MAX_HOMONYMS)
    )
    return names, surfaces.select("form", "page_id", "surface", "source", "holders")


def _is_short_form(text: str) -> bool:
    """Say whether a bracket's text can be another name: an acronym or code, not a remark."""
    return text.upper() == text and any(c.isalpha() for c in text)


def _forms(column: pl.Expr) -> pl.Expr:
    return column.map_batches(forms, return_dtype=pl.String)


def _anchor_names(links: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    """Return anchors that are names of the page they lead to: page_id, surface, source, rank.

    An anchor names a page when nine in ten of its links lead there and it either shares a word with
    the page's title or heading, or is used so on at least two pages and in three links.
    """
    counts = (
        links.filter(
            pl.col("dst_page_id").is_not_null()
            & (pl.col("dst_page_id") != pl.col("src_page_id"))
            & (pl.col("anchor").str.len_chars() > 1)
            & (pl.col("anchor").str.count_matches(r"\s") < MAX_ANCHOR_WORDS)
        )
        .group_by("anchor", "dst_page_id")
        .agg(uses=pl.len(), sources=pl.col("src_page_id").n_unique())
        .with_columns(form=_forms(pl.col("anchor")))
        .filter(pl.col("form") != "")
    )
    agreed = (
        counts.sort("form", "dst_page_id", "uses", "anchor", descending=[False, False, True, False])
        .group_by("form", "dst_page_id", maintain_order=True)
        .agg(pl.col("anchor").first(), pl.col("uses").sum(), pl.col("sources").max())
        .with_columns(share=pl.col("uses") / pl.col("uses").sum().over("form"))
        .filter(pl.col("share") >= 0.9)
    )
    words = (
        named.with_columns(word=_forms(pl.col("surface")).str.split(" "))
        .group_by("page_id")
        .agg(pl.col("word").explode().unique())
        if named.height
        else pl.DataFrame(schema={"page_id": pl.String, "word": pl.List(pl.String)})
    )
    return (
        agreed.join(words, left_on="dst_page_id", right_on="page_id", how="inner")
        .filter(
            (
                pl.col("form")
                .str.split(" ")
                .list.set_intersection("word")
                .list.eval(pl.element().filter(pl.element().str.len_chars() > 2))
                .list.len()
                > 0
            )
            | ((pl.col("uses") >= 3) & (pl.col("sources") >= 2))
        )
        .select(
            page_id="dst_page_id",
            surface="anchor",
            source=pl.lit("anchor"),
            rank=pl.lit(3, dtype=pl.Int64),
        )
    )
