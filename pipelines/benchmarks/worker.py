"""One sync in a process of its own, so that a benchmark sees its whole cost; prints JSON.

Called as ``python -m pipelines.benchmarks.worker CONFIG SITE LABEL CACHE``.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assets.shell import MODELS_KEY
from assets.stage import load
from pipelines.benchmarks.cache import CachedModels
from pipelines.settings import load_settings
from pipelines.sync import sync
from retrieval.errors import SitequestError


def main(config: str, site: str, label: str, cache: str) -> int:
    """Sync and print what it did; 1 after an error, printed as JSON too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    logger = logging.getLogger("sitequest")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    models = CachedModels(Path(cache))
    try:
        report = sync(
            load_settings(Path(config)), site, label=label, overrides={MODELS_KEY: models}
        )
    except SitequestError as error:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        return 1
    document: dict[str, Any] = {
        "status": report.status,
        "snapshot": report.manifest.id,
        "rows": {name: entry.rows for name, entry in report.manifest.tables.items()},
        "failed_checks": [c.model_dump() for c in report.manifest.checks if not c.passed],
        "stages": {name: asdict(cost) for name, cost in load(report.directory).items()},
        "saved_seconds": models.saved_seconds,
        "cpu_seconds": _cpu(resource.RUSAGE_SELF) + _cpu(resource.RUSAGE_CHILDREN),
        "children_peak_rss_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
    }
    sys.stdout.write(json.dumps(document) + "\n")
    return 0


def _cpu(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
