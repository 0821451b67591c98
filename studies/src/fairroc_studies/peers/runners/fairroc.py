"""fairroc itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from statistics import NormalDist

import numpy as np

from fairroc import FairROC, ScoreCounts, fit_counts
from fairroc.fairmodel import FairModel
from fairroc_studies.harness.people import Array, Part

CHOICES = 400
"""Thresholds among which the most accurate one is looked for on the calibration part."""


class Post:
    """`FairROC` with given epsilon and draw, on raw curves.

    ``threshold`` of a decision: a number, or None for the most accurate one on the calibration part. ``points`` of a
    curve: that many quantiles of a draw, or None for those and every score at which the model's scale has a knot.
    """

    def __init__(
        self, epsilon: float, draw: str = "few", *, threshold: float | None = None, points: int | None = None
    ) -> None:
        self.post = FairROC(epsilon, promise="fitted", draw=draw, salt=1)
        self.threshold, self.points = threshold, points

    def inputs(self, part: Part) -> tuple[Part, Array]:
        return part, np.arange(len(part.scores))

    def fit(self, inputs: tuple[Part, Array]) -> None:
        self.known = inputs[0]
        self.post.fit(self.known.scores, self.known.labels, sensitive_features=self.known.groups)

    def predict(self, inputs: tuple[Part, Array]) -> Array:
        part, ids = inputs
        return self.post.transform(part.scores, sensitive_features=part.groups, ids=ids)

    def rates(self, inputs: tuple[Part, Array]) -> Array:
        part = inputs[0]
        return self._rate(part, self._most_accurate() if self.threshold is None else self.threshold)

    def curve(self, inputs: tuple[Part, Array]) -> Iterator[Array]:
        part = inputs[0]
        for threshold in self._thresholds(part, self.points or CHOICES, knots=self.points is None):
            yield self._rate(part, threshold)

    def size(self) -> dict[str, int]:
        return size_of(self.post.model_)

    def _rate(self, part: Part, threshold: float) -> Array:
        return self.post.acceptance_rate(part.scores, sensitive_features=part.groups, threshold=float(threshold))

    def _most_accurate(self) -> float:
        part = self.known
        choices = self._thresholds(part, CHOICES, knots=False)
        return max(choices, key=lambda threshold: float((self._rate(part, threshold) * (2 * part.labels - 1)).sum()))

    def _thresholds(self, part: Part, count: int, *, knots: bool) -> Array:
        """Falling thresholds: quantiles of one draw, and the knots of the scale."""
        fair = self.post.transform(part.scores, sensitive_features=part.groups, random_state=0)
        found = np.quantile(fair, (np.arange(count) + 0.5) / count, method="lower")
        scale = json.loads(self.post.model_.to_json())["scale"]
        if knots:
            found = np.concatenate((found, np.unique(fair) if scale is None else scale["score"]))
        return np.unique(found)[::-1]


class Binned:
    """A fit to people who are counted in bins of the score first: some 2,000 bins for 20 bits, 30,000 for 24."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def inputs(self, part: Part) -> Part:
        return part

    def fit(self, part: Part) -> None:
        counts = ScoreCounts.from_rows(part.scores, part.labels, sensitive_features=part.groups, bits=self.bits)
        self.post = fit_counts(counts, 0.05, promise="fitted", draw="all", salt=1)

    def size(self) -> dict[str, int]:
        return size_of(self.post.model_)


class Loaded:
    """The transform alone, with the model of `thousand_blocks`."""

    def __init__(self) -> None:
        self.model = thousand_blocks()

    def inputs(self, part: Part) -> tuple[Part, Array]:
        return part, np.arange(len(part.scores))

    def fit(self, inputs: tuple[Part, Array]) -> None:
        """The model is fitted already."""

    def predict(self, inputs: tuple[Part, Array]) -> Array:
        part, ids = inputs
        return self.model.transform(part.scores, sensitive_features=part.groups, ids=ids)

    def size(self) -> dict[str, int]:
        return size_of(self.model)


def size_of(model: FairModel) -> dict[str, int]:
    """The most blocks of a group, and levels."""
    return {"blocks": max((len(kernel.thresholds) for kernel in model.kernels), default=0), "levels": model.levels}


@cache
def thousand_blocks(blocks: int = 1000) -> FairModel:
    """A drawn model of two groups with that many blocks each: fitted to the exact shares of a binormal score."""
    signal = 1.3 * np.array([NormalDist().inv_cdf((i + 0.5) / blocks) for i in range(blocks)])
    width = 1.0 / _density(signal / 1.3)
    cells = [(group, label, distance) for group, distance in enumerate((1.8, 1.0)) for label in (0, 1)]
    groups, labels, _ = np.repeat(np.array(cells), blocks, axis=0).T.astype(np.int8)
    weights = [1000.0 * width * _density(signal + 1.0 - label * distance) for _, label, distance in cells]
    scores = np.tile(1.0 / (1.0 + np.exp(-signal)), len(cells))
    post = FairROC(0.05, promise="fitted", draw="all", salt=1)
    return post.fit(scores, labels, sensitive_features=groups, sample_weight=np.concatenate(weights)).model_


def _density(x: Array) -> Array:
    return np.exp(-x * x / 2.0)
