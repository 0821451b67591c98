"""Estimates of every group's class distributions that borrow strength: from the other label, and from other groups.

A sample of few hundred people says little about one class of one group. Two things help as far as the data bear them
out, and no farther:

* *soft labels*: P(positive | score) is smooth, and much the same in all groups, so that everybody's score tells about
  both classes of the group;
* *alignment*: once shifted (and a little stretched), the groups' class distributions are often much the same.

How far each is borne out is learned by comparing what the data show with what chance alone would show (empirical
Bayes): where groups differ no more than by chance they are taken to be alike, where they clearly differ nothing is
borrowed. Distributions are masses over `Bins`: (..., groups, 2, k).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fairroc.core.chain import FloatArray, freeze
from fairroc.core.portable import dot, exp, log, logistic, orthonormal, power, product, share_product, solved
from fairroc.stats.bins import Bins, fewer

BENDS = 3
"""Log odds: a cubic of the score for all people, and a quadratic (three numbers) more for every group."""

RIDGE = (1e-6, 1e-6, *[0.1] * (BENDS - 1))
"""Precision of a weak prior on the bends of the log odds of all people."""

WEAK = 0.25
"""Precision of a weak prior on every group's own numbers, so that a group of few people has some."""

STEPS = 25
"""Newton steps of a logistic fit, at most."""

STRETCH_ROWS = 50.0
"""A group's stretch counts half with so many people of the rarer class."""

STRAIGHT = np.linspace(-12.0, 12.0, 961)
"""Aligned scale, in deviations of all people."""

SHUFFLES, LEAST_SHUFFLES = 16, 4
"""Samples drawn to learn what chance alone would show; fewer with many groups."""

LENIENT = 100.0
"""With so many people of the smallest class or fewer, soft labels are trusted fully up to twice the distance from hard
ones that chance alone makes; with very many up to just that distance."""

PLAIN = 3.0
"""A class that differs by more than so many times its noise keeps most of its own distribution, whatever others do."""


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """What brings the groups on one scale: z = shift + stretch * common."""

    shift: FloatArray
    stretch: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Estimator:
    """Makes class distributions from counts in the bins it was prepared for.

    Attributes
    ----------
    each, everyone : (groups, 2, k, k) and (groups, k, k) smoothing of a class, and of all people of a group.
    common, own : (k, p) columns of the log odds of all people, and of a group's own difference from it.
    trust : share of the soft labels in the estimate; the rest are the labels themselves.
    floor : groups are never taken to differ less in P(positive | score) than so many times the noise of the best known
        one; None: nothing is shared among them.
    """

    bins: Bins
    each: FloatArray
    everyone: FloatArray
    common: FloatArray
    own: FloatArray
    trust: float = 1.0
    floor: float | None = None

    def __post_init__(self) -> None:
        freeze(self.each, self.everyone, self.common, self.own)

    @property
    def _ridge(self) -> FloatArray:
        return np.diag(RIDGE[: self.common.shape[1]])

    def hard(self, counts: FloatArray) -> FloatArray:
        """Smoothed classes of (..., groups, 2, k) counts."""
        masses = counts / counts.sum(axis=-1, keepdims=True)
        return _spread(masses, self.each)

    def soft(self, counts: FloatArray) -> FloatArray:
        """Classes by P(positive | score), the group's score distribution taken from both classes together."""
        common, own = self.log_odds(counts)
        people = counts.sum(axis=-2)
        spread = _spread(people / people.sum(axis=-1, keepdims=True), self.everyone)
        chance = logistic(common[..., None, :] + own)
        masses = np.stack((spread * (1.0 - chance), spread * chance), axis=-2)
        return np.asarray(masses / masses.sum(axis=-1, keepdims=True))

    def masses(self, counts: FloatArray) -> FloatArray:
        """The estimate: soft and hard labels mixed."""
        soft = self.soft(counts)
        return soft if self.trust >= 1.0 else self.trust * soft + (1.0 - self.trust) * self.hard(counts)

    def log_odds(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(..., k) of all people, and (..., groups, k) the groups' differences from it."""
        positives, people = counts[..., 1, :], counts.sum(axis=-2)
        whole = _logistic(self.common, positives.sum(axis=-2), people.sum(axis=-2), 0.0, self._ridge)
        line = _line(self.common, whole)
        base, weak = line[..., None, :], WEAK * np.eye(self.own.shape[1])
        own = _logistic(self.own, positives, people, base, weak)
        if self.floor is not None:
            own = _logistic(self.own, positives, people, base, self._prior(own, base, people), own)
        return line, _line(self.own, own)

    def _prior(self, own: FloatArray, base: FloatArray, people: FloatArray) -> FloatArray:
        """(..., 1, p, p) precision of the groups' differences: how much they exceed their noise."""
        groups, one = people.shape[-2], np.eye(self.own.shape[1])
        bend = _bend(self.own, logistic(_line(self.own, own) + base), people, WEAK * one)
        noise = np.diagonal(solved(bend, one), axis1=-2, axis2=-1)
        precise = 1.0 / noise
        between = ((own**2 - noise) * precise).sum(axis=-2) / precise.sum(axis=-2) * groups / max(groups - 1, 1)
        between = np.maximum(between, (self.floor or 0.0) * noise.min(axis=-2))
        return np.asarray((one / np.maximum(between, 1e-5)[..., None, :])[..., None, :, :])


def estimator(bins: Bins, rng: np.random.Generator, *, floor: float | None = None) -> Estimator:
    """Prepared for these people; how far soft labels are to be trusted is learned by simulation from them."""
    counts, z = bins.counts, bins.z
    people = counts.sum(axis=1)
    each = np.stack([np.stack([_smoother(z, part, bins.tied) for part in pair]) for pair in counts])
    everyone = np.stack([_smoother(z, part, bins.tied, 0.5) for part in people])
    near = np.clip(z, -4.0, 4.0)
    common = np.vander(near, min(BENDS + 1, len(z)), increasing=True)
    ridge = np.diag(RIDGE[: common.shape[1]])
    chance = logistic(_line(common, _logistic(common, counts[:, 1].sum(axis=0), people.sum(axis=0), 0.0, ridge)))
    weight = people.sum(axis=0) * chance * (1.0 - chance) + 1e-9
    weight /= weight.sum()
    bent = np.vander(near - dot(weight, near), min(BENDS, len(z)), increasing=True)
    root = np.sqrt(weight)[:, None]
    plain = Estimator(bins, each, everyone, common, orthonormal(bent * root) / root)
    return replace(plain, trust=_trust(plain, rng), floor=floor)


def _trust(plain: Estimator, rng: np.random.Generator) -> float:
    """Share of the distance between hard and soft labels that chance can explain, 1 at most."""
    counts = plain.bins.counts
    seen = _apart(plain.hard(counts), plain.soft(counts), plain.bins.sizes)
    drawn = sampled(plain.soft(counts), plain.bins.sizes, fewer(SHUFFLES, len(counts), LEAST_SHUFFLES), rng)
    chance = _apart(plain.hard(drawn), plain.soft(drawn), plain.bins.sizes)
    lenient = 1.0 + (0.0 if plain.bins.tied else min(LENIENT / max(float(plain.bins.sizes.min()), 1.0), 1.0))
    return float(min(1.0, lenient * chance.mean() / max(float(seen), 1e-300)))


def _apart(one: FloatArray, other: FloatArray, sizes: FloatArray) -> FloatArray:
    """(...) squared distance of distribution functions, weighed by the classes' sizes."""
    off = np.cumsum(one - other, axis=-1)
    middle = (one + other) / 2
    return np.asarray(((off**2 * middle).sum(axis=-1) * sizes).sum(axis=(-2, -1)) / sizes.sum())


def sampled(masses: FloatArray, sizes: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """(draws, groups, 2, k) counts of samples of these sizes."""
    known = np.maximum(masses, 0.0)
    known = known / known.sum(axis=-1, keepdims=True)
    whole = np.maximum(np.round(sizes), 1).astype(np.int64)
    found = np.stack([np.stack([rng.multinomial(n, p, draws) for n, p in zip(*pair, strict=True)], axis=1)
                      for pair in zip(whole, known, strict=True)], axis=1)  # fmt: skip
    return found.astype(np.float64)


# ---- alignment ---------------------------------------------------------------------------------------------------


def alignment(bins: Bins, masses: FloatArray, *, stretched: bool = True) -> Alignment:
    """Shift (and stretch, as far as there are people) that bring the groups' class means together."""
    z, sizes = bins.z, bins.sizes
    mean = (masses * z).sum(axis=-1)
    spread = np.maximum((masses * (z - mean[..., None]) ** 2).sum(axis=-1), 1e-6)
    middle = np.average(mean, axis=0, weights=sizes.sum(axis=1))
    stretch = np.ones(len(mean))
    if stretched and middle[1] > middle[0]:
        known = 1.0 / (1.0 / np.maximum(sizes, 1e-9)).sum(axis=1)
        wide = np.clip((mean[:, 1] - mean[:, 0]) / (middle[1] - middle[0]), 0.2, 5.0)
        stretch = exp(known / (known + STRETCH_ROWS) * log(wide))
    weight = sizes / spread
    shift = (weight * (mean - stretch[:, None] * middle)).sum(axis=1) / weight.sum(axis=1)
    return Alignment(shift, stretch)


def alike(bins: Bins, masses: FloatArray, moved: Alignment) -> FloatArray:
    """Every class as the groups' mean distribution of that class, shifted and stretched to the group."""
    common = _common(bins, _aligned(bins, masses, moved, STRAIGHT))
    found = np.empty_like(masses)
    for g in range(len(masses)):
        at = (bins.edges - moved.shift[g]) / moved.stretch[g]
        for c in (0, 1):
            line = np.interp(at, STRAIGHT, common[c])
            line[0], line[-1] = 0.0, 1.0
            found[g, c] = np.diff(line)
    return found


def _common(bins: Bins, aligned: FloatArray) -> FloatArray:
    """(2, n) mean over groups of aligned distribution functions."""
    return np.asarray((bins.sizes[:, :, None] * aligned).sum(axis=0) / bins.sizes.sum(axis=0)[:, None])


def _aligned(bins: Bins, masses: FloatArray, moved: Alignment, at: FloatArray) -> FloatArray:
    """(groups, 2, n) distribution functions on the aligned scale."""
    upto = np.concatenate((np.zeros((*masses.shape[:2], 1)), np.cumsum(masses, axis=-1)), axis=-1)
    return np.stack(
        [
            np.stack([np.interp(shift + stretch * at, bins.edges, line) for line in pair])
            for shift, stretch, pair in zip(moved.shift, moved.stretch, upto, strict=True)
        ]
    )


def own_shares(made: Estimator, rng: np.random.Generator) -> FloatArray:
    """(groups, 2) how much of its own distribution a class keeps, the rest being what the aligned groups share.

    With D the squared distance of a class from what the groups share and N what chance alone makes of it, tau = mean
    of D - N over classes (0 at least) is how much groups differ, and a class keeps tau / (tau + N): the usual empirical
    Bayes rule. A class that differs by far more than its noise keeps its own in any case ("limited translation": Efron
    and Morris 1972).
    """
    bins = made.bins
    sizes = bins.sizes
    if bins.tied:
        return np.ones_like(sizes)
    masses = made.masses(bins.counts)
    moved = alignment(bins, masses)
    seen, weight_at = _from_common(bins, masses, moved)
    shuffles = fewer(SHUFFLES, len(sizes), LEAST_SHUFFLES)
    drawn = made.masses(sampled(alike(bins, masses, moved), sizes, shuffles, rng))
    chance = np.stack([_from_common(bins, one, alignment(bins, one))[0] for one in drawn])
    alone = (chance.var(axis=0, ddof=1) * weight_at).sum(axis=-1)
    noise = ((chance**2).mean(axis=0) * weight_at).sum(axis=-1)
    seen = (seen**2 * weight_at).sum(axis=-1)
    weight = sizes / sizes.sum()
    between = max(float((weight * (seen - noise)).sum()), 0.0)
    kept = between / np.maximum(between + noise, 1e-300)
    return np.asarray(np.clip(np.maximum(kept, 1.0 - PLAIN * alone / np.maximum(seen, 1e-300)), 0.0, 1.0))


def _from_common(bins: Bins, masses: FloatArray, moved: Alignment) -> tuple[FloatArray, FloatArray]:
    """(groups, 2, n) how far every class is from what the aligned groups share, and (2, n) weights of the places."""
    aligned = _aligned(bins, masses, moved, STRAIGHT[::4])
    common = _common(bins, aligned)
    weight = np.maximum(np.gradient(common, axis=1), 0.0)
    return aligned - common, weight / weight.sum(axis=1, keepdims=True)


# ---- numbers -----------------------------------------------------------------------------------------------------


def _smoother(z: FloatArray, people: FloatArray, tied: bool, width: float = 1.0) -> FloatArray:
    """(k, k) what a bin's people are spread to: normal kernels of Silverman's width that keep mean and variance."""
    size = float(people.sum())
    if tied or size <= 0 or len(z) < 3:
        return np.eye(len(z))
    mean = dot(people, z) / size
    spread = math.sqrt(dot(people, (z - mean) ** 2) / size)
    h = width * 1.06 * spread * float(power(max(size, 2.0), -0.2))
    room = np.gradient(z)
    if h <= 0 or dot(people, room) / size > h:
        return np.eye(len(z))
    centre = mean + (z - mean) * np.sqrt(max(1.0 - (h / spread) ** 2, 0.05))
    found = exp(-0.5 * ((z[:, None] - centre[None]) / h) ** 2) * room[:, None]
    total = found.sum(axis=0, keepdims=True)
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), np.eye(len(z)))


def _spread(shares: FloatArray, smoothers: FloatArray) -> FloatArray:
    """(..., classes, k) shares of a class in bins, spread by its (classes, k, k) smoother."""
    return share_product(shares[..., None, :], np.swapaxes(smoothers, -1, -2))[..., 0, :]


def _line(columns: FloatArray, weights: FloatArray) -> FloatArray:
    """(..., k) weighted sums of (k, p) columns."""
    return product(weights[..., None, :], columns.T)[..., 0, :]


def _bend(columns: FloatArray, chance: FloatArray, people: FloatArray, prior: FloatArray) -> FloatArray:
    """(..., p, p) second derivatives of a logistic fit."""
    weight = people * chance * (1.0 - chance) + 1e-12
    found = np.empty((*weight.shape[:-1], columns.shape[1], columns.shape[1]))
    for i, column in enumerate(columns.T):
        heavy = weight * column
        for j in range(i + 1):
            found[..., i, j] = found[..., j, i] = (heavy * columns[:, j]).sum(axis=-1)
    return np.asarray(found + prior)


def _logistic(
    columns: FloatArray,
    positives: FloatArray,
    people: FloatArray,
    base: FloatArray | float,
    prior: FloatArray,
    start: FloatArray | None = None,
) -> FloatArray:
    """(..., p) weights of logistic fits with offset ``base`` and precision ``prior``, by damped Newton steps."""
    weights = np.zeros((*people.shape[:-1], columns.shape[1])) if start is None else start
    for _ in range(STEPS):
        chance = logistic(_line(columns, weights) + base)
        left = positives - people * chance
        slope = np.stack([(left * column).sum(axis=-1) for column in columns.T], axis=-1)
        slope -= product(prior, weights[..., None])[..., 0]
        step = solved(_bend(columns, chance, people, prior), slope[..., None])[..., 0]
        largest = np.abs(step).max(axis=-1, keepdims=True)
        weights = weights + step * np.minimum(1.0, 3.0 / np.maximum(largest, 1e-12))
        if largest.max() < 1e-5:
            break
    return weights
