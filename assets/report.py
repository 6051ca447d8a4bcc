"""The `candidate_report` stage: metrics, changes, manifest, checks; holds a bad candidate."""

from collections.abc import Iterator
from importlib.metadata import version

import dagster as dg
import polars as pl

from assets.checks.names import CHECKS
from assets.config import SiteConfig
from assets.publishing.candidate import Candidate
from assets.publishing.publish import hold
from assets.shell import (
    MODELS_KEY,
    Models,
    asset_key,
    find_candidate,
    lock_key,
    log,
    stage,
)
from assets.stage import load
from assets.versions import CODE_VERSIONS
from retrieval.models.load import verify_model
from retrieval.snapshot.manifest import CheckResult, ModelEntry

_SEVERITY = {"error": dg.AssetCheckSeverity.ERROR, "warn": dg.AssetCheckSeverity.WARN}


def report_asset(site: SiteConfig) -> dg.AssetsDefinition:
    """Build the `candidate_report` asset with one asset check per table and rule.

    A failed check of severity error blocks `published_snapshot`; the candidate is then kept under
    held/ with the reason.
    """
    key = asset_key(site, "candidate_report")

    @dg.asset(
        key=key,
        deps=[asset_key(site, name) for name in ("vectors", "relations", "topics", "facts")],
        group_name=site.group,
        code_version=CODE_VERSIONS["candidate_report"],
        required_resource_keys={MODELS_KEY, lock_key(site)},
        check_specs=[
            dg.AssetCheckSpec(check.name, asset=key, blocking=True, description=check.description)
            for check in CHECKS
        ],
        description="Checks, changes and measurements of the candidate.",
    )
    def candidate_report(
        context: dg.AssetExecutionContext,
    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        from assets.checks.run import run_checks

        models: Models = getattr(context.resources, MODELS_KEY)
        candidate = find_candidate(context, site)
        with stage(candidate, "report") as cost:
            _write_manifest(site, candidate, models)
            _write_metrics(site, candidate, models)
            candidate.write_changes(code_version=CODE_VERSIONS["changes"])
        with stage(candidate, "checks") as check_cost:
            results = run_checks(candidate.snapshot(), candidate.parent, site.checks)
        _write_manifest(site, candidate, models)
        candidate.record_checks(results)
        failed = [check for check in results if not check.passed and check.severity == "error"]
        if failed:
            reason = "; ".join(f"{check.name}: {check.detail}" for check in failed)
            where = hold(candidate, reason)
            log.warning("%s: held %s — %s", site.name, where.name, reason)
        yield from (_asset_check(key, check) for check in results)
        yield dg.MaterializeResult(
            metadata={
                "snapshot": candidate.id,
                "held": bool(failed),
                "checks_failed": len(failed),
                "seconds": round(cost.seconds + check_cost.seconds, 3),
            }
        )

    return candidate_report


def _asset_check(key: dg.AssetKey, check: CheckResult) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=check.name,
        passed=check.passed,
        severity=_SEVERITY[check.severity],
        description=check.detail or None,
        metadata={"table": check.table or "all"},
    )


def _write_manifest(site: SiteConfig, candidate: Candidate, models: Models) -> None:
    embedder, ner = models.embedder(site.models), models.ner(site.models)
    weights = verify_model("ner", site.models.ner)
    entries = [
        ModelEntry(
            role="embedder", name=embedder.name, revision=embedder.revision, sha256=embedder.sha256
        ),
        ModelEntry(role="ner", name=ner.name, revision=ner.version, sha256=weights.sha256),
    ]
    stats: dict[str, float | int | str] = {"sitequest": version("sitequest")}
    for name, cost in load(candidate.dir).items():
        stats[f"{name}.seconds"] = round(cost.seconds, 3)
        stats[f"{name}.cpu_seconds"] = round(cost.cpu_seconds, 3)
        stats |= {f"{name}.{key}": value for key, value in cost.counts.items()}
    candidate.write_manifest(config_fingerprint=site.fingerprint, models=entries, stats=stats)


def _write_metrics(site: SiteConfig, candidate: Candidate, models: Models) -> None:
    """Write counts of the index, and the question set's metrics where one is configured."""
    from assets.measuring import index_counts, question_metrics

    frames = [index_counts(candidate)]
    if site.evaluation is not None:
        frames.append(question_metrics(site, site.evaluation, candidate))
    candidate.write("metrics", pl.concat(frames).to_arrow(), code_version=CODE_VERSIONS["metrics"])
