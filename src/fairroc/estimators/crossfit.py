"""Scores of rows by models that have not seen them: the rows checked, the folds, who is given what, the fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold
from sklearn.utils import _safe_indexing, assert_all_finite, check_random_state, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d, has_fit_parameter

from fairroc.core.chain import BoolArray, FloatArray
from fairroc.docstrings import PEOPLE, documented
from fairroc.errors import DataError, warn_user
from fairroc.fitting.spread import spread_rows
from fairroc.options import COMBINE, Missing, Options, check_missing
from fairroc.people.door import read_people, sensitive_rows
from fairroc.people.factorise import as_column, as_text, group_codes, present_values, sensitive_columns
from fairroc.people.people import People
from fairroc.people.rows import checked_weights
from fairroc.people.small import SmallRule
from fairroc.people.spread import named_features

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
    combine : "intersection" or "each"
        Of several sensitive columns: the cells are of their intersections, or every column's groups need enough rows
        for themselves; then the first column's cells are shared out up to one row, and so are the intersections.

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
        combine: str = "intersection",
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.missing = missing
        self.sensitive_features = sensitive_features
        self.combine = combine

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
        COMBINE.checked(self.combine)
        features = sensitive_rows(X, sensitive_features, self.sensitive_features)
        parts = {"": features}
        if self.combine == "each":
            parts = {f" of {name}": part for name, part in named_features(features, "sensitive_features").items()}
        each = {of: _strata(y, part, self.missing, of) for of, part in parts.items()}
        for codes, names in each.values():
            self._check(np.bincount(codes, minlength=len(names)), names)
        if len(each) > 1:
            yield from self._split_each([codes for codes, _ in each.values()])
            return
        folds = StratifiedKFold(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)
        codes, _ = next(iter(each.values()))
        yield from folds.split(np.zeros(len(codes)), codes)

    def _check(self, rows: Rows, names: list[str]) -> None:
        """Raise unless every cell has rows for all folds."""
        few = [f"{name} has {count}" for name, count in zip(names, rows.tolist(), strict=True) if count < self.n_splits]
        if few:
            more = f", and {len(few) - SHOWN} more" if len(few) > SHOWN else ""
            raise DataError(
                f"every group needs at least {self.n_splits} rows of each label for {self.n_splits} folds, but "
                f"{', '.join(few[:SHOWN])}{more}. Take fewer folds, merge small groups with others or leave "
                "them out; FairROCClassifier does either with small_groups='merge' or 'drop'."
            )

    def _split_each(self, cells: list[Rows]) -> Iterator[tuple[Rows, Rows]]:
        """Rows by the first attribute's cells, then the next one's, dealt out to the folds in turn."""
        n = len(cells[0])
        chance = check_random_state(self.random_state).permutation(n) if self.shuffle else np.arange(n)
        order = np.lexsort((chance, *reversed(cells)))
        fold = np.empty(n, dtype=np.intp)
        fold[order] = np.arange(n) % self.n_splits
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

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


def _strata(y: Any, sensitive_features: Any, missing: Missing, of: str = "") -> tuple[Rows, list[str]]:
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
    cells = [f"group {name!r}{of} with label {text!r}" for name in names for text in sorted(texts)]
    return groups.astype(np.intp) * len(texts) + rank[labels], cells


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Groups for a model to tell apart, small ones merged: those of an attribute, or intersections of all."""

    name: str
    groups: tuple[str, ...]
    codes: NDArray[np.intp]

    @property
    def values(self) -> NDArray[np.str_]:
        """(n,) name of every row's group."""
        return np.array(self.groups)[self.codes]


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
    strata: Any  # groups for folds, where some are small
    attributes: dict[str, NDArray[np.str_]]  # sensitive columns by name
    controls: dict[str, NDArray[np.str_]] | None
    targets: tuple[Target, ...]  # whom models of the group tell apart
    hidden: tuple[Any, ...] = ()  # columns of X that hold the groups, which these models do not see

    def of(self, rows: Rows) -> dict[str, Any]:
        """Some rows as `FairROC.fit` takes them beside their scores."""
        spread = self.controls is not None or bool(self.targets)
        return {
            "y": self.hits[rows],
            "sensitive_features": taken(self.attributes, rows) if spread else self.groups[rows],
            "sample_weight": None if self.weights is None else self.weights[rows],
            "control_features": taken(self.controls, rows),
        }


def taken(columns: Mapping[str, NDArray[Any]] | None, rows: Rows) -> dict[str, NDArray[Any]] | None:
    """Some rows of columns by name, where there are any."""
    return None if columns is None else {name: column[rows] for name, column in columns.items()}


def read_training_rows(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any,
    pos_label: Any,
    options: Options,
    control_features: Any = None,
) -> TrainingRows:
    """Check labels, groups, strata and weights; X is the estimator's to check."""
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
    missing = options.missing
    codes, names = group_codes(sensitive_columns(sensitive_features), missing)
    groups, hits = np.array(names)[codes], y == positive
    _check_weighted_classes(hits, sample_weight)
    zeros, small = np.zeros(len(y)), SmallRule.of(options)
    weights = None if sample_weight is None else checked_weights(sample_weight)
    attributes = _texts(sensitive_features, "sensitive_features", missing)
    controls = None if control_features is None else _texts(control_features, "control_features", missing)
    same = (X, y, classes, positive, hits, groups, weights)
    if controls is None and not options.is_spread:
        people = read_people(zeros, hits, sensitive_features=groups, sample_weight=sample_weight, small=small)
        return TrainingRows(*same, _fold_groups(people, groups), attributes, None, ())
    spread_rows(
        zeros, hits, options, sensitive_features=attributes, control_features=controls, sample_weight=sample_weight
    )  # raises where groups cannot be compared
    each = options.combine == "each"
    columns = attributes if each else {" & ".join(attributes): groups}
    targets = tuple(_target(name, part, hits, weights, small) for name, part in columns.items())
    strata = {target.name: target.values for target in targets} if each else targets[0].values
    return TrainingRows(*same, strata, attributes, controls, targets)


def _texts(features: Any, what: str, missing: Missing) -> dict[str, NDArray[np.str_]]:
    """Columns of texts by name."""
    found = {}
    for name, column in named_features(features, what).items():
        codes, names = group_codes({f"{what}[{name!r}]": column}, missing)
        found[name] = np.array(names)[codes]
    return found


def _target(
    name: str, groups: NDArray[np.str_], hits: BoolArray, weights: FloatArray | None, small: SmallRule
) -> Target:
    """Groups for a model to tell apart; small ones are made one if asked for."""
    names, codes = np.unique(groups, return_inverse=True)
    used = np.ones(len(hits)) if weights is None else weights > 0
    counts = np.bincount(2 * codes + hits, used, 2 * len(names)).astype(np.intp).reshape(-1, 2)
    found = small.found(names.tolist(), counts, counts.sum(axis=1), counts[:, 1])
    if found is None:
        return Target(name, tuple(names.tolist()), codes.astype(np.intp))
    called = found.renamed(names.tolist())
    kept = tuple(sorted({str(each) for each in called.values()}))
    return Target(name, kept, np.array([kept.index(str(called[each])) for each in names.tolist()])[codes])


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
class Folds:
    """Rows, how they are split, and how many splits are worked on at the same time."""

    rows: TrainingRows
    splits: Sequence[Split]
    n_jobs: int | None

    def each(self, work: Callable[[Split], tuple[Any, FloatArray]], found: FloatArray) -> tuple[Any, ...]:
        """The model that each split's work gives; what it says of the split's test rows is put in their places."""
        done = Parallel(n_jobs=self.n_jobs)(delayed(work)(split) for split in self.splits)
        for (_, test), (_, part) in zip(self.splits, done, strict=True):
            found[test] = part
        return tuple(model for model, _ in done)


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


def splitter(cv: Any, missing: Missing, combine: str = COMBINE.default) -> Any:
    """The splitter that ``cv`` stands for; what is no number is left to scikit-learn."""
    if isinstance(cv, str):
        raise DataError(f"cv must be a number of folds, 'prefit', a splitter or splits, got {cv!r}.")
    if cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        number = 5 if cv is None else int(cv)
        if number < 2:
            raise DataError(f"cv must be at least 2 folds (or 'prefit', a splitter or splits), got {number}.")
        return SensitiveStratifiedKFold(number, shuffle=True, random_state=FOLD_SEED, missing=missing, combine=combine)
    return cv


def folds(cv: Any) -> int:
    """Rows of each class that a group needs for its folds: as many as folds, where these are stratified by group."""
    found = splitter(cv, "error")
    return int(found.n_splits) if isinstance(found, SensitiveStratifiedKFold) else 1


def check_prefit(estimator: Any, what: str = "estimator") -> None:
    """Raise unless the estimator is fitted."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise NotFittedError(
            f"cv='prefit' needs a fitted {what}, but this {type(estimator).__name__} is not fitted. Fit it before, "
            "or let cv=5 fit it. Where copies are made, as in a search or a cross-validation, the copies are not "
            "fitted: wrap the fitted estimator in sklearn.frozen.FrozenEstimator."
        ) from None


def params_to(
    owner: Any, cv: Any, estimator: Any, metadata: Mapping[str, Any], group_estimator: Any = None
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What of the metadata of a fit goes to the estimator's fit, to the splitter's split, and to the fit of the group's
    estimator, if there is one.

    With routing each gets what it requests. Without, the splitter of this package gets the sensitive features, and the
    estimator gets everything but these and the control features; the weights only if its fit takes them. The group's
    estimator gets the weights alone, and never the groups.
    """
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, "fit", **metadata)
        to_group = dict(routed.group_estimator.fit) if group_estimator is not None else {}
        to_group.pop("sensitive_features", None)
        return dict(routed.estimator.fit), dict(routed.splitter.split), to_group
    to_estimator = {
        name: value
        for name, value in metadata.items()
        if name not in ("sensitive_features", "control_features") and value is not None
    }
    to_group = {}
    if "sample_weight" in to_estimator and has_fit_parameter(group_estimator, "sample_weight"):
        to_group["sample_weight"] = to_estimator["sample_weight"]
    if "sample_weight" in to_estimator and not has_fit_parameter(estimator, "sample_weight"):
        del to_estimator["sample_weight"]
        warn_user(
            f"{type(estimator).__name__} takes no sample_weight, so the weights are used for the fair score alone. "
            "sklearn.set_config(enable_metadata_routing=True) routes them to a step of a pipeline that asks for them."
        )
    to_splitter = (
        {"sensitive_features": metadata["sensitive_features"]} if isinstance(cv, SensitiveStratifiedKFold) else {}
    )
    return to_estimator, to_splitter, to_group


def crossfit(
    estimator: Any, folds: Folds, response: str, params: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Rows, FloatArray]:
    """Fit a clone on the training rows of every split and score its test rows: the models, the rows with a score, and
    their scores.

    Rows that no split tests get no score; a row that two splits test is an error.
    """
    n = len(folds.rows.y)
    rows, scores = _tested_once(folds.splits, n), np.empty(n)
    models = folds.each(partial(_fit_and_score, estimator, folds.rows, response, params), scores)
    return models, rows, scores[rows]


def taken_params(X: Any, params: Mapping[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    """The parameters of a fit on some rows: what has a value for each row of X is cut to them."""
    n = _num_samples(X)
    return {name: _safe_indexing(value, rows) if _by_row(value, n) else value for name, value in params.items()}


def _by_row(value: Any, n: int) -> bool:
    if isinstance(value, str | bytes) or not (hasattr(value, "__len__") or hasattr(value, "shape")):
        return False
    return np.ndim(value) > 0 and int(_num_samples(value)) == n


def _fit_and_score(
    estimator: Any, rows: TrainingRows, response: str, params: Mapping[str, Any], split: Split
) -> tuple[Any, FloatArray]:
    estimator, (train, test) = clone(estimator), split
    X_train, y_train = _safe_split(estimator, rows.X, rows.y, train)
    X_test, _ = _safe_split(estimator, rows.X, rows.y, test, train)
    estimator.fit(X_train, y_train, **taken_params(rows.X, params, train))
    return estimator, base_score(estimator, X_test, response_name(estimator, response), rows.positive)


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
