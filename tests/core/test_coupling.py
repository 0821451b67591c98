"""One threshold scale for all groups: fair, monotone, concave, and as good as a dynamic program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core.ascent import FINE_GROUPS, spaced, take_turns
from fairroc.core.bound import pooled_bound
from fairroc.core.chain import Chain
from fairroc.core.constraint import equalized_odds
from fairroc.core.coupling import GUIDE_COST, STRAIGHT_COST, Levels, closed_form, couple, prune, with_vertices
from fairroc.core.optimal import heights, optimal
from fairroc.core.portable import uneven, weighted
from oracles import best_pooled_on_grid, pair_gap
from strategies import (
    DIAGONAL,
    EPSILONS,
    NORMS,
    PERFECT,
    chain_of_edges,
    class_shares,
    populations,
    smooth_chain,
    weighted_families,
)

GROUP_LOSS = 1e-3
"""What inserting the vertices may cost a group's AUC on synthetic curves (measured: below 4e-4)."""

PRUNED = 1e-7
"""What dropping levels may cost in all."""


def assert_one_score(fair, levels: Levels) -> None:
    """Fair, rising in both rates, from (0, 0) to (1, 1), concave, and nowhere above the fair curves."""
    assert pair_gap(levels.u, levels.v, fair.constraint.norm) <= 2 * fair.radius + 1e-12
    assert levels.gap(fair.constraint) == pytest.approx(pair_gap(levels.u, levels.v, fair.constraint.norm), abs=1e-14)
    assert (levels.u[0] == 0.0).all()
    assert (levels.u[-1] == 2.0).all()
    assert (levels.v[[0, -1]] == 0.0).all()
    assert (np.diff(levels.u, axis=0) >= 0).all()
    assert (np.diff(levels.fpr, axis=0) >= -1e-12).all()
    assert (np.diff(levels.tpr, axis=0) >= -1e-12).all()
    assert (levels.v <= heights(fair.curves, levels.u) + 1e-12).all()
    du, dv = np.diff(levels.u, axis=0), np.diff(levels.v, axis=0)
    assert (du[:-1] * dv[1:] - dv[:-1] * du[1:] <= 1e-12).all()


def loss(fair, levels: Levels) -> float:
    """The most that any group's AUC falls short of its fair curve's."""
    return float((np.array([curve.auc for curve in fair.curves]) - levels.group_aucs()).max())


def on_curves(fair, u) -> Levels:
    """Levels at the fair curves' own heights."""
    return Levels(u.copy(), heights(fair.curves, u))


def assert_closed_form(hulls, epsilon, norm, place=on_curves) -> None:
    """The closed form is one score with exactly the fair curves' AUC in every group."""
    fair = optimal(hulls, epsilon, equalized_odds(norm))
    levels = place(fair, closed_form(fair))
    assert_one_score(fair, levels)
    assert abs(loss(fair, levels)) <= 1e-9


@given(weighted_families(8), EPSILONS, NORMS)
def test_the_closed_form_walks_the_fair_curves(weighted, epsilon, norm):
    assert_closed_form(weighted[0], epsilon, norm)


@settings(max_examples=50)
@given(populations(), EPSILONS, NORMS)
def test_the_closed_form_holds_for_any_rows(population, epsilon, norm):
    """The same for hulls of rows with ties, extremes, wild weights and three people."""
    assert_closed_form([sample.curve.hull for sample in population], epsilon, norm)


@st.composite
def nearly_level(draw) -> Chain:
    """A curve whose top is level but for rounding."""
    left, right = draw(st.floats(0.05, 0.95)), draw(st.floats(1.05, 1.95))
    height = draw(st.floats(0.01, 1.0)) * min(left, 2.0 - right)
    slant = draw(st.sampled_from([0.0, 1e-16, 3e-16, 1e-15, 1e-14, 1e-13, 1e-10, 1e-6]))
    rise, fall = draw(st.sampled_from([(0.0, 0.0), (slant, 0.0), (0.0, slant)]))
    return Chain(np.array([0.0, left, right, 2.0]), np.array([0.0, height - rise, height - fall, 0.0]))


@given(st.lists(nearly_level(), min_size=2, max_size=5), EPSILONS, NORMS)
def test_the_closed_form_of_nearly_level_tops_is_fair(hulls, epsilon, norm):
    """No group runs ahead on a top where rounding alone says which place is the higher."""
    assert_closed_form(hulls, epsilon, norm, with_vertices)


@given(weighted_families(), EPSILONS, NORMS)
def test_inserting_vertices_keeps_one_score(weighted, epsilon, norm):
    """From a thinned closed form, every vertex of every curve becomes a level; old levels stay on the curves."""
    fair = optimal(weighted[0], epsilon, equalized_odds(norm))
    thin = closed_form(fair)
    thin = np.concatenate((thin[:-1:3], thin[-1:]))
    levels = with_vertices(fair, thin)
    assert_one_score(fair, levels)
    for g, curve in enumerate(fair.curves):
        distance = np.abs(curve.u[:, None] - levels.u[None, :, g]).min(axis=1)
        assert distance.max() <= 1e-12
    assert (levels.group_aucs() >= on_curves(fair, thin).group_aucs() - 1e-12).all()


@given(weighted_families(), EPSILONS, NORMS)
def test_pruning_costs_almost_nothing(weighted, epsilon, norm):
    """Fewer levels, still one score, and next to no area lost by any group or by all together."""
    hulls, weights0, weights1 = weighted
    fair = optimal(hulls, epsilon, equalized_odds(norm))
    full = with_vertices(fair, closed_form(fair))
    few = prune(full, weights0, weights1)
    assert_one_score(fair, few)
    assert {tuple(row) for row in few.u} <= {tuple(row) for row in full.u}
    assert np.abs(few.group_aucs() - full.group_aucs()).max() <= PRUNED
    assert abs(few.pooled_auc(weights0, weights1) - full.pooled_auc(weights0, weights1)) <= PRUNED
    again = prune(few, weights0, weights1)
    assert again.u.tolist() == few.u.tolist()


def pruned_slowly(levels, weights0, weights1, most) -> list[int]:
    """All levels that cost the least around go at once, whatever that costs is worked out anew, until none is cheap."""
    fpr, tpr = weighted(levels.u - levels.v, weights0) / 2, weighted(levels.u + levels.v, weights1) / 2
    x, y = np.column_stack((levels.u / 2, fpr)), np.column_stack((levels.v, tpr))
    kept, least = list(range(len(x))), STRAIGHT_COST * (1.0 + uneven(len(x)))
    while True:
        cost = [np.inf]
        for a, b, c in zip(kept, kept[1:], kept[2:], strict=False):
            turn = np.abs((x[b] - x[a]) * (y[c] - y[b]) - (y[b] - y[a]) * (x[c] - x[b])).max() / 2
            cost.append(max(turn, least[b]))
        cost.append(np.inf)
        go = [i for i, own in enumerate(cost) if own <= most and cost[i - 1] > own <= cost[i + 1]]
        if not go:
            return kept
        kept = [level for i, level in enumerate(kept) if i not in go]


@settings(max_examples=30)
@given(weighted_families(), EPSILONS, NORMS, st.sampled_from([-1, 0, 3, 100]))
def test_pruning_is_that_of_all_levels_looked_at_again(weighted, epsilon, norm, few):
    hulls, weights0, weights1 = weighted
    fair = optimal(hulls, epsilon, equalized_odds(norm))
    full = with_vertices(fair, take_turns(fair, spaced(closed_form(fair), 0.1), weights0, weights1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairroc.core.coupling.FEW_GO", few)
        found = prune(full, weights0, weights1, 1e-6)
    assert found.u.tolist() == full.u[pruned_slowly(full, weights0, weights1, 1e-6)].tolist()


@settings(max_examples=30)
@given(weighted_families(), EPSILONS, NORMS)
def test_couple_is_between_the_closed_form_and_the_bound(weighted, epsilon, norm):
    """With and without a guide: one score, group AUCs kept, pooled AUC above the closed form's, below the bound."""
    hulls, weights0, weights1 = weighted
    fair = optimal(hulls, epsilon, equalized_odds(norm))
    floor = on_curves(fair, closed_form(fair)).pooled_auc(weights0, weights1)
    bound = pooled_bound(hulls, weights0, weights1, epsilon, equalized_odds(norm))
    plain = couple(fair, weights0, weights1)
    guided = couple(fair, weights0, weights1, bound.tuples)
    for levels in (plain, guided):
        assert_one_score(fair, levels)
        assert loss(fair, levels) <= GROUP_LOSS
        assert floor - PRUNED <= levels.pooled_auc(weights0, weights1) <= bound.auc + 1e-9
    unasked = GUIDE_COST if len(hulls) > FINE_GROUPS else 0.0  # there the guided one is taken without a look
    assert guided.pooled_auc(weights0, weights1) >= plain.pooled_auc(weights0, weights1) - unasked


@settings(max_examples=10)
@given(weighted_families(5), EPSILONS, NORMS)
def test_couple_of_many_groups_is_one_score_near_that_of_few(weighted, epsilon, norm):
    """The coarser way that many groups take keeps every promise, and costs little of the pooled AUC."""
    hulls, weights0, weights1 = weighted
    fair = optimal(hulls, epsilon, equalized_odds(norm))
    few = couple(fair, weights0, weights1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairroc.core.coupling.FINE_GROUPS", 0)
        many = couple(fair, weights0, weights1)
        guide = pooled_bound(hulls, weights0, weights1, epsilon, equalized_odds(norm)).tuples
        guided = couple(fair, weights0, weights1, guide)
        patch.setattr("fairroc.core.coupling.MOST", 0)
        coarse = couple(fair, weights0, weights1)
    floor = on_curves(fair, closed_form(fair)).pooled_auc(weights0, weights1)
    for levels, least in ((many, few.pooled_auc(weights0, weights1)), (guided, floor), (coarse, floor)):
        assert_one_score(fair, levels)
        assert levels.pooled_auc(weights0, weights1) >= least - 1e-3
    assert loss(fair, guided) <= GROUP_LOSS


@settings(max_examples=10)
@given(weighted_families(4), EPSILONS, NORMS)
def test_steps_led_through_the_closed_form_are_fair_too(weighted, epsilon, norm):
    """What a coupling falls back on where it would cost a group: no less of its curve, and one score."""
    hulls, weights0, weights1 = weighted
    fair = optimal(hulls, epsilon, equalized_odds(norm))
    usual = couple(fair, weights0, weights1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairroc.core.coupling.GROUP_COST", -1.0)
        led = couple(fair, weights0, weights1)
    assert_one_score(fair, led)
    assert loss(fair, led) <= loss(fair, usual) + PRUNED
    floor = on_curves(fair, closed_form(fair)).pooled_auc(weights0, weights1)
    assert led.pooled_auc(weights0, weights1) >= floor - PRUNED


@settings(max_examples=25)
@given(populations(max_groups=8), EPSILONS, NORMS)
def test_couple_any_rows(population, epsilon, norm):
    """Rows of every kind, up to eight groups, the smallest of two people: one score within the promises."""
    hulls = [sample.curve.hull for sample in population]
    weights0, weights1, _ = class_shares(population)
    fair = optimal(hulls, epsilon, equalized_odds(norm))
    levels = couple(fair, weights0, weights1)
    assert_one_score(fair, levels)
    assert loss(fair, levels) <= GROUP_LOSS
    floor = on_curves(fair, closed_form(fair)).pooled_auc(weights0, weights1)
    assert levels.pooled_auc(weights0, weights1) >= floor - PRUNED


@pytest.mark.parametrize("norm", [1, "inf"])
@pytest.mark.parametrize("epsilon", [0.05, 0.3])
def test_no_monotone_path_on_a_grid_is_better(epsilon, norm):
    """Two groups: the best monotone fair path over a grid through the closed form does not beat the coupling."""
    hulls = [smooth_chain(0.15, 17), chain_of_edges([(1, 6), (2, 2), (7, 2)])]
    weights0, weights1 = np.array([0.7, 0.3]), np.array([0.35, 0.65])
    fair = optimal(hulls, epsilon, equalized_odds(norm))
    grids = [np.unique(column) for column in spaced(closed_form(fair), 1 / 50).T]
    f, t = ([(u + sign * curve.at(u)) / 2 for u, curve in zip(grids, fair.curves, strict=True)] for sign in (-1, 1))
    df, dt = (np.abs(rate[0][:, None] - rate[1]) for rate in (f, t))
    close = (df + dt if norm == 1 else np.maximum(df, dt)) <= epsilon + 1e-12
    best = best_pooled_on_grid(f, t, close, weights0, weights1)
    guide = pooled_bound(hulls, weights0, weights1, epsilon, equalized_odds(norm)).tuples
    found = couple(fair, weights0, weights1, guide).pooled_auc(weights0, weights1)
    assert best <= found + 1e-4
    assert found <= best + 2e-3  # the grid is no straw man


@pytest.mark.parametrize("norm", [1, "inf"])
def test_hand_made_couplings(norm):
    """Perfect groups stay perfect; with a useless group and no tolerance all are useless; one point suffices."""
    half = np.array([0.5, 0.5])
    perfect = couple(optimal([PERFECT, PERFECT], 0.1, equalized_odds(norm)), half, half)
    assert perfect.group_aucs().tolist() == [1.0, 1.0]
    assert perfect.pooled_auc(half, half) == 1.0
    useless = couple(optimal([PERFECT, DIAGONAL], 0.0, equalized_odds(norm)), half, half)
    assert useless.u.tolist() == [[0.0, 0.0], [2.0, 2.0]]
    assert useless.pooled_auc(half, half) == 0.5
