"""scikit-learn's own checks of estimators, on estimators that find groups and ids in the rows they are given."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from fairroc import FairROC, FairROCClassifier

pytestmark = [
    pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning"),  # the checks use few rows
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]


SALT = 4
"""Chosen so that in the small tables of the checks both groups have rows of both labels."""


def rows_of(X) -> list[str]:
    """A text for each row of whatever a check passes, the same for the same row."""
    table = X.toarray() if sparse.issparse(X) else X
    try:
        table = np.asarray(table)
        table = table if np.iscomplexobj(table) else table.astype(np.float64).round(6) + 0.0
    except (TypeError, ValueError):  # text
        table = np.asarray(table, dtype=object)
    return [str(row) for row in table.tolist()]


def groups_of(X) -> list[str]:
    """Two groups, from the content of a row; rows without content, or all the same, take turns."""
    texts = rows_of(X)
    if len(set(texts)) == 1 < len(texts):
        return ["aabb"[place % 4] for place in range(len(texts))]
    return ["ab"[hashlib.md5(f"{SALT} {row}".encode()).digest()[0] & 1] for row in texts]


class Classifier(FairROCClassifier):
    def _groups(self, X, sensitive_features):
        return groups_of(X)

    def _how(self, X, sensitive_features, ids):
        return super()._how(X, sensitive_features, rows_of(X))


CLASSIFIERS = [
    Classifier(LogisticRegression(), 0.5, cv=StratifiedKFold(2), salt=1),
    Classifier(
        LogisticRegression(), 0.5, cv=StratifiedKFold(2), salt=1, ensemble=False, response_method="decision_function"
    ),
]
"""Two folds by label: some tables of the checks are too small for folds by group and label."""


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
        return super().transform(X.mean(axis=1)[:, None], sensitive_features=groups_of(X), ids=rows_of(X))

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X)

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return super().predict(X.mean(axis=1), sensitive_features=groups_of(X), ids=rows_of(X))


@parametrize_with_checks([Postprocessor(0.5, salt=1)])
def test_postprocessor(estimator, check) -> None:
    check(estimator)


@parametrize_with_checks(CLASSIFIERS)
def test_classifier(estimator, check) -> None:
    check(estimator)
