"""The cluster bootstrap: what it must get right on cases that can be worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.significance import ClusterBootstrap, paired_bootstrap


def test_equal_systems_differ_by_nothing() -> None:
    values = [0.0, 1.0, 0.5, 1.0]
    found = paired_bootstrap(values, values, list("abcd"))
    assert found is not None
    assert (found.value, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_constant_gain_has_no_spread() -> None:
    found = paired_bootstrap([1.0] * 20, [0.5] * 20, [str(i) for i in range(20)], draws=1000)
    assert found is not None
    assert (found.low, found.high) == (0.5, 0.5)
    assert found.p == pytest.approx(1 / 1000)


def test_questions_of_one_page_are_not_independent() -> None:
    rng = np.random.default_rng(1)
    pages = np.repeat(rng.integers(0, 2, 20), 10).astype(float)  # ten questions share a fate
    by_page = [str(i // 10) for i in range(200)]
    by_question = [str(i) for i in range(200)]
    zero = [0.0] * 200
    wide = paired_bootstrap(list(pages), zero, by_page, draws=2000)
    narrow = paired_bootstrap(list(pages), zero, by_question, draws=2000)
    assert wide is not None
    assert narrow is not None
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_interval_of_a_share_is_near_the_normal_one() -> None:
    values = np.array([[1.0]] * 60 + [[0.0]] * 40)
    boot = ClusterBootstrap([str(i) for i in range(100)])
    (found,) = boot.intervals(values, np.ones((100, 1)))
    assert found is not None
    half = 1.96 * (0.6 * 0.4 / 100) ** 0.5
    assert found.value == pytest.approx(0.6)
    assert found.low == pytest.approx(0.6 - half, abs=0.015)
    assert found.high == pytest.approx(0.6 + half, abs=0.015)


def test_missing_gold_takes_no_part() -> None:
    assert paired_bootstrap([None, 1.0], [1.0, None], ["a", "b"]) is None
    found = paired_bootstrap([1.0, None, 0.0], [0.0, 1.0, 0.0], ["a", "b", "c"])
    assert found is not None
    assert found.value == 0.5
    boot = ClusterBootstrap(["a", "b"])
    assert boot.intervals(np.zeros((2, 1)), np.zeros((2, 1))) == [None]
    assert ClusterBootstrap([]).intervals(np.zeros((0, 2)), np.zeros((0, 2))) == [None, None]


def test_same_seed_same_numbers() -> None:
    a, b = [0.1, 0.9, 0.4], [0.2, 0.3, 0.4]
    assert paired_bootstrap(a, b, list("abc")) == paired_bootstrap(a, b, list("abc"))
