"""Lineage: which block of the parent snapshot a block continues, through edits and moves.

In this order, one to one and with ties in document order: the same block id; the same text on the
same page (its heading changed); similar text under the same headings of the same page (it was
edited); the same text on another page (it moved). What continues nothing begins a lineage.
"""

from __future__ import annotations

import re

import polars as pl

from retrieval.snapshot import ids

SIMILAR = 0.5  # least Jaccard overlap of word sets of an edited text
MAX_PAIRS = 20_000  # per group of blocks under one heading path; beyond it neighbours only
NEIGHBOURS = 10
_TOKEN = re.compile(r"\w+")

_COLUMNS = ("block_id", "page_id", "ordinal", "text_hash", "heads")


def lineage(
    blocks: pl.DataFrame,
    texts: pl.DataFrame,
    parent_blocks: pl.DataFrame | None,
    parent_texts: pl.DataFrame | None,
) -> pl.Series:
    """Return the lineage id of every row of ``blocks`` (sorted by nothing, order kept)."""
    ids_now = blocks.select("block_id")
    if parent_blocks is None or parent_texts is None:
        return ids_now.get_column("block_id").rename("lineage_id")
    known = parent_blocks.select("block_id", "lineage_id")
    new = _keyed(blocks).join(known, on="block_id", how="anti")
    old = _keyed(parent_blocks).join(blocks.select("block_id"), on="block_id", how="anti")
    pairs = []
    for match in (_same_text_and_page, _similar, _same_text):
        found = match(new, old, texts, parent_texts)
        pairs.append(found.select("old", "block_id"))
        new = new.join(found, on="block_id", how="anti")
        old = old.join(found.select(block_id="old"), on="block_id", how="anti")
    continued = (
        pl.concat(pairs)
        .join(known.rename({"block_id": "old"}), on="old")
        .select("block_id", "lineage_id")
    )
    inherited = pl.concat([known, continued])
    result = ids_now.join(inherited, on="block_id", how="left", maintain_order="left")
    return _begun(result).get_column("lineage_id")


def _begun(result: pl.DataFrame) -> pl.DataFrame:
    """Begin a lineage for rows without one; an id that another block carries on is not reused."""
    taken = set(result.get_column("lineage_id").drop_nulls())
    fresh = result.filter(pl.col("lineage_id").is_null()).get_column("block_id").to_list()
    begun = {}
    for block in fresh:
        begun[block] = own = _free(block, taken)
        taken.add(own)
    return result.with_columns(
        lineage_id=pl.col("lineage_id").fill_null(
            pl.col("block_id").replace_strict(begun, default=None, return_dtype=pl.String)
        )
    )


def _free(block: str, taken: set[str]) -> str:
    own = block
    while own in taken:
        own = ids.digest("lineage", own)
    return own


def _keyed(blocks: pl.DataFrame) -> pl.DataFrame:
    heads = pl.col("heading_path").list.eval(pl.element().struct.field("text")).list.join("\x1f")
    return blocks.with_columns(heads=heads).select(_COLUMNS)


def _same_text_and_page(
    new: pl.DataFrame, old: pl.DataFrame, _texts: pl.DataFrame, _parent_texts: pl.DataFrame
) -> pl.DataFrame:
    return _in_order(new, old, ["page_id", "text_hash"])


def _same_text(
    new: pl.DataFrame, old: pl.DataFrame, _texts: pl.DataFrame, _parent_texts: pl.DataFrame
) -> pl.DataFrame:
    return _in_order(new, old, ["text_hash"])


def _in_order(new: pl.DataFrame, old: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Pair the n-th new with the n-th old block of the same key, by page and document order."""
    rank = pl.int_range(pl.len()).over(key).alias("rank")
    left = new.sort("page_id", "ordinal").select("block_id", *key, rank)
    right = old.sort("page_id", "ordinal").select(pl.col("block_id").alias("old"), *key, rank)
    return left.join(right, on=[*key, "rank"]).select("old", "block_id")


def _similar(
    new: pl.DataFrame, old: pl.DataFrame, texts: pl.DataFrame, parent_texts: pl.DataFrame
) -> pl.DataFrame:
    """Pair texts under the same headings of the same page, the most similar first."""
    key = ["page_id", "heads"]
    left = new.join(old.select(key).unique(), on=key, how="semi")
    right = old.join(new.select(key).unique(), on=key, how="semi")
    words = _word_sets(left, texts) | _word_sets(right, parent_texts)
    pairs = left.join(right, on=key, suffix="_old")
    size = pl.len().over(key)
    near = (pl.col("ordinal") - pl.col("ordinal_old")).abs()
    pairs = pairs.filter((size <= MAX_PAIRS) | (near <= NEIGHBOURS))
    scored = [
        (-_jaccard(words[text], words[text_old]), abs(at - at_old), at, at_old, page, block, before)
        for page, block, at, text, before, at_old, text_old in pairs.select(
            "page_id", "block_id", "ordinal", "text_hash", "block_id_old", "ordinal_old",
            "text_hash_old",
        ).iter_rows()
    ]  # fmt: skip
    chosen: dict[str, str] = {}
    used: set[str] = set()
    for score, *_, block, before in sorted(scored):
        if -score >= SIMILAR and block not in chosen and before not in used:
            chosen[block] = before
            used.add(before)
    return pl.DataFrame(
        {"old": list(chosen.values()), "block_id": list(chosen)},
        schema={"old": pl.String, "block_id": pl.String},
    )


def _word_sets(blocks: pl.DataFrame, texts: pl.DataFrame) -> dict[str, frozenset[str]]:
    used = texts.join(blocks.select("text_hash").unique(), on="text_hash", how="semi")
    return {
        key: frozenset(_TOKEN.findall(text.casefold()))
        for key, text in used.select("text_hash", "text").iter_rows()
    }


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0
