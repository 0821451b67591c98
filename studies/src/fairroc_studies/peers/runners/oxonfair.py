"""oxonfair: one offset for each group, the most accurate decision within a bound on a fairness measure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from oxonfair import FairPredictor
from oxonfair import group_metrics as gm

from fairroc_studies.harness.people import Array, Part


class Offsets:
    """Accuracy with |dFPR| + |dTPR| <= bound on the calibration part; its measure is half of that sum."""

    def __init__(self, bound: float) -> None:
        self.bound = bound

    def inputs(self, part: Part) -> dict[str, Any]:
        chances = np.column_stack((1.0 - part.scores, part.scores))
        return {"data": chances, "target": part.labels.astype(np.int64), "groups": part.groups.astype(np.int64)}

    def fit(self, inputs: dict[str, Any]) -> None:
        self.post = FairPredictor(None, inputs)
        self.post.fit(gm.accuracy, gm.equalized_odds, self.bound / 2.0)

    def predict(self, inputs: dict[str, Any]) -> Array:
        return np.asarray(self.post.predict(inputs))

    def rates(self, inputs: dict[str, Any]) -> Array:
        return self.predict(inputs).astype(np.float64)

    def curve(self, inputs: dict[str, Any]) -> Iterator[Array]:
        """All thresholds of the score with the offsets added."""
        chances = np.asarray(self.post.predict_proba(inputs))
        scores = chances[:, 1] - chances[:, 0]
        for threshold in np.unique(scores)[::-1]:
            yield scores >= threshold


class Inferred:
    """The same without the group: offsets for people whose guessed group is likely enough, and for the others.

    `Part.scores` has two columns: the score, and the probability of the second group. The gap is max(|dFPR|, |dTPR|).
    """

    def __init__(self, bound: float) -> None:
        self.bound = bound

    def inputs(self, part: Part) -> dict[str, Any]:
        columns = np.column_stack([one for chance in part.scores.T for one in (1.0 - chance, chance)])
        return {"data": columns, "target": part.labels.astype(np.int64), "groups": part.groups.astype(np.int64)}

    def fit(self, inputs: dict[str, Any]) -> None:
        self.post = FairPredictor(lambda data: data[:, :2].copy(), inputs, inferred_groups=lambda data: data[:, 2:])
        self.post.fit(gm.accuracy, gm.equalized_odds_max, self.bound)

    def rates(self, inputs: dict[str, Any]) -> Array:
        return np.asarray(self.post.predict(inputs)).astype(np.float64)

    def curve(self, inputs: dict[str, Any]) -> Iterator[Array]:
        """All thresholds of the score with the offsets added."""
        chances = np.asarray(self.post.predict_proba(inputs))
        scores = chances[:, 1] - chances[:, 0]
        for threshold in np.unique(scores)[::-1]:
            yield scores >= threshold
