"""The two strings that are embedded for a block, as pure functions of the block and its page.

Both sides of the store use these: parsing sizes blocks and hashes the strings (`ids.input_hash`),
embedding rebuilds the strings whose vectors are missing. A change here changes every input hash,
so ``VERSION`` belongs in the code version of the stages that call it.

Lengths are counted in *weight*: an ASCII character weighs 1, any other 3. A WordPiece tokenizer
makes at most one token of an ASCII character and at most three of any other (a Hangul syllable
decomposes into three letters), so a string of weight ``w`` never has more than ``w`` tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

VERSION = "2"
SEPARATOR = " > "
HEADING_WEIGHT = 120  # nearest heading in front of a text
CONTEXT_WEIGHT = 240  # repeated table header or list lead in front of a text
PREFIX_WEIGHT = HEADING_WEIGHT + CONTEXT_WEIGHT + 2  # both and their line ends, at most
PATH_WEIGHT = 240  # whole path string: fits a model of 256 tokens in any script


def weight(text: str) -> int:
    """Return the weight of ``text``: an upper bound of its WordPiece tokens."""
    return len(text) if text.isascii() else sum(1 if c.isascii() else 3 for c in text)


def clip(text: str, budget: int) -> str:
    """Return ``text`` with whitespace folded, cut at its end to weight ``budget``.

    The cut falls between words unless the first word alone is too heavy.
    """
    folded = " ".join(text.split())
    if weight(folded) <= budget:
        return folded
    end = used = 0
    while (used := used + weight(folded[end])) <= budget:
        end += 1
    head = folded[:end]
    if folded[end] != " " and " " in head:
        head = head[: head.rindex(" ")]
    return head.rstrip()


def text_prefix(heading_path: Sequence[str], context: str | None) -> str:
    """Return what `text_input` puts in front of a text: nearest heading and context, a line each.

    Its weight is at most HEADING_WEIGHT + CONTEXT_WEIGHT + 2; empty, or ends in a newline.
    """
    heading = clip(heading_path[-1], HEADING_WEIGHT) if heading_path else ""
    lead = clip(context, CONTEXT_WEIGHT) if context else ""
    return "".join(f"{part}\n" for part in (heading, lead) if part)


def text_input(heading_path: Sequence[str], context: str | None, text: str) -> str:
    """Return the embedded string of a block's text: nearest heading, context, text.

    ``heading_path`` is outermost first. The text itself is never cut: whoever makes blocks sizes
    them so that this string fits the embedding model. A text that opens its section has the
    heading as its first line; the heading is not said twice.
    """
    stripped = text.strip()
    if heading_path and stripped.partition("\n")[0].split() == heading_path[-1].split():
        heading_path = ()
    return text_prefix(heading_path, context) + stripped


def path_input(title: str | None, heading_path: Sequence[str]) -> str:
    """Return the embedded string of a block's place: title and full heading path.

    A part equal to its predecessor (a title repeated as first heading) is said once. When the
    whole is heavier than PATH_WEIGHT the outermost parts go first, because the innermost say
    most about the block; a single part that is too heavy is cut at its end. Empty when there is
    neither title nor heading.
    """
    parts: list[str] = []
    for raw in (title or "", *heading_path):
        part = " ".join(raw.split())
        if part and (not parts or part.casefold() != parts[-1].casefold()):
            parts.append(part)
    joined = SEPARATOR.join(parts)
    while len(parts) > 1 and weight(joined) > PATH_WEIGHT:
        parts.pop(0)
        joined = SEPARATOR.join(parts)
    return clip(joined, PATH_WEIGHT)
