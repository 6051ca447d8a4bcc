"""From chosen quotes to claims with citations; a quote that is not in its block is never shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retrieval.answer.evidence import Quote
from retrieval.answer.models import Citation, Claim
from retrieval.errors import SitequestError

NOT_FOUND = "The site does not seem to answer this question."


class QuoteError(SitequestError):
    """A quote does not occur in the block it is cited from: a defect, never shown as an answer."""


def folded(text: str) -> str:
    """Return ``text`` with runs of whitespace folded to one space."""
    return " ".join(text.split())


def claims(
    quotes: Sequence[Quote],
    cite: Callable[[int, str], Citation],
    alternates: Callable[[int], list[int]],
) -> list[Claim]:
    """Return one claim per quote: cited from its block and from the blocks with the same text."""
    found: dict[str, Claim] = {}
    for quote in quotes:
        verbatim = folded(quote.span.quote)
        if verbatim not in folded(quote.evidence.text):
            raise QuoteError(
                f"A quote is not in its block: {verbatim[:80]!r}.", "Report this as a defect."
            )
        rows = [quote.evidence.row, *alternates(quote.evidence.row)]
        citations = [cite(row, verbatim) for row in rows]
        text = quote.span.read
        if text in found:
            citations = found[text].citations + citations
        found[text] = Claim(text=text, citations=citations)
    return list(found.values())


def compose(parts: Sequence[Claim], as_list: bool, places: bool = False) -> str:
    """Return the answer's text: the claims as items of a list, or one after the other.

    When the claims come from several pages each one is led by its outermost heading, which says
    what it is about ("BSc Computing: …"); a heading that the claim itself holds is left out. With
    ``places`` the question asks where a thing stands: every page that is cited is named.
    """
    several = places or len({claim.citations[0].url for claim in parts}) > 1
    lines = []
    for claim in parts:
        cited = claim.citations if places else claim.citations[:1]
        names = dict.fromkeys((c.heading_path or [c.url])[0] for c in cited) if several else {}
        lead = "; ".join(name for name in names if name not in claim.text)
        lines.append(f"{lead}: {claim.text}" if lead else claim.text)
    mark = "- " if as_list and len(lines) > 1 else ""
    return "\n".join(mark + line for line in lines)
