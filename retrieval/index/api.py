"""The public `Index`: open a store, ask, retrieve, look back in time.

index = open_index("./.sitequest", site="demo")
answer = index.ask("When does the library open on Sunday?")
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from retrieval.answer.models import Answer
from retrieval.answer.respond import Response, respond
from retrieval.answer.trace import Trace, load_trace, store_trace
from retrieval.answer.write import NOT_FOUND, compose
from retrieval.config import RetrievalConfig
from retrieval.errors import BadInputError, NoSnapshotError, SitequestError
from retrieval.models.config import ModelsConfig, ModelSpec
from retrieval.modes.pipeline import find
from retrieval.modes.question import Question, check_question, read_question
from retrieval.modes.site import SiteView
from retrieval.snapshot.reader import SiteStore, sites

if TYPE_CHECKING:
    from retrieval.index.view import BlockView
    from retrieval.models.base import Embedder, Reranker

__all__ = ["Index", "Retrieved", "load_trace", "open_index"]

_KEPT_VIEWS = 3  # opened snapshots kept beside the pinned one
_KEPT_TRACES = 100  # traces kept in memory when the store cannot be written


@dataclass(frozen=True)
class Retrieved:
    """Ranked blocks, best first, with their final scores and the trace of the question."""

    question: str
    mode: str
    blocks: list[BlockView]
    scores: list[float]
    snapshot_id: str
    trace: Trace


class Index:
    """One site's index, pinned to a snapshot until `reload`."""

    def __init__(
        self,
        store: SiteStore,
        *,
        as_of: str | None = None,
        config: RetrievalConfig | None = None,
        models: ModelsConfig | None = None,
    ) -> None:
        self.store = store
        self.config = config or RetrievalConfig()
        self.models = models or ModelsConfig()
        self._as_of = as_of
        self._lock = threading.Lock()
        self._views: OrderedDict[str, SiteView] = OrderedDict()
        self._pinned = SiteView(store.resolve(as_of))
        self.traces: OrderedDict[str, Trace] = OrderedDict()
        """Traces that could not be stored, oldest first."""

    @property
    def snapshot_id(self) -> str:
        """Return the id of the pinned snapshot."""
        return self._pinned.snapshot.id

    def reload(self) -> str:
        """Move on to what ``as_of`` (or LATEST) names now; return the snapshot id."""
        snapshot = self.store.resolve(self._as_of)
        if snapshot.id != self.snapshot_id:
            self._pinned = SiteView(snapshot)
        return self.snapshot_id

    def retrieve(self, question: str, *, mode: str = "auto", k: int = 10) -> Retrieved:
        """Return the best ``k`` blocks, by the same path as `ask`; the trace is not stored.

        Raises BadInputError for a question that cannot be asked (`check_question`) or a k below 1.
        """
        if k < 1:
            raise BadInputError(f"k is {k}; it must be at least 1.")
        view = self._pinned
        asked = self._question(view, question)
        trace = Trace(asked.text, view.snapshot.id, self.config.fingerprint)
        embedder = self._embedder_for(view)
        found = find(view, embedder, self._reranker, asked, mode, k, self.config, trace)
        return Retrieved(
            question=asked.text,
            mode=found.route.mode,
            blocks=[view.block(c.row) for c in found.ranked],
            scores=[c.final for c in found.ranked],
            snapshot_id=view.snapshot.id,
            trace=trace,
        )

    def ask(self, question: str, *, mode: str = "auto", as_of: str | None = None) -> Answer:
        """Answer ``question`` with quotes, or abstain; ``as_of`` names any kept snapshot.

        Raises BadInputError for a question that cannot be asked, NoSnapshotError for an ``as_of``
        that names nothing.
        """
        started = time.perf_counter()
        view = self._pinned if as_of is None else self._view(as_of)
        asked, trace, response = self._respond(view, question, mode)
        if self.config.trace.store:
            with trace.step("store"):
                store_trace(trace, self.store.paths, self.config.trace.keep)
        if not trace.stored:
            self._remember(trace)
        return Answer(
            question=asked.text,
            answer=(
                NOT_FOUND
                if response.abstained
                else compose(response.claims, asked.is_list, asked.asks_places)
            ),
            abstained=response.abstained,
            mode=trace.route["mode"],
            claims=response.claims,
            snapshot_id=view.snapshot.id,
            trace_id=trace.trace_id,
            reader_tokens=response.tokens,
            seconds=round(time.perf_counter() - started, 6),
            confidence=round(response.verdict.probability, 4),
            trace_stored=trace.stored,
        )

    def examine(self, question: str, *, mode: str = "auto") -> tuple[Response, Trace]:
        """Return the response and the trace of ``question`` without storing anything."""
        _, trace, response = self._respond(self._pinned, question, mode)
        return response, trace

    @property
    def reranker_sha256(self) -> str:
        """Return the hash of the cross-encoder's weights (what a calibration holds for)."""
        return self._reranker.sha256

    def warm(self) -> float:
        """Load the models now; return the seconds it took."""
        started = time.perf_counter()
        self._embedder_for(self._pinned)
        _ = self._reranker
        return time.perf_counter() - started

    def _respond(self, view: SiteView, text: str, mode: str) -> tuple[Question, Trace, Response]:
        asked = self._question(view, text)
        trace = Trace(asked.text, view.snapshot.id, self.config.fingerprint)
        with trace.step("load"):
            embedder, reranker = self._embedder_for(view), self._reranker
        k, config = self.config.context.blocks, self.config
        found = find(view, embedder, reranker, asked, mode, k, config, trace)
        response = respond(view, asked, found, embedder, reranker, config, trace)
        return asked, trace, response

    def _embedder_for(self, view: SiteView) -> Embedder:
        """Return the embedder, or say that the snapshot's vectors are another model's."""
        snapshot, embedder = view.snapshot, self._embedder
        built = next((m for m in snapshot.manifest.models if m.role == "embedder"), None)
        if built is not None and built.sha256 != embedder.sha256:
            raise SitequestError(
                f"Snapshot {snapshot.id} was built with the embedder {built.name} "
                f"({built.sha256[:12]}); the configuration names {embedder.name} "
                f"({embedder.sha256[:12]}).",
                "Name the snapshot's embedder in the configuration, or sync again.",
            )
        return embedder

    @property
    def _embedder(self) -> Embedder:
        return _embedder(self.models.embedder)

    @property
    def _reranker(self) -> Reranker:
        return _reranker(self.models.reranker)

    def _view(self, as_of: str) -> SiteView:
        snapshot = self.store.resolve(as_of)
        with self._lock:
            if snapshot.id == self.snapshot_id:
                return self._pinned
            view = self._views.pop(snapshot.id, None) or SiteView(snapshot)
            self._views[snapshot.id] = view
            while len(self._views) > _KEPT_VIEWS:
                self._views.popitem(last=False)
            return view

    def _question(self, view: SiteView, text: str) -> Question:
        return read_question(check_question(text, self.config.limits, view.knows))

    def _remember(self, trace: Trace) -> None:
        with self._lock:
            self.traces[trace.trace_id] = trace
            while len(self.traces) > _KEPT_TRACES:
                self.traces.popitem(last=False)


# A process holds each model once, however many sites and snapshots it opens.
@lru_cache(maxsize=2)
def _embedder(spec: ModelSpec) -> Embedder:
    from retrieval.models.load import load_embedder

    return load_embedder(spec)


@lru_cache(maxsize=2)
def _reranker(spec: ModelSpec) -> Reranker:
    from retrieval.models.load import load_reranker

    return load_reranker(spec)


def open_index(
    path: str | Path,
    site: str | None = None,
    *,
    as_of: str | None = None,
    config: RetrievalConfig | None = None,
    models: ModelsConfig | None = None,
) -> Index:
    """Open the index of ``site`` below the data root ``path``, pinned to ``as_of`` or LATEST.

    ``site`` may be left out when the root holds one site. Raises NoSnapshotError when there is
    nothing to open, BadInputError when several sites are there and none is named.
    """
    root = Path(path)
    if site is None:
        known = sites(root)
        if not known:
            raise NoSnapshotError(
                f"There is no site below {root}.",
                "Run `sitequest sync` first, or name another path.",
            )
        if len(known) > 1:
            raise BadInputError(
                f"There are several sites below {root}.", f"Name one of: {', '.join(known)}."
            )
        site = known[0]
    return Index(SiteStore(root, site), as_of=as_of, config=config, models=models)
