"""Homonyms apart: which of several pages of one name a mention on a page means."""

from __future__ import annotations

import polars as pl


def choose_homonyms(
    wanted: pl.DataFrame, holders: pl.DataFrame, pages: pl.DataFrame, links: pl.DataFrame
) -> pl.DataFrame:
    """Return page_id, form, holder: the page that ``form`` means on the page ``page_id``.

    ``wanted`` has page_id and form; ``holders`` form and holder (a page); ``pages`` page_id, url.
    Evidence from strong to weak: the page itself has the name; the page links to a page of the
    name; it is nearest in the URL tree. Without a single best one the mention is left unlinked.
    """
    pairs = wanted.unique().join(holders, on="form")
    linked = (
        links.filter(pl.col("dst_page_id").is_not_null() & (pl.col("region") == "content"))
        .select(page_id="src_page_id", holder="dst_page_id")
        .unique()
        .with_columns(linked=pl.lit(1))
    )
    folders = pages.select("page_id", folders=pl.col("url").str.split("/"))
    pairs = (
        pairs.join(linked, on=["page_id", "holder"], how="left")
        .join(folders, on="page_id")
        .join(folders.rename({"page_id": "holder", "folders": "theirs"}), on="holder")
    )
    near = [_common(a, b) for a, b in pairs.select("folders", "theirs").iter_rows()]
    ranked = pairs.with_columns(
        near=pl.Series(near, dtype=pl.Int32),
        own=(pl.col("page_id") == pl.col("holder")).cast(pl.Int32),
        linked=pl.col("linked").fill_null(0),
    ).with_columns(rank=pl.col("own") * 10_000 + pl.col("linked") * 100 + pl.col("near"))
    best = ranked.filter(pl.col("rank") == pl.col("rank").max().over("page_id", "form"))
    return best.filter(pl.len().over("page_id", "form") == 1).select("page_id", "form", "holder")


def _common(a: list[str], b: list[str]) -> int:
    """Return how many leading segments two split URLs share (host included), at most 99."""
    count = 0
    for left, right in zip(a[:99], b[:99], strict=False):
        if left != right:
            break
        count += 1
    return count
