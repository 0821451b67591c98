"""error-parity: RelaxedThresholdOptimizer, the cheapest decision whose group rates differ by at most a tolerance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from error_parity import RelaxedThresholdOptimizer
from error_parity.classifiers import BinaryClassifier, RandomizedClassifier

from fairroc_studies.harness.people import Array, Part

Inputs = tuple[Array, Array, Array]

COST_SHARES = np.arange(1, 40) / 40
"""Share of the cost that false positives bear, of each refit of `Relaxed.curve`."""


class Relaxed:
    """Equalized odds within a tolerance of the L1 distance; equal costs of both errors unless refitted for a curve."""

    def __init__(self, tolerance: float, shares: list[float] | None = None) -> None:
        self.tolerance = tolerance
        self.shares = COST_SHARES if shares is None else np.array(shares)

    def inputs(self, part: Part) -> Inputs:
        return part.scores.reshape(-1, 1), part.labels.astype(np.int64), part.groups.astype(np.int64)

    def fit(self, inputs: Inputs) -> None:
        self.known = inputs
        self.post = self._fitted(1.0, 1.0)

    def predict(self, inputs: Inputs) -> Array:
        column, _, groups = inputs
        return self.post.predict(column, group=groups)

    def rates(self, inputs: Inputs) -> Array:
        return _chance(self.post, inputs)

    def curve(self, inputs: Inputs) -> Iterator[Array]:
        """Refit for every ratio of the two costs; false positives dear first."""
        for share in self.shares[::-1]:
            yield _chance(self._fitted(share, 1.0 - share), inputs)

    def _fitted(self, false_pos_cost: float, false_neg_cost: float) -> RelaxedThresholdOptimizer:
        column, labels, groups = self.known
        post = RelaxedThresholdOptimizer(
            predictor=_first_column,
            constraint="equalized_odds",
            tolerance=self.tolerance,
            l_p_norm=1,
            false_pos_cost=false_pos_cost,
            false_neg_cost=false_neg_cost,
        )
        return post.fit(X=column, y=labels, group=groups)


def _first_column(column: Array) -> Array:
    return column[:, 0]


def _chance(post: RelaxedThresholdOptimizer, inputs: Inputs) -> Array:
    """The exact chance of acceptance: the weights of each group's mix, read from the fitted rule."""
    column, _, groups = inputs
    rates = np.zeros(len(column))
    for group, rule in post._realized_classifier.group_to_clf.items():
        rows = groups == group
        rates[rows] = _rule_chance(rule, column[rows], float(post.groupwise_roc_points[group][0]))
    return rates


def _rule_chance(rule: Any, column: Array, lottery: float) -> Array:
    """``lottery``: chance of acceptance of a part that does not look at the score."""
    if isinstance(rule, BinaryClassifier):
        return rule(column).astype(np.float64)
    if not isinstance(rule, RandomizedClassifier):
        return np.full(len(column), lottery)
    parts = zip(rule.probabilities, rule.classifiers, strict=True)
    return sum(weight * _rule_chance(part, column, lottery) for weight, part in parts)
