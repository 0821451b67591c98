"""From ROC curves to levels and kernels, by the exact method or the paper's, with ties drawn or raw order kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairroc.core.ascent import FINE_GROUPS, SPACING, SPACING_MORE
from fairroc.core.bound import Bound, PricedLines, pooled_bound, pooled_bounds
from fairroc.core.chain import FEW_GROUPS, MANY_GROUPS, Chain, FloatArray
from fairroc.core.constraint import Constraint, EqualizedOdds, OneRate
from fairroc.core.coupling import Levels, couple
from fairroc.core.gap import ROUNDING
from fairroc.core.kernel import Kernel, drawn_kernel, one_person, ordered_kernel
from fairroc.core.one_rate import rate_prices
from fairroc.core.optimal import optimal
from fairroc.core.portable import dot
from fairroc.core.realised import Performance, RealisedRoc, drawn_shares, gap_of, judged, own_auc, realise
from fairroc.core.roc import Population, RocCurve
from fairroc.errors import FairrocWarning
from fairroc.fitting.one_rate import levels_of_rate, rate_bound
from fairroc.froc.algorithm import coherent_curves, paper_run
from fairroc.people.people import People

GUIDE_TOLERANCE = 1e-4
"""The guide of the coupling needs the pooled region only roughly (about forty directions)."""

BOUND_TOLERANCE = 1e-5
"""How exactly a frontier knows its bounds of the AUC: to a hundredth of what it shows. With more than `FINE_GROUPS`
groups guides are known as exactly, and are the same."""

NONE: Mapping[float, Bound] = {}

SPACING_MANY, SPACING_VERY_MANY, VERY_MANY, SPACING_ORDERED = 2.0 / 128, 2.0 / 64, 256, 2.0 / 32
"""With many groups, levels are made this far apart; with very many; and in raw order, where a group has outcomes for
every pair of levels: a fifth of them costs 5e-5 of AUC."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Levels, kernels and what they do to the judged people, for one internal epsilon.

    ``ties`` is "draw" if all ties are drawn, else "order". ``reason``: what was taken where the order of all scores
    could not be kept, and why; ``note`` is for users to see.
    """

    levels: Levels
    kernels: tuple[Kernel, ...]
    realised: tuple[RealisedRoc, ...]
    constraint: Constraint
    judged: Population
    inner_epsilon: float
    ties: str
    curve: str = "raw"
    reason: str | None = None
    note: FairrocWarning | None = None

    @cached_property
    def judgement(self) -> tuple[Performance, FloatArray, FloatArray, FloatArray]:
        """Gap and AUCs of the judged people, all places, and fpr and tpr of all people there."""
        return judged(self.realised, self.judged, self.constraint, vars(self).get("gap"))

    @cached_property
    def gap(self) -> float:
        """The gap alone; quicker than all figures, where these are not known yet."""
        if "judgement" in vars(self):
            return self.performance.gap
        return gap_of(self.realised, self.judged, self.constraint)

    @property
    def performance(self) -> Performance:
        """Gap and AUCs of the judged people."""
        return self.judgement[0]

    @property
    def group_aucs(self) -> tuple[float, ...]:
        """AUC of every group; quicker than all figures, where these are not known yet."""
        if "judgement" in vars(self):
            return self.performance.group_aucs
        return tuple(own_auc(roc) for roc in self.realised)

    def changed(self, **fields: Any) -> Solution:
        """The same with other words about it; what is known of the people stays known."""
        found = replace(self, **fields)
        if "judgement" in vars(self):
            vars(found)["judgement"] = self.judgement
        return found


@dataclass(frozen=True, slots=True)
class Goal:
    """What a solution must meet."""

    epsilon: float
    constraint: Constraint
    ties: str
    method: str = "optimal"
    never: bool = False


def judged_exactly(solution: Solution, people: People, queries: int | None) -> bool:
    """Whether a solution was judged on curves that tell all that matters to it."""
    return (solution.ties == "draw" and queries is None) or people.thin is people.exact


def solve_drawn(
    population: Population, judged: Population, goal: Goal, guides: Mapping[float, Bound] = NONE
) -> Solution:
    """Ties drawn. Should rounding carry the gap over epsilon, an internal epsilon smaller by twice that is taken.

    What drawn ties do depends on the blocks' masses alone: judged on thin curves they are judged exactly, unless the
    blocks come from queries. ``guides`` are those known already, by internal epsilon.
    """
    inner = goal.epsilon
    for _ in range(3):
        levels = levels_of(population, inner, goal, guides=guides)
        kernels = tuple(drawn_kernel(c, levels.u[:, g], levels.v[:, g]) for g, c in enumerate(population.curves))
        found = solution_of(judged, levels, kernels, replace(goal, ties="draw"), inner)
        excess = found.performance.gap - goal.epsilon
        if excess <= ROUNDING:
            return found
        inner = max(0.0, inner - 2 * excess)
    raise RuntimeError(f"the gap {found.performance.gap!r} exceeds epsilon {goal.epsilon!r}: please report it")


def guides_of(
    population: Population, hulls: Sequence[Chain], inners: Sequence[float], constraint: Constraint
) -> dict[float, Bound]:
    """Certificates whose tuples are near a good coupling, for three to eight groups if the constraint wants one.

    Elsewhere, and for many groups, the plain start suffices (measured).
    """
    inners = [inner for inner in inners if inner > 0]
    if not isinstance(constraint, EqualizedOdds) or not constraint.wants_guide:
        return {}
    if not 3 <= len(hulls) <= FEW_GROUPS or not inners:
        return {}
    tolerance = GUIDE_TOLERANCE if len(hulls) <= FINE_GROUPS else BOUND_TOLERANCE
    found = pooled_bounds(hulls, population.weights0, population.weights1, np.array(inners), constraint, tolerance)
    return dict(zip(inners, found, strict=True))


def levels_of(
    population: Population,
    inner: float,
    goal: Goal,
    *,
    guides: Mapping[float, Bound] | None = None,
    ordered: Population | None = None,
) -> Levels:
    """Levels of the fair curves at an internal epsilon; of one rate, for the raw order of people ``ordered``.

    ``guides``: that the coupling is to be guided, and the guides known already.
    """
    if isinstance(goal.constraint, OneRate):
        return levels_of_rate(population, inner, goal.constraint, ordered)
    assert isinstance(goal.constraint, EqualizedOdds)
    hulls = [curve.inner_hull for curve in population.curves]
    if goal.method == "froc":
        fair = coherent_curves(paper_run(population.curves, inner), hulls)
        hulls = list(fair.curves)  # the coupling is to be found under these, whatever lies above them
    else:
        fair = optimal(hulls, inner, goal.constraint)
    if guides is not None and inner not in guides:
        guides = guides_of(population, hulls, [inner], goal.constraint)
    guide = guides[inner].tuples if guides else None
    spacing = SPACING if len(hulls) <= FINE_GROUPS else SPACING_MORE if len(hulls) <= MANY_GROUPS else SPACING_MANY
    if len(hulls) > VERY_MANY:
        spacing = SPACING_VERY_MANY
    if guides is None and len(hulls) > MANY_GROUPS:  # raw order
        spacing = SPACING_ORDERED
    return couple(fair, population.weights0, population.weights1, guide, spacing)


def raw_order_kernels(curves: Sequence[RocCurve], seen: Sequence[RocCurve], levels: Levels) -> tuple[Kernel, ...]:
    """Kernels that keep the raw order along these curves; ``seen`` ones tell how wide one person is."""
    both = zip(curves, seen, levels.u.T, levels.v.T, strict=True)
    return tuple(ordered_kernel(curve, u, v, one_person(own)) for curve, own, u, v in both)


def solution_of(judged: Population, levels: Levels, kernels: tuple[Kernel, ...], goal: Goal, inner: float) -> Solution:
    """Levels and kernels with what they do to the judged people."""
    realised = tuple(realise(curve, kernel) for curve, kernel in zip(judged.curves, kernels, strict=True))
    return Solution(levels, kernels, realised, goal.constraint, judged, inner, goal.ties)


def bound_of(people: Population, epsilon: float, constraint: Constraint) -> float:
    """What the pooled AUC of no fair randomised score exceeds."""
    if isinstance(constraint, OneRate):
        return rate_bound(people, epsilon, constraint)
    assert isinstance(constraint, EqualizedOdds)
    hulls = [curve.hull for curve in people.curves]
    return pooled_bound(hulls, people.weights0, people.weights1, epsilon, constraint).auc


def proof_of(people: Population, epsilon: float, constraint: Constraint) -> PricedLines:
    """What proves that bound."""
    hulls, weights = [curve.hull for curve in people.curves], (people.weights0, people.weights1)
    if isinstance(constraint, OneRate):
        return rate_prices(hulls, people.priors, *weights, epsilon, constraint)
    assert isinstance(constraint, EqualizedOdds)
    return pooled_bound(hulls, *weights, epsilon, constraint, priced=True).lines


def drawn_share(judged: Population, kernels: Sequence[Kernel]) -> float:
    """Share of all people whose fair score depends on the draw."""
    drawn = [sum(drawn_shares(curve, kernel)) for curve, kernel in zip(judged.curves, kernels, strict=True)]
    return dot(judged.shares, np.array(drawn))
