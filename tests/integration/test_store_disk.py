"""A full disk, a read-only root and a limit on file size: a clear error, LATEST as it was."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from assets.publishing.bodies import BodyWriter
from assets.publishing.candidate import Candidate
from assets.publishing.files import StorageError
from assets.publishing.publish import STEPS, hold, publish, republish
from retrieval.snapshot.bodies import Bodies
from retrieval.snapshot.ids import body_sha256
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.reader import SiteStore, verify
from tests.storekit import build, files, published, texts

ROOT = Path(__file__).parents[2]
SMALL = {"texts": texts({"a": "x"})}


def incompressible(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def big_texts(size: int) -> pa.Table:
    noise = incompressible(size // 2).hex()
    return texts({f"{i:06}": noise[i * 200 : (i + 1) * 200] for i in range(size // 200)})


def mount(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SitePaths]:
    """A file system of 3 MB of its own."""
    point = tmp_path / "disk"
    point.mkdir()
    done = mount("-t", "tmpfs", "-o", "size=3m", "tmpfs", str(point))
    if done.returncode:
        pytest.skip(f"mounting a small file system is not permitted here: {done.stderr.strip()}")
    try:
        yield SitePaths(point, "demo")
    finally:
        subprocess.run(["umount", "--lazy", str(point)], check=True)


def fill(paths: SitePaths) -> Path:
    """Use up the disk to the last byte; return the file that does."""
    filler = paths.root / "filler"
    with filler.open("wb", buffering=0) as handle:
        for size in (65_536, 1):
            try:
                while handle.write(b"\0" * size):
                    pass
            except OSError:
                continue
    return filler


def test_a_table_that_does_not_fit(disk: SitePaths) -> None:
    first = published(disk, "r1", SMALL)
    before = files(first.dir)
    candidate = Candidate.begin(disk, run_id="r2")
    with pytest.raises(StorageError) as caught:
        candidate.write("texts", big_texts(6_000_000), code_version="1")
    assert str(candidate.dir / "texts.parquet") in caught.value.message
    assert "No space left" in caught.value.message
    assert "Free space" in caught.value.remedy
    assert list(candidate.dir.glob("*texts*")) == []
    assert SiteStore(disk.root, "demo").latest().id == first.id
    assert files(first.dir) == before
    candidate.drop()
    assert published(disk, "r3", {"texts": texts({"a": "y"})}).manifest.parent == first.id


@pytest.mark.parametrize("step", STEPS)
def test_a_disk_that_is_full_at_some_step_of_publishing(disk: SitePaths, step: str) -> None:
    first = published(disk, "r1", SMALL)
    candidate = build(disk, "r2", {"texts": texts({"a": "y"})})
    fillers = []

    def on_step(now: str) -> None:
        if now == step:
            fillers.append(fill(disk))

    store = SiteStore(disk.root, "demo")
    if step in ("manifest", "latest"):
        with pytest.raises(StorageError, match="No space left"):
            publish(candidate, on_step=on_step)
        assert store.latest().id == first.id
        assert [m.id for m in store.list()] == [first.id]
        fillers[0].unlink()
        publish(candidate)
    else:
        # These steps only rename, remove and force: at most LATEST itself finds no room.
        try:
            publish(candidate, on_step=on_step)
        except StorageError:
            assert store.latest().id == first.id
            fillers[0].unlink()
            publish(candidate)
    assert store.latest().id == candidate.id
    assert verify(store.latest()) == []


def test_bodies_that_do_not_fit(disk: SitePaths) -> None:
    with BodyWriter(disk, "c1") as writer:
        writer.add(body_sha256(b"x"), b"x")
    writer = BodyWriter(disk, "c2")
    body = incompressible(6_000_000)
    with pytest.raises(StorageError, match="No space left"):
        writer.add(body_sha256(body), body)
    writer.abort()
    assert Bodies(disk.bodies).known() == {body_sha256(b"x")}
    assert os.listdir(disk.bodies) == ["c1.parquet"]


def store_body(paths: SitePaths) -> None:
    with BodyWriter(paths, "c") as writer:
        writer.add(body_sha256(b"x"), b"x")


def test_a_read_only_root(disk: SitePaths) -> None:
    first = published(disk, "r1", SMALL)
    second = published(disk, "r2", {"texts": texts({"a": "y"})})
    candidate = build(disk, "r3", SMALL)
    before = files(disk.root)
    assert mount("-o", "remount,ro", str(disk.root)).returncode == 0
    for act in (
        lambda: Candidate.begin(disk, run_id="r4"),
        lambda: candidate.write("texts", texts({"a": "z"}), code_version="1"),
        lambda: publish(candidate),
        lambda: hold(candidate, "brake"),
        lambda: republish(disk, first.id),
        lambda: store_body(disk),
    ):
        with pytest.raises(StorageError, match="Read-only file system") as caught:
            act()
        assert "writable" in caught.value.remedy
    store = SiteStore(disk.root, "demo")
    assert store.latest().id == second.id
    assert store.latest().table("texts")["text"].to_list() == ["y"]
    assert files(disk.root) == before


_LIMITED = """
import resource, sys
from pathlib import Path
from assets.publishing.candidate import Candidate
from retrieval.errors import SitequestError
from retrieval.snapshot.layout import SitePaths
from tests.integration.test_store_disk import big_texts
candidate = Candidate.begin(SitePaths(Path(sys.argv[1]), "demo"), run_id="limited")
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    candidate.write("texts", big_texts(1_000_000), code_version="1")
except SitequestError as error:
    print(type(error).__name__, error)
"""


def test_a_limit_on_file_size(tmp_path: Path) -> None:
    paths = SitePaths(tmp_path, "demo")
    first = published(paths, "r1", SMALL)
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(tmp_path)],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert done.stdout.startswith("StorageError Cannot write")
    assert "File too large" in done.stdout
    assert "ulimit" in done.stdout
    assert SiteStore(tmp_path, "demo").latest().id == first.id
    assert published(paths, "r2", SMALL).manifest.parent == first.id
