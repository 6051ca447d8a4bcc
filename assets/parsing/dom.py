"""Small facts about lexbor trees that every reader of a page shares."""

from __future__ import annotations

from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

# Elements whose characters are never text of the page.
NOT_TEXT = frozenset({"script", "style", "template", "head", "title"})


def parse(html: str) -> LexborHTMLParser:
    """Parse ``html`` as a document; lexbor repairs whatever it is given."""
    return LexborHTMLParser(html)


def text_nodes(root: LexborNode, skip: frozenset[str] = NOT_TEXT) -> Iterator[str]:
    """Yield the characters of every text node below ``root`` in document order.

    Subtrees of the elements in ``skip`` are left out. Iterative: depth costs no stack.
    """
    node = root.first_child
    while node is not None:
        if node.is_text_node:
            yield node.text_content or ""
            child = None
        else:
            child = None if node.tag in skip else node.first_child
        node = child if child is not None else _after(node, root)


def _after(node: LexborNode, root: LexborNode) -> LexborNode | None:
    """Return the node that follows the subtree of ``node`` within ``root``."""
    current: LexborNode | None = node
    while current is not None and current.mem_id != root.mem_id:
        if (following := current.next) is not None:
            return following
        current = current.parent
    return None
