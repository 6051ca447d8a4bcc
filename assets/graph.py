"""The linking stages: entities, relations and topics, recomputed whole, vectorised."""

import dagster as dg

from assets.config import SiteConfig
from assets.shell import asset_key, find_candidate, lock_key, result, stage
from assets.versions import CODE_VERSIONS


def entities_asset(site: SiteConfig) -> dg.AssetsDefinition:
    """Build the `entities` asset (tables entities, entity_edges)."""

    @dg.asset(
        key=asset_key(site, "entities"),
        deps=[asset_key(site, "mentions"), asset_key(site, "blocks")],
        group_name=site.group,
        required_resource_keys={lock_key(site)},
        code_version=CODE_VERSIONS["entities"],
        description="Resolved entities and the blocks that mention them.",
    )
    def entities(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from assets.linking.entities import build_entities

        candidate = find_candidate(context, site)
        with stage(candidate, "entities") as cost:
            names = ("pages", "blocks", "links", "texts", "mentions")
            tables = build_entities(*(candidate.table(name) for name in names))
            written = {
                name: candidate.write(name, table, code_version=CODE_VERSIONS[name])
                for name, table in zip(("entities", "entity_edges"), tables, strict=True)
            }
        return result(written, cost)

    return entities


def relations_asset(site: SiteConfig) -> dg.AssetsDefinition:
    """Build the `relations` asset."""

    @dg.asset(
        key=asset_key(site, "relations"),
        deps=[asset_key(site, "entities"), asset_key(site, "facts")],
        group_name=site.group,
        required_resource_keys={lock_key(site)},
        code_version=CODE_VERSIONS["relations"],
        description="Typed edges between entities, each with a block that shows it.",
    )
    def relations(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from assets.linking.relations import build_relations

        candidate = find_candidate(context, site)
        with stage(candidate, "relations") as cost:
            names = ("pages", "blocks", "links", "texts", "entities", "entity_edges", "facts")
            table = build_relations(*(candidate.table(name) for name in names))
            written = candidate.write("relations", table, code_version=CODE_VERSIONS["relations"])
        return result({"relations": written}, cost)

    return relations


def topics_asset(site: SiteConfig) -> dg.AssetsDefinition:
    """Build the `topics` asset (tables topics, topic_edges)."""

    @dg.asset(
        key=asset_key(site, "topics"),
        deps=[asset_key(site, "entities")],
        group_name=site.group,
        required_resource_keys={lock_key(site)},
        code_version=CODE_VERSIONS["topics"],
        description="Topics of the site and their edges to entities and blocks.",
    )
    def topics(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from assets.linking.topics import build_topics

        candidate = find_candidate(context, site)
        with stage(candidate, "topics") as cost:
            names = ("pages", "blocks", "texts", "entities", "entity_edges")
            tables = build_topics(*(candidate.table(name) for name in names), parent=candidate)
            written = {
                name: candidate.write(name, table, code_version=CODE_VERSIONS[name])
                for name, table in zip(("topics", "topic_edges"), tables, strict=True)
            }
        return result(written, cost)

    return topics
