"""Which elements may be dropped as one, and for what."""

from __future__ import annotations

from collections.abc import Sequence

from assets.parsing.model import Zone
from assets.parsing.openings import Opening


def zone_of(tag: str, opening: Opening, selected: Sequence[str], *, in_main: bool) -> Zone | None:
    """Return the zone that an element opens, None when nothing speaks for dropping it.

    ``selected`` names the configured lists (``keep``, ``override``) whose selectors match it. Its
    place in the page is for the walk to fill in.
    """
    reasons = [name for name in selected if name != "keep"]
    reasons += [why for why in opening.reasons if not (why == "header" and in_main)]
    if not reasons and not selected:
        return None
    return Zone(
        tag,
        reasons=tuple(reasons),
        marks=opening.marks,
        id=opening.id,
        role=opening.role,
        opener=opening.opener,
        keep="keep" in selected,
        in_main=in_main,
    )
