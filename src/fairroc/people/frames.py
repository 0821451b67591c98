"""The door for data frames: their engine counts rows of equal group, label and score, and the cells become ScoreCounts.

Frames are opened through narwhals, those of Spark through pyspark (all holds with ANSI mode on, its default). The
checks and the names of groups are those of all other ways in, and made here, after the aggregation.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError
from fairroc.options import Missing
from fairroc.people.counts import LEAST_BITS, MOST_BITS, ScoreCounts, bin_edges
from fairroc.people.rows import LARGEST, Columns, read_columns
from fairroc.tables.columns import ColumnNames

if TYPE_CHECKING:
    import narwhals as nw

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
    return ScoreCounts.from_cells(_read(table, table.column("score"), names, rows, pos_label, missing), rows)


def counts_of_bins(table: Any, names: ColumnNames, bits: int, *, pos_label: Any, missing: Missing) -> ScoreCounts:
    """From a table of bins instead: ``low`` and ``high`` are the lowest and the highest score of each."""
    rows = _whole_numbers(table, "rows")
    columns = _read(table, table.column("low"), names, rows, pos_label, missing)
    high = np.asarray(table.column("high").to_numpy(), dtype=np.float64)
    edges = bin_edges(columns.scores, bits)
    if not np.array_equal(edges, bin_edges(high, bits)):
        raise AssertionError("the engine put scores of two bins into one")
    one, several = np.flatnonzero(columns.scores == high), np.flatnonzero(columns.scores < high)
    exact = ScoreCounts.from_cells(columns.taken(one), rows[one])
    wide = ScoreCounts.from_cells(replace(columns, scores=edges).taken(several), rows[several], bits=bits)
    return exact.binned(bits).merge(wide)


def _read(
    table: Any, scores: Any, names: ColumnNames, rows: NDArray[np.int64], pos_label: Any, missing: Missing
) -> Columns:
    """The checked cells; where something is wrong, the error counts rows."""
    weighted = names.weight is not None
    if weighted and (wrong := int(rows.sum() - _whole_numbers(table, "sound").sum())):
        raise DataError(
            f"sample_weight (on the command line: --weight) must be finite, >= 0 and not missing, but {wrong} of "
            f"{rows.sum()} are not; drop or fill these rows. A weight of 0 leaves a row out."
        )
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


def _whole_numbers(table: Any, name: str) -> NDArray[np.int64]:
    column = table.column(name).cast("int64").fill_null(0)
    return np.asarray(column.to_numpy(), dtype=np.int64)


def is_spark(frame: Any) -> bool:
    """Whether a frame is one of Spark, classic or Connect."""
    import narwhals as nw

    return nw.dependencies.is_pyspark_dataframe(frame) or nw.dependencies.is_pyspark_connect_dataframe(frame)


def opened(frame: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """A frame of any engine but Spark, eager or lazy, or an error that says which can be used."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

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
    import narwhals as nw

    picked = table.select(*(nw.col(name).alias(alias) for alias, name in key_columns(names).items()), *_weighed(names))
    sums = [] if names.weight is None else [nw.col("weight").sum(), nw.col("sound").sum()]
    counted = picked.group_by(list(key_columns(names))).agg(nw.len().alias("rows"), *sums)
    cells = counted.collect(backend="pyarrow").to_native()
    return counts_of_cells(cells, names, pos_label=pos_label, missing=missing)


def _weighed(names: ColumnNames) -> list[nw.Expr]:
    """The weight and whether it is one: NaN is above all numbers in some engines and none of them in others."""
    import narwhals as nw

    if names.weight is None:
        return []
    weight = nw.col(names.weight)
    sound = (weight >= 0) & (weight <= LARGEST)
    return [weight.cast(nw.Float64).alias("weight"), sound.cast(nw.Int64).alias("sound")]


# ---- Spark ----------------------------------------------------------------------------------------------------------

CELLS = 2_000_000
"""More cells of (group, label, score) than this are not brought to the driver: scores are cut to bins first."""

BITS = 24
"""Bits of these bins: 4,096 between two powers of two, so that scores of a bin differ by less than 1 in 4,096."""

TINY = 2.0**-1022
"""The smallest double of full precision."""


def spark_counts(
    df: Any, names: ColumnNames, *, pos_label: Any, missing: Missing, cells: int = CELLS, bits: int | None = None
) -> ScoreCounts:
    """Rows counted by group, label and score, or by bins where there are more than ``cells`` of these."""
    F, kind = pyspark_module("functions"), df.schema[names.score].dataType
    if not isinstance(kind, pyspark_module("types").NumericType):
        raise DataError(
            f"scores must be real numbers, but the column {names.score!r} holds {kind.simpleString()}; cast it."
        )
    if bits is not None and not (type(bits) is int and LEAST_BITS <= bits <= MOST_BITS):
        raise DataError(f"bits must be None or a whole number from {LEAST_BITS} to {MOST_BITS}, got {bits!r}.")
    how: dict[str, Any] = {"pos_label": pos_label, "missing": missing}
    if bits is None:  # a sketch of the number of different scores is one cheap pass instead of a large shuffle
        few = df.agg(F.approx_count_distinct(spark_column(names.score)).alias("n")).first()["n"] <= cells
        table = _cells(df, names).limit(cells + 1).toArrow() if few else None
        if table is not None and table.num_rows <= cells:
            return counts_of_cells(table, names, **how)
    bits = BITS if bits is None else bits
    return counts_of_bins(_bins(df, names, bits).toArrow(), names, bits, **how)


def _cells(df: Any, names: ColumnNames) -> Any:
    """The frame counted by group, label and score."""
    F = pyspark_module("functions")
    keys = [spark_column(name).alias(alias) for alias, name in key_columns(names).items()]
    return (
        df.select(*keys, *_spark_weight(names))
        .groupBy(*key_columns(names))
        .agg(F.count("*").alias("rows"), *_sums(names))
    )


def _bins(df: Any, names: ColumnNames, bits: int) -> Any:
    """The frame counted by group, label and bin of the score, with the lowest and highest score of each.

    Scores that are missing, infinite or too large have no bin and stay as they are, so that they are found and counted.
    """
    F = pyspark_module("functions")
    marks = [spark_column(name).alias(alias) for alias, name in mark_columns(names).items()]
    score = spark_column(names.score).cast("double")
    sound = F.coalesce(score.between(-LARGEST, LARGEST), F.lit(False))
    picked = df.select(*marks, score.alias("score"), sound.alias("sane"), *_spark_weight(names))
    ranked = _ranked(picked.withColumn("usable", F.when(F.col("sane"), F.col("score")).otherwise(0.0)), "usable")
    number = F.when(F.col("sane"), F.shiftright("rank", 64 - bits)).alias("bin")
    odd = F.when(~F.col("sane"), F.col("score")).alias("odd")
    kept = [F.col(name) for name in (*mark_columns(names), "score", *(("weight", "sound") if names.weight else ()))]
    ends = F.min("score").alias("low"), F.max("score").alias("high")
    return (
        ranked.select(*kept, number, odd)
        .groupBy(*mark_columns(names), "bin", "odd")
        .agg(*ends, F.count("*").alias("rows"), *_sums(names))
    )


def _ranked(df: Any, score: str) -> Any:
    """The frame with a column ``rank``: of finite doubles among all doubles, around 0 for zero, a 64-bit integer.

    Spark cannot look at the bits of a double, so they are worked out: the exponent by a logarithm that may be off by
    one and is set right, the rest by divisions by powers of two, which are exact. In steps, since one large expression
    would be too large for Java to compile.
    """
    F = pyspark_module("functions")
    size, guess, fraction, off = F.col("size"), F.col("guess"), F.col("fraction"), F.col("off")
    steps = {
        "size": F.abs(score),
        "guess": F.greatest(F.floor(F.log2(F.greatest(size, F.lit(TINY)))), F.lit(-1022)).cast("double"),
        "fraction": size / F.pow(F.lit(2.0), guess),
        "off": F.when(fraction >= 2, 1.0).when((fraction < 1) & (guess > -1022), -1.0).otherwise(0.0),
        "part": F.when(off > 0, fraction / 2).when(off < 0, fraction * 2).otherwise(fraction),
        "whole": (guess + off + 1022) * 2.0**52,
        "normal": F.col("whole").cast("bigint") + (F.col("part") * 2.0**52).cast("bigint"),
        "bits": F.when(size >= TINY, F.col("normal")).otherwise((size * 2.0**537 * 2.0**537).cast("bigint")),
        "rank": F.when(F.col(score) < 0, -F.col("bits") - 1).otherwise(F.col("bits")),
    }
    for name, step in steps.items():
        df = df.withColumn(name, step)
    return df


def _spark_weight(names: ColumnNames) -> list[Any]:
    """The weight, and whether it is one."""
    F = pyspark_module("functions")
    if names.weight is None:
        return []
    weight = spark_column(names.weight).cast("double")
    sound = F.when(weight.between(0.0, LARGEST), 1).otherwise(0)
    return [weight.alias("weight"), sound.alias("sound")]


def _sums(names: ColumnNames) -> list[Any]:
    F = pyspark_module("functions")
    return [] if names.weight is None else [F.sum(name).alias(name) for name in ("weight", "sound")]


def spark_column(name: str) -> Any:
    """A column by its very name, whatever characters are in it."""
    F = pyspark_module("functions")
    return F.col("`" + name.replace("`", "``") + "`")


def pyspark_module(module: str) -> Any:
    """A module of pyspark.sql, which is loaded only where there is a frame of Spark."""
    return import_module(f"pyspark.sql.{module}")
