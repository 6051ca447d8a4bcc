"""`sitequest`: our own system, asked the way everyone asks it.

One call of `Index.ask` a question: the answer as it is given out, and from its trace the ranked
blocks and those the reader was given within its token budget. A text that stands in several places
is ranked once; the answer cites up to `CITED_PLACES` further places, and those are told to the
evaluation as places of the passage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from evaluation.matching import Passage
from evaluation.systems.base import SystemAnswer, SystemRun
from retrieval.answer.models import Answer
from retrieval.answer.trace import load_trace
from retrieval.config import RetrievalConfig
from retrieval.errors import SitequestError
from retrieval.models.config import ModelsConfig
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.reader import SiteStore, Snapshot

if TYPE_CHECKING:
    from retrieval.index.api import Index

CITED_PLACES = 3


class OneSnapshot(SiteStore):
    """A store in which every reference is one given snapshot: also a candidate in staging."""

    def __init__(self, paths: SitePaths, snapshot: Snapshot) -> None:
        super().__init__(paths.root, paths.site)
        self._snapshot = snapshot

    def resolve(self, ref: str | None) -> Snapshot:
        """Return the one snapshot."""
        return self._snapshot


class SitequestSystem:
    """Wraps an index that stays pinned to ``snapshot`` (default: the one it is pinned to).

    ``mode`` forces a retrieval mode.
    """

    def __init__(
        self,
        index: Index,
        snapshot: Snapshot | None = None,
        *,
        mode: str = "auto",
        name: str = "sitequest",
    ) -> None:
        self.name = name
        self._index = index
        self._mode = mode
        self._blocks = _blocks_of(snapshot or index.store.resolve(index.snapshot_id))

    @classmethod
    def over(
        cls,
        snapshot: Snapshot,
        paths: SitePaths,
        *,
        config: RetrievalConfig | None = None,
        models: ModelsConfig | None = None,
        mode: str = "auto",
        name: str = "sitequest",
    ) -> SitequestSystem:
        """Open our system on ``snapshot``, also on a candidate in staging.

        Traces stay in memory: an evaluation does not crowd out those of people's questions.
        """
        from retrieval.index.api import Index

        config = config or RetrievalConfig()
        unstored = config.model_copy(
            update={"trace": config.trace.model_copy(update={"store": False})}
        )
        index = Index(OneSnapshot(paths, snapshot), config=unstored, models=models)
        return cls(index, snapshot, mode=mode, name=name)

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
        trace = self._trace(answer)
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

    def _trace(self, answer: Answer) -> dict[str, Any]:
        if answer.trace_stored:
            paths = self._index.store.paths
            return load_trace(paths.root, paths.site, answer.trace_id)
        return self._index.traces[answer.trace_id].as_dict()

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


def _blocks_of(snapshot: Snapshot) -> pl.DataFrame:
    texts = snapshot.table("texts", ["text_hash", "text", "tokens"])
    pages = snapshot.table("pages", ["page_id", "url"])
    return (
        snapshot.table("blocks")
        # Dropped ones too: a fact of the site is answered from the repeated part it stands in.
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
