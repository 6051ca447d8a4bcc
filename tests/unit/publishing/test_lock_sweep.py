from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assets.publishing.candidate import Candidate
from assets.publishing.lock import writer_lock
from assets.publishing.processes import ProcessMark
from assets.publishing.publish import publish, republish
from assets.publishing.sweep import INTERRUPTED, sweep
from retrieval.errors import BusyError
from retrieval.snapshot.layout import CANDIDATE, SitePaths
from retrieval.snapshot.reader import SiteStore
from tests.storekit import build, published, texts

_HOLDER = """
import sys
from pathlib import Path
from assets.publishing.lock import writer_lock
from retrieval.snapshot.layout import SitePaths
with writer_lock(SitePaths(Path(sys.argv[1]), "demo"), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def paths(tmp_path: Path) -> SitePaths:
    return SitePaths(tmp_path, "demo")


@contextmanager
def holder(paths: SitePaths, owner: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(paths.root), owner],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def ended() -> ProcessMark:
    """Return the mark of a process that has ended."""
    with subprocess.Popen(["sleep", "60"]) as process:
        mark = ProcessMark.of(process.pid)
        process.kill()
    return mark


def give_to(directory: Path, mark: ProcessMark) -> None:
    note = json.loads((directory / CANDIDATE).read_text())
    (directory / CANDIDATE).write_text(json.dumps({**note, "owners": [mark.model_dump()]}))


def test_a_second_process_is_told_who_writes_and_the_lock_goes_with_its_holder(
    paths: SitePaths,
) -> None:
    with holder(paths, "run-7") as process:
        with pytest.raises(BusyError) as busy, writer_lock(paths, "run-8"):
            pytest.fail("the lock was given twice")
        assert f"process {process.pid}" in str(busy.value)
        assert "run-7" in str(busy.value)
        with pytest.raises(BusyError):
            Candidate.begin(paths, run_id="run-8")
        process.kill()
        process.wait()
        with writer_lock(paths, "run-8"):
            assert json.loads(paths.lock.read_text())["owner"] == "run-8"


def test_another_process_of_the_same_run_may_write(paths: SitePaths) -> None:
    with holder(paths, "run-7"), writer_lock(paths, "run-7"):
        assert Candidate.begin(paths, run_id="run-7").parent is None


def test_the_lock_is_entered_again_by_its_thread_and_refused_to_another(paths: SitePaths) -> None:
    outcomes: list[str] = []

    def try_to(owner: str) -> Callable[[], None]:
        def run() -> None:
            try:
                with writer_lock(paths, owner):
                    outcomes.append("taken")
            except BusyError:
                outcomes.append("busy")

        return run

    with writer_lock(paths, "sync"):
        with writer_lock(paths, "publish"):
            pass
        for owner in ("other", "sync"):
            thread = threading.Thread(target=try_to(owner))
            thread.start()
            thread.join()
    assert outcomes == ["busy", "taken"]
    with writer_lock(paths, "next"):
        pass


def test_a_mark_tells_a_process_from_a_later_one_with_its_pid() -> None:
    mine = ProcessMark.of()
    assert mine.alive()
    assert not mine.model_copy(update={"started": (mine.started or 0) - 1}).alive()
    assert not mine.model_copy(update={"boot": "another boot"}).alive()
    assert not ended().alive()


def test_sweep_removes_dead_stagings_only(paths: SitePaths) -> None:
    live, dead = Candidate.begin(paths, run_id="a"), Candidate.begin(paths, run_id="b")
    give_to(dead.dir, ended())
    assert sweep(paths) == [dead.id]
    assert os.listdir(paths.staging) == [live.id]
    assert sweep(paths) == []


def test_sweep_leaves_a_run_alone_while_one_of_its_steps_lives(paths: SitePaths) -> None:
    candidate = Candidate.begin(paths, run_id="a")
    give_to(candidate.dir, ended())
    Candidate.find(paths, "a")
    assert sweep(paths) == []
    assert candidate.dir.is_dir()


def test_the_owner_may_be_the_process_of_the_run(paths: SitePaths) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        candidate = Candidate.begin(paths, run_id="a", owner_pid=process.pid)
        assert sweep(paths) == []
        process.kill()
    assert sweep(paths) == [candidate.id]


@pytest.mark.parametrize("content", [None, "", "{}", "[]", '{"owners": [{"pid": "x"}]}'])
def test_sweep_removes_a_staging_without_a_readable_note_unless_someone_writes(
    paths: SitePaths, content: str | None
) -> None:
    stray = paths.staging / "20260101T000000Z-abcdef"
    stray.mkdir(parents=True)
    if content is not None:
        (stray / CANDIDATE).write_text(content)
    with holder(paths, "run-7"):
        assert sweep(paths) == []
    assert sweep(paths) == [stray.name]


def test_begin_sweeps(paths: SitePaths) -> None:
    dead = Candidate.begin(paths, run_id="b")
    give_to(dead.dir, ended())
    live = Candidate.begin(paths, run_id="c")
    assert os.listdir(paths.staging) == [live.id]


def test_a_publication_cut_off_before_latest_is_kept_for_approval(paths: SitePaths) -> None:
    first = published(paths, "r1", {"texts": texts({"a": "1"})})
    candidate = build(paths, "r2", {"texts": texts({"a": "2"})})
    give_to(candidate.dir, ended())
    os.rename(candidate.dir, paths.snapshots / candidate.id)
    store = SiteStore(paths.root, paths.site)
    assert [m.id for m in store.list()] == [first.id]
    assert sweep(paths) == [candidate.id]
    held = store.open(candidate.id)
    assert held.dir == paths.held / candidate.id
    assert held.manifest.verdict is not None
    assert (held.manifest.verdict.status, held.manifest.verdict.reason) == ("held", INTERRUPTED)
    assert republish(paths, candidate.id).table("texts")["text"].to_list() == ["2"]


def test_a_publication_cut_off_after_latest_is_finished(paths: SitePaths) -> None:
    snapshot = publish(build(paths, "r1"))
    (snapshot.dir / CANDIDATE).write_text(json.dumps({"owners": [ended().model_dump()]}))
    assert SiteStore(paths.root, paths.site).latest().id == snapshot.id
    assert sweep(paths) == []
    assert not (snapshot.dir / CANDIDATE).exists()
    assert [m.id for m in SiteStore(paths.root, paths.site).list()] == [snapshot.id]
