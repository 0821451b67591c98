"""Any column to codes and distinct values or texts, with what is missing told apart.

Group names are text. A number has one spelling, without zeros at its end: 1, 1.0, Decimal("1.00") and the texts "1" and
"1.0" name the same group, whichever file they come from; "01", "+1" and "1e0" are other texts. Values that are equal in
Python, such as True and 1, are one value where one column of objects mixes them.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError
from fairroc.options import Missing
from fairroc.tables.columns import as_numpy, codes_of, is_coded

if TYPE_CHECKING:
    import narwhals as nw

IntArray: TypeAlias = NDArray[np.signedinteger[Any]]
Column: TypeAlias = "nw.Series[Any] | NDArray[Any] | Any"
"""A series, an array or a ``pyarrow.ChunkedArray``."""

MISSING_GROUP = "(missing)"  # the name of the group of rows without a group, under missing="group"
CHUNK = 1 << 16  # rows worked on at a time, so that the Python objects stay few and large copies small
MAKE_A_GROUP = (
    "drop or fill these rows, or pass missing='group' (on the command line: --missing group) to make them the group "
    f"{MISSING_GROUP!r}"
)
LONG_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:[.]0+|([.][0-9]*[1-9])0+)")  # with zeros at its end
FEW_CODES = 8  # up to here comparing with each code is faster than bincount
FEW_TEXTS = 16  # up to here comparing with each string is faster than hashing every row


def as_column(values: Any, what: str) -> Column:
    """One column as a 1-d array, or a series of narwhals or pyarrow; nothing is said about its values yet."""
    if isinstance(values, list | tuple):
        return np.fromiter(values, dtype=object, count=len(values))
    if is_arrow(values, "Array", "ChunkedArray"):
        values = values if hasattr(values, "chunks") else sys.modules["pyarrow"].chunked_array([values])
        array = None if str(values.type) == "bool" else as_numpy(values)
        return values if array is None or array.dtype.kind == "f" else array
    if not isinstance(values, np.ndarray):
        import narwhals as nw

        column = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(column, nw.Series):
            whole = column.dtype.is_integer() and column.null_count() == 0
            return column.to_numpy() if whole else column
    elif type(values) is not np.ndarray and np.ma.is_masked(values):
        gaps, values = np.ma.getmaskarray(values), np.ma.getdata(values).astype(object)
        values[gaps] = None
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    if array.ndim != 1:
        pair = what == "scores" and array.shape[1:] == (2,)
        hint = " Pass the score of the positive class: predict_proba(X)[:, 1]." if pair else ""
        raise DataError(f"{what} must be one column, got {type(values).__name__} of shape {array.shape}.{hint}")
    return array


def sensitive_columns(features: Any, what: str = "sensitive_features") -> dict[str, Column]:
    """The sensitive columns by the name that messages give them; several columns mean their intersection."""
    parts = named_columns(features)
    if parts is None:
        return {what: as_column(features, what)}
    if not parts:
        raise DataError(f"{what} must hold at least one column, got none.")
    return {f"{what}[{name!r}]": as_column(part, f"{what}[{name!r}]") for name, part in parts.items()}


def named_columns(features: Any) -> dict[Any, Any] | None:
    """Columns by their names (of a matrix: numbers); None for one column alone."""
    if isinstance(features, Mapping):
        return dict(features)
    if isinstance(features, np.ndarray) and features.ndim == 2:
        return dict(enumerate(features.T))
    if isinstance(features, list | tuple | np.ndarray) or is_arrow(features, "Array", "ChunkedArray"):
        return None
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(features, eager_only=True, pass_through=True)
    except DuplicateError:
        raise DataError(
            "sensitive_features must have unique column names, but the same column is named twice, or two columns "
            "share a name; name it once, or rename one."
        ) from None
    return {name: frame[name].to_native() for name in frame.columns} if isinstance(frame, nw.DataFrame) else None


def group_codes(
    columns: Mapping[str, Column], missing: Missing, advice: str = MAKE_A_GROUP
) -> tuple[IntArray, tuple[str, ...]]:
    """Codes and sorted names of the groups; several columns are crossed and their texts joined.

    The advice is for those whose values are missing although they must not be.
    """
    parts = [_texts(column, what, missing, advice) for what, column in columns.items()]
    codes, rows = parts[0][0], [(text,) for text in parts[0][1]]
    for other, texts in parts[1:]:
        codes, pairs = _factorise_integers(codes.astype(np.intp) * len(texts) + other)
        rows = [(*rows[pair // len(texts)], texts[pair % len(texts)]) for pair in pairs]
    names = cross_names(rows)
    rank = {name: code for code, name in enumerate(names)}
    table = np.array([rank[" & ".join(row)] for row in rows], dtype=code_dtype(len(names)))
    return frozen(recode(codes, table)), names


def cross_names(rows: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Sorted names of groups: the texts of their columns joined."""
    tuples: dict[str, tuple[str, ...]] = {}
    for row in rows:
        name = " & ".join(row)
        if tuples.setdefault(name, row) != row:
            raise DataError(f"the groups {tuples[name]} and {row} would both be called {name!r}; rename their values.")
    return tuple(sorted(tuples))


def _texts(column: Column, what: str, missing: Missing, advice: str) -> tuple[IntArray, list[str]]:
    """Codes into distinct texts, all of them present."""
    codes, found, lost = present_values(column, what)
    if lost and missing == "error":
        raise DataError(f"{what} must not be missing, but {lost} of {len(codes)} are; {advice}.")
    place: dict[str, int] = {}
    table = [place.setdefault(as_text(value), len(place)) for value in found]
    for text in place:
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise DataError(f"{what} must be text that UTF-8 can hold, got {text!r} with a lone surrogate; rename it.")
    if lost:
        if MISSING_GROUP in place:
            raise DataError(f"{what} holds missing values and the text {MISSING_GROUP!r}; rename the latter.")
        table.append(place.setdefault(MISSING_GROUP, len(place)))  # reached by the code -1
    return recode(codes, np.array(table, dtype=code_dtype(len(place)))), list(place)


def present_values(column: Column, what: str) -> tuple[IntArray, list[Any], int]:
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
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu":  # all occur, and none is missing
        return codes, values, 0
    rows = count_codes(codes, len(values)).tolist()
    kept = [i for i, value in enumerate(values) if rows[i] and not _is_missing(value)]
    lost = len(codes) - sum(rows[i] for i in kept)
    if len(kept) < len(values):
        table = np.full(len(values) + 1, -1, dtype=codes.dtype)
        table[kept] = np.arange(len(kept))
        codes = recode(codes, table)
    return codes, [values[i] for i in kept], lost


def count_codes(codes: IntArray, size: int) -> NDArray[np.intp]:
    """Number of rows of each code from 0 to ``size - 1``; the code -1 is not counted. In blocks: bincount would copy
    small integers into large ones."""
    if size <= FEW_CODES:
        return np.array([np.count_nonzero(codes == code) for code in range(size)], dtype=np.intp)
    rows = np.zeros(size + 1, dtype=np.intp)
    for begin in range(0, len(codes), CHUNK):
        part = codes[begin : begin + CHUNK]
        rows += np.bincount(part.astype(np.intp) + 1, minlength=size + 1)
    return rows[1:]


def rows_by_group(groups: NDArray[Any], count: int) -> list[NDArray[np.intp]]:
    """Positions of the rows of each group, rising."""
    ends = np.cumsum(np.bincount(groups, minlength=count))
    return np.split(np.argsort(groups, kind="stable"), ends[:-1])


def recode(codes: IntArray, table: NDArray[Any]) -> NDArray[Any]:
    """``table[codes]``, in blocks: numpy would copy all codes into large integers."""
    if table.dtype == codes.dtype and np.array_equal(table, np.arange(len(table))):
        return codes
    out = np.empty(len(codes), dtype=table.dtype)
    for begin in range(0, len(codes), CHUNK):
        out[begin : begin + CHUNK] = table[codes[begin : begin + CHUNK]]
    return out


def _factorise(column: Column) -> tuple[IntArray, list[Any]]:
    """Codes (-1 = missing) into values, some of which may be missing or may not occur."""
    if isinstance(column, np.ndarray):
        return _factorise_array(column)
    if not is_arrow(column, "ChunkedArray"):
        if column.implementation.is_pandas_like():
            codes, values = column.to_pandas().factorize()
            return codes.astype(np.intp, copy=False), values.tolist()
        if str(column.dtype) == "Object":
            return _factorise_array(column.to_numpy())
        array = column.to_arrow()
        column = sys.modules["pyarrow"].chunked_array([array])
    return _factorise_arrow(column)


def _factorise_array(column: NDArray[Any]) -> tuple[IntArray, list[Any]]:
    kind = column.dtype.kind
    if kind == "b":
        return column.astype(np.int8), [False, True]
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


def _factorise_integers(array: NDArray[Any]) -> tuple[IntArray, list[Any]]:
    low, high = int(array.min()), int(array.max())
    if high - low > max(len(array), 1024) or high > np.iinfo(np.intp).max:
        distinct, codes = np.unique(array, return_inverse=True)
        return codes, distinct.tolist()
    shifted = np.empty(len(array), dtype=code_dtype(high - low + 1))
    for begin in range(0, len(array), CHUNK):
        shifted[begin : begin + CHUNK] = array[begin : begin + CHUNK].astype(np.intp) - low
    occurs = count_codes(shifted, high - low + 1) > 0
    values = (np.flatnonzero(occurs) + low).tolist()
    if not occurs.all():
        shifted = recode(shifted, (np.cumsum(occurs) - 1).astype(code_dtype(len(values))))
    return shifted, values


def _factorise_texts(array: NDArray[Any]) -> tuple[IntArray, list[Any]]:
    """Fixed-width text or objects, by comparing with few values or else by hashing chunk by chunk."""
    if array.dtype.kind == "U" and len(few := np.unique(array[:1000])) <= FEW_TEXTS:
        small = np.full(len(array), -1, dtype=np.int8)
        for code, text in enumerate(few):
            small[array == text] = code
        if small.min() >= 0:
            return small, few.tolist()
    codes = np.empty(len(array), dtype=np.intp)
    table: defaultdict[Any, int] = defaultdict(count().__next__)
    for start in range(0, len(array), CHUNK):
        chunk = array[start : start + CHUNK].tolist()
        codes[start : start + CHUNK] = np.fromiter(map(table.__getitem__, chunk), np.intp, len(chunk))
    return codes, list(table)


def _factorise_arrow(column: Any) -> tuple[IntArray, list[Any]]:
    try:
        coded = (column if is_coded(column) else column.dictionary_encode()).unify_dictionaries()
    except NotImplementedError:  # lists and structs, which are refused as containers
        return np.zeros(len(column), dtype=np.intp), [()]
    chunks = [chunk for chunk in coded.chunks if len(chunk)]
    values = chunks[0].dictionary.to_pylist() if chunks else []
    return np.concatenate([np.empty(0, dtype=np.int8), *map(codes_of, chunks)]), values


def as_text(value: Any) -> str:
    """Name of a value: a number's shortest spelling, also where it is text; bytes read like the text they hold."""
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    if isinstance(value, Decimal) and value.is_finite():
        value = f"{value:f}"
    if isinstance(value, str):
        text = str.__str__(value)
    else:
        text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    if not text.endswith("0") or "." not in text:
        return text
    found = LONG_NUMBER.fullmatch(text)
    short = text if found is None else found[1] + (found[2] or "")
    return "0" if short == "-0" else short


def _is_missing(value: Any) -> bool:
    return no_value(type(value)) or (not isinstance(value, str) and bool(value != value))


def no_value(kind: type) -> bool:
    """None, pandas.NA and pandas.NaT, told by name so that pandas need not be loaded."""
    return kind.__name__ in {"NoneType", "NAType", "NaTType"}


def is_arrow(values: Any, *kinds: str) -> bool:
    """Whether values are of one of these classes of pyarrow, which is loaded then."""
    pyarrow = sys.modules.get("pyarrow")
    return pyarrow is not None and isinstance(values, tuple(getattr(pyarrow, kind) for kind in kinds))


def code_dtype(groups: int) -> np.dtype[Any]:
    """Smallest signed dtype that holds the codes of so many groups."""
    return np.min_scalar_type(-groups)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view; the caller's own array stays writeable."""
    view = array.view()
    view.flags.writeable = False
    return view
