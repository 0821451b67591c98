"""Upper limits of the gap among all people, of whom those that were fitted are a sample.

Two questions are answered, from what is known of the sample alone:

* `safe_reach`: by how much can the gap of *any* monotone score differ from the sample's, at any sample size?
* `sharp_limit`: how large can the gap of *this* score be? Its rates are means of what it does to people of each class,
  and the shares of the population that lie between a class's sorted scores are known in law: n + 1 parts of a Dirichlet
  distribution, whatever the scores' own distribution (Wilks 1941; the Bayesian bootstrap of Rubin 1981 draws them too).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairroc.core.chain import FloatArray, Frozen, IntArray, ratio
from fairroc.core.constraint import Constraint
from fairroc.core.portable import dot, exp, product, share_product
from fairroc.stats.bands import Noise, dkw_widths
from fairroc.stats.bootstrap import even_steps

CELLS = 1024
"""Steps in which the errors of rates are added: rounded up, they are too large by half of one in a thousand each."""

STEPS = 128
"""Steps of each rate, about, in which a group's people are drawn."""

END = 0.5
"""People of a class, as it were, beyond its highest and its lowest score: the share of the population selected where k
of n people are is then a Beta(k + 1/2, n - k + 1/2) number, by which Jeffreys's limits of a share go."""


@dataclass(frozen=True, slots=True, eq=False)
class Mixture(Frozen):
    """One group's people, in steps of falling score, and what the fair score does to them at some places.

    Attributes
    ----------
    rates : (2, k) shares of negatives and of positives accepted at every place.
    chance : (s, k) chance of people of each step to be accepted there.
    mass : (2, s) share of negatives and of positives in each step.
    variance : (2, s) the variance of that share: the sum of squared weights.
    person : (2,) one over the effective number of people of each class.
    prior : share of positives.
    """

    rates: FloatArray
    chance: FloatArray
    mass: FloatArray
    variance: FloatArray
    person: FloatArray
    prior: float

    def at(self, places: IntArray) -> Mixture:
        """The same people at some of the places."""
        return replace(self, rates=self.rates[:, places].copy(), chance=self.chance[:, places].copy())


def steps_of(noise: Noise, count: int = STEPS) -> IntArray:
    """Indices, from 1, of the points of a group's curve that end about ``count`` even steps of each rate; the last one
    always."""
    parts = [even_steps(rate, count) for rate in noise.rates]
    return np.unique(np.concatenate((*parts, [len(noise.curve.thresholds)])))


def mixture(noise: Noise, ends: IntArray, chance: FloatArray, rates: FloatArray) -> Mixture:
    """A group's people in steps that end at these points of its curve."""
    points = np.concatenate(([0], ends))
    squares = np.maximum(np.diff(noise.squares[:, points]), 0.0)
    mass = np.diff(noise.rates[:, points])
    return Mixture(rates, chance, mass, noise.scale[:, None] * squares, noise.scale.copy(), noise.curve.prior)


def drawn_rates(group: Mixture, draws: int, rng: np.random.Generator) -> FloatArray:
    """(2, draws, k) rates of a group in populations of which these people may be a sample.

    Shares of a Dirichlet distribution are gamma numbers over their sum. A step of n people of equal weight has shape n;
    one of unequal weights the shape that gives its share the variance it has.
    """
    found = np.empty((2, draws, group.rates.shape[1]))
    for label in (0, 1):
        mass, variance, person = group.mass[label], group.variance[label], group.person[label]
        shape, unit = ratio(mass**2, variance, 0.0), ratio(variance, mass, person)
        shape[0] += END
        shape[-1] += END
        share = rng.standard_gamma(shape, (draws, len(shape)))
        share *= unit
        share /= share.sum(axis=1, keepdims=True)
        share -= mass
        found[label] = 2.0 * share_product(share / 2.0, group.chance) + group.rates[label]
    return found


def drawn_priors(group: Mixture, draws: int, rng: np.random.Generator) -> FloatArray:
    """(draws, 1) shares of positives in such populations."""
    size = (1.0 / group.person).sum()
    positives, negatives = (rng.standard_gamma(size * part, (draws, 1)) for part in (group.prior, 1.0 - group.prior))
    return np.asarray(positives / (positives + negatives))


def sharp_limit(
    groups: Sequence[Mixture], constraint: Constraint, *, draws: int, rng: np.random.Generator, confidence: float
) -> tuple[float, float]:
    """What the gap, over the groups' common places, does not exceed in that share of drawn populations; and the gap of
    the people themselves there.

    The distance of the two groups that are farthest apart is the largest range of a corner's coordinate: no pairs need
    be formed. O(draws m s k).
    """
    high = low = None
    shares = np.random.default_rng(draws)
    for group in groups:
        fpr, tpr = drawn_rates(group, draws, rng)
        corners = constraint.corners(fpr, tpr, drawn_priors(group, draws, shares))
        high = corners if high is None else np.maximum(high, corners, out=high)
        low = corners.copy() if low is None else np.minimum(low, corners, out=low)
    assert high is not None and low is not None  # there are groups
    gaps = constraint.apart(low, high).max(axis=(0, 2))
    own = np.stack([constraint.corners(group.rates[0], group.rates[1], group.prior) for group in groups])
    gap = float(constraint.apart(own.min(axis=0), own.max(axis=0)).max())
    return float(np.quantile(gaps, confidence, method="higher")), gap


def safe_reach(sizes: IntArray | FloatArray, constraint: Constraint, confidence: float) -> float:
    """By how much a gap of the sample can differ from the population's, for all monotone scores at once.

    A kernel that is monotone in the score selects, at any level, a mixture of events "score >= t". So a rate of the
    fair score is too low by no more than the rate of the original score is somewhere, D+, and too high by no more than
    D-: for one fitted to these very people too. With w the sizes of a corner of the dual ball, the gap of two groups is
    off by at most a sum of w D over both classes of both groups, each D either D+ or D-. These four are independent,
    and each exceeds x with probability exp(-2 n x^2) at most, for every n, x and distribution (Massart 1990,
    doi:10.1214/aop/1176990746; below its median Reeve 2024, arXiv:2403.16651). The limit is where all corners and pairs
    of groups together have probability 1 - confidence: no more than by bands of one width for each class. O(m).
    """
    weights, sizes = constraint.samples(
        np.asarray(sizes, dtype=np.float64)
    )  # each corner stands for itself and its opposite
    both = np.sort(product(weights, dkw_widths(sizes, confidence).T), axis=1)[:, -2:].sum(axis=1)
    most = float(both.max())
    edges = np.linspace(0.0, most, CELLS + 1)[1:]
    parts = [_rounded_sums(weight, sizes, edges) for weight in weights]
    first, last = 0, CELLS - 1  # the limit is edges[last] at most
    while first < last:
        middle = (first + last) // 2
        if sum(_exceeding(part, middle + 1) for part in parts) <= 1.0 - confidence:
            last = middle
        else:
            first = middle + 1
    return float(edges[last])


def _rounded_sums(weight: FloatArray, sizes: IntArray | FloatArray, edges: FloatArray) -> FloatArray:
    """(groups, cells) law of every group's weighted sum of errors, rounded up to the edges, but for what is beyond."""
    found = np.zeros((len(sizes), len(edges)))
    for g, counts in enumerate(sizes):
        law = np.ones(1)
        for w, n in zip(weight.tolist(), counts.tolist(), strict=True):
            if w > 0:
                below = np.where(edges >= w, 1.0, 1.0 - exp(-2.0 * n * (edges / w) ** 2))
                law = _convolved(law, np.concatenate(([0.0], np.diff(below, prepend=0.0))))
        found[g] = law[1:]
    return found


def _convolved(one: FloatArray, other: FloatArray) -> FloatArray:
    """The law of a sum, for as many cells as the longer of the two has."""
    size = max(len(one), len(other))
    found, longer = np.zeros(size), other if len(other) == size else one
    shorter = one if longer is other else other
    for i in np.flatnonzero(shorter).tolist():
        found[i:] += shorter[i] * longer[: size - i]
    return found


def _exceeding(law: FloatArray, cells: int) -> float:
    """Bound of the probability that the sum of two different groups' errors, or of their opposites, is beyond so many
    cells."""
    within = np.concatenate((np.zeros((len(law), 1)), np.cumsum(law, axis=1)), axis=1)
    left = np.maximum(cells - np.arange(1, law.shape[1] + 1), 0)  # cells that one group's error leaves to another's
    inside = within[:, left]
    pairs = dot(law.sum(axis=0), inside.sum(axis=0)) - (law * inside).sum()  # every two groups, in both orders
    return float(max(len(law) * (len(law) - 1) - pairs, 0.0))
