"""What a stage of a run costs: wall seconds, CPU seconds, peak memory, model seconds.

Costs are kept beside the tables of a candidate (``stages.json``) and copied into the manifest, so
that a benchmark or an auditor can read them from the snapshot. They are measurements: never part of
a data version.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

STAGES_FILE = "stages.json"


@dataclass
class StageCost:
    """Cost of one stage. CPU seconds count this process and its ended children.

    ``model_seconds`` is the wall time inside models and ``model_cpu_seconds`` its CPU time,
    ``load_seconds`` the wall time of loading them (counted in neither), ``peak_rss_mb`` the
    largest resident size of this process during the stage in MiB. ``counts`` holds what the stage
    counted (pages by state, inputs embedded, …).
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss_mb: float = 0.0
    model_seconds: float = 0.0
    model_cpu_seconds: float = 0.0
    load_seconds: float = 0.0
    counts: dict[str, float] = field(default_factory=dict)


def _cpu_seconds() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _reset_peak() -> None:
    """Start a new high-water mark of resident memory, where the kernel lets us."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_rss_mb() -> float:
    """Return the high-water mark of this process's resident memory in MiB."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def measured(directory: Path, name: str) -> Iterator[StageCost]:
    """Measure the body as stage ``name`` and add the cost to ``directory``'s stage file."""
    cost = StageCost()
    _reset_peak()
    wall, cpu = time.perf_counter(), _cpu_seconds()
    yield cost
    cost.seconds = time.perf_counter() - wall
    cost.cpu_seconds = _cpu_seconds() - cpu
    cost.peak_rss_mb = peak_rss_mb()
    if directory.is_dir():
        save(directory, {**load(directory), name: cost})


def load(directory: Path) -> dict[str, StageCost]:
    """Return the stage costs kept in ``directory``, in the order the stages ran."""
    file = directory / STAGES_FILE
    if not file.exists():
        return {}
    return {name: StageCost(**cost) for name, cost in json.loads(file.read_text()).items()}


def save(directory: Path, costs: dict[str, StageCost]) -> None:
    """Write ``costs`` to ``directory`` by an atomic replace."""
    text = json.dumps({name: asdict(cost) for name, cost in costs.items()}, indent=1)
    temporary = directory / f"{STAGES_FILE}.{os.getpid()}"
    temporary.write_text(text)
    temporary.replace(directory / STAGES_FILE)
