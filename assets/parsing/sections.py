"""Which headings are in force where: a level-aware stack that knows where a heading ends."""

from __future__ import annotations

from dataclasses import dataclass, field

from assets.parsing.model import Atom, Page

NO_SECTION = -1
MAX_LEVEL = 9


@dataclass(slots=True, eq=False)
class Section:
    """One heading instance: its path (itself included) and the section it lies in."""

    heads: tuple[tuple[int, str], ...]
    above: int


@dataclass(slots=True)
class _Stack:
    """Open headings as (level, section), and the stacks to return to where a scope ends."""

    open: list[tuple[int, int]] = field(default_factory=list)
    outer: list[tuple[tuple[int, int], list[tuple[int, int]]]] = field(default_factory=list)
    spans: set[tuple[int, int]] = field(default_factory=set)

    def leave(self, number: int) -> None:
        """Return from the scopes that end at or before atom ``number``."""
        while self.outer and self.outer[-1][0][1] <= number:
            span, self.open = self.outer.pop()
            self.spans.discard(span)

    def enter(self, span: tuple[int, int]) -> None:
        """Enter the scope of the atoms ``span``, unless it is entered already."""
        if span not in self.spans:
            self.outer.append((span, self.open))
            self.spans.add(span)
            self.open = list(self.open)


def sections(page: Page, reasons: list[str | None]) -> tuple[list[Section], list[int]]:
    """Return the sections of the page and the section number of every atom.

    A heading closes those of its level and deeper. Inside a list item, a cell, an aside or
    anything dropped as one, the headings outside hold and its own end with it. Text dropped as
    outside the main element keeps a stack of its own.
    """
    found: list[Section] = []
    numbers: list[int] = []
    stacks = {False: _Stack(), True: _Stack()}
    for number, (atom, reason) in enumerate(zip(page.atoms, reasons, strict=True)):
        stack = stacks[reason == "outside"]
        stack.leave(number)
        if atom.level:
            for span in sorted(_scopes(atom, page), key=lambda span: (span[0], -span[1])):
                stack.enter(span)
            level = atom.level
            if level < 0:
                level = min(stack.open[-1][0] + 1, MAX_LEVEL) if stack.open else 2
            while stack.open and stack.open[-1][0] >= level:
                stack.open.pop()
            above = stack.open[-1][1] if stack.open else NO_SECTION
            heads = found[above].heads if stack.open else ()
            stack.open.append((level, len(found)))
            found.append(Section((*heads, (level, atom.text)), above))
        numbers.append(stack.open[-1][1] if stack.open else NO_SECTION)
    return found, numbers


def _scopes(atom: Atom, page: Page) -> list[tuple[int, int]]:
    """Return the atoms a heading is confined to, by its frame and by what is dropped with it."""
    spans = []
    if atom.scope is not None:
        spans.append((atom.scope.start, atom.scope.end))
    zone = page.zones[atom.zone]
    if zone.reason is not None:
        top = page.zones[zone.top]
        spans.append((top.start, top.end))
    return spans
