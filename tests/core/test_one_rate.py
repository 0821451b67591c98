"""One rate alone: the path of best tuples is the optimum of independent linear programs, and one coherent score."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core.chain import Chain, FloatArray, area
from fairroc.core.constraint import Difference, OneRate, RateName, Ratio
from fairroc.core.coupling import Levels
from fairroc.core.one_rate import rate_path, rate_prices
from oracles import best_pooled_on_grid, one_rate_support
from strategies import (
    DIAGONAL,
    PERFECT,
    chain_of_edges,
    class_shares,
    populations,
    smooth_chain,
    weighted_families,
)

RATES: tuple[RateName, ...] = ("tpr", "fpr", "selection")
ASKED = [
    *((Difference(rate), epsilon) for rate in RATES for epsilon in (0.0, 0.02, 0.1, 1.0)),
    *((Ratio(rate), 1.0 - ratio) for rate in RATES for ratio in (0.8, 0.95, 1.0)),
]
CASES = st.sampled_from(ASKED)


@st.composite
def weighted_hulls(draw: st.DrawFn, max_groups: int = 8) -> tuple[list[Chain], FloatArray, FloatArray, FloatArray]:
    """Hulls with priors and class shares that go together: chains of any kind, or those of rows."""
    if draw(st.booleans()):
        hulls, weights0, weights1 = draw(weighted_families(max_groups))
        share = draw(st.sampled_from([0.02, 0.3, 0.5, 0.9]))
        priors = share * weights1 / (share * weights1 + (1 - share) * weights0)
        return hulls, priors, weights0, weights1
    population = draw(populations(max_groups))
    weights0, weights1, _ = class_shares(population)
    curves = [sample.curve for sample in population]
    return [curve.hull for curve in curves], np.array([curve.prior for curve in curves]), weights0, weights1


def rate_of(constraint: OneRate, fpr: FloatArray, tpr: FloatArray, prior: FloatArray | float) -> FloatArray:
    return {"tpr": tpr, "fpr": fpr, "selection": (1 - prior) * fpr + prior * tpr}[constraint.rate]


def excess(rates: FloatArray, constraint: OneRate, epsilon: float) -> FloatArray:
    """How far (..., groups) rates are beyond what is allowed, pair by pair."""
    share, free = (1.0 - epsilon, 0.0) if isinstance(constraint, Ratio) else (1.0, epsilon)
    pairs = [(rates[..., g], rates[..., h]) for g, h in combinations(range(rates.shape[-1]), 2)]
    return np.max([share * np.maximum(a, b) - np.minimum(a, b) - free for a, b in pairs], axis=0)


def assert_one_fair_score(
    levels: Levels, hulls: Sequence[Chain], priors: FloatArray, constraint: OneRate, epsilon: float
) -> None:
    """From nobody to everybody, never back, on every hull, and within what is allowed at every level."""
    assert np.abs(levels.fpr[0]).max() == np.abs(levels.tpr[0]).max() == 0.0
    assert np.abs(levels.fpr[-1] - 1).max() == np.abs(levels.tpr[-1] - 1).max() == 0.0
    assert np.diff(levels.fpr, axis=0).min() >= -1e-15
    assert np.diff(levels.tpr, axis=0).min() >= -1e-15
    for g, hull in enumerate(hulls):
        assert np.abs(hull.at(levels.u[:, g]) - levels.v[:, g]).max() <= 1e-12
        assert area(levels.fpr[:, g], levels.tpr[:, g]) == pytest.approx(hull.auc, abs=1e-12)
    assert excess(rate_of(constraint, levels.fpr, levels.tpr, priors), constraint, epsilon).max() <= 1e-12


def directions(x: FloatArray, y: FloatArray, most: int) -> FloatArray:
    """(n, 2) prices (a, b) of tpr and fpr: some fixed ones, and those of some edges of a pooled line."""
    fixed = [(0.5, 0.5), (0.02, 0.98), (0.98, 0.02), (0.3, 0.7), (0.8, 0.2)]
    dx, dy = np.diff(x), np.diff(y)
    edges = np.flatnonzero(dx + dy > 1e-9)
    edges = edges[np.unique(np.linspace(0, len(edges) - 1, most).astype(int))]
    total = dx[edges] + dy[edges]
    return np.concatenate((fixed, np.stack((dx[edges] / total, dy[edges] / total), axis=1)))


# ---- the optimum ---------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(weighted_hulls(), CASES)
def test_the_path_is_the_optimum_of_a_linear_program_in_every_direction(weighted, asked) -> None:
    """Along its own edges too: so the area under the pooled line is the largest there is."""
    (hulls, priors, weights0, weights1), (constraint, epsilon) = weighted, asked
    levels = rate_path(hulls, priors, weights0, weights1, epsilon, constraint)
    assert_one_fair_score(levels, hulls, priors, constraint, epsilon)
    rates = [rate_of(constraint, hull.fpr, hull.tpr, prior) for hull, prior in zip(hulls, priors, strict=True)]
    x, y = levels.fpr @ weights0, levels.tpr @ weights1
    for a, b in directions(x, y, 6):
        best, _ = one_rate_support(hulls, rates, epsilon, isinstance(constraint, Ratio), -b * weights0, a * weights1)
        assert (a * y - b * x).max() == pytest.approx(best, abs=1e-9)


CROSSING = (smooth_chain(0.3, 9), chain_of_edges([(1, 6), (2, 2), (7, 2)]), chain_of_edges([(3, 8), (7, 2)]))


@settings(max_examples=40)
@given(weighted_hulls(), CASES)
def test_the_prices_prove_the_path_in_every_direction(weighted, asked) -> None:
    """By weak duality: no fair rates are better than the path's, whatever the centre they share."""
    (hulls, priors, weights0, weights1), (constraint, epsilon) = weighted, asked
    path, found = rate_path(*weighted, epsilon, constraint), rate_prices(*weighted, epsilon, constraint)
    fpr, tpr = path.fpr @ weights0, path.tpr @ weights1
    for b, prices in zip(found.b, found.prices[..., 0].copy(), strict=True):
        ratio = isinstance(constraint, Ratio)
        pulls = np.where(prices > 0, prices / max(1 - epsilon, 1e-12), prices) if ratio else prices
        rest = -pulls[:-1].sum()
        prices[-1] = rest * (1 - epsilon) if ratio and rest > 0 else rest
        proven = 0.0 if ratio else epsilon / 2 * np.abs(prices).sum()
        for hull, prior, w0, w1, price in zip(hulls, priors, weights0, weights1, prices, strict=True):
            rate = rate_of(constraint, hull.fpr, hull.tpr, prior)
            proven += ((1 - b) * w1 * hull.tpr - b * w0 * hull.fpr - price * rate).max()
        assert proven == pytest.approx(((1 - b) * tpr - b * fpr).max(), abs=1e-9)


@pytest.mark.parametrize(("constraint", "epsilon"), [case for case in ASKED if case[1] < 1], ids=str)
def test_no_monotone_path_on_a_grid_is_better(constraint, epsilon) -> None:
    """Two groups with crossing curves: all fair paths over a grid of both hulls, by a dynamic program."""
    priors, weights0, weights1 = np.array([0.2, 0.5]), np.array([0.8, 0.2]), np.array([0.5, 0.5])
    for hulls in combinations(CROSSING, 2):
        f, t, rates = [], [], []
        own = [rate_of(constraint, hull.fpr, hull.tpr, prior) for hull, prior in zip(hulls, priors, strict=True)]
        for hull, line in zip(hulls, own, strict=True):
            rates.append(np.unique(np.concatenate((np.linspace(0.0, 1.0, 51), *own))))
            f.append(np.interp(rates[-1], line, hull.fpr))
            t.append(np.interp(rates[-1], line, hull.tpr))
        fair = excess(np.stack(np.meshgrid(*rates, indexing="ij"), axis=-1), constraint, epsilon) <= 1e-12
        best = best_pooled_on_grid(f, t, fair, weights0, weights1)
        levels = rate_path(hulls, priors, weights0, weights1, epsilon, constraint)
        found = area(levels.fpr @ weights0, levels.tpr @ weights1)
        assert best <= found + 1e-12
        assert found <= best + 4e-3  # the grid is no straw man


# ---- by hand -------------------------------------------------------------------------------------------------------


HALF = np.array([0.5, 0.5])


@pytest.mark.parametrize(("constraint", "epsilon"), ASKED, ids=str)
def test_equal_groups_give_nothing_up(constraint, epsilon) -> None:
    for hull in (PERFECT, DIAGONAL, *CROSSING):
        levels = rate_path([hull] * 3, np.full(3, 0.4), np.full(3, 1 / 3), np.full(3, 1 / 3), epsilon, constraint)
        assert area(levels.fpr.mean(axis=1), levels.tpr.mean(axis=1)) == pytest.approx(hull.auc, abs=1e-12)
        assert np.abs(np.diff(levels.u, axis=1)).max() <= 1e-12


@pytest.mark.parametrize("rate", RATES)
def test_without_a_tolerance_to_keep_people_are_ranked_by_posterior(rate) -> None:
    """With all differences allowed every group's edges are walked by falling slope."""
    hulls, weights0, weights1 = list(CROSSING), np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    levels = rate_path(hulls, np.array([0.1, 0.3, 0.6]), weights0, weights1, 1.0, Difference(rate))
    both = [
        np.stack((w0 * np.diff(h.fpr), w1 * np.diff(h.tpr)), axis=1)
        for h, w0, w1 in zip(hulls, weights0, weights1, strict=True)
    ]
    edges = np.concatenate(both)
    edges = edges[np.argsort(edges[:, 0] / edges[:, 1], kind="stable")]
    x, y = np.concatenate((np.zeros((1, 2)), np.cumsum(edges, axis=0))).T
    assert area(levels.fpr @ weights0, levels.tpr @ weights1) == pytest.approx(area(x, y), abs=1e-12)


def test_a_perfect_and_a_useless_group() -> None:
    """Equal tpr, and equal fpr, let the perfect group go first or last; equal selection mixes by base rates."""
    tpr = rate_path([PERFECT, DIAGONAL], HALF, HALF, HALF, 0.0, Difference("tpr"))
    assert tpr.fpr.tolist() == [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    assert tpr.tpr.tolist() == [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]
    fpr = rate_path([PERFECT, DIAGONAL], HALF, HALF, HALF, 0.0, Difference("fpr"))
    assert fpr.tpr.tolist() == [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    both = rate_path([PERFECT, DIAGONAL], HALF, HALF, HALF, 0.0, Difference("selection"))
    assert both.tpr.tolist() == [[0.0, 0.0], [1.0, 0.5], [1.0, 1.0]]
    assert both.fpr.tolist() == [[0.0, 0.0], [0.0, 0.5], [1.0, 1.0]]


def test_a_group_of_next_to_nobody_keeps_its_curve() -> None:
    """Its people are lost in the rounding of the others' sums."""
    hulls = [PERFECT, DIAGONAL, CROSSING[1]]
    weights0, weights1 = np.array([0.5, 0.5, 1e-25]), np.array([0.5, 0.5, 1e-23])
    for rate in RATES:
        levels = rate_path(hulls, np.full(3, 0.5), weights0, weights1, 0.0, Difference(rate))
        assert levels.group_aucs() == pytest.approx([hull.auc for hull in hulls], abs=1e-12)
