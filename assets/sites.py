"""All assets of a site, in the order they run."""

from __future__ import annotations

import dagster as dg

from assets.blocks import blocks_asset
from assets.config import SiteConfig
from assets.graph import entities_asset, relations_asset, topics_asset
from assets.mentions import facts_asset, mentions_asset
from assets.pages import pages_asset, site_observation
from assets.published import published_asset
from assets.report import report_asset
from assets.vectors import vectors_asset

FACTORIES = (
    site_observation,
    pages_asset,
    blocks_asset,
    mentions_asset,
    facts_asset,
    entities_asset,
    relations_asset,
    topics_asset,
    vectors_asset,
    report_asset,
    published_asset,
)


def site_assets(site: SiteConfig) -> list[dg.AssetsDefinition]:
    """Build the assets of one site; their keys begin with its name."""
    return [factory(site) for factory in FACTORIES]
