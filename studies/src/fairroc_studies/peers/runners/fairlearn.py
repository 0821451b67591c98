"""fairlearn: ThresholdOptimizer, a randomised mix of two thresholds in each group with equal rates."""

from __future__ import annotations

import numpy as np
from fairlearn.postprocessing import ThresholdOptimizer
from sklearn.base import BaseEstimator, ClassifierMixin

from fairroc_studies.harness.people import Array, Part

Inputs = tuple[Array, Array, Array]


class Column(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose score is the first column of its input."""

    def fit(self, X: Array, y: Array) -> Column:
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Array) -> Array:
        return X[:, 0]


class EqualizedOdds:
    """constraints="equalized_odds", objective accuracy."""

    def inputs(self, part: Part) -> Inputs:
        return part.scores.reshape(-1, 1), part.labels.astype(np.int64), part.groups

    def fit(self, inputs: Inputs) -> None:
        column, labels, groups = inputs
        self.post = ThresholdOptimizer(
            estimator=Column().fit(column, labels),
            constraints="equalized_odds",
            objective="accuracy_score",
            prefit=True,
            predict_method="predict",
        )
        self.post.fit(column, labels, sensitive_features=groups)

    def predict(self, inputs: Inputs) -> Array:
        column, _, groups = inputs
        return np.asarray(self.post.predict(column, sensitive_features=groups, random_state=0))

    def rates(self, inputs: Inputs) -> Array:
        column, _, groups = inputs
        return self.post._pmf_predict(column, sensitive_features=groups)[:, 1]
