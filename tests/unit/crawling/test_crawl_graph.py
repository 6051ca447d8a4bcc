from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from assets.crawling.merge import primaries
from assets.crawling.reach import Graph, clicks, resolve


@given(st.lists(st.integers(-1, 11), min_size=12, max_size=12))
def test_resolve_follows_chains_and_names_loops(following: list[int]) -> None:
    ends, loops = resolve(np.array(following, dtype=np.int64))
    for row in range(12):
        seen, at = set(), row
        while following[at] >= 0 and at not in seen:
            seen.add(at)
            at = following[at]
        assert loops[row] == (at in seen)
        assert ends[row] == (row if at in seen else at)


edges = st.dictionaries(st.integers(0, 9), st.lists(st.integers(0, 9), max_size=4), max_size=10)


@given(edges, st.lists(st.integers(0, 9), min_size=1, max_size=3))
def test_clicks_are_shortest(links: dict[int, list[int]], sources: list[int]) -> None:
    graph = Graph.of(10, {row: np.array(t, dtype=np.int64) for row, t in links.items()})
    depth, linked = clicks(graph, np.arange(10), np.array(sources))
    expected = dict.fromkeys(sources, 0)
    queue = list(sources)
    while queue:
        row = queue.pop(0)
        for target in links.get(row, []):
            if target not in expected:
                expected[target] = expected[row] + 1
                queue.append(target)
    assert depth.tolist() == [expected.get(row, -1) for row in range(10)]
    assert set(np.flatnonzero(linked)) == {t for r in expected for t in links.get(r, [])}


def test_a_redirect_costs_no_click() -> None:
    graph = Graph.of(4, {0: np.array([1]), 2: np.array([3])})
    depth, linked = clicks(graph, np.array([0, 2, 2, 3]), np.array([0]))
    assert depth.tolist() == [0, 1, 1, 2]
    assert linked.tolist() == [False, True, True, True]


def rows(*pages: dict[str, object]) -> pl.DataFrame:
    base: dict[str, object] = {
        "content": True, "canonical_key": None, "content_hash": "h", "words": 100, "title": "T",
        "language": "en", "listed": False,
    }  # fmt: skip
    frame = [base | {"row": n, "key": page["best_url"]} | page for n, page in enumerate(pages)]
    return pl.DataFrame(
        frame, schema_overrides={"canonical_key": pl.String}, infer_schema_length=None
    )


def stands_for(*pages: dict[str, object]) -> list[int]:
    return [int(row) for row in primaries(rows(*pages))[0]]


def test_equal_content_goes_to_the_plain_short_address() -> None:
    assert stands_for({"best_url": "/index.html"}, {"best_url": "/"}, {"best_url": "/?x"}) == [
        1,
        1,
        1,
    ]
    assert stands_for({"best_url": "/b", "listed": True}, {"best_url": "/"}) == [0, 0]


def test_pages_without_words_are_not_equal() -> None:
    assert stands_for({"best_url": "/a", "words": 0}, {"best_url": "/b", "words": 0}) == [0, 1]
    assert stands_for({"best_url": "/a"}, {"best_url": "/b", "content": False}) == [0, 1]


def test_canonical_is_believed_only_where_content_agrees() -> None:
    a = {"best_url": "/a", "canonical_key": "/b", "content_hash": "1"}
    assert stands_for(a, {"best_url": "/b", "content_hash": "2", "words": 103}) == [1, 1]
    assert stands_for(a, {"best_url": "/b", "content_hash": "2", "words": 150}) == [0, 1]
    assert stands_for(a, {"best_url": "/b", "content_hash": "2", "title": "U"}) == [0, 1]
    assert stands_for(a, {"best_url": "/b", "content_hash": "2", "content": False}) == [0, 1]
    # The canonical target wins over the shorter address, and chains are followed.
    far = {"best_url": "/the/long/one"}
    assert stands_for({"best_url": "/a", "canonical_key": "/the/long/one"}, far) == [1, 1]
    both = ({"best_url": "/a", "canonical_key": "/b"}, {"best_url": "/b", "canonical_key": "/a"})
    assert stands_for(*both) == [0, 0]
