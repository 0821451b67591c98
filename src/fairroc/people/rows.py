"""The door in: lists, arrays, series or frames become checked, read-only numpy columns.

Every check of values lives here; the code behind this door trusts what comes out. Rows are matched by
position, an index of a pandas object is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray
from fairroc.errors import DataError, UnknownGroupError, number_of_rows, several, warn_user
from fairroc.options import Missing, check_missing
from fairroc.people.factorise import (
    Column,
    IntArray,
    as_column,
    as_text,
    code_dtype,
    frozen,
    group_codes,
    is_arrow,
    no_value,
    present_values,
    recode,
    sensitive_columns,
)
from fairroc.people.small import Regrouped
from fairroc.tables.columns import ColumnNames, as_numpy

LARGEST = 1e307  # beyond it the difference of two scores could overflow
MOST_PEOPLE = 2**48  # sums and products with the points of a curve stay exact
NO_MISSING_GROUP = (
    "the model has no group for missing values: fill the group in, or refit with missing='group' "
    "(on the command line: --missing group)"
)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Scores, labels and groups of n rows, checked one by one; `fairroc.people.door` makes `People` of them."""

    scores: FloatArray  # (n,) finite
    labels: BoolArray  # (n,) True = positive
    groups: IntArray  # (n,) codes into names, in the smallest signed dtype that holds them
    names: tuple[str, ...]  # sorted, every one present
    weights: FloatArray | None  # (n,) finite, >= 0

    def taken(self, rows: NDArray[np.intp]) -> Columns:
        """Some of the rows."""
        weights = None if self.weights is None else frozen(self.weights[rows])
        scores, labels, groups = (frozen(part[rows]) for part in (self.scores, self.labels, self.groups))
        return Columns(scores, labels, groups, self.names, weights)


@dataclass(frozen=True, slots=True, eq=False)
class TableColumns:
    """An aggregated table: so many negatives and positives with each score and group, checked."""

    scores: FloatArray  # (n,) finite
    negatives: NDArray[Any]  # (n,) >= 0: int64 counts, or float64 weights if any number is fractional
    positives: NDArray[Any]
    groups: IntArray  # (n,) codes into names
    names: tuple[str, ...]  # sorted


@dataclass(frozen=True, slots=True, eq=False)
class ScoreColumns:
    """Scores and groups of n rows to transform, checked against the names of a model."""

    scores: FloatArray  # (n,) finite
    groups: IntArray  # (n,) codes into the model's names
    unknown: int  # rows whose group the model does not know, mapped to on_unknown_group


class TakenColumns(NamedTuple):
    """Native columns picked from a frame, None where none was named; ``group`` is a frame when several were.

    ``probabilities`` and ``controls`` are columns by name.
    """

    score: Any
    group: Any
    label: Any
    weight: Any
    id: Any
    probabilities: dict[str, Any] | None = None
    controls: dict[str, Any] | None = None

    @property
    def beside(self) -> dict[str, Any]:
        """What is known of people beside score and label, as fits, audits and counts take it."""
        return {"sensitive_features": self.group, "sample_weight": self.weight}


def read_columns(
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
    missing: Missing = "error",
    whole: bool = True,
) -> Columns:
    """Check and convert the columns to fit on or to audit; O(n) for small-integer groups.

    Rows that are not the ``whole`` of a table may lack a label.

    >>> read_columns([0.1, 0.9, 0.4, 0.2], [0, 1, 1, 0], sensitive_features=["b", "a", "b", "a"]).names
    ('a', 'b')
    """
    score_column, label_column = as_column(scores, "scores"), as_column(y, "y")
    group_columns = sensitive_columns(sensitive_features)
    weight_column = None if sample_weight is None else as_column(sample_weight, "sample_weight")
    rows = same_length(scores=score_column, y=label_column, **group_columns, sample_weight=weight_column)
    if not rows:
        raise DataError("the columns must hold at least one row, got none.")
    weights = None if weight_column is None else _weights(weight_column)
    labels = _labels(label_column, pos_label, whole)
    check_missing(missing)
    groups, names = group_codes(group_columns, missing)
    return Columns(_scores(score_column), labels, groups, names, weights)


def read_counts(
    scores: Any, positives: Any, negatives: Any, *, sensitive_features: Any, missing: Missing = "error"
) -> TableColumns:
    """Check and convert an aggregated table: counts of positives and negatives for each score and group."""
    score_column, group_columns = as_column(scores, "scores"), sensitive_columns(sensitive_features)
    hits, misses = as_column(positives, "positives"), as_column(negatives, "negatives")
    rows = same_length(scores=score_column, positives=hits, negatives=misses, **group_columns)
    if not rows:
        raise DataError("the columns must hold at least one row, got none.")
    both = _counts(hits, "positives"), _counts(misses, "negatives")
    check_missing(missing)
    groups, names = group_codes(group_columns, missing)
    if all((part == np.floor(part)).all() for part in both):
        both = both[0].astype(np.int64), both[1].astype(np.int64)
    else:
        broken = sum(int((part != np.floor(part)).sum()) for part in both)
        warn_user(
            f"{broken} of {2 * rows} counts are fractional, so all are taken for weights. Pass whole numbers if they "
            "count people.",
            detail="Weights have no DKW and DeLong intervals, and each cell of a group, label and score counts as one "
            "row.",
        )
    return TableColumns(_scores(score_column), frozen(both[1]), frozen(both[0]), groups, names)


def read_scores(
    scores: Any,
    *,
    sensitive_features: Any,
    names: Sequence[str],
    on_unknown_group: str | None = None,
    missing: Missing = "error",
    small: Regrouped | None = None,
) -> ScoreColumns:
    """Check and convert the columns to transform; codes refer to ``names``, the groups of the model.

    ``small`` are those that its fit merged or left out. A batch without rows is legal here: it gives empty arrays.
    """
    known = known_groups(names, on_unknown_group, small)
    score_column, group_columns = as_column(scores, "scores"), sensitive_columns(sensitive_features)
    rows = same_length(scores=score_column, **group_columns)
    check_missing(missing)
    dtype = code_dtype(len(names))
    if not rows:  # an empty batch says nothing about the types of its columns
        return ScoreColumns(frozen(np.empty(0)), frozen(np.empty(0, dtype=dtype)), 0)
    groups, found = group_codes(group_columns, missing, NO_MISSING_GROUP)
    strange = [code for code, name in enumerate(found) if name not in known]
    unknown = int(np.isin(groups, strange).sum()) if strange else 0
    if unknown and on_unknown_group is None:
        raise unknown_groups(names, unknown, rows, [found[code] for code in strange], small)
    other = known.get(on_unknown_group or "", -1)
    table = np.array([known.get(name, other) for name in found], dtype=dtype)
    return ScoreColumns(_scores(score_column), frozen(recode(groups, table)), unknown)


def known_groups(names: Sequence[str], on_unknown_group: str | None, small: Regrouped | None = None) -> dict[str, int]:
    """Codes of a model's groups by name, those that its fit merged included, if the group that unknown ones shall be
    treated as is among the fitted."""
    known = {" & ".join(map(as_text, name.split(" & "))): code for code, name in enumerate(names)}  # as data has them
    known |= {name: code for code, name in enumerate(names)}
    if on_unknown_group is not None and on_unknown_group not in known:
        raise DataError(
            f"on_unknown_group must name a group of the model, got {on_unknown_group!r}; groups: {_quoted(names)} "
            "(on the command line: --on-unknown-group)."
        )
    return known if small is None else known | small.aliases(known)


def unknown_groups(
    names: Sequence[str], unknown: int, rows: int, strange: Sequence[str], small: Regrouped | None = None
) -> UnknownGroupError:
    """What to raise if so many rows are of strange groups."""
    out = [name for name in strange if small is not None and name in small.left_out]
    left = f"; {_quoted(out)} {'was' if len(out) == 1 else 'were'} left out of the fit as too small" if out else ""
    return UnknownGroupError(
        f"the model knows the groups {_quoted(names)}, but {unknown} of {rows} rows are of {_quoted(strange)}{left}. "
        "Fit again with these groups, or pass on_unknown_group= (on the command line: --on-unknown-group) the name of "
        "the group whose treatment they shall get. Several group columns must come in the order of the fit."
    )


def take_columns(frame: Any, names: ColumnNames) -> TakenColumns:
    """Pick native columns by name from any eager frame that narwhals knows."""
    if is_arrow(frame, "Table") and len(set(frame.column_names)) == frame.num_columns:  # at once, without narwhals
        names.require(frame.column_names)
        return taken_columns({name: frame.column(name) for name in names.all}, names, frame.select)
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        table = nw.from_native(frame, eager_only=True)
    except DuplicateError:
        raise DataError("every column name must be unique; rename the columns that share a name.") from None
    except TypeError:
        raise DataError(
            "the frame must be an eager table (pandas, polars, pyarrow, ...), "
            f"got {type(frame).__name__}; convert or collect it first."
        ) from None
    names.require(table.columns)
    pick = {name: table[name].to_native() for name in names.all}
    return taken_columns(pick, names, lambda groups: table.select(groups).to_native())


def taken_columns(
    pick: Mapping[str, Any], names: ColumnNames, several: Callable[[Sequence[str]], Any] | None = None
) -> TakenColumns:
    """Columns by what they are, of all by name; ``several`` of groups, if not by name."""
    own, groups = names.groups, None
    if len(own) == 1:
        groups = pick[own[0]]
    elif own:
        groups = {name: pick[name] for name in own} if several is None else several(own)
    label, weight, id = (None if name is None else pick[name] for name in (names.label, names.weight, names.id))
    more = ({name: pick[name] for name in part} or None for part in (names.probabilities, names.controls))
    return TakenColumns(pick[names.score], groups, label, weight, id, *more)


def same_length(**columns: Sized | None) -> int:
    """Number of rows, the same in all columns."""
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise DataError(f"all columns must have the same number of rows, got {listed}.")
    return next(iter(lengths.values()))


def checked_scores(values: Any) -> FloatArray:
    """Scores of some rows, checked."""
    return _scores(as_column(values, "scores"))


def checked_numbers(values: Any, what: str, advice: str) -> FloatArray:
    """Numbers of some rows, checked; ``what`` they are, and what to pass."""
    return frozen(_numbers(as_column(values, what), what, advice))


def checked_weights(values: Any) -> FloatArray:
    """Weights of some rows, checked one by one; all of them may be zero."""
    return _weights(as_column(values, "sample_weight"), whole=False)


def _scores(column: Column) -> FloatArray:
    advice = "Pass a score that ranks the rows, such as predict_proba(X)[:, 1], not a decision."
    return frozen(_numbers(column, "scores", advice))


def _weights(column: Column, whole: bool = True) -> FloatArray:
    what = "sample_weight (on the command line: --weight)"
    weights = _from_zero(_numbers(column, what, "Pass one number per row."), what, "a weight of 0 leaves a row out.")
    if whole and weights.max() == 0:
        raise DataError(f"{what} must hold a weight above zero, but all are zero; leave it out for equal weights.")
    if weights.max() > LARGEST / len(weights):
        raise DataError(f"{what} must have a finite sum; divide the weights by a common number.")
    return frozen(weights)


def _counts(column: Column, name: str) -> FloatArray:
    what = f"{name} (on the command line: --{name})"
    counts = _numbers(column, what, "Pass the number of people with each score and group.")
    _from_zero(counts, what, "they count people.")
    if counts.sum() > MOST_PEOPLE:
        raise DataError(f"{what} must sum to 2**48 at most, so that all sums are exact; divide them by some number.")
    return counts


def _from_zero(numbers: FloatArray, what: str, why: str) -> FloatArray:
    """The same numbers, if none is negative."""
    if numbers.min() < 0:
        raise DataError(f"{what} must be >= 0, but {(numbers < 0).sum()} of {len(numbers)} are negative; {why}")
    return numbers


def _numbers(column: Column, what: str, advice: str) -> FloatArray:
    """Real numbers within ±LARGEST as contiguous float64; memory is shared where the input allows it."""
    array = column if isinstance(column, np.ndarray) else _array(column)
    if array.dtype.kind in "fiu":
        with np.errstate(over="ignore"):  # a long double may become inf, which is refused below
            numbers = np.ascontiguousarray(array, dtype=np.float64)
    else:
        numbers = _objects_to_numbers(array.astype(object), what, advice)
    if not (numbers.min() >= -LARGEST and numbers.max() <= LARGEST):
        nan, inf, large = np.isnan(numbers), np.isinf(numbers), np.abs(numbers) > LARGEST
        refuse_extremes(what, len(numbers), int(nan.sum()), int(inf.sum()), int(large.sum()))
    return numbers


def _array(column: Any) -> NDArray[Any]:
    """A series as an array, without pandas where pyarrow has plain numbers."""
    plain = as_numpy(column) if is_arrow(column, "ChunkedArray") and str(column.type) != "bool" else None
    return np.asarray(column.to_numpy()) if plain is None else plain


def refuse_extremes(what: str, n: int, nan: int, inf: int, large: int) -> NoReturn:
    """Say which of n numbers cannot be used."""
    if nan:
        raise DataError(f"{what} must not be missing, but {nan} of {n} are; drop or fill these rows.")
    if inf:
        raise DataError(f"{what} must be finite, but {inf} of {n} are infinite; drop or clip these rows.")
    raise DataError(f"{what} must lie within ±1e307, but {large} of {n} do not; rescale them.")


def _objects_to_numbers(array: NDArray[Any], what: str, advice: str) -> FloatArray:
    values: list[Any] = array.tolist()
    types = set(map(type, values))
    absent = {kind for kind in types if no_value(kind)}
    wrong = {
        kind for kind in types - absent if issubclass(kind, bool | np.bool_) or not issubclass(kind, Real | Decimal)
    }
    if wrong:
        offenders = [(place, value) for place, value in enumerate(values) if type(value) in wrong]
        place, value = next((pair for pair in offenders if not _parses(pair[1])), offenders[0])
        raise DataError(
            f"{what} must be real numbers, but {len(offenders)} of {len(values)} are not; "
            f"the first is {value!r} in row {place + 1} (counted from 1, without the header). {advice}"
        )
    if absent:
        values = [math.nan if type(value) in absent else value for value in values]
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:  # Python integers have no largest value
        raise DataError(f"{what} must lie within ±1e307, but some do not; rescale them.") from None


def _labels(column: Column, pos_label: Any, whole: bool = True) -> BoolArray:
    if pos_label is None and isinstance(column, np.ndarray) and column.dtype.kind in "iub":
        low, high = column.min(), column.max()
        if low == 0 and high == 1:  # by far the most common case, in one pass
            return frozen(column.view(np.bool_) if column.itemsize == 1 else column.astype(np.bool_))
    codes, found, lost = present_values(column, "y")
    if lost:
        raise DataError(f"y must not be missing, but {lost} of {len(codes)} are; drop these rows.")
    found = [value.item() if isinstance(value, np.generic) else value for value in found]
    if len(found) == 1:
        return one_label(found[0], pos_label, len(codes), whole)
    rows = np.bincount(codes).tolist() if len(found) > 2 else []
    return frozen(recode(codes, np.array(positive_labels(found, rows, pos_label))))


def positive_labels(found: Sequence[Any], rows: Sequence[int], pos_label: Any) -> list[bool]:
    """Which of two labels is the positive one; ``rows`` with each label are named where there are more than two."""
    if len(found) > 2:
        listed = several([f"{value!r} ({number_of_rows(rows[i])})" for i, value in enumerate(found)], ", ")
        raise DataError(
            f"y must hold two values, got {len(found)}: {listed}. Recode the others or leave their rows out."
        )
    both = f"{found[0]!r} and {found[1]!r}"
    if pos_label is None:
        if set(found) not in ({0, 1}, {-1, 1}):
            raise DataError(f"y holds {both}; pass pos_label= (on the command line: --pos-label) the positive one.")
        pos_label = 1
    hits = [bool(value == pos_label) for value in found]
    if not any(hits):  # the command line knows labels as text only
        hits = [as_text(value) == as_text(pos_label) for value in found]
    if not any(hits):
        raise DataError(
            f"pos_label must be one of the labels {both}, got {pos_label!r} (on the command line: --pos-label)."
        )
    return hits


def one_label(value: Any, pos_label: Any, rows: int, whole: bool) -> BoolArray:
    """Labels of rows that all have the same one, which only a part of a table may be."""
    if whole:
        raise DataError(
            f"y must hold both labels, but all {rows} rows have label {value!r}; with one class there is nothing to "
            "rank."
        )
    if pos_label is None:
        if value not in (-1, 0, 1):
            raise DataError(f"y holds {value!r}; pass pos_label= (on the command line: --pos-label) the positive one.")
        pos_label = 1
    return frozen(np.full(rows, bool(value == pos_label) or as_text(value) == as_text(pos_label)))


def _parses(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(float(value) or True)
    except ValueError:
        return False


def _quoted(names: Iterable[str]) -> str:
    return several([repr(name) for name in names], ", ")
