"""What the attributes of an element say about its text."""

from __future__ import annotations

import re

Attributes = dict[str, str | None]

_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_CONSENT = re.compile(
    r"cookie|gdpr|ccpa|onetrust|didomi|trustarc|consent[-_ ]?(?:banner|bar|box|modal|popup|manager|"
    r"notice|overlay|dialog)",
    re.IGNORECASE,
)
_NEVER_CONSENT = frozenset({"html", "body", "main", "article"})
_OPENERS = ("aria-controls", "data-target", "data-bs-target")
_CONTROLS = frozenset({"aria-controls", "data-target", "data-bs-target", "data-toggle"})


NO_MARKS: frozenset[str] = frozenset()


def marks_of(attributes: Attributes) -> frozenset[str]:
    """Return the class tokens and the id of an element, lower case."""
    values = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    return frozenset(values.lower().split())


def is_hidden(attributes: Attributes) -> bool:
    """Tell whether markup hides the element (`hidden`, inline style); aria-hidden does not."""
    if "hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found":
        return True
    style = attributes.get("style")
    return bool(style) and _INVISIBLE.search(style or "") is not None


def aria_level(attributes: Attributes) -> int:
    """Return aria-level between 1 and 9; 2 when it is missing, as the standard says."""
    value = (attributes.get("aria-level") or "").strip()
    return min(max(int(value), 1), 9) if value.isdecimal() and len(value) < 3 else 2


def has_consent_mark(tag: str, marks: frozenset[str]) -> bool:
    """Tell whether class or id name a cookie or consent notice."""
    return tag not in _NEVER_CONSENT and any(map(_CONSENT.search, marks))


def is_opener(attributes: Attributes) -> bool:
    """Tell whether the element is a control that opens a part of the page."""
    return any(attributes.get(name) for name in _OPENERS)


def targets_of(attributes: Attributes) -> list[str]:
    """Return the ids that this element opens; the target of its link is not among them."""
    targets: list[str] = []
    if not _CONTROLS.isdisjoint(attributes):
        for name in _CONTROLS:
            targets += [part.lstrip("#") for part in (attributes.get(name) or "").split()]
    return targets
