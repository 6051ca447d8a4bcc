"""A publisher killed at any instant: readers see the old snapshot or the new, nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assets.publishing.publish import STEPS, hold, republish
from assets.publishing.sweep import sweep
from retrieval.snapshot.layout import CANDIDATE, SitePaths
from retrieval.snapshot.reader import SiteStore, verify
from tests.storekit import build, published

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("store_worker.py")
KILLS = 20


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(WORKER), *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), "POLARS_MAX_THREADS": "1"},
    )  # fmt: skip


def ids(output: str) -> list[str]:
    return [line.split()[1] for line in output.splitlines() if line.startswith("published ")]


def run_until_killed(*arguments: object) -> list[str]:
    """Run a worker that kills itself; return the ids it said it had published."""
    with start(*arguments) as process:
        output, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, errors
    return ids(output)


@contextmanager
def readers(paths: SitePaths, count: int) -> Iterator[None]:
    """Let ``count`` readers loop; fail when one saw anything but whole, forward snapshots."""
    processes = [start("read", paths.root) for _ in range(count)]
    try:
        yield
        for process in processes:
            output, errors = process.communicate("stop", timeout=60)
            assert process.returncode == 0, errors
            assert int(output.split()[1]) > 0, "the reader never read"
    finally:
        for process in processes:
            process.kill()
            process.wait()


def check_store(paths: SitePaths, announced: list[str]) -> None:
    """Nothing announced is lost, everything listed is whole, and nothing is left half-done."""
    sweep(paths)
    store = SiteStore(paths.root, paths.site)
    listed = [m.id for m in store.list()]
    assert set(announced) <= set(listed)
    assert [verify(store.open(i)) for i in listed] == [[]] * len(listed)
    assert store.latest().id == listed[-1]
    assert os.listdir(paths.staging) == []
    assert list(paths.home.glob(f"*/*/{CANDIDATE}")) == []
    assert list(paths.home.glob("*/*/.*")) == []


@pytest.fixture
def paths(tmp_path: Path) -> SitePaths:
    return SitePaths(tmp_path, "demo")


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_each_step_of_publishing(paths: SitePaths, step: str) -> None:
    announced = run_until_killed("publish", paths.root, step)
    assert len(announced) == 1
    store = SiteStore(paths.root, paths.site)
    # LATEST is the old one up to its replacement, the new one after.
    assert (store.latest().id == announced[0]) == (step != "unmark")
    assert verify(store.latest()) == []
    check_store(paths, announced)
    held = os.listdir(paths.held) if paths.held.exists() else []
    assert len(held) == (1 if step == "latest" else 0)
    before = store.latest().id
    assert published(paths, "next").manifest.parent == before


@pytest.mark.parametrize("step", ["manifest", "sync", "move", "unmark"])
def test_killed_at_each_step_of_holding(paths: SitePaths, step: str) -> None:
    first = published(paths, "first")
    run_until_killed("hold", paths.root, step)
    check_store(paths, [first.id])
    assert len(SiteStore(paths.root, paths.site).list()) == 1
    held = os.listdir(paths.held) if paths.held.exists() else []
    assert len(held) == (1 if step == "unmark" else 0)
    published(paths, "next")


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_each_step_of_approving(paths: SitePaths, step: str) -> None:
    first = published(paths, "first")
    candidate = build(paths, "second")
    hold(candidate, "brake")
    run_until_killed("approve", paths.root, candidate.id, step)
    store = SiteStore(paths.root, paths.site)
    assert store.latest().id == (candidate.id if step == "unmark" else first.id)
    check_store(paths, [first.id])
    kept = store.open(candidate.id).manifest
    assert kept.verdict is not None
    assert kept.verdict.status == ("published" if step == "unmark" else "held")
    assert republish(paths, candidate.id).id == candidate.id
    check_store(paths, [first.id, candidate.id])


@pytest.mark.slow
def test_killed_at_random_instants_while_readers_loop(paths: SitePaths) -> None:
    # Seeded: the delays are the same at every run, the instants they hit are not.
    delays = random.Random(20260101)
    announced: list[str] = []
    with readers(paths, 2):
        following = start("publish", paths.root)
        for _ in range(KILLS):
            process = following
            assert process.stdout is not None
            # Its first publication shows that it is at work; then it is killed in some later one.
            announced += ids(process.stdout.readline())
            time.sleep(delays.uniform(0, 0.25))
            process.kill()
            following = start("publish", paths.root)
            output, errors = process.communicate(timeout=60)
            assert process.returncode == -signal.SIGKILL, errors
            announced += ids(output)
        following.kill()
        announced += ids(following.communicate(timeout=60)[0])
    assert len(announced) >= KILLS
    check_store(paths, announced)
    parent = SiteStore(paths.root, paths.site).latest().id
    assert published(paths, "last").manifest.parent == parent
