"""The ascent raises the pooled area and never leaves the fair curves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core import ascent
from fairroc.core.ascent import GAIN, MAX_SWEEPS, ascend, spaced, take_turns, thinned_levels
from fairroc.core.constraint import equalized_odds
from fairroc.core.coupling import closed_form
from fairroc.core.optimal import heights, optimal, pooled_area
from oracles import pair_gap
from strategies import EPSILONS, NORMS, SEEDS, smooth_chain, weighted_families


def assert_feasible(fair, u):
    """Fair at every level, never back, from 0 to 2."""
    assert (u[0] == 0.0).all()
    assert (u[-1] == 2.0).all()
    assert (np.diff(u, axis=0) >= 0).all()
    assert pair_gap(u, heights(fair.curves, u), fair.constraint.norm) <= 2 * fair.radius + 1e-12


@settings(max_examples=40)
@given(weighted_families(), EPSILONS, NORMS)
def test_the_ascent_never_lowers_the_pooled_area(weighted, epsilon, norm):
    """From the spaced closed form the ascent stays feasible and gains, or keeps, pooled area."""
    hulls, weights0, weights1 = weighted
    fair = optimal(hulls, epsilon, equalized_odds(norm))
    start = spaced(closed_form(fair), 1 / 16)
    end = ascend(fair, start, weights0, weights1)
    assert_feasible(fair, end)
    before, after, again = (
        pooled_area(u, heights(fair.curves, u), weights0, weights1)
        for u in (start, end, ascend(fair, end.copy(), weights0, weights1))
    )
    assert after >= before - 1e-12
    assert again <= after + (GAIN if len(hulls) == 2 else 1e-6)  # a sweep over all groups would gain no more


@settings(max_examples=40)
@given(weighted_families(), EPSILONS, NORMS)
def test_taking_turns_stays_feasible_and_gains(weighted, epsilon, norm):
    """The added levels are fair and in order; the old ones stay; the pooled area does not fall."""
    hulls, weights0, weights1 = weighted
    fair = optimal(hulls, epsilon, equalized_odds(norm))
    start = spaced(closed_form(fair), 1 / 16)
    end = take_turns(fair, start, weights0, weights1)
    assert_feasible(fair, end)
    assert {tuple(row) for row in start} <= {tuple(row) for row in end}
    twice = [int((np.diff(u, axis=0) == 0).all(axis=1).sum()) for u in (start, end)]
    assert twice[0] == twice[1]  # no level is added again
    before, after = (pooled_area(u, heights(fair.curves, u), weights0, weights1) for u in (start, end))
    assert after >= before - 1e-12


@given(SEEDS, st.integers(2, 9), st.integers(1, 5), st.sampled_from([1 / 512, 0.03, 0.5, 3.0]))
def test_spaced_respects_the_spacing(seed, levels, groups, spacing):
    """No step is longer than the spacing; all old levels stay; new ones lie on the line between them."""
    rng = np.random.default_rng(seed)
    u = np.sort(rng.choice([0.0, 0.1, 0.7, 1.3, 2.0], (levels, groups)), axis=0)
    fine = spaced(u, spacing)
    assert np.diff(fine, axis=0).max() <= spacing * (1 + 1e-12)
    assert (np.diff(fine, axis=0) >= -1e-15).all()
    assert {tuple(row) for row in u} <= {tuple(row) for row in fine}
    total, fine_total = u.sum(axis=1), fine.sum(axis=1)
    once = np.concatenate(([True], np.diff(total) > 0))
    for g in range(groups):
        assert np.abs(np.interp(fine_total, total[once], u[once, g]) - fine[:, g]).max() <= 1e-12
    assert len(fine) <= len(u) + np.ceil(np.diff(u, axis=0).max(axis=1) / spacing).sum()


def test_many_groups_share_one_pull_and_lose_nothing(monkeypatch):
    """One hull of all groups' curve for a sweep, and about the area that a hull for each of them gains."""
    fair = optimal([smooth_chain(power, 33) for power in np.linspace(0.2, 0.8, 12)], 0.1, equalized_odds(1))
    weights0, weights1 = (np.arange(1, 13.0)[::side] / 78 for side in (1, -1))
    start, pulls, pull = spaced(closed_form(fair), 1 / 32), [], ascent._pull
    monkeypatch.setattr(ascent, "_pull", lambda *rates: pulls.append(1) or pull(*rates))
    shared = ascend(fair, start, weights0, weights1)
    assert len(pulls) <= MAX_SWEEPS
    assert_feasible(fair, shared)
    monkeypatch.setattr(ascent, "FEW_GROUPS", 12)
    own = ascend(fair, start, weights0, weights1)
    before, one, each = (pooled_area(u, heights(fair.curves, u), weights0, weights1) for u in (start, shared, own))
    assert one >= before + 0.98 * (each - before) > before


@given(SEEDS, st.integers(2, 60), st.integers(1, 5), st.sampled_from([0.01, 0.3, 3.0]))
def test_thinned_levels_are_no_further_apart_than_asked_for(seed, levels, groups, spacing):
    """The ends stay; a level left out is within the spacing of one that stays, and of those few are too near."""
    u = np.sort(np.random.default_rng(seed).random((levels, groups)) * 2, axis=0)
    thin = thinned_levels(u, spacing)
    kept = [i for i, row in enumerate(u.tolist()) if row in thin.tolist()]
    assert (thin == u[kept]).all() and kept[0] == 0 and kept[-1] == levels - 1
    moved = np.concatenate(([0.0], np.cumsum(np.diff(u, axis=0).max(axis=1))))
    for a, b in pairwise(kept):
        assert moved[b - 1] - moved[a] <= spacing + 1e-12
    assert len(kept) <= moved[-1] / spacing + 2
