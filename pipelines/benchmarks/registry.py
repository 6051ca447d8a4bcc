"""The benchmarks by name, imported when one is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from retrieval.errors import BadInputError


@dataclass(frozen=True)
class Options:
    """What every benchmark is given.

    ``home`` is its working directory (sites, snapshots, cache), ``data`` where the measured sites
    and questions are, ``site`` and ``only`` restrict it, ``fresh`` forgets an earlier run's
    results (never the cache of model outputs).
    """

    home: Path
    data: Path | None
    site: str | None = None
    only: tuple[str, ...] = ()
    fresh: bool = False


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: its name, the module with ``run(options) -> dict``, and what it shows."""

    name: str
    module: str
    about: str

    def load(self) -> Callable[[Options], dict[str, Any]]:
        """Import the benchmark and return its function."""
        run: Callable[[Options], dict[str, Any]] = import_module(self.module).run
        return run


BENCHMARKS = {
    bench.name: bench
    for bench in (
        Benchmark(
            "first-sync",
            "pipelines.benchmarks.first_sync",
            "first sync of a real site: pages, strings, seconds and memory by stage, overhead",
        ),
        Benchmark(
            "ask",
            "pipelines.benchmarks.ask",
            "warm questions: seconds by step, the models' share",
        ),
    )
}


def find(name: str) -> Benchmark:
    """Return the benchmark called ``name``. Raises BadInputError naming those there are."""
    if name not in BENCHMARKS:
        raise BadInputError(
            f"There is no benchmark {name!r}.", f"There are: {', '.join(BENCHMARKS)}."
        )
    return BENCHMARKS[name]
