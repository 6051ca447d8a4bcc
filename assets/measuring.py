"""Rows of the `metrics` table: counts of the index and the answers to the site's questions."""

from __future__ import annotations

import polars as pl

from assets.config import EvaluationConfig, SiteConfig
from assets.publishing.candidate import Candidate
from retrieval.snapshot.ids import digest
from retrieval.snapshot.schemas import TABLES, empty

COUNTED = tuple(name for name in TABLES if name not in ("changes", "metrics"))


def index_counts(candidate: Candidate) -> pl.DataFrame:
    """Return rows per table, pages per state and kept blocks, as `metrics` rows of set `index`."""
    entries = candidate.entries()
    values = {f"{name}_rows": entries[name].rows for name in COUNTED}
    states = candidate.table("pages", ["state"]).group_by("state").len().sort("state")
    values |= {f"pages_{state}": count for state, count in states.iter_rows()}
    values["blocks_kept"] = candidate.table("blocks", ["kept"]).filter("kept").height
    frame = pl.DataFrame(
        {"metric": list(values), "value": [float(value) for value in values.values()]}
    )
    return frame.select(
        question_set=pl.lit("index"),
        system=pl.lit("sitequest"),
        question_type=pl.lit("all"),
        metric="metric",
        value="value",
        low=pl.lit(None, pl.Float64),
        high=pl.lit(None, pl.Float64),
        n=pl.lit(0, pl.Int32),
    ).cast(pl.DataFrame(empty("metrics")).schema)


def question_metrics(
    site: SiteConfig, config: EvaluationConfig, candidate: Candidate
) -> pl.DataFrame:
    """Return the `metrics` rows of the site's question set, asked of the candidate.

    Raises BadInputError when the file has no question for this site and version.
    """
    from evaluation.questions import load_questions
    from evaluation.run import evaluate
    from evaluation.systems.sitequest import SitequestSystem

    version = config.version or candidate.label
    questions = load_questions(config.questions, site=site.name, version=version)
    chosen = sorted(questions, key=lambda question: digest(question.id))[: config.limit]
    snapshot = candidate.snapshot()
    system = SitequestSystem.over(
        snapshot, candidate.paths, config=site.retrieval, models=site.models
    )
    report = evaluate(snapshot, chosen, [system], question_set=config.questions.stem)
    return report.metric_frame()
