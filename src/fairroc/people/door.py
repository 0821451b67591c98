"""The door: whatever holds scores, labels and groups becomes `People`. What is kept is copied or sorted, so that
callers may use their arrays again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray
from fairroc.errors import DataError
from fairroc.options import Missing
from fairroc.people.cells import WeightedRows
from fairroc.people.counts import ScoreCounts
from fairroc.people.factorise import as_column, code_dtype, frozen, recode, rows_by_group
from fairroc.people.people import People, both_labels
from fairroc.people.rows import Columns, read_columns
from fairroc.people.sample import CountedSample, thin_points
from fairroc.people.small import REFUSE, SmallGroups, SmallRule
from fairroc.people.sorting import packing, sorted_rows
from fairroc.people.spread import Family
from fairroc.people.tensors import are_on_host, host_rows, is_tensor
from fairroc.tables.files import require_columns


def read_people(
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
    missing: Missing = "error",
    small: SmallRule = REFUSE,
    whole: bool = True,
    in_order: bool = False,
) -> People:
    """Check the columns to fit on or to audit, and sort them. O(n) for most scores, O(n log n) at worst.

    Rows that are not the ``whole`` of a table may lack a label or a group; without any labels (``y=None``) all count
    as negatives. ``small`` says what becomes of small groups. Tensors on the host are read as arrays, others are
    counted on their device. With ``in_order`` rows without weights keep their order too, for sums that are taken row by
    row.

    >>> people = read_people([0.1, 0.9, 0.4, 0.2], [0, 1, 1, 0], sensitive_features=["b", "a", "b", "a"])
    >>> people.names, people.class_rows().tolist()
    (('a', 'b'), [[1, 1], [1, 1]])
    """
    if are_on_host(scores, sensitive_features):
        scores, y, sensitive_features, sample_weight = host_rows(scores, y, sensitive_features, sample_weight)
    if y is None and not whole:
        rows = len(scores) if is_tensor(scores) else len(as_column(scores, "scores"))
        y, pos_label = np.zeros(rows, dtype=np.int8), None
    how = {"sample_weight": sample_weight, "pos_label": pos_label, "missing": missing}
    if is_tensor(scores):
        counts = ScoreCounts.from_rows(scores, y, sensitive_features=sensitive_features, **how)
        return counts.people(small=small, whole=whole)
    columns = read_columns(scores, y, sensitive_features=sensitive_features, **how, whole=whole)
    people = people_of(columns, in_order=in_order)
    found = people.small_by(small)
    if found is not None:
        people = replace(people_of(regrouped(columns, found), in_order=in_order), small=found)
    return both_labels(people) if whole else people


def regrouped(columns: Columns, small: SmallGroups) -> Columns:
    """The same rows in the same order, with small groups merged or without their rows."""
    new = small.renamed(columns.names)
    names = tuple(sorted({name for name in new.values() if name is not None}))
    code = {name: i for i, name in enumerate(names)} | {None: -1}
    table = np.array([code[new[name]] for name in columns.names], dtype=code_dtype(len(columns.names)))
    groups = recode(columns.groups, table)
    renamed = replace(columns, groups=frozen(groups), names=names)
    return renamed if small.merged_into is not None else renamed.taken(np.flatnonzero(groups >= 0))


def people_of(columns: Columns, *, in_order: bool = False) -> People:
    """People from checked columns."""
    count, points, weights = len(columns.names), thin_points(len(columns.names)), columns.weights
    if in_order and weights is None:
        weights = np.ones(len(columns.scores))
    pack = None if weights is not None else packing(columns.scores)
    if pack is not None:
        rows = sorted_rows(columns.scores, columns.labels, columns.groups, count, pack)
        samples = [CountedSample(part, pack, points=points) for part in rows]
        return People(columns.names, tuple(samples))
    if weights is None:
        return ScoreCounts.from_columns(columns).people(whole=False)
    each = rows_by_group(columns.groups, count)
    parts = [(columns.scores[rows] + 0.0, columns.labels[rows], weights[rows]) for rows in each]  # -0.0 is 0.0
    kept = tuple(WeightedRows(*part, points=points) for part in parts)
    return People(columns.names, kept, weighted=columns.weights is not None)


def people_of_family(family: Family, scores: FloatArray, labels: BoolArray, weights: FloatArray | None) -> People:
    """Those of checked rows whom a family compares."""
    columns = Columns(scores, labels, family.codes, family.groups, weights)
    return replace(people_of(columns.taken(np.flatnonzero(family.codes >= 0))), small=family.small)


def sensitive_rows(X: Any, given: Any, columns: Any = None, what: str = "sensitive_features") -> Any:
    """The sensitive features (or ``what`` else), one row for each row of X.

    ``given`` is what a caller passed along with X: the features themselves, the name of one column of X, or None; then
    ``columns`` says which columns of X to take (a name, a position, or several of them).

    >>> sensitive_rows(np.array([[1.5, 0.0], [2.5, 1.0]]), None, 1)
    array([[0.],
           [1.]])
    """
    if isinstance(given, str):
        columns = given
    elif given is not None:
        _refuse_names(X, given, what)
        return given
    if columns is None:
        raise DataError(
            f"{what} must be given, one value for each row (or the name of a column of X), got none. Pass "
            f"{what}=, or name the columns of X once when the object is made: {what}='sex'. "
            "Inside pipelines, searches and cross-validation, "
            "sklearn.set_config(enable_metadata_routing=True) lets it through; scikit-learn's own scorers and "
            "cross_val_predict call with X alone even then: take the scorers of fairroc.estimators.metrics, or name "
            "the columns."
        )
    wanted = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
    return _picked(X, wanted, what)


def _refuse_names(X: Any, given: Any, what: str) -> None:
    """Raise if a list that should hold one value for each row holds names of columns instead."""
    if not isinstance(given, list | tuple) or not given or not all(isinstance(value, str) for value in given):
        return
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame) and len(given) != len(frame) and set(given) <= set(frame.columns):
        raise DataError(
            f"{what} must hold one value for each of the {len(frame)} rows, but {list(given)} are columns "
            "of X. Pass these columns, X[[...]], or name them once when the object is made."
        )


def _picked(X: Any, wanted: Sequence[Any], what: str) -> Any:
    """Columns of a frame by name or position, of a matrix by position."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    names = frame.columns if isinstance(frame, nw.DataFrame) else None
    if names is None and not hasattr(X, "shape"):
        X = np.asarray(X, dtype=object)  # a list of rows: values stay what they are
    width = len(names) if names is not None else (X.shape[1] if len(X.shape) == 2 else 0)
    for column in wanted:
        if isinstance(column, str):
            if names is None:
                raise DataError(
                    f"{what} names the column {column!r}, but X is a {type(X).__name__} and has no column "
                    "names; pass a data frame, the position of the column, or the values themselves."
                )
            require_columns([column], names)
        elif not -width <= column < width:
            raise DataError(
                f"{what} must be columns of X, but there is no column {column} in {width}; counting starts at 0."
            )
    if isinstance(frame, nw.DataFrame):
        return frame.select([c if isinstance(c, str) else frame.columns[c] for c in wanted]).to_native()
    part = X[:, wanted]
    return part.toarray() if hasattr(part, "toarray") else part
