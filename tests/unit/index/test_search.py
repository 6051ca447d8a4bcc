from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assets.embedding.search import MissingVectorError, build_search
from retrieval.index.mirror import SearchFilesError, top_k
from retrieval.index.search import Search, SearchConfig
from retrieval.models.hashing import HashEmbedder
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.reader import Snapshot
from tests.indexkit import Block, Site, candidate, lance_rows, published
from tests.storekit import EPOCH, files

FEES = Block("Tuition is 4,200 euros a year.\nPaid in two parts.", ("Study", "Fees"))
SITE: Site = {
    "https://x.example/a": (
        "Economics",
        [
            FEES,
            Block("Open from nine to five.", ("Visit",), context="Day\tHours"),
            Block("Imprint", kept=False),
        ],
    ),
    "https://x.example/b": (None, [FEES, Block("A text before any heading.")]),
    "https://x.example/c": ("Empty", []),
    "https://x.example/d": (
        "Many",
        [
            Block(f"Course {n} treats subject {n * 3}.", ("Courses", f"Course {n}"))
            for n in range(40)
        ],
    ),
}
EMBEDDER = HashEmbedder("hash", 32)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return published(SitePaths(tmp_path_factory.mktemp("s"), "demo"), "r1", SITE, EMBEDDER)[0]


@pytest.fixture(scope="module")
def search(snapshot: Snapshot) -> Search:
    return Search(snapshot)


def query(text: str) -> np.ndarray:
    return EMBEDDER.embed([text], kind="query")[0]


def test_the_mirror_is_the_lance_table(snapshot: Snapshot) -> None:
    stored = lance_rows(snapshot)
    mirrored = np.load(snapshot.search_dir / "vectors.npy", mmap_mode="r")
    assert mirrored.dtype == np.float32
    assert np.array_equal(mirrored, stored["vector"].to_numpy())


def test_rows_are_the_kept_blocks_by_page_and_ordinal(snapshot: Snapshot, search: Search) -> None:
    kept = snapshot.table("blocks").filter(snapshot.table("blocks")["kept"])
    kept = kept.sort("page_id", "ordinal")
    assert search.block_ids.to_pylist() == kept["block_id"].to_list()
    views = [search.block(row) for row in range(search.rows)]
    assert [v.block_id for v in views] == kept["block_id"].to_list()
    assert [v.lineage_id for v in views] == kept["lineage_id"].to_list()
    assert [search.page_ids[int(p)].as_py() for p in search.page_of] == kept["page_id"].to_list()
    assert search.words_of.tolist() == [len(v.text.split()) for v in views]


def test_a_block_has_its_place_and_provenance(search: Search) -> None:
    views = [search.block(row) for row in range(search.rows)]
    (hours,) = [v for v in views if v.context]
    assert (hours.url, hours.title, hours.heading_path) == (
        "https://x.example/a",
        "Economics",
        ["Visit"],
    )
    assert (hours.text, hours.context, hours.kind) == (
        "Open from nine to five.",
        "Day\tHours",
        "prose",
    )
    assert (hours.fetched_at, hours.ordinal, hours.words) == (EPOCH, 1, 5)
    (bare,) = [v for v in views if v.text.startswith("A text before")]
    assert (bare.title, bare.heading_path) == ("", [])
    with pytest.raises(IndexError):
        search.block(search.rows)
    with pytest.raises(IndexError):
        search.block(-1)


def scores_by_hand(snapshot: Snapshot, vector: np.ndarray, weight: float) -> list[float]:
    stored = lance_rows(snapshot)
    cos = dict(zip(stored["input_hash"], stored["vector"].to_numpy() @ vector, strict=True))
    blocks = snapshot.table("blocks")
    kept = blocks.filter(blocks["kept"]).sort("page_id", "ordinal")
    pairs = kept.select("input_hash", "path_input_hash").iter_rows()
    return [float(cos[text] + weight * cos[path]) for text, path in pairs]


def test_dense_is_the_weighted_sum_of_both_cosines(snapshot: Snapshot, search: Search) -> None:
    vector = query("tuition fees in economics")
    expected = scores_by_hand(snapshot, vector, search.config.path_weight)
    found = dict(search.dense(vector, search.rows))
    assert np.allclose([found[row] for row in range(search.rows)], expected, atol=1e-6)
    ranked = search.dense(vector, 5)
    order = sorted(range(search.rows), key=lambda r: (-found[r], r))
    assert [row for row, _ in ranked] == order[:5]
    texts_only = Search(snapshot, SearchConfig(path_weight=0))
    assert texts_only.dense(vector, 1)[0][1] == pytest.approx(
        max(scores_by_hand(snapshot, vector, 0))
    )


def test_dense_within_given_rows(search: Search) -> None:
    vector = query("course 7")
    everywhere = dict(search.dense(vector, search.rows))
    rows = np.array([9, 3, 3, 21])
    found = search.dense(vector, 10, rows)
    assert [row for row, _ in found] == sorted({9, 3, 21}, key=lambda r: (-everywhere[r], r))
    assert all(score == pytest.approx(everywhere[row], abs=1e-6) for row, score in found)
    assert search.dense(vector, 10, np.array([], dtype=np.int64)) == []
    assert search.dense(vector, 0) == []


def test_repeats_of_a_text_collapse_into_the_first(search: Search) -> None:
    ranked = search.dense(query("tuition euros a year"), search.rows)
    collapsed = search.collapse(ranked)
    assert len(collapsed) == search.rows - 1
    (row, score, repeats) = next(c for c in collapsed if c[2])
    assert search.block(row).text == search.block(repeats[0]).text == FEES.text
    assert score >= dict(ranked)[repeats[0]]


def test_ties_are_broken_by_row() -> None:
    scores = np.array([1, 3, 3, 2, 3, 2], dtype=np.float32)
    assert top_k(scores, 2).tolist() == [1, 2]
    assert top_k(scores, 4).tolist() == [1, 2, 4, 3]
    assert top_k(scores, 99).tolist() == [1, 2, 4, 3, 5, 0]
    assert top_k(scores, 0).tolist() == []
    assert top_k(np.empty(0, dtype=np.float32), 3).tolist() == []


def test_above_the_limit_lance_gives_the_same_blocks_and_scores(
    snapshot: Snapshot, search: Search
) -> None:
    indexed = Search(snapshot, SearchConfig(exact_limit=0, candidates=30))
    for text in ("course 7 subject 21", "tuition fees", "open from nine"):
        exact, near = search.dense(query(text), 3), indexed.dense(query(text), 3)
        assert [row for row, _ in near] == [row for row, _ in exact]
        assert np.allclose([s for _, s in near], [s for _, s in exact], atol=1e-6)


def test_unchanged_parts_are_links_to_the_parents(tmp_path: Path) -> None:
    paths = SitePaths(tmp_path, "demo")
    parent, _ = published(paths, "r1", SITE, EMBEDDER)
    before = files(parent.dir)
    same, _ = published(paths, "r2", SITE, EMBEDDER)
    for file in parent.search_dir.iterdir():
        if file.name != "parts.json":
            assert (same.search_dir / file.name).stat().st_ino == file.stat().st_ino, file.name
    edited = {**SITE, "https://x.example/c": ("Empty", [Block("No longer empty.")])}
    child, _ = published(paths, "r3", edited, EMBEDDER)
    for name in ("vectors.npy", "blocks.arrow", "bm25_scores.npy"):
        assert (child.search_dir / name).read_bytes() != (parent.search_dir / name).read_bytes()
    fresh, _ = published(SitePaths(tmp_path / "fresh", "demo"), "r1", edited, EMBEDDER)
    assert files(child.search_dir) == files(fresh.search_dir)
    assert files(parent.dir) == before


def test_search_files_need_the_vectors_of_their_blocks(tmp_path: Path) -> None:
    paths = SitePaths(tmp_path, "demo")
    published(paths, "r1", {"https://x.example/c": ("Empty", [])}, EMBEDDER)
    made = candidate(paths, "r2", SITE)
    made.seed_vectors()
    with pytest.raises(MissingVectorError, match="have no vector"):
        build_search(made)


def test_missing_or_damaged_files_are_named(tmp_path: Path) -> None:
    paths = SitePaths(tmp_path, "demo")
    snapshot, _ = published(paths, "r1", SITE, EMBEDDER)
    (snapshot.search_dir / "texts.arrow").write_bytes(b"no arrow")
    with pytest.raises(SearchFilesError, match="search"):
        Search(snapshot)
    (snapshot.search_dir / "bm25_rows.npy").unlink()
    with pytest.raises(SearchFilesError):
        Search(snapshot)


def test_an_empty_site_can_be_searched(tmp_path: Path) -> None:
    paths = SitePaths(tmp_path, "demo")
    snapshot, _ = published(paths, "r1", {"https://x.example/c": ("Empty", [])}, EMBEDDER)
    search = Search(snapshot)
    assert (search.rows, search.dense(query("fees"), 5), search.lexical("fees", 5)) == (0, [], [])


def test_searching_imports_no_lancedb_and_no_torch(snapshot: Snapshot) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from retrieval.index.search import Search\n"
        "from retrieval.snapshot.reader import open_dir\n"
        f"s = Search(open_dir(Path({str(snapshot.dir)!r})))\n"
        "s.lexical('fees', 3); s.block(0)\n"
        "bad = 'torch lancedb spacy bm25s scipy onnxruntime'.split()\n"
        "print([name for name in bad if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": "."},
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
