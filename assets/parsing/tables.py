"""Tables: data or layout, rows and columns, header cells.

A data table is read row by row: cells end in a tab, rows in a newline, and empty or spanned places
keep their tab, so that columns can be told by position. A layout table is a container of prose.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assets.parsing.model import Atom

MAX_SPAN = 100  # of columns and rows; more is an error of the page or an attack
MAX_CELL_WORDS = 40  # mean words per filled cell above which an unmarked table is layout
MAX_HEADER_WORDS = 60


@dataclass(slots=True)
class _Cell:
    row: int
    column: int
    header: bool
    colspan: int
    start: int
    end: int


@dataclass(slots=True)
class TableReader:
    """Collects rows and cells of one open table; ``close`` decides what it is.

    ``layout`` is set from outside when the table turns out to hold a heading or another table.
    """

    start: int
    layout: bool = False
    marked: bool = False
    _cells: list[_Cell] = field(default_factory=list)
    _row: int = -1
    _column: int = 0
    _in_head: bool = False
    _head_rows: set[int] = field(default_factory=set)
    _spans: dict[int, int] = field(default_factory=dict)

    def section(self, tag: str) -> None:
        """Enter thead, tbody or tfoot."""
        self._in_head = tag == "thead"

    def row(self) -> None:
        """Enter a row."""
        self._row += 1
        self._column = 0
        if self._in_head:
            self._head_rows.add(self._row)
        self._spans = {column: left - 1 for column, left in self._spans.items() if left > 1}

    def cell(self, tag: str, attributes: dict[str, str | None], atoms: int) -> None:
        """Enter a cell whose first atom will be number ``atoms``."""
        while self._column in self._spans:
            self._column += 1
        colspan, rowspan = _span(attributes, "colspan"), _span(attributes, "rowspan")
        header = tag == "th"
        self.marked = self.marked or header
        self._cells.append(_Cell(self._row, self._column, header, colspan, atoms, -1))
        # A span of n rows covers the n - 1 rows that follow; `row` counts it down.
        for column in range(self._column, self._column + colspan):
            if rowspan > 1:
                self._spans[column] = rowspan
        self._column += colspan

    def leave_cell(self, atoms: int) -> None:
        """Leave the open cell; ``atoms`` is the number of atoms so far."""
        if self._cells:
            self._cells[-1].end = atoms

    def close(self, atoms: list[Atom], structure: int) -> bool:
        """Mark the atoms of a data table as its own and return whether it is one."""
        filled = [cell for cell in self._cells if cell.end > cell.start]
        if not self._is_data(atoms, filled):
            return False
        for atom in atoms[self.start :]:
            atom.kind, atom.structure, atom.sep = "table", structure, "\n"
            if "\n" in atom.text:
                atom.text = " ".join(atom.text.split())
        self._separate(atoms, filled)
        self._attach_headers(atoms, filled)
        return True

    def _is_data(self, atoms: list[Atom], filled: list[_Cell]) -> bool:
        if self.layout or not filled:
            return False
        if self.marked or self._head_rows:
            return True
        rows = {cell.row for cell in filled}
        columns = {cell.column for cell in filled}
        words = sum(atom.words for atom in atoms[self.start :])
        return len(rows) > 1 and len(columns) > 1 and words <= MAX_CELL_WORDS * len(filled)

    def _separate(self, atoms: list[Atom], filled: list[_Cell]) -> None:
        row, column = -1, 0
        for cell in filled:
            tabs = cell.column - column if cell.row == row else cell.column
            lead = "" if cell.row == row else "\n"
            atoms[cell.start].sep = lead + "\t" * tabs
            for atom in atoms[cell.start + 1 : cell.end]:
                atom.sep = " "
            row, column = cell.row, cell.column

    def _attach_headers(self, atoms: list[Atom], filled: list[_Cell]) -> None:
        """Give body rows the header rows and the latest label row as context; glue those down."""
        rows: dict[int, list[_Cell]] = {}
        for cell in filled:
            rows.setdefault(cell.row, []).append(cell)
        width = max(cell.column + cell.colspan for cell in self._cells)
        header: list[str] = []
        label: str | None = None
        in_header = True
        for number, cells in rows.items():
            text = "\t".join(
                " ".join(a.text for a in atoms[cell.start : cell.end]) for cell in cells
            )
            first, last = cells[0].start, cells[-1].end - 1
            in_header = in_header and (
                number in self._head_rows or (width > 1 and all(cell.header for cell in cells))
            )
            is_label = len(cells) == 1 and width > 1 and cells[0].colspan > 1
            if not in_header:
                parts = header if is_label or label is None else [*header, label]
                context = "\n".join(parts) or None
                for atom in atoms[first : last + 1]:
                    atom.context = context
            if in_header or is_label:
                atoms[last].glue = True
                if len(text.split()) <= MAX_HEADER_WORDS:
                    if in_header:
                        header.append(text)
                    else:
                        label = text
        for atom in atoms[self.start : filled[0].start]:
            atom.glue = True


def _span(attributes: dict[str, str | None], name: str) -> int:
    value = (attributes.get(name) or "").strip()
    return min(max(int(value), 1), MAX_SPAN) if value.isdecimal() and len(value) < 10 else 1
