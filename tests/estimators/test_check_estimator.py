"""scikit-learn's own checks of estimators, on estimators that read groups and ids from the rows they are given.

Every check has to pass but those in `EXPECTED_TO_FAIL`, each with its reason.
"""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from fairroc import FairROC, FairROCClassifier

pytestmark = [
    pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning"),  # the checks use few rows
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]

OWN_LABELS = (
    "scikit-learn 1.6 renames the labels of the weighted and of the repeated rows differently, each by its first"
)
EXPECTED_TO_FAIL: dict[str, str] = (
    {f"check_sample_weight_equivalence_on_{kind}_data": OWN_LABELS for kind in ("dense", "sparse")}
    if parse_version(sklearn.__version__) < parse_version("1.7")
    else {}
)
"""Of the classifiers. None of the current scikit-learn; `check_array_api_input` skips itself."""

BAND = 0.18
"""Narrow enough, and with such edges, that in every table of the checks both groups have rows of both labels."""


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Tables this small are fitted many times faster without the threads of linear algebra."""
    with threadpool_limits(1):
        yield


def table_of(X) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def groups_of(X) -> list[str]:
    """Two groups from the first column: bands of its values belong to one and to the other by turns.

    Rows take turns where there is no column of numbers; what the checks want to see then is the estimator's error.
    """
    table = table_of(X)
    try:
        first = np.nan_to_num(np.real(table[:, 0]).astype(np.float64), posinf=0, neginf=0)
    except (IndexError, TypeError, ValueError):
        return ["aabb"[place % 4] for place in range(len(table))]
    return np.where(np.floor(first / BAND) % 2 == 0, "a", "b").tolist()


def ids_of(X) -> list[str]:
    """A text for each row, the same for the same row."""
    return [str(row) for row in (table_of(X).astype(np.float64).round(6) + 0.0).tolist()]


class Classifier(FairROCClassifier):
    def _groups(self, X, sensitive_features):
        return groups_of(X)

    def _how(self, X, sensitive_features, ids, control_features):
        return super()._how(X, sensitive_features, ids_of(X), control_features)


def classifier(**how) -> Classifier:
    """Two folds by label: some tables of the checks are too small for folds by group and label."""
    given = {"cv": StratifiedKFold(2), "promise": "fitted", "draw": "all", "salt": 1}
    return Classifier(LogisticRegression(), 0.5, **given, **how)


class Postprocessor(FairROC):
    """Reads a table: the score is the mean of its columns, every second label is positive."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = False
        return tags

    def _note_features(self, scores, *, reset):
        """Left to the readers of the table."""

    def fit(self, X, y=None, sample_weight=None):
        if y is None:
            return super().fit(None, None, sensitive_features=None)
        X, y = validate_data(self, X, y, dtype=np.float64)
        hits = np.searchsorted(np.unique(y), y) % 2 == 1
        return super().fit(X.mean(axis=1), hits, sensitive_features=groups_of(X), sample_weight=sample_weight)

    def transform(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return super().transform(X.mean(axis=1)[:, None], sensitive_features=groups_of(X), ids=ids_of(X))

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X)

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return super().predict(X.mean(axis=1), sensitive_features=groups_of(X), ids=ids_of(X))


@parametrize_with_checks([Postprocessor(0.5, promise="fitted", salt=1)])
def test_postprocessor(estimator, check) -> None:
    check(estimator)


@parametrize_with_checks(
    [classifier(), classifier(ensemble=False, response_method="decision_function")],
    expected_failed_checks=lambda _: EXPECTED_TO_FAIL,
)
def test_classifier(estimator, check) -> None:
    check(estimator)
