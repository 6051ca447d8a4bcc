"""The `site` observation and the `pages` stage: crawl, states, bodies; begins the candidate."""

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Self

import dagster as dg
import pyarrow as pa

from assets.config import SiteConfig
from assets.crawling.pages import build_pages
from assets.crawling.probe import probe
from assets.crawling.run import CrawlReport, crawl
from assets.publishing.candidate import Candidate, Written
from assets.shell import LABEL_TAG, asset_key, lock_key, log, result, stage
from assets.versions import CODE_VERSIONS

_PROGRESS_SECONDS = 2.0


def site_observation(site: SiteConfig) -> dg.AssetsDefinition:
    """Build the observable `site` asset: robots, sitemap and the seeds' validators, hashed."""

    key = asset_key(site, "site")
    spec = dg.AssetSpec(key, group_name=site.group, description="The website, as it is now.")

    def observe_site() -> dg.ObserveResult:
        return dg.ObserveResult(asset_key=key, data_version=dg.DataVersion(probe(site.crawl)))

    with warnings.catch_warnings():
        # Pinned to one version of Dagster, a beta function cannot change under us.
        warnings.simplefilter("ignore", dg.BetaWarning)
        decorate = dg.multi_observable_source_asset(specs=[spec], name=f"{site.group}__site")
        observed: dg.AssetsDefinition = decorate(observe_site)
    return observed


def pages_asset(site: SiteConfig) -> dg.AssetsDefinition:
    """Build the `pages` asset.

    It yields nothing when the crawl brought nothing new and neither code, configuration nor label
    ask for a new snapshot: Dagster then skips all later steps and the run succeeds.
    """

    @dg.asset(
        key=asset_key(site, "pages"),
        deps=[asset_key(site, "site")],
        group_name=site.group,
        required_resource_keys={lock_key(site)},
        code_version=CODE_VERSIONS["pages"],
        output_required=False,
        description="Known URLs with their states; raw bodies by content.",
    )
    def pages(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        label = context.run.tags.get(LABEL_TAG)
        candidate = Candidate.begin(site.paths, run_id=context.run.run_id, label=label)
        with stage(candidate, "pages") as cost, _Resident() as waiting:
            parent = candidate.parent_table("pages")
            report = crawl(
                site.crawl,
                site.paths,
                candidate.id,
                parent,
                _progress(site.name),
                # A 304 says nothing to code that would read the page in another way.
                conditional=candidate.parent_table("pages", CODE_VERSIONS["pages"]) is not None,
            )
            waiting.stop()
            table = build_pages(report.journal, parent, now=datetime.now(UTC), config=site.crawl)
            written = candidate.write("pages", table, code_version=CODE_VERSIONS["pages"])
            cost.counts = _counts(table, report) | {"waiting_rss_mb": round(waiting.peak_mb, 1)}
        if nothing_new(site, candidate, written):
            log.info("%s: nothing changed, the published snapshot stays", site.name)
            candidate.drop()
            return
        yield result({"pages": written}, cost, requests=report.requests, bytes=report.bytes)

    return pages


class _Resident:
    """Samples this process's resident memory while the crawl subprocess works."""

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the sampling."""
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        import psutil

        process = psutil.Process()
        while True:
            self.peak_mb = max(self.peak_mb, process.memory_info().rss / 2**20)
            if self._done.wait(0.2):
                return


def _progress(site: str) -> Callable[[dict[str, Any]], None]:
    """Return what tells the log how far the crawl is, at most every two seconds."""
    last = 0.0

    def report(event: dict[str, Any]) -> None:
        nonlocal last
        if time.monotonic() - last >= _PROGRESS_SECONDS:
            last = time.monotonic()
            told = ", ".join(f"{k} {v}" for k, v in event.items() if k != "event")
            log.info("%s: crawl: %s", site, told)

    return report


def _counts(pages: pa.Table, report: CrawlReport) -> dict[str, float]:
    """Return pages by state and what the crawl cost."""
    states = pages["state"].value_counts().to_pylist()
    return {
        **{item["values"]: item["counts"] for item in states},
        "requests": report.requests,
        "bytes": report.bytes,
        "crawl_cpu_seconds": report.cpu_seconds,
        "crawl_peak_rss_mb": report.peak_rss_mb,
    }


def nothing_new(site: SiteConfig, candidate: Candidate, pages: Written) -> bool:
    """Say whether the parent already is what this run would make.

    True when the pages are the parent's (history columns aside) and code, configuration, models
    and label are too: every later table is a pure function of those.
    """
    parent = candidate.parent
    if parent is None:
        return False
    manifest = parent.manifest
    return (
        manifest.tables["pages"].data_version == pages.data_version
        and manifest.config_fingerprint == site.fingerprint
        and all(_same_code(entry.code_version, n) for n, entry in manifest.tables.items())
        and candidate.label in (None, manifest.label)
    )


def _same_code(version: str, table: str) -> bool:
    """Compare code versions; what follows a dot is configuration, which the fingerprint covers."""
    return version == CODE_VERSIONS[table] or version.startswith(f"{CODE_VERSIONS[table]}.")
