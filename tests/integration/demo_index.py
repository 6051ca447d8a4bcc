"""The demo site synced twice on the real parts, shared by the tests of a session."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.demo.run import SITE, write_config
from pipelines.demo.site import DemoSource
from pipelines.settings import Settings, load_settings
from pipelines.siteserver.server import SiteServer
from pipelines.sync import SyncReport, sync


@dataclass(frozen=True)
class DemoIndex:
    """Settings and server of the demo site, and the reports of syncs of v1 and v2."""

    config: Path
    settings: Settings
    server: SiteServer
    first: SyncReport
    second: SyncReport
    site: str = SITE

    def cli(self, *arguments: str, config: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run `sitequest` in a process of its own, as a person would."""
        environment = {**os.environ, "SITEQUEST_CONFIG": str(config or self.config)}
        return subprocess.run(
            [sys.executable, "-m", "pipelines.cli.main", *arguments],
            capture_output=True, text=True, check=False, env=environment, timeout=240,
        )  # fmt: skip


@pytest.fixture(scope="session")
def demo_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoIndex]:
    """Sync v1, then v2; Dagster's home lies below the same root."""
    for name in ("DAGSTER_HOME", "SITEQUEST_DAGSTER_STORAGE"):
        os.environ.pop(name, None)
    home = tmp_path_factory.mktemp("demo")
    with SiteServer(DemoSource(), "v1") as server:
        config = write_config(home, server.url)
        settings = load_settings(config)
        first = sync(settings, SITE, label="v1")
        server.set_version("v2")
        second = sync(settings, SITE, label="v2")
        yield DemoIndex(config, settings, server, first, second)
