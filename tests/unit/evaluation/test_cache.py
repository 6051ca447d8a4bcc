"""The vector cache: hits are charged what they cost, each text once, several processes at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evaluation.cache import Cached, SqliteVectorCache, embed_cached
from retrieval.models.base import Floats, TextKind
from retrieval.models.hashing import HashEmbedder


class Counting(HashEmbedder):
    """The hash embedder, counting what it is asked to embed."""

    def __init__(self) -> None:
        super().__init__("counting", 8)
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Floats:
        self.seen += texts
        return super().embed(texts, kind=kind)


def test_each_distinct_text_once_and_a_hit_is_charged_its_cost(tmp_path: Path) -> None:
    cache = SqliteVectorCache(tmp_path / "deep" / "cache.sqlite")
    embedder = Counting()
    vectors, first = embed_cached(embedder, ["ant", "bee", "ant"], cache)
    assert sorted(embedder.seen) == ["ant", "bee"]
    assert (first.texts, first.hits) == (2, 0)
    assert first.charged_seconds == first.spent_seconds > 0
    np.testing.assert_array_equal(vectors[0], vectors[2])

    again, second = embed_cached(embedder, ["bee", "ant", "cat"], cache)
    assert sorted(embedder.seen) == ["ant", "bee", "cat"]
    assert second.hits == 2
    assert second.charged_seconds > second.spent_seconds
    np.testing.assert_array_equal(again[1], vectors[0])


def test_another_model_or_revision_shares_nothing(tmp_path: Path) -> None:
    cache = SqliteVectorCache(tmp_path / "cache.sqlite")
    cache.put_many("a@1", {"k": Cached(np.ones(3, dtype=np.float32), 1.0)})
    assert cache.get_many("a@2", ["k"]) == {}
    assert cache.get_many("a@1", ["k"])["k"].seconds == 1.0


def test_the_first_value_stays(tmp_path: Path) -> None:
    cache = SqliteVectorCache(tmp_path / "cache.sqlite")
    for seconds in (1.0, 2.0):
        cache.put_many("m", {"k": Cached(np.zeros(2, dtype=np.float32), seconds)})
    assert cache.get_many("m", ["k"])["k"].seconds == 1.0


def test_without_a_cache() -> None:
    vectors, cost = embed_cached(Counting(), [], None)
    assert vectors.shape == (0, 8)
    assert cost.texts == 0


def fill(path: Path, worker: int) -> None:
    cache = SqliteVectorCache(path)
    for number in range(40):
        key = f"{worker}-{number}"
        cache.put_many("m", {key: Cached(np.full(4, number, dtype=np.float32), 0.5)})
        cache.put_many("m", {"shared": Cached(np.zeros(4, dtype=np.float32), 0.5)})


def test_processes_write_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=fill, args=(path, worker)) for worker in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    keys = [f"{worker}-{number}" for worker in range(3) for number in range(40)]
    found = SqliteVectorCache(path).get_many("m", [*keys, "shared"])
    assert len(found) == 121
    assert found["2-7"].vector.tolist() == [7.0] * 4
