"""The fitted model as plain data, and what numpy does with it: fair scores and acceptance rates of checked columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairroc.core.chain import FloatArray, IntArray
from fairroc.core.constraint import Constraint, Norm, equalized_odds
from fairroc.core.kernel import Kernel
from fairroc.core.scale import Scale
from fairroc.errors import DataError, warn_user
from fairroc.model import draw
from fairroc.model.lookup import Lookup
from fairroc.model.reference import Reference
from fairroc.model.tables import LookupTables, lookup_tables
from fairroc.options import Missing
from fairroc.people.rows import ScoreColumns, read_scores
from fairroc.people.tensors import is_tensor

__all__ = ["FitRecord", "GroupRecord", "ModelData", "check_threshold", "warn_unknown"]


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
class ModelData:
    """A fitted model: all that its file holds, and the transform of checked columns.

    Users hold a `fairroc.FairModel`, which adds the rest.

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
    def constraint(self) -> Constraint:
        """What the fair score keeps close."""
        return equalized_odds(self.norm)

    @property
    def unchanged(self) -> bool:
        """Whether the original score was fair already and is returned as it is."""
        return not self.kernels

    @property
    def levels(self) -> int:
        """Number of levels of the fair score (0 for an unchanged score)."""
        return self.kernels[0].table.shape[1] if self.kernels else 0

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

    def drawn(self, columns: ScoreColumns, ids: Any, random_state: Any, key: bytes | str | None) -> FloatArray:
        """Fair scores of checked columns, drawn by ids or from a random state."""
        if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu" and ids.ndim == 1 and self.hash == "xxh64":
            self.check_draw(len(columns.scores), ids, random_state, key)
            draws = draw.IntegerDraws.of(ids, salt=self.salt, key=key)  # only those who are drawn need a number
            return self._fair(columns, draws.at)
        return self.fair_scores(
            columns, self.uniforms(len(columns.scores), ids=ids, random_state=random_state, key=key)
        )

    def rates(self, columns: ScoreColumns, limit: float) -> FloatArray:
        """Acceptance rates of checked columns at a threshold."""
        if self._lookup is None:
            return (columns.scores >= limit).astype(np.float64)
        return self._lookup.rates(columns.scores, columns.groups, limit)

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
        if self._lookup is None:
            return columns.scores.copy()
        return self._lookup.scores(columns.scores, columns.groups, uniforms)

    def check_draw(self, n: int, ids: Any, random_state: Any, key: bytes | str | None) -> None:
        """Raise unless there is one source of draws, and the key it needs."""
        if (ids is None) == (random_state is None):
            given = "neither" if ids is None else "both"
            raise DataError(
                f"give either ids or random_state, got {given}. The fair score is drawn at random for each row: ids= "
                "(one id for each row) gives the same person the same draw every time, random_state=0 simulates one."
            )
        if ids is not None:
            self.check_key(key)
        if (isinstance(ids, np.ndarray) or is_tensor(ids)) and ids.ndim == 1:
            _same_number(len(ids), n)

    def check_key(self, key: bytes | str | None) -> None:
        """Raise unless this is the key the model was fitted with, if it was."""
        if self.key_fingerprint is None:
            return
        if key is None:
            raise DataError(
                f"this model was fitted with a key (fingerprint {self.key_fingerprint}) and its draws need it; pass "
                "key= (on the command line: --key-file)."
            )
        given = draw.key_fingerprint(self.salt, key)
        if given != self.key_fingerprint:
            raise DataError(
                f"this model was fitted with the key of fingerprint {self.key_fingerprint}, got one of {given}. Use "
                "the first key, or refit to change keys."
            )

    @cached_property
    def tables(self) -> LookupTables | None:
        """What fair scores are looked up in, in every engine; None for an unchanged score."""
        return None if self.scale is None else lookup_tables(self.kernels, self.scale)

    @cached_property
    def _lookup(self) -> Lookup | None:
        return None if self.tables is None else Lookup(self.tables)


def warn_unknown(unknown: int, rows: int, group: str | None) -> None:
    """Warn if some rows are of groups that were not fitted and got the treatment of another."""
    if unknown:
        warn_user(
            f"{unknown} of {rows} rows belong to groups that were not fitted; they were treated as group '{group}', "
            "for which nothing was measured on them.",
        )


def _same_number(ids: int, scores: int) -> None:
    if ids != scores:
        raise DataError(f"ids must be as many as scores, got {ids} ids and {scores} scores. Pass one id for each row.")


def check_threshold(threshold: Any) -> float:
    """A threshold as a float."""
    try:
        value = float(threshold)
    except (TypeError, ValueError):
        value = np.nan
    if np.isnan(value):
        raise DataError(f"threshold must be a number on the score's scale, got {threshold!r}. Try 0.5.")
    return value
