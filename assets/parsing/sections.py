"""Which headings are in force where: a level-aware stack per isolated part of the page."""

from __future__ import annotations

from dataclasses import dataclass

from assets.parsing.model import Page

NO_SECTION = -1
MAX_LEVEL = 9


@dataclass(slots=True, eq=False)
class Section:
    """One heading instance: its path (itself included) and the section it lies in."""

    heads: tuple[tuple[int, str], ...]
    above: int


def sections(page: Page, reasons: list[str | None]) -> tuple[list[Section], list[int]]:
    """Return the sections of the page and the section number of every atom.

    A heading closes those of its level and deeper. Inside an isolating zone (a list item, an
    aside, anything dropped as one) the headings outside hold, but its own end with it. Text that
    is dropped as outside the main element keeps a stack of its own.
    """
    found: list[Section] = []
    numbers: list[int] = []
    stacks: dict[tuple[int, bool], list[tuple[int, int]]] = {(0, False): [], (0, True): []}
    homes = _isolated_homes(page)
    for atom, reason in zip(page.atoms, reasons, strict=True):
        stack = _stack_of(stacks, homes, homes[atom.zone], reason == "outside", page)
        if atom.level:
            level = atom.level
            if level < 0:
                level = min(stack[-1][0] + 1, MAX_LEVEL) if stack else 2
            while stack and stack[-1][0] >= level:
                stack.pop()
            above = stack[-1][1] if stack else NO_SECTION
            heads = found[above].heads if stack else ()
            stack.append((level, len(found)))
            found.append(Section((*heads, (level, atom.text)), above))
        numbers.append(stack[-1][1] if stack else NO_SECTION)
    return found, numbers


def _isolated_homes(page: Page) -> list[int]:
    """Return for every zone the nearest zone, itself included, that isolates its headings."""
    homes = [0]
    for number, zone in enumerate(page.zones[1:], start=1):
        homes.append(number if zone.isolates else homes[zone.parent])
    return homes


def _stack_of(
    stacks: dict[tuple[int, bool], list[tuple[int, int]]],
    homes: list[int],
    home: int,
    outside: bool,
    page: Page,
) -> list[tuple[int, int]]:
    """Return the stack of zone ``home``, made on first sight from that of the zone around it."""
    missing = []
    while (home, outside) not in stacks:
        missing.append(home)
        home = homes[page.zones[home].parent]
    stack = stacks[home, outside]
    for zone in reversed(missing):
        stacks[zone, outside] = stack = list(stack)
    return stack
