"""What the @asset shells share: the run's candidate, the models, and the result of a step.

The shells are thin: they read the tables of earlier stages from the candidate, call plain logic,
write through `Candidate.write` and report counts, cost and a content-based data version.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import dagster as dg

from assets.config import SiteConfig
from assets.publishing.candidate import Candidate, Written
from assets.stage import StageCost, measured
from retrieval.snapshot.ids import digest

if TYPE_CHECKING:
    from assets.extraction.ner import Ner
    from retrieval.models.base import Embedder
    from retrieval.models.config import ModelsConfig

log = logging.getLogger("sitequest")

MODELS_KEY = "models"
LABEL_TAG = "sitequest/label"


class Models(Protocol):
    """The models of a build; a benchmark puts a cached one in its place."""

    def embedder(self, config: ModelsConfig) -> Embedder:
        """Return the embedder, loaded once for the life of the resource."""

    def ner(self, config: ModelsConfig) -> Ner:
        """Return the named-entity recogniser, loaded once for the life of the resource."""


def asset_key(site: SiteConfig, name: str) -> dg.AssetKey:
    """Return the key of stage ``name`` of a site: the site's name is the prefix."""
    return dg.AssetKey([site.name, name])


def lock_key(site: SiteConfig) -> str:
    """Return the resource key of the site's writer lock."""
    return f"writer_lock_{site.group}"


def find_candidate(context: dg.AssetExecutionContext, site: SiteConfig) -> Candidate:
    """Return the candidate that this run's `pages` step began."""
    return Candidate.find(site.paths, context.run.run_id)


@contextmanager
def stage(candidate: Candidate, name: str) -> Iterator[StageCost]:
    """Measure a stage and say on the log that it began and what it cost."""
    log.info("%s: %s …", candidate.paths.site, name)
    with measured(candidate.dir, name) as cost:
        yield cost
    log.info(
        "%s: %s done in %.1f s (%.1f s in models)",
        candidate.paths.site, name, cost.seconds, cost.model_seconds,
    )  # fmt: skip


def result(
    written: Mapping[str, Written], cost: StageCost, **metadata: float | int | str
) -> dg.MaterializeResult[None]:
    """Return the step's result: data version over the tables, counts per table, cost.

    Metadata keys are the same at every run, so that Dagster plots them over time.
    """
    version = digest(*(f"{name}={w.data_version}" for name, w in sorted(written.items())))
    counts: dict[str, float | int | str] = {}
    for name, table in written.items():
        counts[f"{name}_rows"] = table.rows
        counts[f"{name}_changed"] = table.added + table.changed + table.removed
    return dg.MaterializeResult(
        data_version=dg.DataVersion(version),
        metadata={
            **counts,
            "seconds": round(cost.seconds, 3),
            "cpu_seconds": round(cost.cpu_seconds, 3),
            "peak_rss_mb": round(cost.peak_rss_mb, 1),
            **metadata,
        },
    )
