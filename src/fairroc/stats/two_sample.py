"""Are two samples of one population? Tests for counts in bins, each valid for finite samples of both.

Sizes may be effective sample sizes of weighted rows; then the tests are approximate.
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
    from scipy.special import chdtri

    if bins == 1:
        return 0.0, 0.0
    size = joint_size(fitted, new)
    return (bins - 1) / size, float(chdtri(bins - 1, 1.0 - confidence)) / size


def parts_p_value(fitted: FloatArray, new: FloatArray) -> float:
    """Chi-square test of two samples over unordered cells; 1 where too few people leave a single cell."""
    from scipy.special import chdtrc

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
    return float(chdtrc(both.shape[1] - 1, ((both - expected) ** 2 / expected).sum()))


def outside_p_value(outside: int, rows: int, fitted: float) -> float:
    """Chance that so many or more of ``rows`` new scores lie outside the range of ``fitted`` ones.

    Of two samples of one continuous distribution all orders are equally likely, and so many new scores lie outside as
    precede the second fitted one in a random order (a beta-binomial number): ``outside`` or more where the first
    ``outside + 1`` scores hold one fitted score at most, a hypergeometric chance. Ties make it smaller.
    """
    if outside == 0:
        return 1.0
    fitted = max(fitted, 2.0)
    sequences = _log_choose(rows + fitted, outside + 1)
    one = math.log(fitted) + _log_choose(rows, outside) - sequences
    none = _log_choose(rows, outside + 1) - sequences if outside < rows else -math.inf
    return min(1.0, math.exp(one) + math.exp(none))


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


def _log_choose(n: float, k: float) -> float:
    """Log of the binomial coefficient; effective sample sizes need not be whole."""
    from scipy.special import betaln

    return -math.log1p(n) - float(betaln(n - k + 1.0, k + 1.0))
