"""promise="new": the fair score whose expected gap among new people is within epsilon, and whose expected AUC is best.

Candidates run from the original score over one shift for each group to the exact method on the groups' own curves.
None is forced onto the sample. All are judged in the same plausible populations (`fairroc.stats.plausible`), so that a
larger epsilon only adds candidates: the expected AUC never falls, up to where the original score itself is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fairroc.core.chain import FEW_GROUPS, MANY_GROUPS, FloatArray
from fairroc.core.constraint import Constraint, OneRate, Ratio
from fairroc.core.coupling import Levels
from fairroc.core.estimate import flattened, straightened
from fairroc.core.kernel import Kernel, drawn_kernel, one_person, ordered_kernel
from fairroc.core.roc import Population, RocCurve, all_thresholds, pooled_share
from fairroc.fitting.one_rate import CAREFUL, ORDERED, rate_kernels
from fairroc.fitting.solving import Goal, levels_of
from fairroc.people.people import People, thinned_population
from fairroc.stats.bins import Bins, bins_of
from fairroc.stats.borrow import Alignment, alignment, alike
from fairroc.stats.plausible import Expected, Plausible, expected, plausible

SEED = 0
"""Populations are the same for the same people."""

INNER = (0.0, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3)
"""Epsilons of the exact method on an estimate, as shares of half the largest distance possible."""

WAYS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1)
"""How far the groups are shifted towards each other."""

CUTS = 64
"""Levels of a shifted score."""

POINTS = 32
"""Corners of an estimated curve."""

DIP = 0.4
"""Blocks of scores that dip farther below the hull, in deviations of the raw curve, are drawn."""

ENOUGH, FINE = 500, 2048
"""With so many people of every class the sample's own curves, at so many points, are a candidate too."""

PLAIN, DRAWN, SHARED = (
    "soft labels",
    "raw, ties drawn",
    ("partly shared, shift and stretch", "shared, shift and stretch"),
)
"""Names of candidates; with very many groups the first and the last are the only estimates."""

NEAR = 0.5
"""Where no candidate is within epsilon, those so many deviations from the least expected gap are as good, and the best
AUC among them is taken."""


NARROW = 0.05
"""Ratios are kept for single people too, as if 1 less so much were asked for, where few people are selected."""

SURE = 0.5
"""A gap above epsilon that is not so many deviations below the original score's is no reason to change the score."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A way to make scores fair, and what to expect of it; without levels the original score.

    Kernels are made when they are asked for: all candidates' together may be more than fits into memory.
    """

    name: str
    inner_epsilon: float
    levels: Levels | None
    make: Callable[[], tuple[Kernel, ...]]
    expected: Expected

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return self.make()

    @property
    def drawn(self) -> bool:
        """Whether all ties are drawn."""
        return self.name == DRAWN


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """All candidates, and the plausible populations they were judged in."""

    known: Plausible
    candidates: tuple[Candidate, ...]

    @property
    def original(self) -> Candidate:
        """The original score."""
        return self.candidates[0]

    def best(self, epsilon: float) -> Candidate:
        """The original score if it is within epsilon; else the best expected AUC that is; where none is within it,
        about the least expected gap.

        The original score stays where nothing has a clearly smaller gap.
        """
        if self.original.expected.gap <= epsilon:
            return self.original
        least = min((candidate.expected for candidate in self.candidates), key=lambda e: e.gap)
        if least.gap > max(epsilon, self.original.expected.gap - SURE * least.gap_deviation):
            return self.original
        limit = max(epsilon, least.gap + NEAR * least.gap_deviation)
        return max((c for c in self.candidates if c.expected.gap <= limit), key=lambda c: c.expected.auc)


def populations(people: People) -> Plausible:
    """Populations that these people may come from."""
    thin = people.thin
    bins = bins_of(thin.curves, thin.shares, people.class_sizes())
    return plausible(bins, thin, np.random.default_rng(SEED))


def choice(
    people: People,
    constraint: Constraint,
    known: Plausible | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    never: bool = False,
) -> Choice:
    """Make and judge all candidates (``never``: that draw nobody); ``progress(done, all)`` is called after each."""
    known = populations(people) if known is None else known
    found = [Candidate("original", 0.0, None, tuple, expected(known, (), constraint))]
    made = list(_estimates(people, known))
    ways = list(_alignments(known))
    few = _less_often(len(people.names))
    todo = (len(made) + (not never)) * len(INNER[::few]) + len(ways) * len(WAYS[::few])
    for name, levels, make, inner in _all(people, known.bins, made, ways, constraint, never):
        found.append(Candidate(name, inner, levels, make, expected(known, make(), constraint)))
        if progress is not None:
            progress(len(found) - 1, todo)
    return Choice(known, tuple(found))


Made = tuple[str, Levels, Callable[[], tuple[Kernel, ...]], float]


def _less_often(groups: int) -> int:
    """With many groups one in so many internal epsilons and ways is tried."""
    return 1 if groups <= FEW_GROUPS else 2 if groups <= MANY_GROUPS else 4


def _all(
    people: People,
    bins: Bins,
    made: Sequence[tuple[str, Population]],
    ways: Sequence[tuple[str, Alignment]],
    constraint: Constraint,
    never: bool,
) -> Iterator[Made]:
    seen = people.thin
    soft = next(estimate for name, estimate in made if name == PLAIN)
    for name, estimate in made:
        for inner, levels in _ladder(estimate, constraint, estimate):
            yield name, levels, partial(_kernels, estimate, seen, levels, constraint, never), inner
    drawn = thinned_population(seen, FINE)
    for inner, levels in () if never else _ladder(drawn, constraint):
        yield DRAWN, levels, partial(_drawn, drawn, levels), inner
    for name, moved in ways:
        for way in WAYS[:: _less_often(len(seen.curves))]:
            levels = shifted(soft, bins, Alignment(way * moved.shift, moved.stretch**way))
            yield f"{name}, {way:.0%} of the way", levels, partial(_kernels, soft, seen, levels, constraint, never), 0.0


def _drawn(drawn: Population, levels: Levels) -> tuple[Kernel, ...]:
    return tuple(drawn_kernel(c, levels.u[:, g], levels.v[:, g]) for g, c in enumerate(drawn.curves))


def _ladder(
    population: Population, constraint: Constraint, ordered: Population | None = None
) -> Iterator[tuple[float, Levels]]:
    """The exact method's levels at every internal epsilon; of one rate, for the raw order of people ``ordered``."""
    unit = constraint.largest if isinstance(constraint, OneRate) else constraint.largest / 2
    for share in INNER[:: _less_often(len(population.curves))]:
        inner = share * unit
        yield inner, levels_of(population, inner, Goal(inner, constraint, "order"), ordered=ordered)


def _kernels(
    estimate: Population, seen: Population, levels: Levels, constraint: Constraint, never: bool
) -> tuple[Kernel, ...]:
    if isinstance(constraint, OneRate):
        care = CAREFUL if isinstance(constraint, Ratio) else ORDERED
        return rate_kernels(estimate.curves, seen.curves, levels, constraint, epsilon=NARROW, care=care, never=never)
    return tuple(
        ordered_kernel(curve, levels.u[:, g], levels.v[:, g], one_person(own))
        for g, (curve, own) in enumerate(zip(estimate.curves, seen.curves, strict=True))
    )


def _alignments(known: Plausible) -> Iterator[tuple[str, Alignment]]:
    """Ways to bring the groups on one scale; a score of few points cannot be shifted."""
    if not known.bins.tied:
        yield "shift", alignment(known.bins, known.masses, stretched=False)
        yield "shift and stretch", alignment(known.bins, known.masses)


def _estimates(people: People, known: Plausible) -> Iterator[tuple[str, Population]]:
    """Estimates of the groups' curves, from those that share nothing to those that share all but a shift."""
    bins, seen, sizes = known.bins, people.thin, people.class_sizes()
    made = replace(known.made, floor=0.0)
    soft = made.masses(bins.counts)
    masses = {"smooth": made.hard(bins.counts), PLAIN: soft}
    if not bins.tied:
        for name, moved in (("shift", False), ("shift and stretch", True)):
            shared = alike(bins, soft, alignment(bins, soft, stretched=moved))
            own = known.own[:, :, None]
            if 0.02 < known.own.mean() < 0.98:
                masses[f"partly shared, {name}"] = own * soft + (1.0 - own) * shared
            masses[f"shared, {name}"] = shared
    fine = _fine(seen)
    if len(seen.curves) > MANY_GROUPS:
        masses = {name: each for name, each in masses.items() if name in (PLAIN, *SHARED)}
    for name, each in masses.items():
        curves = tuple(_curve(curve, bins, part, fine) for curve, part in zip(seen.curves, each, strict=True))
        yield name, replace(seen, curves=flattened(curves, sizes, DIP))
    if people.class_sizes().min() >= ENOUGH:
        yield "raw", thinned_population(seen, FINE)


def _fine(seen: Population) -> FloatArray:
    """Falling thresholds, all or about FINE of them (of many groups less), that part all people evenly."""
    every, count = all_thresholds(seen.curves), FINE // _less_often(len(seen.curves))
    if len(every) > count:
        below = 1.0 - pooled_share(seen.curves, seen.shares, every)
        every = every[np.unique(np.append(0, np.searchsorted(below, np.arange(count) / count).clip(0, len(every) - 1)))]
    return np.asarray(every[::-1])


def _curve(curve: RocCurve, bins: Bins, masses: FloatArray, thresholds: FloatArray) -> RocCurve:
    """The curve of estimated class distributions at falling thresholds, straight between some of them."""
    fpr, tpr = (np.concatenate(([0.0], line)) for line in bins.rates(masses, thresholds))
    return straightened(RocCurve(thresholds, fpr, tpr, curve.prior), POINTS)


def shifted(known: Population, bins: Bins, moved: Alignment) -> Levels:
    """Levels of the score that is the original one less a group's shift, on the bins' scale."""
    people = bins.counts.sum(axis=1)
    common = ((bins.z - moved.shift[:, None]) / moved.stretch[:, None]).ravel()
    order = np.argsort(common, kind="stable")
    weight = np.cumsum(people.ravel()[order])
    cuts = np.interp(np.arange(1, CUTS) / CUTS, weight / weight[-1], common[order])[::-1]
    ends = np.append(bins.thresholds, bins.highest)
    u, v = np.zeros((CUTS + 1, len(people))), np.zeros((CUTS + 1, len(people)))
    u[-1] = 2.0
    for g, curve in enumerate(known.curves):
        at = curve.index_at(np.interp(moved.shift[g] + moved.stretch[g] * cuts, bins.edges, ends))
        u[1:-1, g], v[1:-1, g] = curve.u[at], (curve.tpr - curve.fpr)[at]
    moves = np.concatenate(([True], (np.diff(u, axis=0) > 0).any(axis=1)))
    return Levels(u[moves], v[moves])
