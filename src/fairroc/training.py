"""What a classifier is given to fit: the rows, checked before anything is fitted, and what goes to whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.exceptions import NotFittedError
from sklearn.utils import assert_all_finite, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter

from fairroc.checks import Missing, check_missing
from fairroc.columns import read_columns
from fairroc.core.chain import BoolArray, FloatArray
from fairroc.errors import DataError, warn_user
from fairroc.factorise import group_codes, sensitive_columns
from fairroc.model_selection import SensitiveStratifiedKFold

__all__ = ["TrainingRows", "check_prefit", "params_to", "read_training_rows", "splitter"]

FOLD_SEED = 0
"""Integer ``cv`` shuffles, because rows often come sorted, and always in the same way: the same rows, the same fit."""


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
    columns = read_columns(np.zeros(len(y)), hits, sensitive_features=groups, sample_weight=sample_weight)
    return TrainingRows(X, y, classes, positive, hits, groups, columns.weights)


def _check_weighted_classes(hits: BoolArray, sample_weight: Any) -> None:
    """Raise if only one class has rows that count; shape and values of the weights are checked where they are read."""
    weights = None if sample_weight is None else np.asarray(sample_weight)
    if weights is None or weights.shape != hits.shape or weights.dtype.kind not in "fiu":
        return
    if len(np.unique(hits[weights != 0])) == 1:
        raise DataError("sample_weight must leave rows of both classes, but all rows of one class have weight zero.")


def _positive(classes: NDArray[Any], pos_label: Any) -> Any:
    if pos_label is None:
        return classes[1]
    hit = [label for label in classes if label == pos_label]
    if not hit:
        raise DataError(f"pos_label must be one of the labels {classes.tolist()}; {pos_label!r} came.")
    return hit[0]


def splitter(cv: Any, missing: Missing) -> Any:
    """The splitter that ``cv`` stands for; what is no number is left to scikit-learn."""
    if isinstance(cv, str):
        raise DataError(f"cv must be a number of folds, 'prefit', a splitter or splits; {cv!r} came.")
    if cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        number = 5 if cv is None else int(cv)
        if number < 2:
            raise DataError(f"cv must be at least 2 folds (or 'prefit', a splitter or splits); {number} came.")
        return SensitiveStratifiedKFold(number, shuffle=True, random_state=FOLD_SEED, missing=missing)
    return cv


def check_prefit(estimator: Any) -> None:
    """Raise unless the estimator is fitted."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise NotFittedError(
            f"cv='prefit' needs a fitted estimator, but this {type(estimator).__name__} is not fitted. Fit it before, "
            "or let cv=5 fit it. Where copies are made, as in a search or a cross-validation, the copies are not "
            "fitted: wrap the fitted estimator in sklearn.frozen.FrozenEstimator."
        ) from None


def params_to(
    owner: Any, cv: Any, estimator: Any, metadata: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What of the metadata of a fit goes to the estimator's fit, and what to the splitter's split.

    With routing each gets what it requests. Without, the splitter of this package gets the sensitive features, and the
    estimator gets everything but these; the weights only if its fit takes them.
    """
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, "fit", **metadata)
        return dict(routed.estimator.fit), dict(routed.splitter.split)
    to_estimator = {
        name: value for name, value in metadata.items() if name != "sensitive_features" and value is not None
    }
    if "sample_weight" in to_estimator and not has_fit_parameter(estimator, "sample_weight"):
        del to_estimator["sample_weight"]
        warn_user(
            f"{type(estimator).__name__} takes no sample_weight, so the weights are used for the fair score alone. "
            "sklearn.set_config(enable_metadata_routing=True) routes them to a step of a pipeline that asks for them."
        )
    to_splitter = (
        {"sensitive_features": metadata["sensitive_features"]} if isinstance(cv, SensitiveStratifiedKFold) else {}
    )
    return to_estimator, to_splitter
