"""Our system and the baseline over a small site built by the real stages, asked for real."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluation.questions import AnswerPart, Evidence, Question
from evaluation.run import evaluate
from evaluation.systems.chunk import ChunkSystem
from evaluation.systems.sitequest import SitequestSystem
from retrieval.errors import SitequestError
from retrieval.index.api import open_index
from retrieval.models.config import ModelsConfig
from retrieval.models.load import load_embedder
from retrieval.snapshot.bodies import Bodies
from retrieval.snapshot.reader import SiteStore
from tests.support.built import build_site
from tests.support.tiny_site import pages


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SiteStore:
    root = tmp_path_factory.mktemp("alder-eval")
    build_site(root, "alder", pages(1), label="v1", now=datetime(2026, 1, 5, 9, tzinfo=UTC))
    return SiteStore(root, "alder")


def question(text: str, page: str | None, span: str, answer: str) -> Question:
    evidence = () if page is None else ((Evidence(page=page, text=span),),)
    parts = () if page is None else (AnswerPart(variants=((answer,),)),)
    return Question(
        id=text, site=None, version="v1", type="single_hop", expected_mode="A", text=text,
        parts=parts, needs=evidence,
    )  # fmt: skip


QUESTIONS = [
    question("When does the library open on Saturday?", "library", "Saturday10:0017:30", "10:00"),
    question("What does a late library book cost?", "library", "costs 20 pence a day", "20 pence"),
    question("Who won the chess tournament in Reykjavik?", None, "", ""),
]


def test_both_systems(store: SiteStore) -> None:
    snapshot = store.latest()
    ours = SitequestSystem.over(snapshot, store.paths)
    baseline = ChunkSystem.build(
        snapshot, Bodies(store.paths.bodies), load_embedder(ModelsConfig().embedder)
    )
    report = evaluate(
        snapshot, QUESTIONS, [ours, baseline], question_set="tiny", results=store.paths.results
    )
    assert report.data["gold_pages_missing"]["n"] == 0
    figures = {name: types["all"] for name, types in report.data["systems"].items()}
    assert set(figures) == {"sitequest", "chunk"}
    assert figures["sitequest"]["span_recall@10"] == 1.0
    assert figures["sitequest"]["fact_coverage"] == 1.0
    assert 0 < figures["sitequest"]["reader_tokens"] < 2000
    assert figures["chunk"]["page_recall@10"] == 1.0
    first = report.scored["sitequest"][0].run
    assert first.given is not None
    assert {p.ref for p in first.given} <= {p.ref for p in first.passages}
    assert not store.paths.traces.exists()


def test_a_snapshot_that_is_not_the_indexes(store: SiteStore, tmp_path: Path) -> None:
    other = build_site(tmp_path, "alder", {"/": "<title>O</title><h1>Other</h1><p>Other.</p>"})
    ours = SitequestSystem(open_index(store.paths.root, "alder"), other)
    with pytest.raises(SitequestError, match="not in the snapshot"):
        ours.retrieve(QUESTIONS[0].text, 5)


def test_an_index_that_stores_its_traces(store: SiteStore) -> None:
    index = open_index(store.paths.root, "alder")
    run = SitequestSystem(index, mode="direct").run(QUESTIONS[1].text, 3)
    assert len(run.passages) == 3
    assert run.answer.mode == "direct"
    assert (store.paths.traces / f"{run.answer.trace_id}.json").exists()
