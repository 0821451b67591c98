"""The best fair tuples of many directions against one linear program for each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core.bound import AREA_TOLERANCE, pooled_bound, pooled_bounds
from fairroc.core.constraint import equalized_odds, own_tolerances
from fairroc.core.duality import FairTuples
from fairroc.core.optimal import heights
from oracles import fair_support
from strategies import NORMS, SEEDS, smooth_chain, weighted_families

EPSILONS = np.array([0.0, 0.03, 0.2, 0.5, 2.0])
KINDS = {1: equalized_odds(1), "inf": equalized_odds("inf"), (0.02, 0.1): own_tolerances(0.02, 0.1)}


@settings(max_examples=40)
@given(weighted_families(6), st.sampled_from(list(KINDS)), SEEDS)
def test_bounds_and_tuples_are_those_of_linear_programs(family, kind, seed) -> None:
    """Of any prices of the rates, for several epsilons in one call."""
    hulls, rng = family[0], np.random.default_rng(seed)
    ups, downs = rng.random((2, len(hulls), 7)) * rng.choice([1e-6, 1.0], (2, len(hulls), 7))
    which, constraint = rng.integers(0, len(EPSILONS), 7), KINDS[kind]
    epsilons = EPSILONS if isinstance(kind, int | str) else np.full(len(EPSILONS), min(kind))
    found = FairTuples(hulls, epsilons, constraint).best(ups, downs, which)
    for i, k in enumerate(which):
        epsilon = epsilons[k] if isinstance(kind, int | str) else kind
        best, _ = fair_support(hulls, epsilon, kind if kind == 1 else "inf", -downs[:, i], ups[:, i])
        assert found.bound[i] == pytest.approx(best, abs=1e-7)
    reached = (ups.T * (found.u + found.v) - downs.T * (found.u - found.v)).sum(axis=1) / 2
    assert found.bound == pytest.approx(reached, abs=1e-8)
    assert (found.v <= heights(hulls, found.u) + 1e-11).all()
    assert (found.v >= -1e-11).all()
    assert (constraint.gap(found.u, found.v) <= epsilons[which] + 1e-11).all()


@settings(max_examples=15)
@given(weighted_families(5), NORMS)
def test_several_epsilons_at_once_are_each_by_itself(family, norm) -> None:
    constraint = equalized_odds(norm)
    together = pooled_bounds(*family, EPSILONS, constraint)
    alone = [pooled_bound(*family, float(epsilon), constraint) for epsilon in EPSILONS]
    assert [bound.auc for bound in together] == pytest.approx([bound.auc for bound in alone], abs=1e-12)


def test_many_groups() -> None:
    """Two hundred groups of three kinds are bounded as those three with all their people."""
    rng = np.random.default_rng(0)
    kinds = [smooth_chain(bend, 17) for bend in (0.2, 0.5, 0.8)]
    owner, weights = rng.integers(0, 3, 200), rng.dirichlet(np.ones(200))
    shares = np.bincount(owner, weights, 3)
    for norm in (1, "inf"):
        many = pooled_bound([kinds[k] for k in owner], weights, weights, 0.1, equalized_odds(norm))
        few = pooled_bound(kinds, shares, shares, 0.1, equalized_odds(norm))
        assert many.auc == pytest.approx(few.auc, abs=2 * AREA_TOLERANCE)
