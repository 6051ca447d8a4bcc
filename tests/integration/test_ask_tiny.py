"""Questions over a small site built by the real stages and models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from retrieval import open_index
from retrieval.answer.models import Answer
from retrieval.answer.trace import load_trace
from retrieval.answer.write import folded
from retrieval.config import AnswerConfig, ContextConfig, RetrievalConfig
from retrieval.errors import BadInputError, NoSnapshotError
from retrieval.index.api import Index
from tests.support.built import build_site
from tests.support.tiny_site import pages


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("alder")
    build_site(root, "alder", pages(1), label="v1", now=datetime(2026, 1, 5, 9, tzinfo=UTC))
    build_site(root, "alder", pages(2), label="v2", now=datetime(2026, 2, 5, 9, tzinfo=UTC))
    return root


@pytest.fixture(scope="module")
def index(root: Path) -> Index:
    return open_index(root, "alder")


def quoted(answer: Answer) -> str:
    return " ".join(c.quote for claim in answer.claims for c in claim.citations)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("When does the library close on Saturday?", "17:30"),
        ("How much is the home tuition fee for BSc Botany?", "£9,480"),
        ("How many books may students borrow?", "twelve books"),
        ("Who is the librarian?", "Marta Quill"),
        ("What is the telephone number of the library?", "01632 960 441"),
        ("What do I get back when I withdraw before 14 October?", "two thirds"),
    ],
)
def test_one_thing_is_quoted(index: Index, question: str, wanted: str) -> None:
    answer = index.ask(question)
    assert not answer.abstained, answer
    assert wanted in answer.answer


def test_every_quote_stands_verbatim_in_its_block(index: Index) -> None:
    for question in (
        "Which courses does the Department of Botany teach?",
        "Who is the head of the Department of Botany?",
    ):
        answer = index.ask(question)
        blocks = {b.block_id: b for b in index.retrieve(question, k=10).blocks}
        assert answer.claims
        for claim in answer.claims:
            for citation in claim.citations:
                block = blocks[citation.block_id]
                assert citation.quote in folded(block.text)
                assert citation.lineage_id == block.lineage_id
                assert citation.url == block.url
                assert citation.heading_path == block.heading_path
                assert citation.fetched_at == datetime(2026, 2, 5, 9, tzinfo=UTC)


def test_a_list_question_gives_the_whole_list_and_only_it(index: Index) -> None:
    answer = index.ask("Which courses does the Department of Botany teach?")
    assert [claim.text for claim in answer.claims] == [
        "BOT 101 Mosses and liverworts", "BOT 204 Alpine plants", "BOT 310 Seed banks",
    ]  # fmt: skip
    assert answer.mode == "reasoning"


def test_a_table_row_is_read_with_its_header(index: Index) -> None:
    answer = index.ask("When does the library close on Saturday?")
    assert answer.claims[0].text == "Day: Saturday; Opens: 10:00; Closes: 17:30"
    assert answer.claims[0].citations[0].quote == "Saturday 10:00 17:30"


def test_navigation_brings_blocks_of_several_pages(index: Index) -> None:
    found = index.retrieve("When does the library open and what is the fee of BA Music?")
    assert found.mode == "navigation"
    urls = {block.url.rsplit("/", 1)[-1] for block in found.blocks[:5]}
    assert {"library", "fees"} <= urls
    answer = index.ask("When does the library open and what is the fee of BA Music?")
    assert "08:15" in answer.answer
    assert "£8,900" in answer.answer


def test_reasoning_walks_from_the_named_entity(index: Index) -> None:
    question = "What is the room of the person who heads the Department of Botany?"
    found = index.retrieve(question, mode="reasoning")
    stage = found.trace.stages[0]
    assert any("Botany" in entity["name"] for entity in stage["entities"])
    assert "entities" in stage["sources"]
    assert any("Glasshouse 3" in block.text for block in found.blocks)


def test_reasoning_without_an_entity_falls_back_and_says_so(index: Index) -> None:
    found = index.retrieve("how late is too late", mode="reasoning")
    assert found.trace.stages[0]["fallback"].startswith("direct")


@pytest.mark.parametrize(
    "question",
    [
        "Who won the cricket world cup in 1992?",
        "What is the boiling point of tungsten?",
        "Zzyzx qwv?",
    ],
)
def test_what_the_site_does_not_say_is_not_answered(index: Index, question: str) -> None:
    answer = index.ask(question)
    assert answer.abstained
    assert answer.claims == []
    assert answer.answer


def test_a_text_on_two_pages_appears_once_and_cites_both(index: Index) -> None:
    question = "Where do I meet after leaving the building when the bell rings?"
    found = index.retrieve(question)
    texts = [block.text for block in found.blocks]
    assert len(texts) == len(set(texts))
    citations = index.ask(question).claims[0].citations
    assert {c.url.rsplit("/", 1)[-1] for c in citations} == {"library", "botany"}


def test_as_of_an_earlier_snapshot(index: Index) -> None:
    question = "How much is the home tuition fee for BSc Botany?"
    now, before = index.ask(question), index.ask(question, as_of="v1")
    assert "£9,480" in now.answer
    assert "£9,150" in before.answer
    assert before.snapshot_id != now.snapshot_id == index.snapshot_id
    assert index.ask(question, as_of="2026-01-31").snapshot_id == before.snapshot_id
    with pytest.raises(NoSnapshotError):
        index.ask(question, as_of="20990101T000000Z-ffffff")


def test_an_index_is_pinned_until_it_is_reloaded(root: Path) -> None:
    pinned = open_index(root, "alder", as_of="v1")
    assert pinned.reload() == pinned.snapshot_id
    assert "£9,150" in pinned.ask("What is the home fee of BSc Botany?").answer


def test_the_trace_explains_the_ranks(root: Path, index: Index) -> None:
    answer = index.ask("When does the library close on Saturday?")
    assert answer.trace_stored
    trace = load_trace(root, "alder", answer.trace_id)
    assert trace["snapshot_id"] == answer.snapshot_id
    assert trace["config_fingerprint"] == index.config.fingerprint
    assert trace["route"]["mode"] == answer.mode
    ranking = next(s for s in trace["stages"] if s["stage"] == "ranking")
    first = ranking["candidates"][0]
    assert {"sources", "fused", "logits", "final", "status"} <= set(first)
    assert set(first["sources"]) <= {"dense", "lexical"}
    reading = next(s for s in trace["stages"] if s["stage"] == "reading")
    assert answer.claims[0].citations[0].block_id in reading["given"]
    assert trace["model_seconds"] <= sum(trace["steps"].values())
    assert len(json.dumps(trace)) < 100_000


def test_answers_do_not_depend_on_the_order_of_questions(index: Index) -> None:
    question = "How many books may students borrow?"
    first = index.ask(question)
    index.ask("Who leads Botany?")
    again = index.ask(question)
    changing = {"trace_id", "seconds"}
    assert first.model_dump(exclude=changing) == again.model_dump(exclude=changing)


def test_the_reader_keeps_its_budget(root: Path) -> None:
    for budget in (1, 60, 400):
        config = RetrievalConfig(context=ContextConfig(token_budget=budget))
        index = open_index(root, "alder", config=config)
        answer = index.ask("Where is the old oak?")
        trace = load_trace(root, "alder", answer.trace_id)
        given = next(s for s in trace["stages"] if s["stage"] == "reading")["given"]
        assert answer.reader_tokens <= budget or len(given) == 1


def test_never_and_always_abstaining_are_configurable(root: Path) -> None:
    never = open_index(root, "alder", config=RetrievalConfig(answer=AnswerConfig(abstain_below=0)))
    assert not never.ask("Who won the cricket world cup in 1992?").abstained
    always = open_index(root, "alder", config=RetrievalConfig(answer=AnswerConfig(abstain_below=1)))
    assert always.ask("Who is the librarian?").abstained


@pytest.mark.parametrize("question", ["", "  ", "?!", "图书馆几点开门", "fee " * 10_000])
def test_questions_that_cannot_be_asked(index: Index, question: str) -> None:
    with pytest.raises(BadInputError) as caught:
        index.ask(question)
    assert caught.value.remedy


def test_one_word_is_a_question(index: Index) -> None:
    assert index.retrieve("library").blocks


@pytest.fixture
def unwritable(root: Path) -> Iterator[None]:
    """A store whose traces cannot be written, also by root: a file stands in their place."""
    traces, aside = root / "alder" / "traces", root / "alder" / "traces-aside"
    traces.mkdir(exist_ok=True)
    traces.rename(aside)
    traces.write_text("")
    yield
    traces.unlink()
    aside.rename(traces)


@pytest.mark.usefixtures("unwritable")
def test_a_store_that_cannot_be_written_does_not_break_asking(index: Index) -> None:
    answer = index.ask("Who is the librarian?")
    assert not answer.abstained
    assert not answer.trace_stored
    assert index.traces[answer.trace_id].storage.startswith("in memory only")


def test_opening_what_is_not_there(root: Path, tmp_path: Path) -> None:
    with pytest.raises(NoSnapshotError):
        open_index(tmp_path)
    with pytest.raises(NoSnapshotError):
        open_index(root, "nosuch")
    assert open_index(root).store.paths.site == "alder"
    (root / "other" / "snapshots").mkdir(parents=True)
    try:
        with pytest.raises(BadInputError, match="alder, other"):
            open_index(root)
    finally:
        (root / "other" / "snapshots").rmdir()
        (root / "other").rmdir()
