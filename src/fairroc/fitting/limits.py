"""Upper limits of the gap among all people, for a score fitted to some of them (docs/explanation/unseen.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.core.constraint import Constraint, Rates
from fairroc.core.kernel import Kernel
from fairroc.core.portable import log
from fairroc.core.realised import RealisedRoc, chances
from fairroc.people.people import People
from fairroc.stats.bands import Noise, dkw_widths
from fairroc.stats.bins import fewer
from fairroc.stats.bootstrap import even_steps
from fairroc.stats.limits import STEPS, Mixture, mixture, safe_reach, sharp_limit, steps_of
from fairroc.summary import Part

DRAWS, LEAST_DRAWS = 1000, 200
"""Populations drawn; fewer with many groups."""

SEED = 0
"""Draws are the same for the same people."""

PLACES, LEAST_PLACES = 512, 8
"""Places of the fair score, about, at which groups are compared; every rate of every group gets so many at least,
unless these are too many together."""

LEAST_STEPS = 32
"""Steps of each rate in which the people of each of many groups are drawn."""

LOOKED_AT = 4096
"""Knots of a group's line, at most, among which its places are chosen."""

FEWEST_ROWS = 10
"""Below so many rows of a class the limit to rely on is the one that holds for any sample size."""


@dataclass(frozen=True, slots=True, repr=False)
class Limit(Part):
    """The class of people that limits what can be promised: the one whose band is widest.

    ``label`` is None where a group's people of both labels are one sample, as for selection rates. ``width`` is the
    half width of its DKW band, ``rows_to_halve`` how many rows of it would halve that.
    """

    group: str
    label: int | None
    rows: int
    width: float
    rows_to_halve: int


@dataclass(frozen=True, slots=True)
class Limits:
    """What the gap among all people does not exceed, at some level of confidence, and who limits that.

    ``dkw`` holds for any sample size and any monotone score (None for weighted rows), ``bootstrap`` for this score in
    large samples, and is narrower. Both hold what counts in bins may hide.
    ``method`` names the one to rely on: DKW where some class has fewer than 10 rows.
    """

    level: float
    dkw: float | None
    bootstrap: float
    method: str
    limit: Limit

    @property
    def value(self) -> float:
        """The one to rely on."""
        return self.dkw if self.method == "dkw" and self.dkw is not None else self.bootstrap


def limits(
    people: People,
    kernels: Sequence[Kernel],
    realised: Sequence[RealisedRoc],
    gap: float,
    constraint: Constraint,
    confidence: float,
) -> Limits:
    """Limits for a score whose ``gap`` among the fitted people is known; no kernels stand for the original score."""
    sizes, most = people.class_sizes(), constraint.largest
    noises, binned = people.noises(thin=True), people.error * most
    groups = _mixtures(noises, kernels, realised) if kernels else _unchanged(noises)
    groups = _looked_at(groups, people.thin.shares, constraint)
    rng = np.random.default_rng(SEED)
    draws = fewer(DRAWS, len(groups), LEAST_DRAWS)
    sharp, seen = sharp_limit(groups, constraint, draws=draws, rng=rng, confidence=confidence)
    told = gap if constraint.told() is constraint else seen
    sharp = max(sharp + max(told - seen, 0.0), told) + binned  # between the places the gap may be larger
    safe = None
    if not people.weighted and constraint.told() is constraint:
        safe = gap + safe_reach(sizes, constraint, confidence) + binned
    rows = constraint.samples(people.class_rows().astype(np.float64))[1]
    few = safe is not None and int(rows.min()) < FEWEST_ROWS
    return Limits(
        level=confidence,
        dkw=None if safe is None else min(safe, most),
        bootstrap=min(sharp, most),
        method="dkw" if few else "bootstrap",
        limit=_widest(people, constraint, confidence),
    )


def _widest(people: People, constraint: Constraint, confidence: float) -> Limit:
    labels = constraint.samples(np.array([[0.0, 1.0]]))[1][0]
    rows = constraint.samples(people.class_rows().astype(np.float64))[1]
    sizes = constraint.samples(people.class_sizes())[1]
    widths = dkw_widths(sizes, confidence)
    g, at = divmod(int(np.argmin(sizes)), sizes.shape[1])
    known = int(rows[g, at])
    least = 2 * float(log(2 * sizes.size / (1.0 - confidence)))  # widths end at 1: effective size that halves that
    halved = max(4 * known, math.ceil(least * (known / sizes[g, at])))
    label = int(labels[at]) if constraint.needs_labels else None
    return Limit(people.names[g], label, known, float(widths[g, at]), halved)


def _looked_at(groups: list[Mixture], shares: FloatArray, constraint: Constraint) -> list[Mixture]:
    """The groups at the places that count; at the last one everybody is selected."""
    if constraint.told().where is None:
        return groups
    fpr, tpr = np.stack([group.rates for group in groups], axis=-1)
    rates = Rates(fpr, tpr, np.array([group.prior for group in groups]), shares)
    looks = np.flatnonzero(constraint.told().looks(rates.selected))
    return [group.at(looks if len(looks) else np.array([len(fpr) - 1])) for group in groups]


def _unchanged(noises: Sequence[Noise]) -> list[Mixture]:
    """The original score: people of a step are accepted or not."""
    each = _each(len(noises))
    parts = [noise.curve.thresholds[steps_of(noise, each) - 1] for noise in noises]
    at = _some(np.unique(np.concatenate(parts)))[::-1]
    found = []
    for noise in noises:
        ends = steps_of(noise, fewer(STEPS, len(noises), LEAST_STEPS))
        chance = (noise.curve.thresholds[ends - 1][:, None] >= at).astype(np.float64)
        found.append(mixture(noise, ends, chance, noise.rates[:, noise.curve.index_at(at)]))
    return found


def _mixtures(noises: Sequence[Noise], kernels: Sequence[Kernel], realised: Sequence[RealisedRoc]) -> list[Mixture]:
    """The fair score: people of a step are drawn, or keep their order."""
    places = _some(np.unique(np.concatenate([_places(roc, _each(len(noises))) for roc in realised])))
    found = []
    for noise, kernel, roc in zip(noises, kernels, realised, strict=True):
        ends = steps_of(noise, fewer(STEPS, len(noises), LEAST_STEPS))
        chance = chances(kernel, noise.curve.thresholds[ends - 1], places)
        found.append(mixture(noise, ends, chance, roc.at(places)[:, :2].T.copy()))
    return found


def _places(roc: RealisedRoc, count: int) -> FloatArray:
    """Places that part both rates of a group into about ``count`` even steps each."""
    levels = np.arange(1.0, len(roc.even))
    apart = [part[:: 1 + 2 * len(part) // LOOKED_AT] for part in (roc.y, levels)]
    y = np.unique(np.concatenate((*apart, levels[-1:])))
    rates = roc.at(y)[:, :2].T
    index = [even_steps(np.concatenate(([0.0], rate)), count) - 1 for rate in rates]
    return np.asarray(y[np.unique(np.concatenate(index))])


def _some(places: FloatArray) -> FloatArray:
    """All places, or as many as groups can be compared at; the last one always."""
    return places if len(places) <= 2 * PLACES else np.append(places[:: -(-len(places) // PLACES)], places[-1])


def _each(groups: int) -> int:
    """Places for each rate of each group."""
    return max(PLACES // (2 * groups), LEAST_PLACES)
