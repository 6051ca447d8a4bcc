"""One job per site, on its own cron where the configuration says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from assets.config import identifier

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import (
        UnresolvedAssetJobDefinition,
    )

    from pipelines.settings import Schedule


def job_name(site: str) -> str:
    """Return the name of the sync job of a site (Dagster allows no '-' in names)."""
    return f"sync_{identifier(site)}"


def sync_job(site: str) -> UnresolvedAssetJobDefinition:
    """Build the job that materializes every stage of ``site`` in one process."""
    return dg.define_asset_job(
        job_name(site),
        # The observation of the site is not part of it: the crawl itself asks politely.
        selection=dg.AssetSelection.groups(identifier(site))
        - dg.AssetSelection.assets(dg.AssetKey([site, "site"])),
        executor_def=dg.in_process_executor,
        tags={"sitequest/site": site},
        description=f"Crawl {site}, rebuild what changed, check it, publish it.",
    )


def sync_schedule(
    job: UnresolvedAssetJobDefinition, site: str, schedule: Schedule
) -> dg.ScheduleDefinition:
    """Build the schedule of ``job``; it runs once the daemon does, unless disabled."""
    running = dg.DefaultScheduleStatus.RUNNING
    return dg.ScheduleDefinition(
        name=f"{job_name(site)}_schedule",
        job=job,
        cron_schedule=schedule.cron,
        execution_timezone=schedule.timezone,
        default_status=running if schedule.enabled else dg.DefaultScheduleStatus.STOPPED,
    )
