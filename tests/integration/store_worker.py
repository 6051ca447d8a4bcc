"""Processes for the tests that kill a publisher: run as a script, never imported by a test.

publish ROOT [STEP]   publishes snapshot after snapshot, each table of one marked with its number;
                      says "published ID" after each; kills itself at STEP of the second one
hold ROOT STEP        builds a candidate and kills itself at STEP of holding it
approve ROOT ID STEP  kills itself at STEP of promoting a held candidate
read ROOT             opens LATEST again and again, until its input closes, and checks each time
                      that all tables are of one snapshot and whole, and that it never goes back
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from assets.publishing.publish import hold, publish, republish
from retrieval.errors import NoSnapshotError
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.reader import SiteStore, Snapshot, verify
from retrieval.snapshot.schemas import TABLES
from tests.storekit import build, rows

# Seconds between two reads: leaves the publisher some of the processor.
PAUSE = 0.01
MARKED = [name for name in TABLES if name not in ("changes", "relations")]


def paths_of(root: str) -> SitePaths:
    return SitePaths(Path(root), "demo")


def marker(snapshot: Snapshot) -> int:
    """Return the number that all marked tables of a snapshot must carry."""
    column = {name: TABLES[name].key[0] for name in MARKED}
    found = {snapshot.read(name, [c])[c].to_list()[0] for name, c in column.items()}
    if len(found) != 1:
        raise AssertionError(f"torn: {snapshot.id} has markers {sorted(found)}")
    return int(str(found.pop()).removeprefix("v"))


def die_at(wanted: str | None) -> Callable[[str], None]:
    def on_step(step: str) -> None:
        if step == wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    return on_step


def publisher(root: str, step: str | None = None) -> None:
    paths = paths_of(root)
    try:
        number = marker(SiteStore(paths.root, paths.site).latest()) + 1
    except NoSnapshotError:
        number = 1
    first = True
    while True:
        # `relations` never changes: every publication links it.
        tables = {n: rows(n, [7] if n == "relations" else [number]) for n in TABLES}
        del tables["changes"]
        candidate = build(paths, f"run-{os.getpid()}-{number}", tables)
        snapshot = publish(candidate, on_step=die_at(None if first else step))
        print("published", snapshot.id, flush=True)
        first = False
        number += 1


def holder(root: str, step: str) -> None:
    hold(build(paths_of(root), f"run-{os.getpid()}"), "brake", on_step=die_at(step))


def approver(root: str, snapshot_id: str, step: str) -> None:
    republish(paths_of(root), snapshot_id, on_step=die_at(step))


def reader(root: str) -> None:
    store = SiteStore(Path(root), "demo")
    reads, newest = 0, 0
    while not select.select([sys.stdin], [], [], PAUSE)[0]:
        try:
            snapshot = store.latest()
        except NoSnapshotError:
            if newest:
                raise
            continue
        number = marker(snapshot)
        if number < newest:
            raise AssertionError(f"went back from {newest} to {number}")
        defects = verify(snapshot)
        if defects:
            raise AssertionError(defects)
        reads, newest = reads + 1, number
    print("reads", reads, newest, flush=True)


if __name__ == "__main__":
    roles = {"publish": publisher, "hold": holder, "approve": approver, "read": reader}
    roles[sys.argv[1]](*sys.argv[2:])
