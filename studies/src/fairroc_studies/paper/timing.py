"""How Algorithm 1's running time grows with the number of thresholds, on curves that cut each norm boundary twice."""

from __future__ import annotations

import time

import numpy as np

from fairroc.froc.algorithm import algorithm_1

SIZES = (1_000, 10_000, 100_000)
"""Numbers of thresholds."""

EPSILON = 0.05
ROUNDS = 3
"""The best of so many rounds counts: other work on the machine only adds."""


def froc_seconds(sizes: tuple[int, ...] = SIZES) -> list[tuple[int, float]]:
    """Seconds of Algorithm 1 with each number of thresholds, on two smooth ROC curves."""
    return [(k, min(_seconds(k) for _ in range(ROUNDS))) for k in sizes]


def exponent(times: list[tuple[int, float]]) -> float:
    """Of the growth between the two largest sizes: 1 is linear, 2 is quadratic.

    >>> exponent([(10, 1.0), (100, 10.0), (1000, 1000.0)])
    2.0
    """
    (small, before), (large, after) = times[-2:]
    return float(np.log(after / before) / np.log(large / small))


def _seconds(k: int) -> float:
    fpr = np.arange(1, k + 1) / (k + 1)
    up, down = (np.column_stack((fpr, fpr**power)) for power in (0.2, 0.5))
    begin = time.perf_counter()
    algorithm_1(up, down, EPSILON)
    return time.perf_counter() - begin
