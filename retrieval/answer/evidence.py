"""What the reader reads and what it chooses from: evidence blocks and quotes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from retrieval.answer.spans import Span, heading_span, spans
from retrieval.config import AnswerConfig
from retrieval.modes.question import stems


@dataclass(frozen=True)
class Evidence:
    """One block as the reader gets it, in the reader's order."""

    row: int
    page_id: str
    title: str
    heading_path: list[str]
    kind: str
    text: str
    context: str | None
    ordinal: int
    final: float

    @property
    def heading_stems(self) -> frozenset[str]:
        """Return the stems of title, headings and context."""
        return stems(" ".join([self.title, *self.heading_path, self.context or ""]))

    @property
    def near_stems(self) -> frozenset[str]:
        """Return the stems of the innermost heading, or of the title."""
        return stems((self.heading_path or [self.title])[-1])


@dataclass(frozen=True)
class Quote:
    """A span of an evidence block with what speaks for it."""

    evidence: Evidence
    span: Span
    logit: float | None
    coverage: float
    expected: bool | None
    score: float
    states: float = 0.0
    """1 or ½ when the span states what is asked (`worth.states`)."""
    plain: bool = False
    """The span is a short line that says nothing of its own (`worth.Plain`)."""

    @property
    def place(self) -> tuple[int, int]:
        """Return the block's row and the span's start: one quote for each."""
        return self.evidence.row, self.span.start


def spans_of(
    block: Evidence, config: AnswerConfig, alone: Callable[[str], bool] | None = None
) -> list[Span]:
    """Return the spans of ``block``, without its own heading."""
    return spans(
        block.text, block.kind, block.context, config.quote_words, block.heading_path, alone
    )


def heading_of(block: Evidence) -> Span | None:
    """Return the block's own heading where it stands in its text."""
    return heading_span(block.text, block.heading_path)
