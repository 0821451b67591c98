"""The fitted model: plain data, and the map from (score, group, uniform number) to the fair score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairroc import draw
from fairroc.checks import Missing
from fairroc.columns import ScoreColumns, read_scores
from fairroc.core.chain import FloatArray, IntArray, Norm
from fairroc.core.fairmap import FairMap
from fairroc.core.kernel import Kernel
from fairroc.core.scale import Scale
from fairroc.errors import DataError, warn_user

if TYPE_CHECKING:
    from fairroc.explaining import Explanation


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
        if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu" and ids.ndim == 1 and self.hash == "xxh64":
            self._check_draw(len(columns.scores), ids, random_state, key)
            draws = draw.IntegerDraws.of(ids, salt=self.salt, key=key)  # only those who are drawn need a number
            return self._fair(columns, draws.at)
        return self.fair_scores(
            columns, self.uniforms(len(columns.scores), ids=ids, random_state=random_state, key=key)
        )

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
        return self._map.chance(columns.scores, columns.groups, limit)

    def explain(
        self,
        score: Any,
        group: Any,
        *,
        threshold: float | None = None,
        id: int | str | None = None,
        key: bytes | str | None = None,
        on_unknown_group: str | None = None,
    ) -> Explanation:
        """What can happen to one person, and why: possible fair scores with their probabilities, in words and as data.

        Parameters
        ----------
        score : number
            The person's original score.
        group : value of the group column, or a tuple of the values of several columns in the order of the fit
        threshold : number, optional
            Adds whether the score reached it before, and with what probability the fair score does.
        id, key : optional
            Add the draw itself: the fair score that `transform` gives this id (with the model's key, if it has one).
        on_unknown_group : str, optional
            Fitted group whose treatment an unknown group shall get; else that is an error.

        Examples
        --------
        >>> from fairroc import FairROC
        >>> rng = np.random.default_rng(0)
        >>> sex, y = np.repeat(["f", "m"], 2000), rng.integers(0, 2, 4000)
        >>> score = y + np.where(sex == "f", 1.0, 2.0) * rng.normal(size=4000)
        >>> model = FairROC(epsilon=0.1, salt=1).fit(score, y, sensitive_features=sex).model_
        >>> model.explain(-1.5, "m", threshold=1).reason
        'order'
        """
        from fairroc.explaining import explain

        return explain(self, score, group, threshold=threshold, id=id, key=key, on_unknown_group=on_unknown_group)

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
        self._check_draw(n, ids, random_state, key)
        if ids is None:
            return draw.uniforms_from_state(random_state, n)
        uniforms = draw.uniforms_from_ids(ids, salt=self.salt, key=key, hash=self.hash)
        _same_number(len(uniforms), n)
        return uniforms

    def fair_scores(self, columns: ScoreColumns, uniforms: FloatArray) -> FloatArray:
        """Fair scores of checked columns with given uniform numbers in [0, 1)."""
        return self._fair(columns, uniforms.__getitem__)

    def _fair(self, columns: ScoreColumns, uniforms: Callable[[IntArray | slice], FloatArray]) -> FloatArray:
        if self.scale is None:
            return columns.scores.copy()
        return self._map.scores(columns.scores, columns.groups, uniforms)

    def _check_draw(self, n: int, ids: Any, random_state: Any, key: bytes | str | None) -> None:
        """Raise unless there is one source of draws, and the key it needs."""
        if (ids is None) == (random_state is None):
            came = "neither" if ids is None else "both"
            raise DataError(
                f"give either ids or random_state; {came} came. The fair score is drawn at random for each row: ids= "
                "(one id for each row) gives the same person the same draw every time, random_state=0 simulates one."
            )
        if ids is not None:
            self._check_key(key)
        if isinstance(ids, np.ndarray) and ids.ndim == 1:
            _same_number(len(ids), n)

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
    def _map(self) -> FairMap:
        assert self.scale is not None  # an unchanged score is not looked up
        return FairMap(self.kernels, self.scale)

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


def _same_number(ids: int, scores: int) -> None:
    if ids != scores:
        raise DataError(f"ids must be as many as scores; {ids} ids and {scores} scores came.")


def _checked_threshold(threshold: float) -> float:
    try:
        value = float(threshold)
    except (TypeError, ValueError):
        value = np.nan
    if np.isnan(value):
        raise DataError(f"threshold must be a number on the score's scale; {threshold!r} came.")
    return value
