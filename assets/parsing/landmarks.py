"""What a single page says about its own boilerplate: landmarks, hidden and consent markup.

Each zone of the walk names candidate reasons; guards spare a zone that evidently holds the content
(a form around the whole page, an article inside a nav). Shares are of the page's prose words: runs
of twelve words and more that are not mostly link text.
"""

from __future__ import annotations

import re
from itertools import accumulate

from assets.parsing.model import Page, Zone

LANDMARK_SHARE = 0.35  # a landmark with more of the page's prose is its content
FORM_PROSE, FORM_WORDS = 0.20, 0.30
MAIN_SHARE = 0.5  # a main element with at least this much prose is the page
CONSENT_SHARE = 0.6
BUTTON_WORDS = 40
DIALOG_PROSE = 40  # an opened dialog with a paragraph is content, one with labels a control

_CALLOUTS = re.compile(r"note|warn|tip|callout|admonition|caution|important|info|example", re.I)
_PANELS = re.compile(r"tab|accordion|collaps|faq|panel|toggle|expand|dropdown-content", re.I)
_CONTROLS = frozenset({"button", "select", "textarea", "datalist"})
_DIALOGS = frozenset({"dialog", "alertdialog"})


def decide(page: Page, title: str | None) -> list[str | None]:
    """Return the drop reason of every atom (None: content); also sets `reason` on the zones."""
    return _Decider(page, title).run()


class _Decider:
    def __init__(self, page: Page, title: str | None) -> None:
        self._page = page
        self._title = (title or "").casefold()
        atoms = page.atoms
        self._words = list(accumulate((atom.words for atom in atoms), initial=0))
        self._prose = list(
            accumulate((atom.words if atom.prose else 0 for atom in atoms), initial=0)
        )
        self._h1 = [number for number, atom in enumerate(atoms) if atom.level == 1]

    def run(self) -> list[str | None]:
        zones = self._page.zones
        for number, zone in enumerate(zones[1:], start=1):
            outer = zones[zone.parent].reason
            own = self._own(zone) if outer is None or zone.keep else None
            zone.reason = None if zone.keep else outer or own
            zone.top = zones[zone.parent].top if outer else number
        reasons = [zones[atom.zone].reason for atom in self._page.atoms]
        self._drop_outside_main(reasons)
        return reasons

    def _own(self, zone: Zone) -> str | None:
        return next((reason for reason in zone.reasons if not self._spared(zone, reason)), None)

    def _spared(self, zone: Zone, reason: str) -> bool:
        """Tell whether evidence speaks against dropping ``zone`` for ``reason``."""
        if reason in ("override", "fallback"):
            return False
        prose = _share(self._prose, zone)
        if reason == "hidden":
            return prose > LANDMARK_SHARE or self._opened(zone)
        if reason == "consent":
            return prose > CONSENT_SHARE or self._h1_in(zone.start, zone.end)
        if reason == "noscript":
            inside = _sum(self._words, zone)
            return inside > self._words[-1] - inside
        if zone.tag in _CONTROLS:
            return self._is_content_control(zone)
        if reason == "form":
            return prose > FORM_PROSE or _share(self._words, zone) > FORM_WORDS
        if zone.tag == "dialog" or zone.role in _DIALOGS:
            return self._opened(zone) and _sum(self._prose, zone) >= DIALOG_PROSE
        if reason == "aside" and zone.in_main and any(map(_CALLOUTS.search, zone.marks)):
            return True
        if reason == "header" and self._is_title_header(zone):
            return True
        return prose > LANDMARK_SHARE

    def _opened(self, zone: Zone) -> bool:
        """Tell whether a control opens the zone: named by id, or a panel by role or class."""
        return (
            zone.id in self._page.targets
            or zone.role == "tabpanel"
            or any(map(_PANELS.search, zone.marks))
        )

    def _is_content_control(self, zone: Zone) -> bool:
        """Tell whether a button is the head of something to open, a heading or a question."""
        atoms = self._page.atoms[zone.start : zone.end]
        if zone.tag != "button" or not atoms:
            return False
        return (
            zone.opener
            or zone.in_heading
            or any(atom.level for atom in atoms)
            or _sum(self._words, zone) >= BUTTON_WORDS
            or atoms[-1].text.endswith(("?", "？"))
            or any(map(_PANELS.search, zone.marks))
        )

    def _is_title_header(self, zone: Zone) -> bool:
        """Tell whether the header holds the page's only first-level heading, also its title."""
        if len(self._h1) != 1 or not zone.start <= self._h1[0] < zone.end:
            return False
        return self._page.atoms[self._h1[0]].text.casefold() in self._title

    def _h1_in(self, start: int, end: int) -> bool:
        return any(start <= number < end for number in self._h1)

    def _drop_outside_main(self, reasons: list[str | None]) -> None:
        """Drop what stands outside a main element that clearly holds the page.

        A first-level heading in front of a main element without one is its heading and stays.
        """
        content = [
            atom.words if atom.prose and reasons[number] is None else 0
            for number, atom in enumerate(self._page.atoms)
        ]
        inside = bytearray(len(reasons))
        for start, end in self._page.mains:
            inside[start:end] = b"\x01" * (min(end, len(reasons)) - start)
        held = sum(words for number, words in enumerate(content) if inside[number])
        if not held or held < MAIN_SHARE * sum(content):
            return
        own_h1 = any(inside[number] for number in self._h1)
        for number, atom in enumerate(self._page.atoms):
            if not (inside[number] or (atom.level == 1 and not own_h1)):
                reasons[number] = reasons[number] or self._outside(atom.zone)

    def _outside(self, zone: int) -> str | None:
        """Return the reason `outside` unless a selector keeps the zone."""
        zones = self._page.zones
        while zone > 0:
            if zones[zone].keep:
                return None
            zone = zones[zone].parent
        return "outside"


def _sum(sums: list[int], zone: Zone) -> int:
    return sums[zone.end] - sums[zone.start]


def _share(sums: list[int], zone: Zone) -> float:
    return _sum(sums, zone) / sums[-1] if sums[-1] else 0.0
