"""The kernel's push-forward is the fair curve, its rows are ordered, and nobody moves without need."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core.constraint import Difference, equalized_odds
from fairroc.core.coupling import Levels, couple
from fairroc.core.kernel import (
    FINE,
    TOUCH,
    Kernel,
    between_raw,
    drawn_kernel,
    ordered_kernel,
    overlap,
    pooled_cells,
    poolings,
    rate_kernel,
    transport,
)
from fairroc.core.optimal import optimal
from fairroc.core.realised import realise
from fairroc.core.roc import RocCurve, roc_curve
from oracles import drawn_place, place_chance, walk_at
from strategies import DIAGONAL, EPSILONS, NORMS, SEEDS, Sample, class_shares, populations, samples


def fitted(population: list[Sample], epsilon: float, norm) -> tuple[list[RocCurve], Levels]:
    """Curves and levels of a population."""
    curves = [sample.curve for sample in population]
    weights0, weights1, _ = class_shares(population)
    return curves, couple(optimal([curve.hull for curve in curves], epsilon, equalized_odds(norm)), weights0, weights1)


def block_mass(curve: RocCurve) -> np.ndarray:
    """(blocks, 2) share of the negatives and of the positives in each hull block."""
    return np.stack((np.diff(curve.fpr[curve.corners]), np.diff(curve.tpr[curve.corners])), axis=1)


@settings(max_examples=30)
@given(populations(), EPSILONS, NORMS)
def test_the_drawn_kernel_walks_the_levels_exactly(population, epsilon, norm):
    """Pushed through the table, both class measures land on the levels' fpr and tpr."""
    curves, levels = fitted(population, epsilon, norm)
    for g, curve in enumerate(curves):
        kernel = drawn_kernel(curve, levels.u[:, g], levels.v[:, g])
        landed = np.cumsum(kernel.table[kernel.row].T @ block_mass(curve), axis=0)
        assert np.abs(landed[:, 0] - levels.fpr[1:, g]).max() <= 1e-12
        assert np.abs(landed[:, 1] - levels.tpr[1:, g]).max() <= 1e-12


@settings(max_examples=30)
@given(populations(), EPSILONS, NORMS)
def test_rows_are_probabilities_in_order(population, epsilon, norm):
    """Rows sum to one and are not negative; a higher block dominates a lower one in every tail."""
    curves, levels = fitted(population, epsilon, norm)
    for g, curve in enumerate(curves):
        for build in (drawn_kernel, ordered_kernel):
            kernel = build(curve, levels.u[:, g], levels.v[:, g])
            assert (kernel.table >= 0).all()
            assert np.abs(kernel.table.sum(axis=1) - 1).max() <= 1e-12
            reached = np.cumsum(kernel.table[kernel.row], axis=1)
            assert (np.diff(reached, axis=0) <= 1e-12).all()
            assert (np.diff(kernel.thresholds) < 0).all()
            assert kernel.ceiling == curve.thresholds[0]
            assert kernel.thresholds[-1] == curve.thresholds[-1]


@settings(max_examples=25)
@given(populations(max_groups=4), EPSILONS, NORMS)
def test_the_ordered_kernel_lands_where_every_person_does(population, epsilon, norm):
    """At every border the blocks' push-forward is the sum over all people, but for those placed right on it."""
    curves, levels = fitted(population, epsilon, norm)
    for g, curve in enumerate(curves):
        kernel = ordered_kernel(curve, levels.u[:, g], levels.v[:, g])
        block = np.searchsorted(-kernel.thresholds, -curve.thresholds, side="left")
        mass = np.stack((np.diff(curve.fpr), np.diff(curve.tpr)), axis=1)
        landed = np.cumsum(kernel.table[kernel.row[block]].T @ mass, axis=0)
        borders = np.arange(1.0, len(levels.u))
        before, upto = (walk_at(curve, kernel, borders, closed)[:, :2] for closed in (False, True))
        assert (before - 1e-12 <= landed).all()
        assert (landed <= upto + 1e-12).all()


@settings(max_examples=25)
@given(populations(max_groups=4), EPSILONS, NORMS)
def test_ordered_blocks_fill_the_cells_in_turn(population, epsilon, norm):
    """Outside the levels that transport acts on blocks have parts of their own: one after the other, without overlap,
    ordered ones inside one level."""
    curves, levels = fitted(population, epsilon, norm)
    for g, curve in enumerate(curves):
        kernel = ordered_kernel(curve, levels.u[:, g], levels.v[:, g])
        placed = kernel.first >= 0
        assert placed[~kernel.transported].all()
        assert (kernel.last[~placed] == -1).all()
        assert not kernel.ordered[kernel.transported].any()
        assert not kernel.ordered[~placed].any()
        assert (kernel.first[kernel.ordered] == kernel.last[kernel.ordered]).all()
        begin, end = (kernel.first + kernel.start)[placed], (kernel.last + kernel.stop)[placed]
        assert (begin <= end).all()
        assert (end[:-1] <= begin[1:]).all()
        assert (kernel.last < len(levels.u) - 1).all()


@given(samples())
def test_nobody_is_transported_to_the_own_hull(sample):
    """Where the target is the hull the table is the plain overlap, block by block, and no pooling happens."""
    curve = sample.curve
    u = np.union1d(curve.hull.u, np.linspace(0, 2, 12))
    v = curve.hull.at(u)
    kernel = drawn_kernel(curve, u, v)
    assert poolings(curve.hull.at(u), u, v) == []
    assert np.abs(kernel.table - overlap(curve.hull.u[:-1], curve.hull.u[1:], u)).max() <= 1e-15
    assert not kernel.transported.any()
    assert not ordered_kernel(curve, u, v).transported.any()


@settings(max_examples=30)
@given(populations(max_groups=4), EPSILONS, NORMS)
def test_blocks_that_are_not_transported_stay_at_home(population, epsilon, norm):
    """A block marked as untouched has exactly the overlap of its own part of the curve."""
    curves, levels = fitted(population, epsilon, norm)
    for g, curve in enumerate(curves):
        u = levels.u[:, g]
        kernel = drawn_kernel(curve, u, levels.v[:, g])
        home = overlap(curve.hull.u[:-1], curve.hull.u[1:], u)
        still = ~kernel.transported
        assert np.abs(kernel.table[still] - home[still]).max(initial=0.0) <= 1e-14


@given(samples())
def test_pooling_down_to_the_diagonal(sample):
    """A useless target forgets every score: all rows are the same even distribution."""
    curve = sample.curve
    u = np.linspace(0, 2, 6)
    kernel = drawn_kernel(curve, u, DIAGONAL.at(u))
    above = curve.hull.at(u[1:-1])
    if above.min() > TOUCH:
        assert np.abs(kernel.table - 0.2).max() <= 1e-12
        assert kernel.transported.all()
    elif above.max() <= TOUCH:
        assert not kernel.transported.any()


@given(SEEDS, st.integers(3, 12))
def test_pooling_ends_where_lines_are_as_near_as_rounding(seed, n):
    """At a distance of about TOUCH: no more steps than vertices, none that lifts, and nothing left above the target but
    what rounding leaves."""
    rng = np.random.default_rng(seed)
    u = np.sort(np.concatenate(([0.0], rng.choice([0.5, 1.0, 2.0]) + 1e-12 * rng.random(n - 2), [2.0])))
    v = np.append(0.0, np.cumsum(np.sort(rng.choice([-0.3, 0.0, 0.7], n - 1))[::-1] * np.diff(u)))
    start = v + TOUCH * (1.0 + rng.choice([-1e-3, 1e-3], n))
    steps = poolings(start, u, v)
    assert len(steps) <= n and all(0 < step.q <= 1 for step in steps)
    line = start.copy()
    for step in steps:
        inner, ends = slice(step.begin, step.end + 1), [step.begin, step.end]
        line[inner] += step.q * (np.interp(u[inner], u[ends], line[ends]) - line[inner])
    assert (line - v).max() <= 1.01 * TOUCH + 1e-15


def test_hand_made_kernel():
    """A perfect score with one query in the middle: half the way to the diagonal keeps half of each class at home."""
    curve = roc_curve(np.array([1.0, 0.0]), np.array([True, False]))
    u, v = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 0.0])
    assert [(step.begin, step.end, step.q) for step in poolings(curve.hull.at(u), u, v)] == [(0, 2, 0.5)]
    assert drawn_kernel(curve, u, v).table.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert pooled_cells(3, []).tolist() == [False, False, False]


def test_transport_keeps_rows_outside_a_pooling():
    """Only mass inside the pooled cells moves, and it spreads by their width."""
    u, v = np.array([0.0, 0.5, 1.0, 2.0]), np.array([0.0, 0.5, 0.75, 0.0])
    hull = roc_curve(np.array([2.0, 1, 0]), np.array([True, True, False])).hull
    moved = transport(np.eye(3), u, poolings(hull.at(u), u, v))
    assert moved[0].tolist() == [1.0, 0.0, 0.0]
    assert moved[1, 0] == 0.0
    assert moved[1, 2] > 0


@pytest.mark.parametrize("build", [drawn_kernel, ordered_kernel])
def test_arrays_are_read_only(build):
    """A kernel cannot be changed by accident."""
    curve = roc_curve(np.array([1.0, 0.0]), np.array([True, False]))
    kernel = build(curve, np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 0.0]))
    with pytest.raises(ValueError, match="read-only"):
        kernel.table[0, 0] = 1.0


# ---- one rate ------------------------------------------------------------------------------------------------------

LINES = st.sampled_from([Difference("tpr"), Difference("fpr"), Difference("selection")])


def kernel_of_rate(curve: RocCurve, constraint: Difference, seed: int, drawn: float) -> tuple[Kernel, np.ndarray]:
    """A kernel onto a random grid of the rate, with some scores drawn."""
    rng = np.random.default_rng(seed)
    grid = np.unique(np.concatenate(([0.0, 1.0], rng.random(rng.integers(1, 9)))))
    few = rng.random(len(curve.thresholds)) < drawn
    thin = np.full(len(few), rng.choice([1e-3, 0.1]))
    return rate_kernel(curve.thresholds, curve.u, constraint.line(curve), grid, few, thin), grid


@settings(max_examples=40)
@given(samples(), LINES, SEEDS, st.sampled_from([0.0, 0.3, 1.0]))
def test_a_rate_is_what_the_grid_says(sample, constraint, seed, drawn):
    """At every border of two levels: exactly where everybody is drawn, else but for people whose part lies across."""
    curve = sample.curve
    kernel, grid = kernel_of_rate(curve, constraint, seed, drawn)
    walked = walk_at(curve, kernel, np.arange(1.0, len(grid)), closed=True)
    rate = constraint.of(walked[:, 0], walked[:, 1], curve.prior)
    line = constraint.line(curve)
    across = [np.diff(line)[(line[:-1] < x + TOUCH) & (line[1:] > x - TOUCH)].max(initial=0.0) for x in grid[1:]]
    assert (np.abs(rate - grid[1:]) <= (1e-12 if drawn == 1.0 else np.array(across) + 1e-12)).all()


@settings(max_examples=40)
@given(samples(), LINES, SEEDS, st.sampled_from([0.0, 0.3, 1.0]))
def test_one_rate_is_realised_person_by_person(sample, constraint, seed, drawn):
    curve = sample.curve
    kernel, grid = kernel_of_rate(curve, constraint, seed, drawn)
    path = realise(curve, kernel)
    knots = np.unique(np.concatenate((np.arange(float(len(grid))), path.y)))
    y = np.unique(np.concatenate((knots, (knots[1:] + knots[:-1]) / 2)))
    for closed in (True, False):
        assert np.abs(path.at(y, closed=closed) - walk_at(curve, kernel, y, closed)).max() <= 1e-11


@settings(max_examples=40)
@given(samples(), LINES, SEEDS, st.sampled_from([0.0, 0.3, 1.0]))
def test_one_rate_keeps_the_order(sample, constraint, seed, drawn):
    """Nobody passes a higher score, but inside a narrow piece; who is not drawn has one place."""
    curve = sample.curve
    kernel, _ = kernel_of_rate(curve, constraint, seed, drawn)
    first, last = (np.array([drawn_place(kernel, s, u) for s in curve.thresholds]) for u in (0.0, 1 - 2.0**-53))
    assert (np.diff(first) >= 0).all()
    assert (np.diff(last) >= 0).all()
    if drawn == 0.0:
        assert kernel.ordered.all()
        assert (first == last).all()
    block = np.searchsorted(-kernel.thresholds, -curve.thresholds, side="left")
    width = np.diff(constraint.line(curve))
    for b in np.flatnonzero(~kernel.ordered):
        own = width[block == b]
        assert own[own > 0].size == 1 or own.sum() <= 1.5 * FINE + TOUCH
    assert (np.diff(kernel.thresholds) < 0).all()
    assert not kernel.transported.any()
    assert kernel.transported.dtype == kernel.ordered.dtype == np.bool_


@settings(max_examples=30)
@given(samples(), SEEDS, st.data())
def test_between_raw_keeps_the_score_outside(sample, seed, data):
    """Before and after, places are those of the score alone; in between, those of the kernel, shifted."""
    curve = sample.curve
    count = len(curve.thresholds)
    begin = data.draw(st.integers(0, count))
    end = data.draw(st.integers(begin, count))
    line, part = curve.share, slice(begin, end)
    inner = None
    if end > begin:
        grid = np.linspace(line[begin], line[end], 3)
        few, thin = np.zeros(end - begin, dtype=bool), np.full(end - begin, 0.01)
        span = slice(begin, end + 1)
        inner = rate_kernel(curve.thresholds[part], curve.u[span], line[span], grid, few, thin)
    before, after = curve.thresholds[:begin], curve.thresholds[end:]
    top = float(curve.thresholds[0]) + 1.0
    cells = len(before) + 1, 2, len(after) + 1  # another group has one level more on either side
    kernel = between_raw(inner, before, after, cells, top)
    places = np.array([drawn_place(kernel, score, 0.5) for score in curve.thresholds])
    assert (places[:begin] == np.arange(1, begin + 1)).all()  # each has the lowest score of its level
    assert (places[end:] == np.arange(sum(cells) - len(after) + 1, sum(cells) + 1)).all()
    if inner is not None:
        own = [cells[0] + drawn_place(inner, score, 0.5) for score in curve.thresholds[part]]
        assert places[part] == pytest.approx(own, abs=1e-12)
    for score in curve.thresholds:
        assert place_chance(kernel, score, float(sum(cells)), closed=True) == pytest.approx(1.0)
