"""The fair score of people at any epsilon, by the same options: fits, frontiers and reports all ask here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from fairroc.core.ascent import FINE_GROUPS
from fairroc.core.bound import Bound
from fairroc.core.chain import area
from fairroc.core.constraint import Constraint, EqualizedOdds
from fairroc.core.estimate import flattened
from fairroc.core.gap import ROUNDING, pooled_curve, threshold_gap
from fairroc.core.roc import Population, RocCurve
from fairroc.fitting.new_people import SEED, Choice, choice, helps, populations
from fairroc.fitting.raw_order import is_fair_score, solve_rate
from fairroc.fitting.solving import Goal, Solution, guides_of, levels_of, raw_order_kernels, solution_of, solve_drawn
from fairroc.fitting.walking import Walks
from fairroc.options import Options
from fairroc.people.people import People
from fairroc.stats.expected import Expected, Figures, figures
from fairroc.stats.posterior import Posterior

T = TypeVar("T")

LEAST_INNER, TRIES = 0.25, 8
"""Smallest internal epsilon in the order of scores, as a share of epsilon, and how many are tried."""

DIP = 0.4
"""Blocks of scores that dip farther below the hull, in deviations of the raw curve, are drawn."""

CACHE = 12
"""Solutions and what to expect of them that are remembered: those of the last few epsilons."""


@dataclass(frozen=True, eq=False)
class Solver:
    """The fair score of people at any epsilon, by the same options; what is solved once is kept."""

    people: People
    options: Options
    progress: Callable[[int, int], None] | None = None
    _guides: dict[float, Bound] = field(default_factory=dict)
    _solved: dict[float, Solution | None] = field(default_factory=dict)
    _cache: dict[Any, Any] = field(default_factory=dict)

    def at(self, epsilon: float, *, keep: bool = True) -> Solution | None:
        """The fair score at epsilon; None where the original score is kept. Many would not fit into memory."""
        if epsilon in self._solved:
            return self._solved[epsilon]
        found = self._at(epsilon)
        if keep:
            self._solved[epsilon] = found
        return found

    def prepare(self, epsilons: Sequence[float], *, bound: bool) -> dict[float, Bound]:
        """Look up the guides of many epsilons together, where all are wanted, or as bounds: ten times as fast as one by
        one."""
        wanted = self.options.draw == "all" or (bound and len(self.people.names) > FINE_GROUPS)
        if wanted and self.options.promise != "new" and self.options.method == "optimal":
            hulls = [curve.inner_hull for curve in self.population.curves]
            self._guides.update(guides_of(self.population, hulls, epsilons, self.constraint))
        return self._guides

    def _at(self, epsilon: float) -> Solution | None:
        if self.options.promise == "new":
            return self._new(epsilon)
        goal = self._goal(epsilon)
        if is_fair_score(self.people, goal):
            return None
        if self.options.draw == "all":
            return self._drawn(goal)
        if self.options.one_rate:
            return solve_rate(self.people, self.population, goal)
        if self.options.queries is not None:
            return self._in_order(goal, self.population.curves) or self._drawn(goal)
        return self.walks.never(goal) if goal.never else self.walks.few(goal, partial(self._with_draws, goal))

    def _with_draws(self, goal: Goal) -> Iterator[Solution]:
        """Scores that draw people: those who share a score or stand in the others' way, then also those in blocks of
        scores whose order misleads, then everybody."""
        curves = self.population.curves
        flat = flattened(curves, self.people.class_people(), DIP)
        for tried in (curves,) if all(a is b for a, b in zip(curves, flat, strict=True)) else (curves, flat):
            found = self._in_order(goal, tried)
            if found is not None:
                yield found
        yield self._drawn(goal)

    def _drawn(self, goal: Goal) -> Solution:
        """All ties drawn."""
        made = partial(solve_drawn, self.population, self.people.thin, goal, self._guides)
        return self.recall(goal.epsilon, made)

    def _in_order(self, goal: Goal, curves: Sequence[RocCurve]) -> Solution | None:
        """Along these curves the order of scores is kept, at the first internal epsilon from epsilon down whose gap is
        within epsilon.

        On thin curves neighbouring scores count as tied; what they may hide is added to the gap.
        """
        inner = goal.epsilon
        for _ in range(TRIES):
            if inner < LEAST_INNER * goal.epsilon:
                break
            levels = levels_of(self.population, inner, goal)
            kernels = raw_order_kernels(curves, self.people.thin.curves, levels)
            found = solution_of(self.people.thin, levels, kernels, goal, inner)
            excess = found.gap + self.people.hidden - goal.epsilon
            if excess <= ROUNDING:
                return found
            inner -= 1.5 * excess
        return None

    def _new(self, epsilon: float) -> Solution | None:
        """The candidate of promise="new" that is best at epsilon; the original score where that may stay."""
        if self.figures_before.expected.gap <= epsilon:
            return None
        best = self.choice.best(epsilon)
        if best.levels is None:
            return None
        goal = replace(self._goal(epsilon), ties="order")
        inner = min(best.inner_epsilon, epsilon)
        found = solution_of(self.people.thin, best.levels, best.kernels, goal, inner).changed(curve=best.name)
        return found if self.helps(found) else None  # others judge than chose

    @property
    def constraint(self) -> Constraint:
        return self.options.fairness

    def _goal(self, epsilon: float) -> Goal:
        return Goal(epsilon, self.constraint, self.options.ties, self.options.method, self.options.draw == "never")

    @cached_property
    def walks(self) -> Walks:
        """What scores that draw nobody or few attain."""
        assert isinstance(self.constraint, EqualizedOdds)
        return Walks(self.people, self.constraint)

    @property
    def least_gap_without_draw(self) -> float | None:
        """About the least gap of a score that draws nobody and keeps all different scores of a group apart."""
        return self.walks.least.gap if isinstance(self.constraint, EqualizedOdds) else None

    @cached_property
    def population(self) -> Population:
        """The curves to work on: the people's, or queries."""
        queries = self.options.queries
        return self.people.thin if queries is None else self.people.queried(queries)

    @cached_property
    def choice(self) -> Choice:
        """All candidates of promise="new"."""
        return choice(self.people, self.constraint, self.options.draw, self.known, self.progress)

    # -- what to expect ----------------------------------------------------------------------------------------------

    @cached_property
    def known(self) -> Posterior:
        """Populations that the people may come from."""
        return populations(self.people)

    @cached_property
    def figures_before(self) -> Figures:
        """What the original score does in the populations that judge."""
        return figures(self.known, self.known.judges, (), self.constraint)

    @cached_property
    def auc_before(self) -> float:
        """AUC of the original score among the people."""
        raw = self.people.exact
        return area(*pooled_curve(raw.curves, raw.weights0, raw.weights1, raw.merge[1]))

    @cached_property
    def gap_before(self) -> float:
        """Gap of the original score among the people, at all its thresholds."""
        return threshold_gap(self.people.exact, self.options.measure).value

    def expected(self, solution: Solution | None) -> Expected:
        """What to expect of a solution among new people; of None, of the original score.

        The AUC is that of the original score among the people, less what a solution is expected to lose.
        """
        new, before = self.figures(solution).expected, self.figures_before.expected
        return replace(new, auc=min(max(self.auc_before + new.auc - before.auc, 0.0), 1.0))

    def helps(self, solution: Solution) -> bool:
        """Whether new people's gap is expected to be clearly smaller than with the original score."""
        return helps(self.figures_before.gaps, self.figures(solution).gaps)

    def test_gap(self, solution: Solution | None) -> float:
        """The gap that a sample of new people as large as the fitted one is expected to show."""
        sample = self.known.judges.sampled(self.people.class_sizes(), np.random.default_rng(SEED))
        kernels = () if solution is None else solution.kernels
        return figures(self.known, sample, kernels, self.constraint).expected.gap

    def figures(self, solution: Solution | None) -> Figures:
        """What a solution does in the populations that judge."""
        if solution is None:
            return self.figures_before
        kernels = solution.kernels  # kept beside it, so that no others get this number
        known, constraint = self.known, self.constraint
        return self.recall(id(kernels), lambda: (figures(known, known.judges, kernels, constraint), kernels))[0]

    def recall(self, key: Any, make: Callable[[], T]) -> T:
        """What was made last; neighbouring epsilons often end with the same."""
        found: T = self._cache.pop(key) if key in self._cache else make()
        self._cache[key] = found
        if len(self._cache) > CACHE:
            del self._cache[next(iter(self._cache))]
        return found
