"""Populations that these people may come from, and what a fair score does in each of them.

A population is drawn like this: the people's weights are drawn anew (the Bayesian bootstrap), the class distributions
are estimated from them, and each is drawn towards what the aligned groups share as far as the data bear out
(`fairroc.stats.borrow`). In some populations (half of them for two groups, fewer for more, which tell better how alike
they are) nothing is shared, so that no way of making scores fair is judged by its own assumption alone. The mean over
such populations of a score's gap is its expected gap among new people: an average for *one given* score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import FloatArray, freeze
from fairroc.core.constraint import Constraint, Rates
from fairroc.core.kernel import Kernel
from fairroc.core.portable import share_product, weighted
from fairroc.core.roc import Population
from fairroc.stats.bins import Bins, fewer
from fairroc.stats.borrow import Estimator, alignment, alike, estimator, own_shares

DRAWS, LEAST_DRAWS = 48, 12
"""Populations that are drawn: they leave a seventh of the gap's deviation to chance. With many groups fewer: the
largest of many distances varies less."""

FLOOR = 1.0
"""Groups are never taken to differ less in P(positive | score) than the noise of the best known one."""

INSIDE = (0.5, 1.0)
"""Places inside every level at which groups are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class Plausible:
    """Populations, and the people's estimate beside them.

    Attributes
    ----------
    made : what estimates class distributions from counts in the bins of these people.
    masses : (groups, 2, k) the estimate of the class distributions, before anything is shared among groups.
    own : (groups, 2) how much of it each class keeps.
    draws : (draws, groups, 2, k) populations.
    weights0, weights1, shares : every group's share of negatives, of positives and of all people.
    priors : (draws, groups) shares of positives.
    """

    made: Estimator
    masses: FloatArray
    own: FloatArray
    draws: FloatArray
    weights0: FloatArray
    weights1: FloatArray
    shares: FloatArray
    priors: FloatArray

    def __post_init__(self) -> None:
        freeze(self.masses, self.own, self.draws, self.weights0, self.weights1, self.shares, self.priors)

    @property
    def bins(self) -> Bins:
        return self.made.bins


@dataclass(frozen=True, slots=True)
class Expected:
    """Gap and AUC of a score over plausible populations: means and standard deviations."""

    gap: float
    gap_deviation: float
    auc: float
    auc_deviation: float


def plausible(bins: Bins, people: Population, rng: np.random.Generator) -> Plausible:
    """Draw populations that people in bins may come from."""
    draws = fewer(DRAWS, len(people.curves), LEAST_DRAWS)
    made = estimator(bins, rng, floor=FLOOR)
    sizes, masses = bins.sizes, made.masses(bins.counts)
    own = own_shares(made, rng)
    again = rng.standard_gamma(np.maximum(bins.counts, 1e-12), (draws, *bins.counts.shape))
    again = np.maximum(again, 1e-300)
    again *= sizes[:, :, None] / again.sum(axis=-1, keepdims=True)
    each = made.masses(again)
    part, root = own[:, :, None], np.sqrt(own)[:, :, None]
    found, alone = part * masses + root * (each - masses), draws // len(own)
    if (own < 1.0).any():
        shared = alike(bins, masses, alignment(bins, masses))
        found += (1.0 - part) * shared
        found += (1.0 - root) * (np.stack([alike(bins, one, alignment(bins, one)) for one in each]) - shared)
        found[:alone] = each[:alone]
    size = sizes.sum(axis=1)
    positives = rng.standard_gamma(people.priors * size, (draws, len(size)))
    priors = positives / (positives + rng.standard_gamma((1.0 - people.priors) * size, (draws, len(size))))
    return Plausible(made, masses, own, found, people.weights0, people.weights1, people.shares, priors)


def expected(known: Plausible, kernels: Sequence[Kernel], constraint: Constraint) -> Expected:
    """What a fair score does in the populations; without kernels, the original score."""
    constraint = constraint.told()
    if kernels:
        rates = [share_product(known.draws[:, g], _selected(kernel, known.bins)) for g, kernel in enumerate(kernels)]
    else:
        rates = list(np.cumsum(known.draws[..., ::-1], axis=-1).transpose(1, 0, 2, 3))
    fpr, tpr = np.stack(rates, axis=-1).transpose(1, 0, 2, 3)  # (draws, places, groups)
    gap = constraint.measured(Rates(fpr, tpr, known.priors[:, None], known.shares)).max(axis=-1)
    zero = np.zeros((len(fpr), 1))
    x, y = (
        np.concatenate((zero, part), axis=1) for part in (weighted(fpr, known.weights0), weighted(tpr, known.weights1))
    )
    auc = (np.diff(x, axis=1) * (y[:, 1:] + y[:, :-1]) / 2).sum(axis=1)
    return Expected(float(gap.mean()), float(gap.std(ddof=1)), float(auc.mean()), float(auc.std(ddof=1)))


def _selected(kernel: Kernel, bins: Bins) -> FloatArray:
    """(k, places) probability that people of each bin are placed at or before each place."""
    block = np.minimum(np.searchsorted(-kernel.thresholds, -bins.thresholds), len(kernel.thresholds) - 1)
    used, block = np.unique(block, return_inverse=True)
    table = kernel.table[kernel.row[used]]
    first, last = kernel.first[used, None], kernel.last[used, None]
    level = np.arange(table.shape[1])[None]
    own = (first >= 0) & (level >= first) & (level <= last)
    start = np.where(own & (level == first), kernel.start[used, None], 0.0)
    stop = np.where(own & (level == last), kernel.stop[used, None], 1.0)
    before = np.cumsum(table, axis=1) - table
    width = np.maximum(stop - start, 1e-12)
    parts = [before + table * np.clip((inside - start) / width, 0.0, 1.0) for inside in INSIDE]
    return np.asarray(np.stack(parts, axis=-1).reshape(len(used), -1)[block])
