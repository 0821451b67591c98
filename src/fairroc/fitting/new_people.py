"""promise="new": the fair score that is expected to be best for the people who come next, or the original one.

Candidates run from the original score over equal pace (all groups stand at equal fpr + tpr), part of the way or all of
it, and walks that draw nobody, to the exact method, all on estimated curves. None is forced onto the sample. They are
judged in the same populations that the people may come from (`fairroc.stats.posterior`), and what is chosen is judged
again in others. A candidate costs the AUC it loses, the price of its draws, and the price of a gap above epsilon; the
cheapest is taken. So what a larger epsilon costs is never more. The original score is one of them: it stays where it
is expected to be within epsilon, and unless another's gap is smaller by more than the estimate can tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from fairroc.core.bands import best_bands
from fairroc.core.chain import FEW_GROUPS, MANY_GROUPS, FloatArray, IntArray
from fairroc.core.constraint import Constraint, EqualizedOdds, OneRate, Ratio
from fairroc.core.coupling import Levels
from fairroc.core.estimate import straightened
from fairroc.core.kernel import Kernel
from fairroc.core.portable import weighted
from fairroc.core.roc import Population, RocCurve, all_thresholds, in_parts, pooled_share, thinned
from fairroc.core.strand import strands_of, together
from fairroc.core.walk import best_walk, least_walk
from fairroc.fitting.one_rate import CAREFUL, ORDERED, rate_kernels
from fairroc.fitting.solving import Goal, drawn_share, levels_of, raw_order_kernels
from fairroc.fitting.walking import DRAW_PRICE, LARGEST_TIE, MERGE_PRICE, walked
from fairroc.people.people import People
from fairroc.stats.bins import bins_of
from fairroc.stats.expected import Expected, Figures, figures
from fairroc.stats.posterior import Posterior, posterior

SEED = 0
"""Populations are the same for the same people."""

INNER, BANDED = (0.0, 0.02, 0.05, 0.1, 0.2), (0.02, 0.1)
"""Epsilons on an estimate, as shares of half the largest distance possible; and those of bands of many groups."""

WAYS = (0.5, 0.75, 1.0)
"""How far the groups are brought to equal pace."""

FINE, CORNERS = 2048, 32
"""Thresholds of an estimated curve, and its corners: straight lines between them keep the order of scores."""

WALK_POINTS, LEAST_POINTS = 400, 40
"""Points of all estimated curves together that walks look at, and of each at least."""

BARELY = 1.001
"""A walk is looked for at so many times the least gap that one can have."""

GAP_PRICE = 1.0
"""A point of the gap above epsilon weighs as much as a point of AUC."""

SURE, LEAST_HELP = 0.5, 0.01
"""Deviations by which a candidate's gap is to be below the original score's, and by how much it is at least."""

NARROW = 0.05
"""Ratios are kept for single people too, as if 1 less so much were asked for, where few people are selected."""

BANDS = "bands"
"""The name of candidates in which neighbouring scores become one."""

Made = tuple[str, float, Levels, Callable[[], tuple[Kernel, ...]]]
"""Name, internal epsilon, levels, and what makes the kernels."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A way to make scores fair, and what to expect of it; without levels the original score.

    Kernels are made when they are asked for: all candidates' together may be more than fits into memory. ``drawn`` is
    the share of the fitted people who are drawn.
    """

    name: str
    inner_epsilon: float
    levels: Levels | None
    make: Callable[[], tuple[Kernel, ...]]
    figures: Figures
    drawn: float

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return self.make()

    @property
    def expected(self) -> Expected:
        return self.figures.expected


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """All candidates, the original score first, and the price of a draw for everybody."""

    candidates: tuple[Candidate, ...]
    price: float

    def best(self, epsilon: float) -> Candidate:
        """The cheapest candidate of those that clearly help, and the original score."""
        original = self.candidates[0]
        helpful = [one for one in self.candidates[1:] if helps(original.figures.gaps, one.figures.gaps)]
        return min((original, *helpful), key=lambda one: self.cost(one, epsilon))

    def cost(self, candidate: Candidate, epsilon: float) -> float:
        """The price of a gap above epsilon (a standard error larger than it is expected, since chance says what is), of
        draws and of scores that become one, less AUC."""
        new, merged = candidate.expected, candidate.name == BANDS
        gap = new.gap + new.gap_deviation / math.sqrt(len(candidate.figures.gaps))
        return GAP_PRICE * max(gap - epsilon, 0.0) + MERGE_PRICE * merged + self.price * candidate.drawn - new.auc


def helps(before: FloatArray, after: FloatArray) -> bool:
    """Whether a gap is expected to be smaller by more than the estimate can tell, from both in the same populations."""
    smaller = before - after
    return float(smaller.mean()) >= max(LEAST_HELP, SURE * float(smaller.std(ddof=1)))


def populations(people: People) -> Posterior:
    """Populations that these people may come from."""
    thin = people.thin
    bins = bins_of(thin.curves, thin.shares, people.class_sizes())
    return posterior(bins, thin, np.random.default_rng(SEED))


def choice(
    people: People,
    constraint: Constraint,
    draw: str,
    known: Posterior,
    progress: Callable[[int, int], None] | None = None,
) -> Choice:
    """Make and judge all candidates that ``draw`` allows; ``progress(done, all)`` is called after each."""
    judge = partial(figures, known, known.populations, constraint=constraint)
    candidates = [Candidate("original", 0.0, None, tuple, judge(()), 0.0)]
    estimates = Estimates(people.thin, known, constraint, draw == "never")
    every = list(estimates.one_rate() if isinstance(constraint, OneRate) else estimates.both_rates())
    for done, (name, inner, levels, make) in enumerate(every, 1):
        kernels = make()
        drawn = drawn_share(people.thin, kernels)
        if draw != "never" or drawn == 0:
            candidates.append(Candidate(name, inner, levels, make, judge(kernels), drawn))
        if progress is not None:
            progress(done, len(every))
    return Choice(tuple(candidates), DRAW_PRICE if draw == "few" else 0.0)


def _less_often(groups: int) -> int:
    """With many groups one in so many internal epsilons and ways is tried."""
    return 1 if groups <= FEW_GROUPS else 2 if groups <= MANY_GROUPS else 4


@dataclass(frozen=True, eq=False)
class Estimates:
    """Curves as they are expected to be in the population, and scores that would be fair there.

    ``seen`` are the people's own curves; ``never``: nobody is to be drawn.
    """

    seen: Population
    known: Posterior
    constraint: Constraint
    never: bool

    def both_rates(self) -> Iterator[Made]:
        """Equal pace, by the groups' shifts alone or by all that is known; walks without draws; the exact method."""
        assert isinstance(self.constraint, EqualizedOdds)
        for name, masses in (("shift", self.known.shifted), ("equal pace", self.known.mean)):
            curves = self._binned(masses)
            for way in WAYS[:: -_less_often(len(self.seen.curves))]:
                yield self._walk(f"{name}, {way:.0%} of the way", 0.0, curves, _paced(curves, way))
        if len(self.seen.curves) == 2 or self.never:
            yield from self._walks(self.constraint)
        if not self.never:
            yield from self._ladder(self.known.mean)

    def one_rate(self) -> Iterator[Made]:
        """The exact method by the groups' shifts alone, and by all that is known."""
        yield from self._ladder(self.known.shifted)
        yield from self._ladder(self.known.mean)

    def _walks(self, constraint: EqualizedOdds) -> Iterator[Made]:
        """Walks that keep all scores apart, and bands where no walk can have so small a gap."""
        curves = self._binned(self.known.mean)
        points = max(WALK_POINTS // len(curves.curves), LEAST_POINTS)
        curves = replace(curves, curves=tuple(thinned(curve, points) for curve in curves.curves))
        strands = strands_of(curves.curves, curves.weights0, curves.weights1, constraint)
        inners: tuple[float, ...] = BANDED  # with more groups bands are quicker
        lowest = np.inf
        if len(strands) == 2:
            inners, lowest = INNER, BARELY * least_walk(strands).gap
            for inner in sorted({max(inner, lowest) for inner in inners}):
                walk = best_walk(strands, inner)
                if walk is not None:
                    yield self._walk("walk", inner, curves, walk.stops)
        for inner in inners:
            bands = best_bands(strands, inner, LARGEST_TIE) if inner < lowest else None
            if bands is not None:
                yield self._walk(BANDS, inner, curves, bands.stops, tied=True)

    def _walk(self, name: str, inner: float, curves: Population, stops: IntArray, *, tied: bool = False) -> Made:
        parts = [in_parts(curve) for curve in curves.curves]
        return name, inner, *walked(curves.curves, parts, stops, tied=tied)

    def _ladder(self, masses: FloatArray) -> Iterator[Made]:
        """The exact method's levels at every internal epsilon; of one rate, for the raw order of people."""
        fine = (self._curve(*each, self.thresholds) for each in zip(self.seen.curves, masses, strict=True))
        estimate = replace(self.seen, curves=tuple(straightened(curve, CORNERS) for curve in fine))
        unit = self.constraint.largest if isinstance(self.constraint, OneRate) else self.constraint.largest / 2
        for share in INNER[:: _less_often(len(estimate.curves))]:
            inner = share * unit
            levels = levels_of(estimate, inner, Goal(inner, self.constraint, "order"), ordered=estimate)
            yield "estimate", inner, levels, partial(self._kernels, estimate, levels)

    def _kernels(self, estimate: Population, levels: Levels) -> tuple[Kernel, ...]:
        constraint, seen = self.constraint, self.seen.curves
        if isinstance(constraint, OneRate):
            care = CAREFUL if isinstance(constraint, Ratio) else ORDERED
            curves, never = estimate.curves, self.never
            return rate_kernels(curves, seen, levels, constraint, epsilon=NARROW, care=care, never=never)
        return raw_order_kernels(estimate.curves, seen, levels)

    def _curve(self, curve: RocCurve, masses: FloatArray, thresholds: FloatArray) -> RocCurve:
        """The curve of estimated masses at falling thresholds."""
        fpr, tpr = (np.concatenate(([0.0], line)) for line in self.known.bins.rates(masses, thresholds))
        return RocCurve(thresholds, fpr, tpr, curve.prior)

    @cached_property
    def thresholds(self) -> FloatArray:
        """Falling thresholds, all or about FINE of them (of many groups less), that part all people evenly."""
        curves, count = self.seen.curves, FINE // _less_often(len(self.seen.curves))
        every = all_thresholds(curves)
        if len(every) > count:
            below = 1.0 - pooled_share(curves, self.seen.shares, every)
            even = np.searchsorted(below, np.arange(count) / count).clip(0, len(every) - 1)
            every = every[np.unique(np.append(0, even))]
        return np.asarray(every[::-1])

    def _binned(self, masses: FloatArray) -> Population:
        """The curves of estimated masses at the ends of the bins in which anybody is expected."""
        every = zip(self.seen.curves, masses, strict=True)
        curves = (self._curve(*each, self.known.bins.thresholds[::-1]) for each in every)
        return replace(self.seen, curves=tuple(map(_without_empty_steps, curves)))


def _without_empty_steps(curve: RocCurve) -> RocCurve:
    """The curve without points that the next one repeats."""
    kept = np.append(np.diff(curve.u[1:]) > 0, True)
    fpr, tpr = (np.concatenate((rate[:1], rate[1:][kept])) for rate in (curve.fpr, curve.tpr))
    return RocCurve(curve.thresholds[kept], fpr, tpr, curve.prior)


def _paced(curves: Population, way: float) -> IntArray:
    """(n, groups) stops of a walk some way from the original order to equal pace."""
    times = []
    for curve in curves.curves:
        original = np.stack([other.u[other.index_at(curve.thresholds)] for other in curves.curves], axis=-1)
        times.append((1.0 - way) * weighted(original, curves.shares) + way * curve.u[1:])
    return together(times)
