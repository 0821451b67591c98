"""The frontier: what a score's accuracy costs at every epsilon, from one pass over the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from fairroc.core.ascent import FINE_GROUPS
from fairroc.core.bound import Bound, pooled_bounds
from fairroc.core.chain import FloatArray, area
from fairroc.core.constraint import Constraint, EqualizedOdds, Norm
from fairroc.core.gap import ROUNDING, threshold_gap
from fairroc.core.portable import dot, weighted
from fairroc.core.realised import Performance, drawn_shares, judged, original_points, realise
from fairroc.core.roc import Population, rates_at
from fairroc.docstrings import PEOPLE, documented
from fairroc.errors import DataError, FairrocWarning, warn_all
from fairroc.fitting.raw_order import NeedsDrawsError
from fairroc.fitting.solver import Solver
from fairroc.fitting.solving import BOUND_TOLERANCE, Solution, bound_of, judged_exactly
from fairroc.fitting.walking import DRAW_PRICE
from fairroc.options import (
    CONSTRAINT,
    DRAW,
    FRONTIER,
    PROMISE,
    Missing,
    Options,
    SmallTreatment,
    check_cost,
    check_epsilons,
    checked,
    fairness,
    same,
)
from fairroc.people.door import read_people
from fairroc.people.people import People, refuse_tiny_groups
from fairroc.people.small import SmallGroups, SmallRule, plain_data
from fairroc.stats.bootstrap import Progress, portion
from fairroc.stats.expected import Expected
from fairroc.summary import MOST_ROWS, Part, Result, Summary, figure, percent, size, window
from fairroc.tables.columns import data_frame

DEFAULT_EPSILONS, DIGITS = 21, 1e4
"""Epsilons from 0 to the original score's gap where none are named, rounded up to four digits."""

BOUNDED, COMPARED = 20, 40
"""Per cent of the work, about, by when all bounds are known, and all ways tried; the rest is for single epsilons."""


@dataclass(frozen=True, slots=True, repr=False)
class FrontierGroup(Part):
    """One group at one epsilon: AUC of its fair score, and the shares of its people who are drawn."""

    group: str
    auc: float
    randomised_share: float
    transport_share: float


@dataclass(frozen=True, slots=True, repr=False)
class FrontierPoint(Part):
    """The fair score at one epsilon: exact expectations over the draw on the people given.

    Attributes
    ----------
    gap_estimate, auc_estimate : expected among new people, as in `Outlook`.
    ratio : the smallest ratio allowed, 1 - epsilon; None where differences are allowed.
    ties, inner_epsilon : what the fit at this epsilon does; ``unchanged`` if the original score meets epsilon already.
    auc, gap : of all people together; ``auc_bound`` exceeds the AUC of every fair randomised score (None: not asked).
    accuracy, balanced_accuracy : the largest over all thresholds of the fair score.
    selection_rate, disparate_impact : at the most accurate threshold, the share of all people selected, and the
        smallest group's share divided by the largest (None if nobody is selected).
    randomised_share : share of people whose fair score depends on the draw: ``transport_share`` because fairness moves
        them, ``tie_share`` only because of a draw among equal or neighbouring scores.
    """

    epsilon: float
    gap_estimate: float
    auc_estimate: float
    ties: str
    inner_epsilon: float
    unchanged: bool
    levels: int
    auc: float
    auc_bound: float | None
    gap: float
    accuracy: float
    balanced_accuracy: float
    selection_rate: float
    disparate_impact: float | None
    randomised_share: float
    transport_share: float
    tie_share: float
    groups: tuple[FrontierGroup, ...]
    ratio: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the gap expected among new people is within epsilon."""
        return self.gap_estimate <= self.epsilon


AUC_COST = 0.01
"""What the recommended point of a frontier may cost new people in AUC: of 100 pairs of a positive and a negative, one
more is ranked the wrong way round. A draw for everybody counts as `DRAW_PRICE`."""


@dataclass(frozen=True, slots=True, repr=False)
class Recommended(Part):
    """Which point of a frontier is recommended, and why: of those alone whose epsilon new people are expected to keep.

    Attributes
    ----------
    index : its place among the points; ``epsilon`` (and ``ratio``, where one was asked for) are its own.
    reason : "budget" (of all points that cost at most ``auc_cost`` it leaves new people the smallest gap), "unchanged"
        (so does the original score) or "cheapest" (all cost more; this one costs least).
    auc_cost : what new people's AUC was allowed to lose, people who are drawn included.
    """

    index: int
    epsilon: float
    ratio: float | None
    reason: str
    auc_cost: float


@documented(
    setup=f"""{PEOPLE}
>>> from fairroc import frontier
>>> how = {{"promise": "fitted", "draw": "all"}}
>>> found = frontier(scores, y, sensitive_features=sex, epsilons=[0, 0.1, 0.5], **how)"""
)
@dataclass(frozen=True, slots=True, repr=False)
class Frontier(Result):
    """Fair scores at several epsilons, by rising epsilon, beside the original score (``before``, drawn by nobody).

    ``constraint``, ``draw`` and ``where`` are what was asked for, as in a fit. ``left_out`` are epsilons that cannot
    be kept without draws, where none are wanted; ``reached`` is the least gap that was seen there.
    ``least_gap_without_draw`` is that of the certificate: from such an epsilon on draw="few" draws nobody.

    >>> [round(point.auc, 2) for point in found.points], found.points[-1].unchanged
    ([0.68, 0.73, 0.7], True)
    """

    norm: Norm
    method: str
    ties: str
    rows: int
    before: FrontierPoint
    points: tuple[FrontierPoint, ...]
    small_groups: SmallGroups | None = None
    promise: str = PROMISE.default
    constraint: str = CONSTRAINT.default
    draw: str = DRAW.default
    where: tuple[float, float] | None = None
    left_out: tuple[float, ...] = ()
    reached: float | None = None
    least_gap_without_draw: float | None = None

    def _summary(self) -> Summary:
        before, count, ratio = self.before, len(self.points), self.before.ratio is not None
        facts = [("original score", f"gap {before.gap:.4f}, AUC {before.auc:.4f}"), ("gap", self.fairness.formula)]
        facts += window(self.where)
        step = max(1, -((1 - count) // (MOST_ROWS - 1)))
        some = [point for i, point in enumerate(self.points) if i % step == 0 or i == count - 1]
        head = ["ratio" if ratio else "epsilon", "gap", "AUC", "people drawn", "bound", "new: gap", "AUC", "accuracy"]
        rows = [
            [
                f"{(p.ratio if ratio else p.epsilon):.4g}",
                *(figure(p.gap), figure(p.auc), percent(p.randomised_share), figure(p.auc_bound, none="–")),
                *(figure(x, 3) for x in (p.gap_estimate, p.auc_estimate, p.accuracy)),
            ]
            for p in some
        ]
        title = f"Frontier: {size(self.rows, len(before.groups))}, promise '{self.promise}'"
        return Summary(title, facts, head, rows, count, "epsilons between these: to_columns() has all")

    @property
    def fairness(self) -> Constraint:
        """What was to be close, as geometry."""
        return fairness(self.constraint, self.norm, None, self.before.ratio is not None, self.where)

    @property
    def recommended(self) -> Recommended | None:
        """The point to start from; see `recommend`."""
        return self.recommend()

    def recommend(self, auc_cost: float = AUC_COST) -> Recommended | None:
        """Of the points whose epsilon new people are expected to keep, the smallest gap among these that costs them at
        most ``auc_cost``; where all cost more, the cheapest. Points that do the same: the smallest epsilon.

        What a point costs is the AUC that new people are expected to lose, and 0.05 times the share of people drawn.
        None where no point's epsilon is expected to be kept.

        Parameters
        ----------
        auc_cost : number of at least 0
            What a point may cost.

        Raises: DataError
        >>> found.recommend(auc_cost=0.5).epsilon
        0.5
        """
        limit = check_cost("auc_cost", auc_cost)
        held = [point for point in self.points if point.holds]
        if not held:
            return None
        cheap = [point for point in held if self._cost(point) <= limit]
        if cheap:
            best = min(cheap, key=lambda point: (round(point.gap_estimate, 9), point.epsilon))
            reason = "unchanged" if best.unchanged else "budget"
        else:
            best, reason = min(held, key=lambda point: (self._cost(point), point.epsilon)), "cheapest"
        return Recommended(self.points.index(best), best.epsilon, best.ratio, reason, limit)

    def _cost(self, point: FrontierPoint) -> float:
        """AUC that new people are expected to lose at a point, and the price of draws."""
        return self.before.auc_estimate - point.auc_estimate + DRAW_PRICE * point.randomised_share

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON, with the recommended point.

        >>> found.to_dict()["rows"]
        1000
        """
        chosen = self.recommended
        return plain_data(self) | {"recommended": None if chosen is None else asdict(chosen)}

    def to_columns(self) -> dict[str, list[Any]]:
        """One row for each epsilon; the groups' AUCs and shares of people drawn in columns ``auc[GROUP]`` and
        ``drawn[GROUP]``.

        >>> found.to_columns()["epsilon"]
        [0.0, 0.1, 0.5]
        """
        left = ("groups",) if self.before.ratio is not None else ("groups", "ratio")
        plain = [name for name in FrontierPoint.__slots__ if name not in left]
        columns = {name: [getattr(point, name) for point in self.points] for name in plain}
        for g, group in enumerate(self.before.groups):
            columns[f"auc[{group.group}]"] = [point.groups[g].auc for point in self.points]
            columns[f"drawn[{group.group}]"] = [point.groups[g].randomised_share for point in self.points]
        return columns

    def to_frame(self) -> Any:
        """The same as a pandas data frame.

        Returns: pandas.DataFrame: one row for each epsilon.

        Raises
        ------
        DataError
            If pandas is not installed.

        >>> found.to_frame()["unchanged"].tolist()
        [False, False, True]
        """
        return data_frame(self.to_columns())


@documented(options=FRONTIER, setup=PEOPLE)
def frontier(
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    epsilons: Any = None,
    ratios: Any = None,
    constraint: str = "equalized_odds",
    norm: Any = 1,
    method: str = "optimal",
    draw: str = "few",
    where: Any = None,
    promise: str = "new",
    queries: Any = None,
    bound: bool = True,
    sample_weight: Any = None,
    pos_label: Any = None,
    missing: Missing = "error",
    min_class_rows: int = 1,
    small_groups: SmallTreatment = "error",
) -> Frontier:
    """Trade-off between epsilon and what the fair score can do, with the rows sorted once.

    Every point is what `FairROC` with the same parameters would do on these rows.

    Parameters
    ----------
    epsilons : numbers in [0, 2], optional
        By default 21 of them, evenly from 0 to the gap at which the original score may stay.
    ratios : numbers above 0 and at most 1, optional
        For a constraint on one rate, instead of epsilons: the smallest ratio of two groups' rates that is allowed. A
        point's epsilon is then what its ratio lacks of 1.
    draw : "few", "never" or "all"
        As in `FairROC`; "all" shows what is possible on these rows at each epsilon, and is fast. With "never" and one
        rate, epsilons that cannot be kept are left out, and a warning says what can.
    promise : "new" or "fitted"
        As in `FairROC`; a promise for the population cannot be kept at small epsilons, and is refused.

    Returns: Frontier: one point for each epsilon; printed, it is a table.
    Raises: DataError
    >>> how = {"promise": "fitted", "draw": "all"}
    >>> found = frontier(scores, y, sensitive_features=sex, epsilons=[0, 0.1, 0.5], **how)
    >>> [round(point.auc, 2) for point in found.points], found.points[-1].unchanged
    ([0.68, 0.73, 0.7], True)
    """
    options, wanted = frontier_options(
        epsilons=epsilons,
        ratios=ratios,
        constraint=constraint,
        norm=norm,
        method=method,
        draw=draw,
        where=where,
        promise=promise,
        queries=queries,
        missing=missing,
        min_class_rows=min_class_rows,
        small_groups=small_groups,
    )
    known = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "pos_label": pos_label}
    people = read_people(scores, y, **known, missing=missing, small=SmallRule.of(options))
    return frontier_of(people, options, epsilons=wanted, bound=bound)


def frontier_options(**given: Any) -> tuple[Options, tuple[float, ...] | None]:
    """How every fit of a frontier is made, and the epsilons, if any are named: from the parameters of FRONTIER."""
    values = checked(FRONTIER, given)
    epsilons, ratios = values.pop("epsilons"), values.pop("ratios")
    if ratios is None:
        return Options.checked(epsilon=0.0, **values), epsilons
    if epsilons is not None:
        raise DataError("give either epsilons or ratios, got both. Leave one out.")
    return Options.checked(ratio=ratios[0], **values), tuple(1.0 - ratio for ratio in ratios)


def frontier_of(
    people: People,
    options: Options,
    *,
    epsilons: Any = None,
    bound: bool = True,
    progress: Progress | None = None,
) -> Frontier:
    """Frontier of people, with warnings of what a user should know; the parameters are those of `traced`."""
    found = traced(people, options, epsilons=epsilons, bound=bound, progress=progress)
    warn_all(found.notes)
    return found.frontier


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """A frontier, what was to be kept of the solutions, by epsilon, and the warnings that a user should see."""

    frontier: Frontier
    kept: dict[float, Any]
    notes: tuple[FairrocWarning, ...]


def traced(
    people: People,
    options: Options,
    *,
    epsilons: Any = None,
    bound: bool = True,
    progress: Progress | None = None,
    solver: Solver | None = None,
    keep: Callable[[float, Solution], Any] | None = None,
) -> Traced:
    """Frontier of people; ``progress(done, all)`` is told in per cent: of bounds, candidates, then every epsilon.

    The options' epsilon is not used. ``solver`` may be given where a fit has made it, of the same people and options
    but for epsilon. ``keep`` makes what is kept of an epsilon's solution.
    """
    wanted = None if epsilons is None else check_epsilons(epsilons)
    if options.confidence is not None:
        raise DataError(
            "promise must be 'new' or 'fitted' for a frontier, got 'population': no small epsilon can be promised "
            "for the population. FairROC(promise='population') says which can."
        )
    refuse_tiny_groups(people, options.min_class_rows)
    solver = Solver(people, options, portion(progress, BOUNDED, COMPARED)) if solver is None else solver
    before = _before(people, replace(options, epsilon=0.0), solver)
    if wanted is None:
        most = before.gap_estimate if options.promise == "new" else max(before.gap, before.gap_estimate)
        wanted = tuple(np.unique(np.ceil(DIGITS * np.linspace(0.0, most, DEFAULT_EPSILONS)) / DIGITS).tolist())
    known = solver.prepare(wanted, bound=bound)
    limits = _bounds(people.thin, options, wanted, known) if bound else [None] * len(wanted)
    portion(progress, 0, BOUNDED)(1, 1)
    points: list[FrontierPoint] = []
    kept: dict[float, Any] = {}
    refused: dict[float, NeedsDrawsError] = {}
    for i, epsilon in enumerate(wanted):
        try:
            found = solver.at(epsilon, keep=False)
        except NeedsDrawsError as error:
            refused[epsilon] = error
        else:
            if found is not None and keep is not None:
                kept[epsilon] = keep(epsilon, found)
            points.append(_point(people, replace(options, epsilon=epsilon), before, found, limits[i], solver))
        portion(progress, COMPARED, 100)(i + 1, len(wanted))
    if not points:
        raise refused[wanted[-1]]
    done = Frontier(
        **same(options, "norm", "method", "ties", "promise", "constraint", "draw", "where"),
        rows=people.rows,
        before=before,
        points=tuple(points),
        small_groups=people.small,
        left_out=tuple(refused),
        reached=min((error.reached for error in refused.values()), default=None),
        least_gap_without_draw=solver.least_gap_without_draw,
    )
    notes = [] if done.reached is None else [FairrocWarning(left_out_words(done))]
    return Traced(done, kept, (*people.small_groups(), *notes))


def left_out_words(found: Frontier) -> str:
    """Which epsilons cannot be kept without draws, and what can, as a sentence; nothing where all can."""
    if found.reached is None:
        return ""
    ratio = found.before.ratio is not None
    first, last = (f"{1 - e if ratio else e:.4g}" for e in (found.left_out[0], found.left_out[-1]))
    span, noun = first if first == last else f"{first} to {last}", "ratio" if ratio else "epsilon"
    least = f"a ratio of {max(1 - found.reached, 0.0):.4f}" if ratio else f"a gap of {found.reached:.4f}"
    count = len(found.left_out)
    return (
        f"{count} {noun}{'' if count == 1 else 's'} ({span}) cannot be kept without draws on these people and "
        f"{'is' if count == 1 else 'are'} left out: single people and people who share a score leave {least}. "
        "draw='few' (--draw few) keeps every one."
    )


def _bounds(
    people: Population, options: Options, epsilons: tuple[float, ...], known: Mapping[float, Bound]
) -> list[float]:
    """What no fair score's AUC exceeds at each epsilon; guides that are as exact as bounds are the same."""
    constraint = options.measure
    if not isinstance(constraint, EqualizedOdds):
        return [bound_of(people, epsilon, constraint) for epsilon in epsilons]
    hulls, weights = [curve.hull for curve in people.curves], (people.weights0, people.weights1)
    same = len(hulls) > FINE_GROUPS and constraint == options.fairness and options.queries is None
    found = dict(known) if same and all(curve.inner_hull is curve.hull for curve in people.curves) else {}
    left = [epsilon for epsilon in epsilons if epsilon not in found]
    if left:
        new = pooled_bounds(hulls, *weights, np.array(left), constraint, BOUND_TOLERANCE)
        found.update(zip(left, new, strict=True))
    return list(accumulate((found[epsilon].auc for epsilon in epsilons), max))


def _before(people: People, options: Options, solver: Solver) -> FrontierPoint:
    """The original score, at all its thresholds."""
    exact = people.exact
    thresholds, fpr, tpr = original_points(exact)
    gap = threshold_gap(exact, options.measure, thresholds).value
    done = Performance(gap, area(fpr, tpr), tuple(curve.auc for curve in exact.curves))

    def rates(best: int) -> FloatArray:
        """Of every group; at the first of all points nobody is selected."""
        if best == 0:
            return nobody
        return np.array([rates_at(curve, thresholds[[-best]]) for curve in exact.curves])[..., 0]

    nobody = np.zeros((len(exact.curves), 2))
    return _figures(people.names, exact, options, done, fpr, tpr, rates, nobody, solver.expected(None))


def _point(
    people: People,
    options: Options,
    before: FrontierPoint,
    found: Solution | None,
    limit: float | None,
    solver: Solver,
) -> FrontierPoint:
    """The fair score at one epsilon; the original one where nothing had to be solved."""
    epsilon = options.epsilon
    if found is None:
        same = replace(before, epsilon=epsilon, ties=options.ties, inner_epsilon=epsilon, auc_bound=limit)
        return replace(same, ratio=_ratio(options))
    kernels = found.kernels  # kept beside the figures, so that no others get this number
    point = solver.recall(("figures", id(kernels)), lambda: (_fair(people, options, found, solver), kernels))[0]
    return replace(
        point,
        epsilon=epsilon,
        ratio=_ratio(options),
        ties=found.ties,
        inner_epsilon=found.inner_epsilon,
        unchanged=False,
        levels=len(found.levels.u) - 1,
        gap=epsilon if epsilon < point.gap <= epsilon + ROUNDING else point.gap,
        auc_bound=limit,
    )


def _fair(people: People, options: Options, found: Solution, solver: Solver) -> FrontierPoint:
    """What a solution does, whatever epsilon it was found for."""
    these = found.judged if judged_exactly(found, people, options.queries) else people.exact
    both = list(zip(these.curves, found.kernels, strict=True))
    realised = found.realised if these is found.judged else [realise(*each) for each in both]
    drawn = np.array([drawn_shares(*each) for each in both])

    def rates(best: int) -> FloatArray:
        """Of every group, at a place before (even) or after (odd) its step."""
        at, after = y[best // 2 : best // 2 + 1], np.array([best % 2 == 1])
        return np.concatenate([roc.lines(at, after, (0, 1)).T for roc in realised])

    own = these is found.judged and options.measure == found.constraint
    done, y, fpr, tpr = found.judgement if own else judged(realised, these, options.measure)
    return _figures(people.names, these, options, done, fpr, tpr, rates, drawn, solver.expected(found))


def _figures(
    names: tuple[str, ...],
    people: Population,
    options: Options,
    done: Performance,
    fpr: FloatArray,
    tpr: FloatArray,
    rates: Callable[[int], FloatArray],
    drawn: FloatArray,
    new: Expected,
) -> FrontierPoint:
    """What a score does that takes all people through points (fpr, tpr), of an unchanged score unless replaced.

    ``rates(i)`` are the groups' (fpr, tpr) at one of them. ``drawn`` holds each group's share of people drawn by
    transport and for ties alone.
    """
    priors = np.array([curve.prior for curve in people.curves])
    positives = dot(people.shares, priors)
    right = positives * tpr + (1 - positives) * (1 - fpr)
    best = int(np.argmax(right))
    own_fpr, own_tpr = rates(best).T
    selected = own_fpr + priors * (own_tpr - own_fpr)
    transport, tie = weighted(drawn.T, people.shares).tolist()
    groups = tuple(
        FrontierGroup(name, auc, float(own.sum()), float(own[0]))
        for name, auc, own in zip(names, done.group_aucs, drawn, strict=True)
    )
    return FrontierPoint(
        epsilon=options.epsilon,
        gap_estimate=new.gap,
        auc_estimate=new.auc,
        ties=options.ties,
        inner_epsilon=options.epsilon,
        unchanged=True,
        levels=0,
        auc=done.auc,
        auc_bound=None,
        gap=done.gap,
        accuracy=float(right[best]),
        balanced_accuracy=float((1 + tpr - fpr).max() / 2),
        selection_rate=dot(people.shares, selected),
        disparate_impact=float(selected.min() / selected.max()) if selected.max() > 0 else None,
        randomised_share=transport + tie,
        transport_share=transport,
        tie_share=tie,
        groups=groups,
        ratio=_ratio(options),
    )


NO_RATIO = 1e-9
"""A smaller ratio is none: rates that differ by rounding count as equal, and so nothing and something do by a trace."""


def _ratio(options: Options) -> float | None:
    """The ratio that goes with epsilon, without the rounding of taking it from 1, and of nothing from something."""
    if options.ratio is None:
        return None
    return round(1.0 - options.epsilon, 15 if options.epsilon < 1.0 - NO_RATIO else 9)
