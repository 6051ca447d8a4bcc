"""The persistent Dagster instance: where it lives and how it is opened."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import dagster as dg

STORAGE_ENV = "SITEQUEST_DAGSTER_STORAGE"


def dagster_home(root: Path) -> Path:
    """Return Dagster's home for a data root: $DAGSTER_HOME, else <root>/dagster."""
    named = os.environ.get("DAGSTER_HOME")
    return Path(named) if named else root / "dagster"


def prepare_home(root: Path) -> dict[str, str]:
    """Make Dagster's home with its `dagster.yaml` and return the environment that points to it."""
    home = dagster_home(root).absolute()
    storage = Path(os.environ.get(STORAGE_ENV) or home / "storage").absolute()
    storage.mkdir(parents=True, exist_ok=True)
    target = home / "dagster.yaml"
    if not target.exists():
        shutil.copyfile(_instance_file(), target)
    return {"DAGSTER_HOME": str(home), STORAGE_ENV: str(storage)}


def _instance_file() -> Path:
    """Return the `dagster.yaml` of the checkout this package runs from."""
    return Path(__file__).resolve().parent.parent / "dagster.yaml"


@contextmanager
def open_instance(root: Path) -> Iterator[dg.DagsterInstance]:
    """Open the persistent instance of a data root; the environment is its own only inside."""
    import dagster as dg

    needed = {**prepare_home(root), "DAGSTER_DISABLE_TELEMETRY": "1"}
    before = {name: os.environ.get(name) for name in needed}
    os.environ.update(needed)
    try:
        with dg.DagsterInstance.get() as instance:
            yield instance
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def dagster_command(*arguments: str) -> list[str]:
    """Return the command line of the `dagster` that is installed beside this interpreter."""
    return [sys.executable, "-m", "dagster", *arguments]
