"""`sync`: run a site's job in this process on the persistent instance and report the outcome."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from assets.publishing.candidate import Candidate
from assets.shell import LABEL_TAG
from assets.stage import StageCost, load
from pipelines.instance import open_instance
from pipelines.jobs import job_name
from pipelines.settings import Settings
from retrieval.errors import SitequestError
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.manifest import Manifest
from retrieval.snapshot.reader import SiteStore, open_dir

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class InterruptedSyncError(SitequestError):
    """Somebody ended the sync."""

    exit_code = 130


@dataclass(frozen=True)
class SyncReport:
    """What a sync did.

    ``status`` is published, unchanged (nothing new: LATEST stays) or held (a check failed: LATEST
    stays); ``changes`` counts rows by table and kind; ``stages`` are the costs.
    """

    site: str
    status: Literal["published", "unchanged", "held"]
    run_id: str
    manifest: Manifest
    directory: Path
    changes: dict[str, dict[str, int]]
    stages: dict[str, StageCost]


def sync(
    settings: Settings,
    site: str,
    *,
    label: str | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> SyncReport:
    """Sync ``site``.

    Raises the SitequestError that a stage raised (unreachable host, busy site, full disk, …);
    a failure of another kind comes as SitequestError that names the run.
    """
    from pipelines.definitions import build_defs

    paths = settings.site(site).paths
    job = build_defs(settings, overrides).resolve_job_def(job_name(site))
    tags = {LABEL_TAG: label} if label else {}
    with open_instance(settings.root) as instance:
        run_id = str(uuid4())
        try:
            job.execute_in_process(instance=instance, run_id=run_id, tags=tags, run_config=QUIET)
        except BaseException as error:
            report = _find(paths, run_id)
            if report is None or report.status != "held":
                _drop_candidate(paths, run_id)
                raise _cause(error) from error
            return report
    return _find(paths, run_id) or _unchanged(paths, run_id)


def _drop_candidate(paths: SitePaths, run_id: str) -> None:
    """Remove what a failed run left in staging, if it got that far."""
    with suppress(SitequestError, OSError):
        Candidate.find(paths, run_id).drop()


def _cause(error: BaseException) -> SitequestError:
    """Return the SitequestError behind what Dagster raised, or one that says what happened."""
    from dagster._core.errors import DagsterExecutionInterruptedError

    if isinstance(error, (KeyboardInterrupt, DagsterExecutionInterruptedError)):
        return InterruptedSyncError("The sync was interrupted.", "LATEST is as it was; sync again.")
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:  # Dagster's contexts can form a ring
        if isinstance(link, SitequestError):
            return link
        chain.append(link)
        link = link.__cause__ or link.__context__
    return SitequestError(
        f"The sync failed: {type(error).__name__}: {str(error).splitlines()[0]}.",
        "LATEST is as it was. `sitequest dagster` shows the run with its log.",
    )


def _find(paths: SitePaths, run_id: str) -> SyncReport | None:
    """Return the report of what run ``run_id`` published or held."""
    for directory, status in _candidates(paths):
        manifest = open_dir(directory).manifest
        if manifest.run_id == run_id:
            changes, stages = _changes(directory), load(directory)
            return SyncReport(paths.site, status, run_id, manifest, directory, changes, stages)
    return None


def _unchanged(paths: SitePaths, run_id: str) -> SyncReport:
    latest = SiteStore(paths.root, paths.site).latest()
    return SyncReport(paths.site, "unchanged", run_id, latest.manifest, latest.dir, {}, {})


def _candidates(paths: SitePaths) -> list[tuple[Path, Literal["published", "held"]]]:
    """Return published and held snapshots, newest first."""
    found: list[tuple[Path, Literal["published", "held"]]] = []
    found += [(path, "published") for path in _entries(paths.snapshots)]
    found += [(path, "held") for path in _entries(paths.held)]
    return sorted(found, key=lambda item: item[0].name, reverse=True)


def _entries(directory: Path) -> list[Path]:
    return [Path(entry) for entry in os.scandir(directory)] if directory.is_dir() else []


def _changes(directory: Path) -> dict[str, dict[str, int]]:
    """Count the rows of `changes` by table and kind."""
    counts = (
        open_dir(directory).table("changes").group_by("table", "kind").len().sort("table", "kind")
    )
    result: dict[str, dict[str, int]] = {}
    for table, kind, count in counts.iter_rows():
        result.setdefault(table, {})[kind] = count
    return result
