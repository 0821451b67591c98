"""Fit: parameters, warnings, query models and what is kept of a fit."""

from __future__ import annotations

import dataclasses
import re
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_pipeline import (
    EPSILONS,
    ROUNDING,
    Rows,
    acceptance,
    all_thresholds,
    columns_of,
    fitted,
    largest_gap,
    normal_rows,
    worlds,
)

from fairroc import FairModel, ScoreCounts
from fairroc.core.realised import performance, realise
from fairroc.core.roc import query_thresholds, roc_curve
from fairroc.errors import DataError, FairrocWarning, SmallGroupWarning
from fairroc.fitting.certificate import certify
from fairroc.fitting.fit import Fitted, fit
from fairroc.fitting.solver import Solver
from fairroc.fitting.solving import Solution
from fairroc.people import sample
from fairroc.people.door import read_people
from fitted_people import FairROC, fit_counts, fitted_options
from strategies import NORMS

ROWS = normal_rows(41, n=600)


def raw_order(done: Fitted) -> Solution:
    """What the same fit takes where no walk is looked for."""
    solver = Solver(done.people, done.options)
    return next(solver._with_draws(solver._goal(done.options.epsilon)))


# ---- parameters --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epsilon": -0.1}, r"epsilon must be between 0 and 2.*-0\.1"),
        ({"epsilon": 2.5}, r"epsilon must be between 0 and 2.*2\.5"),
        ({"epsilon": float("nan")}, r"epsilon must be between 0 and 2.*nan"),
        ({"epsilon": "small"}, r"epsilon must be between 0 and 2.*'small'"),
        ({"epsilon": True}, r"epsilon must be between 0 and 2.*True"),
        ({"norm": 2}, "norm must be 1 or 'inf' to fit, got 2"),
        ({"norm": True}, "norm must be 1 or 'inf' to fit, got True"),
        ({"method": "best"}, "method must be 'optimal' or 'froc', got 'best'"),
        ({"draw": "coin"}, "draw must be 'few', 'never' or 'all', got 'coin'"),
        ({"hash": "md5"}, "hash must be 'xxh64' or 'blake2b', got 'md5'"),
        ({"queries": 1}, r"queries must be a whole number from 2 to 10,000,000 \(or None for all scores\), got 1"),
        ({"queries": 2.5}, "queries must be a whole number.*got 2.5"),
        ({"queries": "many"}, "queries must be a whole number.*got 'many'"),
        ({"queries": float("nan")}, "queries must be a whole number.*got nan"),
        ({"queries": float("inf")}, "queries must be a whole number.*got inf"),
        ({"queries": True}, "queries must be a whole number.*got True"),
        ({"min_class_rows": 0}, "min_class_rows must be a whole number of at least 1, got 0"),
        ({"min_class_rows": "two"}, "min_class_rows must be a whole number of at least 1, got 'two'"),
    ],
)
def test_wrong_parameters(wrong, words):
    with pytest.raises(DataError, match=words):
        fitted_options(**{"epsilon": 0.1, "draw": "all", **wrong})


@pytest.mark.parametrize(("came", "kept"), [(np.int64(7), 7), (7.0, 7), (None, None)])
def test_queries_of_any_whole_kind(came, kept):
    got = fitted_options(epsilon=0.1, draw="all", queries=came).queries
    assert got == kept
    assert type(got) is type(kept)


@pytest.mark.parametrize(("came", "kept"), [("inf", "inf"), (float("inf"), "inf"), ("1", 1), (1.0, 1)])
def test_norms_of_any_spelling(came, kept):
    assert fitted_options(epsilon=0.1, draw="all", norm=came).norm == kept


@pytest.mark.parametrize("salt", [2**63, -(2**63) - 1, 1.5, "7"])
def test_salt_is_checked_when_fitting(salt):
    with pytest.raises(DataError, match=re.escape(f"salt must be a signed 64-bit integer, got {salt!r}")):
        fit(columns_of(ROWS), fitted_options(epsilon=0.1, draw="all"), salt=salt)


def test_options_and_results_are_frozen():
    done = fitted(ROWS, 0.1)
    for thing, field in (
        (done, "model"),
        (done.options, "epsilon"),
        (done.population, "curves"),
        (done.solution, "ties"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, field, None)


# ---- warnings and refusals ---------------------------------------------------------------------------------


def test_small_groups_are_warned_of_with_numbers():
    """5 rows of a class: the Dvoretzky-Kiefer-Wolfowitz half width at 95 % is sqrt(ln 40 / 10)."""
    small = Rows(
        np.append(ROWS.scores, np.arange(10.0)),
        np.append(ROWS.y, np.tile([0, 1], 5)),
        np.append(ROWS.groups, np.full(10, "tiny")),
    )
    width = np.sqrt(np.log(40) / 10)
    with pytest.warns(SmallGroupWarning, match=rf"group 'tiny' has 5 rows with label 0.*±{width:.2f} only"):
        fit(columns_of(small), fitted_options(epsilon=0.1, draw="all"), salt=1)
    with pytest.raises(DataError, match=r"group 'tiny' has 5 rows with label 0.*at least 6 of each label"):
        fit(columns_of(small), fitted_options(epsilon=0.1, draw="all", min_class_rows=6), salt=1)


def test_inverted_groups_are_warned_of_with_their_auc():
    flipped = Rows(np.where(ROWS.groups == "b", -ROWS.scores, ROWS.scores), ROWS.y, ROWS.groups)
    mine = flipped.groups == "b"
    auc = roc_curve(flipped.scores[mine], flipped.y[mine] == 1).auc
    assert auc < 0.4
    with pytest.warns(FairrocWarning, match=rf"AUC below 0\.5 in group 'b' \({auc:.3f}\)") as said:
        fit(columns_of(flipped), fitted_options(epsilon=0.1, draw="all"), salt=1)
    assert "Nothing is flipped" in said[0].message.detail


def test_good_data_is_fitted_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "expect a gap of about")  # of new people, who are few here
        done = fit(columns_of(ROWS), fitted_options(epsilon=0.2, draw="all"), salt=1)
    assert not done.model.unchanged


# ---- query models ------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(worlds(), EPSILONS, NORMS, st.sampled_from([2, 3, 7, 40]))
def test_query_models_are_fair_at_all_thresholds(rows, epsilon, norm, queries):
    """Although they look at a few thresholds only."""
    done = fitted(rows, epsilon, norm, "all", queries)
    accepted = acceptance(done.model, rows, all_thresholds(done, rows))
    assert largest_gap(accepted, rows, norm) <= epsilon + ROUNDING
    assert certify(done).gap <= epsilon + ROUNDING


@settings(max_examples=20)
@given(worlds(), NORMS, st.sampled_from([2, 3, 7]))
def test_a_query_model_is_the_identity_only_if_the_raw_score_is_fair(rows, norm, queries):
    """Thresholds between the queries may be far apart although the queries agree."""
    gap = certify(fitted(rows, 2.0, norm)).gap_before
    assume(gap > 1e-9)
    assert fitted(rows, min(gap, 2.0), norm, "all", queries).model.unchanged == fitted(rows, gap, norm).model.unchanged
    assert not fitted(rows, gap * (1 - 1e-9), norm, "all", queries).model.unchanged


def test_queries_agree_but_the_score_is_not_fair():
    """Equal rates at both queries, different ones in between."""
    scores = np.concatenate(([0.0, 0.1, 0.2, 1.0], [0.0, 0.7, 0.8, 1.0]))
    rows = Rows(scores, np.tile([0, 1, 0, 1], 2), np.repeat(["a", "b"], 4))
    assert certify(fitted(rows, 2.0)).gap_before > 0.9
    assert not fitted(rows, 0.1, queries=2).model.unchanged


@settings(max_examples=20)
@given(worlds(weighted=False), st.sampled_from([2, 5, 30]))
def test_pla_loss_bounds_what_queries_miss(rows, queries):
    """The AUC of the polygon through the queries is within the stated bound of the raw AUC, in every group."""
    done = fitted(rows, 0.0, queries=queries)
    for group, curve in zip(certify(done).groups, done.population.curves, strict=True):
        assert abs(curve.auc - group.auc_before) <= group.pla_loss.bound + 1e-12
        assert group.pla_loss.paper >= 0


def test_queries_are_equidistant_over_the_range_of_the_scores():
    grid = query_thresholds(ROWS.scores.min(), ROWS.scores.max(), 9)
    assert np.diff(grid) == pytest.approx(np.full(8, np.ptp(ROWS.scores) / 8))
    columns = columns_of(ROWS)
    for curve in columns.queried(9).curves:
        assert set(curve.thresholds) <= set(grid)
    assert certify(fitted(ROWS, 0.1)).groups[0].pla_loss is None


# ---- what is kept ------------------------------------------------------------------------------------------


def test_population_shares():
    """Weights of the groups among negatives, positives and all people, by counting."""
    rows = Rows(ROWS.scores, ROWS.y, ROWS.groups, 1 + ROWS.y + 3.0 * (ROWS.groups == "a"))
    found = columns_of(rows).exact
    for g, name in enumerate("ab"):
        mine = rows.groups == name
        for got, among in ((found.weights0, rows.y == 0), (found.weights1, rows.y == 1), (found.shares, rows.y >= 0)):
            assert got[g] == pytest.approx(rows.mass[mine & among].sum() / rows.mass[among].sum())


def test_a_class_of_tiny_weight_is_not_lost():
    """1e12 against 1e-12: a difference of sums would leave no negatives at all."""
    y = np.tile([0, 1], 10)
    rows = Rows(np.arange(20.0), y, np.repeat(["a", "b"], 10), np.where(y == 1, 1e12, 1e-12))
    found = columns_of(rows).exact
    assert found.weights0 == pytest.approx([0.5, 0.5])
    assert np.isfinite(certify(fitted(rows, 0.1)).auc_bound)


@pytest.mark.parametrize("draw", ["all", "few"])
def test_inner_epsilon(draw):
    """Drawn ties need no reserve; the raw order may."""
    done = fitted(normal_rows(42, n=2000), 0.2, draw=draw)
    assert done.model.ties == done.options.ties
    assert done.model.inner_epsilon == done.solution.inner_epsilon
    assert (done.model.inner_epsilon == 0.2) if draw == "all" else (done.model.inner_epsilon <= 0.2)
    assert done.solution.performance.gap <= 0.2 + ROUNDING
    if draw == "few":
        assert not done.model.needs_ids
        kept = raw_order(done)
        assert kept.ties == "order" and kept.inner_epsilon <= 0.2 and kept.performance.gap <= 0.2 + ROUNDING


@pytest.mark.parametrize("norm", [1, "inf"])
def test_queries_with_raw_order_are_judged_at_all_scores(norm: int | str) -> None:
    """The certificate of a query fit in raw order is exact although people inside a bin keep their own order."""
    rng = np.random.default_rng(5)
    groups = rng.choice(["a", "b"], 6000)
    labels = rng.random(6000) < 0.4
    scores = labels * np.where(groups == "a", 1.8, 1.0) + rng.normal(size=6000)
    columns = read_people(scores, labels, sensitive_features=groups)
    fitted = fit(columns, fitted_options(epsilon=0.1, norm=norm, queries=2000, draw="few"), salt=1)
    assert fitted.model.ties == "order"
    gaps = []
    for threshold in np.quantile(scores, np.linspace(0, 1, 301)):
        rate = FairModel.of(fitted.model).acceptance_rate(scores, sensitive_features=groups, threshold=threshold)
        points = [[rate[(groups == g) & (labels == y)].mean() for y in (False, True)] for g in ("a", "b")]
        gaps.append(np.abs(np.subtract(*points)).sum() if norm == 1 else np.abs(np.subtract(*points)).max())
    assert max(gaps) <= fitted.performance.gap + 1e-12
    assert fitted.performance.gap <= 0.1 + 1e-12
    assert max(gaps) > 0.9 * fitted.performance.gap


def test_thinned_curves_keep_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more scores than fit the fine curves, what these may hide is allowed for: the gap holds."""
    monkeypatch.setattr(sample, "WHOLE", 1)
    monkeypatch.setattr(sample, "FINE", 800)
    monkeypatch.setattr(sample, "LEAST", 1)
    rng = np.random.default_rng(6)
    groups = rng.choice(["a", "b"], 8000)
    labels = rng.random(8000) < 0.4
    scores = labels * np.where(groups == "a", 1.8, 1.0) + rng.normal(size=8000)
    fitted = fit(read_people(scores, labels, sensitive_features=groups), fitted_options(epsilon=0.1, draw="few"))
    assert fitted.model.ties == "order"
    assert fitted.solution is not None
    assert fitted.solution.realised is not fitted.realised
    assert 0.05 < fitted.performance.gap <= 0.1 + 1e-12
    kept = raw_order(fitted)
    exact = [realise(c, k) for c, k in zip(fitted.people.exact.curves, kept.kernels, strict=True)]
    assert kept.ties == "order"
    assert 0.05 < performance(exact, fitted.people.exact, fitted.options.fairness).gap <= 0.1 + 1e-12


def test_shares_are_matched_beside_large_ties_of_another_group() -> None:
    """Just above a score that half of one group shares, other groups' scores accept the share they did before."""
    rng = np.random.default_rng(7)
    groups = np.repeat(["a", "b"], [2000, 9000])
    labels = rng.random(11000) < np.where(groups == "a", 0.3, 0.5)
    scores = labels * 0.2 + rng.random(11000) * 0.8
    scores[:1000] = 0.5
    fitted = fit(read_people(scores, labels, sensitive_features=groups), fitted_options(epsilon=0.02, draw="all"))
    above = np.sort(scores[scores > 0.5])[:5]
    for threshold in (0.5, *above):
        rate = FairModel.of(fitted.model).acceptance_rate(scores, sensitive_features=groups, threshold=threshold)
        assert abs(rate.mean() - (scores >= threshold).mean()) < 1 / 2048 + 1e-9


def continuous(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of two groups that a classifier serves differently well."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b"], rows)
    labels = rng.random(rows) < 0.4
    return labels * np.where(groups == "a", 1.8, 1.0) + rng.normal(size=rows), labels, groups


@pytest.mark.parametrize("queries", [3, 30])
@pytest.mark.parametrize("draw", ["all", "few"])
def test_a_query_model_keeps_the_shares_too(queries: int, draw: str) -> None:
    """The fair scale is matched at all scores, however few thresholds the geometry looked at."""
    scores, labels, groups = continuous(3000, 9)
    columns = read_people(scores, labels, sensitive_features=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        model = FairModel.of(fit(columns, fitted_options(epsilon=0.1, queries=queries, draw=draw), salt=1).model)
    for threshold in np.sort(scores)[::97]:
        rate = model.acceptance_rate(scores, sensitive_features=groups, threshold=threshold)
        assert abs(rate.mean() - (scores >= threshold).mean()) <= 1 / 2048 + 2 / 3000


def test_large_ties_hide_nothing_in_thinned_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A score that many share is one step of the exact curve too: it costs no internal epsilon."""
    monkeypatch.setattr(sample, "WHOLE", 1)
    monkeypatch.setattr(sample, "FINE", 1600)
    monkeypatch.setattr(sample, "LEAST", 1)
    scores, labels, groups = continuous(8000, 10)
    inner, ordered = [], []
    for tied in (0, 80, 400):
        scores[:tied] = -0.5
        columns = read_people(scores, labels, sensitive_features=groups)
        fitted = fit(columns, fitted_options(epsilon=0.15, draw="few"), salt=1)
        assert fitted.performance.gap <= 0.15 + 1e-12
        inner.append(fitted.model.inner_epsilon)
        ordered.append(raw_order(fitted).inner_epsilon)
    for each in (inner, ordered):
        assert min(each) > 0.8 * max(each)


def test_warnings_point_at_the_line_that_called() -> None:
    """Not into the package, however deep the reason was found."""
    scores, labels, groups = continuous(120, 11)
    with pytest.warns(FairrocWarning) as seen:
        FairROC(epsilon=0.02, draw="few").fit(-scores, labels, sensitive_features=groups)
    assert len(seen) >= 2
    assert {warning.filename for warning in seen} == {__file__}


def concave_counts(scores: int, bends: tuple[float, ...]) -> ScoreCounts:
    """Groups whose curves ``tpr = x + bend x (1 - x)`` turn at every score."""
    fpr = np.arange(scores + 1) / scores
    positives = np.concatenate([np.diff(fpr + bend * fpr * (1 - fpr)) * 1e6 for bend in bends])
    groups, falling = np.repeat([*"abcd"[: len(bends)]], scores), np.tile(np.arange(scores, 0, -1.0), len(bends))
    with warnings.catch_warnings(action="ignore"):  # weights
        return ScoreCounts.from_table(
            falling, positives, np.full(len(falling), 1e6 / scores), sensitive_features=groups
        )


@pytest.mark.parametrize(("norm", "bends"), [("inf", (0.9, 0.5)), (1, (0.9, 0.6, 0.3, 0.2))])
def test_the_model_does_not_grow_with_the_square_of_scores_on_concave_curves(norm, bends):
    """Four times the scores, each a hull vertex: no more levels nor chances, the same fair curves but for 1e-5 of AUC,
    a gap of epsilon and no more, and a bound of the hull in full."""
    sizes = []
    for scores in (1000, 4000):
        found = fit_counts(concave_counts(scores, bends), 0.05, norm=norm, draw="all")
        model, told = found.model_, found.certificate_
        assert told.gap <= 0.05 + ROUNDING and told.auc <= told.auc_bound
        assert min(len(curve.hull.u) for curve in found.fitted_.raw.curves) == scores + 1
        assert all(group.auc_fair - 1e-5 <= group.auc <= group.auc_fair for group in told.groups)
        sizes.append([model.levels, *(np.count_nonzero(kernel.table) for kernel in model.kernels)])
    assert np.max(np.array(sizes[1]) / np.array(sizes[0])) <= 1.5
    assert max(sizes[1]) <= 100_000
