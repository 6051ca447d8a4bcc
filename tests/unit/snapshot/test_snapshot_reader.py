from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.publishing.publish import hold
from retrieval.errors import BadInputError, NoSnapshotError
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.reader import CorruptSnapshotError, SiteStore, open_dir, sites, verify
from tests.storekit import build, published, rows, texts


@pytest.fixture
def paths(tmp_path: Path) -> SitePaths:
    return SitePaths(tmp_path, "demo")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with three snapshots of two days; the label of one looks like a date."""
    paths = SitePaths(tmp_path_factory.mktemp("three"), "demo")
    published(paths, "r1", label="2021-22", now=datetime(2026, 3, 1, 9, tzinfo=UTC))
    published(paths, "r2", label="2022-05-16", now=datetime(2026, 3, 1, 18, tzinfo=UTC))
    published(paths, "r3", label="2021-22", now=datetime(2026, 4, 2, 9, tzinfo=UTC))
    return paths.root


@pytest.fixture
def store(three: Path, paths: SitePaths) -> SiteStore:
    """A copy of `three` of the test's own."""
    shutil.copytree(three, paths.root, dirs_exist_ok=True)
    return SiteStore(paths.root, paths.site)


def run_of(store: SiteStore, ref: str | None) -> str | None:
    return store.resolve(ref).manifest.run_id


@pytest.mark.parametrize(
    ("ref", "run"),
    [
        (None, "r3"),
        ("2021-22", "r3"),  # the newest with the label
        ("2022-05-16", "r2"),  # a label wins over the date it looks like
        ("2026-03-01", "r2"),  # end of that day
        ("2026-03-15", "r2"),
        ("2026-04-02", "r3"),
        ("2030-01-01", "r3"),
        ("2026-03-01T09:00:00", "r1"),  # UTC unless it says otherwise
        ("2026-03-01T12:00", "r1"),
        ("2026-03-01T19:30:00+02:00", "r1"),
        ("2026-03-01T20:00:00+02:00", "r2"),
        ("20260301T09", "r1"),  # a prefix of one id
        ("20260402", "r3"),
        ("20260301", "r2"),  # a prefix of two ids, and a date
        (" 2026-04-02 ", "r3"),
    ],
)
def test_references(store: SiteStore, ref: str | None, run: str) -> None:
    assert run_of(store, ref) == run


def test_every_id_resolves_to_itself(store: SiteStore) -> None:
    ids = [m.id for m in store.list()]
    assert ids == sorted(ids)
    assert [store.resolve(i).id for i in ids] == ids
    assert [store.open(i).id for i in ids] == ids


def test_references_that_fit_nothing_say_what_exists(store: SiteStore) -> None:
    newest = store.list()[-1].id
    for ref in ("nonsense", "2026-02-28", "2026-13-45", "20260301T090000Z-zzzzzz", "../etc"):
        with pytest.raises(NoSnapshotError) as caught:
            store.resolve(ref)
        assert newest in str(caught.value)
    with pytest.raises(BadInputError, match="beginning of 3"):
        store.resolve("2026")
    with pytest.raises(BadInputError, match="empty"):
        store.resolve("")
    with pytest.raises(NoSnapshotError, match="no snapshot 'x'"):
        store.open("x")


def test_ids_find_held_candidates_and_dates_do_not(store: SiteStore) -> None:
    candidate = build(store.paths, "r4", now=datetime(2026, 5, 1, tzinfo=UTC))
    hold(candidate, "brake")
    assert run_of(store, candidate.id) == "r4"
    assert run_of(store, "202605") == "r4"
    assert run_of(store, "2026-05-01") == "r3"
    assert len(store.list()) == 3


def test_an_empty_site_has_no_snapshot(tmp_path: Path) -> None:
    store = SiteStore(tmp_path, "new")
    for call in (store.latest, lambda: store.resolve("2026-01-01"), lambda: store.resolve(None)):
        with pytest.raises(NoSnapshotError, match="sitequest sync new"):
            call()
    assert store.list() == []
    assert not store.paths.home.exists()


@pytest.mark.parametrize("name", ["", "..", "a/b", "Å", "-x", "A"])
def test_a_site_name_cannot_leave_the_root(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInputError, match="site name"):
        SiteStore(tmp_path, name)


def test_sites_are_those_with_snapshots(paths: SitePaths) -> None:
    assert sites(paths.root) == []
    assert sites(paths.root / "absent") == []
    published(paths, "r1")
    (paths.root / "dagster").mkdir()
    (paths.root / ".cache" / "snapshots").mkdir(parents=True)
    assert sites(paths.root) == ["demo"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "corrupt"),
        ("{", "corrupt"),
        ("[]", "version None"),
        ('{"version": 99}', "version 99"),
        ('{"version": 1}', "corrupt"),
        (b"\xff\xfe", "corrupt"),
    ],
)
def test_a_corrupt_manifest_is_named_with_a_remedy(
    store: SiteStore, content: str | bytes, says: str
) -> None:
    file = store.latest().dir / "manifest.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(CorruptSnapshotError, match=says) as caught:
        store.latest()
    assert str(file) in caught.value.message
    assert "Restore" in caught.value.remedy


def test_a_missing_manifest_and_a_manifest_with_an_unknown_field(store: SiteStore) -> None:
    directory = store.latest().dir
    value = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps({**value, "extra": 1}))
    with pytest.raises(CorruptSnapshotError, match="extra"):
        open_dir(directory)
    (directory / "manifest.json").unlink()
    with pytest.raises(CorruptSnapshotError, match=r"manifest\.json"):
        open_dir(directory)


@pytest.mark.parametrize(
    "content", [None, "", "{", "[]", "{}", '{"snapshot": 3}', '{"snapshot": "../x"}', '"x"']
)
def test_a_missing_or_corrupt_pointer_is_named_with_a_remedy(
    store: SiteStore, content: str | None
) -> None:
    newest = store.list()[-1].id
    if content is None:
        store.paths.latest.unlink()
    else:
        store.paths.latest.write_text(content)
    with pytest.raises(CorruptSnapshotError) as caught:
        store.latest()
    assert str(store.paths.latest) in caught.value.message
    assert newest in caught.value.remedy


def test_a_broken_pointer_does_not_close_the_kept_snapshots(store: SiteStore) -> None:
    """What `sitequest snapshots` and the remedy of the error need."""
    store.paths.latest.write_text("{")
    assert [m.run_id for m in store.list()] == ["r1", "r2", "r3"]
    assert run_of(store, "2021-22") == "r3"


def test_a_pointer_to_a_snapshot_that_is_gone(store: SiteStore) -> None:
    shutil.rmtree(store.latest().dir)
    with pytest.raises(CorruptSnapshotError, match="which is not in"):
        store.latest()
    assert run_of(store, "2026-03-01") == "r2"


def test_tables_by_column_and_whole(paths: SitePaths) -> None:
    snapshot = published(paths, "r1", {"pages": rows("pages", [1, 2])})
    assert snapshot.table("pages", ["page_id", "status"]).rows() == [("v1", 1), ("v2", 2)]
    assert snapshot.table("pages").height == 2
    assert snapshot.table("pages") is snapshot.table("pages")
    with pytest.raises(BadInputError, match="no table"):
        snapshot.table("page")
    with pytest.raises(BadInputError, match="no column nope"):
        snapshot.table("pages", ["nope"])
    assert snapshot.search_dir == snapshot.dir / "search"


def test_a_snapshot_without_vectors_says_so(paths: SitePaths) -> None:
    with pytest.raises(CorruptSnapshotError, match="no vectors"):
        published(paths, "r1").lance()


def test_verify_reports_every_damaged_file(paths: SitePaths) -> None:
    snapshot = published(paths, "r1", {"texts": texts({"a": "x"})})
    assert verify(snapshot) == []
    file = snapshot.dir / "texts.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    (snapshot.dir / "pages.parquet").unlink()
    defects = verify(snapshot)
    assert len(defects) == 2
    assert str(snapshot.dir / "pages.parquet") in defects[0]
    assert "sha256" in defects[1]


def test_an_unreadable_table_is_named(paths: SitePaths) -> None:
    snapshot = published(paths, "r1")
    (snapshot.dir / "texts.parquet").write_bytes(b"no parquet")
    (snapshot.dir / "pages.parquet").unlink()
    for name in ("texts", "pages"):
        with pytest.raises(CorruptSnapshotError, match=rf"{name}\.parquet"):
            snapshot.table(name)
