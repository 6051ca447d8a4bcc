"""The pieces a page is read into: frames, zones, atoms and links, and the drafts of its blocks."""

from __future__ import annotations

from dataclasses import dataclass, field

PATH_LENGTH = 80
FLOW = 0  # structure number of text that belongs to no data table or definition list


@dataclass(slots=True, eq=False)
class Frame:
    """A block-level element in ``parent``; it holds the atoms from ``start`` up to ``end``."""

    tag: str
    depth: int
    marks: frozenset[str]
    start: int
    parent: Frame | None
    end: int = -1

    @property
    def path(self) -> str:
        """Return the tag path from the root, its last PATH_LENGTH characters."""
        tags = [self.tag]
        length, frame = len(self.tag), self.parent
        while frame is not None and length < PATH_LENGTH:
            tags.append(frame.tag)
            length += 1 + len(frame.tag)
            frame = frame.parent
        return ">".join(reversed(tags))[-PATH_LENGTH:]


@dataclass(slots=True, eq=False)
class Zone:
    """An element whose text may be dropped, or is kept, as one.

    ``reasons`` are candidates in order of precedence; ``reason`` is the decision, inherited.
    ``keep`` marks a zone that a configured selector keeps against its surroundings; ``opener`` a
    control that opens something (its label is content). ``top`` is the outermost zone dropped
    with it.
    """

    tag: str
    parent: int = 0
    start: int = 0
    reasons: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()
    id: str | None = None
    role: str = ""
    opener: bool = False
    keep: bool = False
    in_main: bool = False
    in_heading: bool = False
    end: int = -1
    reason: str | None = None
    top: int = 0


@dataclass(slots=True, eq=False)
class Atom:
    """A run of text under one block-level element, verbatim but for folded whitespace.

    ``sep`` is the whitespace in front of it when it does not open a block. ``lca`` is the deepest
    frame shared with the atom before; ``left`` and ``right`` are its children on the way to that
    atom and to this one (None: the text stands directly in ``lca``). ``level`` is 0 but for a
    heading (-1: one below the heading in force). ``glue`` binds the atom to the next one.
    ``context`` is what a block that begins here must repeat: table header, list lead, term.
    ``scope`` of a heading is the frame (list item, cell, aside) beyond which it says nothing.
    """

    text: str
    words: int
    prose: bool
    sep: str
    kind: str
    zone: int
    frame: Frame
    lca: Frame
    left: Frame | None
    right: Frame | None
    structure: int = FLOW
    level: int = 0
    glue: bool = False
    context: str | None = None
    scope: Frame | None = None


@dataclass(slots=True, eq=False)
class RawLink:
    """A hyperlink as written and the atoms it covers (``start`` = ``end``: no text of its own)."""

    href: str
    anchor: str
    rel: str | None
    start: int
    end: int
    zone: int


@dataclass(slots=True, eq=False)
class Page:
    """Everything the walk saw of one page. Zone 0 is the document."""

    atoms: list[Atom] = field(default_factory=list)
    zones: list[Zone] = field(default_factory=list)
    links: list[RawLink] = field(default_factory=list)
    targets: set[str] = field(default_factory=set)
    mains: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Draft:
    """A block before it has its identity; it covers the atoms from ``start`` up to ``end``.

    ``heads`` is the heading path as (level, text), outermost first. ``section`` numbers the
    heading instance the block stands under (-1: none) and ``opens`` says that it holds that
    heading; ``above`` is the section of the enclosing heading. ``path`` is the tag path;
    ``text_hash`` is empty until it is needed.
    """

    text: str
    words: int
    kind: str
    reason: str | None
    heads: tuple[tuple[int, str], ...]
    context: str | None
    section: int
    above: int
    opens: bool
    start: int
    end: int
    path: str
    text_hash: str = ""
