"""Fit where groups are spread over segments: rows -> segments -> cells -> linear program -> kernels -> model.

For fair scores without the group, for several attributes each for itself, and within strata. What is compared and what
is known differ, so the closed form does not apply; :mod:`fairroc.core.program` does. ``fit_spread`` strings the stages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, IntArray
from fairroc.core.constraint import Constraint
from fairroc.core.kernel import Kernel
from fairroc.core.mixture import Mixture, drawn_kernels, ordered_kernels
from fairroc.core.program import Cells, Comparison, Prices, refined, solve
from fairroc.core.realised import RealisedRoc, all_places, all_points, own_auc
from fairroc.core.roc import RocCurve, rates_at
from fairroc.errors import DataError, FairrocWarning, SmallGroupWarning, warn_all
from fairroc.fitting.fit import new_people_notes
from fairroc.fitting.held_out import (
    CELL_ROWS,
    LEVELS,
    HeldOut,
    chosen_tree,
    comparisons_of,
    cross_fitted,
    drawn_family_gaps,
    even_shares,
)
from fairroc.fitting.new_people import helps
from fairroc.model.proxy import ProxyTree
from fairroc.options import Options
from fairroc.people.small import SmallRule
from fairroc.people.spread import Family, SpreadRows, read_spread
from fairroc.stats.expected import Expected

BINS = (16, 32, 64)
"""Cells in each segment: more of them until the AUC moves by less than `MOVED`."""

MOVED = 1e-4

MOST_LEVELS, LEVEL_TOLERANCE = 48, 1e-4
"""Levels to end with; or until more of them would add no more than the tolerance to the AUC."""

INNER, STEP = (1.0, 0.8, 0.6), 0.1
"""Internal epsilons that are tried for the raw order, as shares of epsilon; then those a step beside the best."""

WORTH = 0.02
"""What it is worth, in AUC, that nobody is drawn rather than everybody."""

NEW_INNER = (1.0, 0.8, 0.6, 0.45, 0.3, 0.15, 0.0)
"""Internal epsilons that are tried for new people, as shares of epsilon."""

DRAWS = 48
"""Populations that are drawn for an expected gap."""

FARTHER = 0.01
"""A gap that grew by less is no news."""

ROUNDING = 1e-10
"""A gap that exceeds epsilon by no more than this is within epsilon: the rounding of a linear program."""

MARGIN = 1e-11
"""What sums over millions of people may add to a gap."""

MOST_SCORES = 2048
"""Scores of a segment, about, at which raw order is kept; what it does is judged at all scores."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class SpreadSolution:
    """Kernels for all segments, and what they do to every group and to everybody (the last)."""

    kernels: tuple[Kernel, ...]
    realised: tuple[RealisedRoc, ...]
    inner: float
    ties: str
    gaps: tuple[float, ...]
    auc: float
    drawn: float

    @property
    def worth(self) -> float:
        """AUC, less what drawing people is worth."""
        return self.auc - WORTH * self.drawn


@dataclass(frozen=True, eq=False)
class Grid:
    """People by cells, and the shares that the levels select at which they are compared; ``first`` are those that all
    began with."""

    mixture: Mixture
    cuts: list[IntArray]
    cells: Cells
    shares: FloatArray
    prices: list[Prices]
    first: FloatArray

    @cached_property
    def coarse(self) -> Grid:
        """The same with few levels, where ways are only compared."""
        return Grid(self.mixture, self.cuts, self.cells, self.first, [], self.first)

    @cached_property
    def thin(self) -> tuple[Mixture, list[IntArray]]:
        """The people at fewer scores, and the ends of the cells there."""
        return self.mixture.thinned(self.cuts, MOST_SCORES)


@dataclass(frozen=True, eq=False)
class SpreadFit:
    """All that a fit found; `fairroc.fitting.spread_results` makes model, certificate and outlook of it.

    ``solution`` is None where the original score is fair already. ``notes`` are the warnings a user should see.
    ``judged_by`` is the excess that promise="new" was judged by.
    """

    rows: SpreadRows
    options: Options
    tree: ProxyTree | None
    grid: Grid
    comparisons: tuple[Comparison, ...]
    solution: SpreadSolution | None
    notes: tuple[FairrocWarning, ...]
    judged_by: float | None = None

    @property
    def compared(self) -> list[tuple[Family, IntArray]]:
        """Families that must be close, with the numbers of their groups."""
        pairs = zip(self.rows.families, self.rows.members, strict=True)
        return [(family, members) for family, members in pairs if family.compared]

    @cached_property
    def before(self) -> tuple[RocCurve, ...]:
        """Every group's ROC curve under the original score; the last is everybody's."""
        return tuple(self.grid.mixture.whole(p) for p in range(len(self.grid.mixture.priors)))

    @cached_property
    def held_out(self) -> HeldOut:
        """What a fit like this does to people who were not fitted."""
        inner = 1.0 if self.solution is None else self.solution.inner / max(self.options.epsilon, 1e-300)
        return cross_fitted(self.rows, self.options, self.leaves, inner)

    @property
    def leaves(self) -> int | None:
        """Number of leaves of the tree, if there is one."""
        return None if self.tree is None else len(self.tree.leaves)

    @cached_property
    def excess(self) -> float:
        """How much more the fit follows chance than a fixed score; promise="new" was judged by that at epsilon."""
        return self.held_out.excess if self.judged_by is None else self.judged_by

    @cached_property
    def expected(self) -> Expected:
        """What to expect among new people."""
        if self.solution is None:
            return self.expected_before
        draws = self.expected_gaps.max(axis=0)
        loss, error = self.held_out.loss
        auc = self.before[-1].auc - loss
        return Expected(float(draws.mean()), float(draws.std(ddof=1)), auc, math.sqrt(error**2 + self._auc_error**2))

    def drawn_family_gaps(self, draws: int) -> FloatArray:
        """(comparisons, draws) gaps of the fair score in populations that these people may come from."""
        assert self.solution is not None
        kernels = self.solution.kernels
        return drawn_family_gaps(self.rows, self.grid.mixture, kernels, self.comparisons, draws, self.excess)

    @cached_property
    def expected_gaps(self) -> FloatArray:
        """(comparisons, draws) those that expectations are made of; of the original score where it stays."""
        return self.expected_gaps_before if self.solution is None else self.drawn_family_gaps(DRAWS)

    @cached_property
    def expected_gaps_before(self) -> FloatArray:
        """The same of the original score."""
        return drawn_family_gaps(self.rows, self.grid.mixture, None, self.comparisons, DRAWS)

    @cached_property
    def expected_before(self) -> Expected:
        """The same for the original score."""
        draws = self.expected_gaps_before.max(axis=0)
        return Expected(float(draws.mean()), float(draws.std(ddof=1)), self.before[-1].auc, self._auc_error)

    @property
    def _auc_error(self) -> float:
        """Standard error of the original AUC (Hanley and McNeil's bound for one class at a time)."""
        auc, counts = self.before[-1].auc, self.rows.counts(np.zeros(self.rows.rows, dtype=np.intp), 1)[0]
        return math.sqrt(auc * (1 - auc) / max(int(counts.min()), 1))


def spread_rows(
    scores: Any,
    y: Any,
    options: Options,
    *,
    control_features: Any = None,
    group_probabilities: Any = None,
    **known: Any,
) -> SpreadRows:
    """Check columns and options together; ``known`` are the others, as `read_spread` takes them."""
    options.check_spread()
    if group_probabilities is not None and options.use_group:
        raise DataError(
            "group_probabilities take the place of the group, so they go with use_group=False (--use-group never); got "
            "use_group=True. Leave them out, or pass use_group=False."
        )
    if control_features is not None and options.where is not None:
        raise DataError("where must be left out with control_features: it is about shares of all people.")
    rows = read_spread(
        scores,
        y,
        **known,
        each=options.combine == "each",
        use_group=options.use_group,
        control_features=control_features,
        group_probabilities=group_probabilities,
        missing=options.missing,
        small=SmallRule.of(options),
    )
    names = {family.name for family in rows.families if family.compared}
    asked = {name for name, _ in options.attribute_epsilons or ()}
    if asked and asked != names:
        raise DataError(
            f"epsilon must have one number for each attribute ({', '.join(map(repr, sorted(names)))}), got some for "
            f"{', '.join(map(repr, sorted(asked)))}."
        )
    return rows


def fit_spread(rows: SpreadRows, options: Options, *, progress: Progress | None = None) -> SpreadFit:
    """Fit, and warn of what a user should know; ``progress(done, all)`` is told of steps."""
    found = fit_spread_quietly(rows, options, progress=progress)
    notes: list[FairrocWarning] = []
    if options.promise == "new":  # else folds would have to be fitted to tell
        was, gap = (float(gaps.max(axis=0).mean()) for gaps in (found.expected_gaps_before, found.expected_gaps))
        notes = new_people_notes(options, was, gap, found.solution is None)
    warn_all((*found.notes, *notes))
    return found


def fit_spread_quietly(rows: SpreadRows, options: Options, *, progress: Progress | None = None) -> SpreadFit:
    """Fit; the warnings are kept as notes."""
    step = _Steps(progress)
    tree = None
    if rows.probabilities is not None:
        tree = chosen_tree(rows, options, step)
        rows = rows.segmented(tree.leaf(rows.probabilities), tree.names)
    merged = tuple(
        SmallGroupWarning(f"{family.title}: {family.small.words()}")
        for family in rows.families
        if family.small is not None
    )
    mixture = rows.mixture()
    comparisons = comparisons_of(rows, options)
    if all(gap <= one.epsilon for gap, one in zip(original_gaps(mixture, comparisons), comparisons, strict=True)):
        cuts = mixture.cuts(BINS[0], CELL_ROWS * mixture.person)
        shares = even_shares(mixture, LEVELS)
        grid = Grid(mixture, cuts, mixture.cells(cuts), shares, [], shares)
        return SpreadFit(rows, options, tree, grid, comparisons, None, merged)
    grid = _grid(mixture, comparisons, step)
    if options.promise == "new":
        solution, excess = _for_new_people(rows, tree, grid, comparisons, options, step)
    else:
        solution, excess = _solution(grid, comparisons, options.ties, 1.0, step), None
    found = SpreadFit(rows, options, tree, grid, comparisons, solution, merged, excess)
    return replace(found, notes=(*merged, *_farther_apart(found)))


def _farther_apart(found: SpreadFit) -> list[FairrocWarning]:
    """A note where attributes are close each for itself, and their intersections farther apart than they were."""
    notes = []
    for family, members in zip(found.rows.families, found.rows.members, strict=True):
        if not family.compared and len(members) > 1:
            before, gap = gap_of_family(found, members, found.options.fairness)
            if gap > before + FARTHER:
                notes.append(
                    FairrocWarning(
                        f"the intersections of {family.name} are farther apart than with the original score: gap "
                        f"{gap:.3f}, {before:.3f} before. Look at them, or compare them: combine='intersection' "
                        "(--combine intersection).",
                        "Every attribute is close for itself, which small intersections can pay for.",
                    )
                )
    return notes


class _Steps:
    """Tells of progress: how many steps were taken of those foreseen."""

    def __init__(self, progress: Progress | None, foreseen: int = 60) -> None:
        self.progress, self.done, self.foreseen = progress, 0, foreseen

    def __call__(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(min(self.done, self.foreseen), self.foreseen)


def _grid(mixture: Mixture, comparisons: Sequence[Comparison], step: _Steps) -> Grid:
    """Cells as fine as they help, and levels where the bounds are far from what is attained."""
    shares = even_shares(mixture, LEVELS)
    ends = [end for one in comparisons for end in (one.constraint.where or ()) if 0 < end < 1]
    shares = np.union1d(shares, ends)
    best, cuts = -math.inf, mixture.cuts(BINS[0], CELL_ROWS * mixture.person)
    for bins in BINS:
        tried = mixture.cuts(bins, CELL_ROWS * mixture.person)
        cells = mixture.cells(tried)
        auc = solve(cells, comparisons, shares).auc(cells)
        step()
        if auc < best + MOVED:
            break
        best, cuts = auc, tried
    cells = mixture.cells(cuts)
    found, prices = refined(cells, comparisons, shares, tolerance=LEVEL_TOLERANCE, most=max(MOST_LEVELS, len(shares)))
    step()
    return Grid(mixture, cuts, cells, found, prices, shares)


def _solution(
    grid: Grid, comparisons: Sequence[Comparison], ties: str, share: float, step: _Steps, *, rough: bool = False
) -> SpreadSolution:
    """Kernels that keep all comparisons, with a share of epsilon inside. Of internal epsilons the one of most worth is
    taken, on fewer levels; with ``rough`` these will do."""
    limits = [share * one.epsilon for one in comparisons]
    few = grid.coarse

    def tried(on: Grid, inner: float, ties: str = "order") -> _Tried:
        inside = [replace(one, epsilon=max(inner * share * one.epsilon - MARGIN, 0.0)) for one in comparisons]
        chances = solve(on.cells, inside, on.shares).chances
        step()
        return _Tried(inner, chances, *_judged(on, chances, ties, comparisons, limits, thin=True))

    inner, way = 1.0, "draw"
    if ties == "order" and any(limits):
        known = {one: tried(few, one) for one in INNER}
        middle = max(known, key=lambda one: known[one].solution.worth)
        for one in (round(middle - STEP, 9), round(middle + STEP, 9)):
            if one <= 1.0:
                known[one] = tried(few, one)
        inner, way = max(known, key=lambda one: known[one].solution.worth), "order"
        if rough:
            return known[inner].solution
    best = tried(few if rough else grid, inner, way)
    found = best.solution
    if not rough and grid.thin[0] is not grid.mixture:
        found, _ = _judged(grid, best.chances, way, comparisons, limits, thin=False, drawn=best.drawn)
    return replace(found, inner=inner * share * max(one.epsilon for one in comparisons))


@dataclass(frozen=True, slots=True, eq=False)
class _Tried:
    """The program at one internal epsilon, and the levels that are drawn."""

    inner: float
    chances: FloatArray
    solution: SpreadSolution
    drawn: BoolArray


def _judged(
    grid: Grid,
    table: FloatArray,
    ties: str,
    comparisons: Sequence[Comparison],
    limits: Sequence[float],
    *,
    thin: bool,
    drawn: BoolArray | None = None,
) -> tuple[SpreadSolution, BoolArray]:
    """Kernels for chances of levels, and what they do; levels where groups would be too far apart are drawn."""
    fine, cuts = grid.thin
    mixture = fine if thin else grid.mixture
    drawn = np.full(table.shape[1], ties == "draw") if drawn is None else drawn
    while True:
        kernels = drawn_kernels(fine, cuts, table) if drawn.all() else ordered_kernels(fine, cuts, table, drawn)
        realised = tuple(mixture.realised(kernels, p) for p in range(len(mixture.priors)))
        gaps, far = _gaps(realised, mixture, comparisons, limits, table.shape[1])
        if drawn.all() or not (far & ~drawn).any():
            break
        drawn = drawn | far
    everybody = min(sum(mixture.drawn(kernels, mixture.everybody)), 1.0)
    done = "order" if any(kernel.ordered.any() for kernel in kernels) else "draw"
    return SpreadSolution(kernels, realised, math.nan, done, gaps, own_auc(realised[-1]), everybody), drawn


def gap_of_family(found: SpreadFit, members: IntArray, constraint: Constraint) -> tuple[float, float]:
    """Exact gap of some groups, before and after."""
    one = Comparison(members, constraint, 0.0)
    before = original_gaps(found.grid.mixture, [one])[0]
    if found.solution is None:
        return before, before
    realised = found.solution.realised
    levels = len(realised[-1].even) - 1
    return before, _gaps(realised, found.grid.mixture, [one], [math.inf], levels)[0][0]


def _gaps(
    realised: Sequence[RealisedRoc],
    mixture: Mixture,
    comparisons: Sequence[Comparison],
    limits: Sequence[float],
    levels: int,
) -> tuple[tuple[float, ...], BoolArray]:
    """Exact gap of every comparison, over all places; and the levels at which one is above its limit."""
    gaps, far = [], np.zeros(levels, dtype=np.bool_)
    everybody = realised[-1]
    for one, limit in zip(comparisons, limits, strict=True):
        own = [realised[p] for p in one.members]
        y = all_places([*own, everybody]) if one.constraint.where is not None else all_places(own)
        distance = distances(own, mixture.priors[one.members], one.constraint, y, everybody)
        gaps.append(float(distance.max(initial=0.0)))
        at = np.repeat(y, 2)[distance > limit + ROUNDING / 2]
        for place in (np.floor(at), np.ceil(at) - 1):
            far[np.clip(place, 0, levels - 1).astype(np.intp)] = True
    return tuple(gaps), far


def distances(
    realised: Sequence[RealisedRoc], priors: FloatArray, constraint: Constraint, y: FloatArray, everybody: RealisedRoc
) -> FloatArray:
    """Largest distance of two groups at places, before and after the step at each; 0 outside of the window."""
    fpr, tpr = all_points(realised, y)
    found = constraint.everywhere(fpr, tpr, priors)
    if constraint.where is None:
        return found
    selected = np.stack(
        [everybody.lines(y, np.full(len(y), after), (2,))[0] for after in (False, True)], axis=1
    ).ravel()
    return np.where(constraint.looks(selected), found, 0.0)


def original_gaps(mixture: Mixture, comparisons: Sequence[Comparison]) -> tuple[float, ...]:
    """Exact gap of every comparison under the original score."""
    thresholds = np.unique(np.concatenate([own.thresholds for own in mixture.segments]))
    found = []
    whole = mixture.whole(mixture.everybody)
    for one in comparisons:
        fpr, tpr = np.stack([rates_at(mixture.whole(int(p)), thresholds) for p in one.members], axis=-1)
        distance = one.constraint.everywhere(fpr, tpr, mixture.priors[one.members])
        looks = one.constraint.looks(whole.share_at(thresholds))
        found.append(float(distance[looks].max(initial=0.0)))
    return tuple(found)


# ---- new people ------------------------------------------------------------------------------------------------------


def _for_new_people(
    rows: SpreadRows,
    tree: ProxyTree | None,
    grid: Grid,
    comparisons: Sequence[Comparison],
    options: Options,
    step: _Steps,
) -> tuple[SpreadSolution | None, float | None]:
    """The largest internal epsilon whose expected gap among new people is within epsilon, or the least gap; the
    original score (None) where it is within epsilon itself, and where no gap is clearly smaller. With the excess that
    gaps were judged by."""
    before = drawn_family_gaps(rows, grid.mixture, None, comparisons, DRAWS)
    if _within(before, comparisons):
        return None, None
    tried: list[tuple[float, float, bool]] = []
    excess = cross_fitted(rows, options, None if tree is None else len(tree.leaves), 1.0).excess
    for share in NEW_INNER:
        ties = "order" if share > 0 else "draw"
        solution = _solution(grid, comparisons, ties, share, step, rough=True)
        each = drawn_family_gaps(rows, grid.mixture, solution.kernels, comparisons, DRAWS, excess)
        if _within(each, comparisons):
            final = _solution(grid, comparisons, ties, share, step)
            if _within(drawn_family_gaps(rows, grid.mixture, final.kernels, comparisons, DRAWS, excess), comparisons):
                return final, excess
        largest = each.max(axis=0)
        tried.append((float(largest.mean()), share, helps(before.max(axis=0), largest)))
    _, share, better = min(tried)
    if not better:
        return None, excess
    return _solution(grid, comparisons, "order" if share > 0 else "draw", share, step), excess


def _within(gaps: FloatArray, comparisons: Sequence[Comparison]) -> bool:
    """Whether expected gaps, from (comparisons, draws) gaps, are within the largest epsilon together, and each within
    its own."""
    most = max(one.epsilon for one in comparisons)
    own = all(gap <= one.epsilon for gap, one in zip(gaps.mean(axis=1), comparisons, strict=True))
    return own and float(gaps.max(axis=0).mean()) <= most
