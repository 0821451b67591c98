"""fairlearn: ThresholdOptimizer, a randomised mix of two thresholds in each group with equal rates."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.postprocessing._tradeoff_curve_utilities import METRIC_DICT
from sklearn.base import BaseEstimator, ClassifierMixin

from fairroc_studies.harness.people import Array, Part

Inputs = tuple[Array, Array, Array]

COST_SHARES = np.arange(1, 40) / 40
"""Share of the weight that negatives bear, of each refit of `OneRate.curve`."""


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


class OneRate(EqualizedOdds):
    """One rate alone, within a tolerance, refitted for every ratio of the weights of both classes.

    fairlearn's objectives weigh all rows alike, so the weights replace what it calls accuracy while it fits.
    """

    def __init__(self, constraints: str, tolerance: float | None = None) -> None:
        self.constraints, self.tolerance = constraints, tolerance

    def fit(self, inputs: Inputs) -> None:
        self.known = inputs

    def curve(self, inputs: Inputs) -> Iterator[Array]:
        """Chances of acceptance; negatives weigh most first."""
        column, _, groups = inputs
        for share in COST_SHARES[::-1].tolist():
            yield self._fitted(share)._pmf_predict(column, sensitive_features=groups)[:, 1]

    def _fitted(self, share: float) -> ThresholdOptimizer:
        column, labels, groups = self.known
        rows, positives = len(labels), int(labels.sum())
        up, down = (1.0 - share) / positives, share / (rows - positives)
        post = ThresholdOptimizer(
            estimator=Column().fit(column, labels),
            constraints=self.constraints,
            objective="accuracy_score",
            prefit=True,
            predict_method="predict",
            tol=self.tolerance,
        )
        weighted = {"accuracy_score": lambda x: rows * (up * x.true_positives + down * x.true_negatives) / x.n}
        with patch.dict(METRIC_DICT, weighted):
            return post.fit(column, labels, sensitive_features=groups)
