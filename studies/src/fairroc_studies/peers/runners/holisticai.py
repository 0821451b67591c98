"""holisticai: EqualizedOdds, decisions taken at 0.5 and flipped at random so that both rates are equal."""

from __future__ import annotations

import numpy as np
from holisticai.bias.mitigation import EqualizedOdds

from fairroc_studies.harness.people import Array, Part

Inputs = tuple[Array, Array, Array, Array]


class EqOdds:
    """For two groups."""

    def inputs(self, part: Part) -> Inputs:
        decisions = (part.scores >= 0.5).astype(np.int64)
        return part.labels.astype(np.int64), decisions, part.groups == 0, part.groups == 1

    def fit(self, inputs: Inputs) -> None:
        labels, decisions, first, second = inputs
        self.post = EqualizedOdds(seed=0).fit(labels, decisions, first, second)

    def predict(self, inputs: Inputs) -> Array:
        _, decisions, first, second = inputs
        return self.post.transform(decisions, first, second)["y_pred"]

    def rates(self, inputs: Inputs) -> Array:
        """The flipping probabilities, read from the fitted rule."""
        _, decisions, first, _ = inputs
        first_kept, first_raised, second_kept, second_raised = self.post.model_params.x
        kept, raised = np.where(first, first_kept, second_kept), np.where(first, first_raised, second_raised)
        return np.where(decisions == 1, kept, raised)
