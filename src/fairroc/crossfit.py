"""Scores of rows by models that have not seen them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from fairroc.core.chain import FloatArray
from fairroc.errors import DataError

__all__ = ["Crossfit", "base_score", "crossfit", "response_name"]

RESPONSES = ("predict_proba", "decision_function")

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, slots=True, eq=False)
class Crossfit:
    """Fold models, and for each row in ``rows`` the score by the one model that has not seen it."""

    estimators: tuple[Any, ...]
    rows: NDArray[np.intp]
    scores: FloatArray


def response_name(estimator: Any, wanted: str = "auto") -> str:
    """Method of the estimator that gives scores."""
    if wanted not in ("auto", *RESPONSES):
        raise DataError(f"response_method must be 'auto', 'predict_proba' or 'decision_function'; {wanted!r} came.")
    names = RESPONSES if wanted == "auto" else (wanted,)
    for name in names:
        if hasattr(estimator, name):
            return name
    raise DataError(
        f"estimator must have {' or '.join(names)} to give scores, which {type(estimator).__name__} lacks. Take a "
        "classifier, or a setting of this one, that gives scores."
    )


def base_score(estimator: Any, X: Any, response: str, positive: Any) -> FloatArray:
    """Score of the positive class by a fitted binary classifier."""
    values = np.asarray(getattr(estimator, response)(X), dtype=np.float64)
    column = np.flatnonzero(estimator.classes_ == positive)
    if len(estimator.classes_) != 2 or not len(column):
        raise DataError(
            f"estimator must know two classes, {positive!r} among them; it knows {list(estimator.classes_)}. Fit it "
            "with the labels that are given here."
        )
    if response == "predict_proba":
        return values[:, int(column[0])]
    values = values.reshape(-1)
    return values if column[0] == 1 else -values


def crossfit(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    splits: Iterable[Split],
    *,
    positive: Any,
    response: str = "auto",
    fit_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Crossfit:
    """Fit a clone on the training rows of every split and score its test rows.

    Rows that no split tests get no score; a row that two splits test is an error.
    """
    parts = list(splits)
    rows = _tested_once(parts, _num_samples(X))
    done = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_score)(clone(estimator), X, y, split, positive, response, dict(fit_params or {}))
        for split in parts
    )
    scores = np.empty(_num_samples(X))
    for (_, test), (_, part) in zip(parts, done, strict=True):
        scores[test] = part
    return Crossfit(tuple(model for model, _ in done), rows, scores[rows])


def taken_params(X: Any, params: Mapping[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    """The parameters of a fit on some rows: what has a value for each row of X is cut to them."""
    n = _num_samples(X)
    return {name: _safe_indexing(value, rows) if _by_row(value, n) else value for name, value in params.items()}


def _by_row(value: Any, n: int) -> bool:
    if isinstance(value, str | bytes) or not (hasattr(value, "__len__") or hasattr(value, "shape")):
        return False
    return np.ndim(value) > 0 and int(_num_samples(value)) == n


def _fit_and_score(
    estimator: Any, X: Any, y: NDArray[Any], split: Split, positive: Any, response: str, params: dict[str, Any]
) -> tuple[Any, FloatArray]:
    train, test = split
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, _ = _safe_split(estimator, X, y, test, train)
    estimator.fit(X_train, y_train, **taken_params(X, params, train))
    return estimator, base_score(estimator, X_test, response_name(estimator, response), positive)


def _tested_once(splits: Sequence[Split], n: int) -> NDArray[np.intp]:
    """Rows with an out-of-fold score."""
    if not splits:
        raise DataError("cv must give at least one split, but gives none.")
    times = np.bincount(np.concatenate([np.arange(n)[test] for _, test in splits]), minlength=n)
    if times.max() > 1:
        raise DataError(
            f"cv must test no row twice, but {int((times > 1).sum())} of {n} rows are in several test parts. Take a "
            "splitter whose test parts are disjoint, such as KFold; repeated splits cannot be used."
        )
    return np.flatnonzero(times)
