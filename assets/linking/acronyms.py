"""Acronyms that a text itself explains: "University Library System (ULS)"."""

from __future__ import annotations

import re

import polars as pl

from retrieval.index.gazetteer import normalise

_EXPLAINED = re.compile(
    r"((?:[A-ZÀ-Þ][\w’'-]*(?:,)?[ \u00a0](?:(?:of|and|for|the|in|on|de|&)[ \u00a0])*){2,9})"
    r"\(([A-Z][A-Za-z&]{0,8}[A-Z])\)"
)
_GATE = r"[\w’'-][ \u00a0]\([A-Z][A-Za-z&]{0,8}[A-Z]\)"
_SMALL = frozenset(("of", "and", "for", "the", "in", "on", "de", "a", "an"))


def explained_acronyms(texts: pl.DataFrame) -> pl.DataFrame:
    """Return acronyms explained in ``texts`` (column text): short, long, acronym, name.

    ``short`` and ``long`` are normal forms. The letters must be initials of the last words of the
    name. An acronym with two different explanations on the site is left out.
    """
    found: set[tuple[str, str, str, str]] = set()
    for text in texts.filter(pl.col("text").str.contains(_GATE))["text"].to_list():
        for match in _EXPLAINED.finditer(text):
            name = _named_by(match.group(1), match.group(2))
            if name:
                found.add((normalise(match.group(2)), normalise(name), match.group(2), name))
    frame = pl.DataFrame(
        sorted(found),
        schema={"short": pl.String, "long": pl.String, "acronym": pl.String, "name": pl.String},
        orient="row",
    )
    return frame.filter(pl.col("long").n_unique().over("short") == 1).unique(
        "short", keep="first", maintain_order=True
    )


def _named_by(words: str, acronym: str) -> str | None:
    """Return the shortest ending of ``words`` whose initials are ``acronym``, or None."""
    parts = words.replace("\u00a0", " ").split()
    letters = [c.lower() for c in acronym if c.isalpha()]
    for start in range(len(parts) - 1, -1, -1):
        tail = parts[start:]
        every = [p[0].lower() for p in tail if p[0].isalpha()]
        main = [p[0].lower() for p in tail if p[0].isalpha() and p.lower() not in _SMALL]
        if letters in (every, main):
            return " ".join(tail)
    return None
