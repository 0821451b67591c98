"""Figures of a score as scikit-learn's metrics and scorers."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from test_pipeline import normal_rows, worlds

from fairroc import audit
from fairroc.errors import DataError
from fairroc.estimators.crossfit import SensitiveStratifiedKFold
from fairroc.estimators.metrics import auc_at_gap_score, auc_at_gap_scorer, threshold_gap_score, threshold_gap_scorer
from fitted_people import FairROC, FairROCClassifier
from refusals import refuses
from strategies import NORMS

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


def people(seed: int = 0, n: int = 600):
    """Features that serve two groups unequally well."""
    rng = np.random.default_rng(seed)
    sex, y = rng.choice(["f", "m"], n), rng.integers(0, 2, n)
    wide = np.where(sex == "f", 1.0, 2.0)[:, None]
    X = pd.DataFrame(y[:, None] + wide * rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return X.assign(f=(sex == "f").astype(float)), y, sex


def how(rows) -> dict:
    return {"sensitive_features": rows.groups, "sample_weight": rows.weights}


@settings(max_examples=20)
@given(worlds(), NORMS)
def test_the_gap_is_the_audit_s(rows, norm) -> None:
    found = threshold_gap_score(rows.y, rows.scores, norm=norm, **how(rows))
    assert found == audit(rows.scores, rows.y, norm=norm, **how(rows)).gap


@settings(max_examples=15)
@given(worlds(max_groups=3), NORMS)
def test_auc_at_a_gap_is_what_a_fit_keeps(rows, norm) -> None:
    gap, auc = (getattr(audit(rows.scores, rows.y, norm=norm, **how(rows)), name) for name in ("gap", "auc"))
    assert auc_at_gap_score(rows.y, rows.scores, norm=norm, max_gap=2, **how(rows)) == auc
    assert auc_at_gap_score(rows.y, rows.scores, norm=norm, max_gap=min(gap, 2.0), **how(rows)) == auc
    post = FairROC(gap / 2, norm=norm, draw="all", salt=1).fit(rows.scores, rows.y, **how(rows))
    kept = auc_at_gap_score(rows.y, rows.scores, norm=norm, max_gap=gap / 2, **how(rows))
    assert kept == pytest.approx(post.fitted_.performance.auc, abs=1e-12)


def test_a_larger_gap_keeps_more() -> None:
    rows = normal_rows(3)
    kept = [auc_at_gap_score(rows.y, rows.scores, max_gap=gap, **how(rows)) for gap in (0, 0.05, 0.1, 0.2)]
    assert kept == sorted(kept) and kept[0] < kept[-1]


def test_labels_and_parameters() -> None:
    rows = normal_rows(4)
    words = np.where(rows.y == 1, "yes", "no")
    for score in (threshold_gap_score, auc_at_gap_score):
        assert score(words, rows.scores, pos_label="yes", **how(rows)) == score(rows.y, rows.scores, **how(rows))
        refuses("pass pos_label=", score, words, rows.scores, **how(rows))
        refuses("norm must be", score, rows.y, rows.scores, norm=0, **how(rows))
    refuses("norm must be 1 or 'inf' to fit", auc_at_gap_scorer, norm=3)
    refuses("epsilon must be between 0 and 2", auc_at_gap_scorer, max_gap=3)
    refuses("norm must be a number", threshold_gap_scorer, norm="x")


def test_ready_for_make_scorer() -> None:
    X, y, sex = people()
    model = LogisticRegression().fit(X, y)
    scores = model.predict_proba(X)[:, 1]
    with config_context(enable_metadata_routing=True):
        for function, sign in ((threshold_gap_score, -1), (auc_at_gap_score, 1)):
            made = make_scorer(function, greater_is_better=sign > 0, response_method="predict_proba")
            made.set_score_request(sensitive_features=True)
            expected = sign * function(y, scores, sensitive_features=sex)
            assert made(model, X, y, sensitive_features=sex) == pytest.approx(expected)
    assert threshold_gap_scorer()(model, X, y, sensitive_features=sex) == pytest.approx(
        -threshold_gap_score(y, scores, sensitive_features=sex)
    )


def test_make_scorer_in_a_search() -> None:
    """Over a plain classifier, and over a fair one that finds the groups in X: scikit-learn's scorers pass X alone."""
    X, y, sex = people(2)
    with config_context(enable_metadata_routing=True):
        made = {
            "gap": make_scorer(threshold_gap_score, greater_is_better=False, response_method="predict_proba"),
            "auc": make_scorer(auc_at_gap_score, response_method="predict_proba", max_gap=2),
        }
        for scorer in made.values():
            scorer.set_score_request(sensitive_features=True)
        ready = {"ready gap": threshold_gap_scorer(), "ready auc": auc_at_gap_scorer(max_gap=2)}
        how = {"refit": False, "cv": 2, "error_score": "raise"}
        plain = GridSearchCV(LogisticRegression(), {"C": [1e-6, 1.0]}, scoring=made | ready, **how)
        plain.fit(X, y, sensitive_features=sex)
        clf = FairROCClassifier(LogisticRegression(), cv=2, draw="all", random_state=0, sensitive_features="f")
        fair = GridSearchCV(clf, {"epsilon": [0.02, 2.0]}, scoring=made, **how)
        fair.fit(X, y, sensitive_features=X["f"])
    for name in made:
        expected = plain.cv_results_[f"mean_test_ready {name}"]
        assert plain.cv_results_[f"mean_test_{name}"] == pytest.approx(expected)
    assert fair.cv_results_["mean_test_gap"][0] > fair.cv_results_["mean_test_gap"][1]
    assert fair.cv_results_["mean_test_auc"][0] < fair.cv_results_["mean_test_auc"][1]


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC()])
def test_any_classifier_and_any_labels(model) -> None:
    X, y, sex = people()
    words = np.where(y == 1, "yes", "no")
    score = threshold_gap_scorer()
    expected = score(model.fit(X, y), X, y, sensitive_features=sex)
    assert score(model.fit(X, words), X, words, sensitive_features=sex) == pytest.approx(expected)
    auc = roc_auc_score(y, model.decision_function(X))
    assert auc_at_gap_scorer(max_gap=2)(model, X, words, sensitive_features=sex) == pytest.approx(auc)


def test_of_a_fair_classifier_the_expectation_is_measured() -> None:
    """Two calls agree, whatever is drawn, and the mean of many draws is near."""
    X, y, sex = people(1, n=2000)
    clf = FairROCClassifier(LogisticRegression(), 0.1, cv=3, draw="all").fit(X, y, sensitive_features=sex)
    score = auc_at_gap_scorer(max_gap=2)
    exact = score(clf, X, y, sensitive_features=sex)
    assert exact == score(clf, X, y, sensitive_features=sex)
    drawn = [roc_auc_score(y, clf.predict_proba(X, sensitive_features=sex)[:, 1]) for _ in range(60)]
    assert abs(np.mean(drawn) - exact) < 4 * np.std(drawn) / np.sqrt(60)
    pipe = make_pipeline(StandardScaler(), clone_fitted := FairROCClassifier(LogisticRegression(), 0.1, cv=3))
    pipe.fit(X, y, fairrocclassifier__sensitive_features=sex)
    inner = score(clone_fitted, StandardScaler().fit_transform(X), y, sensitive_features=sex)
    assert score(pipe, X, y, sensitive_features=sex) == inner


def test_grid_over_epsilon_and_over_the_inner_model() -> None:
    """A larger epsilon has a larger gap and a larger AUC; the search finds both by the ready-made scorers."""
    X, y, sex = people(2, n=900)
    clf = FairROCClassifier(LogisticRegression(), cv=3, draw="all")
    grid = {"epsilon": [0.0, 0.4], "estimator__C": [1e-6, 1.0]}
    both = {"gap": threshold_gap_scorer(), "auc": auc_at_gap_scorer(max_gap=2)}
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(clf, grid, scoring=both, refit="auc", cv=SensitiveStratifiedKFold(2))
        search.fit(X, y, sensitive_features=sex)
    found = pd.DataFrame(search.cv_results_)
    means = found.groupby("param_epsilon")[["mean_test_gap", "mean_test_auc"]].mean()
    assert means.loc[0.0, "mean_test_gap"] > means.loc[0.4, "mean_test_gap"]
    assert means.loc[0.0, "mean_test_auc"] < means.loc[0.4, "mean_test_auc"]
    assert search.best_params_["epsilon"] == 0.4
    assert search.best_estimator_.model_.epsilon == 0.4
    nested = both["gap"](search, X, y, sensitive_features=sex)
    assert nested == both["gap"](search.best_estimator_, X, y, sensitive_features=sex)


def test_groups_named_in_the_scorer_need_no_routing() -> None:
    X, y, sex = people(3)
    score = auc_at_gap_scorer(sensitive_features="f")
    search = GridSearchCV(LogisticRegression(), {"C": [1e-6, 1.0]}, scoring=score, cv=2).fit(X, y)
    assert search.score(X, y) == score(search.best_estimator_, X, y)
    assert search.score(X, y) == pytest.approx(score(search, X, y, sensitive_features=sex), abs=1e-5)  # other names
    clf = FairROCClassifier(LogisticRegression(), 0.1, cv=2, sensitive_features="f")
    done = cross_validate(clf, X, y, scoring={"gap": threshold_gap_scorer(), "auc": "roc_auc"}, cv=2)
    assert (done["test_gap"] < 0).all() and (done["test_auc"] > 0.5).all()


def test_with_ids_their_draws_are_measured() -> None:
    X, y, sex = people(3)
    ids = np.arange(len(y))
    clf = FairROCClassifier(LogisticRegression(), 0.1, cv=2, draw="all").fit(X, y, sensitive_features=sex)
    fair = clf.fair_score(X, sensitive_features=sex, ids=ids)
    score = threshold_gap_scorer()
    drawn = score(clf, X, y, sensitive_features=sex, ids=ids)
    assert drawn == -threshold_gap_score(y, fair, sensitive_features=sex) != score(clf, X, y, sensitive_features=sex)
    with config_context(enable_metadata_routing=True):
        params = {"sensitive_features": sex, "ids": ids}
        done = cross_validate(clf, X, y, scoring=score, cv=2, params=params, return_estimator=True, return_indices=True)
    for model, found, test in zip(done["estimator"], done["test_score"], done["indices"]["test"], strict=True):
        assert found == score(model, X.iloc[test], y[test], sensitive_features=sex[test], ids=ids[test])


def test_columns_that_the_last_step_names() -> None:
    """A fair classifier behind other steps finds its groups in what these steps make of X."""
    X, y, _ = people(3)
    pipe = make_pipeline(
        FunctionTransformer(lambda table: table.rename(columns={"f": "woman"})),
        FairROCClassifier(LogisticRegression(), 0.1, cv=2, draw="all", sensitive_features="woman"),
    ).fit(X, y)
    score = threshold_gap_scorer()
    assert score(pipe, X, y) == pytest.approx(score(pipe, X, y, sensitive_features=X["f"]))
    refuses("sensitive_features must be given", score, LogisticRegression().fit(X, y), X, y)


def test_labels_must_be_those_of_the_fit() -> None:
    X, y, sex = people(3)
    fair = FairROCClassifier(LogisticRegression(), 0.1, cv=2).fit(X, y, sensitive_features=sex)
    for model in (fair, LogisticRegression().fit(X, y)):
        with pytest.raises(DataError, match=r"y must hold the fitted labels \[0, 1\], got \[2\]"):
            threshold_gap_scorer()(model, X, np.where(y == 0, 2, y), sensitive_features=sex)


def test_weights_are_routed_when_asked_for() -> None:
    X, y, sex = people(4)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    model = LogisticRegression()
    with config_context(enable_metadata_routing=True):
        params = {"sensitive_features": sex, "sample_weight": weights}
        asked = threshold_gap_scorer().set_score_request(sample_weight=True)
        declined = threshold_gap_scorer().set_score_request(sample_weight=False)
        model.set_fit_request(sample_weight=True)
        done = {
            name: cross_validate(model, X, y, scoring=scorer, cv=2, params=params)["test_score"]
            for name, scorer in (("asked", asked), ("declined", declined))
        }
    assert not np.allclose(done["asked"], done["declined"])


def test_scorers_travel() -> None:
    for scorer in (threshold_gap_scorer(norm="inf"), auc_at_gap_scorer(max_gap=0.2, sensitive_features=["f"])):
        assert repr(pickle.loads(pickle.dumps(scorer))) == repr(scorer)
    assert "sensitive_features=['f']" in repr(scorer)
