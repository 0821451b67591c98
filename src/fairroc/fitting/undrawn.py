"""Equalized odds without a draw: walks as levels and kernels, judged on the people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairroc.core.bands import best_bands
from fairroc.core.chain import IntArray
from fairroc.core.constraint import EqualizedOdds
from fairroc.core.coupling import Levels
from fairroc.core.gap import ROUNDING
from fairroc.core.kernel import walk_kernel
from fairroc.core.roc import RocCurve, thinned
from fairroc.core.strand import Strand, strands_of
from fairroc.core.walk import BestWalk, LeastGap, best_walk, least_walk
from fairroc.fitting.solving import Goal, Solution, drawn_share, solution_of
from fairroc.people.people import People

POINTS, FEWEST_POINTS = 4096, 256
"""Points of all groups' curves together, and of each at least, that walks are found on: between them people keep their
order."""

LEVELS = 128
"""Levels of a walk, at most; a power of two."""

TRIES = 6
"""Internal epsilons, at most, until the people's own gap is within epsilon."""

LARGEST_TIE = 0.25
"""Of a group's people (both labels weigh the same) no more are to share one fair score where a draw could be had."""

DRAW_PRICE = 0.05
"""AUC that a draw for everybody has to bring, and a draw for some in proportion, beside bands that draw nobody."""


@dataclass(frozen=True, eq=False)
class Undrawn:
    """What scores that draw nobody attain among people, by one constraint."""

    people: People
    constraint: EqualizedOdds

    @cached_property
    def curves(self) -> tuple[RocCurve, ...]:
        """The people's curves at few points."""
        points = max(POINTS // len(self.people.names), FEWEST_POINTS)
        return tuple(thinned(curve, points) for curve in self.people.thin.curves)

    @cached_property
    def strands(self) -> list[Strand]:
        thin = self.people.thin
        return strands_of(self.curves, thin.weights0, thin.weights1, self.constraint)

    @cached_property
    def least(self) -> LeastGap:
        """The least gap of a score that draws nobody and keeps all different scores of a group apart."""
        return least_walk(self.strands)

    def at(self, goal: Goal, drawn: Callable[[], Solution]) -> Solution:
        """The score that is taken at an epsilon: nobody is drawn where that keeps all scores apart, or is never to be.
        Else bands that tie few people, or what is ``drawn``, whichever has the larger AUC less the price of its draws.
        """
        found = self.apart(goal)
        if found is not None:
            return found
        if goal.never:
            ends = np.array([[len(curve.thresholds) for curve in self.curves]])
            return self.banded(goal) or self._solution(np.concatenate((0 * ends, ends)), goal, 0.0, tied=True)
        other = drawn()
        found = self.banded(goal, LARGEST_TIE) if len(self.people.names) == 2 else None
        price = DRAW_PRICE * drawn_share(self.people.thin, other.kernels)
        return other if found is None or found.performance.auc < other.performance.auc - price else found

    def _words(self, scores: int) -> str:
        """What is told of bands."""
        least = self.least.walk.gap
        return (
            f"neighbouring scores share one fair score, so that nobody is drawn: {scores:,} different fair scores are "
            f"left (nobody is drawn and all scores stay apart from an epsilon of {least:.3f} on)"
        )

    def apart(self, goal: Goal) -> Solution | None:
        """The score with about the largest AUC that draws nobody and keeps all scores apart; None where there is none
        within epsilon."""
        return self._within(goal, lambda epsilon: best_walk(self.strands, epsilon), tied=False)

    def banded(self, goal: Goal, largest_tie: float | None = None) -> Solution | None:
        """The same where neighbouring scores may become one; None where a cap on ties allows none."""
        return self._within(goal, lambda epsilon: best_bands(self.strands, epsilon, largest_tie), tied=True)

    def _within(self, goal: Goal, find: Callable[[float], BestWalk | None], *, tied: bool) -> Solution | None:
        """The solution whose gap among the people is within epsilon, whatever the points leave out."""
        inner = goal.epsilon - self.people.hidden
        for _ in range(TRIES):
            found = find(inner) if inner >= 0 else None
            if found is None:
                return None
            solution = self._solution(found.walk.stops, goal, inner, tied=tied)
            excess = solution.gap + self.people.hidden - goal.epsilon
            if excess <= ROUNDING:
                return solution
            inner -= 1.2 * excess
        return None

    def _solution(self, stops: IntArray, goal: Goal, inner: float, *, tied: bool) -> Solution:
        """What a walk with these stops does to the people."""
        per_level = max(1, (1 << (len(stops) - 2).bit_length()) // LEVELS)
        kernels = tuple(
            walk_kernel(curve.thresholds, own, per_level, tied=tied)
            for curve, own in zip(self.curves, stops.T, strict=True)
        )
        at = np.concatenate((stops[::per_level], stops[-1:]))
        u = np.stack([curve.u[own] for curve, own in zip(self.curves, at.T, strict=True)], axis=1)
        v = np.stack([(c.tpr - c.fpr)[own] for c, own in zip(self.curves, at.T, strict=True)], axis=1)
        found = solution_of(self.people.thin, Levels(u, v), kernels, goal, inner)
        return found.changed(reason=self._words(len(stops) - 1)) if tied else found
