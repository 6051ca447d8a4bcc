"""Evaluate systems on a snapshot's questions: the report, per-question rows, `metrics` rows.

Never builds a snapshot: it takes an opened one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evaluation.matching import Pages, page_key
from evaluation.questions import Question
from evaluation.scoring import Scored, metric_names, score
from evaluation.significance import ClusterBootstrap, Interval
from evaluation.systems.base import System
from retrieval.errors import BadInputError
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.schemas import empty
from retrieval.snapshot.states import HAS_CONTENT

KS = (5, 10)
_SHOWN = 3


@dataclass(frozen=True)
class EvalReport:
    """The outcome: ``data`` is the JSON that is printed, ``rows`` one row per system and question.

    ``scored`` keeps everything behind the rows, by system.
    """

    data: dict[str, Any]
    rows: pl.DataFrame
    scored: dict[str, list[Scored]]

    def metric_rows(self) -> list[dict[str, object]]:
        """Return the rows of the snapshot's `metrics` table."""
        rows: list[dict[str, object]] = []
        for system, types in self.data["systems"].items():
            for kind, figures in types.items():
                for metric, counted in figures["counted"].items():
                    low, high = figures["intervals"].get(metric) or (None, None)
                    rows.append(
                        {
                            "question_set": self.data["questions"],
                            "system": system,
                            "question_type": kind,
                            "metric": metric,
                            "value": figures[metric],
                            "low": low,
                            "high": high,
                            "n": counted,
                        }
                    )
        return rows

    def metric_frame(self) -> pl.DataFrame:
        """Return `metric_rows` as a frame with the schema of the `metrics` table."""
        schema = dict(pl.DataFrame(empty("metrics")).schema)
        return pl.DataFrame(self.metric_rows(), schema=schema, orient="row")


def evaluate(
    snapshot: Snapshot,
    questions: Sequence[Question],
    systems: Sequence[System],
    *,
    question_set: str,
    k: int = 10,
    root: str = "/",
    results: Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> EvalReport:
    """Run every system on every question and report metrics by question type.

    ``question_set`` is the stem of the question file, ``root`` the path the site's pages begin
    with in their URLs, ``progress`` is told (system, done, total). With ``results`` the rows are
    also written there as Parquet, and the report beside them as JSON. The first system is
    compared with each other one over the same questions.

    Raises BadInputError when none of the gold pages is a page of the snapshot: the questions are
    then about another site, or ``root`` is wrong.
    """
    ks = tuple(sorted({*(size for size in KS if size < k), k}))
    pages = Pages(root, page_aliases(snapshot, root))
    missing = _missing_pages(snapshot, questions, pages)
    scored = {system.name: _run(system, questions, pages, ks, progress) for system in systems}
    names = metric_names(ks)
    data = {
        "questions": question_set,
        "snapshot": snapshot.id,
        "label": snapshot.label,
        "gold_pages_missing": missing,
        "systems": {name: _by_type(rows, names) for name, rows in scored.items()},
        "differences": _differences(scored, names),
    }
    report = EvalReport(data, _frame(scored, names), scored)
    if results is not None:
        _keep(report, results)
    return report


def page_aliases(snapshot: Snapshot, root: str = "/") -> dict[str, str]:
    """Return page key → key of the live page it stands for, where the two differ.

    Redirected and duplicate pages stand for their canonical page; a final URL for its page.
    """
    table = snapshot.table("pages", ["page_id", "url", "final_url", "canonical_page_id"])
    rows = table.rows(named=True)
    keys = {row["page_id"]: page_key(row["url"], root) for row in rows}
    aliases: dict[str, str] = {}
    for row in rows:
        target = keys.get(row["canonical_page_id"], keys[row["page_id"]])
        if keys[row["page_id"]] != target:
            aliases[keys[row["page_id"]]] = target
        if row["final_url"]:
            final = page_key(row["final_url"], root)
            if final != target:
                aliases.setdefault(final, target)
    # A live page is itself, whatever redirects elsewhere claim.
    for row in rows:
        if row["canonical_page_id"] is None:
            aliases.pop(keys[row["page_id"]], None)
    return aliases


def _missing_pages(
    snapshot: Snapshot, questions: Sequence[Question], pages: Pages
) -> dict[str, object]:
    table = snapshot.table("pages", ["url", "state", "body_sha256"]).filter(HAS_CONTENT)
    live = {pages.key(url) for url in table["url"]}
    gold = {row.page for question in questions for row in question.evidence}
    lost = sorted(page for page in gold if pages.key(page) not in live)
    if gold and len(lost) == len(gold):
        raise BadInputError(
            f"None of the {len(gold)} gold pages ({', '.join(lost[:_SHOWN])}, …) is a live page of "
            f"snapshot {snapshot.id}.",
            "Use questions about this site, or name the path its pages begin with.",
        )
    return {"n": len(lost), "of": len(gold), "pages": lost[:20]}


def _run(
    system: System,
    questions: Sequence[Question],
    pages: Pages,
    ks: Sequence[int],
    progress: Callable[[str, int, int], None] | None,
) -> list[Scored]:
    scored = []
    for done, question in enumerate(questions, start=1):
        scored.append(score(question, system.run(question.text, max(ks)), pages, ks))
        if progress:
            progress(system.name, done, len(questions))
    return scored


Columns = tuple[NDArray[np.float64], NDArray[np.float64]]


def _columns(rows: Sequence[Scored], names: Sequence[str]) -> Columns:
    """Return numerators and denominators [questions, metrics]; a None counts in neither."""
    values = np.array(
        [[np.nan if row.values[n] is None else row.values[n] for n in names] for row in rows],
        dtype=np.float64,
    ).reshape(len(rows), len(names))
    known = ~np.isnan(values)
    return np.where(known, values, 0.0), known.astype(np.float64)


def _groups(rows: Sequence[Scored]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {"all": list(range(len(rows)))}
    for kind in sorted({row.question.type for row in rows}):
        groups[kind] = [i for i, row in enumerate(rows) if row.question.type == kind]
    return groups


def _by_type(rows: Sequence[Scored], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    report = {}
    for kind, members in _groups(rows).items():
        part = [rows[i] for i in members]
        numerators, denominators = _columns(part, names)
        boot = ClusterBootstrap([row.question.cluster for row in part])
        found = dict(zip(names, boot.intervals(numerators, denominators), strict=True))
        report[kind] = {
            "n": len(part),
            **{name: None if i is None else round(i.value, 6) for name, i in found.items()},
            "intervals": {n: _ends(i) for n, i in found.items() if i is not None},
            "counted": dict(zip(names, denominators.sum(axis=0).astype(int).tolist(), strict=True)),
        }
    return report


def _ends(interval: Interval) -> list[float]:
    return [round(interval.low, 6), round(interval.high, 6)]


def _differences(scored: dict[str, list[Scored]], names: Sequence[str]) -> dict[str, Any]:
    """Compare the first system with each other one, question by question."""
    systems = list(scored)
    report: dict[str, Any] = {}
    for other in systems[1:]:
        first = scored[systems[0]]
        report[f"{systems[0]} - {other}"] = {
            kind: _difference(
                [first[i] for i in members], [scored[other][i] for i in members], names
            )
            for kind, members in _groups(first).items()
        }
    return report


def _difference(
    a: Sequence[Scored], b: Sequence[Scored], names: Sequence[str]
) -> dict[str, dict[str, object] | None]:
    boot = ClusterBootstrap([row.question.cluster for row in a])
    found = boot.differences(_columns(a, names), _columns(b, names))
    return {
        name: None
        if i is None
        else {
            "value": round(i.value, 6),
            "interval": _ends(i),
            "p": i.p,
        }
        for name, i in zip(names, found, strict=True)
    }


def _frame(scored: dict[str, list[Scored]], names: Sequence[str]) -> pl.DataFrame:
    schema: dict[str, Any] = {
        "system": pl.String, "id": pl.String, "type": pl.String, "cluster": pl.String,
        "answerable": pl.Boolean, "abstained": pl.Boolean, "mode": pl.String,
        "expected_mode": pl.String, "confidence": pl.Float64, "trace_id": pl.String,
        "question": pl.String, "answer": pl.String,
        "retrieved": pl.List(pl.String), "missed": pl.List(pl.String),
        **dict.fromkeys(names, pl.Float64),
    }  # fmt: skip
    rows = [
        {
            "system": system,
            "id": row.question.id,
            "type": row.question.type,
            "cluster": row.question.cluster,
            "answerable": row.question.answerable,
            "abstained": row.run.answer.abstained,
            "mode": row.run.answer.mode,
            "expected_mode": row.question.expected_mode,
            "confidence": row.run.answer.confidence,
            "trace_id": row.run.answer.trace_id,
            "question": row.question.text,
            "answer": row.run.answer.text,
            "retrieved": [p.ref or f"{p.page}#{p.ordinal}" for p in row.run.passages],
            "missed": list(row.missed),
            **row.values,
        }
        for system, part in scored.items()
        for row in part
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _keep(report: EvalReport, directory: Path) -> None:
    """Write rows and report; each file appears whole or not at all."""
    directory.mkdir(parents=True, exist_ok=True)
    systems = "+".join(report.scored)
    stem = f"{report.data['snapshot']}--{report.data['questions']}--{systems}"
    part = directory / f".{stem}.{os.getpid()}.part"
    report.rows.write_parquet(part)
    part.replace(directory / f"{stem}.parquet")
    part.write_text(json.dumps(report.data, indent=1, sort_keys=True), encoding="utf-8")
    part.replace(directory / f"{stem}.json")
