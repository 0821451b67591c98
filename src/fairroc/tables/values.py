"""Values of files that hold text only, where types are what a column is used as."""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from fairroc.errors import DataError
from fairroc.tables.files import load_module

__all__ = ["empty_to_null", "ids_from_text", "is_text", "numbers_from_text", "typed", "typed_values"]

SAFE_DIGITS = 18
"""Whole numbers of so many characters fit into 64 bits, whatever they are."""


def empty_to_null(column: Any) -> Any:
    """A text column with nulls for its empty texts."""
    pyarrow, pc = load_module("pyarrow"), load_module("pyarrow.compute")
    return pc.if_else(pc.equal(column, ""), pyarrow.scalar(None, column.type), column)


def typed(column: Any) -> Any:
    """A text column with the type that all its values have: numbers, dates, true and false, else text."""
    pyarrow = load_module("pyarrow")
    codes = column.combine_chunks().dictionary_encode()
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
    texts = pc.utf8_trim_whitespace(column)
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


def is_text(column: Any) -> bool:
    """Whether an Arrow column holds text."""
    types = load_module("pyarrow").types
    return bool(types.is_string(column.type) or types.is_large_string(column.type))
