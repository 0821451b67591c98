"""EquiPy: FairWasserstein, every group's scores moved to the barycentre of all (demographic parity)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from equipy.fairness import FairWasserstein

from fairroc_studies.harness.people import Array, Part

Inputs = tuple[Array, Array]


class Barycentre:
    """A score; ``kept`` is the share of the original score that is mixed into it."""

    def __init__(self, kept: float = 0.0) -> None:
        self.kept = kept

    def inputs(self, part: Part) -> Inputs:
        return part.scores, part.groups

    def fit(self, inputs: Inputs) -> None:
        self.post = FairWasserstein()
        self.post.fit(*inputs)

    def curve(self, inputs: Inputs) -> Iterator[Array]:
        fair = self.post.transform(*inputs, epsilon=self.kept)
        for threshold in np.unique(fair)[::-1]:
            yield fair >= threshold
