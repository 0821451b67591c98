"""FairROC among scikit-learn's estimators."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from test_pipeline import normal_rows, same_bits

import fairroc.estimators.fair_roc
from fairroc.errors import DataError, FairrocWarning
from fitted_people import FairROC

ROWS = normal_rows(61, n=500)


def fit(post: FairROC) -> FairROC:
    return post.fit(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups)


def test_parameters_are_stored_as_they_came():
    """scikit-learn's rule: the constructor checks nothing and changes nothing."""
    strange = {"epsilon": "x", "norm": "1", "queries": 2.0, "draw": "few", "key": b"k", "salt": 5, "pos_label": "yes"}
    post = FairROC(**strange)
    assert strange.items() <= post.get_params().items()
    copy = clone(post)
    assert copy.get_params() == post.get_params()
    assert post.set_params(epsilon=0.2).epsilon == 0.2
    with pytest.raises(ValueError, match="Invalid parameter 'eps'"):
        post.set_params(eps=0.1)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epsilon": 3}, "epsilon must be between 0 and 2"),
        ({"norm": 3}, "norm must be"),
        ({"queries": 0}, "queries must be"),
        ({"draw": None}, "draw must be 'few', 'never' or 'all', got None"),
        ({"salt": 2**70}, "salt must be a signed 64-bit integer"),
        ({"key": "x"}, "key must be at least 16 random bytes, got 1"),
        ({"missing": "drop"}, "missing must be 'error' or 'group'"),
        ({"pos_label": 7}, "pos_label must be one of the labels"),
    ],
)
def test_parameters_are_checked_by_fit(wrong, words):
    with pytest.raises(DataError, match=words):
        fit(FairROC(**{"draw": "all", **wrong}))


def test_not_fitted_yet():
    post = FairROC(draw="all")
    how = {"sensitive_features": ["a"]}
    for use in (
        lambda: post.transform([0.5], random_state=0, **how),
        lambda: post.predict([0.5], random_state=0, **how),
        lambda: post.acceptance_rate([0.5], **how),
        lambda: post.certificate_,
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use()


def test_certificate_is_computed_on_first_access_and_reset_by_a_refit(monkeypatch):
    calls = []
    certify = fairroc.estimators.fair_roc.certify

    def counting(fitted):
        calls.append(fitted)
        return certify(fitted)

    monkeypatch.setattr(fairroc.estimators.fair_roc, "certify", counting)
    post = fit(FairROC(epsilon=0.1, draw="all", salt=1))
    assert calls == []
    first = post.certificate_
    assert post.certificate_ is first
    assert len(calls) == 1
    fit(post.set_params(epsilon=0.05))
    assert len(calls) == 1
    assert (first.epsilon, post.certificate_.epsilon) == (0.1, 0.05)
    assert len(calls) == 2


def test_a_refit_that_needs_ids_anew_says_so(recwarn):
    post = fit(FairROC(0.2, draw="all"))
    for draw in ("all", "never", "never"):  # none of these breaks a call
        fit(post.set_params(draw=draw))
    assert not post.model_.needs_ids and not [one for one in recwarn.list if "ids" in str(one.message)]
    with pytest.warns(
        FairrocWarning, match=r"need ids= \(or random_state=\)\. Pass them, or refit with draw=\"never\""
    ):
        fit(post.set_params(draw="all"))


def test_a_failed_refit_leaves_no_stale_certificate():
    """The certificate always belongs to the model beside it."""
    post = fit(FairROC(epsilon=0.1, draw="all", salt=1))
    before = post.certificate_.epsilon
    with pytest.raises(DataError):
        fit(post.set_params(epsilon=9))
    assert post.certificate_.epsilon == post.model_.epsilon == before


def test_doors_agree_with_the_model():
    post = fit(FairROC(epsilon=0.1, draw="all", salt=1, key="0123456789abcdef"))
    how = {"sensitive_features": ROWS.groups, "ids": np.arange(len(ROWS.y))}
    fair = post.transform(ROWS.scores, **how)
    assert same_bits(fair, post.model_.transform(ROWS.scores, key="0123456789abcdef", **how))
    assert (post.predict(ROWS.scores, **how) == (fair >= 0.5)).all()
    assert (post.predict(ROWS.scores, threshold=1.0, **how) == (fair >= 1.0)).all()
    rate = post.acceptance_rate(ROWS.scores, sensitive_features=ROWS.groups)
    assert same_bits(rate, post.model_.acceptance_rate(ROWS.scores, sensitive_features=ROWS.groups, threshold=0.5))


def test_random_state_needs_no_key():
    keyed, plain = (fit(FairROC(epsilon=0.1, draw="all", salt=1, key=key)) for key in ("0123456789abcdef", None))
    how = {"sensitive_features": ROWS.groups, "random_state": 4}
    assert same_bits(keyed.transform(ROWS.scores, **how), plain.transform(ROWS.scores, **how))


def test_unknown_groups_as_a_parameter():
    post = fit(FairROC(epsilon=0.1, draw="all", salt=1, on_unknown_group="a"))
    with pytest.warns(FairrocWarning, match="1 of 2 rows"):
        rate = post.acceptance_rate([0.4, 0.4], sensitive_features=["new", "a"])
    assert rate[0] == rate[1]


def test_labels_of_any_two_values():
    words = np.where(ROWS.y == 1, "yes", "no")
    post = FairROC(epsilon=0.1, draw="all", salt=1, pos_label="yes")
    post.fit(ROWS.scores, words, sensitive_features=ROWS.groups)
    same = fit(FairROC(epsilon=0.1, draw="all", salt=1))
    assert post.certificate_.auc == same.certificate_.auc
    assert [k.table.tolist() for k in post.model_.kernels] == [k.table.tolist() for k in same.model_.kernels]


def test_several_columns_are_crossed():
    second = np.where(np.arange(len(ROWS.y)) % 2 == 0, "x", "y")
    groups = {"one": ROWS.groups, "two": second}
    post = FairROC(epsilon=0.3, draw="all", salt=1).fit(ROWS.scores, ROWS.y, sensitive_features=pd.DataFrame(groups))
    assert len(post.model_.names) == 4
    assert post.certificate_.gap <= 0.3 + 1e-12


def test_pickled_estimators_work():
    post = fit(FairROC(epsilon=0.1, draw="all", salt=1))
    back = pickle.loads(pickle.dumps(post))
    how = {"sensitive_features": ROWS.groups, "ids": np.arange(len(ROWS.y))}
    assert same_bits(back.transform(ROWS.scores, **how), post.transform(ROWS.scores, **how))


def test_the_key_is_never_shown() -> None:
    """Neither in the console nor in a notebook, and scikit-learn's clone still carries it."""
    post = FairROC(0.1, key="a secret of some length")
    assert "secret" not in repr(post)
    assert "hidden" in repr(post)
    assert "secret" not in str(post._repr_mimebundle_())
    assert clone(post).key == post.key
    assert "epsilon=0.1" in repr(FairROC(0.1))


def test_pickles_carry_the_model_but_no_training_scores() -> None:
    rng = np.random.default_rng(3)
    groups, labels = rng.choice(["a", "b"], 4000), rng.random(4000) < 0.4
    scores = labels * np.where(groups == "a", 1.8, 1.0) + rng.normal(size=4000)
    post = FairROC(0.1, draw="all").fit(scores, labels, sensitive_features=groups)
    again = pickle.loads(pickle.dumps(post))
    how = {"sensitive_features": groups, "ids": np.arange(4000)}
    assert np.array_equal(again.transform(scores, **how), post.transform(scores, **how))
    assert scores.tobytes() not in pickle.dumps(post)
    with pytest.raises(DataError, match="needs the training data"):
        _ = again.certificate_
    known = post.certificate_
    assert pickle.loads(pickle.dumps(post)).certificate_ == known


def test_on_unknown_group_must_be_fitted() -> None:
    with pytest.raises(DataError, match=r"must be a fitted group \('a', 'b'\), got 'z'"):
        FairROC(0.1, on_unknown_group="z").fit([1, 2, 3, 4], [0, 1, 0, 1], sensitive_features=["a", "a", "b", "b"])


# ---- as a transformer of one column ------------------------------------------------------------------------

HOW = {"sensitive_features": ROWS.groups, "ids": np.arange(len(ROWS.y))}


def test_the_shape_follows_the_scores() -> None:
    post = fit(FairROC(epsilon=0.1, draw="all", salt=1))
    fair = post.transform(ROWS.scores, **HOW)
    assert fair.shape == ROWS.scores.shape and post.n_features_in_ == 1
    for table in (ROWS.scores[:, None], pd.DataFrame({"p": ROWS.scores}), pl.DataFrame({"p": ROWS.scores})):
        assert same_bits(post.transform(table, **HOW), fair[:, None])
    for column in (pd.Series(ROWS.scores), pl.Series(ROWS.scores), ROWS.scores.tolist()):
        assert same_bits(post.transform(column, **HOW), fair)
    again = FairROC(epsilon=0.1, draw="all", salt=1).fit_transform(ROWS.scores, ROWS.y, **HOW)
    assert same_bits(again, fair)


def test_names_of_the_column() -> None:
    frame = pd.DataFrame({"p": ROWS.scores})
    post = FairROC(epsilon=0.1, draw="all", salt=1).fit(frame, ROWS.y, sensitive_features=ROWS.groups)
    assert post.feature_names_in_.tolist() == ["p"] and post.get_feature_names_out().tolist() == ["p_fair"]
    with pytest.raises(ValueError, match="feature names should match"):
        post.transform(frame.rename(columns={"p": "q"}), **HOW)
    with pytest.raises(ValueError, match="input_features is not equal"):
        post.get_feature_names_out(["q"])
    fit(post)
    assert not hasattr(post, "feature_names_in_") and post.get_feature_names_out().tolist() == ["fair_score"]


@pytest.mark.parametrize(("container", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(container, kind) -> None:
    fair = fit(FairROC(epsilon=0.1, draw="all", salt=1)).transform(ROWS.scores, **HOW)
    frame = pd.DataFrame({"p": ROWS.scores}, index=np.arange(len(ROWS.y)) + 7)
    for scores, name in ((ROWS.scores, "fair_score"), (frame, "p_fair")):
        post = FairROC(epsilon=0.1, draw="all", salt=1).set_output(transform=container)
        out = post.fit(scores, ROWS.y, sensitive_features=ROWS.groups).transform(scores, **HOW)
        assert isinstance(out, kind) and list(out.columns) == [name]
        assert same_bits(out[name].to_numpy(), fair)
        assert type(post.fit_transform(scores, ROWS.y, **HOW)) is kind
    if container == "pandas":
        assert out.index.equals(frame.index)


def test_in_pipelines_and_column_transformers() -> None:
    """Groups and ids are requested without asking; with weights the usual request has to be set."""
    table = pd.DataFrame({"age": np.arange(len(ROWS.y)), "p": ROWS.scores})
    fair = fit(FairROC(epsilon=0.1, draw="all", salt=1)).transform(ROWS.scores, **HOW)
    make = FairROC(epsilon=0.1, draw="all", salt=1)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(FunctionTransformer(lambda X: X[["p"]]), clone(make))
        pipe.fit(table, ROWS.y, sensitive_features=ROWS.groups)
        assert same_bits(pipe.transform(table, **HOW), fair[:, None])
        assert np.array_equal(pipe.predict(table, **HOW), fair >= 0.5)
        assert np.array_equal(pipe.predict(table, threshold=0.8, **HOW), fair >= 0.8)
        drawn = {"sensitive_features": ROWS.groups, "random_state": 3}
        assert same_bits(pipe.transform(table, **drawn), pipe[-1].transform(table[["p"]], **drawn))
        columns = ColumnTransformer([("fair", clone(make), ["p"])], remainder="passthrough")
        out = columns.set_output(transform="pandas").fit_transform(table, ROWS.y, **HOW)
        assert list(out) == ["fair__p_fair", "remainder__age"]
        assert same_bits(out["fair__p_fair"].to_numpy(), fair)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            pipe.fit(table, ROWS.y, sensitive_features=ROWS.groups, sample_weight=np.ones(len(ROWS.y)))
    pipe.fit(table, ROWS.y, fairroc__sensitive_features=ROWS.groups)
    assert np.array_equal(pipe.predict(table, **HOW), fair >= 0.5)


def test_labels_are_needed() -> None:
    with pytest.raises(DataError, match="requires y to be passed"):
        FairROC().fit(ROWS.scores, None, sensitive_features=ROWS.groups)
    assert get_tags(FairROC()).target_tags.required
