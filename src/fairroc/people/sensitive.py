"""Where the sensitive features of the rows of X come from: given row by row, or named as columns of X."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from fairroc.errors import DataError
from fairroc.tables.files import require_columns

__all__ = ["sensitive_rows"]


def sensitive_rows(X: Any, given: Any, columns: Any = None) -> Any:
    """The sensitive features, one row for each row of X.

    ``given`` is what a caller passed along with X: the features themselves, the name of one column of X, or None; then
    ``columns`` says which columns of X to take (a name, a position, or several of them).

    >>> sensitive_rows(np.array([[1.5, 0.0], [2.5, 1.0]]), None, 1)
    array([[0.],
           [1.]])
    """
    if isinstance(given, str):
        columns = given
    elif given is not None:
        _refuse_names(X, given)
        return given
    if columns is None:
        raise DataError(
            "sensitive_features must be given, one value for each row (or the name of a column of X), got none. Pass "
            "sensitive_features=, or name the columns of X once when the object is made: sensitive_features='sex'. "
            "Inside pipelines, searches and cross-validation, "
            "sklearn.set_config(enable_metadata_routing=True) lets it through; scikit-learn's own scorers and "
            "cross_val_predict call with X alone even then: take the scorers of fairroc.estimators.metrics, or name "
            "the columns."
        )
    wanted = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
    return _taken(X, wanted)


def _refuse_names(X: Any, given: Any) -> None:
    """Raise if a list that should hold one value for each row holds names of columns instead."""
    if not isinstance(given, list | tuple) or not given or not all(isinstance(value, str) for value in given):
        return
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame) and len(given) != len(frame) and set(given) <= set(frame.columns):
        raise DataError(
            f"sensitive_features must hold one value for each of the {len(frame)} rows, but {list(given)} are columns "
            "of X. Pass these columns, X[[...]], or name them once when the object is made."
        )


def _taken(X: Any, wanted: Sequence[Any]) -> Any:
    """Columns of a frame by name or position, of a matrix by position."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    names = frame.columns if isinstance(frame, nw.DataFrame) else None
    if names is None and not hasattr(X, "shape"):
        X = np.asarray(X, dtype=object)  # a list of rows: values stay what they are
    width = len(names) if names is not None else (X.shape[1] if len(X.shape) == 2 else 0)
    for column in wanted:
        if isinstance(column, str):
            if names is None:
                raise DataError(
                    f"sensitive_features names the column {column!r}, but X is a {type(X).__name__} and has no column "
                    "names; pass a data frame, the position of the column, or the values themselves."
                )
            require_columns([column], names)
        elif not -width <= column < width:
            raise DataError(
                f"sensitive_features must be columns of X, but there is no column {column} in {width}; counting starts "
                "at 0."
            )
    if isinstance(frame, nw.DataFrame):
        return frame.select([c if isinstance(c, str) else frame.columns[c] for c in wanted]).to_native()
    part = X[:, wanted]
    return part.toarray() if hasattr(part, "toarray") else part
