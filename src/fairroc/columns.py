"""The door in: lists, arrays, series or frames become checked, read-only numpy columns.

Every check of values lives here; the code behind this door trusts what comes out. Rows are matched by
position, an index of a pandas object is ignored. Groups become text: 1, 1.0 and "1" name the same group.
Values that are equal in Python, such as True and 1, are one value where one column of objects mixes them.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from fairroc.errors import DataError, SmallGroupWarning, UnknownGroupError

__all__ = [
    "MISSING_GROUP",
    "SMALL_CLASS",
    "Columns",
    "ScoreColumns",
    "TakenColumns",
    "check_audit_norm",
    "check_epsilon",
    "check_norm",
    "read_columns",
    "read_scores",
    "refuse_tiny_groups",
    "require_columns",
    "take_columns",
    "warn_small_groups",
]

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.signedinteger[Any]]
Column: TypeAlias = "nw.Series[Any] | NDArray[Any]"
Missing: TypeAlias = Literal["error", "group"]
Norm: TypeAlias = Literal[1, "inf"]

MISSING_GROUP = "(missing)"  # the name of the group of rows without a group, under missing="group"
SMALL_CLASS = 50  # fewer rows of a class leave its rate uncertain by ±0.19 and more
LARGEST = 1e307  # beyond it the difference of two scores could overflow
SHOWN = 5  # as many offenders are named in a message
CHUNK = 1 << 16  # strings taken from numpy at a time, so that the Python objects stay few
FEW_TEXTS = 16  # up to here comparing with each string is faster than hashing every row


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Scores, labels and groups of n rows, checked; every group holds both labels with positive weight."""

    scores: FloatArray  # (n,) finite
    labels: BoolArray  # (n,) True = positive
    groups: IntArray  # (n,) codes into names, in the smallest signed dtype that holds them
    names: tuple[str, ...]  # sorted, every one present
    weights: FloatArray | None  # (n,) finite, >= 0

    @property
    def rows(self) -> int:
        """Number of rows n."""
        return len(self.scores)

    def group_rows(self, group: int) -> NDArray[np.intp]:
        """Positions of the rows of group number ``group``, ascending."""
        return np.flatnonzero(self.groups == group)

    def class_rows(self) -> NDArray[np.intp]:
        """(groups, 2) number of rows with positive weight, by group and label; O(n)."""
        cell = self.groups.astype(np.intp) * 2 + self.labels
        if self.weights is not None:
            cell = cell[self.weights > 0]
        return np.bincount(cell, minlength=2 * len(self.names)).reshape(-1, 2)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreColumns:
    """Scores and groups of n rows to transform, checked against the names of a model."""

    scores: FloatArray  # (n,) finite
    groups: IntArray  # (n,) codes into the model's names
    unknown: int  # rows whose group the model does not know, mapped to on_unknown_group


class TakenColumns(NamedTuple):
    """Native columns picked from a frame; ``group`` is a frame when several columns were named."""

    score: Any
    group: Any
    label: Any
    weight: Any
    id: Any


def read_columns(
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
    missing: Missing = "error",
) -> Columns:
    """Check and convert the columns to fit on or to audit; O(n) for small-integer groups.

    >>> read_columns([0.1, 0.9, 0.4, 0.2], [0, 1, 1, 0], sensitive_features=["b", "a", "b", "a"]).names
    ('a', 'b')
    """
    score_column, label_column = _column(scores, "scores"), _column(y, "y")
    group_columns = _group_columns(sensitive_features)
    weight_column = None if sample_weight is None else _column(sample_weight, "sample_weight")
    _same_length(scores=score_column, y=label_column, **group_columns, sample_weight=weight_column)
    weights = None if weight_column is None else _weights(weight_column)
    labels = _labels(label_column, pos_label)
    groups, names = _groups(group_columns, missing)
    columns = Columns(_scores(score_column), labels, groups, names, weights)
    _both_labels(columns)
    return columns


def read_scores(
    scores: Any,
    *,
    sensitive_features: Any,
    names: Sequence[str],
    on_unknown_group: str | None = None,
    missing: Missing = "error",
) -> ScoreColumns:
    """Check and convert the columns to transform; codes refer to ``names``, the groups of the model."""
    known = {name: code for code, name in enumerate(names)}
    if on_unknown_group is not None and on_unknown_group not in known:
        raise DataError(
            f"on_unknown_group must name a group of the model, got {on_unknown_group!r}; "
            f"groups: {_quoted(names)}."
        )
    score_column, group_columns = _column(scores, "scores"), _group_columns(sensitive_features)
    _same_length(scores=score_column, **group_columns)
    groups, found = _groups(group_columns, missing)
    strange = [code for code, name in enumerate(found) if name not in known]
    unknown = int(np.isin(groups, strange).sum()) if strange else 0
    if unknown and on_unknown_group is None:
        raise UnknownGroupError(
            f"the model knows the groups {_quoted(names)}, but {unknown} of {len(groups)} rows are of "
            f"{_quoted(found[code] for code in strange)}. Fit again with these groups, or pass "
            "on_unknown_group= the name of the group whose treatment they shall get."
        )
    other = known.get(on_unknown_group or "", -1)
    table = np.array([known.get(name, other) for name in found], dtype=_code_dtype(len(names)))
    return ScoreColumns(_scores(score_column), _frozen(table[groups]), unknown)


def take_columns(
    frame: Any,
    *,
    score: str,
    group: str | Sequence[str],
    label: str | None = None,
    weight: str | None = None,
    id: str | None = None,  # noqa: A002 - the column's role is called id wherever users meet it
) -> TakenColumns:
    """Pick native columns by name from any eager frame that narwhals knows."""
    try:
        table = nw.from_native(frame, eager_only=True)
    except DuplicateError:
        raise DataError("every column name must be unique; rename the columns that share a name.") from None
    except TypeError:
        raise DataError(
            "the frame must be an eager table (pandas, polars, pyarrow, ...), "
            f"got {type(frame).__name__}; convert or collect it first."
        ) from None
    groups = [group] if isinstance(group, str) else list(group)
    singles = [name for name in (score, label, weight, id) if name is not None]
    require_columns([*singles, *groups], table.columns)
    pick: dict[str | None, Any] = {name: table[name].to_native() for name in singles}
    group_part = table[group] if isinstance(group, str) else table.select(groups)
    return TakenColumns(pick[score], group_part.to_native(), pick.get(label), pick.get(weight), pick.get(id))


def require_columns(wanted: Iterable[str], present: Sequence[str]) -> None:
    """Raise unless every wanted column is among the present ones."""
    for name in wanted:
        if name not in present:
            close = difflib.get_close_matches(name, present, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise DataError(f"no column {name!r}; columns: {_quoted(present, shown=20)}.{hint}")


def warn_small_groups(columns: Columns, minimum: int = SMALL_CLASS, *, stacklevel: int = 3) -> None:
    """Give one warning that names the groups with fewer than ``minimum`` rows of a class.

    The half width is that of the Dvoretzky-Kiefer-Wolfowitz band with Massart's constant
    (doi:10.1214/aop/1176990746), for rows of equal weight; unequal weights make it wider.
    """
    notes = []
    for name, label, rows in _cells(columns):
        if rows < minimum:
            width = min(math.sqrt(math.log(2 / 0.05) / (2 * max(rows, 1))), 1.0)
            rate = ("false", "true")[label]
            notes.append(
                f"group {name!r} has {_rows(rows)} with label {label}: its {rate} positive rate "
                f"is known to within ±{width:.2f} only (95 %)"
            )
    if notes:
        warnings.warn(f"{_several(notes)}.", SmallGroupWarning, stacklevel=stacklevel)


def refuse_tiny_groups(columns: Columns, minimum: int) -> None:
    """Raise if a group has fewer than ``minimum`` rows of a class."""
    tiny = [cell for cell in _cells(columns) if cell[2] < minimum]
    if tiny:
        listed = [f"group {name!r} has {_rows(rows)} with label {label}" for name, label, rows in tiny]
        raise DataError(
            f"{_several(listed)}; at least {minimum} of each label are needed. "
            "Merge small groups with others, "
            f"leave them out, or pass min_class_rows={min(rows for *_, rows in tiny)} to go on regardless."
        )


def check_epsilon(epsilon: Any) -> float:
    """Return the allowed distance between ROC curves as a float in [0, 2]."""
    if isinstance(epsilon, Real) and not isinstance(epsilon, bool) and 0 <= float(epsilon) <= 2:
        return float(epsilon)
    raise DataError(
        "epsilon must lie in [0, 2], the range of the distance between two points of a ROC plane, "
        f"got {epsilon!r}; 0 asks for equal curves."
    )


def check_norm(norm: Any) -> Norm:
    """Return the norm to fit with: 1 or "inf"."""
    if not isinstance(norm, bool) and isinstance(norm, str | Real):
        if norm in (1, "1"):
            return 1
        if norm in ("inf", math.inf):
            return "inf"
    raise DataError(
        f"norm must be 1 or 'inf' to fit, got {norm!r}: the exact method takes these two; "
        "the audit measures any p >= 1."
    )


def check_audit_norm(norm: Any) -> float:
    """Return the norm to measure with as a float, 1 <= p <= inf."""
    try:
        p = float(norm) if isinstance(norm, str | Real) and not isinstance(norm, bool) else math.nan
    except ValueError:
        p = math.nan
    if p >= 1:
        return p
    raise DataError(f"norm must be a number p >= 1 or 'inf', got {norm!r}.")


def _column(values: Any, what: str) -> Column:
    """One column as a narwhals series or a 1-d array; nothing is said about its values yet."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        gaps, values = np.ma.getmaskarray(values), np.ma.getdata(values).astype(object)
        values[gaps] = None
    if isinstance(values, list | tuple):
        return np.fromiter(values, dtype=object, count=len(values))
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(values, pyarrow.Array):
        values = pyarrow.chunked_array([values])
    column = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(column, nw.Series):
        return column
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    if array.ndim != 1:
        pair = what == "scores" and array.shape[1:] == (2,)
        hint = " Pass the score of the positive class: predict_proba(X)[:, 1]." if pair else ""
        raise DataError(
            f"{what} must be one column, got {type(values).__name__} of shape {array.shape}.{hint}"
        )
    return array


def _group_columns(features: Any) -> dict[str, Column]:
    """The sensitive columns by the name that messages give them; several columns mean their intersection."""
    what = "sensitive_features"
    if isinstance(features, Mapping):
        parts = dict(features)
    elif isinstance(features, np.ndarray) and features.ndim == 2:
        parts = dict(enumerate(features.T))
    else:
        try:
            frame = nw.from_native(features, eager_only=True, pass_through=True)
        except DuplicateError:
            raise DataError(f"{what} must have unique column names; rename those that share one.") from None
        if not isinstance(frame, nw.DataFrame):
            return {what: _column(features, what)}
        parts = {name: frame[name].to_native() for name in frame.columns}
    if not parts:
        raise DataError(f"{what} must hold at least one column, got none.")
    return {f"{what}[{name!r}]": _column(part, f"{what}[{name!r}]") for name, part in parts.items()}


def _same_length(**columns: Column | None) -> None:
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise DataError(f"all columns must have the same number of rows, got {listed}.")
    if 0 in lengths.values():
        raise DataError("the columns must hold at least one row, got none.")


def _scores(column: Column) -> FloatArray:
    advice = "Pass a score that ranks the rows, such as predict_proba(X)[:, 1], not a decision."
    return _frozen(_numbers(column, "scores", advice))


def _weights(column: Column) -> FloatArray:
    weights = _numbers(column, "sample_weight", "Pass one number per row.")
    if weights.min() < 0:
        raise DataError(
            f"sample_weight must be >= 0, but {(weights < 0).sum()} of {len(weights)} are negative; "
            "a weight of 0 leaves a row out."
        )
    if weights.max() > LARGEST / len(weights):
        raise DataError("sample_weight must have a finite sum; divide the weights by a common number.")
    return _frozen(weights)


def _numbers(column: Column, what: str, advice: str) -> FloatArray:
    """Real numbers within ±LARGEST as contiguous float64; memory is shared where the input allows it."""
    array = column.to_numpy() if isinstance(column, nw.Series) else column
    if array.dtype.kind in "fiu":
        with np.errstate(over="ignore"):  # a long double may become inf, which is refused below
            numbers = np.ascontiguousarray(array, dtype=np.float64)
    else:
        numbers = _objects_to_numbers(array.astype(object), what, advice)
    if not (numbers.min() >= -LARGEST and numbers.max() <= LARGEST):
        n, nan, inf = len(numbers), np.isnan(numbers).sum(), np.isinf(numbers).sum()
        if nan:
            raise DataError(f"{what} must not be missing, but {nan} of {n} are; drop or fill these rows.")
        if inf:
            raise DataError(f"{what} must be finite, but {inf} of {n} are infinite; drop or clip these rows.")
        large = (np.abs(numbers) > LARGEST).sum()
        raise DataError(f"{what} must lie within ±1e307, but {large} of {n} do not; rescale them.")
    return numbers


def _objects_to_numbers(array: NDArray[Any], what: str, advice: str) -> FloatArray:
    values: list[Any] = array.tolist()
    types = set(map(type, values))
    absent = {kind for kind in types if _no_value(kind)}
    wrong = {
        kind
        for kind in types - absent
        if issubclass(kind, bool | np.bool_) or not issubclass(kind, Real | Decimal)
    }
    if wrong:
        offenders = [(place, value) for place, value in enumerate(values) if type(value) in wrong]
        place, value = next((pair for pair in offenders if not _parses(pair[1])), offenders[0])
        raise DataError(
            f"{what} must be real numbers, but {len(offenders)} of {len(values)} are not; "
            f"the first is {value!r} at position {place} (counted from 0). {advice}"
        )
    if absent:
        values = [math.nan if type(value) in absent else value for value in values]
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:  # Python integers have no largest value
        raise DataError(f"{what} must lie within ±1e307, but some do not; rescale them.") from None


def _labels(column: Column, pos_label: Any) -> BoolArray:
    codes, found, lost = _present(column, "y")
    if lost:
        raise DataError(f"y must not be missing, but {lost} of {len(codes)} are; drop these rows.")
    found = [value.item() if isinstance(value, np.generic) else value for value in found]
    if len(found) > 2:
        rows = np.bincount(codes)
        listed = _several([f"{value!r} ({_rows(rows[i])})" for i, value in enumerate(found)], ", ")
        raise DataError(f"y must hold two values, got {len(found)}: {listed}.")
    if len(found) == 1:
        raise DataError(f"y must hold both labels, but all {len(codes)} rows have label {found[0]!r}.")
    both = f"{found[0]!r} and {found[1]!r}"
    if pos_label is None:
        if set(found) not in ({0, 1}, {-1, 1}):
            raise DataError(f"y holds {both}; pass pos_label= the positive one of them.")
        pos_label = 1
    hits = [bool(value == pos_label) for value in found]
    if not any(hits):  # the command line knows labels as text only
        hits = [_text(value) == _text(pos_label) for value in found]
    if not any(hits):
        raise DataError(f"pos_label must be one of the labels {both}, got {pos_label!r}.")
    return _frozen(np.array(hits)[codes])


def _groups(columns: Mapping[str, Column], missing: Missing) -> tuple[IntArray, tuple[str, ...]]:
    """Codes and sorted names of the groups; several columns are crossed and their texts joined."""
    if missing not in ("error", "group"):
        raise DataError(f"missing must be 'error' or 'group', got {missing!r}.")
    parts = [_texts(column, what, missing) for what, column in columns.items()]
    codes, rows = parts[0][0], [(text,) for text in parts[0][1]]
    for other, texts in parts[1:]:
        codes, pairs = _factorise_integers(codes * len(texts) + other)
        rows = [(*rows[pair // len(texts)], texts[pair % len(texts)]) for pair in pairs]
    tuples: dict[str, tuple[str, ...]] = {}
    for row in rows:
        name = " & ".join(row)
        if tuples.setdefault(name, row) != row:
            raise DataError(
                f"the groups {tuples[name]} and {row} would both be called {name!r}; rename their values."
            )
    names = tuple(sorted(tuples))
    rank = {name: code for code, name in enumerate(names)}
    table = np.array([rank[" & ".join(row)] for row in rows], dtype=_code_dtype(len(names)))
    return _frozen(table[codes]), names


def _texts(column: Column, what: str, missing: Missing) -> tuple[NDArray[np.intp], list[str]]:
    """Codes into distinct texts, all of them present."""
    codes, found, lost = _present(column, what)
    if lost and missing == "error":
        raise DataError(
            f"{what} must not be missing, but {lost} of {len(codes)} are; drop or fill these rows, or pass "
            f"missing='group' to make them the group {MISSING_GROUP!r}."
        )
    place: dict[str, int] = {}
    table = [place.setdefault(_text(value), len(place)) for value in found]
    if lost:
        if MISSING_GROUP in place:
            raise DataError(f"{what} holds missing values and the text {MISSING_GROUP!r}; rename the latter.")
        table.append(place.setdefault(MISSING_GROUP, len(place)))  # reached by the code -1
    return np.array(table, dtype=np.intp)[codes], list(place)


def _present(column: Column, what: str) -> tuple[NDArray[np.intp], list[Any], int]:
    """Codes (-1 = missing) into the distinct values that occur, and the number of missing rows."""
    try:
        codes, values = _factorise(column)
    except TypeError:
        values = [()]
    if any(isinstance(value, tuple) for value in values):
        raise DataError(
            f"{what} must hold one plain value per row, got lists, tuples or other containers; pass several "
            "columns as a data frame, a dict of columns or a 2-d array."
        )
    rows = np.bincount(codes + 1, minlength=len(values) + 1).tolist()
    kept = [i for i, value in enumerate(values) if rows[i + 1] and not _is_missing(value)]
    lost = len(codes) - sum(rows[i + 1] for i in kept)
    if len(kept) < len(values):
        table = np.full(len(values) + 1, -1, dtype=np.intp)
        table[kept] = np.arange(len(kept))
        codes = table[codes]
    return codes, [values[i] for i in kept], lost


def _factorise(column: Column) -> tuple[NDArray[np.intp], list[Any]]:
    """Codes (-1 = missing) into values, some of which may be missing or may not occur."""
    if isinstance(column, nw.Series):
        if column.implementation.is_pandas_like():
            codes, values = column.to_pandas().factorize()
            return codes.astype(np.intp, copy=False), values.tolist()
        if column.dtype != nw.Object:
            return _factorise_arrow(column.to_arrow())
        column = column.to_numpy()
    return _factorise_array(column)


def _factorise_array(column: NDArray[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    kind = column.dtype.kind
    if kind == "b":
        return column.astype(np.intp), [False, True]
    if kind in "iu":
        return _factorise_integers(column)
    if kind == "f" and column.min() > -(2**31) and column.max() < 2**31:
        whole = column.astype(np.int32)
        if (whole == column).all():
            return _factorise_integers(whole)
    if kind in "fM":
        distinct, codes = np.unique(column, return_inverse=True)
        return codes, list(distinct)
    return _factorise_texts(column)


def _factorise_integers(array: NDArray[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    low, high = int(array.min()), int(array.max())
    if high - low > max(len(array), 1024) or high > np.iinfo(np.intp).max:
        distinct, codes = np.unique(array, return_inverse=True)
        return codes, distinct.tolist()
    shifted = array.astype(np.intp) - low
    occurs = np.bincount(shifted) > 0
    values = (np.flatnonzero(occurs) + low).tolist()
    return (shifted if occurs.all() else (np.cumsum(occurs) - 1)[shifted]), values


def _factorise_texts(array: NDArray[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Fixed-width text or objects, by comparing with few values or else by hashing chunk by chunk."""
    codes = np.full(len(array), -1, dtype=np.intp)
    if array.dtype.kind == "U" and len(few := np.unique(array[:1000])) <= FEW_TEXTS:
        for code, text in enumerate(few):
            codes[array == text] = code
        if codes.min() >= 0:
            return codes, few.tolist()
    table: defaultdict[Any, int] = defaultdict(count().__next__)
    for start in range(0, len(array), CHUNK):
        chunk = array[start : start + CHUNK].tolist()
        codes[start : start + CHUNK] = np.fromiter(map(table.__getitem__, chunk), np.intp, len(chunk))
    return codes, list(table)


def _factorise_arrow(array: Any) -> tuple[NDArray[np.intp], list[Any]]:
    try:
        coded = array if hasattr(array, "dictionary") else array.dictionary_encode()
    except NotImplementedError:  # lists and structs, which are refused as containers
        return np.zeros(len(array), dtype=np.intp), [()]
    indices = coded.indices.cast("int64").fill_null(-1).to_numpy()
    return indices.astype(np.intp, copy=False), coded.dictionary.to_pylist()


def _both_labels(columns: Columns) -> None:
    names, counts = columns.names, columns.class_rows()
    if len(names) == 1:
        raise DataError(
            f"one group only: {names[0]!r} holds all {columns.rows} rows, there is nothing to compare; "
            "pass sensitive_features with at least two groups."
        )
    used = "" if columns.weights is None else " of positive weight"
    broken = [
        f"group {name!r} has {_rows(sum(rows))}{used}"
        + (f", all with label {int(rows[1] > 0)}" if sum(rows) else "")
        for name, rows in zip(names, counts.tolist(), strict=True)
        if 0 in rows
    ]
    if broken:
        it = "it" if len(broken) == 1 else "each"
        raise DataError(
            f"{_several(broken)}; a ROC curve needs both labels. "
            f"Merge {it} with another group or leave {it} out."
        )


def _cells(columns: Columns) -> list[tuple[str, int, int]]:
    """(name, label, rows of positive weight) of every group and label."""
    counts = zip(columns.names, columns.class_rows().tolist(), strict=True)
    return [(name, label, rows[label]) for name, rows in counts for label in (0, 1)]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    return str(value)


def _is_missing(value: Any) -> bool:
    return _no_value(type(value)) or (not isinstance(value, str) and bool(value != value))


def _no_value(kind: type) -> bool:
    """None, pandas.NA and pandas.NaT, told by name so that pandas need not be loaded."""
    return kind.__name__ in {"NoneType", "NAType", "NaTType"}


def _parses(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(float(value) or True)
    except ValueError:
        return False


def _code_dtype(groups: int) -> np.dtype[Any]:
    return np.min_scalar_type(-groups)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view; the caller's own array stays writeable."""
    view = array.view()
    view.flags.writeable = False
    return view


def _quoted(names: Iterable[str], shown: int = SHOWN) -> str:
    return _several([repr(name) for name in names], ", ", shown)


def _several(notes: Sequence[str], separator: str = "; ", shown: int = SHOWN) -> str:
    more = [f"and {len(notes) - shown} more"] if len(notes) > shown else []
    return separator.join([*notes[:shown], *more])


def _rows(number: int) -> str:
    return f"{number} row" if number == 1 else f"{number} rows"
