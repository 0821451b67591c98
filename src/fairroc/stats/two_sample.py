"""Are two samples of one population? Tests for counts in bins, each valid for finite samples of both.

Sizes may be effective numbers of weighted rows; then the tests are approximate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairroc.core.chain import FloatArray, IntArray

PSI_BINS = 20
"""Bins of the population stability index, at most: of about equal count, large ties by themselves."""

SMOOTH = 0.5
"""Added to every count, on both sides, before the index is taken: no share is zero."""

LEAST_EXPECTED = 5.0
"""Cells in which fewer are expected, on either side, are joined before a chi-square test."""


def shares(mass: FloatArray) -> FloatArray:
    """Mass over its sum."""
    return np.asarray(mass / mass.sum())


def largest_shift(fitted: FloatArray, new: FloatArray) -> tuple[float, int]:
    """Kolmogorov and Smirnov's distance over the borders of bins, and the number of the border: after so many bins.

    At the border's score, the share of people who reach it changed by so much; at no other border by more.
    """
    apart = np.abs(np.cumsum(shares(new)) - np.cumsum(shares(fitted)))[:-1]
    at = int(np.argmax(apart))
    return float(apart[at]), at + 1


def shift_p_value(distance: float, fitted: float, new: float) -> float:
    """Chance, at most, of such a distance between two samples of one population.

    Massart's bound ``2 exp(-2 N d^2)``, ``1 / N = 1 / fitted + 1 / new``, for two samples (Wei and Dudley 2012,
    doi:10.1016/j.spl.2011.11.012). Ties, and looking at some thresholds only, make a distance smaller: the bound holds
    all the same.
    """
    return min(1.0, 2.0 * math.exp(-2.0 * joint_size(fitted, new) * distance * distance))


def joint_size(fitted: float, new: float) -> float:
    """Size of one sample whose mean is as uncertain as the difference of two."""
    return fitted * new / (fitted + new)


def visible_shift(level: float, fitted: float, new: float) -> float:
    """The smallest distance that a test at this level calls a shift."""
    return min(1.0, math.sqrt(math.log(2.0 / level) / (2.0 * joint_size(fitted, new))))


def rows_to_see(distance: float, level: float, fitted: float) -> int | None:
    """New rows from which on a test at this level calls such a distance a shift; None: the fitted rows are too few."""
    needed = math.log(2.0 / level) / (2.0 * distance * distance)
    return math.ceil(needed * fitted / (fitted - needed)) if fitted > needed else None


def psi_bins(fitted: FloatArray) -> IntArray:
    """(bins,) the number, from 0, of the coarse bin that each fine one belongs to."""
    share = shares(fitted)
    middle = np.cumsum(share) - share / 2
    return np.unique(np.minimum((middle * PSI_BINS).astype(np.intp), PSI_BINS - 1), return_inverse=True)[1]


def psi(fitted: FloatArray, new: FloatArray) -> float:
    """Population stability index: the sum of (q - p) log(q / p) over bins, with smoothed shares."""
    p, q = shares(fitted + SMOOTH), shares(new + SMOOTH)
    return float(np.dot(q - p, np.log(q / p)))


def psi_by_chance(bins: int, fitted: float, new: float, confidence: float) -> tuple[float, float]:
    """Mean of the index where nothing moved, and the limit it keeps with this probability, in large samples: the
    index times the joint size is chi-square."""
    if bins == 1:
        return 0.0, 0.0
    size = joint_size(fitted, new)
    return (bins - 1) / size, chi2_quantile(confidence, bins - 1) / size


def parts_p_value(fitted: FloatArray, new: FloatArray) -> float:
    """Chi-square test of two samples over unordered cells; 1 where too few people leave a single cell."""
    both = np.stack((fitted, new))
    expected = both.sum(axis=1)[:, None] * shares(both.sum(axis=0))
    rare = (expected < LEAST_EXPECTED).any(axis=0)
    if rare.any():
        both = np.concatenate((both[:, ~rare], both[:, rare].sum(axis=1, keepdims=True)), axis=1)
        expected = both.sum(axis=1)[:, None] * shares(both.sum(axis=0))
        if (expected[:, -1] < LEAST_EXPECTED).any() and both.shape[1] > 1:
            least = int(np.argmin(expected[0, :-1]))
            both[:, least] += both[:, -1]
            both = both[:, :-1]
            expected = both.sum(axis=1)[:, None] * shares(both.sum(axis=0))
    if both.shape[1] < 2:
        return 1.0
    return chi2_tail(float(((both - expected) ** 2 / expected).sum()), both.shape[1] - 1)


def outside_p_value(outside: int, rows: int, fitted: float) -> float:
    """Chance that so many or more of ``rows`` new scores lie outside the range of ``fitted`` ones.

    Of two samples of one continuous distribution all orders are equally likely, so each new score lies outside with
    probability 2 / (fitted + 1), and their number is beta-binomial. Ties make it smaller.
    """
    if outside == 0:
        return 1.0
    b = max(fitted - 1.0, 1.0)
    fewer = _outside_chance(0, outside - 1, rows, b)
    return 1.0 - fewer if fewer < 0.99 else min(1.0, _outside_chance(outside, rows, rows, b))


def _outside_chance(first: int, last: int, rows: int, b: float) -> float:
    """Chance that a beta-binomial number with parameters 2 and b lies from ``first`` to ``last``. O(last - first)."""
    k = np.arange(first, last, dtype=np.float64)
    ratio = (rows - k) * (k + 2.0) / ((k + 1.0) * (rows - k - 1.0 + b))
    start = _log_choose(rows, first) + _log_beta(first + 2.0, rows - first + b) - _log_beta(2.0, b)
    return float(np.exp(start + np.concatenate(([0.0], np.cumsum(np.log(ratio))))).sum())


def absent_p_value(group: float, fitted: float, new: float) -> float:
    """Chance that a group with ``group`` of ``fitted`` rows has none among ``new`` ones: all its rows, of both samples
    together, fell into the first."""
    return math.exp(_log_choose(fitted + new - group, new) - _log_choose(fitted + new, new))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted after Holm: calling those below a level finds something false with at most that probability."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, worst = [1.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = worst
    return adjusted


def chi2_tail(x: float, dof: int) -> float:
    """Chance that a chi-square number with ``dof`` degrees of freedom exceeds x: a finite sum for whole ``dof``."""
    half = x / 2.0
    if half <= 0.0:
        return 1.0
    odd = dof % 2
    start = math.erfc(math.sqrt(half)) if odd else 0.0
    powers = [i + 0.5 * odd for i in range(dof // 2)]
    terms = (math.exp(power * math.log(half) - half - math.lgamma(power + 1.0)) for power in powers)
    return min(1.0, start + math.fsum(terms))


def chi2_quantile(probability: float, dof: int) -> float:
    """The number that a chi-square number with ``dof`` degrees of freedom exceeds with 1 - ``probability``."""
    low, high = 0.0, 1.0
    while chi2_tail(high, dof) > 1.0 - probability:
        high *= 2.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if chi2_tail(middle, dof) > 1.0 - probability else (low, middle)
    return high


def _log_choose(n: float, k: float) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
