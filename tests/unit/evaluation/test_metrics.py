"""Metrics against hand-worked examples; missing gold is None."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics import (
    Prf,
    abstention,
    answer_f1,
    exact_match,
    fact_coverage,
    ndcg,
    normalise_answer,
    recall_at,
    reciprocal_rank,
    support_prf,
)


def test_squad_normalisation() -> None:
    assert normalise_answer("The  Cat, a dog & an ox!") == "cat dog ox"


def test_exact_match_and_f1() -> None:
    assert exact_match("The Eiffel Tower.", ["eiffel tower"]) == 1.0
    assert exact_match("Eiffel", ["eiffel tower", "louvre"]) == 0.0
    # Tokens {in, paris, france} and {paris}: precision 1/3, recall 1, F1 = 2·1/(3+1).
    assert answer_f1("in Paris, France", ["Paris", "Lyon"]) == pytest.approx(0.5)
    # Repeated tokens count as often as both sides have them: 2·2/(3+2).
    assert answer_f1("x x y", ["x x"]) == pytest.approx(0.8)
    assert answer_f1("yes it is", ["yes"]) == 0.0
    assert answer_f1("yes", ["yes"]) == 1.0
    assert answer_f1("the", ["a"]) == 1.0  # both empty after normalising
    assert exact_match("x", []) is None
    assert answer_f1("x", []) is None


def test_fact_coverage() -> None:
    parts = [(("3",), ("three",)), (("5",), ("five",))]
    assert fact_coverage("It has three courses.", parts) == 0.5
    assert fact_coverage("3 and five", parts) == 1.0
    assert fact_coverage("", parts) == 0.0
    assert fact_coverage("3", []) is None


def test_recall_and_rank() -> None:
    assert recall_at(["a", "b", "c"], {"a", "c", "z"}, 2) == pytest.approx(1 / 3)
    assert recall_at(["a"], set(), 2) is None
    assert reciprocal_rank([0, 0, 1, 1]) == pytest.approx(1 / 3)
    assert reciprocal_rank([0, 0]) == 0.0


def test_ndcg() -> None:
    # DCG = 1/log2(3) + 1/log2(5); ideal = 1/log2(2) + 1/log2(3).
    want = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert ndcg([0, 1, 0, 1], [1, 1], 10) == pytest.approx(want)
    assert ndcg([0, 1, 0, 1], [1, 1], 2) == pytest.approx(
        (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    )
    assert ndcg([2], [1, 1], 10) == 1.0  # capped
    assert ndcg([1], [], 10) is None


@given(st.lists(st.sampled_from([0.0, 1.0]), max_size=12))
def test_ndcg_is_a_fraction_and_one_only_for_a_perfect_order(gains: list[float]) -> None:
    value = ndcg(gains, [g for g in gains if g], 12)
    if not any(gains):
        assert value is None
    else:
        assert value is not None
        assert 0 <= value <= 1
        assert (value > 1 - 1e-12) == (sorted(gains, reverse=True) == gains)


def test_support() -> None:
    assert support_prf({"a", "b"}, {"b", "c", "d", "e"}) == Prf(0.5, 0.25, pytest.approx(1 / 3))
    assert support_prf(set(), set()) == Prf(1.0, 1.0, 1.0)
    assert support_prf(set(), {"a"}) == Prf(0.0, 0.0, 0.0)


def test_abstention() -> None:
    # Abstained on 3, rightly on 2; of 4 unanswerable ones 2 abstained.
    abstained = [True, True, True, False, False, False]
    answerable = [False, False, True, False, False, True]
    assert abstention(abstained, answerable) == (pytest.approx(2 / 3), 0.5)
    assert abstention([False, False], [True, True]) == (None, None)
