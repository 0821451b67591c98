"""The certificate: an upper bound of the pooled AUC, equal to a sandwich of independent linear programs."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core.bound import AREA_TOLERANCE, _area_below, pooled_bound, pooled_bounds
from fairroc.core.constraint import equalized_odds
from fairroc.core.coupling import closed_form
from fairroc.core.optimal import heights, optimal, pooled_area
from oracles import fair_support, pair_gap, pooled_sandwich, trapezia
from strategies import DIAGONAL, EPSILONS, NORMS, PERFECT, SEEDS, class_shares, populations, weighted_families


def ranked_by_posterior(hulls, weights0, weights1) -> float:
    """Pooled AUC when all groups' edges are walked by falling slope: the best without any fairness."""
    edges = np.concatenate(
        [
            np.stack((w0 * np.diff(h.fpr), w1 * np.diff(h.tpr)), axis=1)
            for h, w0, w1 in zip(hulls, weights0, weights1, strict=True)
        ]
    )
    order = np.argsort(-np.arctan2(edges[:, 1], edges[:, 0]), kind="stable")
    return trapezia(np.concatenate((np.zeros((1, 2)), np.cumsum(edges[order], axis=0))))


@settings(max_examples=25)
@given(weighted_families(4), EPSILONS.filter(lambda epsilon: epsilon != 1e-13), NORMS)  # below the oracle's reach
def test_the_bound_lies_in_an_independent_sandwich(weighted, epsilon, norm):
    """Never below what pairwise programs attain, never above their supporting lines by more than its tolerance."""
    inner, outer = pooled_sandwich(partial(fair_support, weighted[0], epsilon, norm), *weighted[1:], directions=40)
    bound = pooled_bound(*weighted, epsilon, equalized_odds(norm))
    assert bound.auc >= inner - 1e-9
    assert bound.auc <= outer + AREA_TOLERANCE + 1e-9
    assert outer - inner <= 0.02


@settings(max_examples=8)
@given(weighted_families(9), NORMS)
def test_many_epsilons_at_once_are_the_single_ones_to_the_last_digit(weighted, norm):
    epsilons, constraint = np.arange(7) / 15, equalized_odds(norm)
    for epsilon, found in zip(epsilons, pooled_bounds(*weighted, epsilons, constraint, 1e-4), strict=True):
        alone = pooled_bound(*weighted, epsilon, constraint, tolerance=1e-4)
        assert (found.auc, found.tuples.tolist()) == (alone.auc, alone.tuples.tolist())


@settings(max_examples=20)
@given(weighted_families(), NORMS)
def test_without_fairness_it_ranks_by_posterior(weighted, norm):
    """At epsilon 2 the bound is the area of the Minkowski sum of the scaled hulls."""
    best = ranked_by_posterior(*weighted)
    bound = pooled_bound(*weighted, 2.0, equalized_odds(norm))
    assert best - 1e-9 <= bound.auc <= best + AREA_TOLERANCE + 1e-9


@settings(max_examples=25)
@given(weighted_families(), EPSILONS, NORMS, SEEDS)
def test_no_random_fair_coupling_beats_it(weighted, epsilon, norm, seed):
    """Random rising tuples near each other on the hulls, the unfair ones dropped, stay below the bound."""
    hulls, weights0, weights1 = weighted
    rng = np.random.default_rng(seed)
    bound = pooled_bound(hulls, weights0, weights1, epsilon, equalized_odds(norm)).auc
    for spread in (0.0, epsilon / 4, epsilon):
        u = np.sort(rng.uniform(0, 2, (60, 1)) + rng.uniform(-spread, spread, (60, len(hulls))), axis=0)
        u = np.concatenate((np.zeros((1, len(hulls))), np.clip(u, 0, 2), np.full((1, len(hulls)), 2.0)))
        v = heights(hulls, u)
        fair = np.array([pair_gap(u[i : i + 1], v[i : i + 1], norm) <= epsilon for i in range(len(u))])
        fair[[0, -1]] = True
        assert pooled_area(u[fair], v[fair], weights0, weights1) <= bound + 1e-9
    fair_curves = optimal(hulls, epsilon, equalized_odds(norm))
    u = closed_form(fair_curves)
    assert pooled_area(u, heights(fair_curves.curves, u), weights0, weights1) <= bound + 1e-9


@settings(max_examples=25)
@given(weighted_families(), EPSILONS, NORMS)
def test_the_attained_points_are_attained(weighted, epsilon, norm):
    """The tuples are fair, under the hulls, pool to the points, and their polygon falls short by the slack."""
    hulls, weights0, weights1 = weighted
    bound = pooled_bound(hulls, weights0, weights1, epsilon, equalized_odds(norm))
    assert pair_gap(bound.tuples, bound.heights, norm) <= epsilon + 1e-8
    assert (bound.heights <= heights(hulls, bound.tuples) + 1e-8).all()
    fpr = (bound.tuples - bound.heights) @ weights0 / 2
    tpr = (bound.tuples + bound.heights) @ weights1 / 2
    assert np.abs(np.stack((fpr, tpr), axis=1) - bound.points).max() <= 1e-12
    assert bound.points[0].tolist() == [0.0, 0.0]
    assert bound.points[-1].tolist() == [1.0, 1.0]
    assert (np.diff(bound.points.sum(axis=1)) > 0).all()
    assert bound.auc == pytest.approx(trapezia(bound.points) + bound.slack, abs=1e-12)
    assert 0 <= bound.slack <= 2 * AREA_TOLERANCE


@settings(max_examples=20)
@given(populations(max_groups=5), EPSILONS, EPSILONS, NORMS)
def test_more_tolerance_never_lowers_the_bound(population, one, other, norm):
    """For rows of any kind and weight the bound rises with epsilon, up to its tolerance."""
    weights0, weights1, _ = class_shares(population)
    hulls = [sample.curve.hull for sample in population]
    low, high = (pooled_bound(hulls, weights0, weights1, e, equalized_odds(norm)).auc for e in sorted((one, other)))
    assert low <= high + AREA_TOLERANCE + 1e-9


@pytest.mark.parametrize("norm", [1, "inf"])
def test_hand_made_bounds(norm):
    """Useless groups of equal shares allow one half, perfect ones 1; a useless partner drags everybody down."""
    half = np.array([0.5, 0.5])
    assert pooled_bound([DIAGONAL, DIAGONAL], half, half, 0.0, equalized_odds(norm)).auc == pytest.approx(
        0.5, abs=1e-12
    )
    assert pooled_bound([PERFECT, PERFECT], half, half, 0.0, equalized_odds(norm)).auc == pytest.approx(1.0, abs=1e-12)
    assert pooled_bound([PERFECT, DIAGONAL], half, half, 0.0, equalized_odds(norm)).auc == pytest.approx(0.5, abs=1e-12)
    shares = np.array([float(Fraction(1, 4)), float(Fraction(3, 4))])
    best = pooled_bound([DIAGONAL, DIAGONAL], shares, shares[::-1].copy(), 2.0, equalized_odds(norm)).auc
    assert best == pytest.approx(0.75, abs=AREA_TOLERANCE)


@settings(max_examples=25)
@given(weighted_families(), EPSILONS, NORMS)
def test_the_prices_of_every_line_prove_it(weighted, epsilon, norm):
    """They sum to nothing, and by weak duality the points attained in a direction are the best there."""
    hulls, weights0, weights1 = weighted
    bound = pooled_bound(*weighted, epsilon, equalized_odds(norm), priced=True)
    assert bound.auc == pooled_bound(*weighted, epsilon, equalized_odds(norm)).auc
    assert np.abs(bound.lines.prices.sum(axis=1)).max() <= 1e-9
    size = np.abs(bound.lines.prices)
    proven = epsilon / 2 * (size.max(axis=2) if norm == 1 else size.sum(axis=2)).sum(axis=1)
    b = bound.lines.b[:, None]
    for hull, w0, w1, price in zip(hulls, weights0, weights1, bound.lines.prices.transpose(1, 2, 0), strict=True):
        up, down = w1 * (1 - b) - price[1][:, None], w0 * b + price[0][:, None]
        proven += (up * hull.tpr - down * hull.fpr).max(axis=1)
    attained = ((1 - b) * bound.points[:, 1] - b * bound.points[:, 0]).max(axis=1)
    assert (proven >= attained - 1e-9).all()
    assert (proven <= attained + 1e-6).all()


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(1, 12)), max_size=8))
def test_the_area_below_lines(asked):
    """All above (1, 1), with equal slopes, lines above all others and lines that meet in one point: by the lowest."""
    lines = sorted([*((b / 8, max(c / 12, 1 - b / 4)) for b, c in asked), (0.0, 1.0)], key=lambda line: -line[0])
    b, c = np.array(lines).T
    slope, height = b / (1 - b), c / (1 - b)
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = ((height - height[:, None]) / (slope[:, None] - slope)).ravel()
    at = np.unique(np.concatenate((meet[(meet > 0) & (meet < 1)], [0.0, 1.0])))
    lowest = (slope[:, None] * at + height[:, None]).min(axis=0)
    expected = trapezia(list(zip(at, lowest, strict=True)))
    assert _area_below(b, c) == pytest.approx(expected, abs=1e-12)
