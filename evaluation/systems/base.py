"""What a system must offer to be evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from evaluation.matching import Passage


@dataclass(frozen=True)
class SystemAnswer:
    """An answer as text; ``reader_tokens`` counts what the reader was given for it."""

    text: str
    abstained: bool
    reader_tokens: int
    seconds: float
    mode: str | None = None
    confidence: float | None = None
    trace_id: str | None = None


@dataclass(frozen=True)
class SystemRun:
    """What a system did with one question.

    ``passages`` are what it retrieved, best first; ``given`` those of them that the reader was
    given within its budget, None when that is all of them.
    """

    passages: list[Passage]
    answer: SystemAnswer
    given: list[Passage] | None = None


class System(Protocol):
    """A system under evaluation."""

    @property
    def name(self) -> str:
        """Return the name used in every table."""

    def retrieve(self, question: str, k: int) -> list[Passage]:
        """Return at most ``k`` passages, best first."""

    def answer(self, question: str) -> SystemAnswer:
        """Answer the question."""

    def run(self, question: str, k: int) -> SystemRun:
        """Retrieve and answer; in one pass where the system can."""


Reader = Callable[[str, Sequence[Passage]], SystemAnswer]
"""Turns a question and its passages into an answer."""


def first_passage(question: str, passages: Sequence[Passage]) -> SystemAnswer:
    """Answer with the whole of the best passage; abstain only when there is none.

    The plainest reader there is: a system without an answering step of its own gets this one.
    """
    return SystemAnswer(
        text=passages[0].text if passages else "",
        abstained=not passages,
        reader_tokens=sum(passage.tokens for passage in passages),
        seconds=0.0,
    )
