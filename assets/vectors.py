"""The `vectors` stage: each distinct string embedded once, then the files the query side maps."""

import dagster as dg

from assets.config import SiteConfig
from assets.shell import (
    MODELS_KEY,
    Models,
    asset_key,
    find_candidate,
    lock_key,
    log,
    stage,
)
from assets.versions import CODE_VERSIONS


def vectors_asset(site: SiteConfig) -> dg.AssetsDefinition:
    """Build the `vectors` asset (vectors.lance and search/)."""

    @dg.asset(
        key=asset_key(site, "vectors"),
        deps=[
            asset_key(site, name) for name in ("blocks", "facts", "entities", "relations", "topics")
        ],
        group_name=site.group,
        code_version=CODE_VERSIONS["vectors"],
        required_resource_keys={MODELS_KEY, lock_key(site)},
        description="Vectors in LanceDB; the mirror, BM25 and graph files of search/.",
    )
    def vectors(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from assets.embedding.search import build_search
        from assets.embedding.vectors import update_vectors

        models: Models = getattr(context.resources, MODELS_KEY)
        candidate = find_candidate(context, site)
        with stage(candidate, "vectors") as cost:
            embedder = models.embedder(site.models)

            def progress(done: int, total: int) -> None:
                log.info("%s: embedded %d of %d strings", site.name, done, total)

            stats = update_vectors(candidate, embedder, progress=progress)
            cost.model_seconds = stats.seconds
            cost.model_cpu_seconds = stats.cpu_seconds
            cost.counts = {
                "inputs": stats.inputs,
                "inputs_embedded": stats.inputs_embedded,
                "inputs_reused": stats.reused,
                "inputs_removed": stats.removed,
            }
        with stage(candidate, "search") as search_cost:
            build_search(candidate)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(stats.data_version),
            metadata={
                **cost.counts,
                "seconds": round(cost.seconds, 3),
                "model_seconds": round(cost.model_seconds, 3),
                "peak_rss_mb": round(cost.peak_rss_mb, 1),
                "search_seconds": round(search_cost.seconds, 3),
            },
        )

    return vectors
