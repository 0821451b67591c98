"""Scores of rows by models that have not seen them: the rows checked, the folds, who is given what, the fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold
from sklearn.utils import _safe_indexing, assert_all_finite, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d, has_fit_parameter

from fairroc.core.chain import BoolArray, FloatArray
from fairroc.docstrings import PEOPLE, documented
from fairroc.errors import DataError, warn_user
from fairroc.options import Missing, check_missing
from fairroc.people.door import read_people, sensitive_rows
from fairroc.people.factorise import as_column, as_text, group_codes, present_values, sensitive_columns
from fairroc.people.people import People
from fairroc.people.rows import checked_weights
from fairroc.people.small import REFUSE, SmallRule

SHOWN = 5
"""As many cells that are too small are named in a message."""

Rows = NDArray[np.intp]


@documented(setup=PEOPLE)
class SensitiveStratifiedKFold(BaseCrossValidator):  # type: ignore[misc]
    """K folds, each with the same share of every (group, label) cell, up to one row.

    A fold without positives of a small group says nothing about that group: folds that are stratified by the label
    alone leave that to luck.

    Parameters
    ----------
    n_splits : int, at least 2
    shuffle : bool
        Shuffle within the cells first.
    random_state : int, RandomState or None
        Seed of the shuffle.
    missing : "error" or "group"
        "group" makes missing group values a group of their own.
    sensitive_features : str, int, list of them, or None
        Columns of X (names, or positions in a matrix) to take where `split` is not given any sensitive features.

    Examples
    --------
    >>> for _, test in SensitiveStratifiedKFold(2).split(scores, y, sensitive_features=sex):
    ...     print(len(test), (sex[test] == "f").sum(), y[test].sum())
    500 250 200
    500 250 200
    """

    __metadata_request__split: ClassVar[dict[str, Any]] = {"sensitive_features": True}

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: Any = None,
        missing: Missing = "error",
        sensitive_features: Any = None,
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.missing = missing
        self.sensitive_features = sensitive_features

    def split(
        self, X: Any, y: Any, groups: Any = None, *, sensitive_features: Any = None
    ) -> Iterator[tuple[Rows, Rows]]:
        """Indices of the training and of the test rows of each fold; ``groups`` is ignored.

        Yields
        ------
        train, test : ndarrays of integers
            Indices of the rows of a fold.

        Raises: DataError
        >>> [len(test) for _, test in SensitiveStratifiedKFold(4).split(scores, y, sensitive_features=sex)]
        [250, 250, 250, 250]
        """
        codes, names = _strata(y, sensitive_rows(X, sensitive_features, self.sensitive_features), self.missing)
        folds = StratifiedKFold(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)
        rows = np.bincount(codes, minlength=len(names))
        few = [f"{name} has {count}" for name, count in zip(names, rows.tolist(), strict=True) if count < self.n_splits]
        if few:
            more = f", and {len(few) - SHOWN} more" if len(few) > SHOWN else ""
            raise DataError(
                f"every group needs at least {self.n_splits} rows of each label for {self.n_splits} folds, but "
                f"{', '.join(few[:SHOWN])}{more}. Take fewer folds, merge small groups with others or leave "
                "them out; FairROCClassifier does either with small_groups='merge' or 'drop'."
            )
        yield from folds.split(np.zeros(len(codes)), codes)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, *, sensitive_features: Any = None) -> int:
        """Number of folds; the arguments are ignored.

        Parameters
        ----------
        X, y, groups, sensitive_features
            Ignored.

        >>> SensitiveStratifiedKFold(4).get_n_splits()
        4
        """
        return self.n_splits


@documented()
def strata(y: Any, *, sensitive_features: Any, missing: Missing = "error") -> Rows:
    """Number of each row's (group, label) cell, for ``stratify=`` of scikit-learn's ``train_test_split``.

    Returns: ndarray of shape (n,): a number for each row.
    Raises: DataError
    >>> strata([0, 1, 1, 0], sensitive_features=["f", "f", "m", "m"])
    array([0, 1, 3, 2])
    """
    return _strata(y, sensitive_features, missing)[0]


def _strata(y: Any, sensitive_features: Any, missing: Missing) -> tuple[Rows, list[str]]:
    """Cell of every row, and the cells in words; a cell without rows counts too."""
    check_missing(missing)
    labels, values, lost = present_values(as_column(y, "y"), "y")
    if lost:
        raise DataError(f"y must not be missing, but {lost} of {len(labels)} are; drop these rows.")
    groups, names = group_codes(sensitive_columns(sensitive_features), missing)
    if len(groups) != len(labels):
        raise DataError(
            f"sensitive_features must have one row for each row of y, got {len(groups)} and {len(labels)} rows."
        )
    texts = [as_text(value) for value in values]
    rank = np.argsort(np.argsort(texts, kind="stable"), kind="stable")
    cells = [f"group {name!r} with label {text!r}" for name in names for text in sorted(texts)]
    return groups.astype(np.intp) * len(texts) + rank[labels], cells


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
    strata: NDArray[np.str_] | None  # groups for folds, where some are small


def read_training_rows(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any,
    pos_label: Any,
    missing: Missing,
    small: SmallRule = REFUSE,
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
    zeros = np.zeros(len(y))
    people = read_people(zeros, hits, sensitive_features=groups, sample_weight=sample_weight, small=small)
    weights = None if sample_weight is None else checked_weights(sample_weight)
    return TrainingRows(X, y, classes, positive, hits, groups, weights, _fold_groups(people, groups))


def _fold_groups(people: People, groups: NDArray[np.str_]) -> NDArray[np.str_] | None:
    """The groups that folds are stratified by, where some are small: merged, or those left out with the largest."""
    if people.small is None:
        return None
    largest = people.names[int(np.argmax(people.group_counts()[0]))]
    names, codes = np.unique(groups, return_inverse=True)
    new = people.small.renamed(names.tolist())
    return np.array([new[name] or largest for name in names.tolist()])[codes]


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


RESPONSES = ("predict_proba", "decision_function")

FOLD_SEED = 0
"""Integer ``cv`` shuffles, because rows often come sorted, and always in the same way: the same rows, the same fit."""

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, slots=True, eq=False)
class Crossfit:
    """Fold models, and for each row in ``rows`` the score by the one model that has not seen it."""

    estimators: tuple[Any, ...]
    rows: NDArray[np.intp]
    scores: FloatArray


def check_response(wanted: Any) -> None:
    """Raise unless a response method of that name can be asked for."""
    if wanted not in ("auto", *RESPONSES):
        raise DataError(f"response_method must be 'auto', 'predict_proba' or 'decision_function', got {wanted!r}.")


def response_name(estimator: Any, wanted: str = "auto") -> str:
    """Method of the estimator that gives scores."""
    check_response(wanted)
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


def splitter(cv: Any, missing: Missing) -> Any:
    """The splitter that ``cv`` stands for; what is no number is left to scikit-learn."""
    if isinstance(cv, str):
        raise DataError(f"cv must be a number of folds, 'prefit', a splitter or splits, got {cv!r}.")
    if cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        number = 5 if cv is None else int(cv)
        if number < 2:
            raise DataError(f"cv must be at least 2 folds (or 'prefit', a splitter or splits), got {number}.")
        return SensitiveStratifiedKFold(number, shuffle=True, random_state=FOLD_SEED, missing=missing)
    return cv


def folds(cv: Any) -> int:
    """Rows of each class that a group needs for its folds: as many as folds, where these are stratified by group."""
    found = splitter(cv, "error")
    return int(found.n_splits) if isinstance(found, SensitiveStratifiedKFold) else 1


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


def _taken_params(X: Any, params: Mapping[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
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
    estimator.fit(X_train, y_train, **_taken_params(X, params, train))
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
