"""Raw mentions: typed patterns, a recogniser, and the site's own names, per distinct kept text.

Patterns and recogniser are functions of the text, so the parent's rows of a known text are taken
over; the site's names change with any page, so those rows are found anew each time, in one pass.
"""

from __future__ import annotations

from typing import Protocol

import polars as pl
import pyarrow as pa

from assets.extraction import patterns, sitenames
from assets.extraction.casing import COMMON_SHARE, PLAIN_SHARE, begins_sentence, lower_shares
from assets.extraction.lines import Lines
from assets.extraction.ner import Ner
from retrieval.index.gazetteer import NameMatcher
from retrieval.snapshot.schemas import enforce

VERSION = "2"
GAZETTEER = "gazetteer"
GAZETTEER_VERSION = f"{VERSION}.{sitenames.VERSION}"
_NER_KINDS = ("prose", "list")
_LOWER_PENALTY = 0.75
_SOURCE_CONFIDENCE = {
    "title": 0.95,
    "person": 0.95,
    "h1": 0.9,
    "code": 0.95,
    "bracket": 0.9,
    "anchor": 0.8,
}
_NER_TRIM = " \n\t\u00a0,;:.'\"“”‘’()[]*•-–—"
_COLUMNS = ["text_hash", "start", "end", "type", "surface", "confidence", "extractor",
            "extractor_version"]  # fmt: skip
_RAW_SCHEMA = {
    "text_hash": pl.String, "start": pl.Int32, "end": pl.Int32, "type": pl.String,
    "confidence": pl.Float32,
}  # fmt: skip


_FOUND = {
    "number": pl.UInt32, "start": pl.Int32, "end": pl.Int32, "type": pl.String,
    "confidence": pl.Float32, "surface": pl.String,
}  # fmt: skip


class ParentTables(Protocol):
    """What is needed of a candidate: its parent's tables (None without parent or of other code)."""

    def parent_table(self, name: str, code_version: str | None = None) -> pl.DataFrame | None:
        """Return the parent's table ``name``."""
        ...


def mentions_version(ner: Ner) -> str:
    """Return the code version of the mentions table: rows of another version are not taken over."""
    return f"{VERSION}.{patterns.VERSION}.{sitenames.VERSION}+{ner.name}-{ner.version}"


def build_mentions(
    pages: pl.DataFrame,
    blocks: pl.DataFrame,
    links: pl.DataFrame,
    texts: pl.DataFrame,
    *,
    parent: ParentTables | None,
    ner: Ner,
) -> pa.Table:
    """Return the ``mentions`` table of a crawl.

    The recogniser runs on prose and lists only, and only on texts that the parent does not hold.
    """
    kinds = text_kinds(blocks, texts)
    known = _known_texts(parent, mentions_version(ner))
    pure = []
    fresh = kinds
    if known is not None:
        rows, seen = known
        fresh = kinds.join(seen, on=["text_hash", "ner"], how="anti")
        pure.append(
            rows.join(kinds, on="text_hash", how="semi").join(fresh, on="text_hash", how="anti")
        )
    pure.append(_pure_rows(fresh, ner))
    raw = pl.concat(pure).select(_COLUMNS)
    own = _gazetteer_rows(pages, blocks, links, kinds)
    # A span that a pure extractor has found stays its: the parent's rows must be complete per text.
    own = own.join(raw, on=["text_hash", "start", "end", "type"], how="anti")
    table = pl.concat([raw, own.select(_COLUMNS)]).sort("text_hash", "start", "end", "type")
    return enforce("mentions", table.to_arrow())


def text_kinds(blocks: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Return kept texts that are not only code: text_hash, text, ner (the recogniser reads it)."""
    kinds = (
        blocks.filter(pl.col("kept") & (pl.col("kind") != "code"))
        .group_by("text_hash")
        .agg(ner=pl.col("kind").is_in(_NER_KINDS).any())
    )
    return (
        texts.filter(pl.col("kept_blocks") > 0)
        .join(kinds, on="text_hash", how="inner")
        .select("text_hash", "text", "ner")
        .sort("text_hash")
    )


def _known_texts(
    parent: ParentTables | None, version: str
) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """Return the parent's pure rows and the texts it has read (text_hash, ner), if any."""
    if parent is None:
        return None
    rows = parent.parent_table("mentions", version)
    blocks, texts = parent.parent_table("blocks"), parent.parent_table("texts")
    if rows is None or blocks is None or texts is None:
        return None
    seen = text_kinds(blocks, texts).select("text_hash", "ner")
    return rows.filter(pl.col("extractor") != GAZETTEER).select(_COLUMNS), seen


def _pure_rows(kinds: pl.DataFrame, ner: Ner) -> pl.DataFrame:
    """Return the pattern and recogniser rows of texts; a pattern keeps a span both have found."""
    ruled = patterns.pattern_rows(kinds).with_columns(
        extractor=pl.lit(patterns.EXTRACTOR), extractor_version=pl.lit(patterns.VERSION)
    )
    read = kinds.filter(pl.col("ner") & pl.col("text").str.contains(r"\p{Lu}"))
    found = _ner_rows(read, ner)
    both = pl.concat([ruled, found]).join(kinds.select("text_hash", "text"), on="text_hash")
    return (
        both.with_columns(
            surface=pl.col("text").str.slice(pl.col("start"), pl.col("end") - pl.col("start")),
            order=(pl.col("extractor") != patterns.EXTRACTOR).cast(pl.Int8),
        )
        .sort("text_hash", "start", "end", "type", "order")
        .unique(["text_hash", "start", "end", "type"], keep="first", maintain_order=True)
        .select(_COLUMNS)
    )


def _ner_rows(read: pl.DataFrame, ner: Ner) -> pl.DataFrame:
    rows = []
    texts = read["text"].to_list()
    for text_hash, text, spans in zip(read["text_hash"].to_list(), texts, ner(texts), strict=True):
        for span in spans:
            for start, end in _pieces(text, span.start, span.end):
                rows.append((text_hash, start, end, span.type, span.confidence))
    frame = pl.DataFrame(rows, schema=_RAW_SCHEMA, orient="row")
    return frame.with_columns(
        extractor=pl.lit(ner.name), extractor_version=pl.lit(ner.version)
    ).unique(["text_hash", "start", "end", "type"], keep="first", maintain_order=True)


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Split a recognised span at line and cell ends, and trim it; a piece must hold a capital."""
    pieces = []
    position = start
    for part in text[start:end].replace("\t", "\n").split("\n"):
        left = position + len(part) - len(part.lstrip(_NER_TRIM))
        right = position + len(part.rstrip(_NER_TRIM))
        if right - left > 1 and text[left:right] != text[left:right].lower():
            pieces.append((left, right))
        position += len(part) + 1
    return pieces


def _gazetteer_rows(
    pages: pl.DataFrame, blocks: pl.DataFrame, links: pl.DataFrame, kinds: pl.DataFrame
) -> pl.DataFrame:
    """Find the site's own names in all lines."""
    names, surfaces = sitenames.site_names(pages, blocks, links)
    wanted = _searchable(names, surfaces, lower_shares(kinds))
    matcher = NameMatcher(entry[0] for entry in wanted)
    lines = Lines.of(kinds)
    rows = []
    for number, line in lines.said.iter_rows():
        for index, start, end in matcher.find(line):
            _, surface, type_, confidence, plain = wanted[index]
            found = line[start:end]
            factor = _case_factor(surface, found, plain, begins_sentence(line, start))
            if factor:
                rows.append((number, start, end, type_, confidence * factor, found))
    return lines.spread(pl.DataFrame(rows, schema=_FOUND, orient="row")).with_columns(
        extractor=pl.lit(GAZETTEER), extractor_version=pl.lit(GAZETTEER_VERSION)
    )


def _searchable(
    names: pl.DataFrame, surfaces: pl.DataFrame, shares: dict[str, float]
) -> list[tuple[str, str, str, float, bool]]:
    """Return (form, surface, type, confidence, plain word) of the surfaces worth looking for."""
    per_form = (
        surfaces.join(names.select("page_id", "type"), on="page_id")
        .sort("form", "type", "page_id")
        .group_by("form", maintain_order=True)
        .agg(
            pl.col("surface").first(),
            pl.col("type").mode().sort().first(),
            pl.col("source").first(),
        )
    )
    wanted = []
    for form, surface, type_, source in per_form.iter_rows():
        share = shares.get(form, 0.0) if " " not in form else 0.0
        if share >= COMMON_SHARE and surface[0].isupper():
            continue
        wanted.append((form, surface, type_, _SOURCE_CONFIDENCE[source], share >= PLAIN_SHARE))
    return wanted


def _case_factor(surface: str, found: str, plain: bool, at_start: bool) -> float:
    """Return how well the case of ``found`` fits the name ``surface``: 0 is no mention.

    A name in capitals or of one word must be written as the name is; one that is also a plain word
    must not stand where every word has a capital. Longer names may be in lower case, for less.
    """
    single = not any(c.isspace() for c in found)
    if surface == found:
        return 0.0 if single and plain and at_start else 1.0
    if single or surface.isupper():
        return 1.0 if surface.isupper() and found.isupper() and not single else 0.0
    return 1.0 if found[0].isupper() else _LOWER_PENALTY
