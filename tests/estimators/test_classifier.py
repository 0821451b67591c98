"""FairROCClassifier: cross-fitting, its doors, and its place among scikit-learn's estimators."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.fixes import parse_version
from test_metrics import people

from fairroc.errors import DataError, FairrocWarning, UnknownGroupError
from fairroc.estimators.classifier import POST_PARAMETERS
from fairroc.estimators.crossfit import SensitiveStratifiedKFold
from fitted_people import FairROC, FairROCClassifier
from refusals import refuses
from strategies import SEEDS

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

FRAME, Y, SEX = people(5, n=500)
X = FRAME.to_numpy()
NEW, NEW_Y, NEW_SEX = people(6, n=200)
IDS = np.arange(len(NEW))


def classifier(estimator=None, epsilon=0.1, **how) -> FairROCClassifier:
    how = {"cv": 3, "draw": "all", "salt": 1, **how}
    return FairROCClassifier(LogisticRegression() if estimator is None else estimator, epsilon, **how)


def fitted(estimator=None, epsilon=0.1, **how) -> FairROCClassifier:
    return classifier(estimator, epsilon, **how).fit(FRAME, Y, sensitive_features=SEX)


# ---- cross-fitting -----------------------------------------------------------------------------------------


@settings(max_examples=8)
@given(SEEDS, st.sampled_from([2, 4]), st.booleans())
def test_the_post_processor_is_fitted_to_out_of_fold_scores(seed, folds, weighted) -> None:
    """It equals a FairROC fitted by hand to scikit-learn's own cross-validated scores."""
    frame, y, sex = people(seed, n=200)
    weights = np.random.default_rng(seed).uniform(0.5, 2, len(y)) if weighted else None
    cv = SensitiveStratifiedKFold(folds, shuffle=True, random_state=seed % 100)
    clf = classifier(DecisionTreeClassifier(max_depth=3, random_state=0), cv=cv)
    clf.fit(frame, y, sensitive_features=sex, sample_weight=weights)
    scores = cross_val_predict(
        DecisionTreeClassifier(max_depth=3, random_state=0),
        frame,
        y,
        cv=list(cv.split(frame, y, sensitive_features=sex)),
        method="predict_proba",
        params={} if weights is None else {"sample_weight": weights},
    )[:, 1]
    post = FairROC(0.1, draw="all", salt=1).fit(scores, y, sensitive_features=sex, sample_weight=weights)
    assert clf.model_.record.data == post.model_.record.data
    assert clf.certificate_.gap == post.certificate_.gap


def test_a_number_of_folds_is_stratified_and_the_same_every_time() -> None:
    """So the same rows give the same fit, in whatever order groups and labels come."""
    order = np.lexsort((Y, SEX))
    clf = classifier(cv=4).fit(X[order], Y[order], sensitive_features=SEX[order])
    again = clone(clf).fit(X[order], Y[order], sensitive_features=SEX[order])
    assert clf.model_.record.data == again.model_.record.data
    assert len(clf.estimators_) == 4
    assert len(fitted(cv=None).estimators_) == 5


def test_groups_too_small_for_the_folds_are_named() -> None:
    few = SEX.astype(object)
    few[np.flatnonzero(Y == 1)[:4]] = "x"
    few[np.flatnonzero(Y == 0)[:9]] = "x"
    with pytest.raises(
        DataError, match="at least 5 rows of each label for 5 folds, but group 'x' with label '1' has 4"
    ):
        classifier(cv=5).fit(X, Y, sensitive_features=few)


def test_refit_and_ensemble_share_the_post_processor() -> None:
    forest = RandomForestClassifier(5, max_depth=4, random_state=0)
    mean, one = fitted(forest, ensemble=True), fitted(forest, ensemble=False)
    assert mean.model_.record.data == one.model_.record.data
    each = [model.predict_proba(NEW)[:, 1] for model in mean.estimators_]
    assert np.allclose(mean.base_score(NEW), np.mean(each, axis=0))
    whole = clone(forest).fit(FRAME, Y).predict_proba(NEW)[:, 1]
    assert np.array_equal(one.base_score(NEW), whole)
    assert not hasattr(mean, "estimator_") and not hasattr(one, "estimators_")
    switched = one.set_params(ensemble=True).fit(FRAME, Y, sensitive_features=SEX)
    assert not hasattr(switched, "estimator_") and len(switched.estimators_) == 3


def test_prefit() -> None:
    base = LogisticRegression().fit(FRAME, Y)
    clf = classifier(base, cv="prefit").fit(NEW, NEW_Y, sensitive_features=NEW_SEX)
    assert clf.estimator_ is base
    post = FairROC(0.1, draw="all", salt=1)
    post.fit(base.predict_proba(NEW)[:, 1], NEW_Y, sensitive_features=NEW_SEX)
    assert clf.model_.record.data == post.model_.record.data
    frozen = classifier(FrozenEstimator(base), cv=3).fit(NEW, NEW_Y, sensitive_features=NEW_SEX)
    assert frozen.model_.record.data == clf.model_.record.data
    with pytest.raises(NotFittedError, match=r"this LogisticRegression is not fitted.*FrozenEstimator"):
        clone(clf).fit(NEW, NEW_Y, sensitive_features=NEW_SEX)
    with pytest.raises(DataError, match="fits no estimator, so nothing can take groups"):
        classifier(base, cv="prefit").fit(NEW, NEW_Y, sensitive_features=NEW_SEX, groups=IDS)


@pytest.mark.parametrize("wrong", ["prefitted", 1, RepeatedKFold(n_splits=2, n_repeats=2), []])
def test_cv_must_be_usable(wrong) -> None:
    refuses("cv must", fitted, cv=wrong)


def test_splitters_and_splits() -> None:
    """Rows that are never tested do not fit the fair score."""
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    assert fitted(cv=splits).model_.record.data == fitted(cv=KFold(3, shuffle=True, random_state=0)).model_.record.data
    part = fitted(cv=ShuffleSplit(1, test_size=0.4, random_state=0), ensemble=False)
    assert part.model_.record.rows == 200
    assert part.base_score(NEW) == pytest.approx(LogisticRegression().fit(FRAME, Y).predict_proba(NEW)[:, 1])


# ---- doors -------------------------------------------------------------------------------------------------


def test_the_first_example() -> None:
    clf = FairROCClassifier(LogisticRegression(), epsilon=0.05, cv=5)
    clf.fit(X, Y, sensitive_features=SEX)
    proba = clf.predict_proba(X, sensitive_features=SEX)
    assert proba.shape == (len(X), 2) and proba.min() >= 0 and np.allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize("base", [LogisticRegression(), LinearSVC()], ids=["proba", "decision"])
def test_doors_agree(base) -> None:
    clf = fitted(base)
    how = {"sensitive_features": NEW_SEX, "ids": IDS}
    fair = clf.fair_score(NEW, **how)
    post = clf.postprocessor_
    assert np.array_equal(fair, post.transform(clf.base_score(NEW), **how))
    if isinstance(base, LogisticRegression):
        assert np.array_equal(clf.predict_proba(NEW, **how), np.stack((1 - fair, fair), axis=1))
        assert not hasattr(clf, "decision_function")
        limit = 0.5
    else:
        assert np.array_equal(clf.decision_function(NEW, **how), fair)
        assert not hasattr(clf, "predict_proba")
        limit = 0.0
    assert np.array_equal(clf.predict(NEW, **how), (fair >= limit).astype(int))
    assert np.array_equal(clf.predict(NEW, threshold=0.7, **how), (fair >= 0.7).astype(int))
    rate = clf.acceptance_rate(NEW, sensitive_features=NEW_SEX)
    expected = post.acceptance_rate(clf.base_score(NEW), sensitive_features=NEW_SEX, threshold=limit)
    assert np.array_equal(rate, expected)
    refuses("threshold must be a number", clf.predict, NEW, threshold="high", **how)


def test_responses() -> None:
    assert hasattr(classifier(), "predict_proba") and not hasattr(classifier(), "decision_function")
    chosen = fitted(response_method="decision_function")
    assert hasattr(chosen, "decision_function") and not hasattr(chosen, "predict_proba")
    assert chosen.base_score(NEW).min() < 0
    refuses("response_method must be", fitted, response_method="predict")
    with pytest.raises(DataError, match="must have predict_proba to give scores, which LinearSVC lacks"):
        fitted(LinearSVC(), response_method="predict_proba")
    assert not hasattr(fitted(RidgeClassifier()), "predict_proba")
    for odd in (classifier(response_method="predict"), classifier(StandardScaler())):
        assert not hasattr(odd, "predict_proba") and not hasattr(odd, "decision_function")


def test_draws() -> None:
    how = {"sensitive_features": NEW_SEX}
    seeded, free = fitted(random_state=3), fitted()
    assert np.array_equal(seeded.fair_score(NEW, **how), seeded.fair_score(NEW, **how))
    assert not np.array_equal(free.fair_score(NEW, **how), free.fair_score(NEW, **how))
    assert np.array_equal(seeded.predict(NEW, **how), seeded.predict_proba(NEW, **how)[:, 1] >= 0.5)
    by_id = seeded.fair_score(NEW, ids=IDS, **how)
    assert np.array_equal(by_id, free.fair_score(NEW, ids=IDS, **how))
    assert not np.array_equal(by_id, seeded.fair_score(NEW, **how))
    some = np.arange(0, 200, 3)[::-1]
    part = free.fair_score(NEW.iloc[some], sensitive_features=NEW_SEX[some], ids=IDS[some])
    assert np.array_equal(part, by_id[some])
    state = fitted(random_state=np.random.RandomState(0))
    assert not np.array_equal(state.fair_score(NEW, **how), state.fair_score(NEW, **how))
    keyed = fitted(key="a secret of some length")
    assert not np.array_equal(keyed.fair_score(NEW, ids=IDS, **how), by_id)


def test_score_is_the_expected_accuracy() -> None:
    clf = fitted()
    how = {"sensitive_features": NEW_SEX}
    exact = clf.score(NEW, NEW_Y, **how)
    drawn = [accuracy_score(NEW_Y, clf.predict(NEW, **how)) for _ in range(200)]
    assert abs(np.mean(drawn) - exact) < 4 * np.std(drawn) / np.sqrt(200)
    weights = np.where(NEW_Y == 1, 1.0, 0.0)
    assert clf.score(NEW, NEW_Y, weights, **how) == pytest.approx(clf.acceptance_rate(NEW, **how)[NEW_Y == 1].mean())
    of_these = accuracy_score(NEW_Y, clf.predict(NEW, ids=IDS, **how))
    assert clf.score(NEW, NEW_Y, ids=IDS, **how) == pytest.approx(of_these) != pytest.approx(exact)
    with pytest.raises(DataError, match=r"y must hold the fitted labels \[0, 1\], got \['no', 'yes'\]"):
        clf.score(NEW, np.where(NEW_Y == 1, "yes", "no"), **how)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clf.score(NEW, NEW_Y[:-1], **how)


@pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1), (False, True), (3, 7)])
@pytest.mark.parametrize("base", [LogisticRegression(), LinearSVC()], ids=["proba", "decision"])
def test_labels_of_any_two_values(labels, base) -> None:
    named = np.array(labels)[Y]
    clf = classifier(base).fit(X, named, sensitive_features=SEX)
    plain = classifier(base).fit(X, Y, sensitive_features=SEX)
    how = {"sensitive_features": NEW_SEX, "ids": IDS}
    new = NEW.to_numpy()
    assert clf.classes_.tolist() == sorted(labels) and clf.pos_label_ == sorted(labels)[1]
    assert np.array_equal(clf.predict(new, **how), np.array(labels)[plain.predict(new, **how)])
    turned = classifier(base, pos_label=labels[0]).fit(X, named, sensitive_features=SEX)
    assert turned.pos_label_ == labels[0]
    assert turned.certificate_.auc == pytest.approx(clf.certificate_.auc, abs=0.02)
    fair = turned.fair_score(new, **how)
    assert set(turned.predict(new, **how)[fair < turned._threshold(None)]) == {labels[1]}
    if hasattr(turned, "predict_proba"):
        assert np.array_equal(turned.predict_proba(new, **how)[:, 0], fair)
    else:
        assert np.array_equal(turned.decision_function(new, **how), -fair)
    with pytest.raises(DataError, match="pos_label must be one of the labels"):
        classifier(base, pos_label="maybe").fit(X, named, sensitive_features=SEX)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_groups_as_columns_of_a_frame(make) -> None:
    base = make_pipeline(StandardScaler(), LogisticRegression())
    table, new = make(FRAME.to_dict("list")), make(NEW.to_dict("list"))
    wanted = classifier(base).fit(table, Y, sensitive_features=FRAME["f"])
    expected = wanted.fair_score(new, sensitive_features=NEW["f"], ids=IDS)
    by_call = classifier(base).fit(table, Y, sensitive_features="f")
    assert np.array_equal(by_call.fair_score(new, sensitive_features="f", ids=IDS), expected)
    for columns in ("f", ["f"], 3):
        clf = classifier(base, sensitive_features=columns).fit(table, Y)
        assert np.array_equal(clf.fair_score(new, ids=IDS), expected)
    refuses("sensitive_features must be given", by_call.predict, new)
    refuses("no column 'sex'", by_call.predict, new, sensitive_features="sex")


def test_sparse_rows_lists_and_two_columns_of_groups() -> None:
    both = pd.DataFrame({"sex": SEX, "half": np.where(np.arange(len(Y)) % 2 == 0, "x", "y")})
    clf = classifier(epsilon=0.3).fit(sparse.csr_array(X), Y.tolist(), sensitive_features=both)
    assert len(clf.model_.names) == 4
    listed = classifier(epsilon=0.3).fit(X.tolist(), Y.tolist(), sensitive_features=both)
    assert listed.certificate_.auc == pytest.approx(clf.certificate_.auc, abs=1e-3)  # another solver inside
    assert clf.acceptance_rate(sparse.csr_array(X), sensitive_features=both).shape == Y.shape


def test_missing_and_unknown_groups() -> None:
    lost = SEX.astype(object)
    lost[:60] = None
    refuses("must not be missing", classifier().fit, X, Y, sensitive_features=lost)
    clf = classifier(missing="group").fit(X, Y, sensitive_features=lost)
    assert "(missing)" in clf.model_.names
    assert clf.predict(X, sensitive_features=lost, ids=np.arange(len(X))).shape == Y.shape
    strange = np.full(len(NEW), "x")
    with pytest.raises(UnknownGroupError):
        fitted().predict(NEW, sensitive_features=strange)
    treated = fitted(on_unknown_group="m")
    as_m = treated.fair_score(NEW, sensitive_features=np.full(len(NEW), "m"), ids=IDS)
    assert np.array_equal(treated.fair_score(NEW, sensitive_features=strange, ids=IDS), as_m)


# ---- conventions -------------------------------------------------------------------------------------------


class Unfit(ClassifierMixin, BaseEstimator):
    """Fails when it is fitted: to see what is checked before."""

    def fit(self, X, y):
        raise AssertionError("fitted")

    def predict_proba(self, X):
        raise AssertionError("used")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epsilon": 3}, "epsilon must be between 0 and 2"),
        ({"norm": 3}, "norm must be"),
        ({"queries": 0}, "queries must be"),
        ({"draw": None}, "draw must be"),
        ({"missing": "drop"}, "missing must be"),
        ({"pos_label": 7}, "pos_label must be one of the labels"),
        ({"key": ""}, "key must be at least 16 random bytes, got 0"),
        ({"salt": 2**70}, "salt must be a signed 64-bit integer"),
        ({"response_method": "predict"}, "response_method must be"),
        ({"cv": "five"}, "cv must be a number of folds, 'prefit', a splitter or splits, got 'five'"),
    ],
)
def test_parameters_are_checked_by_fit_before_anything_is_fitted(wrong, words) -> None:
    clf = classifier(Unfit(), **wrong)
    refuses(words, clf.fit, X, Y, sensitive_features=SEX)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"y": None}, "requires y"),
        ({"y": np.arange(500) % 3}, "Only binary classification is supported. The type of the target is multiclass"),
        ({"y": np.zeros(500)}, "y must hold two classes, but all 500 rows are of one class"),
        ({"y": Y[:-1]}, "inconsistent numbers of samples"),
        ({"sensitive_features": SEX[:-1]}, "same number of rows"),
        ({"sensitive_features": None}, "sensitive_features must be given"),
        ({"sensitive_features": np.where(Y == 1, "a", SEX)}, "a ROC curve needs both labels"),
        ({"sample_weight": -np.ones(500)}, "must be >= 0"),
        ({"sample_weight": np.zeros(500)}, "all are zero"),
        ({"sample_weight": Y * 1.0}, "all rows of one class have weight zero"),
    ],
)
def test_rows_are_checked_before_anything_is_fitted(how, words) -> None:
    how = {"y": Y, "sensitive_features": SEX, **how}
    with pytest.raises(ValueError, match=words):
        classifier(Unfit()).fit(X, **how)


def test_not_fitted_yet() -> None:
    clf = classifier()
    for use in (clf.predict, clf.predict_proba, clf.fair_score, clf.base_score, clf.acceptance_rate):
        with pytest.raises(NotFittedError):
            use(X)
    assert not hasattr(clf, "model_") and not hasattr(clf, "certificate_")


def test_a_base_that_does_not_know_the_labels() -> None:
    base = DummyClassifier().fit(X, np.where(Y == 1, "yes", "no"))
    with pytest.raises(DataError, match=r"estimator must know two classes, .* among them; it knows"):
        classifier(base, cv="prefit").fit(X, Y, sensitive_features=SEX)


def test_parameters_clones_and_names() -> None:
    clf = classifier(make_pipeline(StandardScaler(), LogisticRegression()), key="a secret of some length")
    copy = clone(clf.set_params(estimator__logisticregression__C=0.5, epsilon=0.2))
    assert copy.estimator[-1].C == 0.5 and copy.epsilon == 0.2 and copy.key == clf.key
    assert fitted().feature_names_in_.tolist() == list(FRAME) and fitted().n_features_in_ == 4
    named = fitted()
    named.fit(X, Y, sensitive_features=SEX)
    assert not hasattr(named, "feature_names_in_")


def test_every_parameter_of_the_post_processor_reaches_it() -> None:
    """But the positive label, which the classifier has read already, and what to do about scores of other models."""
    assert set(POST_PARAMETERS) == set(FairROC().get_params()) - {"pos_label", "allow_out_of_range"}
    clf = fitted(norm="inf", queries=50, hash="blake2b", min_class_rows=3, on_unknown_group="m")
    given = {name: getattr(clf, name) for name in POST_PARAMETERS}
    assert given.items() <= clf.postprocessor_.get_params().items()


def test_a_promise_needs_scores_like_those_of_new_people() -> None:
    refuses("promise must be 'new' or 'fitted', and confidence None, with cv=3", fitted, cv=3, promise="population")
    model = LogisticRegression().fit(FRAME, Y)
    post = fitted(model, 0.25, cv="prefit", promise="population", confidence=0.5).postprocessor_
    assert post.model_.confidence == 0.5 and post.certificate_.allowed < 0.25


def test_pickles_carry_the_models_but_no_training_rows() -> None:
    clf = fitted()
    back = pickle.loads(pickle.dumps(clf))
    how = {"sensitive_features": NEW_SEX, "ids": IDS}
    assert np.array_equal(back.fair_score(NEW, **how), clf.fair_score(NEW, **how))
    with pytest.raises(DataError, match="needs the training data"):
        _ = back.certificate_
    sizes = [len(pickle.dumps(fitted(epsilon=2.0))), len(pickle.dumps(clf.estimators_))]
    assert sizes[0] < sizes[1] + 8 * len(Y)  # a fair score that changes nothing: less than one number a row


# ---- weights, routing, search ------------------------------------------------------------------------------


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what its fit was given."""

    def fit(self, X, y, sample_weight=None, tag=None, row=None):
        self.seen_ = {"rows": len(X), "sample_weight": sample_weight, "tag": tag, "row": row}
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def test_weights_and_parameters_of_a_fit_without_routing() -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2, len(Y))
    clf = classifier(Recorder()).fit(
        X, Y, sensitive_features=SEX, sample_weight=weights, tag="all", row=np.arange(len(Y))
    )
    for model in clf.estimators_:
        assert model.seen_["tag"] == "all"
        assert np.array_equal(model.seen_["sample_weight"], weights[model.seen_["row"]])
        assert len(model.seen_["row"]) == model.seen_["rows"] < len(Y)
    assert clf.model_.record.weighted
    pipe = classifier(make_pipeline(StandardScaler(), LogisticRegression()))
    with pytest.warns(FairrocWarning, match="Pipeline takes no sample_weight, so the weights are used for the fair"):
        pipe.fit(X, Y, sensitive_features=SEX, sample_weight=weights)
    assert pipe.model_.record.weighted


def test_routing_to_the_inner_estimator_and_to_the_splitter() -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2, len(Y))
    with config_context(enable_metadata_routing=True):
        asked = classifier(Recorder().set_fit_request(sample_weight=True, tag=True, row=False))
        clf = asked.fit(X, Y, sensitive_features=SEX, sample_weight=weights, tag="all")
        assert all(len(m.seen_["sample_weight"]) == m.seen_["rows"] for m in clf.estimators_)
        assert all(m.seen_["tag"] == "all" for m in clf.estimators_)
        declined = classifier(Recorder().set_fit_request(sample_weight=False))
        clf = declined.fit(X, Y, sensitive_features=SEX, sample_weight=weights)
        assert all(m.seen_["sample_weight"] is None for m in clf.estimators_) and clf.model_.record.weighted
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            classifier(Recorder()).fit(X, Y, sensitive_features=SEX, sample_weight=weights)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        deep = make_pipeline(scaler, LogisticRegression().set_fit_request(sample_weight=True))
        classifier(deep).fit(X, Y, sensitive_features=SEX, sample_weight=weights)
        persons = np.arange(len(Y)) // 5
        by_person = classifier(cv=GroupKFold(3)).fit(X, Y, sensitive_features=SEX, groups=persons)
        assert by_person.model_.record.rows == len(Y)
        assert "sensitive_features" in str(classifier(cv="prefit").get_metadata_routing())


def test_pipelines_with_routing() -> None:
    ids = np.arange(len(Y))
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), classifier())
        pipe.fit(X, Y, sensitive_features=SEX)
        proba = pipe.predict_proba(X, sensitive_features=SEX, ids=ids)
        labels = pipe.predict(X, sensitive_features=SEX, ids=ids, threshold=0.7)
        assert np.array_equal(labels, proba[:, 1] >= 0.7)
        exact = pipe.score(X, Y, sensitive_features=SEX)
        drawn = pipe.score(X, Y, sensitive_features=SEX, ids=ids)
        inner, before = pipe[-1], pipe[:-1].transform(X)
    assert exact == inner.score(before, Y, sensitive_features=SEX)
    assert drawn == inner.score(before, Y, sensitive_features=SEX, ids=ids) != exact


@pytest.mark.parametrize("ids", [None, np.arange(len(Y))], ids=["expected", "drawn"])
def test_cross_validation_with_routing(ids) -> None:
    """Groups and ids reach the fit and the score of every fold."""
    params = {"sensitive_features": SEX} if ids is None else {"sensitive_features": SEX, "ids": ids}
    folds = list(KFold(2).split(X))
    with config_context(enable_metadata_routing=True):
        done = cross_validate(classifier(), X, Y, cv=folds, params=params, return_estimator=True)
    for clf, found, (train, test) in zip(done["estimator"], done["test_score"], folds, strict=True):
        assert clf.model_.record.rows == len(train)
        here = {name: value[test] for name, value in params.items()}
        assert found == clf.score(X[test], Y[test], **here)


@pytest.mark.parametrize(
    "deep",
    [
        False,
        pytest.param(
            True,
            marks=pytest.mark.skipif(
                parse_version(sklearn.__version__) < parse_version("1.8"),
                reason="the default scorer passes nothing on to a pipeline before scikit-learn 1.8; scoring= does",
            ),
        ),
    ],
)
def test_searches_with_routing(deep) -> None:
    model = make_pipeline(StandardScaler(), classifier()) if deep else classifier()
    name = "fairrocclassifier__epsilon" if deep else "epsilon"
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(model, {name: [0.05, 2.0]}, cv=SensitiveStratifiedKFold(2), error_score="raise")
        search.fit(X, Y, sensitive_features=SEX)
        assert search.best_params_ == {name: 2.0}
        search.fit(X, Y, sensitive_features=SEX, ids=np.arange(len(Y)))
        assert search.best_estimator_.predict(NEW.to_numpy(), sensitive_features=NEW_SEX, ids=IDS).shape == NEW_Y.shape


def test_parallel_folds_give_the_same_fit() -> None:
    with parallel_config("threading"):
        assert fitted(n_jobs=2).model_.record.data == fitted().model_.record.data


def test_all_of_scikit_learn_where_the_groups_are_columns() -> None:
    """No routing at all: scorers, searches and plots call predict with X alone."""
    clf = classifier(sensitive_features="f", random_state=0)
    aucs = cross_val_score(clf, FRAME, Y, scoring="roc_auc", cv=2)
    assert (aucs > 0.5).all()
    search = GridSearchCV(clf, {"epsilon": [0.05, 0.5]}, scoring="roc_auc", cv=2).fit(FRAME, Y)
    assert search.best_params_ == {"epsilon": 0.5}
    assert roc_auc_score(Y, search.predict_proba(FRAME)[:, 1]) > 0.5


def test_the_diagram_shows_the_estimator() -> None:
    html = fitted(key="of some length and never shown")._repr_html_()
    assert "LogisticRegression" in html and "never shown" not in html
