"""One page: from HTML to drafts of blocks and links; a pure function of HTML and configuration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field, field_validator
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from assets.parsing.digest import base_url, page_title
from assets.parsing.dom import NOT_TEXT, parse
from assets.parsing.landmarks import decide
from assets.parsing.links import Link, resolve_links
from assets.parsing.model import Draft
from assets.parsing.packing import Packer
from assets.parsing.sections import sections
from assets.parsing.walk import walk

_SPACES = b" \t\n\r\f"


class ParseConfig(BaseModel):
    """How pages become blocks; every field changes the tables, so all are in the code version."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_words: int = Field(150, ge=20, le=1000, description="words of a block at most")
    keep: tuple[str, ...] = Field((), description="CSS selectors of elements never dropped")
    drop: tuple[str, ...] = Field((), description="CSS selectors of elements always dropped")
    template_share: float = Field(
        0.3, gt=0, le=1, description="share of the site's pages from which a block is template"
    )
    template_min_pages: int = Field(5, ge=2, description="and the fewest pages it stands on")
    section_share: float = Field(
        0.8, gt=0, le=1, description="the same within one directory of the site"
    )
    section_min_pages: int = Field(10, ge=2, description="and the fewest pages there")

    @field_validator("keep", "drop")
    @classmethod
    def _valid_selectors(cls, selectors: tuple[str, ...]) -> tuple[str, ...]:
        tree = LexborHTMLParser("")
        for selector in selectors:
            try:
                tree.css(selector)
            except SelectolaxError as error:
                raise ValueError(f"{selector!r} is not a CSS selector") from error
        return selectors


@dataclass(frozen=True)
class ParsedPage:
    """Blocks and links of one page in document order, its title, and whether no text got lost."""

    title: str | None
    drafts: list[Draft]
    links: list[Link]
    conserved: bool

    @cached_property
    def kept_words(self) -> int:
        """Return the words of the blocks that the page alone does not drop."""
        return sum(draft.words for draft in self.drafts if draft.reason is None)


def parse_page(html: str, url: str, config: ParseConfig) -> ParsedPage:
    """Parse the page at public address ``url``; never raises on bad HTML."""
    tree = parse(html)
    title = page_title(tree)
    page = walk(tree, _matched(tree, config.keep), _matched(tree, config.drop))
    reasons = decide(page, title)
    found, numbers = sections(page, reasons)
    drafts = Packer(page, reasons, found, numbers, config.max_words).drafts()
    links = resolve_links(page, drafts, reasons, base_url(tree, url))
    return ParsedPage(title, drafts, links, _conserved(tree, drafts))


def _matched(tree: LexborHTMLParser, selectors: tuple[str, ...]) -> frozenset[int]:
    return frozenset(node.mem_id for selector in selectors for node in tree.css(selector))


def _conserved(tree: LexborHTMLParser, drafts: list[Draft]) -> bool:
    """Compare the blocks with lexbor's own text of the page, all whitespace taken out.

    Consumes the tree: what is not text is cut out of it first.
    """
    tree.strip_tags(list(NOT_TEXT))
    source = tree.root.text(deep=True) if tree.root is not None else ""
    blocks = "".join([draft.text for draft in drafts])
    if _squeezed(source) == _squeezed(blocks):
        return True  # so it is for all pages but those with unusual spaces, five times as quickly
    return "".join(source.split()) == "".join(blocks.split())


def _squeezed(text: str) -> bytes:
    return text.replace("\xa0", " ").encode("utf-8", "surrogatepass").translate(None, _SPACES)
