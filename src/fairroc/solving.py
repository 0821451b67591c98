"""From ROC curves to levels and kernels, with ties drawn or the raw order kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairroc.core.bound import pooled_bound
from fairroc.core.chain import FloatArray, Norm
from fairroc.core.coupling import Levels, couple
from fairroc.core.gap import ROUNDING
from fairroc.core.kernel import Kernel, drawn_kernel, ordered_kernel
from fairroc.core.optimal import optimal
from fairroc.core.walk import Performance, Walk, drawn_shares, performance, walk
from fairroc.errors import warn_user
from fairroc.population import Population, thinned_population

GUIDE_TOLERANCE = 1e-4
"""The guide of the coupling needs the pooled region only roughly (about forty small linear programs)."""

ORDER_LADDER = (1.0, 0.95, 0.9, 0.8, 0.7, 0.55, 0.4, 0.25)
"""Shares of epsilon tried as internal epsilon when the raw order is kept. The gap need not follow the internal epsilon,
so steps are not guessed from it; below a quarter the price is out of proportion, and ties are drawn instead."""

ORDER_REFINED = 3
"""Halvings of the last step of the ladder, back towards epsilon."""

ORDER_SPARES = 0.05
"""Keeping the raw order must spare this share of people a draw, or it costs AUC for nothing (scores of few points)."""

COARSE, FINE = 1 << 12, 1 << 16
"""Points of a curve when an internal epsilon is looked for, and when it is settled."""

ORDER_CLOSE = 0.02
"""Stop looking for a larger internal epsilon when the gap reached is within this share of epsilon."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Levels, kernels and what they do to the judged people, for one internal epsilon."""

    levels: Levels
    kernels: tuple[Kernel, ...]
    walks: tuple[Walk, ...]
    performance: Performance
    judged: Population
    inner_epsilon: float
    ties: str


@dataclass(frozen=True, slots=True)
class Goal:
    """What a solution must meet."""

    epsilon: float
    norm: Norm
    ties: str


def solve(population: Population, exact: Population, goal: Goal) -> Solution:
    """The fair score at epsilon, with ties drawn or, where epsilon leaves room, in raw order.

    ``population`` holds the curves to work on (all scores, or queries), ``exact`` those of all scores.
    """
    if goal.ties == "order":
        found = _solve_in_order(population, exact, goal)
        spared = 0.0 if found is None else _spared_share(exact, found)
        if found is not None and spared >= ORDER_SPARES:
            return found
        why = (
            f"with the raw order kept the gap would stay above epsilon {goal.epsilon:g}, down to an internal epsilon "
            f"of {ORDER_LADDER[-1] * goal.epsilon:g}; a larger epsilon or more rows would leave room"
            if found is None
            else f"keeping the raw order would spare only {spared:.0%} of people a draw"
        )
        warn_user(f"ties are drawn: {why}. ties='draw' (--ties draw) says that draws are fine.")
    return _solve_drawn(population, exact, goal)


def _solve_drawn(population: Population, exact: Population, goal: Goal) -> Solution:
    """Ties drawn. Should rounding carry the gap over epsilon, an internal epsilon smaller by twice that is taken."""
    inner = goal.epsilon
    for _ in range(3):
        levels = _levels(population, inner, goal.norm, _guide(population, inner, goal.norm))
        kernels = tuple(drawn_kernel(c, levels.u[:, g], levels.v[:, g]) for g, c in enumerate(population.curves))
        found = _solution(exact, levels, kernels, Goal(goal.epsilon, goal.norm, "draw"), inner)
        excess = found.performance.gap - goal.epsilon
        if excess <= ROUNDING:
            return found
        inner = max(0.0, inner - 2 * excess)
    raise RuntimeError(f"the gap {found.performance.gap!r} exceeds epsilon {goal.epsilon!r}: please report it")


def _guide(population: Population, inner: float, norm: Norm) -> FloatArray | None:
    """Tuples near a good coupling, from the certificate's linear programs, for three or more groups in L1.

    Elsewhere the plain start suffices (measured).
    """
    if norm != 1 or len(population.curves) < 3 or inner == 0:
        return None
    hulls = [curve.hull for curve in population.curves]
    return pooled_bound(hulls, population.weights0, population.weights1, inner, norm, GUIDE_TOLERANCE).tuples


def _solve_in_order(population: Population, exact: Population, goal: Goal) -> Solution | None:
    """Raw order kept: a large internal epsilon whose gap is within epsilon, or None.

    Looked for on coarse versions of the curves, settled on fine ones (the same, and exact, for up to FINE scores).
    Neighbouring scores of a fine curve count as tied; what they may hide is added to its gap.
    """
    coarse = thinned_population(population, COARSE), thinned_population(exact, COARSE)
    fine = thinned_population(population, FINE), thinned_population(exact, FINE)
    found = _search_in_order(*coarse, goal)
    if found is None or (fine[0] is coarse[0] and fine[1] is coarse[1]):
        return found
    hidden = _hidden_gap(exact, fine[1])
    inner = found.inner_epsilon
    for _ in ORDER_LADDER:
        tried = _solve_ordered(*fine, goal, inner)
        excess = tried.performance.gap + hidden - goal.epsilon
        if excess <= ROUNDING:
            return tried
        inner -= 1.5 * excess
        if inner < ORDER_LADDER[-1] * goal.epsilon:
            break
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
    levels = _levels(population, inner, goal.norm)
    kernels = tuple(ordered_kernel(c, levels.u[:, g], levels.v[:, g]) for g, c in enumerate(population.curves))
    return _solution(judged, levels, kernels, goal, inner)


def _levels(population: Population, inner: float, norm: Norm, guide: FloatArray | None = None) -> Levels:
    fair = optimal([curve.hull for curve in population.curves], inner, norm)
    return couple(fair, population.weights0, population.weights1, guide)


def _solution(judged: Population, levels: Levels, kernels: tuple[Kernel, ...], goal: Goal, inner: float) -> Solution:
    walks = tuple(walk(curve, kernel) for curve, kernel in zip(judged.curves, kernels, strict=True))
    done = performance(walks, judged.weights0, judged.weights1, goal.norm)
    return Solution(levels, kernels, walks, done, judged, inner, goal.ties)


def _spared_share(exact: Population, found: Solution) -> float:
    """Share of all people whose fair score does not depend on the draw."""
    drawn = [sum(drawn_shares(curve, kernel)) for curve, kernel in zip(exact.curves, found.kernels, strict=True)]
    return 1.0 - float(exact.shares @ drawn)


def _hidden_gap(exact: Population, thin: Population) -> float:
    """What the gap of thinned curves may miss: inside a step of several scores a group's point can lie anywhere."""
    widths = []
    for full, curve in zip(exact.curves, thin.curves, strict=True):
        merged = np.diff(full.index_at(curve.thresholds), prepend=0) > 1
        widths.append(float(np.diff(curve.u)[merged].max(initial=0.0)))
    return sum(sorted(widths)[-2:])
