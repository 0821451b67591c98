"""The frontier: every row is what a fit at that epsilon would do."""

from __future__ import annotations

import json
import sys
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from test_pipeline import DRAW, EPSILONS, Rows, acceptance, all_thresholds, fitted, group_rates, normal_rows, worlds

from fairroc import Frontier
from fairroc.errors import FairrocWarning
from fairroc.fitting.frontier import DEFAULT_EPSILONS, frontier_of, traced
from fairroc.people.door import read_people
from fairroc.text.frontier import frontier_text
from fitted_people import FairROC, fitted_options, frontier
from refusals import refuses
from strategies import NORMS

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


def frontier_rows(rows: Rows, **how) -> Frontier:
    return frontier(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=rows.weights, **how)


def post(rows: Rows, **how) -> FairROC:
    return FairROC(salt=1, **how).fit(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=rows.weights)


# ---- the same as a fit -------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(worlds(max_groups=4), EPSILONS, NORMS, DRAW)
def test_a_point_is_the_certificate_of_a_fit(rows, epsilon, norm, draw) -> None:
    point = frontier_rows(rows, epsilons=epsilon, norm=norm, draw=draw).points[0]
    certificate = post(rows, epsilon=epsilon, norm=norm, draw=draw).certificate_
    for name in ("epsilon", "ties", "inner_epsilon", "unchanged", "levels"):
        assert getattr(point, name) == getattr(certificate, name)
    assert point.auc == pytest.approx(certificate.auc, abs=1e-9)
    assert point.gap == pytest.approx(certificate.gap, abs=1e-9)
    assert point.auc_bound == pytest.approx(certificate.auc_bound, abs=2e-3)
    assert point.auc_bound >= point.auc - 1e-5 or point.unchanged
    for found, group in zip(point.groups, certificate.groups, strict=True):
        assert found.group == group.group
        assert found.auc == pytest.approx(group.auc, abs=1e-9)
        assert found.randomised_share == pytest.approx(group.randomised_share, abs=1e-12)
        assert found.transport_share == pytest.approx(group.transport_share, abs=1e-12)


@pytest.mark.parametrize("how", [{}, {"promise": "new"}, {"draw": "all"}, {"draw": "never"}])
@pytest.mark.parametrize("groups", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_every_row_is_the_fit_with_the_same_options(how, groups) -> None:
    """However many epsilons are asked for beside it: nothing that was solved for one leaks into another."""
    rows = normal_rows(6, n=400, groups=groups)
    found = frontier_rows(rows, epsilons=[0.03, 0.11, 0.2, 0.5, 2.0], bound=False, **how)
    assert found.promise == how.get("promise", "fitted")
    assert found.points[-1].unchanged
    for point in found.points:
        done = post(rows, epsilon=point.epsilon, **how)
        certificate, ahead = done.certificate_, done.outlook_
        assert (point.ties, point.unchanged) == (certificate.ties, certificate.unchanged)
        assert (point.auc, point.gap) == pytest.approx((certificate.auc, certificate.gap), abs=1e-9)
        assert (point.gap_estimate, point.auc_estimate) == (ahead.gap_estimate, ahead.auc_estimate)


@pytest.mark.parametrize("draw", ["few", "all"])
def test_every_row_of_many_groups_is_the_fit_with_the_same_options(draw) -> None:
    """Guides and bounds of all epsilons are found together; solutions of some epsilons are those of others."""
    rng = np.random.default_rng(3)
    groups, y = rng.integers(0, 7, 2100), rng.integers(0, 2, 2100)
    scores = y * (1 + 0.1 * groups) + (1 + 0.2 * groups) * rng.normal(size=2100)
    rows = Rows(scores, y, np.array(list("abcdefg"))[groups])
    found = frontier_rows(rows, epsilons=[0.05, 0.2, 0.21, 0.3], draw=draw)
    assert not found.points[-1].unchanged
    for point in found.points:
        certificate = post(rows, epsilon=point.epsilon, draw=draw).certificate_
        assert (point.auc, point.gap) == pytest.approx((certificate.auc, certificate.gap), abs=1e-12)
        assert (point.ties, point.levels, point.inner_epsilon) == (
            certificate.ties,
            certificate.levels,
            certificate.inner_epsilon,
        )
        assert point.auc_bound == pytest.approx(certificate.auc_bound, abs=2e-5)


def test_solutions_are_not_kept() -> None:
    """Those of fifty epsilons would need gigabytes."""
    rows, seen = normal_rows(0, n=400), []
    people = read_people(rows.scores, rows.y, sensitive_features=rows.groups)
    options = fitted_options(epsilon=0, draw="all")

    def keep(epsilon, solution) -> float:
        seen.append(weakref.ref(solution))
        return solution.inner_epsilon

    found = traced(people, options, epsilons=np.arange(25) / 100, keep=keep)
    assert found.kept == {point.epsilon: point.inner_epsilon for point in found.frontier.points}
    assert len(seen) == 25 and sum(each() is not None for each in seen) <= 12


ONE_RATE = [
    {"constraint": "equal_opportunity"},
    {"constraint": "predictive_equality", "where": (0.1, 0.6)},
    {"constraint": "demographic_parity", "draw": "never"},
    {"constraint": "demographic_parity", "promise": "new"},
    {"constraint": "equal_opportunity", "draw": "all"},
]


@pytest.mark.parametrize("how", ONE_RATE, ids=str)
def test_every_row_of_one_rate_is_the_fit_with_the_same_options(how) -> None:
    rows = normal_rows(6, n=400, groups=3)
    found = frontier_rows(rows, epsilons=[0.08, 0.15, 1.0], **how)
    assert [point.epsilon for point in found.points] == [0.08, 0.15, 1.0]
    same_as_fits(found, rows, how)


def same_as_fits(found: Frontier, rows: Rows, how) -> None:
    for point in found.points:
        goal = {"epsilon": point.epsilon} if point.ratio is None else {"ratio": point.ratio}
        done = post(rows, **goal, **how)
        certificate, ahead = done.certificate_, done.outlook_
        assert (point.ties, point.unchanged) == (certificate.ties, certificate.unchanged)
        assert (point.auc, point.gap) == pytest.approx((certificate.auc, certificate.gap), abs=1e-9)
        assert found.before.gap == pytest.approx(certificate.gap_before, abs=1e-12)
        assert (point.gap_estimate, point.auc_estimate) == (ahead.gap_estimate, ahead.auc_estimate)
        assert point.randomised_share == 0 or how.get("draw") != "never"
        if how.get("promise") != "new":
            assert point.auc_bound == pytest.approx(certificate.auc_bound, abs=1e-9)


@pytest.mark.parametrize("how", [{}, {"promise": "new"}, {"where": (0.2, 0.9)}], ids=str)
def test_ratios_are_those_of_the_fit(how) -> None:
    rows, how = normal_rows(6, n=400), how | {"constraint": "demographic_parity"}
    found = frontier_rows(rows, ratios=[0.9, 0.7, 0.9], **how)
    assert [point.ratio for point in found.points] == [0.9, 0.7]
    assert [point.epsilon for point in found.points] == [1 - 0.9, 1 - 0.7]
    same_as_fits(found, rows, how)
    text = frontier_text(found)
    assert "Demographic parity: of all people" in text and "A gap is what the smallest ratio lacks of 1" in text
    assert found.to_columns()["ratio"] == [0.9, 0.7]


def test_epsilons_that_need_draws_are_left_out() -> None:
    """They are those that a fit refuses; a warning and the text say what can be reached."""
    rows, how = normal_rows(6, n=400), {"constraint": "equal_opportunity", "draw": "never"}
    with pytest.warns(FairrocWarning, match=r"2 epsilons \(0 to 0.001\) cannot be kept without draws"):
        found = frontier_rows(rows, epsilons=[0, 0.001, 0.1], **how)
    assert found.left_out == (0.0, 0.001) and [point.epsilon for point in found.points] == [0.1]
    assert 0.001 < found.reached < 0.1
    assert f"leave a gap of {found.reached:.4f}" in frontier_text(found)
    for epsilon in found.left_out:
        refuses("cannot be kept without draws", post, rows, epsilon=epsilon, **how)
    refuses("cannot be kept without draws", frontier_rows, rows, epsilons=[0, 0.001], **how)


@pytest.mark.parametrize(("where", "as_ratio"), [(None, False), ((0.3, 0.5), False), ((0.3, 0.5), True)])
def test_the_default_epsilons_go_to_the_gap_of_the_constraint(where, as_ratio) -> None:
    """That gap is the largest over thresholds that count, each looked at person by person."""
    rows = normal_rows(2, n=200)
    gaps = [0.0]
    for threshold in np.unique(rows.scores):
        chosen = rows.scores >= threshold
        rates = [chosen[(rows.groups == group) & (rows.y == 1)].mean() for group in np.unique(rows.groups)]
        if where is None or where[0] <= chosen.mean() <= where[1]:
            gaps.append(1 - min(rates) / max(rates) if as_ratio else max(rates) - min(rates))
    how = {"ratios": [0.5]} if as_ratio else {}
    found = frontier_rows(rows, constraint="equal_opportunity", where=where, bound=False, **how)
    assert found.before.gap == pytest.approx(max(gaps), abs=1e-12)
    if not as_ratio:
        last = found.points[-1]
        assert last.unchanged and 0 <= last.epsilon - max(found.before.gap, found.before.gap_estimate) < 1e-4


def test_a_promise_for_the_population_has_no_frontier() -> None:
    refuses("'new' or 'fitted' for a frontier", frontier_rows, normal_rows(0, n=300), promise="population")


def test_epsilons_out_of_reach_of_new_people_are_told() -> None:
    found = frontier_rows(normal_rows(3, n=300), promise="new", epsilons=[0.0, 2.0], bound=False)
    assert "New people's gap is above epsilon at 1 of 2 epsilons" in frontier_text(found)


def test_epsilons_at_which_ties_are_drawn_are_told() -> None:
    found = frontier_rows(normal_rows(3, n=300), epsilons=[0.0, 2.0], bound=False)
    assert "Ties of all groups are drawn at 1 of 2 epsilons" in frontier_text(found, verbose=True)


@pytest.mark.parametrize("draw", ["all", "few"])
@pytest.mark.parametrize("how", [{}, {"queries": 40}, {"method": "froc"}, {"method": "froc", "queries": 30}])
def test_every_method_is_that_of_the_fit(how, draw) -> None:
    rows = normal_rows(3, n=3000)
    for point in frontier_rows(rows, epsilons=[0.05, 0.15], draw=draw, bound=False, **how).points:
        certificate = post(rows, epsilon=point.epsilon, draw=draw, **how).certificate_
        assert (point.ties, point.levels, point.auc_bound) == (certificate.ties, certificate.levels, None)
        assert (point.auc, point.gap) == pytest.approx((certificate.auc, certificate.gap), abs=1e-9)


def test_thin_curves_give_way_to_exact_ones_where_they_matter(monkeypatch) -> None:
    """With very many scores the raw order is judged at all of them, as the certificate does."""
    monkeypatch.setattr("fairroc.people.sample.WHOLE", 1 << 12)
    monkeypatch.setattr("fairroc.people.sample.FINE", 1 << 11)
    rows = normal_rows(1, n=20_000)
    for draw, ties in (("all", "draw"), ("few", "order")):
        point = frontier_rows(rows, epsilons=0.2, draw=draw).points[0]
        certificate = post(rows, epsilon=0.2, draw=draw).certificate_
        assert point.ties == certificate.ties == ties
        assert (point.auc, point.gap) == pytest.approx((certificate.auc, certificate.gap), abs=1e-9)


@settings(max_examples=15)
@given(worlds(max_groups=4), EPSILONS, DRAW)
def test_accuracy_is_the_best_over_all_thresholds(rows, epsilon, draw) -> None:
    """Against acceptance_rate at every threshold there is."""
    point = frontier_rows(rows, epsilons=epsilon, draw=draw, bound=False).points[0]
    done = fitted(rows, epsilon, draw=draw)
    accepted = acceptance(done.model, rows, all_thresholds(done, rows))
    accepted = np.vstack((np.zeros(len(rows.y)), accepted))
    mass = rows.mass / rows.mass.sum()
    right = accepted @ (mass * rows.y) + (1 - accepted) @ (mass * (1 - rows.y))
    assert point.accuracy == pytest.approx(right.max(), abs=1e-9)
    tpr, fpr = (accepted @ (mass * part) / mass[part == 1].sum() for part in (rows.y, 1 - rows.y))
    assert point.balanced_accuracy == pytest.approx((1 + tpr - fpr).max() / 2, abs=1e-9)


def test_disparate_impact_is_that_of_the_most_accurate_threshold() -> None:
    rows = normal_rows(5, n=2000)
    point = frontier_rows(rows, epsilons=0.1, draw="all").points[0]
    done = fitted(rows, 0.1)
    accepted = acceptance(done.model, rows, all_thresholds(done, rows))
    right = accepted @ (rows.y == 1) + (1 - accepted) @ (rows.y == 0)
    shares = [accepted[right.argmax(), rows.groups == g].mean() for g in ("a", "b")]
    assert point.disparate_impact == pytest.approx(min(shares) / max(shares), abs=1e-6)
    assert point.selection_rate == pytest.approx(accepted[right.argmax()].mean(), abs=1e-6)


# ---- the trade-off -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1, "inf"])
@pytest.mark.parametrize("groups", [2, 3])
def test_more_room_never_costs(groups, norm) -> None:
    """The groups' fair curves and the bound rise with epsilon; the pooled AUC too, up to what the coupling loses."""
    found = frontier_rows(normal_rows(2, n=3000, groups=groups), norm=norm, draw="all")
    changed = [point for point in found.points if not point.unchanged]
    for g in range(groups):
        assert (np.diff([point.groups[g].auc for point in changed]) >= -2e-4).all()
    assert (np.diff([point.auc for point in changed]) >= -2e-3).all()
    bounds = np.array([point.auc_bound for point in found.points if point.auc_bound is not None])
    assert (np.diff(bounds) >= -2e-5).all()
    assert len(bounds) == len(found.points)
    assert all(point.auc <= point.auc_bound + 1e-9 for point in changed if point.auc_bound is not None)
    assert all(point.gap <= point.epsilon for point in found.points[:-1])


def test_the_default_epsilons_end_with_the_score_as_it_is() -> None:
    rows = normal_rows(0, n=800)
    found = frontier_rows(rows)
    assert (len(found.points), found.draw, found.norm, found.rows) == (DEFAULT_EPSILONS, "few", 1, 800)
    assert found.points[0].epsilon == 0.0
    assert 0 <= found.points[-1].epsilon - max(found.before.gap, found.before.gap_estimate) < 1e-4
    assert found.points[-1].unchanged and found.points[-1].holds
    assert (found.points[-1].auc, found.points[-1].randomised_share) == (found.before.auc, 0.0)
    certificate = post(rows, epsilon=0.1).certificate_
    assert (found.before.auc, found.before.gap) == pytest.approx((certificate.auc_before, certificate.gap_before))


def test_a_score_without_a_gap_has_one_point() -> None:
    found = frontier([0.5] * 8, [0, 1] * 4, sensitive_features=["a"] * 4 + ["b"] * 4)
    assert [(point.epsilon, point.unchanged) for point in found.points] == [(0.0, True)]
    assert found.points[0].disparate_impact in (None, 1.0)


def test_epsilons_are_sorted_and_counted_once() -> None:
    found = frontier_rows(normal_rows(0, n=400), epsilons=[0.2, 0, 0.2, 0.05])
    assert [point.epsilon for point in found.points] == [0.0, 0.05, 0.2]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"epsilons": [0.1, 3]}, r"epsilon must be between 0 and 2"),
        ({"epsilons": ["x"]}, r"epsilon must be between 0 and 2"),
        ({"epsilons": []}, "at least one number"),
        ({"norm": 2}, "norm must be 1 or 'inf'"),
        ({"ratios": [0.8]}, "ratio must be None with constraint='equalized_odds'"),
        ({"ratios": [0.8], "epsilons": 0.1, "constraint": "equal_opportunity"}, "give either epsilons or ratios"),
        ({"ratios": [], "constraint": "equal_opportunity"}, "ratios must hold at least one number"),
        ({"ratios": [0.8, 2], "constraint": "equal_opportunity"}, "ratio must be above 0 and at most 1, got 2"),
        ({"draw": "toss"}, "draw must be 'few', 'never' or 'all'"),
        ({"method": "froc", "norm": "inf"}, "norm must be 1 for method='froc'"),
    ],
)
def test_what_cannot_be_is_said(how, words) -> None:
    refuses(words, frontier_rows, normal_rows(0, n=100), **how)


# ---- forms -------------------------------------------------------------------------------------------------


def test_forms() -> None:
    found = frontier_rows(normal_rows(0, n=400), epsilons=[0, 0.1])
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [point["epsilon"] for point in data["points"]] == [0.0, 0.1]
    frame = found.to_frame()
    assert list(frame["auc[b]"]) == [point.groups[1].auc for point in found.points]
    assert list(frame.columns) == list(found.to_columns())


def test_a_frame_needs_pandas(monkeypatch) -> None:
    found = frontier_rows(normal_rows(0, n=400), epsilons=0.1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    refuses("to_columns", found.to_frame)


def test_progress_is_told_of_candidates_and_after_every_epsilon() -> None:
    rows, told = normal_rows(0, n=400), []
    columns = read_people(rows.scores, rows.y, sensitive_features=rows.groups)
    options = fitted_options(epsilon=0, promise="new")
    frontier_of(columns, options, epsilons=[0, 0.1, 0.2], progress=lambda *at: told.append(at))
    done = [at for at, _ in told]
    assert {total for _, total in told} == {100} and done == sorted(done) and done[-3:] == [60, 80, 100]
    assert len({at for at in done if 20 <= at <= 40}) > 3


def test_rates_within_epsilon_at_the_threshold_of_best_accuracy() -> None:
    """The pipeline's own measure agrees with the frontier's gap."""
    rows = normal_rows(4, n=1000)
    done = fitted(rows, 0.1)
    fpr, tpr = group_rates(acceptance(done.model, rows, all_thresholds(done, rows)), rows)
    gap = (np.abs(fpr[:, 0] - fpr[:, 1]) + np.abs(tpr[:, 0] - tpr[:, 1])).max()
    assert frontier_rows(rows, epsilons=0.1, draw="all").points[0].gap == pytest.approx(gap, abs=1e-9)


def test_words_of_ratios_and_of_no_draws() -> None:
    """No epsilon where ratios were asked for, no draw where nobody is drawn, and 5 % only where that is news."""
    rng = np.random.default_rng(7)
    groups, y = rng.choice(["a", "b"], 400), rng.random(400) < 0.4
    scores = rng.normal(size=400) + y + 0.6 * (groups == "a")
    asked = {"sensitive_features": groups, "constraint": "demographic_parity"}
    new = frontier_text(frontier(scores, y, ratios=[0.999], promise="new", **asked))
    assert "the ratio is meant for new people" in new and "at 1 of 1 ratios" in new and "epsilon" not in new
    assert "All are measured where 5% of people" in new
    never = frontier_text(frontier(scores, y, ratios=[0.6], draw="never", where=(0.1, 1), **asked))
    assert "over the draw" not in never and "5% of people" not in never
    points = frontier(scores, y, ratios=[0.5, 0.1], **asked).points
    assert [point.ratio for point in points] == [0.5, 0.1]


@settings(max_examples=10)
@given(worlds(max_groups=4), EPSILONS, DRAW)
def test_many_points_are_figured_as_few_are(rows, epsilon, draw) -> None:
    """Sums over all groups tell what a look at all groups at all thresholds does."""
    rng = np.random.default_rng(0)
    rows = replace(rows, weights=rng.uniform(0.5, 2.0, len(rows.y)))  # no two thresholds are as accurate
    few = frontier_rows(rows, epsilons=epsilon, draw=draw, bound=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairroc.core.realised.MOST", 0)
        many = frontier_rows(rows, epsilons=epsilon, draw=draw, bound=False)
    for one, other in ((few.before, many.before), (few.points[0], many.points[0])):
        for name in ("gap", "auc", "accuracy", "balanced_accuracy", "selection_rate"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-12)
        assert (one.disparate_impact or 0.0) == pytest.approx(other.disparate_impact or 0.0, abs=1e-9)
        assert [g.auc for g in one.groups] == pytest.approx([g.auc for g in other.groups], abs=1e-12)


def test_tied_people_count_one_half_in_groups_of_many_scores(monkeypatch) -> None:
    """All share one fair score: nobody stands above anybody, however the figures are made."""
    monkeypatch.setattr("fairroc.core.realised.MOST", 0)
    found = frontier([0.7, 0.2, 0.7, 0.2, 0.2, 0.7], [1, 0, 0, 1, 0, 1], sensitive_features=[*"aaabbb"],
                     epsilons=0.0, draw="never", bound=False)  # fmt: skip
    point = found.points[0]
    assert (point.auc, point.gap, [group.auc for group in point.groups]) == (0.5, 0.0, [0.5, 0.5])
