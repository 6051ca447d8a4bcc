"""The `published_snapshot` stage: the only thing that moves LATEST."""

import dagster as dg

from assets.config import SiteConfig
from assets.publishing.publish import publish, republish
from assets.shell import asset_key, find_candidate, lock_key, log
from assets.versions import CODE_VERSIONS


class PublishConfig(dg.Config):
    """``snapshot_id`` names a kept or held snapshot to serve instead of this run's candidate."""

    snapshot_id: str | None = None


def published_asset(site: SiteConfig) -> dg.AssetsDefinition:
    """Build the `published_snapshot` asset."""

    @dg.asset(
        key=asset_key(site, "published_snapshot"),
        deps=[asset_key(site, "candidate_report")],
        group_name=site.group,
        required_resource_keys={lock_key(site)},
        code_version=CODE_VERSIONS["published_snapshot"],
        description="The snapshot that readers open: LATEST.",
    )
    def published_snapshot(
        context: dg.AssetExecutionContext, config: PublishConfig
    ) -> dg.MaterializeResult[None]:
        if config.snapshot_id is None:
            snapshot = publish(find_candidate(context, site))
        else:
            snapshot = republish(site.paths, config.snapshot_id)
        log.info("%s: published %s", site.name, snapshot.id)
        tables = snapshot.manifest.tables
        return dg.MaterializeResult(
            data_version=dg.DataVersion(snapshot.id),
            metadata={
                "snapshot": snapshot.id,
                "parent": snapshot.manifest.parent or "",
                "label": snapshot.manifest.label or "",
                "path": dg.MetadataValue.path(str(snapshot.dir)),
                "pages": tables["pages"].rows,
                "blocks": tables["blocks"].rows,
                "texts": tables["texts"].rows,
                "facts": tables["facts"].rows,
                "entities": tables["entities"].rows,
            },
        )

    return published_snapshot
