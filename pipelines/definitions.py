"""Dagster's entry point: `build_defs(settings, overrides)` and the lazy `defs` of this directory.

Only wiring. Importing this module loads no heavy library and reads no file; `defs` does when
Dagster calls it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.shell import MODELS_KEY, lock_key
from assets.sites import site_assets
from pipelines.jobs import sync_job, sync_schedule
from pipelines.resources import LoadedModels, writer_lock_resource
from pipelines.sensors import run_log_sensors
from pipelines.settings import Settings, find_config, load_settings


def build_defs(settings: Settings, overrides: Mapping[str, Any] | None = None) -> dg.Definitions:
    """Build assets, jobs, schedules and sensors of every site of ``settings``.

    ``overrides`` replaces resources by key (``models``: something that satisfies
    `assets.shell.Models`), so that the whole graph can be tested or benchmarked.
    """
    sites = [settings.site(name) for name in settings.sites]
    assets = [asset for site in sites for asset in site_assets(site)]
    jobs = {site.name: sync_job(site.name) for site in sites}
    schedules = [
        sync_schedule(jobs[name], name, site.schedule)
        for name, site in settings.sites.items()
        if site.schedule is not None
    ]
    resources: dict[str, Any] = {
        MODELS_KEY: LoadedModels(),
        **{lock_key(site): writer_lock_resource(site.paths) for site in sites},
        **(overrides or {}),
    }
    return dg.Definitions(
        assets=assets,
        jobs=list(jobs.values()),
        schedules=schedules,
        sensors=run_log_sensors(settings.root, list(jobs.values())),
        resources=resources,
    )


@dg.definitions
def defs() -> dg.Definitions:
    """Return the definitions of the configuration that lies here (or $SITEQUEST_CONFIG)."""
    return build_defs(load_settings(find_config()))
