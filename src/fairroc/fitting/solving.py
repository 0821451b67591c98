"""From ROC curves to levels and kernels, by the exact method or the paper's, with ties drawn or raw order kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairroc.core.bound import pooled_bound
from fairroc.core.chain import Chain, FloatArray
from fairroc.core.constraint import Constraint
from fairroc.core.coupling import Levels, couple
from fairroc.core.gap import ROUNDING
from fairroc.core.kernel import Kernel, drawn_kernel, one_person, ordered_kernel
from fairroc.core.optimal import optimal
from fairroc.core.realised import Performance, RealisedRoc, drawn_shares, performance, realise
from fairroc.errors import FairrocWarning
from fairroc.froc.algorithm import coherent_curves, paper_run
from fairroc.people.people import People, Population, thinned_population

GUIDE_TOLERANCE = 1e-4
"""The guide of the coupling needs the pooled region only roughly (about forty small linear programs)."""

ORDER_LADDER = (1.0, 0.95, 0.9, 0.8, 0.7, 0.55, 0.4, 0.25)
"""Shares of epsilon tried as internal epsilon when the raw order is kept. The gap need not follow the internal epsilon,
so steps are not guessed from it; below a quarter the price is out of proportion, and ties are drawn instead."""

ORDER_REFINED = 3
"""Halvings of the last step of the ladder, back towards epsilon."""

ORDER_SPARES = 0.05
"""Keeping the raw order must spare this share of people a draw, or it costs AUC for nothing (scores of few points)."""

COARSE, COARSE_ALL = 1 << 12, 1 << 13
"""Points of a curve (with many groups fewer, so that all together are about COARSE_ALL, but 512) when an internal
epsilon is looked for; it is settled on the thin curves."""

ORDER_DEPTH = 0.65
"""With raw order the gap exceeds the internal epsilon by at most about this share of how far the curves lie below their
hulls (two to four groups of 1e5 to 4e6 people: mostly 0.3 to 0.6 of it, at any epsilon)."""

ORDER_NEAR = 0.1
"""An internal epsilon is foretold only if it is short of epsilon by no more than this share."""

ORDER_CLOSE = 0.02
"""Stop looking for a larger internal epsilon when the gap reached is within this share of epsilon."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Levels, kernels and what they do to the judged people, for one internal epsilon; a note if ties are drawn that
    were to keep their order."""

    levels: Levels
    kernels: tuple[Kernel, ...]
    realised: tuple[RealisedRoc, ...]
    performance: Performance
    judged: Population
    inner_epsilon: float
    ties: str
    curve: str = "raw"
    note: FairrocWarning | None = None


@dataclass(frozen=True, slots=True)
class Goal:
    """What a solution must meet."""

    epsilon: float
    constraint: Constraint
    ties: str
    method: str = "optimal"


def solve(
    population: Population, people: People, goal: Goal, estimates: Sequence[tuple[str, Population]] = ()
) -> Solution:
    """The fair score at epsilon, with ties drawn or, where epsilon leaves room, in raw order.

    ``population`` holds the curves to work on: the people's thin ones, or queries. ``estimates`` are tried before, one
    after the other: the first whose fair score keeps epsilon among the people, in raw order, is taken.
    """
    if goal.ties == "order":
        for name, estimate in estimates:
            found = _solve_in_order(estimate, people, goal)
            if found is not None and _spared_share(people.thin, found) >= ORDER_SPARES:
                return replace(found, curve=name)
        found = _solve_in_order(population, people, goal)
        spared = 0.0 if found is None else _spared_share(people.thin, found)
        if found is not None and spared >= ORDER_SPARES:
            return found
        why = (
            f"with the raw order kept the gap would stay above epsilon {goal.epsilon:g}, down to an internal epsilon "
            f"of {ORDER_LADDER[-1] * goal.epsilon:g}; a larger epsilon or more rows would leave room"
            if found is None
            else f"keeping the raw order would spare only {spared:.0%} of people a draw"
        )
        note = FairrocWarning(f"ties are drawn: {why}. ties='draw' (--ties draw) says that draws are fine.")
        return replace(_solve_drawn(population, people.thin, goal), note=note)
    return _solve_drawn(population, people.thin, goal)


def judged_exactly(solution: Solution, people: People, queries: int | None) -> bool:
    """Whether a solution was judged on curves that tell all that matters to it."""
    return (solution.ties == "draw" and queries is None) or people.thin is people.exact


def _solve_drawn(population: Population, judged: Population, goal: Goal) -> Solution:
    """Ties drawn. Should rounding carry the gap over epsilon, an internal epsilon smaller by twice that is taken.

    What drawn ties do depends on the blocks' masses alone: judged on thin curves they are judged exactly, unless the
    blocks come from queries.
    """
    inner = goal.epsilon
    for _ in range(3):
        levels = _levels(population, inner, goal, guided=True)
        kernels = tuple(drawn_kernel(c, levels.u[:, g], levels.v[:, g]) for g, c in enumerate(population.curves))
        found = solution_of(judged, levels, kernels, replace(goal, ties="draw"), inner)
        excess = found.performance.gap - goal.epsilon
        if excess <= ROUNDING:
            return found
        inner = max(0.0, inner - 2 * excess)
    raise RuntimeError(f"the gap {found.performance.gap!r} exceeds epsilon {goal.epsilon!r}: please report it")


def _guide(population: Population, hulls: Sequence[Chain], inner: float, constraint: Constraint) -> FloatArray | None:
    """Tuples near a good coupling, from the certificate's linear programs, for three or more groups if the constraint
    wants one.

    Elsewhere the plain start suffices (measured).
    """
    if not constraint.wants_guide or len(hulls) < 3 or inner == 0:
        return None
    return pooled_bound(hulls, population.weights0, population.weights1, inner, constraint, GUIDE_TOLERANCE).tuples


def _solve_in_order(population: Population, people: People, goal: Goal) -> Solution | None:
    """Raw order kept: a large internal epsilon whose gap is within epsilon, or None.

    Foretold where it is near epsilon, as with very many scores; else looked for on coarse versions of the curves. Then
    settled on all points, or on those of the thin curves: neighbouring scores count as tied there, and what they may
    hide is added to the gap.
    """
    if people.hidden > 0 and (less := ORDER_DEPTH * _depth(people.thin)) <= ORDER_NEAR * goal.epsilon:
        return _settle(population, people, goal, goal.epsilon - people.hidden - less)
    points = min(COARSE, max(512, COARSE_ALL // len(people.samples)))
    coarse = thinned_population(population, points), thinned_population(people.thin, points)
    found = _search_in_order(*coarse, goal)
    if found is None or (coarse[0] is population and coarse[1] is people.exact):
        return found
    return _settle(population, people, goal, found.inner_epsilon)


def _depth(population: Population) -> float:
    """How far the raw curves lie below their hulls, summed over the two groups where it is most."""
    depths = [float((curve.hull.at(curve.u) - (curve.tpr - curve.fpr)).max()) for curve in population.curves]
    return sum(sorted(depths)[-2:])


def _settle(population: Population, people: People, goal: Goal, inner: float) -> Solution | None:
    """The first internal epsilon, from the given one down, whose gap is within epsilon on all points."""
    for _ in ORDER_LADDER:
        if inner < ORDER_LADDER[-1] * goal.epsilon:
            break
        tried = _solve_ordered(population, people.thin, goal, inner)
        excess = tried.performance.gap + people.hidden - goal.epsilon
        if excess <= ROUNDING:
            return tried
        inner -= 1.5 * excess
    return None


def _search_in_order(population: Population, judged: Population, goal: Goal) -> Solution | None:
    """The first of a few internal epsilons, from epsilon down, whose gap is within epsilon; then a little up again."""
    target = above = goal.epsilon
    for share in ORDER_LADDER:
        best = _solve_ordered(population, judged, goal, share * target)
        if best.performance.gap <= target + ROUNDING:
            break
        above = share * target
    else:
        return None
    for _ in range(ORDER_REFINED):
        if best.inner_epsilon == target or target - best.performance.gap <= ORDER_CLOSE * target:
            break
        middle = (best.inner_epsilon + above) / 2
        tried = _solve_ordered(population, judged, goal, middle)
        if tried.performance.gap <= target + ROUNDING:
            best = tried
        else:
            above = middle
    return best


def _solve_ordered(population: Population, judged: Population, goal: Goal, inner: float) -> Solution:
    """Raw order kept at one internal epsilon, with what it does to the judged people."""
    levels = _levels(population, inner, goal)
    kernels = tuple(
        ordered_kernel(curve, levels.u[:, g], levels.v[:, g], one_person(seen))
        for g, (curve, seen) in enumerate(zip(population.curves, judged.curves, strict=True))
    )
    return solution_of(judged, levels, kernels, goal, inner)


def _levels(population: Population, inner: float, goal: Goal, *, guided: bool = False) -> Levels:
    hulls = [curve.hull for curve in population.curves]
    if goal.method == "froc":
        fair = coherent_curves(paper_run(population.curves, inner), hulls)
        hulls = list(fair.curves)  # the coupling is to be found under these, whatever lies above them
    else:
        fair = optimal(hulls, inner, goal.constraint)
    guide = _guide(population, hulls, inner, goal.constraint) if guided else None
    return couple(fair, population.weights0, population.weights1, guide)


def solution_of(judged: Population, levels: Levels, kernels: tuple[Kernel, ...], goal: Goal, inner: float) -> Solution:
    """Levels and kernels with what they do to the judged people."""
    realised = tuple(realise(curve, kernel) for curve, kernel in zip(judged.curves, kernels, strict=True))
    done = performance(realised, judged.weights0, judged.weights1, goal.constraint)
    return Solution(levels, kernels, realised, done, judged, inner, goal.ties)


def _spared_share(judged: Population, found: Solution) -> float:
    """Share of all people whose fair score does not depend on the draw."""
    drawn = [sum(drawn_shares(curve, kernel)) for curve, kernel in zip(judged.curves, found.kernels, strict=True)]
    return 1.0 - float(judged.shares @ drawn)
