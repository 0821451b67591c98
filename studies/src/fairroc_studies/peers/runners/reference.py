"""What everything is compared with: scikit-learn's ROC curve, one sorted search, a plain numpy transform."""

from __future__ import annotations

import json
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

from fairroc.fairmodel import FairModel
from fairroc.model.draw import derive_seed
from fairroc_studies.harness.people import Array, Part
from fairroc_studies.peers.runners.fairroc import thousand_blocks

THRESHOLDS = 1000


class RocCurve:
    """scikit-learn's ROC curve, once for each group."""

    def inputs(self, part: Part) -> Part:
        return part

    def fit(self, part: Part) -> None:
        for group in range(int(part.groups.max()) + 1):
            rows = part.groups == group
            roc_curve(part.labels[rows], part.scores[rows])


class SearchSorted:
    """One search for every score among sorted thresholds."""

    def __init__(self) -> None:
        signal = np.array([NormalDist().inv_cdf((i + 0.5) / THRESHOLDS) for i in range(THRESHOLDS)])
        self.thresholds = 1.0 / (1.0 + np.exp(-1.3 * signal))

    def inputs(self, part: Part) -> Array:
        return part.scores

    def fit(self, scores: Array) -> None:
        """Nothing to fit."""

    def predict(self, scores: Array) -> Array:
        return np.searchsorted(self.thresholds, scores)


class NaiveTransform:
    """The transform of a drawn model as one would first write it: whole arrays, numpy's own searches."""

    def __init__(self, model: FairModel | None = None) -> None:
        model = thousand_blocks() if model is None else model
        body = json.loads(model.to_json())
        self.seed = derive_seed(model.salt)
        self.place, self.score = np.array(body["scale"]["place"]), np.array(body["scale"]["score"])
        self.tables = [_table(group["kernel"], body["levels"]) for group in body["groups"]]

    def inputs(self, part: Part) -> tuple[Part, Array]:
        return part, np.arange(len(part.scores))

    def fit(self, inputs: tuple[Part, Array]) -> None:
        """The model is fitted already."""

    def predict(self, inputs: tuple[Part, Array]) -> Array:
        part, ids = inputs
        uniforms = (xxh64(ids, self.seed) >> np.uint64(11)) * 2.0**-53
        place = np.empty(len(ids))
        for group, (thresholds, row, table, before, keys) in enumerate(self.tables):
            rows = part.groups == group
            u = uniforms[rows]
            block = len(thresholds) - np.searchsorted(thresholds, part.scores[rows], side="right")
            line = row[np.minimum(block, len(thresholds) - 1)]
            level = np.searchsorted(keys, line + u, side="right") - line * table.shape[1]
            level = np.minimum(level, table.shape[1] - 1)
            inside = (u - before[line, level]) / table[line, level]
            place[rows] = level + np.clip(inside, 0.0, 1.0)
        return np.interp(place, self.place, self.score)


def xxh64(ids: Array, seed: int) -> Array:
    """XXH64 of the eight bytes of each integer, on whole arrays."""
    p1, p2, p3, p4, p5 = map(
        np.uint64, (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
    )

    def turned(x: Array, left: int) -> Array:
        return (x << np.uint64(left)) | (x >> np.uint64(64 - left))

    start = np.uint64((seed + int(p5) + 8) % 2**64)
    h = start ^ (turned(ids.astype(np.uint64) * p2, 31) * p1)
    h = turned(h, 27) * p1 + p4
    h = (h ^ (h >> np.uint64(33))) * p2
    h = (h ^ (h >> np.uint64(29))) * p3
    return h ^ (h >> np.uint64(32))


def _table(kernel: dict[str, Any], levels: int) -> tuple[Array, Array, Array, Array, Array]:
    """Rising thresholds, table row of each block, probabilities, sums before each, row number + sum with each."""
    table = np.zeros((len(kernel["table"]), levels))
    for line, (first, *chances) in zip(table, kernel["table"], strict=True):
        line[first : first + len(chances)] = chances
    total = np.cumsum(table, axis=1)
    keys = (total + np.arange(len(total))[:, None]).ravel()
    return np.array(kernel["thresholds"])[::-1].copy(), np.array(kernel["row"]), table, total - table, keys


class Base:
    """The score as it is: a person is accepted from 0.5 on."""

    def inputs(self, part: Part) -> Array:
        return part.scores

    def fit(self, scores: Array) -> None:
        """Nothing to fit."""

    def rates(self, scores: Array) -> Array:
        return scores >= 0.5

    def curve(self, scores: Array) -> Iterator[Array]:
        for threshold in np.unique(scores)[::-1]:
            yield scores >= threshold
