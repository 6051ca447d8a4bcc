"""One walk over the tree of a page: atoms of text, zones, links; iterative, linear in the page.

Every text node outside script, style, template and head ends up in exactly one atom. Decisions
(what is dropped, which heading is in force, what makes a block) are left to later steps.
"""

from __future__ import annotations

from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser, LexborNode

from assets.parsing.attributes import NO_MARKS, Attributes
from assets.parsing.dom import NOT_TEXT
from assets.parsing.elements import INLINE, ISOLATING, LISTS, PREFORMATTED
from assets.parsing.model import FLOW, Atom, Frame, Page, RawLink, Zone
from assets.parsing.openings import READ, Opening, opening_of
from assets.parsing.tables import TableReader
from assets.parsing.words import count_words
from assets.parsing.zones import zone_of

Closers = list[Callable[[], None]]

PROSE_WORDS = 12  # shorter runs are labels and menu items more often than sentences
MAX_HEADING_WORDS = 40  # a longer heading element is misused prose
MAX_LEAD_WORDS = 40
LEAD_ENDS = (":", "：")
_NOTHING: Closers = []  # of an element without an end of its own
_FRAME: Closers = []  # stands for closing the frame, which is all that most blocks need
_BREAK = "\x00"  # lexbor lets no NUL through


def walk(tree: LexborHTMLParser, keep: frozenset[int], drop: frozenset[int]) -> Page:
    """Read ``tree``; ``keep`` and ``drop`` are memory ids of elements that selectors name."""
    walker = _Walker(keep, drop)
    if tree.root is not None:
        walker.run(tree.root)
    return walker.page


class _Walker:
    """The state of the walk: open frames, zones, tables and links, and the run being read."""

    def __init__(self, keep: frozenset[int], drop: frozenset[int]) -> None:
        self.page = Page(zones=[Zone("html")])
        self._atoms = self.page.atoms
        self._selected = [pair for pair in (("keep", keep), ("override", drop)) if pair[1]]
        self._scopes: list[Frame] = []
        self._frames = [Frame("html", 0, NO_MARKS, 0, None)]
        self._low = 0
        self._left: Frame | None = None
        self._zone = 0
        self._kind, self._structure = "prose", FLOW
        self._context: str | None = None
        self._structures = FLOW
        self._tables: list[TableReader] = []
        self._links: list[tuple[RawLink, list[str], list[str]]] = []
        self._buffer: list[str] = []
        self._solid = False
        self._linked = self._pre = self._main = 0
        self._heading = False
        self._sep = "\n"
        self._cut: bool | None = None

    def run(self, root: LexborNode) -> None:
        """Visit every node below ``root`` in document order, closing elements on the way up."""
        stack: list[tuple[LexborNode, Closers]] = []
        node = root.first_child
        while True:
            while node is None:
                if not stack:
                    self._finish()
                    return
                parent, closers = stack.pop()
                if closers is _FRAME:
                    self._close_frame()
                for close in reversed(closers):
                    close()
                node = parent.next
            if node.is_text_node:
                self._text(node.text_content or "")
            elif node.is_element_node and (tag := node.tag or "") not in NOT_TEXT:
                stack.append((node, self._open(node, tag)))
                node = node.first_child
                continue
            node = node.next

    def _finish(self) -> None:
        self._flush()
        self.page.zones[0].end = self._frames[0].end = len(self._atoms)

    def _text(self, text: str) -> None:
        if not self._solid:
            if not text.isspace():
                self._solid = True
            elif not self._pre:
                if self._cut is not None:
                    self._cut = True
                return
        self._buffer.append(text)
        if self._links:
            self._linked += len(text)
            self._links[-1][1].append(text)

    # Elements ---------------------------------------------------------------------------------

    def _open(self, node: LexborNode, tag: str) -> Closers:
        """Enter an element and return what is to be done, last first, when it is left."""
        attributes: Attributes = node.attributes
        if not attributes and tag in INLINE:
            return _NOTHING
        read = tuple([item for item in attributes.items() if item[0] in READ]) if attributes else ()
        opening = opening_of(tag, read)
        if opening.targets:
            self.page.targets.update(opening.targets)
        closers: Closers = []
        if opening.reasons or self._selected:
            selected = [name for name, found in self._selected if node.mem_id in found]
            if zone := zone_of(tag, opening, selected, in_main=self._main > 0):
                self._flush(cut=opening.inline)
                closers.append(self._enter_zone(zone, opening.inline))
        elif opening.inert:
            return _NOTHING
        elif opening.plain:
            self._enter_frame(tag, opening.marks)
            return _FRAME
        if opening.inline:
            self._open_inline(tag, attributes, closers)
        elif tag == "br":
            self._break()
        else:
            self._enter_frame(tag, opening.marks)
            closers.append(self._close_frame)
            self._open_block(tag, opening, attributes, closers)
        if tag == "a" and (href := attributes.get("href")) and href.startswith("#"):
            self.page.targets.add(href[1:])
        return closers

    def _enter_frame(self, tag: str, marks: frozenset[str]) -> None:
        if self._buffer or self._cut is not None:
            self._flush()
        outer = self._frames[-1]
        frame = Frame(tag, outer.depth + 1, marks, len(self._atoms), outer)
        self._frames.append(frame)
        if tag in ISOLATING:
            self._scopes.append(frame)

    def _open_inline(self, tag: str, attributes: Attributes, closers: Closers) -> None:
        if tag == "a" and attributes.get("href") is not None:
            closers.append(self._enter_link(attributes))
        elif tag in ("img", "input") and self._links and (alt := attributes.get("alt")):
            self._links[-1][2].append(alt)

    def _open_block(
        self, tag: str, opening: Opening, attributes: Attributes, closers: Closers
    ) -> None:
        if (opening.level or tag == "summary") and not self._heading:
            closers.append(self._enter_heading(opening.level or -1))
        if tag == "main" or opening.role == "main":
            closers.append(self._enter_main())
        if tag in PREFORMATTED:
            closers.append(self._enter_context("code", self._structure, self._context))
            self._pre += 1
            closers.append(self._leave_pre)
        elif tag in LISTS or tag == "dl":
            closers.append(self._enter_list(tag))
        elif tag in ("dt", "dd"):
            closers.append(self._enter_item(tag))
        elif tag == "table":
            closers.append(self._enter_table(opening.role))
        elif self._tables:
            closers += self._enter_table_part(tag, attributes)
        if tag == "area" and attributes.get("href") is not None:
            closers.append(self._enter_link(attributes))

    def _close_frame(self) -> None:
        if self._buffer or self._cut is not None:
            self._flush()
        frame = self._frames.pop()
        frame.end = len(self._atoms)
        if self._scopes and self._scopes[-1] is frame:
            self._scopes.pop()
        if frame.depth - 1 < self._low:
            self._low, self._left = frame.depth - 1, frame

    def _break(self) -> None:
        if self._pre:
            self._buffer.append("\n")
        elif self._solid:
            self._buffer.append(_BREAK)
        if self._links:
            self._links[-1][1].append(" ")

    # Zones ------------------------------------------------------------------------------------

    def _enter_zone(self, zone: Zone, inline: bool) -> Callable[[], None]:
        zone.parent, zone.start = self._zone, len(self._atoms)
        zone.in_heading = self._heading
        self.page.zones.append(zone)
        outer, self._zone = self._zone, len(self.page.zones) - 1

        def leave() -> None:
            self._flush(cut=inline)
            zone.end = len(self._atoms)
            self._zone = outer

        return leave

    def _enter_main(self) -> Callable[[], None]:
        start = len(self._atoms)
        self._main += 1

        def leave() -> None:
            self._main -= 1
            self._flush()
            if not self._main:
                self.page.mains.append((start, len(self._atoms)))

        return leave

    # Structures -------------------------------------------------------------------------------

    def _enter_context(self, kind: str, structure: int, context: str | None) -> Callable[[], None]:
        outer = (self._kind, self._structure, self._context)
        self._kind, self._structure, self._context = kind, structure, context

        def leave() -> None:
            self._flush()
            self._kind, self._structure, self._context = outer

        return leave

    def _leave_pre(self) -> None:
        self._flush()
        self._pre -= 1

    def _enter_list(self, tag: str) -> Callable[[], None]:
        kind, structure, context = self._kind, self._structure, self._context
        if structure == FLOW:
            kind = "definitions" if tag == "dl" else "list"
            context = self._lead() or context
            if tag == "dl":
                structure = self._next_structure()
        return self._enter_context(kind, structure, context)

    def _lead(self) -> str | None:
        """Return the text just before, when it announces what follows."""
        last = self._atoms[-1] if self._atoms else None
        if last is None or last.zone != self._zone or not last.text.endswith(LEAD_ENDS):
            return None
        last.glue = True
        return last.text if last.words <= MAX_LEAD_WORDS else None

    def _enter_item(self, tag: str) -> Callable[[], None]:
        start = len(self._atoms)
        if tag == "dt":
            self._context = None

            def leave() -> None:
                self._flush()
                atoms = self._atoms[start:]
                if atoms and sum(atom.words for atom in atoms) <= MAX_LEAD_WORDS:
                    atoms[-1].glue = True
                    self._context = " ".join(" ".join(atom.text.split()) for atom in atoms)

            return leave
        self._sep = "\t"
        return self._reset_sep

    def _reset_sep(self) -> None:
        self._flush()
        self._sep = "\n"

    def _enter_table(self, role: str) -> Callable[[], None]:
        if self._tables:
            self._tables[-1].layout = True
        self._lead()
        table = TableReader(len(self._atoms), layout=role in ("presentation", "none"))
        self._tables.append(table)
        leave_context = self._enter_context(self._kind, self._structure, self._context)

        def leave() -> None:
            leave_context()
            self._tables.pop()
            if table.close(self._atoms, self._structures + 1):
                self._next_structure()

        return leave

    def _enter_table_part(self, tag: str, attributes: Attributes) -> Closers:
        table = self._tables[-1]
        if tag in ("thead", "tbody", "tfoot"):
            table.section(tag)
        elif tag == "tr":
            table.row()
        elif tag in ("td", "th"):
            table.cell(tag, attributes, len(self._atoms))

            def leave() -> None:
                self._flush()
                table.leave_cell(len(self._atoms))

            return [leave, self._enter_context(self._kind, self._structure, self._context)]
        return []

    def _next_structure(self) -> int:
        self._structures += 1
        return self._structures

    # Headings and links -----------------------------------------------------------------------

    def _enter_heading(self, level: int) -> Callable[[], None]:
        start = len(self._atoms)
        self._heading = True

        def leave() -> None:
            self._flush()
            self._heading = False
            atoms = self._atoms[start:]
            words = sum(atom.words for atom in atoms)
            if not 0 < words <= MAX_HEADING_WORDS or len({atom.zone for atom in atoms}) > 1:
                return
            first = atoms[0]
            first.text = " ".join(" ".join(atom.text.split()) for atom in atoms)
            first.words, first.level, first.prose = words, level, False
            first.kind, first.glue = "heading", True
            first.scope = self._scopes[-1] if self._scopes else None
            del self._atoms[start + 1 :]
            for link in reversed(self.page.links):
                if link.start <= start:
                    break
                link.start, link.end = start, start + (link.end > link.start)
            for zone in reversed(self.page.zones[1:]):
                if zone.start < start:
                    break
                zone.start, zone.end = start, min(zone.end, start + 1)
            if self._tables:
                self._tables[-1].layout = True

        return leave

    def _enter_link(self, attributes: Attributes) -> Callable[[], None]:
        link = RawLink(
            attributes.get("href") or "", "", attributes.get("rel"),
            len(self._atoms), -1, self._zone,
        )  # fmt: skip
        texts: list[str] = []
        alts: list[str] = []
        self._links.append((link, texts, alts))
        self.page.links.append(link)

        def leave() -> None:
            self._links.pop()
            anchor = " ".join("".join(texts).split())
            link.anchor = anchor or " ".join(" ".join(alts).split())
            if not link.anchor:
                names = map(attributes.get, ("alt", "aria-label", "title"))
                link.anchor = " ".join((next(filter(None, names), None) or "").split())
            link.end = len(self._atoms) + self._solid if anchor else link.start

        return leave

    # Text -------------------------------------------------------------------------------------

    def _flush(self, *, cut: bool = False) -> None:
        """End the run being read; ``cut`` when an inline zone, not a block, ends it."""
        if self._solid:
            self._emit("".join(self._buffer), cut)
        else:
            self._cut = (bool(self._buffer) or bool(self._cut)) if cut else None
        self._buffer.clear()
        self._solid, self._linked = False, 0

    def _emit(self, raw: str, cut: bool) -> None:
        if self._pre:
            text, words = raw, count_words(raw)
        elif _BREAK in raw:
            lines = [" ".join(part.split()) for part in raw.split(_BREAK)]
            text = "\n".join([line for line in lines if line])
            words = count_words(text)
        else:
            parts = raw.split()
            text = " ".join(parts)
            words = len(parts) if text.isascii() else count_words(text)
        sep = self._sep
        if self._cut is not None:
            sep = " " if self._cut or raw[:1].isspace() else ""
        frames, low = self._frames, self._low
        self._atoms.append(
            Atom(
                text, words, words >= PROSE_WORDS and self._linked * 2 < len(raw), sep,
                self._kind, self._zone, frames[-1], frames[low], self._left,
                frames[low + 1] if len(frames) > low + 1 else None,
                self._structure, context=self._context,
            )
        )  # fmt: skip
        self._low, self._left = len(frames) - 1, None
        self._sep = "\n"
        self._cut = raw[-1:].isspace() if cut else None
