"""Fit where groups are spread over segments: rows -> segments -> cells -> linear program -> kernels -> model.

For fair scores without the group, for several attributes each for itself, and within strata. What is compared and what
is known differ, so the closed form does not apply; :mod:`fairroc.core.program` does. ``fit_spread`` strings the stages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray, IntArray, area
from fairroc.core.constraint import Constraint, Rates
from fairroc.core.gap import ROUNDING
from fairroc.core.kernel import Kernel
from fairroc.core.mixture import Mixture, drawn_kernels, ordered_kernels
from fairroc.core.program import Cells, Comparison, Prices, refined, solve
from fairroc.core.realised import RealisedRoc, all_places, all_points, chances, own_auc
from fairroc.core.roc import RocCurve, roc_curve
from fairroc.errors import DataError, FairrocWarning, SmallGroupWarning, warn_all
from fairroc.model.proxy import ProxyTree, single_leaf
from fairroc.options import Options
from fairroc.people.small import SmallRule
from fairroc.people.spread import Family, SpreadRows, read_spread
from fairroc.stats.plausible import Expected

BINS = (16, 32, 64)
"""Cells in each segment: more of them until the AUC moves by less than `MOVED`."""

MOVED = 1e-4

CELL_ROWS = 10
"""Rows of a cell, at least, about."""

LEVELS, MOST_LEVELS, LEVEL_TOLERANCE = 24, 48, 1e-4
"""Levels to begin with, and to end with; until more of them would add no more than the tolerance to the AUC."""

LEAVES = (1, 2, 3, 4, 6, 8, 12)
"""Leaves of the tree over probabilities that are tried, while more of them help."""

PATIENCE = 2
"""Sizes of the tree that may bring nothing before the search ends."""

LEAF_ROWS = 50
"""Rows of a leaf, at least."""

FOLDS, SEED = 5, 0

INNER = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Internal epsilons that are tried for the raw order, as shares of epsilon."""

WORTH = 0.01
"""What it is worth, in AUC, that nobody is drawn rather than everybody."""

NEW_INNER = (1.0, 0.8, 0.6, 0.45, 0.3, 0.15, 0.0)
"""Internal epsilons that are tried for new people, as shares of epsilon."""

DRAWS, PLACES, MICRO = 48, 2, 1024
"""Populations that are drawn; places looked at in every level; bins of scores of a segment."""

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
    """People by cells, and the levels at which they are compared."""

    mixture: Mixture
    cuts: list[IntArray]
    cells: Cells
    shares: FloatArray
    prices: list[Prices]


@dataclass(frozen=True, eq=False)
class SpreadFit:
    """All that a fit found; `fairroc.fitting.spread_results` makes model, certificate and outlook of it.

    ``solution`` is None where the original score is fair already. ``notes`` are the warnings a user should see.
    """

    rows: SpreadRows
    options: Options
    tree: ProxyTree | None
    grid: Grid
    comparisons: tuple[Comparison, ...]
    solution: SpreadSolution | None
    notes: tuple[FairrocWarning, ...]

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
    def cross_fitted(self) -> tuple[float, float]:
        """What the fair score loses in AUC among people who were not fitted, and how uncertain that is."""
        leaves = None if self.tree is None else len(self.tree.leaves)
        inner = 1.0 if self.solution is None else self.solution.inner / max(self.options.epsilon, 1e-300)
        return _mean(_cross_fitted(self.rows, self.options, leaves, min(inner, 1.0)))

    @cached_property
    def expected(self) -> Expected:
        """What to expect among new people."""
        if self.solution is None:
            return self.expected_before
        gap, deviation = expected_gap(self.rows, self.grid.mixture, self.solution.kernels, self.comparisons)
        loss, error = self.cross_fitted
        return Expected(gap, deviation, self.before[-1].auc - loss, math.hypot(error, self._auc_error))

    @cached_property
    def expected_before(self) -> Expected:
        """The same for the original score."""
        gap, deviation = expected_gap(self.rows, self.grid.mixture, None, self.comparisons)
        return Expected(gap, deviation, self.before[-1].auc, self._auc_error)

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
    sensitive_features: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
    control_features: Any = None,
    group_probabilities: Any = None,
) -> SpreadRows:
    """Check columns and options together."""
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
        sensitive_features=sensitive_features,
        each=options.combine == "each",
        use_group=options.use_group,
        control_features=control_features,
        group_probabilities=group_probabilities,
        sample_weight=sample_weight,
        pos_label=pos_label,
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
    warn_all(found.notes)
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
        grid = Grid(mixture, cuts, mixture.cells(cuts), even_shares(mixture, LEVELS), [])
        return SpreadFit(rows, options, tree, grid, comparisons, None, merged)
    grid = _grid(mixture, comparisons, step)
    if options.promise == "new":
        solution, notes = _for_new_people(rows, grid, comparisons, options, step)
    else:
        solution, notes = _solution(grid, comparisons, options.ties, 1.0, step), ()
    return SpreadFit(rows, options, tree, grid, comparisons, solution, (*merged, *notes))


class _Steps:
    """Tells of progress: how many steps were taken of those foreseen."""

    def __init__(self, progress: Progress | None, foreseen: int = 60) -> None:
        self.progress, self.done, self.foreseen = progress, 0, foreseen

    def __call__(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(min(self.done, self.foreseen), self.foreseen)


def comparisons_of(rows: SpreadRows, options: Options, share: float = 1.0) -> tuple[Comparison, ...]:
    """What must be close, at a share of epsilon."""
    own = dict(options.attribute_epsilons or ())
    return tuple(
        Comparison(members, options.fairness, share * own.get(family.name, options.epsilon))
        for family, members in zip(rows.families, rows.members, strict=True)
        if family.compared
    )


def even_shares(mixture: Mixture, levels: int) -> FloatArray:
    """Shares of all people that thresholds of the original score select, evenly spaced in fpr + tpr, and 0 and 1 apart;
    a window's ends are added where they are needed."""
    curve = mixture.whole(mixture.everybody)
    found = np.interp(np.arange(1, levels) * (2.0 / levels), curve.u, curve.share)
    return np.unique(found[(found > 1e-6) & (found < 1 - 1e-6)])


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
    return Grid(mixture, cuts, cells, found, prices)


def _solution(grid: Grid, comparisons: Sequence[Comparison], ties: str, share: float, step: _Steps) -> SpreadSolution:
    """Kernels that keep all comparisons, with a share of epsilon inside; of those tried the one of most worth."""
    if ties == "draw" or all(one.epsilon == 0 for one in comparisons):
        return _tried(grid, comparisons, share, share, "draw", step)
    tried = [_tried(grid, comparisons, share, share * inner, "order", step) for inner in INNER]
    return max(tried, key=lambda one: one.worth)


def _tried(
    grid: Grid, comparisons: Sequence[Comparison], share: float, inner: float, ties: str, step: _Steps
) -> SpreadSolution:
    """The program at one internal epsilon. In raw order, levels where groups would be too far apart are drawn."""
    inside = [replace(one, epsilon=inner * one.epsilon) for one in comparisons]
    limits = [share * one.epsilon for one in comparisons]
    selection = solve(grid.cells, inside, grid.shares)
    step()
    mixture, table = grid.mixture, selection.chances
    drawn = np.full(table.shape[1], ties == "draw")
    while True:
        if drawn.all():
            kernels = drawn_kernels(mixture, grid.cuts, table)
        else:
            kernels = ordered_kernels(mixture, grid.cuts, table, drawn)
        realised = tuple(mixture.realised(kernels, p) for p in range(len(mixture.priors)))
        gaps, far = _gaps(realised, mixture, comparisons, limits, table.shape[1])
        if not (far & ~drawn).any() or drawn.all():
            break
        drawn = drawn | far
    everybody = min(sum(mixture.drawn(kernels, mixture.everybody)), 1.0)
    done = "order" if any(kernel.ordered.any() for kernel in kernels) else "draw"
    inner_epsilon = max(one.epsilon for one in inside)
    return SpreadSolution(kernels, realised, inner_epsilon, done, gaps, own_auc(realised[-1]), everybody)


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
) -> tuple[tuple[float, ...], NDArray[np.bool_]]:
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
    corners = [constraint.corners(fpr[:, g], tpr[:, g], prior) for g, prior in enumerate(priors)]
    found = constraint.apart(np.min(corners, axis=0), np.max(corners, axis=0)).max(axis=0)
    if constraint.where is None:
        return np.asarray(found)
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
        curves = [mixture.whole(int(p)) for p in one.members]
        index = [curve.index_at(thresholds) for curve in curves]
        fpr = np.stack([curve.fpr[at] for curve, at in zip(curves, index, strict=True)], axis=1)
        tpr = np.stack([curve.tpr[at] for curve, at in zip(curves, index, strict=True)], axis=1)
        rates = Rates(fpr, tpr, mixture.priors[one.members], np.zeros(len(curves)))
        corners = [one.constraint.corners(fpr[:, g], tpr[:, g], prior) for g, prior in enumerate(rates.priors)]
        distance = one.constraint.apart(np.min(corners, axis=0), np.max(corners, axis=0)).max(axis=0)
        looks = one.constraint.looks(whole.share_at(thresholds))
        found.append(float(distance[looks].max(initial=0.0)))
    return tuple(found)


# ---- new people ------------------------------------------------------------------------------------------------------


def _for_new_people(
    rows: SpreadRows, grid: Grid, comparisons: Sequence[Comparison], options: Options, step: _Steps
) -> tuple[SpreadSolution, tuple[FairrocWarning, ...]]:
    """The largest internal epsilon whose expected gap among new people is within epsilon, or the least gap."""
    tried: list[tuple[float, float, SpreadSolution]] = []
    for share in NEW_INNER:
        solution = _solution(grid, comparisons, "order" if share > 0 else "draw", share, step)
        gap, deviation = expected_gap(rows, grid.mixture, solution.kernels, comparisons)
        own = comparisons if options.attribute_epsilons else ()  # then each gap has its own limit
        if gap <= options.epsilon and all(
            expected_gap(rows, grid.mixture, solution.kernels, [one])[0] <= one.epsilon for one in own
        ):
            return solution, ()
        tried.append((gap, deviation, solution))
    gap, _, solution = min(tried, key=lambda one: one[0])
    more = "a larger epsilon" if options.ratio is None else "a smaller ratio"
    note = FairrocWarning(
        f"no score that was tried reaches an expected gap of {options.epsilon:.4g} among new people with these rows: "
        f"expect about {gap:.3f}. Take more rows, or {more}.",
        "More rows of the smallest group and label would help most.",
    )
    return solution, (note,)


def expected_gap(
    rows: SpreadRows, mixture: Mixture, kernels: Sequence[Kernel] | None, comparisons: Sequence[Comparison]
) -> tuple[float, float]:
    """Mean and deviation of the gap over populations that these people may come from (the Bayesian bootstrap); without
    kernels, of the original score."""
    draws = drawn_gaps(rows, mixture, kernels, comparisons)
    return float(draws.mean()), float(draws.std(ddof=1))


def drawn_gaps(
    rows: SpreadRows,
    mixture: Mixture,
    kernels: Sequence[Kernel] | None,
    comparisons: Sequence[Comparison],
    draws: int = DRAWS,
) -> FloatArray:
    """(draws,) the largest gap in every population drawn."""
    return np.asarray(drawn_family_gaps(rows, mixture, kernels, comparisons, draws).max(axis=0))


def drawn_family_gaps(
    rows: SpreadRows,
    mixture: Mixture,
    kernels: Sequence[Kernel] | None,
    comparisons: Sequence[Comparison],
    draws: int = DRAWS,
) -> FloatArray:
    """(comparisons, draws) the gap of every comparison in every population drawn."""
    rng = np.random.default_rng(SEED)
    sizes = effective_sizes(rows)
    everyone = mixture.priors[-1]
    parts = [_micro(mixture, s) for s in range(len(mixture.segments))]
    if kernels is None:
        looks = np.unique(np.concatenate([scores[:: max(1, len(scores) // 128)] for scores, _, _ in parts]))[::-1]
        taken = [(scores[:, None] >= looks[None, :]).astype(np.float64) for scores, _, _ in parts]
    else:
        levels = kernels[0].table.shape[1]
        places = np.arange(1, PLACES * levels + 1) / PLACES
        taken = [
            _averaged(chances(kernel, mixture.segments[s].thresholds, places), parts[s][2], mixture.people(s))
            for s, kernel in enumerate(kernels)
        ]
    counts = np.concatenate([masses for _, masses, _ in parts], axis=2) * sizes[:, :, None]
    selects = np.concatenate(taken)
    rates = np.empty((draws, *counts.shape[:2], selects.shape[1]))
    for p, label in np.ndindex(*counts.shape[:2]):
        there = np.flatnonzero(counts[p, label])
        again = rng.standard_gamma(counts[p, label, there], (draws, len(there)))
        rates[:, p, label] = (again / again.sum(axis=1, keepdims=True)) @ selects[there]
    found = np.zeros((len(comparisons), draws))
    for gaps, one in zip(found, comparisons, strict=True):
        told = one.constraint.told()
        fpr, tpr = (rates[:, one.members, label].transpose(1, 0, 2) for label in (0, 1))
        corners = [told.corners(fpr[g], tpr[g], prior) for g, prior in enumerate(mixture.priors[one.members])]
        distance = told.apart(np.min(corners, axis=0), np.max(corners, axis=0)).max(axis=0)
        selected = (1 - everyone) * rates[:, -1, 0] + everyone * rates[:, -1, 1]
        gaps[:] = np.where(told.looks(selected), distance, 0.0).max(axis=-1)
    return found


def effective_sizes(rows: SpreadRows) -> FloatArray:
    """(groups + 1, 2) effective sample size (Kish) of every group and of everybody, by label."""
    every = [(family.codes, len(family.groups)) for family in rows.families]
    found = []
    for codes, size in [*every, (np.zeros(rows.rows, dtype=np.intp), 1)]:
        used = np.flatnonzero(codes >= 0)
        place, mass = 2 * codes[used].astype(np.intp) + rows.labels[used], rows.mass[used]
        one, two = (np.bincount(place, mass**k, 2 * size) for k in (1, 2))
        found.append((one**2 / np.where(two > 0, two, 1.0)).reshape(size, 2))
    return np.concatenate(found)


def _micro(mixture: Mixture, segment: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """A segment's scores, falling, and masses in at most `MICRO` bins; and where these begin."""
    own = mixture.segments[segment]
    begins = np.unique(np.linspace(0, len(own.thresholds), min(MICRO, len(own.thresholds)) + 1).astype(np.intp)[:-1])
    ends = np.append(begins[1:], len(own.thresholds))
    return own.thresholds[ends - 1], np.add.reduceat(own.masses, begins, axis=2), begins


def _averaged(lines: FloatArray, begins: IntArray, people: FloatArray) -> FloatArray:
    """(bins, places) mean of (scores, places) lines over people."""
    return np.asarray(
        np.add.reduceat(lines * people[:, None], begins, axis=0) / np.add.reduceat(people, begins)[:, None]
    )


# ---- which tree ------------------------------------------------------------------------------------------------------


def chosen_tree(rows: SpreadRows, options: Options, step: Callable[[], None]) -> ProxyTree:
    """The tree over probabilities that does best for people who were not fitted: by cross-fitted AUC, at epsilon."""
    best, waited, leaves = -math.inf, 0, 1
    for size in LEAVES if rows.columns else ():
        if size > 1 and rows.rows < size * LEAF_ROWS:
            break
        losses = []
        for loss in _cross_fitted(rows, options, size, 1.0):
            losses.append(loss)
            step()
        if -np.mean(losses) > best:
            best, leaves, waited = -float(np.mean(losses)), size, 0
        else:
            waited += 1
            if waited >= PATIENCE:
                break
    return tree_of(rows, leaves)


def tree_of(rows: SpreadRows, leaves: int) -> ProxyTree:
    """A tree with so many leaves, grown to tell the groups apart; both labels weigh the same."""
    assert rows.probabilities is not None
    if leaves == 1:
        return single_leaf(rows.columns)
    from sklearn.tree import DecisionTreeClassifier

    target = np.zeros(rows.rows, dtype=np.intp)
    for family in rows.families:
        if family.compared and family.stratum in (None, rows.strata_names[0]):
            target = target * (len(family.groups) + 1) + family.codes + 1
    label, mass = rows.labels.astype(np.intp), rows.mass
    weight = mass / np.bincount(label, mass, 2)[label] * len(mass)
    least = max(LEAF_ROWS // 2, rows.rows // (8 * leaves))
    grown = DecisionTreeClassifier(
        criterion="entropy", max_leaf_nodes=leaves, min_samples_leaf=least, random_state=SEED
    )
    tree = grown.fit(rows.probabilities, target, sample_weight=weight).tree_
    inner = tree.feature >= 0
    return ProxyTree(
        rows.columns,
        np.where(inner, tree.feature, -1).astype(np.intp),
        np.where(inner, tree.threshold, 0.0),
        np.where(inner, tree.children_left, -1).astype(np.intp),
        np.where(inner, tree.children_right, -1).astype(np.intp),
    )


def folds_of(rows: SpreadRows) -> IntArray:
    """(n,) fold of every row: each has its part of every group and label."""
    rng = np.random.default_rng(SEED)
    key = rows.labels.astype(np.intp)
    for family in rows.families:
        key = key * (len(family.groups) + 1) + family.codes + 1
    order = np.lexsort((rng.random(rows.rows), key))
    found = np.empty(rows.rows, dtype=np.intp)
    found[order] = np.arange(rows.rows) % FOLDS
    return found


def _cross_fitted(rows: SpreadRows, options: Options, leaves: int | None, share: float) -> Iterator[float]:
    """AUC that the fair score loses on people who were not fitted, fold by fold."""
    folds = folds_of(rows)
    for fold in range(FOLDS):
        own, others = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        fitted, held = rows.taken(own), rows.taken(others)
        if leaves is not None:
            tree = tree_of(fitted, leaves)
            assert fitted.probabilities is not None and held.probabilities is not None
            fitted = replace(fitted, segments=tree.leaf(fitted.probabilities) + len(tree.leaves) * fitted.strata)
            held = replace(held, segments=tree.leaf(held.probabilities) + len(tree.leaves) * held.strata)
        there, codes = np.unique(fitted.segments, return_inverse=True)
        at = np.minimum(np.searchsorted(there, held.segments), len(there) - 1)  # who is in none gets a neighbour's
        fitted = replace(fitted, segments=codes, names=tuple(map(str, there)))
        held = replace(held, segments=at, names=fitted.names)
        yield _held_out_loss(fitted, held, comparisons_of(fitted, options, share))


def _held_out_loss(fitted: SpreadRows, held: SpreadRows, comparisons: Sequence[Comparison]) -> float:
    """AUC lost by those held out, with people drawn inside cells."""
    mixture = fitted.mixture()
    cuts = mixture.cuts(BINS[1], CELL_ROWS * mixture.person)
    cells = mixture.cells(cuts)
    selection = solve(cells, comparisons, even_shares(mixture, LEVELS))
    cell = cells_of(mixture, cuts, cells, held)
    masses = [
        np.bincount(cell[mine], held.mass[mine], cells.count)
        for mine in (np.flatnonzero(~held.labels), np.flatnonzero(held.labels))
    ]
    fpr, tpr = (np.concatenate(([0.0], selection.selected @ (mass / mass.sum()), [1.0])) for mass in masses)
    return roc_curve(held.scores, held.labels, held.weights).auc - area(fpr, tpr)


def cells_of(mixture: Mixture, cuts: Sequence[IntArray], cells: Cells, rows: SpreadRows) -> IntArray:
    """(n,) cells of other people: those of their segment that their scores lie in."""
    found = np.zeros(rows.rows, dtype=np.intp)
    for s, (own, ends) in enumerate(zip(mixture.segments, cuts, strict=True)):
        mine = np.flatnonzero(rows.segments == s)
        lows = own.thresholds[ends - 1][::-1]  # rising
        at = len(lows) - np.searchsorted(lows, rows.scores[mine], side="right")
        found[mine] = cells.opens[s] + np.minimum(at, len(lows) - 1)
    return found


def _mean(losses: Iterator[float]) -> tuple[float, float]:
    """Mean of the folds' losses, and its standard error."""
    found = np.array(list(losses))
    return float(found.mean()), float(found.std(ddof=1) / math.sqrt(len(found)))
