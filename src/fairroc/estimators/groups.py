"""Models of the group beside the score: what a classifier that does without the group learns to take its place.

They are fitted on the same folds as the score, see no column that holds the group, and give probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples

from fairroc.core.chain import FloatArray
from fairroc.errors import DataError, several, warn_user
from fairroc.estimators.crossfit import Folds, Split, Target, base_score, check_prefit, response_name, taken_params
from fairroc.people.factorise import as_text, named_columns
from fairroc.tables.files import one_line

HEAD = 200
"""Rows on which a score is tried without the columns that hold the groups."""


@dataclass(frozen=True, eq=False)
class GroupModel:
    """Fitted models of one attribute's groups: one, or one for each fold.

    ``coded``: their classes are numbers of the ``groups``; else, of models that were fitted before, their names.
    """

    name: str
    groups: tuple[str, ...]
    coded: bool
    models: tuple[Any, ...] = field(repr=False)

    def probabilities(self, X: Any) -> FloatArray:
        """(n, groups) the mean of the models' probabilities."""
        parts = [_aligned(model, X, self.groups, self.coded) for model in self.models]
        return np.asarray(np.clip(np.mean(parts, axis=0), 0.0, 1.0))

    def columns(self, alone: bool) -> dict[str, int]:
        """Columns of probabilities by name: one for each group; of two groups, the second one's says it all."""
        used = range(1, 2) if len(self.groups) == 2 else range(len(self.groups))
        return {self.groups[g] if alone else f"{self.name}: {self.groups[g]}": g for g in used}


def probability_columns(models: Sequence[GroupModel], each: Sequence[FloatArray]) -> dict[str, FloatArray]:
    """Columns of probabilities of all attributes, by name."""
    pairs = zip(models, each, strict=True)
    return {
        name: found[:, g].copy() for model, found in pairs for name, g in model.columns(alone=len(models) == 1).items()
    }


def _aligned(model: Any, X: Any, groups: Sequence[str], coded: bool) -> FloatArray:
    """(n, groups) probabilities of the groups; 0 for one that a fold has nobody of."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    classes = list(model.classes_)
    at = [int(code) for code in classes] if coded else [list(groups).index(as_text(value)) for value in classes]
    aligned = np.zeros((len(found), len(groups)))
    aligned[:, at] = found
    return aligned


# ---- who learns ------------------------------------------------------------------------------------------------------


def group_estimators(given: Any, default: Any, targets: Sequence[Target], prefit: bool) -> dict[str, Any]:
    """The estimator of every attribute's groups, checked."""
    names = [target.name for target in targets]
    listed = ", ".join(map(repr, names))
    if prefit and given is None:
        raise DataError(
            "group_estimator must be a fitted model of the group with cv='prefit' and use_group=False, got None: no "
            "estimator is fitted here. Fit one to predict the group, on people whom the estimator has not seen, or "
            "take cv=5; probabilities that come from elsewhere are for FairROC.fit(group_probabilities=...)."
        )
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise DataError(
                f"group_estimator must have one estimator for each attribute ({listed}), got some for "
                f"{', '.join(map(repr, given)) or 'none'}."
            )
        found = {name: given[name] for name in names}
    elif prefit and len(names) > 1:
        raise DataError(
            f"group_estimator must have one fitted estimator for each attribute ({listed}) with cv='prefit' and "
            "combine='each', got a single one. Pass a dict of them by the attributes' names."
        )
    else:
        found = dict.fromkeys(names, default if given is None else given)
    for target in targets:
        _check(found[target.name], target, given is None, prefit)
    return found


def _check(estimator: Any, target: Target, default: bool, prefit: bool) -> None:
    """Raise unless an estimator can give probabilities of these groups."""
    kind, way = type(estimator).__name__, "Pass another as group_estimator=, LogisticRegression() for instance."
    own = ", which the estimator stands for where none is given" if default else ""
    if not hasattr(estimator, "predict_proba"):
        raise DataError(f"group_estimator{own} must have predict_proba, which {kind} lacks. {way}")
    if prefit:
        check_prefit(estimator, "group_estimator")
        known = sorted(as_text(value) for value in estimator.classes_)
        if known != sorted(target.groups):
            raise DataError(
                f"group_estimator must have been fitted to the groups of {target.name} "
                f"({several(list(target.groups), ', ')}), but its classes are {several(known, ', ')}. Fit it to the "
                "same values."
            )
        return
    told = get_tags(estimator).classifier_tags
    if len(target.groups) > 2 and told is not None and not told.multi_class:
        raise DataError(
            f"group_estimator{own} must take the {len(target.groups)} groups of {target.name} as classes, but {kind} "
            f"takes two. {way}"
        )


def crossfit_groups(
    estimators: Mapping[str, Any], folds: Folds, params: Mapping[str, Any], ensemble: bool
) -> tuple[tuple[GroupModel, ...], dict[str, FloatArray]]:
    """Fit clones on every split's training rows, and give the probabilities of its test rows; without the hidden
    columns. The models kept are those of the folds, or one that is fitted again."""
    rows, everybody, models, each = folds.rows, np.arange(len(folds.rows.y)), [], []
    X = without(rows.X, rows.hidden)
    for target in rows.targets:
        work = partial(_fit, estimators[target.name], X, target, params, rows.hidden)
        found = np.zeros((len(everybody), len(target.groups)))
        kept = folds.each(work, found)
        if not ensemble:
            kept = (work((everybody, everybody[:1]))[0],)
        models.append(GroupModel(target.name, target.groups, True, kept))
        each.append(np.clip(found, 0.0, 1.0))
    return tuple(models), probability_columns(models, each)


def _fit(
    estimator: Any, X: Any, target: Target, params: Mapping[str, Any], hidden: tuple[Any, ...], split: Split
) -> tuple[Any, FloatArray]:
    model, (train, test) = clone(estimator), split
    try:
        model.fit(_safe_indexing(X, train), target.codes[train], **taken_params(X, params, train))
    except Exception as error:
        if not hidden:
            raise
        raise DataError(
            f"group_estimator must do without the columns that hold the groups ({_listed(hidden)}), but "
            f"{type(model).__name__} could not be fitted to X without them: {one_line(error)}. Pass a group_estimator "
            "whose steps do not name them."
        ) from error
    return model, _aligned(model, _safe_indexing(X, test), target.groups, True)


# ---- what it sees ----------------------------------------------------------------------------------------------------


def hidden_columns(X: Any, given: Any, columns: Any) -> tuple[Any, ...]:
    """Columns of X that hold the groups: those named, and those that share a name with what is given; names in a frame,
    positions in a matrix."""
    import narwhals as nw

    wanted = [] if columns is None else [columns] if isinstance(columns, str | int | np.integer) else list(columns)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        width = np.shape(X)[1] if not hasattr(X, "shape") else X.shape[1]
        return tuple(sorted({int(column) % width for column in wanted}))
    if isinstance(given, str):
        wanted.append(given)
    elif given is not None:
        named = named_columns(given) if not isinstance(given, list | tuple) else None
        wanted += [getattr(given, "name", None)] if named is None else list(named)
    names = {frame.columns[column] if isinstance(column, int | np.integer) else column for column in wanted}
    return tuple(name for name in frame.columns if name in names)


def without(X: Any, hidden: Sequence[Any]) -> Any:
    """X without the hidden columns; those that a frame does not have are not missed."""
    if not hidden:
        return X
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame.drop([name for name in hidden if name in frame.columns]).to_native()
    X = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    return X[:, np.setdiff1d(np.arange(X.shape[1]), np.asarray(hidden, dtype=np.intp))]


def warn_seen(model: Any, X: Any, hidden: Sequence[Any], response: str, positive: Any) -> None:
    """Warn where the score cannot be had without the columns that hold the groups."""
    if not hidden:
        return
    few = _safe_indexing(X, np.arange(min(HEAD, _num_samples(X))))
    name = response_name(model, response)
    try:
        same = np.array_equal(
            base_score(model, few, name, positive), base_score(model, without(few, hidden), name, positive)
        )
    except Exception:
        same = False
    if not same:
        warn_user(
            f"the estimator sees X whole, the columns that hold the groups ({_listed(hidden)}) among it: its score may "
            "use the group although use_group=False, and new people need these columns. Leave them out of X and pass "
            "their values as sensitive_features=, or let a step of the estimator leave them out."
        )


def _listed(hidden: Sequence[Any]) -> str:
    return several([repr(column) for column in hidden], ", ")
