"""The fitted model: plain data, and the map from (score, group, uniform number) to the fair score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc import draw
from fairroc.checks import Missing
from fairroc.columns import ScoreColumns, read_scores
from fairroc.core.chain import FloatArray, IntArray, Norm, ratio
from fairroc.core.finder import Finder
from fairroc.core.kernel import Kernel
from fairroc.core.scale import Scale
from fairroc.core.walk import ordered_place
from fairroc.errors import DataError, warn_user

CHUNK = 1 << 16
"""Rows worked on at once: small enough for the cache, large enough for numpy."""


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """Who was in a group when the model was fitted."""

    name: str
    rows: int
    positives: int


@dataclass(frozen=True, slots=True)
class FitRecord:
    """Where a model comes from: enough to tell two fits apart, nothing that identifies a person."""

    package: str
    date: str
    rows: int
    weighted: bool
    data: str


@dataclass(frozen=True, eq=False)
class FairModel:
    """A fair score, ready to be applied, saved and loaded.

    ``kernels`` is empty when the original score already met epsilon: then the fair score *is* the original score,
    bit for bit.
    """

    epsilon: float
    norm: Norm
    method: str
    ties: str
    inner_epsilon: float
    queries: int | None
    groups: tuple[GroupRecord, ...]
    kernels: tuple[Kernel, ...]
    scale: Scale | None
    record: FitRecord
    salt: int
    missing: Missing = "error"
    hash: str = "xxh64"
    key_fingerprint: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(group.name for group in self.groups)

    @property
    def unchanged(self) -> bool:
        """Whether the original score was fair already and is returned as it is."""
        return not self.kernels

    @property
    def levels(self) -> int:
        """Number of levels of the fair score (0 for an unchanged score)."""
        return self.kernels[0].table.shape[1] if self.kernels else 0

    # -- use -----------------------------------------------------------------------------------------------------

    def transform(
        self,
        scores: Any,
        *,
        sensitive_features: Any,
        ids: Any = None,
        random_state: Any = None,
        key: bytes | str | None = None,
        on_unknown_group: str | None = None,
    ) -> FloatArray:
        """Fair scores on the original scale, one draw for each row.

        Give ``ids`` (the same id, model and key always give the same fair score) or ``random_state`` (simulation).
        """
        columns = self.read(scores, sensitive_features, on_unknown_group)
        uniforms = self.uniforms(len(columns.scores), ids=ids, random_state=random_state, key=key)
        return self.fair_scores(columns, uniforms)

    def predict(
        self,
        scores: Any,
        *,
        sensitive_features: Any,
        threshold: float,
        ids: Any = None,
        random_state: Any = None,
        key: bytes | str | None = None,
        on_unknown_group: str | None = None,
    ) -> NDArray[np.int64]:
        """1 where the fair score reaches the threshold, else 0."""
        limit = _checked_threshold(threshold)
        fair = self.transform(
            scores,
            sensitive_features=sensitive_features,
            ids=ids,
            random_state=random_state,
            key=key,
            on_unknown_group=on_unknown_group,
        )
        return (fair >= limit).astype(np.int64)

    def acceptance_rate(
        self, scores: Any, *, sensitive_features: Any, threshold: float, on_unknown_group: str | None = None
    ) -> FloatArray:
        """Probability, over the draw, that the fair score reaches the threshold; nothing is drawn."""
        limit = _checked_threshold(threshold)
        columns = self.read(scores, sensitive_features, on_unknown_group)
        if self.scale is None:
            return (columns.scores >= limit).astype(np.float64)
        place = self.scale.to_place(limit)
        rate = np.zeros(len(columns.scores))
        for g in range(len(self.groups)):
            rows = np.flatnonzero(columns.groups == g)
            rate[rows] = self._ready[g].chance(columns.scores[rows], place)
        return rate

    # -- parts of it, for callers that hold columns and uniforms already ------------------------------------------

    def read(self, scores: Any, sensitive_features: Any, on_unknown_group: str | None = None) -> ScoreColumns:
        """Check scores and groups of new rows against the fitted groups."""
        columns = read_scores(
            scores,
            sensitive_features=sensitive_features,
            names=self.names,
            on_unknown_group=on_unknown_group,
            missing=self.missing,
        )
        if columns.unknown:
            warn_user(
                f"{columns.unknown} of {len(columns.scores)} rows belong to groups that were not fitted; they were "
                f"treated as group '{on_unknown_group}', for which nothing was measured on them.",
            )
        return columns

    def uniforms(
        self, n: int, *, ids: Any = None, random_state: Any = None, key: bytes | str | None = None
    ) -> FloatArray:
        """One uniform number for each row, from ids or from a random state."""
        if (ids is None) == (random_state is None):
            came = "neither" if ids is None else "both"
            raise DataError(
                f"give either ids or random_state; {came} came. The fair score is drawn at random for each row: ids= "
                "(one id for each row) gives the same person the same draw every time, random_state=0 simulates one."
            )
        if ids is None:
            return draw.uniforms_from_state(random_state, n)
        self._check_key(key)
        uniforms = draw.uniforms_from_ids(ids, salt=self.salt, key=key, hash=self.hash)
        if len(uniforms) != n:
            raise DataError(f"ids must be as many as scores; {len(uniforms)} ids and {n} scores came.")
        return uniforms

    def fair_scores(self, columns: ScoreColumns, uniforms: FloatArray) -> FloatArray:
        """Fair scores of checked columns with given uniform numbers in [0, 1)."""
        if self.scale is None:
            return columns.scores.copy()
        fair = np.empty(len(columns.scores))
        for begin in range(0, len(fair), CHUNK):
            part = slice(begin, begin + CHUNK)
            scores, groups, u = columns.scores[part], columns.groups[part], uniforms[part]
            out = fair[part]
            for g in range(len(self.groups)):
                rows = np.flatnonzero(groups == g)
                if len(rows):
                    out[rows] = self.scale.to_score(self._ready[g].places(scores[rows], u[rows]))
        return fair

    def _check_key(self, key: bytes | str | None) -> None:
        if self.key_fingerprint is None:
            return
        if key is None:
            raise DataError(
                f"this model was fitted with a key (fingerprint {self.key_fingerprint}) and its draws need it; pass "
                "key= (on the command line: --key-file)."
            )
        came = draw.key_fingerprint(self.salt, key)
        if came != self.key_fingerprint:
            raise DataError(
                f"this model was fitted with the key of fingerprint {self.key_fingerprint}; the key that came has "
                f"{came}. Use the first key, or refit to change keys."
            )

    @cached_property
    def _ready(self) -> tuple[_Ready, ...]:
        return tuple(_Ready(kernel) for kernel in self.kernels)

    # -- file ----------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The model as versioned JSON text; `from_json` gives back the same model, bit for bit."""
        from fairroc.modelfile import dumps

        return dumps(self)

    @classmethod
    def from_json(cls, text: str) -> FairModel:
        """Read and check a model from JSON text."""
        from fairroc.modelfile import loads

        return loads(text)

    def save(self, path: str | Path) -> None:
        """Write the model to a file, whole or not at all."""
        from fairroc.files import write_text_atomic

        write_text_atomic(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> FairModel:
        """Read and check a model file."""
        from fairroc.modelfile import load

        return load(path)


class _Ready:
    """A kernel with its cumulated table, for looking rows up."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.finder = Finder(kernel.thresholds[::-1].copy())
        used = kernel.table > 0
        self.row_first = used.argmax(axis=1)
        self.row_last = used.shape[1] - 1 - used[:, ::-1].argmax(axis=1)
        total = np.cumsum(kernel.table, axis=1)
        self.before = np.concatenate((np.zeros((len(used), 1)), total[:, :-1]), axis=1)
        total[np.arange(len(used)), self.row_last] = np.inf  # every uniform number finds a level
        self.cumulated = total.ravel()

    def block(self, scores: FloatArray) -> IntArray:
        """Block of each score; scores below all fitted ones belong to the last block."""
        last = len(self.kernel.thresholds) - 1
        return np.minimum(last + 1 - self.finder.count(scores), last)

    def places(self, scores: FloatArray, uniforms: FloatArray) -> FloatArray:
        """Places y = level + place inside it, for scores with their uniform numbers."""
        kernel, block = self.kernel, self.block(scores)
        level = self.row_first[kernel.row[block]]
        ordered = kernel.ordered[block] & (level == kernel.first[block])
        place = np.empty(len(scores))
        place[ordered] = ordered_place(kernel, block[ordered], scores[ordered])
        drawn = np.flatnonzero(~ordered)
        if len(drawn):
            level[drawn], place[drawn] = self._draw(block[drawn], uniforms[drawn])
        place += level
        return place

    def _draw(self, block: IntArray, uniforms: FloatArray) -> tuple[IntArray, FloatArray]:
        """Levels and places inside them of rows that are drawn."""
        row = self.kernel.row[block]
        base = row * self.kernel.table.shape[1]
        low, high = base + self.row_first[row], base + self.row_last[row]
        while (low < high).any():
            middle = (low + high) >> 1
            later = self.cumulated[middle] <= uniforms
            low, high = np.where(later, middle + 1, low), np.where(later, high, middle)
        share = np.clip((uniforms - self.before.ravel()[low]) / self.kernel.table.ravel()[low], 0.0, 1.0)
        level = low - base
        begin, end = self._part(block, level)
        return level, begin + share * (end - begin)

    def chance(self, scores: FloatArray, place: float) -> FloatArray:
        """Probability of a place up to ``place``."""
        kernel, levels = self.kernel, self.kernel.table.shape[1]
        if place < 0 or place >= levels:
            return np.full(len(scores), float(place >= levels))
        block, level = self.block(scores), int(place)
        row = kernel.row[block]
        begin, end = self._part(block, np.full(len(block), level))
        width = end - begin
        inside = place - level
        share = ratio(inside - begin, width, inside >= begin)
        share = np.clip(share, 0.0, 1.0)
        ordered = kernel.ordered[block] & (kernel.first[block] == level)
        share[ordered] = level + ordered_place(kernel, block[ordered], scores[ordered]) <= place
        return np.asarray(np.minimum(self.before[row, level] + share * kernel.table[row, level], 1.0))

    def _part(self, block: IntArray, level: IntArray) -> tuple[FloatArray, FloatArray]:
        """The part of a level that a block lands in: its own part, or all of it."""
        kernel = self.kernel
        begin = np.where(level == kernel.first[block], kernel.start[block], 0.0)
        end = np.where(level == kernel.last[block], kernel.stop[block], 1.0)
        return begin, end


def _checked_threshold(threshold: float) -> float:
    try:
        value = float(threshold)
    except (TypeError, ValueError):
        value = np.nan
    if np.isnan(value):
        raise DataError(f"threshold must be a number on the score's scale; {threshold!r} came.")
    return value
