"""`method="froc"` end to end: within epsilon for all pairs, never above the optimum, and what it tells of itself."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from test_pipeline import (
    ROUNDING,
    Rows,
    acceptance,
    all_thresholds,
    largest_gap,
    normal_rows,
    real_rows,
    same_bits,
    worlds,
)

from fairroc import FairModel
from fairroc.core.constraint import equalized_odds
from fairroc.core.coupling import GROUP_COST
from fairroc.core.optimal import optimal
from fairroc.errors import DataError, FairrocWarning
from fairroc.fitting.certificate import certify
from fairroc.fitting.fit import Fitted, fit
from fairroc.options import FROC_QUERIES
from fairroc.people.door import read_people
from fairroc.text.certificate import certificate_text
from fitted_people import FairROC, FairROCClassifier, fitted_options
from real_scores import NAMES

STEPS = st.sampled_from([0.0, 0.01, 0.05, 0.3, 1.0])
QUERIES = st.sampled_from([2, 5, 20, None])
DRAW = st.sampled_from(["all", "few"])
ROWS = normal_rows(5, n=1500)


def done_by(method: str, rows: Rows, epsilon: float, queries: int | None = None, draw: str = "all") -> Fitted:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        columns = read_people(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=rows.weights)
        options = fitted_options(epsilon=epsilon, method=method, queries=queries, draw=draw)
        done = fit(columns, options, salt=7)
        return replace(done, model=FairModel.of(done.model))


# ---- promises ----------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(worlds(max_groups=6), STEPS, QUERIES, DRAW)
def test_within_epsilon_and_never_above_the_optimum(rows, epsilon, queries, draw):
    """2 to 6 groups, crossing curves, ties and weights: the exact gap over all pairs is within epsilon, and no group's
    AUC exceeds its highest fair curve at that very gap, nor the exact method's fit there."""
    done = done_by("froc", rows, epsilon, queries, draw)
    assume(done.solution is not None)
    gap, aucs = done.performance.gap, np.array(done.performance.group_aucs)
    assert gap <= epsilon + ROUNDING
    assert largest_gap(acceptance(done.model, rows, all_thresholds(done, rows)), rows, 1) <= epsilon + ROUNDING
    highest = optimal([curve.hull for curve in done.raw.curves], gap, equalized_odds(1)).curves
    assert (aucs <= np.array([curve.auc for curve in highest]) + 1e-9).all()
    best = done_by("optimal", rows, min(gap, epsilon))
    assert (aucs <= np.array(best.performance.group_aucs) + GROUP_COST).all()
    stated = certify(done)
    assert stated.auc <= stated.auc_bound + 1e-9


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_curves_that_cross_with_continuous_scores(groups):
    rows = normal_rows(8, n=2400, groups=groups)
    for epsilon in (0.02, 0.1):
        stated = certify(done_by("froc", rows, epsilon))
        assert stated.gap <= epsilon + ROUNDING
        assert stated.froc is not None and stated.froc.queries <= FROC_QUERIES
        for group in stated.groups:
            assert group.auc <= group.auc_fair + 1e-9


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.02, 0.05, 0.1])
@pytest.mark.parametrize("name", NAMES)
def test_real_scores(name, epsilon):
    """At its own gap the optimum on the same queries wins in every group; of all people's AUC only the bound holds."""
    rows = real_rows(name)
    done = done_by("froc", rows, epsilon)
    gap = done.performance.gap
    assert gap <= epsilon + ROUNDING
    best = done_by("optimal", rows, min(gap, epsilon), FROC_QUERIES)
    assert (np.array(best.performance.group_aucs) >= np.array(done.performance.group_aucs) - 1e-6).all()
    stated = certify(done)
    assert stated.auc <= stated.auc_bound
    assert stated.froc is not None
    for group, paper in zip(stated.groups, stated.froc.groups, strict=True):
        assert group.auc == pytest.approx(paper.auc_curve, abs=1e-4)
        assert paper.auc_curve <= paper.auc_optimal + 1e-9


def test_the_auc_of_all_people_can_exceed_that_of_the_optimum():
    """Adult, a forest, epsilon .05: highest group curves and the AUC of all people conflict; the bound stands."""
    rows = real_rows("adult_rf10")
    paper, best = (certify(done_by(method, rows, 0.05, FROC_QUERIES)) for method in ("froc", "optimal"))
    assert best.auc + 5e-4 < paper.auc < paper.auc_bound == best.auc_bound


# ---- the usual ways in and out -----------------------------------------------------------------------------


def test_a_default_number_of_queries_is_kept_in_the_model(tmp_path):
    post = FairROC(0.05, method="froc", draw="all", salt=3).fit(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups)
    assert post.queries is None
    assert (post.model_.method, post.model_.queries) == ("froc", FROC_QUERIES) == ("froc", 100)
    post.model_.save(tmp_path / "m.json")
    loaded, ids = FairModel.load(tmp_path / "m.json"), np.arange(len(ROWS.y))
    fair = post.transform(ROWS.scores, sensitive_features=ROWS.groups, ids=ids)
    assert same_bits(fair, loaded.transform(ROWS.scores, sensitive_features=ROWS.groups, ids=ids))
    assert (loaded.method, loaded.queries) == ("froc", 100)


def test_raw_order_where_epsilon_leaves_room():
    done = done_by("froc", ROWS, 0.3, draw="few")
    stated = certify(done)
    assert (stated.ties, done.model.ties) == ("order", "order")
    assert stated.gap <= 0.3 + ROUNDING
    assert stated.froc is not None and stated.froc.epsilon == stated.inner_epsilon <= 0.3


def test_classifier():
    x = np.stack((ROWS.scores, ROWS.groups == "b"), axis=1)
    classifier = FairROCClassifier(LogisticRegression(), 0.1, method="froc", draw="all", cv=3)
    classifier.fit(x, ROWS.y, sensitive_features=ROWS.groups)
    assert (classifier.model_.method, classifier.model_.queries) == ("froc", 100)
    assert classifier.certificate_.gap <= 0.1 + ROUNDING
    assert classifier.certificate_.froc is not None


@pytest.mark.parametrize("norm", ["inf", float("inf")])
def test_only_norm_1(norm):
    with pytest.raises(DataError, match=r"norm must be 1 for method='froc'.*, got 'inf'\. Take norm=1, or method='opt"):
        fitted_options(epsilon=0.1, norm=norm, method="froc")


def test_a_fair_score_stays_as_it_is():
    """Algorithm 1 would move fair queries to the boundary; here nothing is lost, and there is no run to tell of."""
    done = done_by("froc", ROWS, 2.0)
    assert done.model.unchanged
    stated = certify(done)
    assert stated.froc is None and stated.to_dict()["froc"] is None
    assert "Algorithm 1" not in certificate_text(stated)
    assert certify(done_by("optimal", ROWS, 0.1)).froc is None


# ---- the report --------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(worlds(max_groups=4), STEPS, QUERIES)
def test_the_report_is_whole(rows, epsilon, queries):
    """Every query is counted once, arrays have one value for each query, and all of it is JSON."""
    done = done_by("froc", rows, epsilon, queries)
    assume(done.solution is not None)
    stated = certify(done)
    report = stated.froc
    assert report is not None
    assert json.loads(json.dumps(stated.to_dict(), allow_nan=False))["froc"]["queries"] == report.queries
    assert len(report.gaps) == len(report.thresholds) == report.queries <= (queries or FROC_QUERIES)
    assert report.gap == max(report.gaps)
    assert report.unfair == sum(gap > report.epsilon + ROUNDING for gap in report.gaps)
    for group, judged in zip(report.groups, stated.groups, strict=True):
        assert group.group == judged.group
        counted = group.upshifts + group.leftshifts + group.cutshifts + group.hypograph + group.kept
        assert counted == len(group.shifts) == report.queries
        assert group.moved == report.queries - group.shifts.count("fixed")
        assert group.assumption_42 == group.moved - len({*group.not_between, *group.many_cuts})
        assert len(group.fpr_slopes) == len(group.tpr_slopes) == report.queries - 1
        assert judged.pla_loss is not None and judged.pla_loss.bound == group.losses.pla_bound
        assert judged.auc_before - group.auc_queries == pytest.approx(group.losses.pla, abs=1e-12)
        assert abs(group.losses.pla) <= group.losses.pla_bound + 1e-12


def test_slopes_do_not_depend_on_the_scale_of_the_scores():
    """They are per range of the thresholds."""
    rows = normal_rows(9, n=400, digits=1)
    other = Rows(1024 * rows.scores, rows.y, rows.groups)
    first, second = (certify(done_by("froc", part, 0.1, 16)).froc for part in (rows, other))
    assert first is not None and second is not None
    for a, b in zip(first.groups, second.groups, strict=True):
        assert a.fpr_slopes == pytest.approx(b.fpr_slopes, abs=1e-9)
        assert sum(a.tpr_slopes) <= 15 + 1e-9


@pytest.mark.parametrize("method", ["froc", "optimal"])
def test_the_papers_bound_has_the_queries_asked_for(method):
    """Ten distinct scores, 1,001 queries: k is 1,001 in u_T u_F / 2k, whatever decides alike."""
    rows = normal_rows(9, n=400, digits=0)
    stated = certify(done_by(method, rows, 0.05, 1001))
    for group in stated.groups:
        mine = [rows.scores[(rows.groups == group.group) & (rows.y == label)] for label in (0, 1)]
        most = [np.unique(part, return_counts=True)[1].max() / len(part) for part in mine]
        assert group.pla_loss is not None
        assert group.pla_loss.paper == pytest.approx(1001 * most[0] * most[1] / 2)


def test_no_negative_zero():
    """Adult: the lower group loses nothing, to rounding."""
    stated = certify(done_by("froc", real_rows("adult_lr"), 0.05))
    assert "-0.000" not in certificate_text(stated)


def test_text_tells_the_report():
    stated = certify(done_by("froc", normal_rows(8, n=900, groups=3), 0.05))
    report, text = stated.froc, certificate_text(stated)
    assert report is not None
    assert f"Algorithm 1 at {report.queries} distinct queries and epsilon {report.epsilon:.4g}; " in text
    assert f"{report.gap:.3f}, {report.unfair} of {report.queries} above epsilon" in text
    for group in report.groups:
        figures = (group.auc_queries, group.auc_points, group.auc_curve, group.auc_optimal)
        assert "  ".join(f"{figure:.3f}" for figure in figures[:1]) in text
        assert f"{group.assumption_42} of {group.moved}" in text
        assert f"{group.losses.auc:.3f}" in text
