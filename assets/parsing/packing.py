"""From atoms to blocks: bottom-up merging under one heading, at most `max_words` words a block.

Neighbours whose common ancestor lies deepest merge first, of those the pair with the smallest
union; what belongs together (heading and first text, lead and list, header and first row, term and
definition) before all. The order depends on the neighbourhood alone, so an edit moves few block
borders. Two containers with a class of their own merge only when they are alike (cards, rows) or
when all that holds them is small: a template's notice does not melt into the text beside it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import accumulate, chain

from assets.parsing.elements import TEXT_BLOCKS
from assets.parsing.model import Atom, Draft, Frame, Page
from assets.parsing.sections import NO_SECTION, Section
from assets.parsing.split import size, split_words
from assets.parsing.words import count_words

TITLE_LEVEL = 1
_STRUCTURED = ("table", "definitions")


@dataclass(slots=True, eq=False)
class _Unit:
    """A growing block: a chain link over the atoms from ``start`` up to ``end``."""

    parts: list[str]
    size: int
    words: int
    kinds: dict[str, int]
    structure: int
    context: str | None
    start: int
    end: int
    frame: Frame
    serial: int
    version: int = 0
    gone: bool = False
    before: _Unit | None = None
    after: _Unit | None = None
    sep: str = ""
    glued: bool = False
    depth: int = 0
    soft: bool = True


class Packer:
    """Packs the atoms of one page; ``reasons`` and ``numbers`` (sections) are per atom."""

    def __init__(
        self,
        page: Page,
        reasons: list[str | None],
        found: list[Section],
        numbers: list[int],
        max_words: int,
    ) -> None:
        self._atoms, self._reasons = page.atoms, reasons
        self._found, self._numbers, self._max = found, numbers, max_words
        self._sums = list(accumulate([atom.words for atom in page.atoms], initial=0))
        self._sizes = [size(atom.text, atom.words) for atom in page.atoms]
        self._kept = sum(
            atom.words for atom, why in zip(page.atoms, reasons, strict=True) if why is None
        )

    def drafts(self) -> list[Draft]:
        """Return the blocks of the page in document order."""
        result: list[Draft] = []
        start = 0
        for end in range(1, len(self._atoms) + 1):
            if end == len(self._atoms) or self._starts_run(end):
                result += self._run(start, end)
                start = end
        return result

    def _starts_run(self, number: int) -> bool:
        return (
            self._atoms[number].level != 0
            or self._reasons[number] != self._reasons[number - 1]
            or self._numbers[number] != self._numbers[number - 1]
        )

    def _run(self, start: int, end: int) -> list[Draft]:
        """Pack the atoms of one heading instance and one decision."""
        if self._is_one(start, end):
            return [self._draft(self._unit(start, end))]
        units = self._units(start, end)
        heap = [entry for unit in units[1:] if (entry := self._entry(unit))]
        heapq.heapify(heap)
        while heap:
            *_, versions, unit = heapq.heappop(heap)
            left = unit.before
            if left is None or unit.gone or versions != (left.version, unit.version):
                continue
            _merge(left, unit)
            for joint in (left, left.after):
                if joint is not None and (entry := self._entry(joint)):
                    heapq.heappush(heap, entry)
        drafts = [self._draft(unit) for unit in units if not unit.gone]
        for unit in units:  # a chain is a cycle, which would outlive the page
            unit.before = unit.after = None
        return drafts

    def _is_one(self, start: int, end: int) -> bool:
        """Tell whether all may merge, in whatever order: the run is one block."""
        return (
            sum(self._sizes[start:end]) <= self._max
            and len({atom.structure for atom in self._atoms[start:end]}) == 1
            and all(self._joint(number)[1] for number in range(start + 1, end))
        )

    def _unit(self, start: int, end: int) -> _Unit:
        """Return the unit of a run that is one block."""
        first, *others = atoms = self._atoms[start:end]
        kinds = {atom.kind: 0 for atom in atoms}
        for atom in atoms:
            kinds[atom.kind] += atom.words
        return _Unit(
            [first.text, *chain.from_iterable((atom.sep, atom.text) for atom in others)],
            sum(self._sizes[start:end]), self._sums[end] - self._sums[start], kinds,
            first.structure, first.context, start, end, first.frame, 0,
        )  # fmt: skip

    def _joint(self, number: int) -> tuple[bool, bool]:
        """Return whether the atom is bound to the one before it, and whether they may merge."""
        before = self._atoms[number - 1]
        if before.glue and before.level != TITLE_LEVEL:
            return True, True
        soft = self._soft(number)
        return before.glue and soft, soft

    def _units(self, start: int, end: int) -> list[_Unit]:
        units: list[_Unit] = []
        for number in range(start, end):
            atom = self._atoms[number]
            glued = number > start and self._atoms[number - 1].glue
            room = self._max
            if glued and units and units[-1].size <= self._max // 2:
                room -= units[-1].size
            for at, (sep, part) in enumerate(
                split_words(atom.text, room, lines=atom.kind == "code")
                if self._sizes[number] > room
                else [("", atom.text)]
            ):
                whole = part is atom.text
                words = atom.words if whole else count_words(part)
                unit = _Unit(
                    [part], self._sizes[number] if whole else size(part, words), words,
                    {atom.kind: words}, atom.structure, atom.context, number, number + 1,
                    atom.frame, len(units),
                )  # fmt: skip
                if units:
                    unit.before, units[-1].after = units[-1], unit
                if at:
                    unit.sep, unit.depth = sep, atom.frame.depth
                else:
                    unit.sep, unit.depth = atom.sep, atom.lca.depth
                    if number > start:
                        unit.glued, unit.soft = self._joint(number)
                units.append(unit)
        return units

    def _soft(self, number: int) -> bool:
        """Tell whether the atom may share a block with the atom before it."""
        atom = self._atoms[number]
        left, right = atom.left, atom.right
        if _is_open(left, self._atoms[number - 1]) and _is_open(right, atom):
            return True
        if left is not None and right is not None and left.marks & right.marks:
            return True
        first, last = atom.lca.start, atom.lca.end
        inside = self._sums[min(last, len(self._atoms))] - self._sums[first]
        return inside <= self._max and 2 * inside < self._kept

    def _entry(self, unit: _Unit) -> tuple[bool, int, int, int, tuple[int, int], _Unit] | None:
        """Return the heap entry of the joint in front of ``unit``, None when it cannot merge."""
        left = unit.before
        if left is None or not unit.soft or left.size + unit.size > self._max:
            return None
        if left.structure != unit.structure and not unit.glued:
            return None
        order = (not unit.glued, -unit.depth, left.size + unit.size, unit.serial)
        return (*order, (left.version, unit.version), unit)

    def _draft(self, unit: _Unit) -> Draft:
        number = self._numbers[unit.start]
        section = self._found[number] if number != NO_SECTION else None
        return Draft(
            text="".join(unit.parts),
            words=unit.words,
            kind=_kind(unit.kinds),
            reason=self._reasons[unit.start],
            heads=section.heads if section else (),
            context=unit.context,
            section=number,
            above=section.above if section else NO_SECTION,
            opens=self._atoms[unit.start].level != 0,
            start=unit.start,
            end=unit.end,
            path=unit.frame.path,
        )


def _merge(left: _Unit, right: _Unit) -> None:
    """Append ``right`` to ``left``; the joint after both stays what it was."""
    left.parts.append(right.sep)
    left.parts.extend(right.parts)
    left.size += right.size
    left.words += right.words
    for kind, words in right.kinds.items():
        left.kinds[kind] = left.kinds.get(kind, 0) + words
    left.structure = right.structure or left.structure
    left.end, left.after, right.gone = right.end, right.after, True
    left.version += 1
    if right.after is not None:
        right.after.before = left


def _is_open(side: Frame | None, atom: Atom) -> bool:
    """Tell whether a side of a joint is text or an unmarked container, not one of its own."""
    if side is None or side is atom.frame or side.tag in TEXT_BLOCKS:
        return True
    return not side.marks and side.tag not in ("section", "article", "main")


def _kind(kinds: dict[str, int]) -> str:
    for kind in _STRUCTURED:
        if kind in kinds:
            return kind
    body = {kind: words for kind, words in kinds.items() if kind != "heading"}
    return max(sorted(body), key=body.__getitem__) if body else "heading"
