"""The quick bound for two groups against the certificate's linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core.bound import pooled_bound
from fairroc.core.constraint import equalized_odds, own_tolerances
from fairroc.core.duality import pair_bounds
from strategies import NORMS, smooth_chain, weighted_families

EPSILONS = np.array([0.0, 0.03, 0.2, 0.5, 2.0])
CONSTRAINTS = (equalized_odds(1), equalized_odds("inf"), own_tolerances(0.02, 0.1), own_tolerances(1.0, 0.05))
PROGRAMS = 1e-7
"""By how much the linear programs' own bound may be off."""


@settings(max_examples=24)
@given(weighted_families(max_groups=2), st.sampled_from(CONSTRAINTS))
def test_it_bounds_what_the_linear_programs_find_attainable(family, constraint) -> None:
    hulls, weights0, weights1 = family
    found = pair_bounds(hulls, weights0, weights1, EPSILONS, constraint)
    exact = [pooled_bound(hulls, weights0, weights1, float(epsilon), constraint) for epsilon in EPSILONS]
    attained = np.array([bound.auc - bound.slack for bound in exact])
    assert (found >= attained - 1e-12).all()
    assert found == pytest.approx([bound.auc for bound in exact], abs=2e-3)


@settings(max_examples=25)
@given(weighted_families(max_groups=2), NORMS)
def test_it_does_not_fall_and_does_not_exceed_one(family, norm) -> None:
    found = pair_bounds(*family, np.linspace(0.0, 2.0, 9), equalized_odds(norm))
    assert (np.diff(found) >= -1e-12).all()
    assert (found <= 1).all()


def test_prices_of_one_epsilon_bound_all_others() -> None:
    """More epsilons than prices are looked for: no bound falls below the one that was looked for by itself."""
    hulls, weights = [smooth_chain(0.2, 33), smooth_chain(0.6, 33)], (np.array([0.4, 0.6]), np.array([0.7, 0.3]))
    many = np.linspace(0.0, 0.5, 41)
    together = pair_bounds(hulls, *weights, many, equalized_odds(1))
    alone = np.array([pair_bounds(hulls, *weights, np.array([epsilon]), equalized_odds(1))[0] for epsilon in many])
    exact = np.array([pooled_bound(hulls, *weights, float(epsilon), equalized_odds(1)).auc for epsilon in many[::13]])
    assert together == pytest.approx(alone, abs=5e-5)
    assert (together[::13] >= exact - PROGRAMS).all()
    assert (together[::13] <= exact + 1e-4).all()
