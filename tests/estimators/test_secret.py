"""Secrets in parameters: kept, compared and copied, never shown."""

from __future__ import annotations

import copy
import pickle

import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairroc import FairROC, FairROCClassifier
from fairroc.backends.frames import Use
from fairroc.estimators.fair_roc import SecretParameter
from fairroc.tables.columns import ColumnNames

KEYS = ["a secret of some length", b"a secret of some length"]


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
def test_the_key_stays_what_it_is(key) -> None:
    for post in ways(key):
        for other in (post, clone(post), copy.deepcopy(post), pickle.loads(pickle.dumps(post))):
            assert other.key == key and hash(other.key) == hash(key)
            assert isinstance(other.key, type(key))
            assert other.get_params()["key"] == key


def test_what_is_no_secret_stays_the_same_object() -> None:
    for value in (None, 5, bytearray(b"x")):
        assert FairROC(key=value).key is value


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
