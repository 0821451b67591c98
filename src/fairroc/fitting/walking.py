"""Equalized odds with few draws or none: walks as levels and kernels, judged on the people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairroc.core.bands import best_bands
from fairroc.core.chain import BoolArray, IntArray
from fairroc.core.constraint import EqualizedOdds
from fairroc.core.coupling import Levels
from fairroc.core.gap import ROUNDING
from fairroc.core.kernel import TOUCH, walk_kernel
from fairroc.core.lowered import lowered
from fairroc.core.roc import Parts, RocCurve, in_parts, thinned
from fairroc.core.strand import Strand, at_equal_pace, strands_of
from fairroc.core.walk import BestWalk, LeastGap, best_walk, least_walk, most_auc
from fairroc.fitting.solving import Goal, Solution, bound_of, drawn_share, solution_of
from fairroc.people.people import People

POINTS, FEWEST_POINTS = 4096, 256
"""Points of all groups' curves together, and of each at least, that walks are found on: between them people keep their
order."""

LEVELS, FINE_LEVELS = 128, 512
"""Levels of a walk, at most, were nobody drawn and were everybody; powers of two."""

TRIES = 6
"""Internal epsilons, at most, until the people's own gap is within epsilon."""

LEFT = 0.01
"""A gap that is so much of epsilon below it leaves room for another try."""

LARGEST_TIE = 1.0 / 3
"""Of a group's people (both labels weigh the same) no more are to share one fair score where a draw could be had."""

MERGE_PRICE = 0.002
"""AUC that bands have to bring where nobody need be drawn and all scores can stay apart."""

PARTS = 1.0, 1.0 / 2, 1.0 / 4, 1.0 / 8
"""Of epsilon: so wide are parts of scores that many people share, where they have to be parted; the first that serve."""

DRAW_PRICE = 0.05
"""AUC that a draw for everybody has to bring, and a draw for some in proportion."""


@dataclass(frozen=True, eq=False)
class Walks:
    """What scores attain among people that draw nobody or few, by one constraint."""

    people: People
    constraint: EqualizedOdds

    @cached_property
    def curves(self) -> tuple[RocCurve, ...]:
        """The people's curves at few points."""
        points = max(POINTS // len(self.people.names), FEWEST_POINTS)
        return tuple(thinned(curve, points) for curve in self.people.thin.curves)

    @cached_property
    def parts(self) -> list[Parts]:
        """The curves in one part for each score."""
        return [in_parts(curve) for curve in self.curves]

    @cached_property
    def strands(self) -> list[Strand]:
        return self._strands(self.parts)

    def _strands(self, parts: Sequence[Parts]) -> list[Strand]:
        thin = self.people.thin
        return strands_of([each.curve for each in parts], thin.weights0, thin.weights1, self.constraint)

    @cached_property
    def least(self) -> LeastGap:
        """The least gap of a score that draws nobody and keeps all different scores of a group apart."""
        return least_walk(self.strands)

    def most_auc(self, epsilon: float) -> float | None:
        """What the AUC of no such score exceeds, at all distinct scores; None where epsilon is below the least gap."""
        if self.least.walk.gap > epsilon + ROUNDING:
            return None
        exact = self.people.exact
        strands = strands_of(exact.curves, exact.weights0, exact.weights1, self.constraint)
        return most_auc(strands, epsilon + ROUNDING)

    def few(self, goal: Goal, drawn: Callable[[], Iterator[Solution]]) -> Solution:
        """Nobody is drawn where that keeps all scores apart. Else of bands that tie few people, a walk on lowered
        curves, and other scores with draws, what is `worth` most."""
        found = self.undrawn(goal, LARGEST_TIE)
        if found is not None and self.least.walk.gap <= goal.epsilon:
            return found
        lowered = (self.lowered(goal, widest) for widest in (2.0, *(part * goal.epsilon for part in PARTS)))
        every = [found, next((one for one in lowered if one is not None), None), *drawn()]
        return max((one for one in every if one is not None), key=self.worth)

    def worth(self, solution: Solution) -> float:
        """AUC less the price of those who are drawn."""
        return solution.performance.auc - DRAW_PRICE * drawn_share(self.people.thin, solution.kernels)

    def never(self, goal: Goal) -> Solution:
        """Nobody is drawn: neighbouring scores are tied where epsilon asks for it, all of them if need be."""
        ends = np.array([len(curve.thresholds) for curve in self.curves])
        return self.undrawn(goal) or self._solution(np.stack((0 * ends, ends)), goal, 0.0)

    def undrawn(self, goal: Goal, largest_tie: float | None = None) -> Solution | None:
        """All scores apart, or bands where that is out of reach or costs more than `MERGE_PRICE`; None where a cap on
        ties allows none."""
        apart = self.apart(goal)
        if apart is None:
            return self.banded(goal, largest_tie)
        most = bound_of(self.people.thin, goal.epsilon, self.constraint)
        if most - apart.performance.auc <= MERGE_PRICE:
            return apart
        bands = self.banded(goal, largest_tie)
        better = bands is not None and bands.performance.auc > apart.performance.auc + MERGE_PRICE
        return bands if better else apart

    def apart(self, goal: Goal) -> Solution | None:
        """The score with about the largest AUC that draws nobody and keeps all scores apart; None where there is none
        within epsilon."""
        return self._within(goal, lambda inner: self._walk(best_walk(self.strands, inner), goal, inner))

    def banded(self, goal: Goal, largest_tie: float | None = None) -> Solution | None:
        """The same where neighbouring scores may become one; None where a cap on ties allows none."""
        return self._within(goal, lambda inner: self._walk(best_bands(self.strands, inner, largest_tie), goal, inner))

    def lowered(self, goal: Goal, widest: float = 2.0) -> Solution | None:
        """The best walk on curves that are lowered where groups at equal pace are too far apart: nobody else is drawn,
        but people who share a score with more than ``widest`` of the group's; None where none was found."""
        thin, finest = self.people.thin, 2.0 / FEWEST_POINTS / len(self.curves)
        parts = self.parts if widest == 2.0 else [in_parts(curve, max(widest, finest)) for curve in self.curves]

        def at(inner: float) -> Solution | None:
            curves, pace = [each.curve for each in parts], at_equal_pace(self._strands(parts))
            found = lowered(curves, pace, self.constraint, inner, DRAW_PRICE * thin.shares)
            if found is None:
                return None
            best = best_walk(strands_of(found, thin.weights0, thin.weights1, self.constraint), inner)
            return self._solution(pace if best is None else best.walk.stops, goal, inner, found, parts)

        return self._within(goal, at)

    def _within(self, goal: Goal, find: Callable[[float], Solution | None]) -> Solution | None:
        """The solution whose gap among the people is within epsilon, whatever the points leave out; where much of
        epsilon is left, one more is tried."""
        inner, best = goal.epsilon - self.people.hidden, None
        for _ in range(TRIES):
            found = find(inner) if inner >= 0 else None
            if found is None:
                return best
            excess = found.gap + self.people.hidden - goal.epsilon
            if excess > ROUNDING and best is None:
                inner -= 1.2 * excess
                continue
            if excess <= ROUNDING and (best is None or found.performance.auc > best.performance.auc):
                first, best = best is None, found
                if first and inner < goal.epsilon - self.people.hidden and -excess > LEFT * goal.epsilon:
                    inner -= 0.8 * excess
                    continue
            return best
        return best

    def _walk(self, found: BestWalk | None, goal: Goal, inner: float) -> Solution | None:
        """A walk that draws nobody, on the people."""
        return None if found is None else self._solution(found.walk.stops, goal, inner)

    def _solution(
        self,
        stops: IntArray,
        goal: Goal,
        inner: float,
        lines: Sequence[RocCurve] | None = None,
        parts: Sequence[Parts] | None = None,
    ) -> Solution:
        """What a walk with these stops does to the people, who are drawn where ``lines`` are below their own and where
        one score is in several ``parts``."""
        parts = self.parts if parts is None else parts
        at = stops.T
        own = np.stack([(each.curve.tpr - each.curve.fpr)[i] for each, i in zip(parts, at, strict=True)], axis=1)
        v = own if lines is None else np.stack([(c.tpr - c.fpr)[i] for c, i in zip(lines, at, strict=True)], axis=1)
        ends = _level_ends(np.any(v < own - TOUCH, axis=1))
        u = np.stack([each.curve.u[i] for each, i in zip(parts, at[:, ends], strict=True)], axis=1)
        every = zip(self.curves, parts, at, v[ends].T, strict=True)
        kernels = tuple(walk_kernel(curve.thresholds, each, i, ends, line) for curve, each, i, line in every)
        found = solution_of(self.people.thin, Levels(u, v[ends]), kernels, goal, inner)
        return found.changed(reason=self._words(len(stops) - 1)) if (np.diff(stops, axis=0) > 1).any() else found

    def _words(self, scores: int) -> str:
        """What is told of bands."""
        least = self.least.walk.gap
        return (
            f"neighbouring scores share one fair score, so that nobody is drawn: {scores:,} different fair scores are "
            f"left (nobody is drawn and all scores stay apart from an epsilon of {least:.3f} on)"
        )


def _level_ends(lowered: BoolArray) -> IntArray:
    """Numbers of the stops at which levels begin and end: about `LEVELS`, finer ones where a line is lowered."""
    steps = len(lowered) - 1
    size = max(1, (1 << (steps - 1).bit_length()) // LEVELS)
    at = np.arange(steps)
    near = np.add.reduceat((lowered[:-1] | lowered[1:]).astype(np.intp), at[::size]) > 0
    fine = max(1, size * LEVELS // FINE_LEVELS)
    return np.append(np.flatnonzero((at % size == 0) | (near[at // size] & (at % fine == 0))), steps)
