"""The brake: what a candidate lost or gained against its parent, by count."""

from __future__ import annotations

import polars as pl

from assets.checks.config import ChecksConfig
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.states import HAS_CONTENT


def counts(snapshot: Snapshot) -> dict[str, int]:
    """Return the counts that are compared between snapshots."""
    blocks = snapshot.table("blocks")
    texts = snapshot.table("texts")
    links = snapshot.table("links")
    return {
        "live_pages": snapshot.table("pages").filter(HAS_CONTENT).height,
        "kept_blocks": blocks.filter("kept").height,
        "kept_words": int(texts.select(pl.col("words") * pl.col("kept_blocks")).sum().item() or 0),
        "facts": snapshot.table("facts").height,
        "entities": snapshot.table("entities").height,
        "content_links": links.filter(pl.col("region") == "content").height,
    }


def drops(before: dict[str, int], after: dict[str, int], config: ChecksConfig) -> list[str]:
    """Return a line for each count that fell by more than its share of ``before``."""
    return [
        f"{name} fell from {before[name]} to {after[name]} "
        f"(-{1 - after[name] / before[name]:.0%}, allowed -{share:.0%})"
        for name, share in config.max_drop.items()
        if _judged(name, before, config) and after[name] < before[name] * (1 - share)
    ]


def growths(before: dict[str, int], after: dict[str, int], config: ChecksConfig) -> list[str]:
    """Return a line for each count that grew by more than its share of ``before``."""
    return [
        f"{name} grew from {before[name]} to {after[name]} (+{after[name] / before[name] - 1:.0%})"
        for name, share in config.max_growth.items()
        if _judged(name, before, config) and after[name] > before[name] * (1 + share)
    ]


def _judged(name: str, before: dict[str, int], config: ChecksConfig) -> bool:
    """Tell whether the parent's count is large enough to judge a change of it."""
    return before[name] >= config.min_base


def summary(before: dict[str, int], after: dict[str, int]) -> str:
    """Return all counts of both snapshots in one line."""
    return ", ".join(f"{name} {before[name]} → {after[name]}" for name in after)
