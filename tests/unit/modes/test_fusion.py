import math

from hypothesis import given
from hypothesis import strategies as st

from retrieval.config import FusionConfig, RerankConfig
from retrieval.modes.candidates import Candidate
from retrieval.modes.fusion import finalise, fuse, pool, sigmoid

CONFIG = FusionConfig()
ranked = st.lists(
    st.tuples(st.integers(0, 60), st.floats(-5, 5)), unique_by=lambda pair: pair[0], max_size=40
).map(lambda pairs: sorted(pairs, key=lambda pair: -pair[1]))


def test_the_formula_on_paper() -> None:
    config = FusionConfig(rank_constant=10, rank_share=0.5, weights={"dense": 1, "lexical": 0.5})
    fused = fuse({"dense": [(7, 0.9), (8, 0.5)], "lexical": [(8, 12.0)]}, config)
    score = {c.row: c.fused for c in fused}
    assert math.isclose(score[7], 1.0 / 1.5)
    assert math.isclose(score[8], (0.5 * 10 / 11 + 0.5) / 1.5)
    assert [c.row for c in fused] == [7, 8]
    assert fused[1].sources == {"dense": (1, 0.5), "lexical": (0, 12.0)}


def test_of_several_subquestions_the_best_counts_once() -> None:
    once = fuse({"subquestion:1": [(1, 1.0)]}, CONFIG)[0].fused
    twice = fuse({"subquestion:1": [(1, 1.0)], "subquestion:2": [(1, 3.0)]}, CONFIG)[0].fused
    assert once == twice == 1.0


@given(ranked, ranked)
def test_fused_scores_lie_in_the_unit_interval_and_fall(a, b) -> None:
    fused = fuse({"dense": a, "lexical": b}, CONFIG)
    scores = [c.fused for c in fused]
    assert all(0 <= s <= 1 + 1e-9 for s in scores)
    assert scores == sorted(scores, reverse=True)
    assert {c.row for c in fused} == {row for row, _ in a} | {row for row, _ in b}


@given(ranked, ranked, st.integers(1, 30))
def test_the_pool_keeps_the_best_of_each_source(a, b, size) -> None:
    kept = {c.row for c in pool(fuse({"dense": a, "lexical": b}, CONFIG), size, 4)}
    assert len(kept) == min(size, len({row for row, _ in a} | {row for row, _ in b}))
    if size >= 4:
        for source in (a, b):
            assert not source or source[0][0] in kept


def test_below_the_pool_is_said() -> None:
    candidates = fuse({"dense": [(row, 1.0 - row / 10) for row in range(5)]}, CONFIG)
    pool(candidates, 2, 1)
    assert [c.status for c in candidates][2:] == ["below the pool"] * 3


def test_the_reranker_never_speaks_alone() -> None:
    liked = Candidate(1, fused=0.1, logits={"question": 1.5})
    equal = Candidate(2, fused=0.9, logits={"question": 1.0})
    assert finalise([liked, equal], RerankConfig())[0] is equal
    strong = Candidate(3, fused=0.1, logits={"question": 9.0})
    assert finalise([equal, strong], RerankConfig())[0] is strong
    assert finalise([equal, strong], RerankConfig(enabled=False))[0] is equal


@given(st.floats(-1e4, 1e4))
def test_the_sigmoid_is_bounded(x: float) -> None:
    assert 0.0 <= sigmoid(x) <= 1.0
