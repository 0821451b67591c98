"""The rows that a classifier is given to fit: checked before anything is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, indexable
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from fairroc.core.chain import BoolArray, FloatArray
from fairroc.errors import DataError
from fairroc.options import Missing, check_missing
from fairroc.people.door import read_people
from fairroc.people.factorise import group_codes, sensitive_columns
from fairroc.people.rows import checked_weights

__all__ = ["TrainingRows", "positives", "read_training_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRows:
    """Checked rows: features as they came (but indexable), labels, groups by name, weights."""

    X: Any
    y: NDArray[Any]
    classes: NDArray[Any]  # two labels, sorted
    positive: Any
    hits: BoolArray  # y is the positive label
    groups: NDArray[np.str_]
    weights: FloatArray | None


def read_training_rows(
    X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any, pos_label: Any, missing: Missing
) -> TrainingRows:
    """Check labels, groups and weights; X is the estimator's to check."""
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None; pass the labels.")
    X, y = indexable(X, column_or_1d(y, warn=True))
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y")
    if kind != "binary":
        raise DataError(
            f"Only binary classification is supported. The type of the target is {kind}. Recode the labels to two, or "
            "leave the rows of the others out."
        )
    classes = np.unique(y)
    if len(classes) != 2:
        raise DataError(f"y must hold two classes, but all {len(y)} rows are of one class, {classes.tolist()}.")
    positive = _positive(classes, pos_label)
    check_missing(missing)
    codes, names = group_codes(sensitive_columns(sensitive_features), missing)
    groups, hits = np.array(names)[codes], y == positive
    _check_weighted_classes(hits, sample_weight)
    read_people(np.zeros(len(y)), hits, sensitive_features=groups, sample_weight=sample_weight)
    weights = None if sample_weight is None else checked_weights(sample_weight)
    return TrainingRows(X, y, classes, positive, hits, groups, weights)


def _check_weighted_classes(hits: BoolArray, sample_weight: Any) -> None:
    """Raise if only one class has rows that count; shape and values of the weights are checked where they are read."""
    weights = None if sample_weight is None else np.asarray(sample_weight)
    if weights is None or weights.shape != hits.shape or weights.dtype.kind not in "fiu":
        return
    if len(np.unique(hits[weights != 0])) == 1:
        raise DataError("sample_weight must leave rows of both classes, but all rows of one class have weight zero.")


def positives(y: Any, classes: NDArray[Any], positive: Any) -> BoolArray:
    """Where y is the positive label; an error if it holds a label that was not fitted."""
    labels, known = column_or_1d(y), classes.tolist()
    strange = [label for label in np.unique(labels).tolist() if label not in known]
    if strange:
        raise DataError(f"y must hold the fitted labels {known}, got {strange[:5]}. Recode y as in the fit.")
    return np.asarray(labels == positive)


def _positive(classes: NDArray[Any], pos_label: Any) -> Any:
    if pos_label is None:
        return classes[1]
    hit = [label for label in classes if label == pos_label]
    if not hit:
        raise DataError(f"pos_label must be one of the labels {classes.tolist()}, got {pos_label!r}.")
    return hit[0]
