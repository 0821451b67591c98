"""FairROCClassifier without the group, by several attributes, and within strata."""

from __future__ import annotations

import json
import pickle
import warnings
import zipfile
from functools import cache
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from test_saving import Own

import fairroc.fitting.held_out as held_out
from fairroc import FairROC, FairROCClassifier, ScoreCounts, choose_threshold
from fairroc.errors import DataError, FairrocWarning, ModelFileError
from fairroc.estimators import (
    SensitiveStratifiedKFold,
    auc_at_gap_scorer,
    best_within_gap,
    threshold_gap_score,
    threshold_gap_scorer,
)
from refusals import refuses

KEY = "a secret of some length"
RNG = np.random.default_rng(8)
N = 400
SEX, RACE, Y = RNG.choice(["f", "m"], N), RNG.choice(["a", "b", "c"], N, p=[0.4, 0.35, 0.25]), RNG.integers(0, 2, N)
X = pd.DataFrame(Y[:, None] + np.where(SEX == "f", 1.0, 2.0)[:, None] * RNG.normal(size=(N, 2)), columns=["u", "v"])
X = X.assign(w=(SEX == "f") + RNG.normal(size=N), z=(RACE == "a") + RNG.normal(size=N))
PEOPLE = X.assign(sex=SEX, race=RACE)
BOTH = PEOPLE[["sex", "race"]]
IDS = np.arange(N) + 3
COLUMNS = ["u", "v", "w", "z"]


pytestmark = pytest.mark.filterwarnings("ignore:the intersections of sex & race are farther apart")


@pytest.fixture(scope="module", autouse=True)
def _one_size_of_the_tree():
    """Fits are cheaper where the number of cells is not searched for."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(held_out, "LEAVES", (3,))
        yield


def named() -> object:
    """An estimator that takes some columns of a frame alone."""
    return make_pipeline(make_column_transformer(("passthrough", COLUMNS)), LogisticRegression())


def classifier(estimator=None, epsilon=0.1, **how) -> FairROCClassifier:
    how = {"cv": 2, "promise": "fitted", "draw": "all", "salt": 1, "use_group": False, **how}
    return FairROCClassifier(LogisticRegression() if estimator is None else estimator, epsilon, **how)


@cache
def blind() -> FairROCClassifier:
    return classifier().fit(X, Y, sensitive_features=SEX)


# ---- the group model ---------------------------------------------------------------------------------------------


def test_nobody_s_group_is_needed_once_it_is_fitted() -> None:
    clf = blind()
    assert not clf.model_.use_group and clf.certificate_.gap <= 0.1 + 1e-12 < clf.certificate_.gap_before
    fair = clf.fair_score(X, ids=IDS)
    assert (clf.predict_proba(X, ids=IDS)[:, 1] == fair).all()
    assert (clf.predict(X, ids=IDS) == (fair >= 0.5)).all()
    rate = clf.acceptance_rate(X)
    assert clf.score(X, Y) == pytest.approx(np.where(Y == 1, rate, 1 - rate).mean())
    assert clf.score(X, Y, ids=IDS) == accuracy_score(Y, fair >= 0.5)
    known = clf.group_probabilities(X)
    assert (clf.model_.transform(clf.base_score(X), group_probabilities=known, ids=IDS) == fair).all()
    assert (clf.fair_score(X, sensitive_features=SEX, ids=IDS) == fair).all()  # routed groups are not looked at
    best = choose_threshold(
        clf, clf.base_score(X), Y, sensitive_features=SEX, group_probabilities=known, selection_rate=0.3
    )
    assert best.overall.selection_rate == pytest.approx(clf.acceptance_rate(X, threshold=best.threshold).mean())


@pytest.mark.parametrize("weighted", [False, True])
def test_it_equals_scores_and_groups_cross_fitted_by_hand(weighted) -> None:
    """Both on the same folds; weights go to both."""
    cv = KFold(2)
    weights = np.random.default_rng(1).uniform(0.5, 2, N) if weighted else None
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    clf = classifier(LogisticRegression(), cv=cv, group_estimator=tree, pos_label=0)
    clf.fit(X, Y, sensitive_features=SEX, sample_weight=weights)
    how = {"cv": cv, "method": "predict_proba", "params": {"sample_weight": weights} if weighted else {}}
    scores = cross_val_predict(LogisticRegression(), X, Y, **how)[:, 0]
    proxy = cross_val_predict(tree, X, SEX, **how)[:, 1]
    post = FairROC(0.1, promise="fitted", draw="all", salt=1, use_group=False)
    post.fit(scores, 1 - Y, sensitive_features=SEX, group_probabilities={"m": proxy}, sample_weight=weights)
    assert clf.model_.record.data == post.model_.record.data
    assert (clf.model_.proxy.threshold == post.model_.proxy.threshold).all()
    means = np.mean([model.predict_proba(X)[:, 1] for model in clf.group_estimators_["group"]], axis=0)
    assert clf.group_probabilities(X)["m"] == pytest.approx(means)


def test_one_model_is_fitted_again() -> None:
    clf = classifier(ensemble=False).fit(X, Y, sensitive_features=SEX)
    (one,) = clf.group_estimators_["group"]
    assert clf.model_.record.data == blind().model_.record.data  # the out-of-fold scores are the same
    again = LogisticRegression().fit(X, SEX == "m")
    assert (clf.group_probabilities(X)["m"] == again.predict_proba(X)[:, 1]).all()
    assert one.n_features_in_ == 4 and not hasattr(clf, "estimators_")
    clf.set_params(use_group=True).fit(X, Y, sensitive_features=SEX)
    assert not hasattr(clf, "group_estimators_") and not hasattr(clf, "hidden_columns_")
    refuses("there are no models of the group with use_group=True", clf.group_probabilities, X)


class Binary(ClassifierMixin, BaseEstimator):
    """Knows two classes."""

    def fit(self, X, y):
        self.inner_ = LogisticRegression().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            {"estimator": LinearSVC()},
            r"group_estimator, which the estimator .* must have predict_proba, which LinearSVC",
        ),
        ({"group_estimator": LinearSVC()}, "group_estimator must have predict_proba, which LinearSVC lacks. Pass anot"),
        ({"estimator": Binary()}, "must take the 3 groups of group as classes, but Binary takes two"),
        ({"group_estimator": {"sex": Binary()}}, r"one estimator for each attribute \('group'\), got some for 'sex'"),
        ({"on_unknown_group": "a"}, "on_unknown_group must be None with use_group=False: nobody's group is looked at"),
        ({"small_groups": "drop"}, "small_groups must be 'error' or 'merge' with use_group=False"),
        ({"cv": "prefit"}, "group_estimator must be a fitted model of the group with cv='prefit'"),
        ({"cv": "prefit", "group_estimator": LogisticRegression()}, "cv='prefit' needs a fitted group_estimator"),
        (
            {"cv": "prefit", "group_estimator": LogisticRegression().fit(X, SEX)},
            r"fitted to the groups of group \(a, b, c\), but its classes are f, m",
        ),
        (
            {"cv": "prefit", "combine": "each", "group_estimator": LogisticRegression().fit(X, SEX)},
            r"one fitted estimator for each attribute \('sex', 'race'\) with cv='prefit' and combine='each', got a si",
        ),
    ],
)
def test_what_cannot_learn_the_group_is_refused(how, words) -> None:
    base = how.pop("estimator", LogisticRegression().fit(X, Y))
    groups = BOTH if "combine" in how else RACE
    with pytest.raises((DataError, ValueError), match=words):
        classifier(base, **how).fit(X, Y, sensitive_features=groups)


def test_models_that_are_fitted_already() -> None:
    """Their classes are the groups' own values, in whatever order."""
    base = LogisticRegression().fit(X, Y)
    numbers = np.where(SEX == "f", 7, 3)
    clf = classifier(base, cv="prefit", group_estimator=LogisticRegression().fit(X, numbers))
    clf.fit(X, Y, sensitive_features=numbers)
    assert list(clf.group_probabilities(X)) == ["7"]
    post = FairROC(0.1, promise="fitted", draw="all", salt=1, use_group=False)
    proxy = clf.group_estimators_["group"][0].predict_proba(X)[:, 1]
    post.fit(base.predict_proba(X)[:, 1], Y, sensitive_features=numbers, group_probabilities={"7": proxy})
    fair = post.transform(base.predict_proba(X)[:, 1], group_probabilities=proxy, ids=IDS)
    assert (clf.fair_score(X, ids=IDS) == fair).all()
    each = {"sex": FrozenEstimator(LogisticRegression().fit(X, SEX)), "race": LogisticRegression().fit(X, RACE)}
    both = classifier(base, 0.3, cv="prefit", combine="each", group_estimator=each).fit(X, Y, sensitive_features=BOTH)
    assert list(both.group_probabilities(X)) == ["sex: m", "race: a", "race: b", "race: c"]


# ---- columns that hold the group ---------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["constructor", "call", "series", "frame", "polars"])
def test_the_group_s_model_does_not_see_the_group(way) -> None:
    people, given, columns = PEOPLE, None, None
    if way == "constructor":
        columns = ["sex"]
    elif way == "call":
        given = "sex"
    elif way == "polars":
        people, columns = pl.from_pandas(PEOPLE), "sex"
    else:
        given = PEOPLE["sex"] if way == "series" else PEOPLE[["sex"]]
    clf = classifier(named(), sensitive_features=columns).fit(people, Y, sensitive_features=given)
    assert clf.hidden_columns_ == ("sex",)
    inner = clf.group_estimators_["group" if way == "series" else "sex"][0]
    assert list(inner.feature_names_in_) == [*COLUMNS, "race"]
    fair = clf.fair_score(people, ids=IDS)
    assert (clf.fair_score(X, ids=IDS) == fair).all()  # new people come without the column
    assert clf.model_.record.data == blind().model_.record.data


def test_a_score_that_sees_the_group_is_warned_of() -> None:
    numbers = X.assign(sex=(SEX == "f").astype(float))
    words = r"the estimator sees X whole, the columns that hold the groups \('sex'\) among it: its score may use the gr"
    with pytest.warns(FairrocWarning, match=words):
        clf = classifier(sensitive_features="sex").fit(numbers, Y)
    assert clf.group_estimators_["sex"][0].n_features_in_ == 4 and clf.n_features_in_ == 5
    base = LogisticRegression().fit(numbers, Y)
    with pytest.warns(FairrocWarning, match=words):
        prefit = classifier(base, cv="prefit", group_estimator=LogisticRegression().fit(X, SEX == "f"))
        prefit.fit(numbers, Y, sensitive_features=numbers["sex"].astype(bool))
    with warnings.catch_warnings():  # with the group in use there is nothing to say
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "expect a gap of about|new people are expected")
        classifier(use_group=True, sensitive_features="sex").fit(numbers, Y)


@pytest.mark.filterwarnings("ignore:the estimator sees X whole")
@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_array, lambda rows: rows.tolist()], ids=["array", "sparse", "list"]
)
def test_positions_in_a_matrix(make) -> None:
    whole = np.column_stack((SEX == "f", X))
    clf = classifier(sensitive_features=[-5]).fit(make(whole), Y)
    assert clf.hidden_columns_ == (0,)
    same = classifier(group_estimator=LogisticRegression()).fit(X.to_numpy(), Y, sensitive_features=SEX == "f")
    found = clf.group_probabilities(make(whole))
    (mine,), (its,) = found.values(), same.group_probabilities(X.to_numpy()).values()
    assert mine == pytest.approx(its)


def test_a_group_estimator_that_names_the_group_s_column_is_told_off() -> None:
    names_it = make_pipeline(make_column_transformer((OneHotEncoder(), ["sex"])), LogisticRegression())
    with pytest.raises(
        DataError, match=r"must do without the columns that hold the groups \('sex'\), but Pipeline could"
    ):
        classifier(named(), group_estimator=names_it).fit(PEOPLE, Y, sensitive_features="sex")


# ---- several attributes, strata, small groups --------------------------------------------------------------------


def test_every_attribute_has_a_model_of_its_own() -> None:
    learns = {"sex": LogisticRegression(C=0.1), "race": DecisionTreeClassifier(max_depth=2, random_state=0)}
    epsilon = {"sex": 0.1, "race": 0.2}
    clf = classifier(None, epsilon, combine="each", group_estimator=learns).fit(X, Y, sensitive_features=BOTH)
    assert clf.model_.proxy.columns == ("sex: m", "race: a", "race: b", "race: c")
    held = [family for family in clf.certificate_.families if family.compared]
    assert [(family.attribute, family.epsilon) for family in held] == [("sex", 0.1), ("race", 0.2)]
    assert all(family.gap <= family.epsilon + 1e-9 for family in held)
    assert [type(models[0]) for models in clf.group_estimators_.values()] == [
        LogisticRegression,
        DecisionTreeClassifier,
    ]
    races = np.stack([clf.group_probabilities(X)[f"race: {race}"] for race in "abc"])
    assert races.sum(axis=0) == pytest.approx(1)
    crossed = classifier(epsilon=0.5, combine="intersection").fit(X, Y, sensitive_features=BOTH)
    assert crossed.model_.proxy.columns == tuple(f"{sex} & {race}" for sex in "fm" for race in "abc")


def test_attributes_each_for_itself_with_the_group_in_use() -> None:
    clf = classifier(use_group=True, combine="each", sensitive_features=["sex", "race"]).fit(
        X.assign(sex=(SEX == "f") * 1.0, race=np.unique(RACE, return_inverse=True)[1] * 1.0), Y
    )
    assert [family.attribute for family in clf.model_.compared] == ["sex", "race"]
    assert not hasattr(clf, "group_estimators_")
    assert {*clf.model_.codes} >= {f"{sex} & {race}" for sex in "01" for race in "012"}
    given = classifier(use_group=True, combine="each").fit(X, Y, sensitive_features=BOTH)
    fair = given.fair_score(X, sensitive_features=BOTH, ids=IDS)
    assert (fair == given.model_.transform(given.base_score(X), sensitive_features=BOTH, ids=IDS)).all()


@pytest.mark.parametrize("use_group", [False, True])
def test_groups_are_compared_within_strata(use_group) -> None:
    young = np.where(np.arange(N) % 3 > 0, "young", "old")
    clf = classifier(use_group=use_group).fit(X, Y, sensitive_features=SEX, control_features=young)
    assert [family.stratum for family in clf.certificate_.families] == ["old", "young"]
    assert clf.certificate_.gap <= 0.1 + 1e-9
    groups = {"sensitive_features": SEX} if use_group else {}
    fair = clf.fair_score(X, control_features=young, ids=IDS, **groups)
    refuses("control_features must be given, one row for each score, got none", clf.fair_score, X, ids=IDS, **groups)
    how = {"control_features": young, **groups}
    assert (clf.predict(X, ids=IDS, **how) == (fair >= 0.5)).all()
    assert clf.score(X, Y, **how) == pytest.approx(
        np.where(Y == 1, clf.acceptance_rate(X, **how), 1 - clf.acceptance_rate(X, **how)).mean()
    )
    inside = classifier(named(), use_group=use_group, sensitive_features="sex", control_features="age")
    whole = PEOPLE.assign(age=young)
    inside.fit(whole, Y)
    if not use_group:  # the estimators see strata: they are known of new people
        assert "age" in inside.group_estimators_["sex"][0].feature_names_in_
    assert (inside.fair_score(whole, ids=IDS) == fair).all()
    with pytest.raises(DataError, match=r"control_features names the column 'age', but X is a ndarray"):
        classifier(control_features="age").fit(X.to_numpy(), Y, sensitive_features=SEX)


def test_small_groups_are_one_for_the_group_s_model_too() -> None:
    few = SEX.astype(object)
    ones, zeros = np.flatnonzero(Y == 1), np.flatnonzero(Y == 0)
    few[[*ones[:2], *zeros[:2]]], few[[*ones[2:4], *zeros[2:4]]] = "x", "z"
    how = {"small_groups": "merge", "min_class_rows": 10}
    with pytest.warns(FairrocWarning, match=r"group: 2 small groups, 8 rows, merged into"):
        clf = classifier(epsilon=0.6, **how).fit(X, Y, sensitive_features=few)
    assert list(clf.group_probabilities(X)) == ["f", "m", "other (merged)"]
    assert [group.name for group in clf.model_.compared[0].groups] == ["f", "m", "other (merged)"]
    with pytest.raises(
        DataError, match=r"every group needs at least 3 rows .* 3 folds, but group 'x' with label '0' has"
    ):
        classifier(cv=3).fit(X, Y, sensitive_features=few)


# ---- routing -----------------------------------------------------------------------------------------------------


def test_searches_and_pipelines_pass_all_of_it_on() -> None:
    young = np.where(np.arange(N) % 3 > 0, "young", "old")
    given = {"sensitive_features": SEX, "control_features": young}
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), classifier(use_group=True)).fit(X, Y, **given)
        bare = classifier(use_group=True).fit(StandardScaler().fit_transform(X), Y, **given)
        assert (
            pipe.predict(X, ids=IDS, **given) == bare.predict(StandardScaler().fit_transform(X), ids=IDS, **given)
        ).all()
        scoring = {"gap": threshold_gap_scorer(), "auc": auc_at_gap_scorer(max_gap=2)}
        done = cross_validate(classifier(), X, Y, cv=2, params=given, scoring=scoring, error_score="raise")
        assert (done["test_gap"] < 0).all() and (done["test_auc"] > 0.5).all()
        plain = cross_validate(classifier(), X, Y, cv=2, params=given, error_score="raise")
        assert ((plain["test_score"] > 0.5) & (plain["test_score"] < 1)).all()
        search = GridSearchCV(
            classifier(use_group=True, combine="each"),
            {"epsilon": [0.2, 0.4]},
            scoring=scoring,
            refit=best_within_gap(2),
            cv=SensitiveStratifiedKFold(2, combine="each"),
            error_score="raise",
        ).fit(X, Y, sensitive_features=BOTH)
        assert search.best_params_ == {"epsilon": 0.4}
        weights = np.random.default_rng(0).uniform(0.5, 2, N)
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        mine = classifier(inner, cv=KFold(2)).fit(X, Y, sensitive_features=SEX, sample_weight=weights)
    same = classifier(cv=KFold(2)).fit(X, Y, sensitive_features=SEX, sample_weight=weights)
    assert (mine.group_probabilities(X)["m"] == same.group_probabilities(X)["m"]).all()
    assert (
        mine.group_probabilities(X)["m"]
        != classifier(cv=KFold(2)).fit(X, Y, sensitive_features=SEX).group_probabilities(X)["m"]
    ).any()


def test_scores_as_a_step_of_a_pipeline_get_probabilities() -> None:
    scores, proxy = blind().base_score(X)[:, None], blind().group_probabilities(X)["m"]
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), FairROC(0.1, promise="fitted", draw="all", salt=1, use_group=False))
        pipe.fit(scores, Y, sensitive_features=SEX, group_probabilities=proxy)
        fair = pipe.transform(scores, group_probabilities=proxy, ids=IDS)
    assert fair.shape == (N, 1) and len(np.unique(fair)) > 10


@pytest.mark.parametrize("how", [{"use_group": False}, {"combine": "each"}, {"epsilon": {"a": 0.1}, "combine": "each"}])
def test_counts_know_one_group_of_a_person_and_nothing_else(how) -> None:
    counts = ScoreCounts.from_rows(X["u"], Y, sensitive_features=SEX)
    with pytest.raises(DataError, match=r"people counted by group cannot be fitted with use_group=False or combine="):
        FairROC(**how).fit_counts(counts)


# ---- figures -----------------------------------------------------------------------------------------------------


def test_scorers_measure_the_groups_of_a_model_that_does_without() -> None:
    clf, gap, auc = blind(), threshold_gap_scorer(), auc_at_gap_scorer(max_gap=2)
    scores, how = clf.base_score(X), {"group_probabilities": clf.group_probabilities(X)}
    rates = np.stack([clf.model_.acceptance_rate(scores, threshold=t, **how) for t in np.linspace(0, 1, 501)])
    points = [[rates[:, (sex == SEX) & (label == Y)].mean(axis=1) for label in (0, 1)] for sex in "fm"]
    tried = np.abs(np.array(points[0]) - points[1]).sum(axis=0).max()
    found = -gap(clf, X, Y, sensitive_features=SEX)
    assert found - 0.02 <= tried <= found + 1e-9
    fpr, tpr = (np.append(rates[:, label == Y].mean(axis=1), 0.0) for label in (0, 1))
    assert auc(clf, X, Y, sensitive_features=SEX) == pytest.approx(-np.trapezoid(tpr, fpr), abs=2e-3)
    assert (
        0.5
        < auc_at_gap_scorer(max_gap=0.02)(clf, X, Y, sensitive_features=SEX)
        <= auc(clf, X, Y, sensitive_features=SEX)
    )
    fair = clf.fair_score(X, ids=IDS)
    assert -gap(clf, X, Y, sensitive_features=SEX, ids=IDS) == threshold_gap_score(Y, fair, sensitive_features=SEX)


def test_a_gap_by_attribute_is_the_largest() -> None:
    scores = blind().base_score(X)
    each = [threshold_gap_score(Y, scores, sensitive_features=groups) for groups in (SEX, RACE)]
    assert threshold_gap_score(Y, scores, sensitive_features=BOTH, combine="each") == max(each)
    assert threshold_gap_score(Y, scores, sensitive_features=BOTH) > max(each)
    inside = [threshold_gap_score(Y[r == RACE], scores[r == RACE], sensitive_features=SEX[r == RACE]) for r in "abc"]
    assert threshold_gap_score(Y, scores, sensitive_features=SEX, control_features=RACE) == max(inside)
    with pytest.raises(DataError, match="combine must be 'intersection' or 'each', got 'all'"):
        threshold_gap_score(Y, scores, sensitive_features=BOTH, combine="all")
    refuses("combine must be 'intersection' or 'each', got 'all'", threshold_gap_scorer, combine="all")
    plain = LogisticRegression().fit(X, Y)
    named_scorer = threshold_gap_scorer(combine="each", sensitive_features=["sex", "race"])
    assert repr(named_scorer) == "threshold_gap_scorer(norm=1, sensitive_features=['sex', 'race'], combine='each')"
    by_name = make_pipeline(make_column_transformer(("passthrough", COLUMNS)), plain).fit(PEOPLE, Y)
    own = by_name.predict_proba(PEOPLE)[:, 1]
    model = FrozenEstimator(by_name)
    assert -named_scorer(model, PEOPLE, Y) == threshold_gap_score(Y, own, sensitive_features=BOTH, combine="each")


def test_scorers_look_at_what_a_classifier_compares() -> None:
    clf = classifier(use_group=True, combine="each").fit(X, Y, sensitive_features=BOTH)
    how = {"sensitive_features": BOTH}
    each, crossed = (-threshold_gap_scorer(combine=way)(clf, X, Y, **how) for way in ("each", "intersection"))
    assert -threshold_gap_scorer()(clf, X, Y, **how) == each < crossed
    assert -threshold_gap_scorer()(clf, X, Y, ids=IDS, **how) == threshold_gap_score(
        Y, clf.fair_score(X, ids=IDS, **how), combine="each", **how
    )
    with pytest.raises(DataError, match=r"max_gap must be 2 \(the plain AUC\) where several attributes .* got 0.1"):
        auc_at_gap_scorer(max_gap=0.1)(clf, X, Y, **how)


# ---- folds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffle", [False, True])
def test_folds_of_several_attributes(shuffle) -> None:
    """An intersection may be empty; what must be there are the groups of every attribute."""
    race = np.where((SEX == "f") & (RACE == "c"), "b", RACE)
    race[np.flatnonzero((SEX == "f") & (Y == 1))[:1]] = "c"
    both = {"sex": SEX, "race": race}
    with pytest.raises(DataError, match=r"every group needs at least 3 rows of each label"):
        list(SensitiveStratifiedKFold(3).split(X, Y, sensitive_features=both))
    folds = SensitiveStratifiedKFold(3, combine="each", shuffle=shuffle, random_state=0 if shuffle else None)
    tests = [test for _, test in folds.split(X, Y, sensitive_features=both)]
    assert sorted(np.concatenate(tests)) == list(range(N))
    for train, test in folds.split(X, Y, sensitive_features=both):
        assert sorted([*train, *test]) == list(range(N))
        for label in (0, 1):
            for sex in "fm":
                whole, part = ((sex == SEX) & (label == Y)), ((sex == SEX) & (label == Y))[test]
                assert abs(part.sum() - whole.sum() / 3) < 1
                for group in "abc":
                    cell = whole & (race == group)
                    assert abs(cell[test].sum() - cell.sum() / 3) < 1
    race[race == "c"] = "b"
    race[:2] = "c"
    with pytest.raises(DataError, match=r"but group 'c' of race with label '.' has"):
        list(SensitiveStratifiedKFold(3, combine="each").split(X, Y, sensitive_features=both))
    with pytest.raises(DataError, match="combine must be 'intersection' or 'each', got 'all'"):
        list(SensitiveStratifiedKFold(3, combine="all").split(X, Y, sensitive_features=both))


# ---- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"ensemble": False, "group_estimator": LogisticRegression(C=0.5), "key": KEY},
        {
            "combine": "each",
            "epsilon": {"sex": 0.1, "race": 0.3},
            "group_estimator": {"sex": LogisticRegression(), "race": LogisticRegression()},
        },
        {"sensitive_features": "sex", "estimator": named()},
    ],
    ids=["default", "one", "each", "hidden"],
)
def test_a_file_has_the_models_of_the_group(how, tmp_path: Path) -> None:
    estimator, key = how.pop("estimator", LogisticRegression()), how.get("key")
    rows = PEOPLE if "sensitive_features" in how else X
    given = None if rows is PEOPLE else BOTH if "combine" in how else SEX
    epsilon = how.pop("epsilon", 0.1)
    clf = classifier(estimator, epsilon, **how).fit(rows, Y, sensitive_features=given)
    fair = clf.fair_score(rows, ids=IDS)
    clf.save(tmp_path / "c.zip")
    assert b"a secret" not in (tmp_path / "c.zip").read_bytes()
    again = FairROCClassifier.load(tmp_path / "c.zip", key=key)
    assert (again.fair_score(rows, ids=IDS) == fair).all() and again.hidden_columns_ == clf.hidden_columns_
    mine, its = clf.get_params(deep=False), again.get_params(deep=False)
    assert {name: repr(value) for name, value in mine.items()} == {name: repr(value) for name, value in its.items()}
    assert (
        clone(again).set_params(key=key).fit(rows, Y, sensitive_features=given).model_.record.data
        == clf.model_.record.data
    )
    assert not hasattr(again.estimator, "coef_")
    clf.save(tmp_path / "less.zip", base=False)
    kept = {"base": clf.estimators_ if clf.ensemble else clf.estimator_, "key": key}
    less = FairROCClassifier.load(tmp_path / "less.zip", group_estimators=clf.group_estimators_, **kept)
    assert (less.fair_score(rows, ids=IDS) == fair).all()
    with pytest.raises(DataError, match=r"group_estimators must be the models of the group .*saved with base=False"):
        FairROCClassifier.load(tmp_path / "less.zip", **kept)
    for copy in (pickle.loads(pickle.dumps(clf)), joblib_copy(clf, tmp_path)):
        if key is not None:
            refuses(r"set_params\(key=...\)", copy.fair_score, rows, ids=IDS)
            copy.set_params(key=key)
        assert (copy.fair_score(rows, ids=IDS) == fair).all()


def joblib_copy(clf: FairROCClassifier, folder: Path) -> FairROCClassifier:
    joblib.dump(clf, folder / "c.joblib")
    found = joblib.load(folder / "c.joblib")
    assert isinstance(found, FairROCClassifier)
    return found


def test_models_that_are_not_the_saved_ones_are_refused(tmp_path: Path) -> None:
    clf = blind()
    clf.save(tmp_path / "c.zip", base=False)
    other = LogisticRegression().fit(X[["u"]], SEX)
    for models, words in (
        ({"group": [other, other]}, "the models of group must be those that"),
        ({"group": [LogisticRegression(), LogisticRegression()]}, "the models of group must be those that"),
        ({"group": clf.group_estimators_["group"][:1]}, "group_estimators must be the models of the group"),
        ({"sex": clf.group_estimators_["group"]}, r"by attribute \(2 for 'group'\)"),
    ):
        refuses(words, FairROCClassifier.load, tmp_path / "c.zip", base=clf.estimators_, group_estimators=models)
    strange = classifier(group_estimator=Own()).fit(X, Y, sensitive_features=SEX)
    strange.save(tmp_path / "d.zip")
    refuses(r"trusted must name every type .* holds test_saving.Own", FairROCClassifier.load, tmp_path / "d.zip")
    again = FairROCClassifier.load(tmp_path / "d.zip", trusted=[Own])
    assert (again.fair_score(X, ids=IDS) == strange.fair_score(X, ids=IDS)).all()


def test_a_plain_classifier_s_file_stays_as_it_was(tmp_path: Path) -> None:
    """Older fairrocs read it."""
    versions = []
    for clf in (blind(), classifier(use_group=True).fit(X, Y, sensitive_features=SEX)):
        clf.save(tmp_path / "c.zip")
        with zipfile.ZipFile(tmp_path / "c.zip") as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(parts["manifest.json"])
        versions.append(manifest["version"])
    assert versions == [2, 1]
    blind().save(tmp_path / "c.zip")
    with zipfile.ZipFile(tmp_path / "c.zip") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(parts["manifest.json"])
    for change in ({"models": []}, {"learner": "some"}, {"hidden": 3}):
        parts["manifest.json"] = json.dumps(manifest | {"groups": manifest["groups"] | change}).encode()
        with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
            for name, data in parts.items():
                archive.writestr(name, data)
        with pytest.raises(ModelFileError, match="lacks or garbles a field"):
            FairROCClassifier.load(tmp_path / "d.zip")
    manifest["groups"]["models"][0]["models"].pop()
    parts["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(ModelFileError, match="other base models than"):
        FairROCClassifier.load(tmp_path / "d.zip")
