"""The `blocks` stage: bodies into blocks, links and texts."""

import dagster as dg

from assets.config import SiteConfig
from assets.shell import (
    MODELS_KEY,
    Models,
    asset_key,
    find_candidate,
    lock_key,
    log,
    result,
    stage,
)
from assets.versions import CODE_VERSIONS


def blocks_asset(site: SiteConfig) -> dg.AssetsDefinition:
    """Build the `blocks` asset (tables blocks, links, texts)."""

    @dg.asset(
        key=asset_key(site, "blocks"),
        deps=[asset_key(site, "pages")],
        group_name=site.group,
        code_version=CODE_VERSIONS["blocks"],
        required_resource_keys={MODELS_KEY, lock_key(site)},
        description="Blocks under their headings, hyperlinks, distinct texts.",
    )
    def blocks(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from assets.crawling.urls import UrlRules
        from assets.parsing.blocks import build_blocks
        from retrieval.snapshot.bodies import Bodies

        models: Models = getattr(context.resources, MODELS_KEY)
        candidate = find_candidate(context, site)
        with stage(candidate, "blocks") as cost:
            embedder = models.embedder(site.models)
            tables = build_blocks(
                candidate.table("pages"),
                Bodies(site.paths.bodies),
                parent=candidate,
                config=site.parse,
                count_tokens=embedder.count_tokens,
                max_tokens=embedder.max_tokens,
                tokenizer=embedder.sha256,
                key_of=UrlRules(site.crawl).key_of,
            )
            written = {
                name: candidate.write(name, getattr(tables, name), code_version=tables.code_version)
                for name in ("blocks", "links", "texts")
            }
            cost.counts = dict(tables.stats)
            for page in tables.conservation_failures:
                log.warning("%s: page %s lost visible text when parsed", site.name, page)
        return result(written, cost)

    return blocks
