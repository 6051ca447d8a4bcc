"""`sitequest`: our own system, asked the way everyone asks it.

One call of `Index.ask` a question: the answer as it is given out, and from its trace the ranked
blocks and those the reader was given within its token budget. A text that stands in several places
is ranked once; the answer cites up to `CITED_PLACES` further places, and those are told to the
evaluation as places of the passage.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from evaluation.matching import Passage
from evaluation.systems.base import SystemAnswer, SystemRun
from retrieval.answer.models import Answer
from retrieval.answer.trace import load_trace
from retrieval.errors import SitequestError
from retrieval.snapshot.reader import Snapshot

CITED_PLACES = 3


class Asker(Protocol):
    """The part of retrieval.index.api's Index that is used here."""

    def ask(self, question: str, *, mode: str = "auto") -> Answer:
        """Answer the question."""
        ...


class SitequestSystem:
    """Wraps an index pinned to ``snapshot``.

    ``traces`` returns the trace (plain JSON) of an answer; see `stored_traces`. ``mode`` forces a
    retrieval mode.
    """

    def __init__(
        self,
        index: Asker,
        snapshot: Snapshot,
        traces: TraceSource,
        *,
        mode: str = "auto",
        name: str = "sitequest",
    ) -> None:
        self.name = name
        self._index = index
        self._traces = traces
        self._mode = mode
        self._blocks = _kept_blocks(snapshot)

    def retrieve(self, question: str, k: int) -> list[Passage]:
        """Return the ``k`` best blocks (at most as many as the configuration hands on)."""
        return self.run(question, k).passages

    def answer(self, question: str) -> SystemAnswer:
        """Answer the question."""
        return self.run(question, 1).answer

    def run(self, question: str, k: int) -> SystemRun:
        """Ask once; passages and what the reader was given come from the trace.

        Raises SitequestError when the answer is not from the snapshot under evaluation.
        """
        answer = self._index.ask(question, mode=self._mode)
        trace = self._traces(answer)
        stages = {stage["stage"]: stage for stage in trace["stages"]}
        ranking = stages["ranking"]
        alternates = {c["block_id"]: c["alternates"] for c in ranking["candidates"]}
        ranked = self._passages(ranking["kept"][:k], alternates)
        given = self._passages(stages["reading"]["given"], alternates)
        return SystemRun(
            passages=ranked,
            answer=SystemAnswer(
                text=answer.answer,
                abstained=answer.abstained,
                reader_tokens=answer.reader_tokens,
                seconds=answer.seconds,
                mode=answer.mode,
                confidence=answer.confidence,
                trace_id=answer.trace_id,
            ),
            given=given,
        )

    def _passages(
        self, block_ids: Sequence[str], alternates: dict[str, list[str]]
    ) -> list[Passage]:
        others = {b: alternates.get(b, [])[:CITED_PLACES] for b in block_ids}
        wanted = {*block_ids, *(a for found in others.values() for a in found)}
        rows = {
            row["block_id"]: row
            for row in self._blocks.filter(pl.col("block_id").is_in(list(wanted))).iter_rows(
                named=True
            )
        }
        missing = sorted(wanted - rows.keys())
        if missing:
            raise SitequestError(
                f"The answer rests on blocks that are not in the snapshot: {missing[:3]}.",
                "Open the index on the snapshot that is evaluated.",
            )
        return [_passage(rows[b], [rows[a] for a in others[b]]) for b in block_ids]


def _kept_blocks(snapshot: Snapshot) -> pl.DataFrame:
    texts = snapshot.table("texts", ["text_hash", "text", "tokens"])
    pages = snapshot.table("pages", ["page_id", "url"])
    return (
        snapshot.table("blocks")
        .filter("kept")
        .select(
            "block_id",
            "page_id",
            "ordinal",
            "context",
            "text_hash",
            headings=pl.col("heading_path").list.eval(pl.element().struct.field("text")),
        )
        .join(texts, on="text_hash", how="left")
        .join(pages, on="page_id", how="left")
    )


def _passage(row: dict[str, Any], others: Sequence[dict[str, Any]]) -> Passage:
    return Passage(
        page=row["url"],
        heading_path=tuple(row["headings"]),
        text=row["text"],
        tokens=row["tokens"],
        ordinal=row["ordinal"],
        context=row["context"],
        ref=row["block_id"],
        also_at=tuple((other["url"], tuple(other["headings"])) for other in others),
    )


class TraceSource(Protocol):
    """Returns the trace of an answer as plain JSON."""

    def __call__(self, answer: Answer) -> dict[str, Any]:
        """Return the trace."""
        ...


def stored_traces(root: Path, site: str) -> TraceSource:
    """Read traces from the store of ``site`` below the data ``root``.

    Raises SitequestError when the answer's trace could not be stored.
    """

    def read(answer: Answer) -> dict[str, Any]:
        if not answer.trace_stored:
            raise SitequestError(
                f"The trace of {answer.question!r} could not be stored.",
                f"Make {root} writable: an evaluation reads what was retrieved from the traces.",
            )
        return load_trace(root, site, answer.trace_id)

    return read
