"""The `pages` table: from the journal of a crawl and the parent's pages to a state for each URL.

An outage changes nothing: a page that could not be had keeps its content, and its links still
count. A page is gone on a confirmed 404 or 410 alone. Nothing is inferred from what a budget or a
broken sitemap kept the crawl from seeing. URLs are merged only on proof: a redirect, a canonical
link whose content agrees, or equal content.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from assets.crawling.config import CrawlConfig
from assets.crawling.journal import HELD_STATES, Journal
from assets.crawling.merge import primaries
from assets.crawling.reach import Flags, Graph, Rows, clicks, resolve
from assets.crawling.urls import UrlRules
from retrieval.snapshot import ids
from retrieval.snapshot.schemas import TABLES, enforce

CODE_VERSION = "1"

_COLUMNS = TABLES["pages"].schema.names
# Columns that describe content; they go together, from this crawl or from the parent.
_CONTENT_COLUMNS = (
    "etag", "last_modified", "content_type", "encoding", "language", "title", "body_sha256",
    "body_bytes", "content_hash",
)  # fmt: skip


def build_pages(
    journal_path: Path,
    parent_pages: pl.DataFrame | None,
    *,
    now: datetime,
    config: CrawlConfig,
) -> pa.Table:
    """Return the `pages` table of a finished crawl.

    ``parent_pages`` is the parent snapshot's table (None for a first crawl), ``now`` the time of
    this crawl (aware), used for first_seen and last_changed. Raises JournalError.
    """
    with Journal(journal_path) as journal:
        rows = _known_rows(journal, parent_pages)
        graph = _graph(journal, rows)
        budget = journal.meta("budget")
        partial_sitemap = bool(journal.meta("sitemap_problems"))
    rows, stands_for = _states(rows, budget)
    rows = _places(rows, graph, stands_for, partial_sitemap, budget is not None)
    rows = _history(rows, now)
    pages = rows.select(_COLUMNS)
    if parent_pages is not None:
        pages = pl.concat([pages, _carried(parent_pages, rows, config)])
    return enforce("pages", pages.sort("page_id").to_arrow())


# -- reading -----------------------------------------------------------------------------------


def _known_rows(journal: Journal, parent_pages: pl.DataFrame | None) -> pl.DataFrame:
    """Return one row per URL of the journal: its outcome, and the parent's row as ``old_*``."""
    rows = journal.frame()
    rows = rows.with_columns(
        page_id=pl.Series([ids.page_id(key) for key in rows["key"]], dtype=pl.String),
        row=pl.int_range(pl.len(), dtype=pl.Int64),
    )
    parent = parent_pages if parent_pages is not None else _no_pages()
    parent = parent.select(pl.col(_COLUMNS).name.prefix("old_")).rename({"old_page_id": "page_id"})
    rows = rows.join(parent, on="page_id", how="left", maintain_order="left")
    held = pl.col("old_state").is_in(HELD_STATES) & pl.col("old_body_sha256").is_not_null()
    return rows.with_columns(held=held.fill_null(False))


def _no_pages() -> pl.DataFrame:
    frame = pl.from_arrow(TABLES["pages"].schema.empty_table())
    assert isinstance(frame, pl.DataFrame)  # noqa: S101  a table gives a frame
    return frame


def _graph(journal: Journal, rows: pl.DataFrame) -> Graph:
    row_of = _rows_by_id(rows)
    packed = {int(row_of[i]): row_of[targets] for i, targets in journal.links()}
    return Graph.of(rows.height, packed)


def _rows_by_id(rows: pl.DataFrame) -> Rows:
    """Return an array from journal id to row (-1: no such id; id 0 is none)."""
    found = rows["id"].to_numpy()
    table = np.full(int(found.max(initial=0)) + 1, -1, dtype=np.int64)
    table[found] = np.arange(len(found))
    return table


# -- states ------------------------------------------------------------------------------------


def _states(rows: pl.DataFrame, budget: str | None) -> tuple[pl.DataFrame, Rows]:
    """Add state, reason, final_url and canonical_page_id; return also what each row stands for."""
    outcome, held = pl.col("outcome"), pl.col("held")
    # A server that errs for a page that was there is an outage, whatever the error looks like.
    outage = outcome.eq("unreachable") | (
        outcome.eq("redirect") & pl.col("target_id").is_null()
        & pl.col("outcome_reason").is_in(["redirect loop", "too many redirects"])
    )  # fmt: skip
    rows = rows.with_columns(
        content=(outcome.is_in(["ok", "unchanged"]) | (outage & held)).fill_null(False),
        outage=outage.fill_null(False),
    )
    row_of = _rows_by_id(rows)
    target = row_of[rows["target_id"].fill_null(0).to_numpy()]
    refresh = row_of[rows["refresh_id"].fill_null(0).to_numpy()]
    end, loops = resolve(_onward(rows, target, refresh))
    content = rows["content"].to_numpy()
    # A redirect to an outage is an outage of the page that was there.
    moved = end != np.arange(len(end))
    dead_end = moved & ~content[end] & rows["outage"].to_numpy()[end]
    rows = rows.with_columns(moved=pl.Series(moved), loops=pl.Series(loops),
                             dead_end=pl.Series(dead_end), end=pl.Series(end))  # fmt: skip
    standing = pl.col("content") | ((pl.col("loops") | pl.col("dead_end")) & held)
    rows = rows.with_columns(
        content=standing & ~(pl.col("moved") & ~pl.col("dead_end")),
        outage=pl.col("outage") | pl.col("loops") | pl.col("dead_end"),
    )
    rows = _with_content(rows)
    primary, why = primaries(rows)
    stands_for = np.where(rows["content"].to_numpy(), primary, primary[end])
    return _named(rows, stands_for, why, budget), stands_for


def _onward(rows: pl.DataFrame, target: Rows, refresh: Rows) -> Rows:
    """Return the row each row sends its reader to: a redirect, or a quick refresh elsewhere."""
    own = np.arange(rows.height)
    content = rows["content"].to_numpy()
    outcome = rows["outcome"].fill_null("").to_numpy()
    # A refresh is a redirect only where it leads to content: the page itself is content, too.
    good = (refresh >= 0) & (refresh != own) & content & content[refresh]
    onward = np.where(outcome == "redirect", target, np.where(good, refresh, -1))
    # Two pages that refresh to each other are two pages.
    back = (onward >= 0) & good & (onward[onward] == own) & good[onward]
    return np.where(back, -1, onward)


def _with_content(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the content columns: this crawl's for a body just received, the parent's where it stands.

    Facts that a stored body was read for again win over the parent's columns.
    """
    fresh = pl.col("outcome").eq("ok") & pl.col("content")
    stands = pl.col("content") & ~fresh
    columns = []
    for name in _CONTENT_COLUMNS:
        ours = name not in ("content_type", "body_sha256", "body_bytes")
        old = pl.coalesce(name, f"old_{name}") if ours else pl.col(f"old_{name}")
        # What was received and is no page still says what it was.
        rest = name if name in ("etag", "last_modified", "content_type") else pl.lit(None)
        columns.append(pl.when(fresh).then(name).when(stands).then(old).otherwise(rest).alias(name))
    return rows.with_columns(columns)


def _named(
    rows: pl.DataFrame, stands_for: Rows, why: pl.Series, budget: str | None
) -> pl.DataFrame:
    """Add state, reason, final_url, canonical_page_id and status."""
    ends = rows[stands_for].select(
        end_id="page_id", end_url=pl.coalesce("final_url", "best_url"), end_outcome="outcome",
        end_reason="outcome_reason", end_content="content",
    )  # fmt: skip
    rows = pl.concat([rows, ends], how="horizontal").with_columns(why=why)
    other = pl.col("end_id").ne(pl.col("page_id"))
    pending = pl.col("outcome").is_null()
    named = {
        "ok": "live", "unchanged": "live", "missing": "gone", "denied": "blocked",
        "blocked": "blocked", "skipped": "skipped", "unreachable": "unreachable",
        "redirect": "redirected",
    }  # fmt: skip
    own_state = pl.col("outcome").replace_strict(named, default=None, return_dtype=pl.String)
    end_state = pl.col("end_outcome").replace_strict(named, default=None, return_dtype=pl.String)
    fate = pl.coalesce("end_reason", "end_outcome", pl.lit("not looked at"))
    into = pl.format("redirects to {}: {}", "end_url", fate)
    state = (
        pl.when(pending & pl.col("old_state").is_not_null()).then("old_state")
        .when(pending).then(pl.lit("skipped"))
        .when(pl.col("content") & other).then(pl.lit("duplicate"))
        .when(pl.col("content") & pl.col("outage")).then(pl.lit("unreachable"))
        .when(pl.col("loops")).then(pl.lit("skipped"))
        .when(pl.col("moved") & pl.col("end_content")).then(pl.lit("redirected"))
        .when(pl.col("moved")).then(pl.coalesce(end_state, pl.lit("skipped")))
        .when(pl.col("outage") & pl.col("outcome").eq("redirect")).then(pl.lit("skipped"))
        .otherwise(own_state)
    )  # fmt: skip
    reason = (
        pl.when(pending & pl.col("old_state").is_not_null()).then("old_reason")
        .when(pending).then(pl.lit(f"budget: {budget or 'the crawl was broken off'}"))
        .when(pl.col("content") & other).then("why")
        .when(pl.col("loops")).then(pl.lit("redirect loop"))
        .when(pl.col("dead_end") & pl.col("content"))
        .then(pl.lit("redirects to a page that cannot be had"))
        .when(pl.col("moved") & ~pl.col("end_content")).then(into)
        .when(pl.col("moved") & pl.col("outcome").eq("redirect")).then(pl.lit("redirect"))
        .when(pl.col("moved")).then(pl.lit("meta refresh"))
        .otherwise("outcome_reason")
    )  # fmt: skip
    answered = pl.col("status").is_not_null() | pl.col("content")
    return rows.with_columns(
        *(pl.when(pending).then(f"old_{n}").otherwise(n).alias(n) for n in _CONTENT_COLUMNS),
        state=state,
        reason=reason,
        url="best_url",
        status=pl.when(pl.col("outcome").eq("unchanged") | pending).then("old_status")
        .otherwise("status"),
        final_url=pl.when(pending).then("old_final_url").when(pl.col("moved") & answered)
        .then("end_url").when(answered).then(pl.coalesce("final_url", "best_url")),
        canonical_page_id=pl.when(pending).then("old_canonical_page_id")
        .when(other & pl.col("end_content")).then("end_id"),
    )  # fmt: skip


# -- place in the site -------------------------------------------------------------------------


def _places(
    rows: pl.DataFrame, graph: Graph, stands_for: Rows, partial_sitemap: bool, partial: bool
) -> pl.DataFrame:
    """Add depth, linked, in_sitemap, and turn pages that nothing leads to into unlinked ones."""
    if partial_sitemap:
        in_sitemap = pl.col("listed") | pl.col("old_in_sitemap").fill_null(False)
    else:
        in_sitemap = pl.col("listed")
    rows = rows.with_columns(in_sitemap=in_sitemap)
    seeds, listed = rows["seed"].to_numpy(), rows["in_sitemap"].to_numpy()
    depth, _ = clicks(graph, stands_for, np.flatnonzero(seeds))
    reached, linked = clicks(graph, stands_for, np.flatnonzero(seeds | listed))
    found = _as_flag(reached >= 0)
    is_linked = _as_flag(linked | seeds)
    if partial:
        # Pages that were not looked at may hold the link.
        is_linked = is_linked | pl.col("old_linked").fill_null(False)
    if partial or partial_sitemap:
        lost = pl.col("old_state").eq("unlinked").fill_null(False)
    else:
        lost = pl.lit(True)
    lost = lost & ~found & pl.col("state").eq("live")
    return rows.with_columns(
        depth=pl.Series(np.where(depth >= 0, depth, -1)).replace(-1, None).cast(pl.Int16),
        linked=is_linked,
        state=pl.when(lost).then(pl.lit("unlinked")).otherwise("state"),
        reason=pl.when(lost).then(pl.lit("no link and no sitemap leads to it")).otherwise("reason"),
    )


def _as_flag(values: Flags) -> pl.Expr:
    return pl.lit(pl.Series(values))


# -- history -----------------------------------------------------------------------------------


def _history(rows: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Add first_seen, last_changed and fetched_at."""
    at = pl.lit(now).cast(pl.Datetime("us", "UTC"))
    asked = pl.from_epoch(pl.col("asked_at") * 1e6, time_unit="us").dt.replace_time_zone("UTC")
    answered = pl.col("status").is_not_null() & pl.col("outcome").is_in(["unchanged"]).not_()
    changed = pl.col("content_hash").is_not_null() & pl.col("content_hash").ne_missing(
        pl.col("old_content_hash")
    )
    return rows.with_columns(
        first_seen=pl.coalesce("old_first_seen", at),
        last_changed=pl.when(changed).then(at).otherwise("old_last_changed"),
        fetched_at=pl.when(answered & ~(pl.col("outage") & pl.col("held"))).then(asked)
        .otherwise("old_fetched_at"),
    )  # fmt: skip


def _carried(parent_pages: pl.DataFrame, rows: pl.DataFrame, config: CrawlConfig) -> pl.DataFrame:
    """Return the parent's rows that this crawl did not meet and that held content once.

    A page out of the present scope gives up its content; a page that is gone stays gone.
    """
    rules = UrlRules(config)
    left = parent_pages.select(_COLUMNS).filter(pl.col("last_changed").is_not_null())
    left = left.join(rows.select("page_id"), on="page_id", how="anti")
    inside = pl.Series([rules.in_scope(url) for url in left["url"]], dtype=pl.Boolean)
    nothing = [pl.when(pl.lit(inside)).then(c).alias(c) for c in _CONTENT_COLUMNS]
    return left.with_columns(
        *nothing,
        state=pl.when(pl.lit(inside)).then("state").otherwise(pl.lit("skipped")),
        reason=pl.when(pl.lit(inside)).then("reason").otherwise(pl.lit("out of scope")),
        depth=pl.lit(None, dtype=pl.Int16),
        canonical_page_id=pl.lit(None, dtype=pl.String),
        in_sitemap=pl.lit(False),
        linked=pl.lit(False),
    )
