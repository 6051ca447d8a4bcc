"""Dagster's side of a sync: what its UI shows of it, and that its daemon fires the schedule."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import dagster as dg
import pytest

from pipelines.definitions import build_defs
from pipelines.instance import open_instance, prepare_home
from pipelines.siteserver.server import SiteServer
from tests.integration.demo_index import DemoIndex, demo_index

__all__ = ["demo_index"]

STAGES = (
    "pages", "blocks", "mentions", "facts", "entities", "relations", "topics", "vectors",
    "candidate_report", "published_snapshot",
)  # fmt: skip


def environment(demo_config: Path, root: Path) -> dict[str, str]:
    named = {k: v for k, v in os.environ.items() if not k.startswith("DAGSTER_")}
    named.pop("SITEQUEST_DAGSTER_STORAGE", None)
    home = root / "dagster"
    return {
        **named,
        "DAGSTER_HOME": str(home),
        "SITEQUEST_DAGSTER_STORAGE": str(home / "storage"),
        "SITEQUEST_CONFIG": str(demo_config),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }


def test_every_stage_is_materialized_with_version_and_counts(demo_index: DemoIndex) -> None:
    with open_instance(demo_index.settings.root) as instance:
        for stage in STAGES:
            event = instance.get_latest_materialization_event(dg.AssetKey(["demo", stage]))
            assert event is not None, stage
            assert event.asset_materialization is not None
            tags = event.asset_materialization.tags or {}
            assert event.run_id == demo_index.second.run_id
            if stage != "candidate_report":
                assert tags["dagster/data_version"]
            assert tags["dagster/code_version"]
            metadata = event.asset_materialization.metadata
            if stage in ("blocks", "facts", "entities"):
                assert metadata[f"{stage}_rows"].value > 0
                assert metadata[f"{stage}_changed"].value >= 0
                assert metadata["seconds"].value > 0


def test_data_versions_are_of_content(demo_index: DemoIndex) -> None:
    """The same stage at two syncs has the same version exactly when its table did not change."""
    with open_instance(demo_index.settings.root) as instance:
        records = instance.fetch_materializations(dg.AssetKey(["demo", "facts"]), limit=2).records
    versions = [(r.asset_materialization.tags or {})["dagster/data_version"] for r in records]
    before, after = (
        report.manifest.tables["facts"].data_version
        for report in (demo_index.first, demo_index.second)
    )
    assert (versions[0] == versions[1]) == (before == after)


def test_checks_of_both_runs_are_kept(demo_index: DemoIndex) -> None:
    from assets.checks.names import CHECKS

    with open_instance(demo_index.settings.root) as instance:
        key = dg.AssetKey(["demo", "candidate_report"])
        for check in CHECKS:
            records = instance.event_log_storage.get_asset_check_execution_history(
                dg.AssetCheckKey(key, check.name), limit=5
            )
            assert len(records) == 2, check.name


def test_the_asset_graph(demo_index: DemoIndex) -> None:
    """The lineage a person sees: from the website to what is served, per site by key prefix."""
    graph = build_defs(demo_index.settings).resolve_asset_graph()
    parents = {
        key.path[-1]: sorted(parent.path[-1] for parent in graph.get(key).parent_keys)
        for key in graph.get_all_asset_keys()
    }
    assert parents == {
        "site": [],
        "pages": ["site"],
        "blocks": ["pages"],
        "mentions": ["blocks"],
        "facts": ["blocks"],
        "entities": ["blocks", "mentions"],
        "relations": ["entities", "facts"],
        "topics": ["entities"],
        "vectors": ["blocks", "entities", "facts", "relations", "topics"],
        "candidate_report": ["facts", "relations", "topics", "vectors"],
        "published_snapshot": ["candidate_report"],
    }


def test_the_site_can_be_observed(demo_index: DemoIndex, tmp_path: Path) -> None:
    key = dg.AssetKey(["demo", "site"])
    assets = [build_defs(demo_index.settings).resolve_asset_graph().get(key).assets_def]
    job = dg.Definitions(
        assets, jobs=[dg.define_asset_job("look", selection=[key])]
    ).resolve_job_def("look")
    versions = []
    for served in ("v1", "v1", "v2"):
        demo_index.server.set_version(served)
        with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
            job.execute_in_process(instance=instance)
            event = instance.fetch_observations(key, limit=1).records[0]
        assert event.asset_observation is not None
        versions.append(event.asset_observation.tags["dagster/data_version"])
    assert versions[0] == versions[1] != versions[2]


# -- the UI -----------------------------------------------------------------------------------


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _running(command: list[str], env: dict[str, str], log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=env, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            yield
        finally:
            os.killpg(process.pid, 15)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait(timeout=30)


def _until(found: Callable[[], Any], seconds: float, log: Path) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            value = found()
        except (URLError, OSError):
            value = None
        if value:
            return value
        time.sleep(0.5)
    pytest.fail(f"nothing within {seconds} s:\n{log.read_text(errors='replace')[-3000:]}")


@pytest.fixture(scope="module")
def webserver(demo_index: DemoIndex, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run Dagster's web server on the demo's instance; gives its address."""
    port = _free_port()
    log = tmp_path_factory.mktemp("web") / "log"
    env = environment(demo_index.config, demo_index.settings.root)
    command = [sys.executable, "-m", "dagster_webserver", "-m", "pipelines.definitions"]
    command += ["-h", "127.0.0.1", "-p", str(port)]
    with _running(command, env, log):
        url = f"http://127.0.0.1:{port}"
        _until(lambda: urlopen(f"{url}/server_info", timeout=5).read(), 120, log)
        yield url


def _graphql(url: str, query: str) -> Any:
    request = Request(f"{url}/graphql", data=json.dumps({"query": query}).encode())
    request.add_header("Content-Type", "application/json")
    with urlopen(request, timeout=60) as response:
        answer = json.loads(response.read())
    assert "errors" not in answer, answer
    return answer["data"]


def test_graphql_shows_lineage_checks_and_plots(webserver: str, demo_index: DemoIndex) -> None:
    data = _graphql(
        webserver,
        """{ assetNodes(group: {groupName: "demo", repositoryName: "__repository__",
                                repositoryLocationName: "pipelines.definitions"}) {
               assetKey { path } dependencyKeys { path } opVersion hasAssetChecks
               assetMaterializations(limit: 2) { runId metadataEntries {
                   label ... on IntMetadataEntry { intValue } } } } }""",
    )
    nodes = {node["assetKey"]["path"][-1]: node for node in data["assetNodes"]}
    assert set(STAGES) <= set(nodes)
    assert nodes["published_snapshot"]["dependencyKeys"] == [{"path": ["demo", "candidate_report"]}]
    assert nodes["candidate_report"]["hasAssetChecks"]
    materializations = nodes["blocks"]["assetMaterializations"]
    assert {m["runId"] for m in materializations} == {
        demo_index.first.run_id,
        demo_index.second.run_id,
    }
    plotted = {entry["label"] for entry in materializations[0]["metadataEntries"]}
    assert {"blocks_rows", "texts_rows", "links_changed", "seconds"} <= plotted


def test_the_ui_in_a_browser(webserver: str, tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Debian's chromium is not installed")
    from playwright.sync_api import expect, sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--no-first-run"]  # fmt: skip
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=flags)
        page = browser.new_page(viewport={"width": 1500, "height": 900})
        page.goto(f"{webserver}/asset-groups/demo/lineage")
        page.goto(f"{webserver}/assets/demo/candidate_report?view=checks")
        expect(page.get_by_text("blocks_expectations").first).to_be_visible(timeout=60_000)
        page.goto(f"{webserver}/assets/demo/published_snapshot")
        expect(page.get_by_text("published_snapshot").first).to_be_visible(timeout=60_000)
        page.screenshot(path=tmp_path / "ui.png")
        browser.close()
    assert (tmp_path / "ui.png").stat().st_size > 10_000


# -- the schedule ---------------------------------------------------------------------------------

PAGE = (
    "<html><title>{0} - Alder</title><h1>{0}</h1><p>The {0} is open from nine to five.</p></html>"
)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_daemon_fires_the_schedule(
    serve_site: Callable[..., SiteServer], tmp_path: Path
) -> None:
    links = "".join(f'<a href="/{name}">{name}</a>' for name in ("library", "museum", "gate"))
    pages = {f"/{name}": PAGE.format(name) for name in ("library", "museum", "gate")}
    server = serve_site({"/": f"<title>Alder</title><h1>Alder</h1>{links}", **pages})
    config = tmp_path / "sites.yaml"
    config.write_text(
        "root: data\nsites:\n  alder:\n    seeds: [http://alder.example/]\n"
        f"    host_map: {{alder.example: '{server.url}'}}\n"
        "    schedule: {cron: '* * * * *'}\n"
    )
    root = tmp_path / "data"
    prepare_home(root)
    env = environment(config, root)
    log = tmp_path / "daemon.log"
    command = [sys.executable, "-m", "dagster._daemon", "run", "-m", "pipelines.definitions"]
    with _running(command, env, log):
        _until((root / "alder/LATEST.json").exists, 240, log)
        lines = _until(lambda: _lines(root / "runs.jsonl"), 120, log)
    assert lines[0]["job"] == "sync_alder"
    assert lines[0]["status"] == "SUCCESS"


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
