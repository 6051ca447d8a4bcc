"""The report on a small snapshot with scripted systems, worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from evaluation.matching import Passage
from evaluation.questions import AnswerPart, Evidence, Question
from evaluation.run import evaluate, page_aliases
from evaluation.systems.base import SystemAnswer, SystemRun
from retrieval.errors import BadInputError
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.schemas import enforce
from tests.unit.checks.small_snapshot import frames, write_snapshot


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    return write_snapshot(tmp_path / "s", frames())


class Scripted:
    """A system that says what it is told, question by question."""

    def __init__(self, name: str, runs: dict[str, SystemRun]) -> None:
        self.name = name
        self._runs = runs

    def run(self, question: str, k: int) -> SystemRun:
        run = self._runs[question]
        return SystemRun(run.passages[:k], run.answer, run.given)

    def retrieve(self, question: str, k: int) -> list[Passage]:
        return self.run(question, k).passages

    def answer(self, question: str) -> SystemAnswer:
        return self.run(question, 1).answer


def question(id_: str, type_: str, page: str | None, *texts: str) -> Question:
    needs = tuple((Evidence(page=str(page), text=text),) for text in texts)
    parts = tuple(AnswerPart(variants=((text,),)) for text in texts)
    return Question(
        id=id_, site=None, version="1", type=type_, expected_mode="A", text=id_, parts=parts,
        needs=needs if page else (),
    )  # fmt: skip


def run(
    passages: Sequence[tuple[str, str]],
    text: str = "",
    *,
    abstained: bool = False,
    given: int | None = None,
) -> SystemRun:
    made = [Passage(page=p, heading_path=(), text=t, tokens=5) for p, t in passages]
    return SystemRun(
        made,
        SystemAnswer(text, abstained, reader_tokens=5 * len(made), seconds=0.5, mode="direct"),
        None if given is None else made[:given],
    )


QUESTIONS = [
    question("one", "single_hop", "p0", "open at nine"),
    question("two", "multi_page", "p1", "red door", "blue door"),
    question("none", "single_hop", None),
]
FILLER = [("/p7", "nothing")] * 6
GOOD = Scripted(
    "sitequest",
    {
        "one": run(
            [("/p5", "no"), ("/p0", "we open at nine daily")], "It is open at nine.", given=1
        ),
        "two": run([*FILLER, ("/p1", "the red door")], "the red door"),
        "none": run([], abstained=True),
    },
)
POOR = Scripted(
    "chunk",
    {
        "one": run([("/p0", "we close late")], "late"),
        "two": run([("/p1", "the red door")], "", abstained=True),
        "none": run([("/p1", "the red door")], "the red door"),
    },
)


def test_the_report(snapshot: Snapshot, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    report = evaluate(
        snapshot, QUESTIONS, [GOOD, POOR], question_set="q", results=tmp_path / "results",
        progress=lambda name, done, of: told.append((name, done, of)),
    )  # fmt: skip
    data = report.data
    assert (data["questions"], data["snapshot"]) == ("q", snapshot.id)
    ours, all_ = data["systems"]["sitequest"], data["systems"]["sitequest"]["all"]
    assert all_["n"] == 3
    assert all_["span_recall@10"] == pytest.approx((1 + 0.5) / 2)
    assert all_["span_recall@5"] == pytest.approx((1 + 0) / 2)  # the red door stands seventh
    assert all_["span_recall_given"] == pytest.approx((0 + 0.5) / 2)
    assert all_["page_recall@10"] == 1.0
    assert all_["mrr@10"] == pytest.approx((1 / 2 + 1 / 7) / 2, abs=1e-6)
    assert all_["fact_coverage"] == pytest.approx((1 + 0.5) / 2)
    assert all_["abstain_precision"] == 1.0
    assert all_["abstain_recall"] == 1.0
    assert all_["reader_tokens"] == pytest.approx((10 + 35 + 0) / 3, abs=1e-6)
    assert all_["counted"]["span_recall@10"] == 2
    assert ours["multi_page"]["abstain_recall"] is None
    assert ours["single_hop"]["n"] == 2

    theirs = data["systems"]["chunk"]["all"]
    assert theirs["page_recall@10"] == 1.0
    assert theirs["span_recall@10"] == pytest.approx((0 + 0.5) / 2)
    assert theirs["fact_coverage"] == 0.0  # an abstention says no part
    assert theirs["abstain_precision"] == 0.0
    assert theirs["abstain_recall"] == 0.0

    difference = data["differences"]["sitequest - chunk"]["all"]["span_recall@10"]
    assert difference["value"] == pytest.approx(0.5)
    low, high = difference["interval"]
    assert low <= 0.5 <= high
    assert told[-1] == ("chunk", 3, 3)
    json.dumps(data, allow_nan=False)

    (parquet,) = (tmp_path / "results").glob("*.parquet")
    rows = pl.read_parquet(parquet)
    assert rows.height == 6
    missed = rows.filter((pl.col("system") == "sitequest") & (pl.col("id") == "two"))["missed"]
    assert missed.to_list() == [["p1"]]
    kept = json.loads(parquet.with_suffix(".json").read_text())
    assert kept["systems"] == data["systems"]


def test_rows_of_the_metrics_table(snapshot: Snapshot) -> None:
    report = evaluate(snapshot, QUESTIONS, [GOOD], question_set="q")
    rows = report.metric_rows()
    frame = report.metric_frame()
    assert enforce("metrics", frame.to_arrow()).num_rows == len(rows)
    named = {(row["question_type"], row["metric"]): row for row in rows}
    span = named["all", "span_recall@10"]
    assert (span["value"], span["n"], span["system"]) == (0.75, 2, "sitequest")
    assert named["multi_page", "abstain_recall"]["value"] is None
    assert named["multi_page", "abstain_recall"]["n"] == 0


def test_questions_about_another_site_are_refused(snapshot: Snapshot) -> None:
    strangers = [question("one", "t", "elsewhere/index.html", "x")]
    with pytest.raises(BadInputError, match="None of the 1 gold pages"):
        evaluate(snapshot, strangers, [GOOD], question_set="q")
    mixed = [*QUESTIONS[:2], question("none", "t", "elsewhere", "x")]
    report = evaluate(snapshot, mixed, [GOOD], question_set="q")
    assert report.data["gold_pages_missing"] == {"n": 1, "of": 3, "pages": ["elsewhere"]}


def test_pages_that_stand_for_another_one(snapshot: Snapshot) -> None:
    assert page_aliases(snapshot) == {"p90": "p0"}  # p90 is a duplicate of p0
    asked = [question("one", "t", "p90", "open at nine")]
    report = evaluate(snapshot, asked, [GOOD], question_set="q")
    assert report.data["systems"]["sitequest"]["all"]["span_recall@10"] == 1.0


def test_without_questions(snapshot: Snapshot) -> None:
    report = evaluate(snapshot, [], [GOOD], question_set="q")
    assert report.data["systems"]["sitequest"]["all"]["n"] == 0
    assert report.data["systems"]["sitequest"]["all"]["fact_coverage"] is None
