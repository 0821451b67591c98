"""Constraints as parameters of FairROC and FairROCClassifier."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from test_pipeline import normal_rows

from fairroc import FairModel
from fairroc.errors import DataError
from fitted_people import FairROC, FairROCClassifier

ROWS = normal_rows(61, n=900, digits=2)
ASKED = [
    {"constraint": "equal_opportunity", "epsilon": 0.05},
    {"constraint": "predictive_equality", "epsilon": 0.05, "where": (0, 0.3)},
    {"constraint": "demographic_parity", "ratio": 0.8},
    {"constraint": "demographic_parity", "epsilon": 0.1, "draw": "never"},
    {"epsilon": {"fpr": 0.1, "tpr": 0.05}},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_parameters_come_back_as_they_were_given(asked):
    post = FairROC(**asked)
    assert asked.items() <= post.get_params().items()
    assert clone(post).get_params() == post.get_params()
    assert FairROC().set_params(**asked).get_params() == post.get_params()
    post.fit(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups)
    assert asked.items() <= post.get_params().items()  # fitting changes nothing


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_model_and_certificate_say_what_was_asked_for(asked, tmp_path):
    post = FairROC(salt=1, **asked).fit(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups)
    post.model_.save(tmp_path / "model.json")
    for told in (post.model_, post.certificate_, FairModel.load(tmp_path / "model.json")):
        assert told.constraint == asked.get("constraint", "equalized_odds")
        assert told.ratio == asked.get("ratio")
        assert told.draw == asked.get("draw", "few")
        assert told.where == asked.get("where")
        assert told.tolerances == ((0.1, 0.05) if isinstance(asked.get("epsilon"), dict) else None)
        assert told.fairness == post.model_.fairness
    assert post.certificate_.gap <= post.certificate_.epsilon
    assert post.certificate_.gap_before > post.certificate_.epsilon


def test_without_draws_no_seed_matters():
    post = FairROC(salt=1, constraint="demographic_parity", epsilon=0.1, draw="never")
    post.fit(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups)
    one, other = (post.transform(ROWS.scores, sensitive_features=ROWS.groups, random_state=s) for s in (0, 1))
    assert np.array_equal(one, other)
    rates = post.acceptance_rate(ROWS.scores, sensitive_features=ROWS.groups, threshold=float(np.median(one)))
    assert set(rates) == {0.0, 1.0}


def test_what_cannot_be_had_is_refused_by_fit():
    post = FairROC(constraint="equal_opportunity", epsilon=0.0, draw="never")
    with pytest.raises(DataError, match=r"epsilon 0 cannot be kept without draws .* leave a gap of 0\.\d+"):
        post.fit(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups)
    with pytest.raises(DataError, match="give either epsilon or ratio"):
        FairROC(constraint="equal_opportunity", epsilon=0.1, ratio=0.8).fit(
            ROWS.scores, ROWS.y, sensitive_features=ROWS.groups
        )


def test_in_a_pipeline():
    with config_context(enable_metadata_routing=True):
        post = FairROC(constraint="equal_opportunity", epsilon=0.05, salt=1)
        post = post.set_fit_request(sensitive_features=True).set_transform_request(
            sensitive_features=True, random_state=True
        )
        pipeline = make_pipeline(FunctionTransformer(), post)
        pipeline.set_params(fairroc__constraint="demographic_parity", fairroc__where=(0, 0.5))
        fair = pipeline.fit(ROWS.scores.reshape(-1, 1), ROWS.y, sensitive_features=ROWS.groups).transform(
            ROWS.scores.reshape(-1, 1), sensitive_features=ROWS.groups, random_state=0
        )
    assert pipeline[-1].model_.constraint == "demographic_parity"
    assert len(fair) == len(ROWS.y)


def features() -> tuple[np.ndarray, np.ndarray]:
    return np.stack((ROWS.scores, np.random.default_rng(0).normal(size=len(ROWS.y))), axis=1), ROWS.y


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_a_classifier_keeps_a_constraint(asked):
    x, y = features()
    model = FairROCClassifier(LogisticRegression(), cv=2, random_state=0, salt=1, **asked)
    assert clone(model).get_params()["constraint"] == asked.get("constraint", "equalized_odds")
    model.fit(x, y, sensitive_features=ROWS.groups)
    chance = model.predict_proba(x, sensitive_features=ROWS.groups)
    assert chance.shape == (len(y), 2)
    assert model.certificate_.constraint == asked.get("constraint", "equalized_odds")
    assert model.certificate_.gap <= model.certificate_.epsilon + 1e-12


def test_a_constraint_can_be_searched_for():
    x, y = features()
    with config_context(enable_metadata_routing=True):
        model = FairROCClassifier(LogisticRegression(), cv=2, random_state=0, epsilon=0.2)
        model.set_fit_request(sensitive_features=True).set_score_request(sensitive_features=True)
        model.set_predict_request(sensitive_features=True)
        grid = {"constraint": ["equal_opportunity", "demographic_parity"]}
        search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(x, y, sensitive_features=ROWS.groups)
    assert search.best_params_["constraint"] in grid["constraint"]
