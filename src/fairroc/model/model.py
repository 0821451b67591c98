"""The fitted model: plain data, and the map from (score, group, uniform number) to the fair score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray, IntArray, Norm
from fairroc.core.kernel import Kernel
from fairroc.core.scale import Scale
from fairroc.errors import DataError, warn_user
from fairroc.model import draw
from fairroc.model.lookup import FairMap
from fairroc.model.reference import Reference
from fairroc.options import Missing
from fairroc.people.rows import ScoreColumns, read_scores
from fairroc.people.tensors import is_tensor

if TYPE_CHECKING:
    from fairroc.model.explanation import Explanation
    from fairroc.monitoring.drift import Drift


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
    bit for bit. ``references`` holds what `check` compares new scores with; it is empty in models of old files.
    ``curve`` names the estimate of the ROC curves that was worked on. With ``confidence``, epsilon was chosen for the
    population: the gap among the fitted people is smaller.
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
    references: tuple[Reference, ...] = ()
    curve: str = "raw"
    confidence: float | None = None

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
        A torch tensor of scores gives a tensor on its device, see ``docs/tensors.md``.
        """
        if is_tensor(scores):
            from fairroc.backends.torch import transform as models

            fair: FloatArray = models.transform(
                self, scores, sensitive_features, ids, random_state, key, on_unknown_group
            )
            return fair
        return self.drawn(self.read(scores, sensitive_features, on_unknown_group), ids, random_state, key)

    def drawn(self, columns: ScoreColumns, ids: Any, random_state: Any, key: bytes | str | None) -> FloatArray:
        """Fair scores of checked columns, drawn by ids or from a random state."""
        if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu" and ids.ndim == 1 and self.hash == "xxh64":
            self.check_draw(len(columns.scores), ids, random_state, key)
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
        fair: Any = self.transform(
            scores,
            sensitive_features=sensitive_features,
            ids=ids,
            random_state=random_state,
            key=key,
            on_unknown_group=on_unknown_group,
        )
        chosen: NDArray[np.int64] = (fair >= limit).long() if is_tensor(fair) else (fair >= limit).astype(np.int64)
        return chosen

    def acceptance_rate(
        self, scores: Any, *, sensitive_features: Any, threshold: float, on_unknown_group: str | None = None
    ) -> FloatArray:
        """Probability, over the draw, that the fair score reaches the threshold; nothing is drawn."""
        limit = _checked_threshold(threshold)
        if is_tensor(scores):
            from fairroc.backends.torch import transform as models

            rate: FloatArray = models.acceptance_rate(self, scores, sensitive_features, limit, on_unknown_group)
            return rate
        return self.rates(self.read(scores, sensitive_features, on_unknown_group), limit)

    def rates(self, columns: ScoreColumns, limit: float) -> FloatArray:
        """Acceptance rates of checked columns at a threshold."""
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
        from fairroc.model.explanation import explain

        return explain(self, score, group, threshold=threshold, id=id, key=key, on_unknown_group=on_unknown_group)

    def check(
        self,
        scores: Any,
        *,
        sensitive_features: Any,
        y: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        confidence: float = 0.95,
        bootstrap: int = 1000,
        random_state: Any = 0,
        on_unknown_group: str | None = None,
    ) -> Drift:
        """Whether new people are still like those the model was fitted to: scores, groups and, with ``y``, the gap.

        Parameters
        ----------
        scores, sensitive_features, sample_weight, pos_label : as in the fit, of new people.
        y : labels, if known: the gap of the fair score is then measured, in expectation over the draw.
        confidence : of intervals; if nothing moved, all tests together find something with 1 - confidence at most.
        bootstrap, random_state : draws of the gap's narrower interval (0: none), and their seed.
        on_unknown_group : fitted group whose treatment unknown groups get; else unknown groups are a finding.

        Examples
        --------
        >>> from fairroc import FairROC
        >>> rng = np.random.default_rng(0)
        >>> sex, y = np.repeat(["f", "m"], 2000), rng.integers(0, 2, 4000)
        >>> score = y + np.where(sex == "f", 1.0, 2.0) * rng.normal(size=4000)
        >>> model = FairROC(epsilon=0.1, salt=1).fit(score, y, sensitive_features=sex).model_
        >>> model.check(score[1000:3000], sensitive_features=sex[1000:3000]).drifted
        False
        >>> model.check(score + 0.5 * (sex == "f"), sensitive_features=sex).reasons[0][:32]
        "the scores of group 'f' moved: a"
        """
        from fairroc.monitoring.check import Watch, check

        watch = Watch.checked(
            confidence=confidence, bootstrap=bootstrap, random_state=random_state, on_unknown_group=on_unknown_group
        )
        return check(self, scores, sensitive_features, y, sample_weight, pos_label, watch)

    def to_sql(
        self,
        dialect: str,
        *,
        form: str | None = None,
        table: str = "people",
        score: str = "score",
        group: str | Sequence[str] = "group",
        id: str = "id",
        id_type: str = "integer",
        column: str | None = None,
        function: str = "fair_score",
        key: bytes | str | None = None,
        on_unknown_group: str | None = None,
    ) -> str:
        """The transform as SQL, hash of the ids included: the same fair scores, bit for bit, where the scores live.

        Parameters
        ----------
        dialect : {"duckdb", "spark", "postgres"}
        form : {"query", "function"}, optional
            "query" (DuckDB, Spark): one SELECT of all columns of ``table`` and the fair score. "function": for DuckDB a
            table macro, for PostgreSQL a function of score, group and id. By default the first that the dialect has.
        table : str
            What a query reads, written into it as it is: a table, a qualified name, a subquery in brackets.
        score, group, id : str
            Names of columns; several group columns, in the order of the fit, mean their intersection.
        id_type : {"integer", "text"}
            How ids are hashed: integers as 64-bit integers, everything else as its UTF-8 text.
        column : str, optional
            Name of the new column (by default the score's with ``_fair``).
        function : str
            Name of the macro or function.
        key : bytes or str, optional
            The model's key, if it has one. The SQL then holds a secret.
        on_unknown_group : str, optional
            Fitted group whose treatment unknown groups shall get; else they are an error when the SQL runs.
        """
        from fairroc.backends.sql import to_sql

        self._check_key(key)
        return to_sql(
            self,
            dialect,
            form=form,
            table=table,
            score=score,
            group=group,
            id=id,
            id_type=id_type,
            column=column,
            function=function,
            key=key,
            on_unknown_group=on_unknown_group,
        )

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
        warn_unknown(columns.unknown, len(columns.scores), on_unknown_group)
        return columns

    def uniforms(
        self, n: int, *, ids: Any = None, random_state: Any = None, key: bytes | str | None = None
    ) -> FloatArray:
        """One uniform number for each row, from ids or from a random state."""
        self.check_draw(n, ids, random_state, key)
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

    def check_draw(self, n: int, ids: Any, random_state: Any, key: bytes | str | None) -> None:
        """Raise unless there is one source of draws, and the key it needs."""
        if (ids is None) == (random_state is None):
            came = "neither" if ids is None else "both"
            raise DataError(
                f"give either ids or random_state; {came} came. The fair score is drawn at random for each row: ids= "
                "(one id for each row) gives the same person the same draw every time, random_state=0 simulates one."
            )
        if ids is not None:
            self._check_key(key)
        if (isinstance(ids, np.ndarray) or is_tensor(ids)) and ids.ndim == 1:
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
        from fairroc.model.file import dumps

        return dumps(self)

    @classmethod
    def from_json(cls, text: str) -> FairModel:
        """Read and check a model from JSON text."""
        from fairroc.model.file import loads

        return loads(text)

    def save(self, path: str | Path) -> None:
        """Write the model to a file, whole or not at all."""
        from fairroc.tables.files import write_text_atomic

        write_text_atomic(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> FairModel:
        """Read and check a model file."""
        from fairroc.model.file import load

        return load(path)


def warn_unknown(unknown: int, rows: int, group: str | None) -> None:
    """Warn if some rows are of groups that were not fitted and got the treatment of another."""
    if unknown:
        warn_user(
            f"{unknown} of {rows} rows belong to groups that were not fitted; they were treated as group '{group}', "
            "for which nothing was measured on them.",
        )


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
