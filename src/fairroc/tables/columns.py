"""Which columns of a table hold what: the one noun of the command line, files, frames and engines."""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError
from fairroc.tables.files import load_module, require_columns


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Names of columns; several of groups mean their intersection.

    ``probabilities`` of groups and ``controls``, the columns of strata, are for models that were fitted with them; a
    model without the use of groups takes no columns of ``groups``, but whatever has labels is compared by them.
    """

    score: str
    groups: tuple[str, ...] = ()
    label: str | None = None
    weight: str | None = None
    id: str | None = None
    probabilities: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.groups and self.label is not None:
            raise DataError("group must name at least one column, got none.")
        require_distinct(self.groups)
        require_distinct(self.probabilities, "probability")
        require_distinct(self.controls, "control")

    @classmethod
    def of(
        cls,
        *,
        score: str,
        group: str | Sequence[str] | None,
        label: str | None = None,
        weight: str | None = None,
        id: str | None = None,
        group_probabilities: str | Sequence[str] | None = None,
        control_features: str | Sequence[str] | None = None,
    ) -> ColumnNames:
        """From what a user passed."""
        probabilities, controls = names_of(group_probabilities), names_of(control_features)
        return cls(score, names_of(group), label, weight, id, probabilities, controls)

    @property
    def numbers(self) -> list[str]:
        """The columns that must hold numbers."""
        return [self.score, *([] if self.weight is None else [self.weight]), *self.probabilities]

    @property
    def all(self) -> list[str]:
        """Every column, once."""
        named = (self.score, self.label, self.weight, self.id, *self.groups, *self.probabilities, *self.controls)
        return list(dict.fromkeys(name for name in named if name is not None))

    def require(self, present: Sequence[str]) -> None:
        """Raise unless every column is among the present ones."""
        require_columns(self.all, present)


def names_of(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names of columns, of which a user may pass one, several or none."""
    return () if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)


def require_distinct(columns: Sequence[str], what: str = "group") -> None:
    """Raise if a column is named twice."""
    for name in columns:
        if columns.count(name) > 1:
            raise DataError(f"the same {what} column is named twice: {name!r}; name it once.")


# ---- Arrow and numpy: pyarrow's own ways between them load pandas ---------------------------------------------------


def as_numpy(column: Any) -> NDArray[Any] | None:
    """An Arrow column of numbers or truth values as numpy has it, one chunk of numbers without a copy; None if it has
    nulls or another type."""
    types, kind = load_module("pyarrow").types, column.type
    if column.null_count or not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        return None
    parts = [_chunk(chunk, kind) for chunk in getattr(column, "chunks", (column,)) if len(chunk)]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype=_dtype(kind)), *parts])


_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}


def _dtype(kind: Any) -> np.dtype[Any]:
    """numpy's name for Arrow's type of numbers or truth values; older `to_pandas_dtype` need pandas."""
    return np.dtype(_FLOATS.get(str(kind), str(kind)))


def _chunk(chunk: Any, kind: Any) -> NDArray[Any]:
    buffer, n = chunk.buffers()[1], len(chunk)
    if kind.bit_width == 1:
        return _bits(buffer, chunk.offset, n)
    return np.frombuffer(buffer, _dtype(kind), n, chunk.offset * kind.bit_width // 8)


def _bits(buffer: Any, begin: int, n: int) -> NDArray[np.bool_]:
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8), count=begin + n, bitorder="little")
    return bits[begin:].view(np.bool_)


def codes_of(chunk: Any) -> NDArray[np.signedinteger[Any]]:
    """The places of an Arrow array's values in its dictionary; -1 for nulls."""
    codes = _chunk(chunk, chunk.type.index_type)
    if chunk.null_count:
        return np.where(_bits(chunk.buffers()[0], chunk.offset, len(chunk)), codes.astype(np.intp), -1)
    return codes if codes.dtype.kind == "i" else codes.astype(np.intp)


def as_arrow(numbers: NDArray[np.float64]) -> Any:
    """A contiguous array of doubles as an Arrow array, without a copy."""
    pyarrow = load_module("pyarrow")
    return pyarrow.Array.from_buffers(pyarrow.float64(), len(numbers), [None, pyarrow.py_buffer(numbers)])


def text_array(texts: Sequence[str]) -> Any:
    """Texts as an Arrow array."""
    pyarrow, data = load_module("pyarrow"), [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int32)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(data))]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(data), buffers)


# ---- CSV: every value is text ---------------------------------------------------------------------------------------

SAFE_DIGITS = 18
"""Whole numbers of so many characters fit into 64 bits, whatever they are."""


def empty_to_null(column: Any) -> Any:
    """A text column, or an array of places in texts, with nulls for its empty texts."""
    pyarrow = load_module("pyarrow")
    if not is_coded(column):
        pc = load_module("pyarrow.compute")
        return pc.if_else(pc.equal(column, text_array([""])[0]), pyarrow.nulls(1, column.type)[0], column)
    texts = column.dictionary.to_pylist()
    if "" not in texts:
        return column
    codes = codes_of(column)
    valid = np.packbits((codes >= 0) & (codes != texts.index("")), bitorder="little")
    buffers = [pyarrow.py_buffer(valid), pyarrow.py_buffer(np.ascontiguousarray(codes, dtype=np.int32))]
    return pyarrow.DictionaryArray.from_arrays(
        pyarrow.Array.from_buffers(pyarrow.int32(), len(codes), buffers), column.dictionary
    )


def typed(column: Any) -> Any:
    """A text column with the type that all its values have: numbers, dates, true and false, else text."""
    pyarrow = load_module("pyarrow")
    codes = (column if is_coded(column) else column.dictionary_encode()).unify_dictionaries().combine_chunks()
    values = typed_values(codes.dictionary.to_pylist())
    found = values.take(codes.indices)
    return pyarrow.chunked_array([found])


def typed_values(texts: Sequence[str]) -> Any:
    """The values, as an Arrow array, of a CSV column that holds these texts."""
    arrow_csv = load_module("pyarrow.csv")
    quoted = "".join('"{}"\n'.format(text.replace('"', '""')) for text in ["column", *texts])
    options = arrow_csv.ParseOptions(newlines_in_values=True)
    found = arrow_csv.read_csv(io.BytesIO(quoted.encode()), parse_options=options).column(0).combine_chunks()
    return empty_to_null(found) if is_text(found) else found


def numbers_from_text(column: Any, name: str, *, before: int = 0) -> Any:
    """A text column as 64-bit floats; the first value that is no number is named, with its row.

    So many rows came ``before`` those of the column.
    """
    pyarrow, pc = load_module("pyarrow"), load_module("pyarrow.compute")
    if not is_text(column):
        return column
    texts = pc.utf8_trim(column, " \t")  # as pyarrow reads columns of numbers: other spaces are no part of one
    try:
        return pc.cast(texts, pyarrow.float64())
    except pyarrow.ArrowInvalid:
        place = bisect_left(range(len(texts)), True, key=lambda last: not _are_numbers(texts.slice(0, last + 1)))
        raise DataError(
            f"column {name!r} must hold numbers; row {before + place + 1} (counted from 1, without the header) holds "
            f"{column[place].as_py()!r}. Mend it or name another column."
        ) from None


def _are_numbers(texts: Any) -> bool:
    pyarrow, pc = load_module("pyarrow"), load_module("pyarrow.compute")
    try:
        pc.cast(texts, pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return False
    return True


def ids_from_text(column: Any, *, before: int = 0) -> Any:
    """Ids of a CSV file, where every value is text: whole 64-bit numbers without leading zeros count as integers.

    The type of an id then never depends on the other ids of the file, nor does its draw. Ids such as "7.0" are
    refused, as a column of floats is: they come from whole numbers, some of which are missing.
    """
    pyarrow, pc = load_module("pyarrow"), load_module("pyarrow.compute")
    if not is_text(column):
        return column
    floats = pc.match_substring_regex(column, r"\A-?[0-9]+\.0+\z")
    if pc.any(floats).as_py():
        place = pc.index(floats, True).as_py()
        raise DataError(
            f"ids must be whole numbers or text, but {pc.sum(floats).as_py()} of {len(column)} read like floats; the "
            f"first is {column[place].as_py()!r} in row {before + place + 1} (counted from 1, without the header). A "
            "float id column usually is an integer column with missing values: fill or drop those rows and write the "
            "ids without '.0'."
        )
    whole = pc.match_substring_regex(column, r"\A(0|-?[1-9][0-9]{0,19})\z")
    if not pc.any(whole).as_py():
        return column
    if pc.all(whole).as_py() and pc.max(pc.utf8_length(column)).as_py() <= SAFE_DIGITS:
        return pc.cast(column, pyarrow.int64())
    pairs = zip(column.to_pylist(), whole.to_pylist(), strict=True)
    return [int(text) if number and -(2**63) <= int(text) < 2**64 else text for text, number in pairs]


def is_coded(column: Any) -> bool:
    """Whether an Arrow column holds places in a dictionary."""
    return bool(load_module("pyarrow").types.is_dictionary(column.type))


def is_text(column: Any) -> bool:
    """Whether an Arrow column holds text."""
    types = load_module("pyarrow").types
    return bool(types.is_string(column.type) or types.is_large_string(column.type))


def data_frame(columns: dict[str, list[Any]]) -> Any:
    """A pandas data frame."""
    try:
        import pandas as pd
    except ImportError:
        raise DataError(
            "to_frame needs pandas, which is not installed; install it, or take to_columns(), which needs nothing."
        ) from None
    return pd.DataFrame(columns)
