"""Equalized odds with few draws or none: walks as levels and kernels, judged on the people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairroc.core.bands import best_bands
from fairroc.core.chain import BoolArray, IntArray
from fairroc.core.constraint import EqualizedOdds
from fairroc.core.coupling import Levels
from fairroc.core.gap import ROUNDING
from fairroc.core.kernel import TOUCH, Kernel, walk_kernel
from fairroc.core.lowered import lowered
from fairroc.core.roc import Parts, RocCurve, in_parts, thinned
from fairroc.core.strand import Strand, at_equal_pace, strands_of
from fairroc.core.walk import Walk, best_walk, least_walk, most_auc
from fairroc.fitting.solving import Goal, Solution, bound_of, drawn_share, solution_of
from fairroc.people.people import People

POINTS, FEWEST_POINTS = 4096, 256
"""Points of all groups' curves together, and of each at least, that walks are found on: between them people keep their
order."""

WIDER = 4.0
"""Wider than this, divided by their points, are only steps of one score in thin curves."""

LEVELS, FINE_LEVELS = 128, 512
"""Levels of a walk, at most, were nobody drawn and were everybody; powers of two."""

TRIES = 6
"""Internal epsilons, at most, until the people's own gap is within epsilon."""

LEFT = 0.01
"""A gap that is so much of epsilon below it leaves room for another try."""

LARGEST_TIE = 1.0 / 3
"""Of a group's people (both labels weigh the same) no more are to share one fair score, unless so many of all would be
drawn instead."""

MERGE_PRICE = 0.002
"""AUC that bands have to bring where nobody need be drawn and all scores can stay apart."""

PARTS = 1.0, 1.0 / 2, 1.0 / 4, 1.0 / 8
"""Of epsilon: so wide are parts of scores that many people share, where these have to be parted; the first to serve."""

DRAW_PRICE = 0.05
"""AUC that a draw for everybody has to bring, and a draw for some in proportion."""

DEARER = 4
"""Curves are lowered also as if a draw had so many times that price: what is lost is known only with a walk on them."""


@dataclass(frozen=True, eq=False)
class Walks:
    """What scores attain among people that draw nobody or few, by one constraint."""

    people: People
    constraint: EqualizedOdds

    @property
    def points(self) -> int:
        """Points of each curve, about, that walks are found on."""
        return max(POINTS // len(self.people.names), FEWEST_POINTS)

    @cached_property
    def curves(self) -> tuple[RocCurve, ...]:
        """The people's curves at few points."""
        return tuple(thinned(curve, self.points) for curve in self.people.thin.curves)

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
    def least(self) -> Walk:
        """A walk with the least gap of a score that draws nobody and keeps all different scores of a group apart."""
        return least_walk(self.strands)

    def most_auc(self, epsilon: float) -> float | None:
        """What the AUC of no such score exceeds, at all distinct scores; None where epsilon is below the least gap."""
        if self.least.gap > epsilon + ROUNDING:
            return None
        exact = self.people.exact
        strands = strands_of(exact.curves, exact.weights0, exact.weights1, self.constraint)
        return most_auc(strands, epsilon + ROUNDING)

    def few(self, goal: Goal, drawn: Callable[[], Iterator[Solution]]) -> Solution:
        """Nobody is drawn where that keeps all scores apart. Else of bands that tie few people, walks on lowered
        curves, and other scores with draws, what is `worth` most; and of larger ties too, where that draws many."""
        found = self.undrawn(goal, LARGEST_TIE)
        if found is not None and self.least.gap <= goal.epsilon:
            return found
        best = max((one for one in (found, *self._lowered(goal), *drawn()) if one is not None), key=self.worth)
        if drawn_share(self.people.thin, best.kernels) <= LARGEST_TIE:
            return best
        return max((best, self.never(goal)), key=self.worth)

    def _lowered(self, goal: Goal) -> Iterator[Solution]:
        """Walks on lowered curves by two prices, in the widest parts of scores that serve."""
        for widest in (2.0, *(part * goal.epsilon for part in PARTS)):
            found = self.lowered(goal, widest)
            if found is not None:
                dearer = self.lowered(goal, widest, DEARER * DRAW_PRICE)
                yield from (one for one in (found, dearer) if one is not None)
                return

    def worth(self, solution: Solution) -> float:
        """AUC less the price of those who are drawn."""
        return solution.performance.auc - DRAW_PRICE * drawn_share(self.people.thin, solution.kernels)

    def never(self, goal: Goal) -> Solution:
        """Nobody is drawn: neighbouring scores are tied where epsilon asks for it, all of them if need be."""
        ends = np.array([len(curve.thresholds) for curve in self.curves])
        return self.undrawn(goal) or self._tied(np.stack((0 * ends, ends)), goal)

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
        last: Walk | None = None

        def at(inner: float) -> Solution | None:
            nonlocal last
            last = best_walk(self.strands, inner, start=last)
            return None if last is None else self._solution(last.stops, goal, inner)

        return self._within(goal, at)

    def banded(self, goal: Goal, largest_tie: float | None = None) -> Solution | None:
        """The same where neighbouring scores may become one, and all do between two points that are looked at: so
        nothing is hidden. None where a cap on ties allows none."""
        found = best_bands(self.strands, goal.epsilon, largest_tie)
        return None if found is None else self._tied(found.stops, goal)

    def _tied(self, stops: IntArray, goal: Goal) -> Solution:
        """What a walk does to the people whose steps each give one fair score."""
        least = self.least.gap
        words = (
            f"neighbouring scores share one fair score, so that nobody is drawn: {len(stops) - 1:,} different fair "
            f"scores are left (nobody is drawn and all scores stay apart from an epsilon of {least:.3f} on)"
        )
        return self._solution(stops, goal, goal.epsilon, tied=True).changed(reason=words)

    def lowered(self, goal: Goal, widest: float = 2.0, price: float = DRAW_PRICE) -> Solution | None:
        """The best walk on curves that are lowered where groups at equal pace are too far apart: nobody else is drawn,
        but people who share a score with more than ``widest`` of the group's; None where none was found."""
        thin, finest = self.people.thin, max(widest, WIDER / self.points)
        parts = self.parts if widest == 2.0 else [in_parts(curve, finest) for curve in self.curves]
        curves = [each.curve for each in parts]
        if widest < 2.0 and all(part is whole for part, whole in zip(curves, self.curves, strict=True)):
            return None
        pace = at_equal_pace(self._strands(parts))
        last: Walk | None = None

        def at(inner: float) -> Solution | None:
            nonlocal last
            found = lowered(curves, pace, self.constraint, inner, price * thin.shares)
            if found is None:
                return None
            strands = strands_of(found, thin.weights0, thin.weights1, self.constraint)
            last = best_walk(list(map(_gradual, strands, found, parts)), inner, start=last)
            return self._solution(pace if last is None else last.stops, goal, inner, found, parts)

        return self._within(goal, at)

    def _within(self, goal: Goal, find: Callable[[float], Solution | None]) -> Solution | None:
        """The solution whose gap among the people is within epsilon, whatever the points leave out; where much of
        epsilon is left, one more is tried."""
        inner, best, lower = goal.epsilon - self.people.hidden, None, 0.0
        for _ in range(TRIES):
            found = find(inner) if inner >= 0 else None
            if found is None:
                return best
            excess = found.gap + self.people.hidden - goal.epsilon
            if excess > ROUNDING and best is None:
                lower = max(1.2 * excess, 2.0 * lower)
                inner -= lower
                continue
            if excess <= ROUNDING and (best is None or found.performance.auc > best.performance.auc):
                first, best = best is None, found
                if first and inner < goal.epsilon - self.people.hidden and -excess > LEFT * goal.epsilon:
                    inner -= 0.8 * excess
                    continue
            return best
        return best

    def _solution(
        self,
        stops: IntArray,
        goal: Goal,
        inner: float,
        lines: Sequence[RocCurve] | None = None,
        parts: Sequence[Parts] | None = None,
        *,
        tied: bool = False,
    ) -> Solution:
        """What a walk with these stops does to the people, who are drawn where ``lines`` are below their own and where
        one score is in several ``parts``, and ``tied`` where one step is to give one fair score."""
        levels, make = walked(self.curves, self.parts if parts is None else parts, stops, lines, tied=tied)
        return solution_of(self.people.thin, levels, make(), goal, inner)


def walked(
    curves: Sequence[RocCurve],
    parts: Sequence[Parts],
    stops: IntArray,
    lines: Sequence[RocCurve] | None = None,
    *,
    tied: bool = False,
) -> tuple[Levels, Callable[[], tuple[Kernel, ...]]]:
    """Levels of a walk on these curves, and what makes its kernels: people are drawn where ``lines`` are below their
    own and where one score is in several ``parts``, and ``tied`` where one step is to give one fair score."""
    at = stops.T
    own = np.stack([(each.curve.tpr - each.curve.fpr)[i] for each, i in zip(parts, at, strict=True)], axis=1)
    v = own if lines is None else np.stack([(c.tpr - c.fpr)[i] for c, i in zip(lines, at, strict=True)], axis=1)
    ends = _level_ends(np.any(v < own - TOUCH, axis=1))
    u = np.stack([each.curve.u[i] for each, i in zip(parts, at[:, ends], strict=True)], axis=1)

    def make() -> tuple[Kernel, ...]:
        every = zip(curves, parts, at, v[ends].T, strict=True)
        return tuple(walk_kernel(curve.thresholds, each, i, ends, line, tied=tied) for curve, each, i, line in every)

    return Levels(u, v[ends]), make


def _gradual(strand: Strand, line: RocCurve, parts: Parts) -> Strand:
    """The strand of a lowered ``line``: people who are drawn, and those of one score in several parts, are passed at a
    steady pace, not at once."""
    curve, counts = parts.curve, np.diff(parts.begins)
    low = line.tpr - line.fpr < curve.tpr - curve.fpr - TOUCH
    return replace(strand, whole=~np.append(False, low[1:] | low[:-1] | np.repeat(counts > 1, counts)))


def _level_ends(lowered: BoolArray) -> IntArray:
    """Numbers of the stops at which levels begin and end: about `LEVELS`, finer ones where a line is lowered."""
    steps = len(lowered) - 1
    size = max(1, (1 << (steps - 1).bit_length()) // LEVELS)
    at = np.arange(steps)
    near = np.add.reduceat((lowered[:-1] | lowered[1:]).astype(np.intp), at[::size]) > 0
    fine = max(1, size * LEVELS // FINE_LEVELS)
    return np.append(np.flatnonzero((at % size == 0) | (near[at // size] & (at % fine == 0))), steps)
