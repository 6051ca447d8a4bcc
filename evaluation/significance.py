"""Intervals and paired differences by bootstrap over clusters of questions.

Questions whose evidence stands on one page share its fate: one unlucky page loses them all. So
whole pages are drawn, not questions (cluster bootstrap, percentile interval). A metric is a
quotient Σ numerator / Σ denominator over questions; a question without gold has denominator 0 and
takes no part. The same draws serve every metric and system of a group, which makes the differences
paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000
SEED = 20_240_501
LEVEL = 0.95
_BATCH = 1_000  # draws at a time: bounds memory at _BATCH × clusters × 8 bytes

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval; ``p`` is two-sided and only set for a difference."""

    value: float
    low: float
    high: float
    p: float | None = None


class ClusterBootstrap:
    """Draws clusters with replacement once and applies the draws to any per-question metric."""

    def __init__(self, clusters: Sequence[str], *, draws: int = DRAWS, seed: int = SEED) -> None:
        names, self._index = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
        self._size = len(names)
        self._draws = draws
        self._seed = seed

    def _resampled(self, columns: Array) -> Array:
        """Return the column sums of each draw: [draws, m] for per-question ``columns`` [n, m]."""
        sums = np.zeros((self._size, columns.shape[1]))
        np.add.at(sums, self._index, columns)
        # The generator is made anew, so that every call sees the same draws.
        rng = np.random.default_rng(self._seed)
        out = np.empty((self._draws, columns.shape[1]))
        even = np.full(self._size, 1 / self._size)
        for start in range(0, self._draws, _BATCH):
            stop = min(start + _BATCH, self._draws)
            counts = rng.multinomial(self._size, even, size=stop - start)
            out[start:stop] = counts @ sums
        return out

    def intervals(self, numerators: Array, denominators: Array) -> list[Interval | None]:
        """Return the interval of each metric (column); None for one without any gold.

        Both arrays are [questions, metrics].
        """
        if self._size == 0:
            return [None] * numerators.shape[1]
        m = numerators.shape[1]
        sums = self._resampled(np.hstack([numerators, denominators]))
        ratio = _quotient(sums[:, :m], sums[:, m:])
        totals = denominators.sum(axis=0)
        return [
            _interval(float(numerators[:, j].sum() / totals[j]), ratio[:, j]) if totals[j] else None
            for j in range(m)
        ]

    def differences(self, a: tuple[Array, Array], b: tuple[Array, Array]) -> list[Interval | None]:
        """Return a − b for each metric; each argument is (numerators, denominators).

        The p-value is twice the smaller share of draws on either side of zero, at least
        1 / draws. None where either side has no gold.
        """
        if self._size == 0:
            return [None] * a[0].shape[1]
        m = a[0].shape[1]
        sums = self._resampled(np.hstack([*a, *b]))
        ratio = _quotient(sums[:, :m], sums[:, m : 2 * m]) - _quotient(
            sums[:, 2 * m : 3 * m], sums[:, 3 * m :]
        )
        value = _quotient(a[0].sum(axis=0), a[1].sum(axis=0)) - _quotient(
            b[0].sum(axis=0), b[1].sum(axis=0)
        )
        return [
            None if np.isnan(value[j]) else _difference(float(value[j]), ratio[:, j])
            for j in range(m)
        ]


def _quotient(numerators: Array, denominators: Array) -> Array:
    out = np.full(np.broadcast(numerators, denominators).shape, np.nan)
    np.divide(numerators, denominators, out=out, where=denominators > 0)
    return out


def _interval(value: float, draws: Array) -> Interval:
    draws = draws[~np.isnan(draws)]  # a draw without any gold says nothing
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Interval(value, float(low), float(high))


def _difference(value: float, draws: Array) -> Interval:
    base = _interval(value, draws)
    draws = draws[~np.isnan(draws)]
    side = min(float(np.mean(draws <= 0)), float(np.mean(draws >= 0)))
    return Interval(value, base.low, base.high, p=min(1.0, max(2 * side, 1 / len(draws))))


def paired_bootstrap(
    a: Sequence[float | None],
    b: Sequence[float | None],
    clusters: Sequence[str],
    *,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Interval | None:
    """Return mean(a) − mean(b) over the questions where both have a value, with interval and p.

    None when there is no such question.
    """
    rows = [
        (x, y, c) for x, y, c in zip(a, b, clusters, strict=True) if x is not None and y is not None
    ]
    if not rows:
        return None
    boot = ClusterBootstrap([c for _, _, c in rows], draws=draws, seed=seed)
    ones = np.ones((len(rows), 1))
    left = np.array([[x] for x, _, _ in rows])
    right = np.array([[y] for _, y, _ in rows])
    return boot.differences((left, ones), (right, ones))[0]
