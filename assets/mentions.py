"""The `mentions` and `facts` stages: what texts and tables say, raw, before any linking."""

import dagster as dg

from assets.config import SiteConfig
from assets.shell import (
    MODELS_KEY,
    Models,
    asset_key,
    find_candidate,
    lock_key,
    result,
    stage,
)
from assets.versions import CODE_VERSIONS


def mentions_asset(site: SiteConfig) -> dg.AssetsDefinition:
    """Build the `mentions` asset."""

    @dg.asset(
        key=asset_key(site, "mentions"),
        deps=[asset_key(site, "blocks")],
        group_name=site.group,
        code_version=CODE_VERSIONS["mentions"],
        required_resource_keys={MODELS_KEY, lock_key(site)},
        description="Entity mentions per distinct kept text.",
    )
    def mentions(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from assets.extraction.mentions import build_mentions, mentions_version

        models: Models = getattr(context.resources, MODELS_KEY)
        candidate = find_candidate(context, site)
        with stage(candidate, "mentions") as cost:
            ner = models.ner(site.models)
            inputs = [candidate.table(name) for name in ("pages", "blocks", "links", "texts")]
            table = build_mentions(*inputs, parent=candidate, ner=ner)
            written = candidate.write("mentions", table, code_version=mentions_version(ner))
            cost.model_seconds, cost.load_seconds = ner.seconds, ner.load_seconds
            cost.model_cpu_seconds = ner.cpu_seconds
            cost.counts = {"texts_read_by_model": ner.texts}
        return result({"mentions": written}, cost)

    return mentions


def facts_asset(site: SiteConfig) -> dg.AssetsDefinition:
    """Build the `facts` asset."""

    @dg.asset(
        key=asset_key(site, "facts"),
        deps=[asset_key(site, "blocks")],
        group_name=site.group,
        required_resource_keys={lock_key(site)},
        code_version=CODE_VERSIONS["facts"],
        description="Labels and values from tables, definition lists and labelled lines.",
    )
    def facts(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from assets.extraction.facts import build_facts

        candidate = find_candidate(context, site)
        with stage(candidate, "facts") as cost:
            inputs = [candidate.table(name) for name in ("pages", "blocks", "links", "texts")]
            written = candidate.write(
                "facts", build_facts(*inputs), code_version=CODE_VERSIONS["facts"]
            )
        return result({"facts": written}, cost)

    return facts
