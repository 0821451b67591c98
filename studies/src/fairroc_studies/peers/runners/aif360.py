"""aif360: three post-processors of scores or decisions for two groups.

The unprivileged group is the one with the lower mean score on the calibration part. Decisions it starts from are taken
at 0.5. Making its data set objects is not timed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from aif360.algorithms.postprocessing import (
    CalibratedEqOddsPostprocessing,
    EqOddsPostprocessing,
    RejectOptionClassification,
)
from aif360.datasets import BinaryLabelDataset

from fairroc_studies.harness.people import Array, Part


class Pair:
    """The same people twice, with true labels and with predicted ones, as the library wants them."""

    def __init__(self, part: Part) -> None:
        frame = pd.DataFrame({"group": part.groups, "label": part.labels}, dtype=np.float64)
        self.true = BinaryLabelDataset(df=frame, label_names=["label"], protected_attribute_names=["group"])
        self.predicted = self.true.copy()
        self.predicted.scores = part.scores.reshape(-1, 1).copy()
        self.predicted.labels = (self.predicted.scores >= 0.5).astype(np.float64)
        self.scores, self.groups = part.scores, part.groups
        means = [part.scores[part.groups == group].mean() for group in (0, 1)]
        self.roles = {
            "unprivileged_groups": [{"group": int(np.argmin(means))}],
            "privileged_groups": [{"group": 1 - int(np.argmin(means))}],
        }


class Method:
    """What the three have in common."""

    post: Any

    def inputs(self, part: Part) -> Pair:
        return Pair(part)

    def fit(self, inputs: Pair) -> None:
        self.privileged = inputs.roles["privileged_groups"][0]["group"]
        self.post = self.made(inputs.roles)
        self.post.fit(inputs.true, inputs.predicted)

    def made(self, roles: dict[str, Any]) -> Any:
        raise NotImplementedError

    def predict(self, inputs: Pair) -> Array:
        return self.post.predict(inputs.predicted).labels.ravel()


class EqOdds(Method):
    """Flips decisions at random so that both rates are equal."""

    def made(self, roles: dict[str, Any]) -> Any:
        return EqOddsPostprocessing(seed=0, **roles)

    def rates(self, inputs: Pair) -> Array:
        """The flipping probabilities, read from the fitted rule."""
        priv_kept, priv_raised, other_kept, other_raised = self.post.model_params.x
        privileged = inputs.groups == self.privileged
        kept, raised = np.where(privileged, priv_kept, other_kept), np.where(privileged, priv_raised, other_raised)
        return np.where(inputs.scores >= 0.5, kept, raised)


class CalibratedEqOdds(Method):
    """Replaces scores of one group by its base rate, at random, so that a weighted cost is equal."""

    def made(self, roles: dict[str, Any]) -> Any:
        return CalibratedEqOddsPostprocessing(seed=0, **roles)

    def rates(self, inputs: Pair) -> Array:
        return self._chance(inputs, 0.5)

    def curve(self, inputs: Pair) -> Iterator[Array]:
        base_rates = [self.post.base_rate_priv, self.post.base_rate_unpriv]
        for threshold in np.unique(np.concatenate((inputs.scores, base_rates)))[::-1]:
            yield self._chance(inputs, threshold)

    def _chance(self, inputs: Pair, threshold: float) -> Array:
        """Chance, over the replacement, of a score that reaches the threshold."""
        privileged, post = inputs.groups == self.privileged, self.post
        mixed = np.clip(np.where(privileged, post.priv_mix_rate, post.unpriv_mix_rate), 0.0, 1.0)  # above 1: all
        base = np.where(privileged, post.base_rate_priv, post.base_rate_unpriv)
        return (1.0 - mixed) * (inputs.scores >= threshold) + mixed * (base >= threshold)


class RejectOption(Method):
    """A band around the threshold in which the group decides; |average odds difference| <= 0.05."""

    def made(self, roles: dict[str, Any]) -> Any:
        return RejectOptionClassification(
            metric_name="Average odds difference", metric_ub=0.05, metric_lb=-0.05, **roles
        )

    def rates(self, inputs: Pair) -> Array:
        return self.predict(inputs)
