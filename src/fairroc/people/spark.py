"""The door for frames of Spark: one aggregation on the cluster, and only cells or bins come to the driver.

Everything holds with ANSI mode on, Spark's default.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fairroc.errors import DataError
from fairroc.options import Missing
from fairroc.people.counts import LEAST_BITS, MOST_BITS, ScoreCounts
from fairroc.people.frames import counts_of_bins, counts_of_cells, key_columns, mark_columns
from fairroc.people.rows import LARGEST
from fairroc.tables.columns import ColumnNames

__all__ = ["BITS", "CELLS", "column", "pyspark_module", "spark_counts"]

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
    _check_type(df, names.score)
    _check_bits(bits)
    how: dict[str, Any] = {"pos_label": pos_label, "missing": missing}
    if bits is None and not _many_scores(df, names.score, cells):
        table = _cells(df, names).limit(cells + 1).toArrow()
        if table.num_rows <= cells:
            return counts_of_cells(table, names, **how)
    bits = BITS if bits is None else bits
    return counts_of_bins(_bins(df, names, bits).toArrow(), names, bits, **how)


def _cells(df: Any, names: ColumnNames) -> Any:
    """The frame counted by group, label and score."""
    F = pyspark_module("functions")

    keys = [column(name).alias(alias) for alias, name in key_columns(names).items()]
    return (
        df.select(*keys, *_weighed(names)).groupBy(*key_columns(names)).agg(F.count("*").alias("rows"), *_sums(names))
    )


def _many_scores(df: Any, score: str, cells: int) -> bool:
    """Whether there are more different scores than that, by a sketch: one cheap pass instead of a large shuffle."""
    F = pyspark_module("functions")

    return bool(df.agg(F.approx_count_distinct(column(score)).alias("n")).first()["n"] > cells)


def _bins(df: Any, names: ColumnNames, bits: int) -> Any:
    """The frame counted by group, label and bin of the score, with the lowest and highest score of each.

    Scores that are missing, infinite or too large have no bin and stay as they are, so that they are found and counted.
    """
    F = pyspark_module("functions")

    marks = [column(name).alias(alias) for alias, name in mark_columns(names).items()]
    score = column(names.score).cast("double")
    sound = F.coalesce(score.between(-LARGEST, LARGEST), F.lit(False))
    picked = df.select(*marks, score.alias("score"), sound.alias("sane"), *_weighed(names))
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


def _weighed(names: ColumnNames) -> list[Any]:
    """The weight, and whether it is one."""
    F = pyspark_module("functions")

    if names.weight is None:
        return []
    weight = column(names.weight).cast("double")
    sound = F.when(weight.between(0.0, LARGEST), 1).otherwise(0)
    return [weight.alias("weight"), sound.alias("sound")]


def _sums(names: ColumnNames) -> list[Any]:
    F = pyspark_module("functions")

    return [] if names.weight is None else [F.sum(name).alias(name) for name in ("weight", "sound")]


def column(name: str) -> Any:
    """A column by its very name, whatever characters are in it."""
    F = pyspark_module("functions")

    return F.col("`" + name.replace("`", "``") + "`")


def _check_type(df: Any, score: str) -> None:
    kind = df.schema[score].dataType
    if not isinstance(kind, pyspark_module("types").NumericType):
        raise DataError(f"scores must be real numbers, but the column {score!r} holds {kind.simpleString()}; cast it.")


def _check_bits(bits: Any) -> None:
    if bits is not None and not (type(bits) is int and LEAST_BITS <= bits <= MOST_BITS):
        raise DataError(f"bits must be None or a whole number from {LEAST_BITS} to {MOST_BITS}, got {bits!r}.")


def pyspark_module(module: str) -> Any:
    """A module of pyspark.sql, which is loaded only where there is a frame of Spark."""
    return import_module(f"pyspark.sql.{module}")
