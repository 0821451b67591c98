"""Secrets in parameters: kept, compared and copied, never shown."""

from __future__ import annotations

import copy
import json
import pickle
from pprint import pformat

import cloudpickle
import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairroc import FairROC, FairROCClassifier
from fairroc.backends.frames import Use
from fairroc.errors import DataError
from fairroc.estimators.fair_roc import SecretParameter
from fairroc.model.draw import Secret
from fairroc.tables.columns import ColumnNames
from refusals import refuses

KEYS = ["a secret of some length", b"a secret of some length"]
RNG = np.random.default_rng(0)
GROUPS, LABELS = np.tile(["a", "b"], 1000), RNG.integers(0, 2, 2000)
SCORES = LABELS + np.where(GROUPS == "a", 1.0, 3.0) * RNG.normal(size=2000)


def ways(key):
    """The estimators with the key set in the constructor, by set_params and by hand."""
    for make in (FairROC, lambda **how: FairROCClassifier(LogisticRegression(), **how)):
        by_hand = make()
        by_hand.key = key
        yield from (make(key=key), make().set_params(key=key), by_hand, clone(make(key=key)))


@pytest.mark.parametrize("key", KEYS)
def test_the_key_is_nowhere_to_be_seen(key) -> None:
    for post in ways(key):
        for shown in (
            post,
            make_pipeline(StandardScaler(), post),
            GridSearchCV(post, {"epsilon": [0.1]}),
            GridSearchCV(make_pipeline(post), {}),
        ):
            for text in (repr(shown), str(shown), shown._repr_html_(), str(shown._repr_mimebundle_())):
                assert "secret" not in text
            assert "hidden" in repr(shown)


@pytest.mark.parametrize("key", KEYS)
def test_no_stringification_shows_the_key(key) -> None:
    for post in ways(key):
        params = post.get_params()
        hidden = params["key"]
        for text in (
            *(str(params), json.dumps(params, default=str), json.dumps(hidden), pformat(params)),
            *(str(hidden), repr(hidden), f"{hidden}", f"{hidden!s:>40}", f"{hidden!a}", "%s" % hidden),  # noqa: UP031
            *("".join(hidden), hidden[:], hidden + "", str(hidden.encode()), str(np.array([hidden])), str(vars(post))),
        ):
            assert "secret" not in text and "hidden" in text


@pytest.mark.parametrize("key", KEYS)
def test_the_key_stays_what_it_is(key) -> None:
    for post in ways(key):
        for other in (post, clone(post), copy.deepcopy(post), copy.copy(post)):
            assert other.key == key and other.key != "another secret of some length"
            assert hash(other.key) == hash(Secret(key)) and other.key.reveal() == b"a secret of some length"
            assert other.get_params()["key"] == key


def test_what_is_no_secret_stays_the_same_object() -> None:
    for value in (None, 5):
        assert FairROC(key=value).key is value
    assert FairROC(key=bytearray(KEYS[1])).key == KEYS[1]


def stored(post, tmp_path):
    """The object after every way of writing it that is not meant for another process."""
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        text = pickle.dumps(post, protocol)
        assert b"a secret" not in text
        yield pickle.loads(text)
    text = cloudpickle.dumps(post)
    assert b"a secret" not in text
    yield pickle.loads(text)
    joblib.dump(post, tmp_path / "post")
    assert b"a secret" not in (tmp_path / "post").read_bytes()
    yield joblib.load(tmp_path / "post")


@pytest.mark.parametrize("key", KEYS)
def test_a_pickle_holds_no_key_and_asks_for_it(key, tmp_path) -> None:
    fit = {"sensitive_features": GROUPS}
    for post in (
        FairROC(0.1, promise="fitted", draw="all", key=key).fit(SCORES, LABELS, **fit),
        FairROCClassifier(LogisticRegression(), 0.1, cv=2, promise="fitted", draw="all", key=key).fit(
            SCORES[:, None], LABELS, **fit
        ),
    ):
        draw = "transform" if isinstance(post, FairROC) else "fair_score"
        scores = SCORES if isinstance(post, FairROC) else SCORES[:, None]
        how = {"sensitive_features": GROUPS, "ids": np.arange(len(SCORES))}
        fair = getattr(post, draw)(scores, **how)
        for other in stored(post, tmp_path):
            assert "hidden" in repr(other) and other.key == key and other.key.is_lost
            wanted = rf"fingerprint {post.model_.key_fingerprint}\) and its draws need it.*set_params\(key=\.\.\.\)"
            refuses(wanted, getattr(other, draw), scores, **how)
            refuses(r"key must be given again.*set_params", clone(other).fit, scores, LABELS, **fit)
            refuses("got one of", getattr(other.set_params(key="another secret of some length"), draw), scores, **how)
            assert (getattr(other.set_params(key=key), draw)(scores, **how) == fair).all()
            assert pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(other)))).key.is_lost


def test_a_search_in_other_processes_fits_with_the_key() -> None:
    clf = FairROCClassifier(
        LogisticRegression(), cv=2, promise="fitted", draw="all", key=KEYS[0], salt=1, sensitive_features=0
    )
    table = np.column_stack((GROUPS == "a", SCORES)).astype(float)
    found = [
        cross_validate(clf, table, LABELS, cv=2, n_jobs=jobs, return_estimator=True, error_score="raise")
        for jobs in (None, 2)
    ]
    assert (found[0]["test_score"] == found[1]["test_score"]).all()
    assert [one.key for one in found[1]["estimator"]] == [KEYS[0]] * 2
    assert not any(one.key.is_lost or one.postprocessor_.key.is_lost for one in found[1]["estimator"])


@pytest.mark.parametrize("key", ["", "x", b"x", "x" * 15])
def test_a_short_key_is_refused(key) -> None:
    wrapped = FairROCClassifier(LogisticRegression(), key=key)
    for post, scores in ((FairROC(key=key), SCORES), (wrapped, SCORES[:, None])):
        with pytest.raises(DataError, match=rf"key must be at least 16 random bytes, got {len(key)}: .*token_hex"):
            post.fit(scores, LABELS, sensitive_features=GROUPS)


def test_a_key_for_a_keyless_model_is_refused() -> None:
    post = FairROC(0.1, promise="fitted", draw="all").fit(SCORES, LABELS, sensitive_features=GROUPS)
    for ids in (np.arange(len(SCORES)), [str(i) for i in range(len(SCORES))]):
        for rows in (slice(None), slice(3)):
            how = {"sensitive_features": GROUPS[rows], "ids": ids[rows]}
            with pytest.raises(DataError, match=r"fitted without a key, got one.*Leave out key=.*or refit"):
                post.model_.transform(SCORES[rows], key=KEYS[0], **how)
    with pytest.raises(DataError, match="fitted without a key"):
        post.set_params(key=KEYS[0]).transform(SCORES, sensitive_features=GROUPS, ids=np.arange(len(SCORES)))
    refuses("fitted without a key", post.model_.to_sql, "duckdb", key=KEYS[0])


def test_the_class_attribute() -> None:
    assert isinstance(FairROC.key, SecretParameter)
    post = FairROC()
    del post.__dict__["key"]
    with pytest.raises(AttributeError, match="'FairROC' object has no attribute 'key'"):
        _ = post.key


@pytest.mark.parametrize("key", KEYS)
def test_a_request_does_not_show_its_key(key) -> None:
    use = Use(None, ColumnNames("p", ("g",), id="i"), "p_fair", key)
    assert use.key == key and "secret" not in repr(use)
