"""The door for data frames: their engine counts rows of equal group, label and score, and the cells become ScoreCounts.

Frames are opened through narwhals; those of Spark have :mod:`fairroc.people.spark`. The checks and the names of groups
are those of all other ways in, and made here, after the aggregation.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from fairroc.errors import DataError
from fairroc.options import Missing
from fairroc.people.counts import ScoreCounts, bin_edges
from fairroc.people.rows import LARGEST, Columns, read_columns
from fairroc.tables.columns import ColumnNames

__all__ = [
    "counts_of_bins",
    "counts_of_cells",
    "is_spark",
    "key_columns",
    "lazy_counts",
    "mark_columns",
    "opened",
]

EXPANDED = 1 << 24
"""Up to so many rows an error counts rows as they came; beyond, it counts cells."""


def key_columns(names: ColumnNames) -> dict[str, str]:
    """What cells have in common: the columns by the names that they have in the table of cells."""
    return {"score": names.score, **mark_columns(names)}


def mark_columns(names: ColumnNames) -> dict[str, str]:
    """The keys but the score."""
    assert names.label is not None
    return {"label": names.label, **{f"group{i}": name for i, name in enumerate(names.groups)}}


def counts_of_cells(table: Any, names: ColumnNames, *, pos_label: Any, missing: Missing) -> ScoreCounts:
    """From an Arrow table of keys and ``rows``; of weighted rows also ``weight`` and ``sound``: how many have one."""
    rows = _whole_numbers(table, "rows")
    columns = _read(table, table.column("score"), names, rows, pos_label, missing)
    return ScoreCounts.from_cells(
        columns.names,
        columns.groups,
        columns.labels,
        columns.scores,
        rows if columns.weights is None else columns.weights,
        weighted=columns.weights is not None,
    )


def counts_of_bins(table: Any, names: ColumnNames, bits: int, *, pos_label: Any, missing: Missing) -> ScoreCounts:
    """From a table of bins instead: ``low`` and ``high`` are the lowest and the highest score of each."""
    rows = _whole_numbers(table, "rows")
    columns = _read(table, table.column("low"), names, rows, pos_label, missing)
    high = np.asarray(table.column("high").to_numpy(), dtype=np.float64)
    if not np.array_equal(bin_edges(columns.scores, bits), bin_edges(high, bits)):
        raise AssertionError("the engine put scores of two bins into one")
    mass = rows if columns.weights is None else columns.weights
    parts = []
    for part, cut in ((columns.scores == high, None), (columns.scores < high, bits)):
        scores = columns.scores[part] if cut is None else bin_edges(columns.scores[part], bits)
        cells = columns.groups[part], columns.labels[part], scores, mass[part]
        parts.append(ScoreCounts.from_cells(columns.names, *cells, weighted=columns.weights is not None, bits=cut))
    return parts[0].binned(bits).merge(parts[1])


def _read(
    table: Any, scores: Any, names: ColumnNames, rows: NDArray[np.int64], pos_label: Any, missing: Missing
) -> Columns:
    """The checked cells; where something is wrong, the error counts rows."""
    weighted = names.weight is not None
    if weighted:
        _check_weights(table, rows)
    groups = {name: table.column(f"group{i}") for i, name in enumerate(names.groups)}

    def read(pick: Any) -> Columns:
        taken = {name: column.take(pick) for name, column in groups.items()}
        return read_columns(
            scores.take(pick),
            table.column("label").take(pick),
            sensitive_features=taken if len(taken) > 1 else taken[names.groups[0]],
            sample_weight=table.column("weight").take(pick) if weighted else None,
            pos_label=pos_label,
            missing=missing,
            whole=False,
        )

    cells = np.arange(len(rows))
    try:
        return read(cells)
    except DataError:
        if rows.sum() <= EXPANDED:
            read(np.repeat(cells, rows))
        raise


def _check_weights(table: Any, rows: NDArray[np.int64]) -> None:
    wrong = int(rows.sum() - _whole_numbers(table, "sound").sum())
    if wrong:
        raise DataError(
            f"sample_weight (on the command line: --weight) must be finite, >= 0 and not missing, but {wrong} of "
            f"{rows.sum()} are not; drop or fill these rows. A weight of 0 leaves a row out."
        )


def _whole_numbers(table: Any, name: str) -> NDArray[np.int64]:
    column = table.column(name).cast("int64").fill_null(0)
    return np.asarray(column.to_numpy(), dtype=np.int64)


def is_spark(frame: Any) -> bool:
    """Whether a frame is one of Spark, classic or Connect."""
    return nw.dependencies.is_pyspark_dataframe(frame) or nw.dependencies.is_pyspark_connect_dataframe(frame)


def opened(frame: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """A frame of any engine but Spark, eager or lazy, or an error that says which can be used."""
    try:
        table: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(frame)
    except DuplicateError:
        raise DataError("every column name must be unique; rename the columns that share a name.") from None
    except TypeError:
        raise DataError(
            "the frame must be a table of pandas, polars, pyarrow, DuckDB, Dask or Spark, "
            f"got {type(frame).__name__}; convert it first."
        ) from None
    return table


def lazy_counts(table: nw.LazyFrame[Any], names: ColumnNames, *, pos_label: Any, missing: Missing) -> ScoreCounts:
    """Rows of a lazy frame counted by group, label and score, in one aggregation by its engine."""
    picked = table.select(*(nw.col(name).alias(alias) for alias, name in key_columns(names).items()), *_weighed(names))
    sums = [] if names.weight is None else [nw.col("weight").sum(), nw.col("sound").sum()]
    counted = picked.group_by(list(key_columns(names))).agg(nw.len().alias("rows"), *sums)
    cells = counted.collect(backend="pyarrow").to_native()
    return counts_of_cells(cells, names, pos_label=pos_label, missing=missing)


def _weighed(names: ColumnNames) -> list[nw.Expr]:
    """The weight and whether it is one: NaN is above all numbers in some engines and none of them in others."""
    if names.weight is None:
        return []
    weight = nw.col(names.weight)
    sound = (weight >= 0) & (weight <= LARGEST)
    return [weight.cast(nw.Float64).alias("weight"), sound.cast(nw.Int64).alias("sound")]
