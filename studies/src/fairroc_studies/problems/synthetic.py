"""Synthetic people: seeded scores of any size, and families whose population is known exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit
from scipy.stats import gamma, norm, t

from fairroc.core.kernel import Kernel
from fairroc.core.realised import Performance
from fairroc.core.roc import Population, RocCurve
from fairroc_studies.harness.outcome import outcome
from fairroc_studies.harness.people import Array, Part

FINE = np.linspace(-8.0, 10.0, 9001)
WIDE = np.linspace(-30.0, 25.0, 27501)
LEAST = 5
"""People of every group and label in a sample, at least: samples with fewer are drawn anew."""


def synthetic(rows: int, *, groups: int = 2, distinct: int | None = None, seed: int = 0) -> Part:
    """Scores in (0, 1) that separate the labels better in some groups than in others.

    ``distinct`` bounds the number of different scores, and with it the size of the ROC hulls; None leaves them all
    different.
    """
    rng = np.random.default_rng([seed, rows, groups, distinct or 0])
    group = rng.integers(0, groups, rows, dtype=np.int8)
    base_rate = np.linspace(0.5, 0.3, groups)
    label = (rng.random(rows) < base_rate[group]).astype(np.int8)
    distance = np.linspace(1.8, 1.0, groups)
    signal = rng.standard_normal(rows) + label * distance[group] - 1.0
    score = 1.0 / (1.0 + np.exp(-signal))
    if distinct is not None:
        score = (np.floor(score * distinct) + 0.5) / distinct
    return Part(score, label, group)


@dataclass(frozen=True)
class Shape:
    """A distribution of mean 0 by its draws and its upper tail, and logits that span nearly all of it."""

    draw: Callable[[np.random.Generator, int], Array]
    tail: Callable[[Array], Array]
    logits: Array


NORMAL = Shape(lambda rng, rows: rng.standard_normal(rows), norm.sf, FINE)
SKEWED = Shape(
    lambda rng, rows: (rng.gamma(1.5, size=rows) - 1.5) / 1.5**0.5, gamma(1.5, -1.5 / 1.5**0.5, 1.5**-0.5).sf, WIDE
)
HEAVY = Shape(lambda rng, rows: 0.7 * rng.standard_t(3, rows), lambda x: t(3).sf(x / 0.7), WIDE)


@dataclass(frozen=True)
class Group:
    """Share of all people, share of positives, mean and spread of the logits of negatives and of positives."""

    share: float
    positives: float
    negative: tuple[float, float]
    positive: tuple[float, float]


@dataclass(frozen=True)
class Family:
    """Groups, the number of even steps that scores are rounded to (None: not at all), the shape of the logits of every
    class, around its mean, and the deviation of normal noise that is added to rounded scores."""

    name: str
    groups: tuple[Group, ...]
    steps: int | None = None
    shape: Shape = NORMAL
    jitter: float = 0.0

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Scores, labels and groups of so many people."""
        shares = np.array([g.share for g in self.groups])
        while True:
            group = rng.choice(len(shares), rows, p=shares / shares.sum())
            label = rng.random(rows) < np.array([g.positives for g in self.groups])[group]
            if np.bincount(2 * group + label, minlength=2 * len(shares)).min() >= LEAST:
                break
        table = np.array([[g.negative, g.positive] for g in self.groups])[group, label.astype(int)]
        score = expit(table[:, 0] + table[:, 1] * self.shape.draw(rng, rows))
        if self.steps is not None:
            score = np.round(score * self.steps) / self.steps + self.jitter * rng.standard_normal(rows)
        return score, label, group

    def population(self, at: Sequence[Array] = ()) -> Population:
        """The exact curves, on a fine grid of thresholds, and the groups' weights; each group ``at`` further ones."""
        shares = np.array([g.share for g in self.groups]) / sum(g.share for g in self.groups)
        priors = np.array([g.positives for g in self.groups])
        negatives, positives = shares * (1 - priors), shares * priors
        more = at or [np.empty(0)] * len(self.groups)
        curves = tuple(self._curve(g, extra) for g, extra in zip(self.groups, more, strict=True))
        return Population(curves, negatives / negatives.sum(), positives / positives.sum(), shares)

    def outcome(self, kernels: Sequence[Kernel]) -> Performance:
        """Gap and AUC of a fair score in the population, exactly; without kernels of the original score."""
        return outcome(kernels, self.population([kernel.thresholds for kernel in kernels]))

    def _curve(self, group: Group, extra: Array) -> RocCurve:
        if self.steps is None:
            thresholds = np.unique(np.concatenate((expit(self.shape.logits), extra[(extra > 0) & (extra < 1)])))
            cuts = logit(thresholds)
        else:
            thresholds = np.arange(self.steps + 1) / self.steps
            cuts = np.concatenate(([-np.inf], logit(thresholds[1:] - 0.5 / self.steps)))
        tails = [self.shape.tail((cuts - mean) / spread) for mean, spread in (group.negative, group.positive)]
        if self.jitter:
            lumps = thresholds
            thresholds = np.unique(np.concatenate((np.linspace(lumps[0] - 0.5, lumps[-1] + 0.5, len(FINE)), extra)))
            above = norm.sf((thresholds[:, None] - lumps) / self.jitter)
            tails = [above @ -np.diff(tail, append=0.0) for tail in tails]
        rates = [np.append(0.0, tail[::-1]) for tail in tails]
        for rate in rates:
            rate[-1] = 1.0
        return RocCurve(thresholds[::-1].copy(), rates[0], rates[1], group.positives)


RECIDIVISM = Family(
    "recidivism", (Group(0.51, 0.52, (-0.3, 0.8), (0.4, 0.85)), Group(0.49, 0.39, (-0.75, 0.75), (-0.2, 0.85)))
)
TENTHS = Family("tenths", (Group(0.4, 0.3, (-1.0, 1.0), (0.5, 1.0)), Group(0.6, 0.5, (-0.5, 1.0), (1.0, 1.2))), 10)
FAMILIES = {
    family.name: family
    for family in (
        Family("income", (Group(0.33, 0.11, (-3.0, 1.3), (0.2, 1.5)), Group(0.67, 0.31, (-1.6, 1.5), (0.7, 1.3)))),
        RECIDIVISM,
        Family("crossing", (Group(0.5, 0.4, (-0.8, 1.6), (0.8, 0.6)), Group(0.5, 0.5, (-0.6, 0.6), (0.6, 1.5)))),
        TENTHS,
        Family(
            "three",
            (
                Group(0.15, 0.3, (-1.0, 1.0), (0.2, 1.0)),
                Group(0.35, 0.4, (-0.6, 1.0), (0.8, 1.2)),
                Group(0.5, 0.5, (-0.2, 1.2), (1.4, 1.0)),
            ),
        ),
        Family(
            "six",
            (
                Group(0.06, 0.3, (-1.2, 1.0), (0.0, 1.0)),
                Group(0.08, 0.35, (-0.9, 0.9), (0.4, 1.1)),
                Group(0.12, 0.3, (-0.7, 1.0), (0.6, 0.9)),
                Group(0.16, 0.45, (-0.5, 1.0), (0.8, 1.2)),
                Group(0.22, 0.4, (-0.3, 1.1), (1.1, 1.0)),
                Group(0.36, 0.5, (0.0, 1.0), (1.5, 1.0)),
            ),
        ),
        replace(RECIDIVISM, name="skewed", shape=SKEWED),
        replace(RECIDIVISM, name="heavy", shape=HEAVY),
        replace(TENTHS, name="fifths", steps=4),
        Family("rare", (Group(0.4, 0.01, (-3.0, 1.0), (-1.2, 1.2)), Group(0.6, 0.01, (-2.5, 1.1), (-0.2, 1.2)))),
    )
}
"""Normal logits; with curves that cross, ties at tenths, three and six groups of unequal size; skewed logits, heavy
tails, five scores in all, and 1 % positives."""
