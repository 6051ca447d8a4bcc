"""Small facts about lexbor trees that every reader of a page shares."""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser

# Elements whose characters are never text of the page.
NOT_TEXT = frozenset({"script", "style", "template", "head", "title"})


def parse(html: str) -> LexborHTMLParser:
    """Parse ``html`` as a document; lexbor repairs whatever it is given."""
    return LexborHTMLParser(html)
