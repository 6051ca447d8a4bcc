"""Which elements may be dropped as one, and for what."""

from __future__ import annotations

from collections.abc import Sequence

from assets.parsing.attributes import Attributes, has_consent_mark, is_hidden, is_opener
from assets.parsing.elements import LANDMARK_ROLES, LANDMARK_TAGS
from assets.parsing.model import Zone


def zone_of(
    tag: str,
    role: str,
    attributes: Attributes,
    marks: frozenset[str],
    selected: Sequence[str],
    *,
    in_main: bool,
) -> Zone | None:
    """Return the zone that an element opens, None when nothing speaks for dropping it.

    ``selected`` names the configured lists (``keep``, ``override``) whose selectors match it. Its
    place in the page is for the walk to fill in.
    """
    reasons = [name for name in selected if name != "keep"]
    if attributes and is_hidden(attributes):
        reasons.append("hidden")
    if marks and has_consent_mark(tag, marks):
        reasons.append("consent")
    landmark = LANDMARK_TAGS.get(tag) or (LANDMARK_ROLES.get(role) if role else None)
    if landmark and not (landmark == "header" and in_main):
        reasons.append(landmark)
    if not reasons and not selected:
        return None
    return Zone(
        tag,
        reasons=tuple(reasons),
        marks=marks,
        id=attributes.get("id"),
        role=role,
        opener=is_opener(attributes),
        keep="keep" in selected,
        in_main=in_main,
    )
