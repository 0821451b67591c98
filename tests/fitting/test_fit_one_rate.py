"""Fits that keep one rate close, or both by tolerances of their own: what is promised, checked person by person."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline import Rows, acceptance, all_thresholds, drawn, from_population, group_rates, normal_rows, worlds

from fairroc import FairModel
from fairroc.core.chain import FloatArray
from fairroc.core.constraint import OneRate
from fairroc.core.gap import ROUNDING, threshold_gap
from fairroc.errors import DataError
from fairroc.fitting.certificate import Certificate, certify
from fairroc.fitting.fit import Fitted, fit_quietly
from fairroc.fitting.one_rate import Window, rate_bound
from fairroc.fitting.outlook import outlook
from fairroc.people.door import read_people
from fitted_people import fitted_options
from oracles import fair_support, one_rate_support, pooled_sandwich
from strategies import populations

Asked = dict[str, Any]

ONE_RATE = ("equal_opportunity", "predictive_equality", "demographic_parity")
PIECES = 2e-4
"""AUC that a group may lose where everybody is drawn, in narrow pieces of the own part."""

CONSTRAINTS = st.sampled_from(ONE_RATE)
TOLERANCES = st.sampled_from(
    [*({"epsilon": epsilon} for epsilon in (0.0, 0.02, 0.1, 0.5)), *({"ratio": ratio} for ratio in (0.8, 0.95, 1.0))]
)
WINDOWS = st.sampled_from([(0, 0.2), (0.1, 0.5), (0.3, 1), (0.5, 0.5001), (0, 0.01)])


def asked(tolerance: Asked, constraint: str, **more: Any) -> Asked:
    return {**tolerance, "constraint": constraint, **more}


PLAIN = st.builds(asked, TOLERANCES, CONSTRAINTS)
WORLDS = st.one_of(
    worlds(max_groups=8),
    st.builds(
        normal_rows,
        st.integers(0, 10**6),
        st.sampled_from([60, 300]),
        st.sampled_from([2, 4]),
        st.sampled_from([1, 2, 9]),
    ),
)


def made(rows: Rows, how: Asked) -> Fitted:
    people = read_people(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=rows.weights)
    done = fit_quietly(people, fitted_options(**how), salt=7)
    return replace(done, model=FairModel.of(done.model))


def allowed(how: Asked) -> float:
    return 1.0 - how["ratio"] if "ratio" in how else how["epsilon"]


def selection(accepted: FloatArray, rows: Rows) -> FloatArray:
    """(thresholds, groups) share of every group's people that is selected."""
    own = [rows.groups == name for name in np.unique(rows.groups)]
    return np.stack([accepted[:, one] @ rows.mass[one] / rows.mass[one].sum() for one in own], axis=1)


def largest_gap(done: Fitted, rows: Rows, how: Asked, most: int = 10**9) -> float:
    """The largest gap that the public acceptance rates show, at all thresholds that count (or so many of them)."""
    thresholds = all_thresholds(done, rows)
    accepted = acceptance(done.model, rows, thresholds[:: 1 + len(thresholds) // most])
    fpr, tpr = group_rates(accepted, rows)
    rate = dict(zip(ONE_RATE, (tpr, fpr, selection(accepted, rows)), strict=True))[how["constraint"]]
    low, high = rate.min(axis=1), rate.max(axis=1)
    apart = high - low
    if "ratio" in how:  # rates of 1e-15 are rounding
        apart = np.maximum(apart - 1e-15, 0.0) / np.where(high > 0, high, 1.0)
    begin, end = how.get("where", (0.0, 1.0))
    selected = accepted @ rows.mass / rows.mass.sum()
    return float(apart[(selected >= begin) & (selected <= end)].max(initial=0.0))


def assert_group_aucs(found: Certificate) -> None:
    """Raw order: every group keeps its AUC."""
    off = max(abs(group.auc - group.auc_before) for group in found.groups)
    assert off <= (1e-9 if found.ties_reason is None else PIECES)


# ---- every threshold -----------------------------------------------------------------------------------------------


@settings(max_examples=13)
@given(WORLDS, PLAIN)
def test_drawn_ties_reach_the_bound(rows, how) -> None:
    """Within what was asked at every threshold, AUC equal to the bound, every group on its own hull."""
    done = made(rows, how | {"draw": "all"})
    found = certify(done)
    if done.solution is None:
        assert found.auc == found.auc_before
        return
    assert largest_gap(done, rows, how) <= allowed(how) + ROUNDING
    assert found.auc == pytest.approx(found.auc_bound, abs=1e-6)
    assert [group.auc for group in found.groups] == pytest.approx([group.auc_hull for group in found.groups], abs=1e-6)


@settings(max_examples=13)
@given(WORLDS, PLAIN)
def test_raw_order_costs_no_group_anything(rows, how) -> None:
    done = made(rows, how)
    found = certify(done)
    gap = largest_gap(done, rows, how)
    assert gap <= (allowed(how) if done.solution is not None else found.gap_before) + ROUNDING
    assert found.gap == pytest.approx(gap, abs=ROUNDING)
    assert found.auc <= found.auc_bound + 1e-9
    assert_group_aucs(found)


@settings(max_examples=15)
@given(populations(max_groups=5, max_rows=25).map(from_population), PLAIN, st.sampled_from(["few", "all"]))
def test_extreme_scores_and_weights(rows, how, draw) -> None:
    """Neighbouring numbers, 1e300, subnormals, weights from 1e-12 to 1e12 and of 0."""
    done = made(rows, how | {"draw": draw})
    if done.solution is not None:
        found = certify(done)
        assert largest_gap(done, rows, how) <= found.gap + ROUNDING <= allowed(how) + 2 * ROUNDING
        assert found.auc <= found.auc_bound + 1e-9


@settings(max_examples=8)
@given(worlds(max_groups=4, weighted=False), PLAIN)
def test_the_bound_lies_between_independent_polygons(rows, how) -> None:
    """Of linear programs over pairs of groups, with the hulls' vertices as variables."""
    done = made(rows, how)
    people, rate = done.raw, done.model.fairness
    hulls = [curve.hull for curve in people.curves]
    lines = [rate.of(hull.fpr, hull.tpr, prior) for hull, prior in zip(hulls, people.priors, strict=True)]
    support = partial(one_rate_support, hulls, lines, allowed(how), "ratio" in how)
    inner, outer = pooled_sandwich(support, people.weights0, people.weights1, directions=40)
    assert inner - 1e-9 <= certify(done).auc_bound <= outer + 1e-9
    assert outer - inner <= 0.02


# ---- no draws ------------------------------------------------------------------------------------------------------


def reached(error: DataError) -> Asked | None:
    """What an error says can be had without draws."""
    found = re.search(r"leave a (gap|ratio) of (\d(?:\.\d+)?)[.,]", str(error))
    assert found is not None
    if found[1] == "gap":
        return {"epsilon": float(found[2])}
    return {"ratio": float(found[2])} if float(found[2]) > 0 else None


@settings(max_examples=13)
@given(WORLDS, PLAIN, st.one_of(st.none(), WINDOWS))
def test_without_draws_scores_decide(rows, how, where) -> None:
    """A function of the score that never falls; and what an error offers instead can be had."""
    how = {**how, "draw": "never"} | ({} if where is None else {"where": where})
    try:
        done = made(rows, how)
    except DataError as error:
        offer = reached(error)
        if offer is None:
            return
        assert allowed(offer) > allowed(how)
        how = {key: value for key, value in how.items() if key not in ("epsilon", "ratio")} | offer
        done = made(rows, how)
    found = certify(done)
    assert [group.randomised_share for group in found.groups] == [0.0] * len(found.groups)
    first, last = (drawn(done.model, rows, np.full(len(rows.y), uniform)) for uniform in (0.0, 1 - 2.0**-53))
    assert (first == last).all()
    for name in done.model.names:
        own = rows.groups == name
        values, where_to = np.unique(rows.scores[own], return_inverse=True)
        fair = np.full(len(values), np.nan)
        fair[where_to] = first[own]
        assert (fair[where_to] == first[own]).all()
        assert (np.diff(fair) >= 0).all()
    if done.solution is not None:
        assert largest_gap(done, rows, how) <= allowed(how) + ROUNDING
        assert_group_aucs(found)


# ---- windows -------------------------------------------------------------------------------------------------------


def raw_parts(done: Fitted, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Who is before the window, and who after it."""
    levels = done.solution.levels
    assert isinstance(levels, Window)
    before, after = np.zeros((2, len(rows.y)), dtype=bool)
    for name, curve, begin, end in zip(done.model.names, done.raw.curves, levels.begin, levels.end, strict=True):
        point = np.searchsorted(-curve.thresholds, -rows.scores, side="left") + 1  # from which point on one is selected
        before |= (rows.groups == name) & (point <= begin)
        after |= (rows.groups == name) & (point > end)
    return before, after


@settings(max_examples=13)
@given(WORLDS, PLAIN, WINDOWS)
def test_outside_a_window_everybody_keeps_the_original_order(rows, how, where) -> None:
    how = how | {"where": where}
    done = made(rows, how)
    if done.solution is None:
        return
    assert largest_gap(done, rows, how) <= allowed(how) + ROUNDING
    found = certify(done)
    assert found.gap <= allowed(how) + ROUNDING
    assert found.auc <= found.auc_bound + 1e-9
    assert_group_aucs(found)
    fair, lowest = (drawn(done.model, rows, np.full(len(rows.y), uniform)) for uniform in (0.0, 1 - 2.0**-53))
    parts = raw_parts(done, rows)
    for part in parts:
        order = np.argsort(rows.scores[part], kind="stable")
        scores, own = rows.scores[part][order], fair[part][order]
        assert (own == lowest[part][order]).all()
        assert (np.sign(np.diff(own)) == np.sign(np.diff(scores))).all()
    for name in done.model.names:
        mine = [fair[(rows.groups == name) & part] for part in (parts[0], ~parts[0] & ~parts[1], parts[1])]
        ends = [(own.min(), own.max()) for own in mine if len(own)]
        assert all(high[0] >= low[1] for high, low in pairwise(ends))


@settings(max_examples=9)
@given(WORLDS, PLAIN)
def test_a_window_of_everything_is_no_window(rows, how) -> None:
    plain, whole = (made(rows, how | more) for more in ({}, {"where": (0, 1)}))
    assert (plain.solution is None) == (whole.solution is None)
    if plain.solution is not None:
        assert largest_gap(whole, rows, how) <= allowed(how) + ROUNDING
        assert whole.performance.auc == pytest.approx(plain.performance.auc, abs=2e-3)
    assert certify(whole).auc_bound == pytest.approx(certify(plain).auc_bound, abs=1e-12)


def test_a_wider_window_leaves_less_room() -> None:
    rows = normal_rows(5, n=3000)
    windows = [{"where": (0, 0.1)}, {"where": (0, 0.3)}, {"where": (0, 0.8)}, {}]
    for constraint in ONE_RATE:
        bounds = [certify(made(rows, asked({"epsilon": 0.01}, constraint, **more))).auc_bound for more in windows]
        assert (np.diff(bounds) < 0).all()


# ---- a tolerance for each rate ---------------------------------------------------------------------------------------


OWN = st.tuples(*[st.sampled_from([0.01, 0.05, 0.2, 1.0])] * 2)
DRAW = st.sampled_from(["few", "all"])


@settings(max_examples=15)
@given(WORLDS, OWN, DRAW)
def test_each_rate_keeps_its_own_tolerance(rows, own, draw) -> None:
    done = made(rows, {"epsilon": {"fpr": own[0], "tpr": own[1]}, "draw": draw})
    rates = group_rates(acceptance(done.model, rows, all_thresholds(done, rows)), rows)
    for rate, most in zip(rates, own, strict=True):
        assert np.ptp(rate, axis=1).max() <= most + ROUNDING
    found = certify(done)
    assert found.tolerances == own
    assert found.gap <= min(own) + ROUNDING
    assert found.auc <= found.auc_bound + 1e-9


@settings(max_examples=8)
@given(worlds(max_groups=4, weighted=False), st.sampled_from([0.01, 0.1, 1.0]), DRAW)
def test_equal_tolerances_are_the_larger_of_both_rates(rows, epsilon, draw) -> None:
    own = made(rows, {"epsilon": {"fpr": epsilon, "tpr": epsilon}, "draw": draw})
    one = made(rows, {"epsilon": epsilon, "norm": "inf", "draw": draw})
    assert own.performance.gap == one.performance.gap
    assert own.performance.auc == one.performance.auc
    uniforms = np.random.default_rng(0).random(len(rows.y))
    assert (drawn(own.model, rows, uniforms) == drawn(one.model, rows, uniforms)).all()
    assert certify(own).auc_bound == certify(one).auc_bound


@settings(max_examples=8)
@given(worlds(max_groups=4, weighted=False), st.sampled_from([0.02, 0.1, 0.3]), st.booleans())
def test_one_rate_left_free_is_a_constraint_on_the_other(rows, epsilon, positives) -> None:
    """A tolerance of 1 asks for nothing: the bound is that of the path, and the coupling falls hardly short of it."""
    own = {"fpr": 1.0, "tpr": epsilon} if positives else {"fpr": epsilon, "tpr": 1.0}
    both = certify(made(rows, {"epsilon": own, "draw": "all"}))
    one = certify(made(rows, asked({"epsilon": epsilon}, ONE_RATE[0 if positives else 1], draw="all")))
    assert both.auc_bound == pytest.approx(one.auc_bound, abs=1e-5)
    assert one.auc - 1e-3 <= both.auc <= one.auc + 1e-6


@settings(max_examples=8)
@given(worlds(max_groups=4, weighted=False), OWN)
def test_the_bound_of_own_tolerances_lies_between_independent_polygons(rows, own) -> None:
    done = made(rows, {"epsilon": {"fpr": own[0], "tpr": own[1]}, "draw": "all"})
    people = done.raw
    support = partial(fair_support, [curve.hull for curve in people.curves], own, "inf")
    inner, outer = pooled_sandwich(support, people.weights0, people.weights1, directions=40)
    assert inner - 1e-9 <= certify(done).auc_bound <= outer + 1e-6


# ---- new people ------------------------------------------------------------------------------------------------------


def seen_among(done: Fitted, rows: Rows) -> float:
    """The gap of many people, in expectation over the draw, at some hundred thresholds that can be told about."""
    fairness = done.model.fairness.told()
    fair = drawn(done.model, rows, np.random.default_rng(3).random(len(rows.y)))
    if done.solution is None:
        fair = rows.scores
    return threshold_gap(read_people(fair, rows.y, sensitive_features=rows.groups).exact, fairness).value


MANY = normal_rows(77, n=400_000)
EACH = [asked({"epsilon": 0.05}, constraint) for constraint in ONE_RATE]
EACH += [asked({"ratio": 0.8}, constraint) for constraint in ONE_RATE]
EACH += [{"epsilon": {"fpr": 0.05, "tpr": 0.15}}, asked({"epsilon": 0.05}, ONE_RATE[0], where=(0, 0.4))]


@pytest.mark.parametrize("how", EACH, ids=str)
@pytest.mark.parametrize("promise", ["fitted", "new"])
def test_what_is_said_of_new_people_is_about_what_they_show(how, promise) -> None:
    done = made(normal_rows(12, n=4000), how | {"promise": promise})
    ahead = outlook(done)
    shown = seen_among(done, MANY)
    assert abs(ahead.gap_estimate - shown) <= 3 * ahead.gap_standard_error + 0.02
    assert shown <= ahead.upper
    assert ahead.gap_before_estimate > ahead.gap_estimate
    assert 0.5 < ahead.auc_estimate < 1


@pytest.mark.parametrize("how", EACH, ids=str)
def test_a_promise_for_the_population(how) -> None:
    """More of it is allowed here, as few people promise little."""
    wide = {"epsilon": 0.15} if isinstance(how.get("epsilon"), float) else {"ratio": 0.5} if "ratio" in how else {}
    how = how | wide if wide else {"epsilon": {"fpr": 0.15, "tpr": 0.3}}
    done = made(normal_rows(12, n=15_000 if "ratio" in how else 4000), how | {"promise": "population"})
    ahead = outlook(done)
    assert ahead.upper <= done.model.epsilon + 1e-9
    assert done.target <= done.model.epsilon
    assert seen_among(done, MANY) <= done.model.epsilon


# ---- extremes --------------------------------------------------------------------------------------------------------


def uneven_rows() -> Rows:
    """Eight groups from two to 3,000 people, one with a single positive, one with equal scores, some weights of 0."""
    rng = np.random.default_rng(8)
    sizes = [2, 3, 5, 12, 40, 150, 600, 3000]
    group = np.repeat(np.arange(8), sizes)
    n = len(group)
    y = (rng.random(n) < np.linspace(0.1, 0.6, 8)[group]).astype(int)
    for g in range(8):
        own = np.flatnonzero(group == g)
        y[own[:2]] = 0, 1
    y[group == 4] = 0
    y[np.flatnonzero(group == 4)[7]] = 1
    scores = np.round(y + rng.normal(size=n) * (0.5 + 0.2 * group) + 0.1 * group, 2)
    scores[group == 3] = 0.5
    weights = rng.integers(0, 3, n).astype(float)
    for g in range(8):
        own = group == g
        weights[np.flatnonzero(own & (y == 1))[0]] = weights[np.flatnonzero(own & (y == 0))[0]] = 1.0
    return Rows(scores, y, np.array([f"group {g}" for g in group]), weights)


@pytest.mark.parametrize("constraint", ONE_RATE)
@pytest.mark.parametrize(
    "tolerance", [{"epsilon": 0.0}, {"epsilon": 0.03}, {"epsilon": 1.0}, {"ratio": 0.8}, {"ratio": 1.0}], ids=str
)
@pytest.mark.parametrize("more", [{}, {"draw": "all"}, {"where": (0.2, 0.2002)}, {"where": (0, 0.3)}], ids=str)
def test_uneven_groups(constraint, tolerance, more) -> None:
    rows, how = uneven_rows(), asked(tolerance, constraint, **more)
    done = made(rows, how)
    found = certify(done)
    assert largest_gap(done, rows, how, most=400) <= allowed(how) + ROUNDING
    assert found.gap <= allowed(how) + ROUNDING
    assert found.auc <= found.auc_bound + 1e-9
    if tolerance == {"epsilon": 1.0}:
        assert done.solution is None


@pytest.mark.parametrize("how", EACH[:6], ids=str)
def test_many_people(how) -> None:
    """Distinct scores by the hundred thousand: judged on fewer points, and exact all the same."""
    rows = normal_rows(4, n=100_000, groups=4)
    done = made(rows, how)
    found = certify(done)
    assert found.gap <= allowed(how) + ROUNDING
    assert found.gap > 0.9 * allowed(how)
    assert found.auc == pytest.approx(found.auc_bound, abs=1e-3)
    assert max(group.randomised_share for group in found.groups) <= (0.1 if "ratio" in how else 0.0)
    assert_group_aucs(found)


@pytest.mark.parametrize("constraint", ONE_RATE)
def test_counts_are_people(constraint) -> None:
    rows = normal_rows(9, n=2000, digits=1)
    key, count = np.unique(np.stack((rows.scores, rows.y, (rows.groups == "a"))), axis=1, return_counts=True)
    table = Rows(key[0], key[1].astype(int), np.where(key[2] == 1, "a", "b"), count.astype(float))
    for how in (asked({"epsilon": 0.02}, constraint), asked({"ratio": 0.9}, constraint)):
        one, other = made(rows, how), made(table, how)
        assert other.performance.gap == pytest.approx(one.performance.gap, abs=1e-9)
        assert other.performance.auc == pytest.approx(one.performance.auc, abs=1e-6)


def test_a_refused_ratio_names_a_window_that_helps() -> None:
    rng = np.random.default_rng(3)
    groups, y = np.repeat(["a", "b"], [67, 53]), rng.random(120) < 0.5
    people = read_people(rng.normal(size=120) + y + (groups == "a"), y, sensitive_features=groups)
    for where, helps in ((None, "where=(0.05, 1)"), ((0, 0.5), "where=(0.05, 0.5)"), ((0.1, 0.9), None)):
        asked = fitted_options(constraint="demographic_parity", ratio=0.999, draw="never", where=where)
        with pytest.raises(DataError, match="cannot be kept without draws") as error:
            fit_quietly(people, asked)
        assert ("window" in str(error.value)) == (helps is not None)
        assert helps is None or helps in str(error.value)


def test_a_ratio_for_new_people_is_bounded_where_it_is_looked_at() -> None:
    """Its gap is looked at from 5 % selected on: so must be the bound for scores within it."""
    rng = np.random.default_rng(4)
    groups, y = np.repeat(["a", "b"], 300), rng.random(600) < 0.4
    scores = rng.normal(size=600) + 1.5 * y + 0.8 * (groups == "a")
    people = read_people(scores, y, sensitive_features=groups)
    found = certify(fit_quietly(people, fitted_options(constraint="demographic_parity", ratio=0.7, promise="new")))
    asked = fitted_options(constraint="demographic_parity", ratio=0.7, where=(0.05, 1)).fairness
    assert isinstance(asked, OneRate)
    assert found.gap_before == threshold_gap(people.exact, asked).value
    assert found.auc <= found.auc_bound == rate_bound(people.exact, found.gap, asked)
