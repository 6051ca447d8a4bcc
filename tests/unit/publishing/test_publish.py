from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

from assets.publishing.candidate import Candidate
from assets.publishing.publish import STEPS, hold, publish, republish
from retrieval.errors import HeldError, NoSnapshotError, SitequestError
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.manifest import CheckResult
from retrieval.snapshot.reader import SiteStore, Snapshot, verify
from retrieval.snapshot.schemas import TABLES
from tests.storekit import build, files, published, texts

ONE = {"texts": texts({"a": "1"})}
TWO = {"texts": texts({"a": "2"})}


@pytest.fixture
def paths(tmp_path: Path) -> SitePaths:
    return SitePaths(tmp_path, "demo")


def latest(paths: SitePaths) -> Snapshot:
    return SiteStore(paths.root, paths.site).latest()


class Stopped(Exception):
    """Raised by a step to stop the publisher there."""


def stop_at(wanted: str):
    def on_step(step: str) -> None:
        if step == wanted:
            raise Stopped(step)

    return on_step


def test_published_snapshot_is_whole_and_carries_only_what_the_layout_names(
    paths: SitePaths,
) -> None:
    snapshot = publish(build(paths, "r1", ONE, label="v1"))
    assert sorted(os.listdir(snapshot.dir)) == sorted(
        ["manifest.json", *(f"{name}.parquet" for name in TABLES)]
    )
    manifest = snapshot.manifest
    assert manifest.verdict is not None
    assert (manifest.verdict.status, manifest.label, manifest.parent) == ("published", "v1", None)
    assert manifest.run_id == "r1"
    assert verify(snapshot) == []
    pointer = json.loads(paths.latest.read_text())
    assert (pointer["snapshot"], pointer["previous"], pointer["by"]) == (snapshot.id, None, "r1")
    assert os.listdir(paths.staging) == []


def test_second_snapshot_names_its_parent_and_its_changes(paths: SitePaths) -> None:
    first = published(paths, "r1", ONE)
    second = published(paths, "r2", TWO)
    assert second.manifest.parent == first.id
    assert [
        (r["table"], r["key"], r["kind"]) for r in second.table("changes").iter_rows(named=True)
    ] == [("texts", "a", "changed")]
    assert latest(paths).id == second.id


def test_a_failed_error_check_cannot_be_published_a_warning_can(paths: SitePaths) -> None:
    candidate = build(paths, "r1", ONE)
    candidate.record_checks([CheckResult(name="rows_drop", severity="error", passed=False)])
    with pytest.raises(HeldError, match="rows_drop"):
        publish(candidate)
    assert not paths.latest.exists()
    candidate.record_checks([CheckResult(name="rows_drop", severity="warn", passed=False)])
    assert publish(candidate).id == candidate.id


def test_a_candidate_with_a_table_missing_cannot_be_published(paths: SitePaths) -> None:
    candidate = Candidate.begin(paths, run_id="r")
    with pytest.raises(SitequestError, match="no manifest"):
        publish(candidate)
    candidate.write("texts", texts({}), code_version="1")
    candidate.write_manifest(config_fingerprint="f", models=[], stats={})
    with pytest.raises(SitequestError, match=r"lacks pages, links"):
        publish(candidate)


def test_a_candidate_whose_parent_is_no_longer_published_is_refused(paths: SitePaths) -> None:
    first = published(paths, "r1", ONE)
    published(paths, "r2", TWO)
    stale = build(paths, "r3", ONE)
    republish(paths, first.id)
    with pytest.raises(SitequestError, match="moved from"):
        publish(stale)
    assert latest(paths).id == first.id


def test_hold_keeps_the_candidate_back_and_approve_promotes_it(paths: SitePaths) -> None:
    first = published(paths, "r1", ONE)
    candidate = build(paths, "r2", TWO)
    directory = hold(candidate, "removes too much")
    assert directory == paths.held / candidate.id
    assert latest(paths).id == first.id
    store = SiteStore(paths.root, paths.site)
    held = store.open(candidate.id)
    assert held.manifest.verdict is not None
    assert (held.manifest.verdict.status, held.manifest.verdict.reason) == (
        "held", "removes too much",
    )  # fmt: skip
    assert [m.id for m in store.list()] == [first.id]
    before = held.table("texts")

    approved = republish(paths, candidate.id)
    assert approved.manifest.verdict is not None
    assert approved.manifest.verdict.status == "published"
    assert "removes too much" in approved.manifest.verdict.reason
    assert approved.table("texts").equals(before)
    assert latest(paths).id == candidate.id
    assert os.listdir(paths.held) == []
    assert verify(approved) == []


def test_rollback_moves_latest_only_and_forward_again(paths: SitePaths) -> None:
    first = published(paths, "r1", ONE)
    second = published(paths, "r2", TWO)
    before = files(paths.snapshots)
    assert republish(paths, first.id).id == first.id
    assert latest(paths).id == first.id
    pointer = json.loads(paths.latest.read_text())
    assert pointer["previous"] == second.id
    assert republish(paths, second.id).id == second.id
    assert files(paths.snapshots) == before
    third = published(paths, "r3", ONE)
    assert third.manifest.parent == second.id


def test_republish_of_an_unknown_id_changes_nothing(paths: SitePaths) -> None:
    first = published(paths, "r1", ONE)
    with pytest.raises(NoSnapshotError, match="20990101"):
        republish(paths, "20990101T000000Z-abcdef")
    assert latest(paths).id == first.id


@pytest.mark.parametrize("step", STEPS)
def test_an_error_at_any_step_leaves_latest_whole_and_the_candidate_can_be_published_again(
    paths: SitePaths, step: str
) -> None:
    first = published(paths, "r1", ONE)
    candidate = build(paths, "r2", TWO)
    with pytest.raises(Stopped):
        publish(candidate, on_step=stop_at(step))
    expected = candidate.id if step == "unmark" else first.id
    assert latest(paths).id == expected
    assert verify(latest(paths)) == []
    if step != "unmark":
        assert SiteStore(paths.root, paths.site).list()[-1].id == first.id
        publish(candidate)
    assert latest(paths).id == candidate.id
    assert [m.id for m in SiteStore(paths.root, paths.site).list()] == [first.id, candidate.id]


@pytest.mark.parametrize("step", STEPS)
def test_an_error_while_approving_never_loses_the_held_candidate(
    paths: SitePaths, step: str
) -> None:
    first = published(paths, "r1", ONE)
    candidate = build(paths, "r2", TWO)
    hold(candidate, "brake")
    with pytest.raises(Stopped):
        republish(paths, candidate.id, on_step=stop_at(step))
    assert latest(paths).id == (candidate.id if step == "unmark" else first.id)
    assert SiteStore(paths.root, paths.site).open(candidate.id).table("texts").height == 1
    assert republish(paths, candidate.id).id == candidate.id
    assert latest(paths).id == candidate.id


@pytest.mark.parametrize("step", ["manifest", "sync", "move", "unmark"])
def test_an_error_while_holding_never_moves_latest(paths: SitePaths, step: str) -> None:
    first = published(paths, "r1", ONE)
    candidate = build(paths, "r2", TWO)
    with pytest.raises(Stopped):
        hold(candidate, "brake", on_step=stop_at(step))
    assert latest(paths).id == first.id
    published(paths, "r3", {"texts": pa.concat_tables([texts({"b": "3"})])})


def test_a_reader_keeps_its_snapshot_when_latest_moves(paths: SitePaths) -> None:
    published(paths, "r1", ONE)
    reader = latest(paths)
    published(paths, "r2", TWO)
    assert reader.table("texts")["text"].to_list() == ["1"]
    assert latest(paths).table("texts")["text"].to_list() == ["2"]


def test_everything_is_forced_to_the_disk_before_the_rename_and_the_rename_before_latest(
    paths: SitePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order is the whole promise after a power failure: the calls themselves are recorded."""
    published(paths, "r1", ONE)
    candidate = build(paths, "r2", TWO)
    calls: list[tuple[str, Path]] = []
    fsync, rename, replace = os.fsync, os.rename, os.replace

    def record_fsync(descriptor: int) -> None:
        calls.append(("fsync", Path(os.readlink(f"/proc/self/fd/{descriptor}"))))
        fsync(descriptor)

    def record_rename(source: Path, target: Path) -> None:
        calls.append(("rename", Path(target)))
        rename(source, target)

    def record_replace(source: Path, target: Path) -> None:
        calls.append(("replace", Path(target)))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "rename", record_rename)
    monkeypatch.setattr(os, "replace", record_replace)
    snapshot = publish(candidate)

    renamed = calls.index(("rename", snapshot.dir))
    moved = calls.index(("replace", paths.latest))
    forced = {path for call, path in calls[:renamed] if call == "fsync"}
    assert forced >= {candidate.dir, *(candidate.dir / name for name in os.listdir(snapshot.dir))}
    assert not [c for c in calls[:renamed] if c[1] == paths.latest]
    assert ("fsync", paths.snapshots) in calls[renamed:moved]
    assert ("fsync", paths.home) in calls[moved:]
    written = [path for call, path in calls[renamed:moved] if call == "fsync"]
    assert any(path.name.startswith(".LATEST.json") for path in written)
