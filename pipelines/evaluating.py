"""Evaluate a kept snapshot from settings: finds the questions, builds the systems, runs them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retrieval.errors import BadInputError, NoSnapshotError
from retrieval.snapshot.ids import digest

if TYPE_CHECKING:
    from evaluation.questions import Question
    from evaluation.systems.base import System
    from pipelines.settings import Settings
    from retrieval.snapshot.reader import Snapshot

log = logging.getLogger("sitequest")

SYSTEMS = ("sitequest", "chunk", "chunk-all")


def evaluate_snapshot(
    settings: Settings,
    site: str,
    questions: Path,
    *,
    snapshot: str | None = None,
    version: str | None = None,
    systems: Sequence[str] = ("sitequest",),
    limit: int | None = None,
) -> dict[str, Any]:
    """Run ``systems`` on the questions of ``site`` and return the report.

    ``snapshot`` is an id, label or date; ``version`` chooses the gold (default: the snapshot's
    label). Raises NoSnapshotError that says how to make the snapshot, BadInputError for an unknown
    system or a file with no question for this site and version.
    """
    from evaluation.questions import load_questions
    from evaluation.run import evaluate
    from retrieval.snapshot.reader import SiteStore

    unknown = [name for name in systems if name not in SYSTEMS]
    if unknown:
        raise BadInputError(f"Unknown systems {unknown}.", f"Known: {', '.join(SYSTEMS)}.")
    store = SiteStore(settings.root, site)
    try:
        opened = store.resolve(snapshot)
    except NoSnapshotError as error:
        label = f" --label {snapshot}" if snapshot else ""
        raise NoSnapshotError(
            error.message,
            f"Serve that version of the site and run: sitequest sync {site}{label}",
        ) from error
    rows = load_questions(questions, site=site, version=version or opened.label)
    report = evaluate(
        opened,
        sample(rows, limit),
        [_system(name, settings, site, opened) for name in systems],
        question_set=questions.stem,
        results=store.paths.results,
        progress=lambda name, done, total: log.info("%s: %d of %d questions", name, done, total),
    )
    return report.data


def sample(questions: list[Question], limit: int | None) -> list[Question]:
    """Return at most ``limit`` questions: those whose ids hash lowest, in their file's order."""
    if limit is None or len(questions) <= limit:
        return questions
    chosen = sorted(questions, key=lambda question: digest(question.id))[:limit]
    kept = {question.id for question in chosen}
    return [question for question in questions if question.id in kept]


def _system(name: str, settings: Settings, site: str, snapshot: Snapshot) -> System:
    """Build one system on the snapshot."""
    if name.startswith("chunk"):
        from evaluation.cache import SqliteVectorCache
        from evaluation.systems.chunk import ChunkSystem
        from retrieval.models.load import load_embedder
        from retrieval.snapshot.bodies import Bodies
        from retrieval.snapshot.layout import SitePaths

        paths = SitePaths(settings.root, site)
        return ChunkSystem.build(
            snapshot,
            Bodies(paths.bodies),
            load_embedder(settings.models.embedder),
            text="all" if name == "chunk-all" else "main",
            cache=SqliteVectorCache(paths.results / "chunk-vectors.sqlite"),
        )
    from evaluation.systems.sitequest import SitequestSystem
    from retrieval.snapshot.layout import SitePaths

    return SitequestSystem.over(
        snapshot,
        SitePaths(settings.root, site),
        config=settings.retrieval,
        models=settings.models,
    )
