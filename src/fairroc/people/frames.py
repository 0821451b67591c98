"""The door for data frames: opened through narwhals; lazy ones are counted by their own engine."""

from __future__ import annotations

from typing import Any

import narwhals as nw
from narwhals.exceptions import DuplicateError

from fairroc.errors import DataError
from fairroc.options import Missing
from fairroc.people.cells import Names, counts_of_cells
from fairroc.people.counts import ScoreCounts
from fairroc.people.rows import LARGEST

__all__ = ["is_spark", "lazy_counts", "opened"]


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


def lazy_counts(table: nw.LazyFrame[Any], names: Names, *, pos_label: Any, missing: Missing) -> ScoreCounts:
    """Rows of a lazy frame counted by group, label and score, in one aggregation by its engine."""
    picked = table.select(*(nw.col(name).alias(alias) for alias, name in names.keys.items()), *_weighed(names))
    sums = [] if names.weight is None else [nw.col("weight").sum(), nw.col("sound").sum()]
    counted = picked.group_by(list(names.keys)).agg(nw.len().alias("rows"), *sums)
    cells = counted.collect(backend="pyarrow").to_native()
    return counts_of_cells(cells, names, pos_label=pos_label, missing=missing)


def _weighed(names: Names) -> list[nw.Expr]:
    """The weight and whether it is one: NaN is above all numbers in some engines and none of them in others."""
    if names.weight is None:
        return []
    weight = nw.col(names.weight)
    sound = (weight >= 0) & (weight <= LARGEST)
    return [weight.cast(nw.Float64).alias("weight"), sound.cast(nw.Int64).alias("sound")]
