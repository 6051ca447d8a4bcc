"""`bench first-sync`: a real site from nothing to a published snapshot.

The site is served by another process; the sync runs in a process of its own on an empty data root.
``overhead`` is the wall time of that whole process, start and imports included, divided by the time
in the embedding and entity models; hits of the cache of model outputs are charged their recorded
time on both sides. ``other_cpu_s_per_1000_pages`` is all CPU time of the process and its children
less that of the two models.
"""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pipelines.benchmarks.data import SITES, MeasuredSite, Served, served, unpack
from pipelines.benchmarks.registry import Options
from retrieval.errors import BadInputError, SitequestError
from retrieval.snapshot.schemas import PAGE_STATES

log = logging.getLogger("sitequest")

MODEL_STAGES = ("mentions", "vectors")


def run(options: Options) -> dict[str, Any]:
    """Measure one site (``--site``, default ucsd). Raises SitequestError when the sync fails."""
    name = options.site or "ucsd"
    if name not in SITES:
        raise BadInputError(
            f"There is no measured site {name!r}.", f"There are: {', '.join(SITES)}."
        )
    site = SITES[name]
    root = unpack(site, options.data, options.home)
    with served({site.label: root}) as server:
        config = write_config(options.home, site, server)
        home = config.parent / "data"
        shutil.rmtree(home, ignore_errors=True)
        wall, result = run_worker(config, site, options.home / "cache")
        requests = server.admin_call("GET", "/requests")
    log.info("%s: %s in %.0f s", site.name, result["snapshot"], wall)
    return figures(site, wall, result, len(requests), _disallowed(root, site, requests))


def write_config(home: Path, site: MeasuredSite, server: Served) -> Path:
    """Write the sites.yaml of a measured site; its data root lies beside it."""
    directory = home / site.name
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "sites.yaml"
    document = {
        "root": "data",
        "sites": {
            site.name: {
                "seeds": [site.seed],
                "host_map": {site.host: server.url},
                "politeness": {"concurrency": 8},
            }
        },
    }
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def run_worker(config: Path, site: MeasuredSite, cache: Path) -> tuple[float, dict[str, Any]]:
    """Run the sync in its own process; return its wall seconds and what it printed."""
    command = [sys.executable, "-m", "pipelines.benchmarks.worker"]
    command += [str(config), site.name, site.label, str(cache)]
    began = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    wall = time.perf_counter() - began
    lines = done.stdout.strip().splitlines()
    result: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    if done.returncode != 0 or "error" in result:
        raise SitequestError(
            f"The sync of {site.name} failed: {result.get('error', 'no result')}.",
            "Its log is above.",
        )
    return wall, result


def figures(
    site: MeasuredSite, wall: float, result: dict[str, Any], requests: int, disallowed: int
) -> dict[str, Any]:
    """Compute the figures from the stage costs, the process's costs and the server's log."""
    stages, saved = result["stages"], result["saved_seconds"]
    counts = {key: value for cost in stages.values() for key, value in cost["counts"].items()}
    model = sum(stages[name]["model_seconds"] for name in MODEL_STAGES)
    model_cpu = sum(stages[name]["model_cpu_seconds"] for name in MODEL_STAGES)
    live = counts["live"]
    other_cpu = result["cpu_seconds"] - model_cpu
    return {
        "site": site.name,
        "snapshot": result["snapshot"],
        "status": result["status"],
        "pages_live": live,
        "pages_by_state": {s: n for s in PAGE_STATES if (n := counts.get(s))},
        "requests": requests,
        "requests_to_disallowed": disallowed,
        "blocks": result["rows"]["blocks"],
        "blocks_kept": counts.get("blocks_kept"),
        "texts": result["rows"]["texts"],
        "facts": result["rows"]["facts"],
        "entities": result["rows"]["entities"],
        "relations": result["rows"]["relations"],
        "inputs": counts["inputs"],
        "inputs_embedded": counts["inputs_embedded"],
        "wall_seconds": round(wall + saved, 2),
        "model_seconds": round(model + saved, 2),
        "charged_seconds": round(saved, 2),
        "overhead": round((wall + saved) / (model + saved), 3),
        "other_cpu_seconds": round(other_cpu, 2),
        "other_cpu_s_per_1000_pages": round(1000 * other_cpu / live, 2),
        "peak_rss_mb": round(
            max(result["children_peak_rss_mb"], *(c["peak_rss_mb"] for c in stages.values())), 1
        ),
        "waiting_rss_mb": counts["waiting_rss_mb"],
        "failed_checks": result["failed_checks"],
        "stages": {
            name: {
                key: round(cost[key], 2)
                for key in (
                    "seconds",
                    "cpu_seconds",
                    "model_seconds",
                    "load_seconds",
                    "peak_rss_mb",
                )
            }
            for name, cost in stages.items()
        },
    }


def _disallowed(root: Path, site: MeasuredSite, requests: list[dict[str, Any]]) -> int:
    """Count the requests that the site's own robots.txt forbids."""
    from assets.crawling.robots import read

    rules = root / "robots.txt"
    if not rules.exists():
        return 0
    robots = read(rules.read_bytes())
    targets = [str(request["target"]) for request in requests]
    return sum(not robots.allows(f"http://{site.host}{target}") for target in targets)
