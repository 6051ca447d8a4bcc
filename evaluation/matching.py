"""When a piece of text counts as found: pages, blocks, spans and answer parts.

All comparisons of evidence remove every whitespace character first, because a page's text content
glues table cells together while a reader sees them apart. Nothing else is folded: evidence is
verbatim. Answer parts are compared as people write them (case, dashes and quotes folded).

Definitions used here, for one gold span and the passages a reader is given:

- **page**: a passage stands on a gold page (the named one or one of ``also_on``), or on the page
  that a gold page redirects to or duplicates.
- **block**: a passage on a gold page overlaps the span: it contains it, or contains a run of at
  least half of its characters (and at least `MIN_RUN` characters), or has at least `MIN_WORDS`
  words and is itself contained in the span.
- **span**: the span is contained in what the reader is given of a gold page. Passages that follow
  each other on the page are joined, so that a span over the border of two retrieved blocks
  counts. A reader is given each passage's heading path and repeated table header with its text:
  the span may be a heading of the path, or run from the nearest heading (and header) into the text.
- a **generic** span (on too many pages to prove anything) is judged by page and heading path: a
  passage on a gold page under the span's last heading gives block, and span if it has the text.
  A system without heading paths meets the heading by having it in the passage's text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote, urlsplit

MIN_RUN = 12
MIN_WORDS = 5

_SPACE = re.compile(r"[\s\u200b\u2060\ufeff\u00ad]+")


def squeeze(text: str) -> str:
    """Return ``text`` (NFC) with all whitespace and invisible spacing characters removed."""
    return _SPACE.sub("", unicodedata.normalize("NFC", text))


def contains(haystack: str, needle: str) -> bool:
    """Tell whether ``needle`` stands in ``haystack`` when whitespace is removed from both."""
    return squeeze(needle) in squeeze(haystack)


def page_key(page: str, root: str = "/") -> str:
    """Return one form for a page's URL and its file path.

    Host, query, fragment, the site root and a trailing ``index.html`` go; so
    ``https://x.org/courses/a/``, ``/courses/a/index.html`` and ``courses/a/index.html`` are equal.
    """
    path = unquote(urlsplit(page).path)
    if path.startswith(root):
        path = path[len(root) :]
    path = path.strip("/")
    if path == "index.html":
        return ""
    return path.removesuffix("/index.html")


@dataclass(frozen=True)
class Passage:
    """A piece of text a system hands to the reader, best first in a list.

    ``page`` is a URL or a path; ``ordinal`` the position on the page (passages whose ordinals
    differ by one are joined); ``tokens`` counts the text alone.
    ``also_at`` holds other places (page, heading path) of the same text, only when the system
    tells the reader of them.
    """

    page: str
    heading_path: tuple[str, ...]
    text: str
    tokens: int
    ordinal: int | None = None
    context: str | None = None
    ref: str | None = None
    also_at: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Gold(Protocol):
    """What a gold span must tell to be looked for (see questions.Evidence)."""

    @property
    def pages(self) -> tuple[str, ...]:
        """Return the right pages."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the accepted forms, whitespace removed."""

    @property
    def heading_path(self) -> tuple[str, ...]:
        """Return the headings above the span."""

    @property
    def generic(self) -> bool:
        """Tell whether the text alone proves nothing."""


@dataclass(frozen=True)
class Pages:
    """How pages are compared: the site root, and pages that stand for another one."""

    root: str = "/"
    aliases: Mapping[str, str] | None = None

    def key(self, page: str) -> str:
        """Return the key of the page that ``page`` is, aliases followed once."""
        key = page_key(page, self.root)
        return self.aliases.get(key, key) if self.aliases else key


@dataclass(frozen=True)
class _View:
    """A passage prepared for comparison: page key and squeezed texts."""

    rank: int
    page: str
    ordinal: int | None
    words: int
    text: str
    headings: tuple[str, ...]
    context: str

    @property
    def lead(self) -> str:
        """Return nearest heading and table header as the reader sees them above the text."""
        return (self.headings[-1] if self.headings else "") + self.context


@dataclass(frozen=True)
class Found:
    """Whether one gold span is found at each level; ``text`` is span without headings' help."""

    page: bool
    block: bool
    span: bool
    text: bool


class Reading:
    """What a reader is given: the first k passages, prepared once for all gold spans."""

    def __init__(self, passages: Sequence[Passage], pages: Pages, *, also_at: bool = True) -> None:
        """``also_at`` counts the further places of a passage that the system tells of."""
        self._pages = pages
        self._views = [
            view
            for rank, passage in enumerate(passages)
            for view in _views(rank, passage, pages)[: None if also_at else 1]
        ]

    def find(self, gold: Gold) -> Found:
        """Look for one gold span in everything that is given."""
        keys = {self._pages.key(page) for page in gold.pages}
        views = [view for view in self._views if view.page in keys]
        if gold.generic:
            under = [view for view in views if _under(view, gold)]
            text = any(form in view.text for view in under for form in gold.texts)
            return Found(bool(views), bool(under), text, text)
        text = any(form in run for run in _runs(views, lead=False) for form in gold.texts)
        span = text or any(
            form in run
            for form in gold.texts
            for run in (*_runs(views, lead=True), *(h for v in views for h in v.headings))
        )
        # A span over several passages is in each of their blocks only in part; its run is enough.
        block = span or any(_overlaps(view, form) for view in views for form in gold.texts)
        return Found(bool(views), block, span, text)

    def ranks(self, gold: Gold) -> set[int]:
        """Return the 0-based ranks of the passages that alone meet ``gold`` at block level."""
        keys = {self._pages.key(page) for page in gold.pages}
        return {
            view.rank
            for view in self._views
            if view.page in keys
            and (
                _under(view, gold)
                if gold.generic
                else any(_overlaps(view, form) for form in gold.texts)
            )
        }


def _views(rank: int, passage: Passage, pages: Pages) -> list[_View]:
    text, words = squeeze(passage.text), len(passage.text.split())
    first = _View(
        rank,
        pages.key(passage.page),
        passage.ordinal,
        words,
        text,
        tuple(squeeze(h) for h in passage.heading_path),
        squeeze(passage.context or ""),
    )
    return [first] + [
        _View(rank, pages.key(page), None, words, text, tuple(squeeze(h) for h in path), "")
        for page, path in passage.also_at
    ]


def _under(view: _View, gold: Gold) -> bool:
    if not gold.heading_path:
        return True
    last = squeeze(gold.heading_path[-1])
    if view.headings:
        return last in view.headings
    return last in view.text


def _overlaps(view: _View, form: str) -> bool:
    if form in view.text or any(form in heading for heading in view.headings):
        return True
    if view.words >= MIN_WORDS and view.text in form:
        return True
    size = max(MIN_RUN, (len(form) + 1) // 2)
    given = view.lead + view.text
    return any(form[i : i + size] in given for i in range(len(form) - size + 1))


def _runs(views: Sequence[_View], *, lead: bool) -> list[str]:
    """Join passages that follow each other on a page; ``lead`` puts headings and headers in."""
    order = sorted(
        (v for v in views if v.ordinal is not None), key=lambda v: (v.page, v.ordinal or 0)
    )
    runs = [(v.lead if lead else "") + v.text for v in views if v.ordinal is None]
    last: _View | None = None
    for view in order:
        follows = (
            last is not None
            and last.page == view.page
            and last.ordinal is not None
            and view.ordinal in (last.ordinal, last.ordinal + 1)
        )
        same_lead = follows and last is not None and last.lead == view.lead
        piece = (view.lead if lead and not same_lead else "") + view.text
        if follows:
            runs[-1] += piece
        else:
            runs.append(piece)
        last = view
    return runs


_FOLD = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‐": "-", "‑": "-", "−": "-"}
)
_INNER_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
_BEFORE_MARK = re.compile(r"\s+(?=[,.;:!?)\]])")
_LONG_VARIANT = 4  # words from which a variant may also be found with whitespace removed
POLAR = frozenset({"yes", "no"})


def fold(text: str) -> str:
    """Fold an answer or a variant: NFKC, case, quotes, dashes, inner hyphens, whitespace."""
    text = unicodedata.normalize("NFKC", text).translate(_FOLD).casefold()
    text = _BEFORE_MARK.sub("", " ".join(_INNER_HYPHEN.sub(" ", text).split()))
    return text.strip(" .,;:!?")


def says(answer: str, variant: Sequence[str]) -> bool:
    """Tell whether one line of ``answer`` has every string of ``variant``, at word boundaries.

    A bare "yes" or "no" counts only as the first word of the answer: inside a quotation it says
    nothing. A number must not be part of a longer number ("3" is not in "3.5"). A variant of
    four words or more is also looked for with whitespace removed (glued table cells).
    """
    if len(variant) == 1 and fold(variant[0]) in POLAR:
        words = re.findall(r"\w+", fold(answer))
        return bool(words) and words[0] == fold(variant[0])
    return any(all(_stands(line, text) for text in variant) for line in _lines(answer, variant))


def _lines(answer: str, variant: Sequence[str]) -> list[str]:
    return [answer] if len(variant) == 1 else answer.splitlines()


def _stands(line: str, text: str) -> bool:
    needle = fold(text)
    if not needle:
        return False
    pattern = rf"(?<!\w)(?<!\d[.,]){re.escape(needle)}(?!\w)(?![.,]\d)"
    if re.search(pattern, fold(line)):
        return True
    return len(needle.split()) >= _LONG_VARIANT and contains(fold(line), needle)
