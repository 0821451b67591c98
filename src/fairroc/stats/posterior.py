"""Populations that these people may come from: what is known of every group's classes, and how well.

It is known on ranks, so that an increasing map of the score changes nothing: people stand in bins of the pooled score,
every score by itself where there are few. A group's class departs smoothly from masses that all groups share,

    mass of group g and label y in a bin  ~  common mass of label y  x  exp(theta . phi),

where phi are orthogonal polynomials of the normal score of the bin's rank, and theta is s - d for negatives and s + d
for positives: s moves both labels alike (to first order a shift), d moves them apart. Departures are normal around none
with amplitudes that are not known. Every combination of some amplitudes is weighed by its evidence (Laplace), among
them none at all, so that groups which do not differ are seen not to. What no polynomial follows, such as a score that
one group alone has, is told by a Dirichlet distribution around them, whose strength is weighed likewise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product as combinations

import numpy as np

from fairroc.core.chain import FloatArray, Frozen, IntArray, totals
from fairroc.core.portable import (
    cholesky,
    dot,
    exp,
    log,
    log_gamma,
    orthonormal,
    product,
    solved,
    solved_above,
)
from fairroc.core.roc import Population
from fairroc.stats.bins import Bins, fewer

BENDS = 8
"""Polynomials of the normal score."""

SHIFTS = {0.0: 0.05, 0.05: 0.07, 0.15: 0.1, 0.4: 0.29, 1.0: 0.31, 2.5: 0.18}
PARTINGS = {0.0: 0.49, 0.05: 0.24, 0.12: 0.19, 0.3: 0.08}
HIGHER = {0.0: 0.09, 0.1: 0.11, 0.25: 0.26, 0.6: 0.34, 1.2: 0.2}
"""Amplitudes of the first s, of the first d and of all higher bends, and how often each is met."""

ALIKE = 0.1
"""How often groups do not differ at all, beside that."""

NOTHING = 1e-3
"""The amplitude that stands for none: far below what any sample can tell."""

RARE = 1e-6
"""The least share of people that polynomials see in a bin."""

STEPS, WEAK = 16, 1.5
"""Newton steps, halved where they lead down, and the amplitude of the weak prior they are taken with."""

ROUNDS = 3
"""How often the common masses are found from the groups, and the groups from these."""

MIDDLE = 1.0
"""Amplitude of the groups' middle: about none, since the common masses are found from them."""

STRENGTHS = (100.0, 300.0, 1000.0, 3000.0, 10000.0, np.inf)
"""How many people smooth masses may count as, beside those of a class."""

UNLIKELY, HALVINGS = 20.0, 4
"""Draws that make the people so much less likely (the square of 40 for twice eight numbers: one in a thousand) than the
mean does are drawn back, so often at most."""

DRAWS, LEAST_DRAWS = 64, 16
"""Populations to choose by, and as many to judge what was chosen; with many groups fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class Populations(Frozen):
    """Some populations: (draws, groups, 2, k) masses of the bins, and (draws, groups) shares of positives."""

    masses: FloatArray
    priors: FloatArray

    def sampled(self, sizes: FloatArray, rng: np.random.Generator) -> Populations:
        """Samples of so many people of every group and label, one from each population."""
        whole = np.maximum(np.rint(sizes), 1.0).astype(np.int64)
        drawn = np.array([[rng.multinomial(whole[i], masses[i]) for i in np.ndindex(whole.shape)]
                          for masses in self.masses], dtype=np.float64)  # fmt: skip
        return Populations(drawn.reshape(self.masses.shape) / whole[..., None], self.priors)


@dataclass(frozen=True, slots=True, eq=False)
class Posterior(Frozen):
    """What is known of the population.

    Attributes
    ----------
    mean, shifted : (groups, 2, k) expected masses; and those that nothing but a shift makes of the common ones.
    populations, judges : populations to choose by, and others to judge what was chosen.
    weights0, weights1, shares : every group's share of negatives, of positives and of all people.
    """

    bins: Bins
    mean: FloatArray
    shifted: FloatArray
    populations: Populations
    judges: Populations
    weights0: FloatArray
    weights1: FloatArray
    shares: FloatArray


def posterior(bins: Bins, people: Population, rng: np.random.Generator) -> Posterior:
    """What people in bins tell of their population."""
    found = departures(bins)
    weighed = weigh(found)
    count = 2 * fewer(DRAWS, len(bins.counts), LEAST_DRAWS)
    smooth = found.masses(_likely(bins, found, weighed.drawn(count, rng), weighed.mean))
    masses = _roughened(bins, smooth, found.masses(weighed.mean), rng)
    size = bins.sizes.sum(axis=1)
    positives = rng.standard_gamma(people.priors * size, (count, len(size)))
    priors = positives / (positives + rng.standard_gamma((1.0 - people.priors) * size, (count, len(size))))
    first, second = (Populations(masses[at], priors[at]) for at in (slice(count // 2), slice(count // 2, None)))
    shift = np.zeros_like(weighed.mean)
    shift[:, 0] = weighed.mean[:, 0]
    weights = people.weights0, people.weights1, people.shares
    return Posterior(bins, masses.mean(axis=0), found.masses(shift), first, second, *weights)


# ---- how groups depart from what they share --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Departures:
    """Common masses, and what the people say of how each group departs from them: a parabola around the best departure.

    Attributes
    ----------
    common : (2, k) masses by label.
    phi : (k, bends) polynomials.
    pull, bend : (groups, 2 bends) and (groups, 2 bends, 2 bends) first and second derivatives of the likelihood, at no
        departure, by s and d.
    """

    common: FloatArray
    phi: FloatArray
    pull: FloatArray
    bend: FloatArray

    def masses(self, departures: FloatArray) -> FloatArray:
        """(..., groups, 2, k) masses that go with (..., groups, 2 bends) departures."""
        s, d = np.split(departures, 2, axis=-1)
        return tilted(self.common, np.stack((s - d, s + d), axis=-2), self.phi)[0]


def departures(bins: Bins) -> Departures:
    """Departures of the people in bins, and what is common after these are taken off."""
    phi = polynomials(bins)
    theta = np.zeros((len(bins.counts), 2, phi.shape[1]))
    common = totals(bins.counts)
    for _ in range(ROUNDS):
        common = common / common.sum(axis=-1, keepdims=True)
        theta, slope, bend = _newton(bins, common, phi, theta)
        tilt = tilted(common, theta, phi)[1]
        common = totals(bins.counts) / np.maximum(totals(bins.sizes[:, :, None] * tilt), 1e-300)
    pull = product(bend, theta[..., None])[..., 0] + slope
    (p0, p1), (h0, h1) = np.moveaxis(pull, 1, 0), np.moveaxis(bend, 1, 0)
    whole, skew = h0 + h1, h1 - h0
    both = np.concatenate((np.concatenate((whole, skew), axis=-1), np.concatenate((skew, whole), axis=-1)), axis=-2)
    return Departures(
        common / common.sum(axis=-1, keepdims=True), phi, np.concatenate((p0 + p1, p1 - p0), axis=-1), both
    )


def polynomials(bins: Bins) -> FloatArray:
    """(k, bends) orthogonal polynomials of the bins' normal scores, of mean 0 and deviation 1 over the people known."""
    powers = np.vander(bins.z / 3.0, max(min(BENDS + 1, len(bins.z)), 2), increasing=True)
    known = totals(totals(bins.counts))
    root = np.sqrt(np.maximum(known / known.sum(), RARE))[:, None]
    return np.asarray((orthonormal(powers * root) / root)[:, 1:])


def tilted(common: FloatArray, theta: FloatArray, phi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(..., 2, k) masses that depart by (..., 2, bends) theta from common ones, and how many times these they are."""
    line = product(theta, phi.T)
    tilt = exp(line - line.max(axis=-1, keepdims=True))
    masses = common * tilt
    size = masses.sum(axis=-1, keepdims=True)
    return masses / size, tilt / size


def _newton(
    bins: Bins, common: FloatArray, phi: FloatArray, theta: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Departures of every class by damped Newton steps, (groups, 2, bends), with slope and bend of the likelihood."""
    pairs = (phi[:, :, None] * phi[:, None, :]).reshape(len(phi), -1)
    prior = np.diag(1.0 / (WEAK * _fading(phi.shape[1])) ** 2)
    tried, best = theta, np.full(theta.shape[:-1], -np.inf)
    for _ in range(STEPS):
        masses = tilted(common, tried, phi)[0]
        likely = (bins.counts * log(np.maximum(masses, 1e-300))).sum(axis=-1)
        likely -= (tried * product(prior, tried[..., None])[..., 0]).sum(axis=-1) / 2
        better = (likely >= best)[..., None]
        theta, best = np.where(better, tried, theta), np.maximum(likely, best)
        slope, bend = _derivatives(bins, masses, phi, pairs)
        left = slope - product(prior, tried[..., None])[..., 0]
        change = solved(bend + prior, left[..., None])[..., 0]
        tried = np.where(better, tried + change, (theta + tried) / 2)
    return theta, *_derivatives(bins, tilted(common, theta, phi)[0], phi, pairs)


def _derivatives(bins: Bins, masses: FloatArray, phi: FloatArray, pairs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slope and bend of every class's likelihood, from the masses it is at."""
    mean, sizes = _sums(masses, phi), bins.sizes[..., None]
    square = _sums(masses, pairs).reshape(*mean.shape, phi.shape[1])
    bend = sizes[..., None] * (square - mean[..., :, None] * mean[..., None, :])
    return _sums(bins.counts, phi) - sizes * mean, bend


def _likely(bins: Bins, found: Departures, drawn: FloatArray, mean: FloatArray) -> FloatArray:
    """Drawn departures, half way back to the mean, and half way again, where the people themselves speak against them:
    far from its top a likelihood falls faster than the parabola that the draws come from."""
    least = _likelihood(bins, found, mean) - UNLIKELY
    for _ in range(HALVINGS):
        far = _likelihood(bins, found, drawn) < least
        drawn = np.where(far[..., None], (drawn + mean) / 2, drawn)
    return drawn


def _likelihood(bins: Bins, found: Departures, departures: FloatArray) -> FloatArray:
    """(..., groups) logarithm of how likely departures make every group's people."""
    return np.asarray((bins.counts * log(np.maximum(found.masses(departures), 1e-300))).sum(axis=(-2, -1)))


def _fading(bends: int) -> FloatArray:
    """How much smaller than the first amplitudes of bends are: their number to the power of -1.5."""
    number = np.arange(1.0, bends + 1)
    return np.asarray(1.0 / (number * np.sqrt(number)))


def _sums(parts: FloatArray, columns: FloatArray) -> FloatArray:
    """(..., p) sums of (..., k) parts times (k, p) columns, to the last digit the same everywhere."""
    return np.asarray(np.add.reduce(np.ascontiguousarray(parts[..., None, :] * columns.T), axis=-1))


# ---- how far groups depart, weighed by evidence ----------------------------------------------------------------------


def amplitudes() -> tuple[FloatArray, FloatArray]:
    """(m, 3) combinations of amplitudes, and how often each is met."""
    parts = SHIFTS, PARTINGS, HIGHER
    found = np.array(list(combinations(*parts)))
    often = np.array([list(map(dict.__getitem__, parts, row)) for row in found.tolist()]).prod(axis=1)
    often *= (1.0 - ALIKE) / often.sum()
    often[0] += ALIKE
    return found, often


@dataclass(frozen=True, eq=False)
class Weighed:
    """Departures of the groups under every combination of amplitudes, normal to second order.

    Attributes
    ----------
    found : what the people say.
    precision : (m, 2 bends) of departures from the groups' middle, beforehand.
    evidence, weights : (m,) its logarithm, but for what all combinations have in common; and with how often each is
        met.
    middle, middle_bend : (m, 2 bends) and (m, 2 bends, 2 bends) the groups' middle, and how well it is known.
    """

    found: Departures
    precision: FloatArray
    evidence: FloatArray
    weights: FloatArray
    middle: FloatArray
    middle_bend: FloatArray

    @cached_property
    def mean(self) -> FloatArray:
        """(groups, 2 bends) expected departures."""
        return totals(self.weights[:, None, None] * self._expected(np.arange(len(self.weights)), self.middle))

    def _expected(self, which: IntArray, middle: FloatArray) -> FloatArray:
        pull = self.found.pull + self.precision[which, None] * middle[:, None]
        return solved(self._bend(which), pull[..., None])[..., 0]

    def _bend(self, which: IntArray) -> FloatArray:
        return _with_precision(self.found.bend, self.precision[which])

    def drawn(self, count: int, rng: np.random.Generator) -> FloatArray:
        """(count, groups, 2 bends) departures."""
        groups, size = self.found.pull.shape
        which = spread_over(self.weights, count, rng)
        noise = rng.standard_normal((count, groups + 1, size))
        middle = self.middle[which] + solved_above(cholesky(self.middle_bend[which]), noise[:, -1])
        return self._expected(which, middle) + solved_above(cholesky(self._bend(which)), noise[:, :-1])


def weigh(found: Departures) -> Weighed:
    """Weigh all combinations of amplitudes. The groups' middle is free: it is not among the differences."""
    combinations, often = amplitudes()
    size = found.pull.shape[1]
    first, parting, higher = np.maximum(combinations, NOTHING).T[:, :, None]
    faded = np.tile(_fading(size // 2), 2)
    spread = higher * faded
    spread[:, :1], spread[:, size // 2 : size // 2 + 1] = first, parting
    precision = 1.0 / spread**2
    bend = _with_precision(found.bend, precision)
    right = np.broadcast_to(np.concatenate((found.bend, found.pull[..., None]), axis=-1), (*bend.shape[:-1], size + 1))
    inside = solved(bend, right)
    kept, pulled = precision[:, None, :, None] * inside[..., :-1], precision[:, None] * inside[..., -1]
    middle_bend = (kept + np.swapaxes(kept, -1, -2)).sum(axis=1) / 2 + np.diag(1.0 / (MIDDLE * faded) ** 2)
    middle = solved(middle_bend, pulled.sum(axis=1)[..., None])[..., 0]
    evidence = (found.pull * inside[..., -1]).sum(axis=(1, 2)) / 2 + (middle * pulled.sum(axis=1)).sum(axis=-1) / 2
    evidence += len(found.pull) * log(precision).sum(axis=-1) / 2
    evidence -= _half_log_size(bend).sum(axis=-1) + _half_log_size(middle_bend)
    weights = often * exp(evidence - evidence.max())
    return Weighed(found, precision, evidence, weights / totals(weights), middle, middle_bend)


def _with_precision(bend: FloatArray, precision: FloatArray) -> FloatArray:
    """(m, groups, n, n) bends with (m, n) precisions added."""
    return np.asarray(bend + precision[:, None, :, None] * np.eye(precision.shape[1]))


def _half_log_size(matrix: FloatArray) -> FloatArray:
    """Half the logarithm of the determinant of positive definite matrices."""
    return np.asarray(log(np.diagonal(cholesky(matrix), axis1=-2, axis2=-1)).sum(axis=-1))


# ---- what no polynomial follows --------------------------------------------------------------------------------------


def _roughened(bins: Bins, smooth: FloatArray, mean: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(draws, groups, 2, k) smooth masses, drawn towards the people's own as far as these bear it out."""
    whole = np.maximum(totals(bins.counts), 1e-12)
    masses = smooth * (rng.standard_gamma(whole, (len(smooth), *whole.shape)) / whole)[:, None]
    strength = np.array(STRENGTHS)[spread_over(_strengths(bins, mean), len(smooth), rng)]
    rough = np.flatnonzero(np.isfinite(strength))
    known = strength[rough, None, None, None] * smooth[rough] + bins.counts
    masses[rough] = np.maximum(rng.standard_gamma(np.maximum(known, 1e-12)), 1e-300)
    return np.asarray(masses / masses.sum(axis=-1, keepdims=True))


def _strengths(bins: Bins, mean: FloatArray) -> FloatArray:
    """Weights of `STRENGTHS`: how well each foretells the people in bins."""
    evidence = []
    for strength in STRENGTHS:
        if np.isinf(strength):
            evidence.append(dot(bins.counts.ravel(), log(np.maximum(mean, 1e-300)).ravel()))
            continue
        known = np.maximum(strength * mean, 1e-9)
        each = (log_gamma(known + bins.counts) - log_gamma(known)).sum(axis=-1)
        every = log_gamma(strength + bins.sizes) - log_gamma(np.full_like(bins.sizes, strength))
        evidence.append(float((each - every).sum()))
    weights = exp(np.array(evidence) - max(evidence))
    return np.asarray(weights / weights.sum())


def spread_over(weights: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """So many numbers of things with these weights, each as often as its weight has it, in random order."""
    at = (rng.permutation(count) + 0.5) / count
    return np.asarray(np.searchsorted(np.cumsum(weights), at).clip(0, len(weights) - 1))
