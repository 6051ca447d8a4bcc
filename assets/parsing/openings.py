"""What an element means to the walk, told from its name and attributes alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from assets.parsing.attributes import (
    Attributes,
    aria_level,
    has_consent_mark,
    is_hidden,
    is_opener,
    marks_of,
    targets_of,
)
from assets.parsing.elements import (
    HEADINGS,
    INLINE,
    LANDMARK_ROLES,
    LANDMARK_TAGS,
    LISTS,
    PREFORMATTED,
    names,
)

# The attributes that `opening_of` looks at: elements alike in them and in name open alike.
READ = names(
    "class id role hidden style aria-level aria-controls data-target data-bs-target data-toggle"
)
_STRUCTURES = (
    LISTS | PREFORMATTED | names("br summary main dl dt dd table thead tbody tfoot tr td th area")
)
_INLINE_PARTS = names("a img input")


@dataclass(frozen=True, slots=True, eq=False)
class Opening:
    """Role, marks (class tokens and id), heading level (0: none) and what may drop the element.

    ``reasons`` are the drop reasons that speak against it, in order of precedence; ``targets``
    the ids that it opens. ``inert`` says that an inline element does nothing but hold text,
    ``plain`` that a block does nothing but end lines.
    """

    role: str
    marks: frozenset[str]
    level: int
    id: str | None
    opener: bool
    reasons: tuple[str, ...]
    targets: tuple[str, ...]
    inline: bool
    inert: bool
    plain: bool


@lru_cache(maxsize=4096)
def opening_of(tag: str, items: tuple[tuple[str, str | None], ...]) -> Opening:
    """Read an element; ``items`` are those of its attributes that are in READ."""
    attributes: Attributes = dict(items)
    role = (attributes.get("role") or "").strip().lower()
    marks = marks_of(attributes)
    level = HEADINGS.get(tag, 0) or (aria_level(attributes) if role == "heading" else 0)
    reasons = []
    if is_hidden(attributes):
        reasons.append("hidden")
    if has_consent_mark(tag, marks):
        reasons.append("consent")
    if landmark := LANDMARK_TAGS.get(tag) or LANDMARK_ROLES.get(role):
        reasons.append(landmark)
    inline = tag in INLINE and role != "heading"
    return Opening(
        role=role,
        marks=marks,
        level=level,
        id=attributes.get("id"),
        opener=is_opener(attributes),
        reasons=tuple(reasons),
        targets=tuple(targets_of(attributes)),
        inline=inline,
        inert=inline and not reasons and tag not in _INLINE_PARTS,
        plain=not (inline or reasons or level or role == "main" or tag in _STRUCTURES),
    )
