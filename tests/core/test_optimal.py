"""The highest fair curves equal a linear program over fair tuples that knows no common centre."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core.chain import meet
from fairroc.core.constraint import equalized_odds
from fairroc.core.optimal import fair_rows, heights, optimal
from oracles import fair_support, pair_gap
from strategies import DIAGONAL, EPSILONS, NORMS, PERFECT, chain_of_edges, families, populations, smooth_chain

ANGLES = np.linspace(-1.4, 1.4, 5)
DEGENERATE = {
    "diagonals": [DIAGONAL, DIAGONAL],
    "perfect": [PERFECT, PERFECT, PERFECT],
    "perfect and diagonal": [PERFECT, DIAGONAL],
    "one corner each": [chain_of_edges([(1, 7), (9, 3)]), chain_of_edges([(3, 9), (7, 1)])],
    "crossing": [chain_of_edges([(0, 5), (10, 5)]), chain_of_edges([(5, 10), (5, 0)]), smooth_chain(0.3, 9)],
    "identical": [smooth_chain(0.2, 9)] * 4,
    "almost diagonal": [chain_of_edges([(10**9, 10**9 + 1), (10**9 + 1, 10**9)]), smooth_chain(0.3, 5)],
}


def assert_supports_equal_the_program(hulls, epsilon, norm):
    """For every group and several directions: the curve's support is the program's optimum."""
    fair = optimal(hulls, epsilon, equalized_odds(norm))
    for g, curve in enumerate(fair.curves):
        for angle in ANGLES:
            by_u, by_v = np.sin(angle), np.cos(angle)
            fpr_cost, tpr_cost = np.zeros(len(hulls)), np.zeros(len(hulls))
            fpr_cost[g], tpr_cost[g] = by_u - by_v, by_u + by_v
            best, _ = fair_support(hulls, epsilon, norm, fpr_cost, tpr_cost)
            assert float((by_u * curve.u + by_v * curve.v).max()) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("norm", [1, "inf"])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.05, 0.3, 1.0, 2.0])
@settings(max_examples=10)
@given(hulls=families())
def test_fair_curves_equal_the_linear_program(hulls, epsilon, norm):
    """Two to six groups, any crossing: no fair tuple lies above a fair curve, and one reaches it."""
    assert_supports_equal_the_program(hulls, epsilon, norm)


@pytest.mark.parametrize("norm", [1, "inf"])
@pytest.mark.parametrize("name", sorted(DEGENERATE))
def test_degenerate_hulls_equal_the_linear_program(name, norm):
    """The same for diagonals, perfect classifiers, two-edge hulls, identical and crossing groups."""
    for epsilon in (0.0, 1e-6, 0.05, 0.3, 1.0, 2.0):
        assert_supports_equal_the_program(DEGENERATE[name], epsilon, norm)


@given(families(8), NORMS)
def test_no_tolerance_gives_the_lower_envelope(hulls, norm):
    """At epsilon 0 every group realised the lower envelope of the hulls."""
    low = meet(hulls)
    at = np.union1d(np.concatenate([hull.u for hull in hulls]), np.linspace(0, 2, 41))
    for curve in optimal(hulls, 0.0, equalized_odds(norm)).curves:
        assert np.abs(curve.at(at) - low.at(at)).max() <= 1e-12


@given(families(8), NORMS)
def test_the_largest_tolerance_gives_the_hulls(hulls, norm):
    """No two ROC points are farther apart than 2: then nothing has to be given up."""
    for hull, curve in zip(hulls, optimal(hulls, 2.0, equalized_odds(norm)).curves, strict=True):
        assert np.abs(curve.at(hull.u) - hull.v).max() <= 1e-12


@given(families(8), EPSILONS, EPSILONS, NORMS)
def test_more_tolerance_never_lowers_a_curve(hulls, one, other, norm):
    """The fair curves rise with epsilon, and stay between the diagonal and the hulls."""
    tight, loose = (optimal(hulls, e, equalized_odds(norm)).curves for e in sorted((one, other)))
    at = np.linspace(0, 2, 101)
    for hull, low, high in zip(hulls, tight, loose, strict=True):
        assert (low.at(at) >= -1e-12).all()
        assert (low.at(at) <= high.at(at) + 1e-12).all()
        assert (high.at(at) <= hull.at(at) + 1e-12).all()


@given(families(8), EPSILONS, NORMS, st.randoms(use_true_random=False))
def test_permuted_groups_get_permuted_curves(hulls, epsilon, norm, random):
    """The order of the groups means nothing."""
    order = list(range(len(hulls)))
    random.shuffle(order)
    curves = optimal(hulls, epsilon, equalized_odds(norm)).curves
    permuted = optimal([hulls[i] for i in order], epsilon, equalized_odds(norm)).curves
    at = np.linspace(0, 2, 101)
    for i, curve in zip(order, permuted, strict=True):
        assert np.abs(curve.at(at) - curves[i].at(at)).max() <= 1e-12


@given(populations(), EPSILONS, NORMS)
def test_fair_curves_of_real_rows_are_chains_from_end_to_end(population, epsilon, norm):
    """From any rows and weights: concave, strictly rising in u, from (0, 0) to (2, 0), both rates rising."""
    for curve in optimal([sample.curve.hull for sample in population], epsilon, equalized_odds(norm)).curves:
        assert (curve.u[0], curve.v[0], curve.u[-1], curve.v[-1]) == (0.0, 0.0, 2.0, 0.0)
        assert (np.diff(curve.u) > 0).all()
        assert (np.diff(curve.slopes) < 0).all()
        assert (np.abs(np.diff(curve.v)) <= np.diff(curve.u) + 1e-15).all()


def test_rows_that_are_fair_stay_and_both_ends():
    """Also where these are not."""
    fair = optimal([PERFECT, DIAGONAL], 0.1, equalized_odds(1))
    u = np.array([[0.0, 0.9], [0.1, 0.9], [0.5, 0.5], [0.5, 0.7], [1.0, 1.05], [1.0, 2.0], [0.3, 2.0]])
    close = [i for i, row in enumerate(u[:, None]) if pair_gap(row, heights(fair.curves, row), 1) <= 0.1 + 1e-12]
    assert fair_rows(fair, u).tolist() == u[[0, *close, 6]].tolist()
    assert 0 < len(close) < 5 and 0 not in close and 1 not in close and 5 not in close
