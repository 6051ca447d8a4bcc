"""The site's template, learned by counting: what stands on a large share of the pages.

The count of a block is the number of pages that hold its signature (tag path) with its text; it is
taken anew over all pages each time, so that a decision depends on the crawl and not on its past.
"""

from __future__ import annotations

import polars as pl

from assets.parsing.page import ParseConfig

SECTION_DEPTH = 3  # directories of the path that are looked at as sections of the site


def repeated(blocks: pl.DataFrame, pages: pl.DataFrame, config: ParseConfig) -> pl.Series:
    """Return for every row of ``blocks`` whether the site repeats it as part of its template.

    ``blocks`` has page_id, signature, text_hash; ``pages`` has page_id and url of the live pages.
    A block is template when it stands on `template_share` of all pages (at least
    `template_min_pages`), or on `section_share` of the pages below one directory (at least
    `section_min_pages`).
    """
    sections = _sections(pages)
    distinct = blocks.select("page_id", "signature", "text_hash").unique()
    counts = (
        # Texts on few pages cannot reach a limit: most rows leave before the join.
        distinct.filter(pl.len().over("signature", "text_hash") >= _least(config))
        .join(sections, on="page_id")
        .group_by("section", "signature", "text_hash")
        .agg(count=pl.len())
        .join(sections.group_by("section").agg(pages=pl.len()), on="section")
    )
    whole = pl.col("section") == ""
    limit = (
        pl.when(whole)
        .then(_limit(config.template_share, config.template_min_pages))
        .otherwise(_limit(config.section_share, config.section_min_pages))
    )
    template = counts.filter(pl.col("count") >= limit).select("signature", "text_hash").unique()
    return (
        blocks.select("signature", "text_hash")
        .join(
            template.with_columns(repeated=pl.lit(True)),
            on=["signature", "text_hash"],
            how="left",
            maintain_order="left",
        )
        .get_column("repeated")
        .fill_null(False)
    )


def _sections(pages: pl.DataFrame) -> pl.DataFrame:
    """Return (section, page_id): the whole site as "" and every directory of a page's address."""
    path = pl.col("url").str.replace(r"^[a-z]+://", "").str.replace(r"[?#].*$", "").str.split("/")
    parts = pages.select("page_id", parts=path.list.slice(0, path.list.len() - 1))
    directories = [
        parts.filter(pl.col("parts").list.len() >= depth).select(
            section=pl.col("parts").list.head(depth).list.join("/"), page_id="page_id"
        )
        for depth in range(2, SECTION_DEPTH + 2)
    ]
    return pl.concat([parts.select(section=pl.lit(""), page_id="page_id"), *directories])


def _least(config: ParseConfig) -> int:
    return min(config.template_min_pages, config.section_min_pages)


def _limit(share: float, least: int) -> pl.Expr:
    return pl.max_horizontal(pl.col("pages") * share, pl.lit(least))
