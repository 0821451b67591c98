"""Ways to make people's scores fair, and which of them to take at an epsilon.

A way says for every group which curve is worked on (the sample's, or an estimate of the population's) and whose ties
are drawn. Each is tried at a fixed ladder of internal epsilons and at epsilon itself. All that are taken keep epsilon
among the people; which is taken, the AUC and the gap expected of new people tell. What could be taken at some epsilon
can be taken at every larger one, so that a larger epsilon does not cost AUC. Fits, frontiers and reports all ask here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fairroc.core.ascent import FINE_GROUPS
from fairroc.core.bound import Bound
from fairroc.core.chain import MANY_GROUPS, FloatArray, area
from fairroc.core.constraint import Constraint, EqualizedOdds
from fairroc.core.coupling import Levels
from fairroc.core.estimate import ESTIMATES, blend, flattened, smooth
from fairroc.core.gap import ROUNDING, pooled_curve, threshold_gap
from fairroc.core.kernel import drawn_kernel, one_person, ordered_kernel
from fairroc.core.portable import dot, log
from fairroc.core.roc import Population, RocCurve
from fairroc.errors import FairrocWarning
from fairroc.fitting.new_people import DIP, Choice, choice, populations
from fairroc.fitting.raw_order import CLOSE, is_fair_score, solve_rate
from fairroc.fitting.solving import (
    Goal,
    Solution,
    drawn_share,
    guides_of,
    levels_of,
    solution_of,
    solve_drawn,
)
from fairroc.fitting.undrawn import Undrawn
from fairroc.options import Options
from fairroc.people.people import People, thinned_population
from fairroc.stats.plausible import Expected, Plausible, expected

T = TypeVar("T")

LADDER = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.4)
"""Internal epsilons of all ways, as shares of half the largest distance possible. The gap of the people need not follow
the internal epsilon, so none is guessed from it."""

REFINED, NEAREST = 3, 2
"""Halvings of the step from the largest of them that keeps epsilon towards the next, of so many ways beside drawing."""

COMPARED, SURE = 5, 0.001
"""With more groups fewer ways are compared, and none is tried again: its worth at epsilon is foretold from the ladder's
steps. Another is solved too where it is foretold to be worth so much more than the first turned out to be."""

SLACK, OUTSIDE = 0.001, 5.0
"""AUC by which the fitted people's may leave the range of the path, and how many times any more counts against it."""

SMALL_SAMPLE = 1000
"""Where some class of a group has fewer rows, curve="auto" is smooth for that group (docs/explanation/unseen.md)."""

BLENDS = (1.0, 0.5)
"""Shares of an estimate in the curves that are tried beside the raw ones."""

LEAST = 0.25
"""Smallest internal epsilon in raw order where nothing is chosen, as a share of epsilon."""

SPARES = 0.05
"""Keeping the raw order must spare this share of people a draw, or all ties are drawn (scores of few points)."""

GAP_PRICE, DRAW_PRICE = 0.02, 0.01
"""Expected AUC that a way must have more for every unit of expected gap, and to draw everybody instead of nobody."""

EVEN = 0.05
"""Epsilons count about evenly up to here, and less the larger they are, when ways are compared over all of them."""

ENOUGH, NEAR = 4000, 0.9
"""Where every class has so many people, and keeping the raw order leaves this share of epsilon, nothing is compared:
ways differ by less than can be told."""

COARSE, COARSE_ALL = 1 << 12, 1 << 13
"""Points of a curve (with many groups fewer, so that all together are about COARSE_ALL, but 512) when ways are
compared; the one that is taken is settled on the thin curves."""

DEPTH = 0.65
"""With raw order the gap exceeds the internal epsilon by at most about this share of how far the curves lie below their
hulls (two to four groups of 1e5 to 4e6 people: mostly 0.3 to 0.6 of it, at any epsilon)."""

FORETOLD = 0.1
"""An internal epsilon is foretold only if it is short of epsilon by no more than this share."""

HOPELESS = 0.85
"""With many groups nothing is settled on all points where less than this share of epsilon is foretold: even if the gap
exceeded it by the least, half as much as foretold, a second try would leave less than NEAR."""

SETTLED, CLOSER = 8, 0.9
"""Internal epsilons, at most, when a way is settled on all points; the part of the way back where one was too small."""

LATELY = 12
"""Solutions, what to expect of them and their figures that are remembered: those of the last few epsilons."""

HULL_GAIN, HULL_POINTS = 0.003, 2048
"""The order of scores misleads if the hull of a group's smooth curve, at so many points, gains more AUC than this."""


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """What is done with every group: the curve its kernel is made from, and whether its ties are drawn.

    ``family`` is the number of the curves that the levels are made from.
    """

    family: int
    name: str
    curves: tuple[RocCurve, ...]
    drawn: tuple[bool, ...]
    group_curves: tuple[str, ...]
    group_ties: tuple[str, ...]

    @property
    def ties(self) -> str:
        """Of all groups together."""
        return "draw" if all(self.drawn) else "order"


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """A way at one internal epsilon: gap and AUC of the people, what to expect of new ones, the share of all drawn."""

    way: Way
    inner: float
    levels: Levels
    gap: float
    auc: float
    expected: Expected
    drawn: float

    @property
    def worth(self) -> float:
        """Expected AUC, less a little for the expected gap and for people drawn."""
        return self.expected.auc - GAP_PRICE * self.expected.gap - DRAW_PRICE * self.drawn

    @property
    def needs(self) -> float:
        """The least epsilon at which it can be taken."""
        return max(self.gap, self.inner)


class Offer(NamedTuple):
    """A way at an epsilon: what it is worth, the AUC of the people, and the internal epsilon."""

    way: Way
    worth: float
    auc: float
    inner: float


@dataclass(frozen=True, eq=False)
class Solver:
    """The fair score of people at any epsilon, by the same options; what is solved once is kept."""

    people: People
    options: Options
    progress: Callable[[int, int], None] | None = None
    _tried: dict[tuple[int, float], tuple[Tried, ...]] = field(default_factory=dict)
    _levels: dict[tuple[int, float], Levels] = field(default_factory=dict)
    _guides: dict[float, Bound] = field(default_factory=dict)
    _solved: dict[float, Solution | None] = field(default_factory=dict)
    _lately: dict[Any, Any] = field(default_factory=dict)

    # -- what is asked for -------------------------------------------------------------------------------------------

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
        wanted = self.options.ties == "draw" or (bound and len(self.people.names) > FINE_GROUPS)
        if wanted and self.options.promise != "new" and self.options.method == "optimal":
            hulls = [curve.inner_hull for curve in self.population.curves]
            self._guides.update(guides_of(self.population, hulls, epsilons, self.constraint))
        return self._guides

    def recall(self, key: Any, make: Callable[[], T]) -> T:
        """What was made lately; neighbouring epsilons often end with the same."""
        found: T = self._lately.pop(key) if key in self._lately else make()
        self._lately[key] = found
        if len(self._lately) > LATELY:
            del self._lately[next(iter(self._lately))]
        return found

    def _solve_drawn(self, goal: Goal) -> Solution:
        """All ties drawn."""
        made = partial(solve_drawn, self.population, self.people.thin, goal, self._guides)
        return self.recall(("draw", goal.epsilon), made)

    def _at(self, epsilon: float) -> Solution | None:
        if self.options.promise == "new":
            return self._new(epsilon)
        goal = self._goal(epsilon)
        if is_fair_score(self.people, goal):
            return None
        if self.options.one_rate and self.options.ties != "draw":
            return solve_rate(self.people, self.families[min(1, len(self.families) - 1)], goal)
        if self.options.ties == "draw":
            return self._solve_drawn(goal)
        if self.options.method == "froc":
            return self._simply(goal, goal.epsilon)
        return self.undrawn.at(goal, lambda: self._fewest(goal)) if self._walks else self._fewest(goal)

    @property
    def least_gap_without_draw(self) -> float | None:
        """About the least gap of a score that draws nobody and keeps all different scores of a group apart."""
        return self.undrawn.least.walk.gap if isinstance(self.constraint, EqualizedOdds) else None

    @property
    def _walks(self) -> bool:
        """Whether scores that draw nobody are looked for: of the curves as they are."""
        both = isinstance(self.constraint, EqualizedOdds)
        return both and self.options.queries is None and self.options.curve in ("auto", "raw")

    @cached_property
    def undrawn(self) -> Undrawn:
        """What scores that draw nobody attain."""
        assert isinstance(self.constraint, EqualizedOdds)
        return Undrawn(self.people, self.constraint)

    def _fewest(self, goal: Goal) -> Solution:
        """A draw where raw order does not do."""
        return self._plain(goal) or self._chosen(goal)

    def _chosen(self, goal: Goal) -> Solution:
        """The best of all ways; with very many groups nothing is compared."""
        if len(self.people.names) > MANY_GROUPS and self.options.curve in ("auto", "raw"):
            return self._simply(goal, goal.epsilon - self.people.hidden - DEPTH * self._below)
        return self._best(goal)

    def _simply(self, goal: Goal, inner: float) -> Solution:
        """Nothing to choose, as for the paper's method and with very many groups: raw order at an internal epsilon or a
        little less where that keeps epsilon, else ties are drawn."""
        each = len(self.people.names)
        way = Way(0, "raw", self.population.curves, (False,) * each, ("raw",) * each, ("order",) * each)
        found = self._settle(way, goal, inner, LEAST * goal.epsilon)
        if found is not None and drawn_share(self.people.thin, found.kernels) <= 1.0 - SPARES:
            return found
        why = "with the raw order kept the gap would stay above epsilon, or hardly anyone be spared a draw"
        return self._drawn(self._solve_drawn(goal), why, False)

    @cached_property
    def known(self) -> Plausible:
        """Populations that the people may come from."""
        return populations(self.people)

    @cached_property
    def choice(self) -> Choice:
        """All candidates of promise="new"."""
        never = self.options.draw == "never"
        return choice(self.people, self.constraint, self.known, self.progress, never=never)

    @cached_property
    def population(self) -> Population:
        """The curves to work on where no estimate is: the people's, or queries."""
        queries = self.options.queries
        return self.people.thin if queries is None else self.people.queried(queries)

    @cached_property
    def before(self) -> tuple[float, Expected]:
        """AUC of the original score among the people, and what to expect of it among new ones."""
        return self.auc_before, expected(self.known, (), self.constraint)

    @cached_property
    def auc_before(self) -> float:
        """AUC of the original score among the people."""
        raw = self.people.exact
        return area(*pooled_curve(raw.curves, raw.weights0, raw.weights1, raw.merge[1]))

    def expected(self, solution: Solution | None) -> Expected:
        """What to expect of a solution among new people; of None, of the original score.

        The AUC is that of the original score among the people, less what a solution is expected to lose.
        """
        auc, before = self.before
        found = before if solution is None else self._expected(solution)
        return replace(found, auc=min(max(auc + found.auc - before.auc, 0.0), 1.0))

    def _expected(self, solution: Solution) -> Expected:
        """The same, with the AUC of plausible populations."""
        kernels = solution.kernels  # kept beside it, so that no others get this number
        return self.recall(id(kernels), lambda: (expected(self.known, kernels, self.constraint), kernels))[0]

    @property
    def constraint(self) -> Constraint:
        return self.options.fairness

    def _goal(self, epsilon: float) -> Goal:
        return Goal(epsilon, self.constraint, self.options.ties, self.options.method, self.options.draw == "never")

    def _new(self, epsilon: float) -> Solution | None:
        """The candidate of promise="new" that is best at epsilon."""
        best = self.choice.best(epsilon)
        if best.levels is None:
            return None
        inner = min(best.inner_epsilon, epsilon)
        goal = replace(self._goal(epsilon), ties="draw" if best.drawn else "order")
        return solution_of(self.people.thin, best.levels, best.kernels, goal, inner).changed(curve=best.name)

    # -- ways --------------------------------------------------------------------------------------------------------

    @cached_property
    def estimated(self) -> tuple[str, ...]:
        """The curve of every group that is tried beside the raw one."""
        options, groups = self.options, len(self.people.names)
        if options.curve != "auto":
            return (options.curve,) * groups
        if options.queries is not None or options.ties == "draw":
            return ("raw",) * groups
        small = self.people.class_people().min(axis=1) < SMALL_SAMPLE
        return tuple(np.where(small, "smooth", "raw").tolist())

    @cached_property
    def families(self) -> tuple[Population, ...]:
        """The curves that levels are made from: the raw ones, then estimates, whole and mixed with the raw ones."""
        names = set(self.estimated) - {"raw"}
        if not names:
            return (self.population,)
        raw, sizes = self.people.thin, self.people.class_people()
        own = ESTIMATES[names.pop()](raw.curves, raw.shares, sizes)
        known = [
            curve if name == "raw" else estimate
            for curve, estimate, name in zip(raw.curves, own, self.estimated, strict=True)
        ]
        blends = BLENDS if len(known) <= COMPARED else BLENDS[:1]
        return (self.population, *(replace(raw, curves=blend(raw.curves, known, share)) for share in blends))

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """All ways: the last one draws all ties."""
        return tuple(self._ways())

    def _ways(self) -> Iterator[Way]:
        groups, raw = len(self.people.names), self.population.curves
        nobody = (False,) * groups
        plain = ("order",) * groups
        raws = ("raw",) * groups
        sizes = self.people.class_people()
        for i, family in enumerate(self.families[1:], 1):
            name = next(name for name in self.estimated if name != "raw")
            mixed = name if BLENDS[i - 1] == 1 else f"{name}, half"
            flat = flattened(family.curves, sizes, DIP)
            each = tuple("raw" if own == "raw" else mixed for own in self.estimated)
            yield Way(i, mixed, flat, nobody, each, _dips(family.curves, flat))
        if self.options.curve not in ("auto", "raw"):  # it is taken wherever it keeps epsilon
            yield Way(0, "raw", raw, (True,) * groups, raws, ("draw",) * groups)
            return
        yield Way(0, "raw", raw, nobody, raws, plain)
        if self.options.queries is None:
            flat = flattened(raw, sizes, DIP)
            if any(a is not b for a, b in zip(raw, flat, strict=True)):
                yield Way(0, "raw", flat, nobody, raws, _dips(raw, flat))
            deepest = np.argsort([-_depth(curve) for curve in raw], kind="stable")
            for k in sorted({1, groups // 2}) if groups <= COMPARED else ():
                drawn = tuple(np.isin(np.arange(groups), deepest[:k]).tolist())
                yield Way(0, "raw", raw, drawn, raws, tuple("draw" if own else "order" for own in drawn))
        yield Way(0, "raw", raw, (True,) * groups, raws, ("draw",) * groups)

    @property
    def _points(self) -> int:
        """Points of a coarse curve."""
        return min(COARSE, max(512, COARSE_ALL // len(self.people.samples)))

    @cached_property
    def coarse(self) -> tuple[Population, ...]:
        """The people's thin curves, coarser, and those of all families."""
        return tuple(thinned_population(each, self._points) for each in (self.people.thin, *self.families))

    @cached_property
    def coarse_ways(self) -> tuple[Way, ...]:
        """The ways on coarser curves."""
        thin, points = self.people.thin, self._points
        return tuple(
            replace(way, curves=thinned_population(replace(thin, curves=way.curves), points).curves)
            for way in self.ways
        )

    @property
    def _exactly(self) -> bool:
        """Whether coarse curves tell all."""
        return self.coarse[0] is self.people.exact and all(
            a is b for a, b in zip(self.coarse[1:], self.families, strict=True)
        )

    def _try(self, family: int, inner: float, only: Way | None = None) -> tuple[Tried, ...]:
        """All ways of a family (or one) at an internal epsilon, on coarse curves."""
        key = family, inner
        if key in self._tried:
            return tuple(one for one in self._tried[key] if only is None or one.way is only)
        judged = self.coarse[0]
        if key not in self._levels:
            self._levels[key] = levels_of(self.coarse[1 + family], inner, self._goal(inner), rough=True)
        levels = self._levels[key]
        ways = [way for way in self.coarse_ways if way.family == family] if only is None else [only]
        found = []
        for way in ways:
            solution = self._made(way, judged, levels, inner)
            ahead = expected(self.known, solution.kernels, self.constraint)
            done = solution.performance
            found.append(Tried(way, inner, levels, done.gap, done.auc, ahead, drawn_share(judged, solution.kernels)))
        if only is None:
            self._tried[key] = tuple(found)
        return tuple(found)

    def _made(self, way: Way, judged: Population, levels: Levels, inner: float) -> Solution:
        kernels = tuple(
            drawn_kernel(curve, u, v) if drawn else ordered_kernel(curve, u, v, one_person(seen))
            for curve, seen, drawn, u, v in zip(
                way.curves, judged.curves, way.drawn, levels.u.T, levels.v.T, strict=True
            )
        )
        found = solution_of(judged, levels, kernels, replace(self._goal(inner), ties=way.ties), inner)
        return found.changed(curve=way.name, group_curves=way.group_curves, group_ties=way.group_ties)

    # -- the choice --------------------------------------------------------------------------------------------------

    @cached_property
    def steps(self) -> tuple[float, ...]:
        """The ladder, of many groups every other step of it, up to the original score's gap."""
        ladder = LADDER if len(self.people.names) <= COMPARED else LADDER[::2]
        steps = [share * self.constraint.largest / 2 for share in ladder]
        return tuple(step for step in steps if step < self._gap) or (0.0,)

    @cached_property
    def _gap(self) -> float:
        return threshold_gap(self.coarse[0], self.constraint).value

    @cached_property
    def tried(self) -> tuple[Tried, ...]:
        """All ways at the ladder's internal epsilons, and at the original score's gap where nothing is refined, but
        those that keep an order and spare hardly anyone a draw."""
        steps = self.steps if len(self.people.names) <= COMPARED else (*self.steps, max(self._gap, self.steps[-1]))
        pairs = [(f, step) for f in range(len(self.families)) for step in steps]
        every: list[Tried] = []
        for i, (family, step) in enumerate(pairs, 1):
            every += self._try(family, step)
            if self.progress is not None:
                self.progress(i, len(pairs))
        return tuple(one for one in every if one.way.ties == "draw" or one.drawn <= 1.0 - SPARES)

    def offers(self, epsilon: float) -> list[Offer]:
        """What can be had at epsilon: what was tried and keeps it, and every way about where it just keeps it."""
        kept = [one for one in self.tried if one.needs <= epsilon + ROUNDING]
        return [*(Offer(one.way, one.worth, one.auc, one.inner) for one in kept), *self._foretold(epsilon)]

    def _foretold(self, epsilon: float, most: float = 1.0) -> Iterator[Offer]:
        """Every way about where it just keeps epsilon, and where its AUC is ``most``, from what was tried around."""
        for way in self.coarse_ways:
            own = sorted((one for one in self.tried if one.way is way), key=lambda one: one.inner)
            for one, other in pairwise(own):
                if one.needs > epsilon:
                    continue
                parts = [1.0]
                if epsilon < other.needs:
                    parts.append((epsilon - one.needs) / (other.needs - one.needs))
                if one.auc < most < other.auc:
                    parts.append((most - one.auc) / (other.auc - one.auc))
                both = ((one.worth, other.worth), (one.auc, other.auc), (one.inner, other.inner))
                for part in parts[1:]:
                    if part <= min(parts[:2]):
                        yield Offer(way, *((1 - part) * here + part * there for here, there in both))

    @cached_property
    def path(self) -> tuple[float, ...]:
        """AUC of the people at every step of the ladder.

        Of all paths along which it never falls, the one whose worth is largest, on average over epsilon. Drawn ties
        flatter the fitted people. The best at each epsilon for itself would lose their AUC where raw order becomes
        better for new people, and whoever held on to it would never leave drawn ties: so the path looks ahead.
        """
        offers: list[Offer] = []
        auc, total, trail = np.zeros(1), np.zeros(1), []
        for step, width in zip(self.steps, _widths(self.steps, self._gap), strict=True):
            offers += [offer for offer in self.offers(step) if offer not in offers]
            order = np.argsort(auc, kind="stable")
            highest = np.maximum.accumulate(total[order])
            below = np.searchsorted(auc[order], [offer.auc for offer in offers], side="right") - 1
            before = order[np.searchsorted(highest, highest[below])]  # the first that is as good
            auc, worth = np.array([(offer.auc, offer.worth) for offer in offers]).T
            total = np.where(below < 0, -np.inf, width * worth + highest[below])
            trail.append((auc, before))
        at, found = int(np.argmax(total)), []
        for auc, before in reversed(trail):
            found.append(float(auc[at]))
            at = int(before[at])
        return tuple(reversed(found))

    def _best(self, goal: Goal) -> Solution:
        """What is worth most of all that keep epsilon, between the AUCs of the path below and above."""
        epsilon = goal.epsilon
        last = int(np.searchsorted(self.steps, epsilon, side="right")) - 1
        least, most = self.path[last], 1.0 if last + 1 == len(self.path) else self.path[last + 1]

        def fit(one: Offer | Tried) -> float:
            return one.worth - OUTSIDE * max(0.0, least - SLACK - one.auc, one.auc - most - SLACK)

        kept: list[Tried | Offer] = [one for one in self.tried if one.needs <= epsilon + ROUNDING]
        named = self.options.curve not in ("auto", "raw")
        if len(self.people.names) > COMPARED:
            kept += self._foretold(epsilon, most + SLACK)
        else:
            ways: list[Way] = [self.coarse_ways[-1]]
            for offer in sorted(self.offers(epsilon), key=fit, reverse=True):
                if offer.way not in ways and len(ways) <= NEAREST:
                    ways.append(offer.way)
            kept += [one for way in ways for one in self._refined(way, goal)]
        why = self._why(goal, kept)
        taken, most_worth = None, -np.inf
        for best in sorted(kept, key=lambda one: (named and one.way.family > 0, fit(one)), reverse=True):
            if taken is not None and fit(best) <= most_worth + SURE:
                break
            if best.way.ties == "draw":
                inner = best.inner if isinstance(best, Tried) else epsilon
                drawn = self._solve_drawn(replace(goal, epsilon=inner))
                found: Solution | None = self._drawn(drawn, *why)
            else:
                found = self._settled(best, goal)
            if found is not None and (isinstance(best, Tried) or named):
                return found if taken is None else taken
            if found is not None and (worth := fit(self._offer(best.way, found))) > most_worth:
                taken, most_worth = found, worth
        return taken or self._drawn(self._solve_drawn(goal), *why)

    def _offer(self, way: Way, found: Solution) -> Offer:
        """What a solution is worth."""
        done, drawn = found.performance, drawn_share(found.judged, found.kernels)
        one = Tried(way, found.inner_epsilon, found.levels, done.gap, done.auc, self._expected(found), drawn)
        return Offer(way, one.worth, one.auc, one.inner)

    def _drawn(self, solution: Solution, why: str, chosen: bool) -> Solution:
        """A solution that draws all ties, with the reason; a warning where that was not a choice."""
        each = len(self.people.names)
        told = FairrocWarning(
            "ties are drawn: the order of people with equal or close scores is left to chance. If that is fine, say so "
            "with draw='all' (--draw all).",
            f"The reason: {why}.",
        )
        found = solution.changed(group_curves=("raw",) * each, group_ties=("draw",) * each, reason=why)
        return found if chosen else found.changed(note=told)

    def _refined(self, way: Way, goal: Goal) -> Iterator[Tried]:
        """The way at epsilon, or at internal epsilons between the largest that keeps epsilon and the next tried."""
        own = [one for one in self.tried if one.way is way and one.inner <= goal.epsilon]
        kept = [one for one in own if one.gap <= goal.epsilon + ROUNDING]
        if not kept:
            return
        low = max(kept, key=lambda one: one.inner)
        high = min((one.inner for one in own if one.inner > low.inner), default=goal.epsilon)
        inners = [goal.epsilon] if high == goal.epsilon else []
        for _ in range(len(inners) + REFINED):
            if low.inner >= high or (way.ties != "draw" and goal.epsilon - low.gap <= CLOSE * goal.epsilon):
                return
            inner = inners.pop() if inners else (low.inner + high) / 2
            (one,) = self._try(way.family, inner, way)
            if one.gap <= goal.epsilon + ROUNDING:
                low = one
                yield one
            else:
                high = inner

    def _settled(self, best: Tried | Offer, goal: Goal) -> Solution | None:
        """The way on all points, at the first internal epsilon from its own down whose gap is within epsilon.

        On thin curves neighbouring scores count as tied; what they may hide is added to the gap.
        """
        if self._exactly and isinstance(best, Tried):
            way, levels, inner = best.way, best.levels, best.inner
            return self.recall((id(way), inner), lambda: self._made(way, self.people.thin, levels, inner))
        way = next(way for way, thin in zip(self.ways, self.coarse_ways, strict=True) if thin is best.way)
        return self._settle(way, goal, best.inner)

    def _settle(self, way: Way, goal: Goal, inner: float, least: float = 0.0) -> Solution | None:
        """With more groups than are compared in full, one try more in between where the gap fell far below epsilon."""
        best: Solution | None = None
        failed: tuple[float, float] | None = None
        for _ in range(SETTLED):
            if inner < least:
                break
            found = self.recall((id(way.curves), way.drawn, inner), partial(self._on_all, way, inner, goal))
            excess = found.gap + self.people.hidden - goal.epsilon
            if excess > ROUNDING:
                if best is not None:
                    break
                failed = inner, excess
                inner -= 1.5 * excess
                continue
            near = len(self.people.names) <= COMPARED or -excess <= CLOSE * goal.epsilon
            if near or best is not None or failed is None:
                return found
            best, inner = found, inner - CLOSER * excess * (failed[0] - inner) / (failed[1] - excess)
        return best

    def _on_all(self, way: Way, inner: float, goal: Goal) -> Solution:
        levels = levels_of(self.families[way.family] if way.family else self.population, inner, goal)
        return self._made(way, self.people.thin, levels, inner)

    # -- large samples -----------------------------------------------------------------------------------------------

    def _plain(self, goal: Goal) -> Solution | None:
        """Raw order for everybody, where that is as good as anything in a large sample."""
        enough = self.people.class_people().min() >= ENOUGH
        raw = set(self.estimated) == {"raw"} and self.options.queries is None
        if not (enough and raw) or max(self.gains) > HULL_GAIN:
            return None
        way = self.ways[0]
        inner = goal.epsilon - self.people.hidden - DEPTH * self._below
        if self.people.hidden == 0 or inner < (1.0 - FORETOLD) * goal.epsilon:
            if len(self.people.names) > COMPARED and inner < HOPELESS * goal.epsilon:
                return None
            inner = goal.epsilon
        return self._settle(way, goal, inner, NEAR * goal.epsilon)

    @cached_property
    def _below(self) -> float:
        """How far the two deepest curves lie below their hulls."""
        return sum(sorted(_depth(curve) for curve in self.people.thin.curves)[-2:])

    # -- words -------------------------------------------------------------------------------------------------------

    @cached_property
    def gains(self) -> tuple[float, ...]:
        """AUC that the hull of every group's smooth curve gains: much where the order of scores misleads.

        Where the population's own curve dips below its hull, raw order loses what a draw attains, for new people too. A
        smooth estimate tells; the sample's curve dips by chance.
        """
        thin = thinned_population(self.people.thin, HULL_POINTS)
        curves = smooth(thin.curves, thin.shares, self.people.class_people())
        return tuple(curve.hull.auc - curve.auc for curve in curves)

    def misled(self, group: int) -> bool:
        """Whether the order of a group's scores misleads; of one of very many groups that is not asked."""
        return len(self.people.names) <= MANY_GROUPS and self.gains[group] > HULL_GAIN

    def _why(self, goal: Goal, kept: Sequence[Tried | Offer]) -> tuple[str, bool]:
        """Why all ties are drawn, and whether the order might have been kept as well."""
        every = [one for several in self._tried.values() for one in several if one.way.ties != "draw"]
        spared = 1.0 - min((one.drawn for one in every if one.needs <= goal.epsilon + ROUNDING), default=1.0)
        order = any(one.way.ties != "draw" for one in kept)
        gain = dot(self.people.thin.shares, np.array(self.gains))
        if gain > HULL_GAIN:
            why = (
                "the order of scores misleads, as even smooth ROC curves lie below their hulls, by "
                f"{gain:.3f} of AUC on average"
            )
        elif order:
            why = f"keeping the raw order within epsilon {goal.epsilon:g} would cost AUC"
        elif spared > 0:
            why = f"keeping the raw order would spare only {spared:.0%} of people a draw"
        else:
            why = (
                f"with the raw order kept the gap would stay above epsilon {goal.epsilon:g}, at any internal epsilon; "
                "a larger epsilon or more rows would leave room"
            )
        return why, order and gain <= HULL_GAIN


def _widths(steps: Sequence[float], end: float) -> FloatArray:
    """How much the steps up to an end count on the average over epsilon: small epsilons more, being asked for more."""
    return np.diff(log(np.array([*steps, end]) + EVEN))


def _depth(curve: RocCurve) -> float:
    """How far a raw curve lies below its hull."""
    return float((curve.hull.at(curve.u) - (curve.tpr - curve.fpr)).max())


def _dips(curves: tuple[RocCurve, ...], flat: tuple[RocCurve, ...]) -> tuple[str, ...]:
    """How ties are treated in groups whose curves were flattened where they dip, or were not."""
    return tuple("order" if a is b else "dips" for a, b in zip(curves, flat, strict=True))
