"""The three forms of question files, what is needed as evidence, and mistakes by file and line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evaluation.questions import load_questions
from retrieval.errors import BadInputError

DATA = Path(os.environ.get("SITEQUEST_DATA", Path(__file__).parents[4] / "shared"))


def write(path: Path, *rows: dict[str, Any] | str) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def evidence(page: str, text: str, **more: Any) -> dict[str, Any]:
    return {"page": page, "heading_path": ["Top"], "text": text, **more}


def plain(answers: list[str], rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "g1",
        "type": "single_hop",
        "question": "Who?",
        "by_version": {"1": {"answers": answers, "evidence": rows}, "2": None},
    }


def test_one_answer_said_in_several_places_is_one_need(tmp_path: Path) -> None:
    rows = [evidence("a", "Ann Lee, Professor"), evidence("b", "Ann Lee,\nProfessor.")]
    (question,) = load_questions(
        write(tmp_path / "q.jsonl", plain(["Professor"], rows)), version="1"
    )
    assert [len(need) for need in question.needs] == [2]
    assert len(question.evidence) == 2
    assert question.cluster == "a"


def test_one_answer_that_only_some_rows_say_needs_every_row(tmp_path: Path) -> None:
    rows = [evidence("a", "Ann Lee, Professor"), evidence("b", "see Ann Lee")]
    (question,) = load_questions(
        write(tmp_path / "q.jsonl", plain(["Professor"], rows)), version="1"
    )
    assert [len(need) for need in question.needs] == [1, 1]


def test_several_answers_need_every_row(tmp_path: Path) -> None:
    rows = [evidence("a", "Ann Lee"), evidence("b", "Ann Lee")]
    (question,) = load_questions(
        write(tmp_path / "q.jsonl", plain(["Physics", "Music"], rows)), version="1"
    )
    assert [len(need) for need in question.needs] == [1, 1]
    assert len(question.parts) == 2


def test_a_composed_answer_is_accepted_in_two_pieces(tmp_path: Path) -> None:
    rows = [evidence("a", "ART 1 Drawing 3 Units"), evidence("b", "ART 2 Clay 4 Units")]
    path = write(tmp_path / "q.jsonl", plain(["ART 1: 3 Units", "ART 2: 4 Units"], rows))
    (question,) = load_questions(path, version="1")
    assert question.parts[0].variants == (("ART 1: 3 Units",), ("ART 1", "3 Units"))


def test_an_answer_with_a_colon_of_its_own_is_not_taken_apart(tmp_path: Path) -> None:
    path = write(
        tmp_path / "q.jsonl",
        plain(["Core: Math", "x"], [evidence("a", "Core: Math"), evidence("b", "x")]),
    )
    (question,) = load_questions(path, version="1")
    assert question.parts[0].variants == (("Core: Math",),)


def test_null_version_is_unanswerable_and_an_unknown_version_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", plain(["x"], [evidence("a", "x")]))
    (question,) = load_questions(path, version="2")
    assert not question.answerable
    assert question.needs == ()
    assert question.cluster == "question:g1"
    with pytest.raises(BadInputError, match="versions: 1, 2"):
        load_questions(path, version="3")
    with pytest.raises(BadInputError, match="Name one of 1, 2"):
        load_questions(path)


NATURAL: dict[str, Any] = {
    "id": "n1",
    "site": "s",
    "version": "2",
    "type": "table",
    "question": "How much?",
    "answers": [["3", "three"], ["4"]],
    "evidence": [
        {"page": "a", "text": "CodeUnits3", "text_spaced": "Code Units 3", "also_on": ["b"]},
        {"page": "c", "text": "graded", "generic": True},
    ],
    "by_version": {"1": {"answers": [["2"]], "evidence": [{"page": "a", "text": "CodeUnits2"}]}},
}


def test_form_with_variants(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", NATURAL, "", {**NATURAL, "id": "n2", "site": "other"})
    (question,) = load_questions(path, site="s", version="2")
    assert question.parts[0].variants == (("3",), ("three",))
    first, second = question.evidence
    assert first.pages == ("a", "b")
    assert first.texts == ("CodeUnits3",)  # both forms are one when whitespace is removed
    assert second.generic
    (older,) = load_questions(path, site="s", version="1")
    assert older.parts[0].variants == (("2",),)
    with pytest.raises(BadInputError, match="sites: other, s"):
        load_questions(path, site="t", version="2")


def test_rows_without_version_hold_at_every_version(tmp_path: Path) -> None:
    row = {"id": "d", "type": "t", "question": "?", "answers": [["x"]], "evidence": []}
    path = write(tmp_path / "q.jsonl", row)
    assert len(load_questions(path)) == len(load_questions(path, version="9")) == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{not json", "line 2: not JSON"),
        ('{"id": "x", "type": "t"}', "line 2: question: Field required"),
        ('{"id": "x", "type": "t", "question": ""}', "line 2: question: "),
        ("[]", "line 2: the row: "),
        (
            '{"id": "x", "type": "t", "question": "q", "evidence": [{"page": "p", "text": ""}]}',
            "line 2: evidence.0.text",
        ),
    ],
)
def test_a_bad_line_is_named(line: str, says: str, tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", NATURAL, line)
    with pytest.raises(BadInputError) as caught:
        load_questions(path, version="2")
    assert says in caught.value.message
    assert str(path) in caught.value.message
    assert caught.value.remedy


def test_files_that_are_no_question_files(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="cannot be read"):
        load_questions(tmp_path / "none.jsonl")
    with pytest.raises(BadInputError, match="is empty"):
        load_questions(write(tmp_path / "empty.jsonl", ""))
    with pytest.raises(BadInputError, match="occurs twice"):
        load_questions(write(tmp_path / "twice.jsonl", NATURAL, NATURAL), version="2")


@pytest.mark.data
def test_the_measured_files() -> None:
    guide = DATA / "qa" / "berkeley_guide.jsonl"
    if not guide.exists():
        pytest.skip("the measured questions are not on this machine ($SITEQUEST_DATA)")
    questions = load_questions(guide, site="berkeley_guide", version="2021-22")
    assert len(questions) == 302
    assert sum(not q.answerable for q in questions) == 18
    assert sum(len(q.needs) for q in questions) == 385
    assert sum(len(q.evidence) for q in questions) == 596
    natural = DATA / "qa" / "natural.jsonl"
    assert len(load_questions(natural, site="berkeley_guide", version="2021-22")) == 81
    assert len(load_questions(natural, site="postgresql_docs", version="15")) == 55
