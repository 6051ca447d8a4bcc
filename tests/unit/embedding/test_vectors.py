from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.embedding import upkeep, vectors
from assets.embedding.strings import InputMismatchError
from assets.embedding.vectors import update_vectors
from retrieval.index.search import Search, SearchConfig
from retrieval.models import ModelInputError, ModelSpec, load_embedder
from retrieval.models.base import Embedder, Floats, TextKind
from retrieval.models.hashing import HashEmbedder
from retrieval.snapshot import ids
from retrieval.snapshot.inputs import path_input, text_input
from retrieval.snapshot.layout import VECTORS, SitePaths
from tests.indexkit import Block, Site, candidate, lance_rows, published, tables
from tests.storekit import files

FEES = Block("Tuition is 4,200 euros a year.", ("Fees",))
HOURS = Block("Open from nine to five.", ("Visit", "Hours"), context="Library")
FOOTER = Block("Imprint and privacy", kept=False)
SITE: Site = {
    "https://x.example/a": ("A", [FEES, HOURS, FOOTER]),
    "https://x.example/b": ("B", [FEES, FOOTER]),
}


class Counting(HashEmbedder):
    """Hash embedding that remembers every string it was given."""

    def __init__(self, name: str = "counting") -> None:
        super().__init__(name, 16)
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Floats:
        self.seen += texts
        return super().embed(texts, kind=kind)


@pytest.fixture
def paths(tmp_path: Path) -> SitePaths:
    return SitePaths(tmp_path, "demo")


def strings(site: Site) -> set[str]:
    found = set()
    for title, blocks in site.values():
        for block in blocks:
            if block.kept:
                found.add(text_input(block.path, block.context, block.text))
                found.add(path_input(title, block.path))
    return found


def test_each_distinct_string_is_embedded_once_and_dropped_blocks_never(paths: SitePaths) -> None:
    embedder = Counting()
    snapshot, stats = published(paths, "r1", SITE, embedder)
    assert sorted(embedder.seen) == sorted(strings(SITE))
    assert (stats.inputs, stats.inputs_embedded, stats.reused, stats.removed) == (5, 5, 0, 0)
    stored = lance_rows(snapshot)
    assert set(stored["input"]) == strings(SITE)
    assert stored["input_hash"].to_list() == [ids.input_hash(s) for s in stored["input"]]
    again = embedder.embed(stored["input"].to_list(), kind="passage")
    assert np.array_equal(stored["vector"].to_numpy(), again)


def test_a_change_embeds_only_what_is_new_and_leaves_the_parent_byte_identical(
    paths: SitePaths,
) -> None:
    embedder = Counting()
    parent, _ = published(paths, "r1", SITE, embedder)
    before = files(parent.dir)
    embedder.seen.clear()
    edited: Site = {
        "https://x.example/a": ("A", [Block("Tuition is 4,500 euros.", ("Fees",)), FOOTER]),
        "https://x.example/b": SITE["https://x.example/b"],
    }
    child, stats = published(paths, "r2", edited, embedder)
    assert embedder.seen == ["Fees\nTuition is 4,500 euros."]
    assert (stats.inputs_embedded, stats.reused, stats.removed) == (1, 3, 2)
    assert set(lance_rows(child)["input"]) == strings(edited)
    assert files(parent.dir) == before
    assert set(lance_rows(parent)["input"]) == strings(SITE)


def test_no_change_writes_nothing(paths: SitePaths) -> None:
    embedder = Counting()
    parent, first = published(paths, "r1", SITE, embedder)
    child, stats = published(paths, "r2", SITE, embedder)
    assert (stats.inputs_embedded, stats.removed, stats.seconds) == (0, 0, 0.0)
    assert stats.data_version == first.data_version
    assert files(child.dir / VECTORS) == files(parent.dir / VECTORS)
    assert child.manifest.vectors == parent.manifest.vectors


def test_another_embedder_embeds_all_anew(paths: SitePaths) -> None:
    published(paths, "r1", SITE, Counting())
    other = Counting("other")
    child, stats = published(paths, "r2", SITE, other)
    assert (stats.inputs_embedded, stats.reused) == (5, 0)
    assert len(other.seen) == 5
    assert lance_rows(child).height == 5


def test_a_path_string_that_becomes_a_text_too_keeps_its_vector_and_changes_its_kind(
    paths: SitePaths,
) -> None:
    embedder = Counting()
    published(paths, "r1", {"https://x.example/a": ("Deans", [Block("Ada Lovelace.")])}, embedder)
    embedder.seen.clear()
    site: Site = {"https://x.example/a": ("Deans", [Block("Ada Lovelace."), Block("Deans")])}
    child, stats = published(paths, "r2", site, embedder)
    assert (embedder.seen, stats.inputs_embedded) == ([], 0)
    kinds = dict(lance_rows(child).select("input", "kind").iter_rows())
    assert kinds == {"Ada Lovelace.": "text", "Deans": "text"}


def test_a_killed_step_resumes_with_the_rest(
    paths: SitePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "FLUSH", 2)
    monkeypatch.setattr(vectors, "BATCH", 1)
    embedder = Counting()
    made = candidate(paths, "r1", SITE)

    class Killed(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise Killed

    with pytest.raises(Killed):
        update_vectors(made, embedder, progress=stop)
    embedder.seen.clear()
    stats = update_vectors(made, embedder)
    assert len(embedder.seen) == stats.inputs_embedded == 3  # 5 less the one flush of two
    assert stats.inputs == 5


def test_many_deletions_compact_the_table_and_spare_the_parent(paths: SitePaths) -> None:
    embedder = Counting()
    many: Site = {"https://x.example/a": ("A", [Block(f"Text number {n}.") for n in range(20)])}
    few: Site = {"https://x.example/a": ("A", [Block(f"Text number {n}.") for n in range(5)])}
    parent, _ = published(paths, "r1", many, embedder)
    before = files(parent.dir)
    child, stats = published(paths, "r2", few, embedder)
    assert (stats.compacted, stats.removed) == (True, 15)
    assert set(lance_rows(child)["input"]) == strings(few)
    assert b"number 19" not in b"".join(
        p.read_bytes() for p in (child.dir / VECTORS).rglob("*") if p.is_file()
    )
    assert files(parent.dir) == before
    assert lance_rows(parent).height == 21


def test_a_table_above_the_limit_of_exact_search_gets_an_index_that_takes_new_rows(
    paths: SitePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "INDEX_ABOVE", 50)
    embedder = Counting()

    def site(count: int) -> Site:
        return {"https://x.example/a": ("A", [Block(f"Text number {n}.") for n in range(count)])}

    parent, _ = published(paths, "r1", site(100), embedder)
    before = files(parent.dir)
    child, _ = published(paths, "r2", site(130), embedder)
    for snapshot, rows in ((parent, 101), (child, 131)):
        (index,) = snapshot.lance().list_indices()
        stats = snapshot.lance().index_stats(index.name)
        assert (index.index_type, stats.num_indexed_rows) == ("IvfFlat", rows)
        assert stats.num_unindexed_rows == 0
    assert files(parent.dir) == before
    query = embedder.embed(["text number 129 ."], kind="query")[0]
    exact = Search(child).dense(query, 3)
    near = Search(child, SearchConfig(exact_limit=0)).dense(query, 3)
    assert [row for row, _ in near] == [row for row, _ in exact]


def test_a_block_whose_hash_is_not_its_strings_is_refused(paths: SitePaths) -> None:
    made = candidate(paths, "r1", SITE)
    blocks = tables(SITE)["blocks"]
    wrong = ["0" * 20 if h is not None else None for h in blocks["input_hash"].to_pylist()]
    position = blocks.schema.get_field_index("input_hash")
    made.write(
        "blocks",
        blocks.set_column(position, blocks.schema.field(position), [wrong]),
        code_version="1",
    )
    with pytest.raises(InputMismatchError, match="another hash"):
        update_vectors(made, Counting())


def test_a_string_too_long_for_the_model_stops_the_step(paths: SitePaths) -> None:
    made = candidate(paths, "r1", {"https://x.example/a": ("A", [Block("word " * 600)])})
    with pytest.raises(ModelInputError, match="600 tokens"):
        update_vectors(made, Counting())


def test_an_empty_site_has_an_empty_table(paths: SitePaths) -> None:
    snapshot, stats = published(paths, "r1", {"https://x.example/a": ("A", [])}, Counting())
    assert (stats.inputs, lance_rows(snapshot).height) == (0, 0)


def test_real_vectors_of_an_incremental_sync_equal_a_clean_build(tmp_path: Path) -> None:
    embedder: Embedder = load_embedder(ModelSpec(kind="onnx", name="bge-small-en-v1.5"))
    edited: Site = {
        "https://x.example/a": ("A", [HOURS, Block("A new hall opens in May.", ("News",))]),
        "https://x.example/b": SITE["https://x.example/b"],
    }
    grown = SitePaths(tmp_path / "grown", "demo")
    published(grown, "r1", SITE, embedder)
    incremental, _ = published(grown, "r2", edited, embedder)
    clean, _ = published(SitePaths(tmp_path / "clean", "demo"), "r1", edited, embedder)
    assert lance_rows(incremental).equals(lance_rows(clean))
    for name in ("vectors.npy", "bm25_scores.npy", "bm25_rows.npy", "terms.arrow", "blocks.arrow"):
        assert (incremental.search_dir / name).read_bytes() == (
            clean.search_dir / name
        ).read_bytes()


blocks = st.builds(
    Block,
    text=st.sampled_from([f"Sentence number {n} stands here." for n in range(8)]),
    path=st.sampled_from([(), ("One",), ("One", "Two")]),
    context=st.sampled_from([None, "Head"]),
    kept=st.booleans(),
)
sites = st.dictionaries(
    st.sampled_from([f"https://x.example/{n}" for n in range(4)]),
    st.tuples(st.sampled_from([None, "T", "U"]), st.lists(blocks, max_size=4)),
    max_size=4,
)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(first=sites, second=sites)
def test_the_table_holds_exactly_the_strings_of_the_kept_blocks(
    tmp_path_factory: pytest.TempPathFactory, first: Site, second: Site
) -> None:
    paths = SitePaths(tmp_path_factory.mktemp("store"), "demo")
    embedder = Counting()
    published(paths, "r1", first, embedder)
    child, _ = published(paths, "r2", second, embedder)
    assert set(lance_rows(child)["input"]) == strings(second)
    assert len(embedder.seen) == len(set(embedder.seen)) == len(strings(first) | strings(second))
