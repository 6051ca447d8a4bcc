"""Topics of a site: groups of terms of its titles and headings, and what belongs to them.

Deterministic and vectorised: candidate terms are words and pairs of words of titles and headings;
those neither rare nor everywhere are weighed by tf-idf over pages; terms of the same pages are
joined. A block belongs to a topic by the terms above it, an entity by its blocks.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Protocol

import polars as pl
import pyarrow as pa

from assets.extraction.patterns import leading_code
from assets.extraction.sitenames import page_names, without_units
from retrieval.snapshot import ids
from retrieval.snapshot.schemas import enforce

VERSION = "1"
MAX_TERMS = 400
MAX_TOPICS = 200
_MAX_TERMS_OF_TOPIC = 6
_MIN_PAGES = 2
_MAX_SHARE = 0.15  # a term on more of the pages tells nothing apart
_FREE_PAGES = 10  # on a small site a share alone would leave no term
_SAME_PAGES = 0.5  # Jaccard of page sets from which two terms are one topic
_PHRASE_BONUS = 1.5
_TITLE_WEIGHT = 0.5
_TOPICS_OF_TARGET = 3
_ENTITY_SHARE = 0.2
_LINEAGE_OVERLAP = 0.5
_TOPIC_COLUMNS = ["topic_id", "label", "terms", "size", "lineage_id"]
_WORD = r"\p{L}[\p{L}\p{N}’'-]*"
_STOP = frozenset(
    (
        "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "for",
        "from", "how", "i", "ii", "iii", "in", "into", "is", "it", "its", "new", "no", "not", "of",
        "on", "or", "other", "our", "that", "the", "their", "this", "to", "under", "up", "use",
        "using", "was", "we", "what", "when", "where", "which", "who", "why", "will", "with", "you",
        "your",
    )
)  # fmt: skip


class ParentTables(Protocol):
    """What is needed of a candidate: its parent's tables."""

    def parent_table(self, name: str, code_version: str | None = None) -> pl.DataFrame | None:
        """Return the parent's table ``name``, None without one."""
        ...


def build_topics(
    pages: pl.DataFrame,
    blocks: pl.DataFrame,
    texts: pl.DataFrame,
    entities: pl.DataFrame,
    entity_edges: pl.DataFrame,
    *,
    parent: ParentTables | None,
) -> tuple[pa.Table, pa.Table]:
    """Return the tables ``topics`` and ``topic_edges``.

    The parent serves the history column ``lineage_id`` alone.
    """
    lines = _headings(pages, blocks)
    terms = _terms(lines)
    weights = _weigh(terms, lines["page_id"].n_unique())
    found = terms.join(weights.select("term", "score"), on="term")
    topics, members = _cluster(weights, found)
    block_edges = _block_edges(members, found)
    sizes = block_edges.group_by("topic_id").agg(size=pl.len().cast(pl.Int32))
    topics = topics.join(sizes, on="topic_id").sort("topic_id")
    topics = topics.with_columns(lineage_id=pl.Series(_lineage(topics, parent), dtype=pl.String))
    edges = pl.concat([block_edges, _entity_edges(block_edges, entities, entity_edges)]).select(
        "topic_id", "target_kind", "target_id", "weight"
    )
    return (
        enforce("topics", topics.select(_TOPIC_COLUMNS).to_arrow()),
        enforce("topic_edges", edges.sort("topic_id", "target_id").to_arrow()),
    )


def _headings(pages: pl.DataFrame, blocks: pl.DataFrame) -> pl.DataFrame:
    """Return block_id, page_id, line, near: the headings above each kept block and its title."""
    kept = blocks.filter("kept").select("block_id", "page_id", "heading_path")
    above = (
        kept.with_columns(line=pl.col("heading_path").list.eval(pl.element().struct.field("text")))
        .explode("line", empty_as_null=False)
        .select("block_id", "page_id", "line", near=pl.lit(1.0))
    )
    titles = kept.join(page_names(pages, blocks).select("page_id", line="name"), on="page_id")
    return pl.concat(
        [above, titles.select("block_id", "page_id", "line", near=pl.lit(_TITLE_WEIGHT))]
    )


def _terms(lines: pl.DataFrame) -> pl.DataFrame:
    """Return term, surface, size (words), block_id, page_id, near for every term above a block."""
    distinct = lines.select("line").unique().sort("line").with_row_index("number")
    named = [_without_code(line) for line in distinct["line"].to_list()]
    words = (
        distinct.with_columns(name=pl.Series(named, dtype=pl.String))
        .with_columns(surface=pl.col("name").str.extract_all(_WORD))
        .explode("surface", empty_as_null=False)
        .with_columns(term=pl.col("surface").str.to_lowercase())
        .with_columns(good=~pl.col("term").is_in(_STOP) & (pl.col("term").str.len_chars() > 2))
    )
    following = words.with_columns(
        next_term=pl.col("term").shift(-1).over("number"),
        next_surface=pl.col("surface").shift(-1).over("number"),
        next_good=pl.col("good").shift(-1).over("number"),
    )
    single = words.filter("good").select("line", "term", "surface", size=pl.lit(1))
    pairs = following.filter(pl.col("good") & pl.col("next_good")).select(
        "line",
        term=pl.col("term") + " " + pl.col("next_term"),
        surface=pl.col("surface") + " " + pl.col("next_surface"),
        size=pl.lit(2),
    )
    terms = pl.concat([single, pairs]).unique(["line", "term"], keep="first", maintain_order=True)
    # Only terms on at least two pages and not everywhere go on to the blocks, which are many.
    spread = lines.select("line", "page_id").unique().join(terms, on="line")
    pages = spread.group_by("term").agg(pages=pl.col("page_id").n_unique())
    most = max(_FREE_PAGES, _MAX_SHARE * lines["page_id"].n_unique())
    useful = pages.filter((pl.col("pages") >= _MIN_PAGES) & (pl.col("pages") <= most))
    return lines.join(terms.join(useful, on="term"), on="line").select(
        "term", "surface", "size", "pages", "block_id", "page_id", "near"
    )


def _without_code(line: str) -> str:
    """Return a heading without the code before it and the amount after it."""
    return without_units(line)[len(leading_code(line) or "") :]


def _weigh(terms: pl.DataFrame, page_count: int) -> pl.DataFrame:
    """Return the heaviest terms: term, surface (most used spelling), size, pages, score.

    score = sqrt(pages) · ln(1 + N / pages), half as much again for a phrase. A word that stands
    almost only within one phrase gives way to it.
    """
    spelled = (
        terms.group_by("term", "surface")
        .len()
        .sort("term", "len", "surface", descending=[False, True, False])
        .unique("term", keep="first", maintain_order=True)
        .select("term", "surface")
    )
    scored = (
        terms.group_by("term")
        .agg(pl.col("size").first(), pl.col("pages").first())
        .with_columns(
            score=pl.col("pages").sqrt()
            * (1 + page_count / pl.col("pages")).log()
            * pl.when(pl.col("size") > 1).then(_PHRASE_BONUS).otherwise(1.0)
        )
        .join(spelled, on="term")
    )
    phrases = (
        scored.filter(pl.col("size") > 1)
        .with_columns(word=pl.col("term").str.split(" "))
        .explode("word", empty_as_null=False)
        .group_by("word")
        .agg(in_phrase=pl.col("pages").max())
    )
    return (
        scored.join(phrases, left_on="term", right_on="word", how="left")
        .filter(pl.col("in_phrase").is_null() | (pl.col("in_phrase") < 0.8 * pl.col("pages")))
        .sort("score", "term", descending=[True, False])
        .head(MAX_TERMS)
        .drop("in_phrase")
    )


def _cluster(weights: pl.DataFrame, found: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Join terms of the same pages, closest pairs first, at most six to a topic.

    Returns topics (topic_id, label, terms) and members (topic_id, term).
    """
    on_page = found.select("term", "page_id", "pages").unique()
    pairs = (
        on_page.join(on_page, on="page_id", suffix="_b")
        .filter(pl.col("term") < pl.col("term_b"))
        .group_by("term", "term_b")
        .agg(both=pl.len(), a=pl.col("pages").first(), b=pl.col("pages_b").first())
        .with_columns(jaccard=pl.col("both") / (pl.col("a") + pl.col("b") - pl.col("both")))
        .filter(pl.col("jaccard") >= _SAME_PAGES)
        .sort("jaccard", "term", "term_b", descending=[True, False, False])
    )
    group_of = {term: {term} for term in weights["term"].to_list()}
    for one, two in pairs.select("term", "term_b").iter_rows():
        left, right = group_of[one], group_of[two]
        if left is not right and len(left) + len(right) <= _MAX_TERMS_OF_TOPIC:
            left |= right
            for term in right:
                group_of[term] = left
    ordered: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for term, surface in weights.select("term", "surface").iter_rows():
        ordered[id(group_of[term])].append((term, surface))
    # Dictionaries keep the order of weights: topics come heaviest first, as their terms do.
    chosen = list(ordered.values())[:MAX_TOPICS]
    rows = [(ids.topic_id(t for t, _ in g), g[0][1], [s for _, s in g]) for g in chosen]
    members = [(row[0], term) for row, group in zip(rows, chosen, strict=True) for term, _ in group]
    return (
        pl.DataFrame(
            rows,
            schema={"topic_id": pl.String, "label": pl.String, "terms": pl.List(pl.String)},
            orient="row",
        ),
        pl.DataFrame(members, schema={"topic_id": pl.String, "term": pl.String}, orient="row"),
    )


def _block_edges(members: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Return the topics of each block, at most three, by its nearest and heaviest term."""
    return (
        found.join(members, on="term")
        .group_by("topic_id", target_id="block_id")
        .agg(near=pl.col("near").max(), score=pl.col("score").max())
        .sort("target_id", "near", "score", "topic_id", descending=[False, True, True, False])
        .with_columns(place=pl.int_range(pl.len()).over("target_id"))
        .filter(pl.col("place") < _TOPICS_OF_TARGET)
        .select(
            "topic_id",
            "target_id",
            target_kind=pl.lit("block"),
            weight=(pl.col("near") / (1 + 0.25 * pl.col("place"))).cast(pl.Float32),
        )
    )


def _entity_edges(
    block_edges: pl.DataFrame, entities: pl.DataFrame, entity_edges: pl.DataFrame
) -> pl.DataFrame:
    """Return the topics of each entity, at most three: the share of its blocks that are in one."""
    total = entities.select(target_id="entity_id", total="mentions")
    return (
        entity_edges.select(target_id="entity_id", block="block_id")
        .join(block_edges.select("topic_id", block="target_id"), on="block")
        .group_by("topic_id", "target_id")
        .agg(shared=pl.len())
        .join(total, on="target_id")
        .with_columns(weight=(pl.col("shared") / pl.col("total")).clip(0, 1).cast(pl.Float32))
        .filter(pl.col("weight") >= _ENTITY_SHARE)
        .sort("target_id", "weight", "topic_id", descending=[False, True, False])
        .with_columns(place=pl.int_range(pl.len()).over("target_id"))
        .filter(pl.col("place") < _TOPICS_OF_TARGET)
        .select("topic_id", "target_id", target_kind=pl.lit("entity"), weight="weight")
    )


def _lineage(topics: pl.DataFrame, parent: ParentTables | None) -> list[str]:
    """Return the lineage of each topic: the parent's topic with most terms in common, else its own.

    A parent's lineage goes to one topic only, the greatest overlap (Jaccard of terms) first.
    """
    own = topics["topic_id"].to_list()
    before = parent.parent_table("topics") if parent is not None else None
    if before is None:
        return own
    new, old = (
        t.select(key, term="terms").explode("term", empty_as_null=False)
        for t, key in ((topics, "topic_id"), (before, "lineage_id"))
    )
    sizes_new, sizes_old = (
        dict(t.group_by(key).len().iter_rows())
        for t, key in ((new, "topic_id"), (old, "lineage_id"))
    )
    shared = new.join(old, on="term").group_by("topic_id", "lineage_id").len()
    ranked = sorted(
        (-n / (sizes_new[t] + sizes_old[line] - n), t, line) for t, line, n in shared.iter_rows()
    )
    follows: dict[str, str] = {}
    taken: set[str] = set()
    for overlap, topic, line in ranked:
        if -overlap >= _LINEAGE_OVERLAP and topic not in follows and line not in taken:
            follows[topic] = line
            taken.add(line)
    return [follows.get(topic, topic) for topic in own]
