"""Spark: one aggregation on the cluster, the geometry on the driver, fair scores on the executors.

The executors need fairroc installed. A model travels to them once, by broadcast, as its JSON text. Everything holds
with ANSI mode on, Spark's default.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairroc.backends.use import Use
from fairroc.errors import DataError
from fairroc.model.file import dumps, loads
from fairroc.model.model import ModelData
from fairroc.options import Missing
from fairroc.people.cells import Names, counts_of_bins, counts_of_cells
from fairroc.people.counts import LEAST_BITS, MOST_BITS, ScoreCounts
from fairroc.people.rows import LARGEST

if TYPE_CHECKING:  # executors load this module and need neither
    from fairroc.auditing.audit import Audit
    from fairroc.estimators.fair_roc import FairROC

__all__ = ["audit", "counts", "fit", "transform"]

CELLS = 2_000_000
"""More cells of (group, label, score) than this are not brought to the driver: scores are cut to bins first."""

BITS = 24
"""Bits of these bins: 4,096 between two powers of two, so that scores of a bin differ by less than 1 in 4,096."""

TINY = 2.0**-1022
"""The smallest double of full precision."""


def counts(
    df: Any,
    *,
    score: str,
    label: str,
    group: str | Sequence[str],
    weight: str | None = None,
    pos_label: Any = None,
    missing: Missing = "error",
    cells: int = CELLS,
    bits: int | None = None,
) -> ScoreCounts:
    """Rows counted by group, label and score in one aggregation on the cluster.

    Parameters
    ----------
    cells : most cells that may come to the driver; if there are more, a second aggregation counts in bins.
    bits : count in bins of so many bits at once (12 to 63, see :meth:`fairroc.ScoreCounts.binned`).
    """
    names = Names.checked(df.columns, score=score, label=label, group=group, weight=weight)
    _check_type(df, score)
    _check_bits(bits)
    how: dict[str, Any] = {"pos_label": pos_label, "missing": missing}
    if bits is None and not _many_scores(df, score, cells):
        table = _cells(df, names).limit(cells + 1).toArrow()
        if table.num_rows <= cells:
            return counts_of_cells(table, names, **how)
    bits = BITS if bits is None else bits
    return counts_of_bins(_bins(df, names, bits).toArrow(), names, bits, **how)


def fit(
    df: Any,
    *,
    score: str,
    label: str,
    group: str | Sequence[str],
    weight: str | None = None,
    epsilon: float = 0.05,
    cells: int = CELLS,
    bits: int | None = None,
    **params: Any,
) -> FairROC:
    """Fit to columns of a Spark frame; ``params`` as for :class:`fairroc.FairROC`, ``cells`` and ``bits`` as for
    :func:`counts`."""
    from fairroc.estimators.fair_roc import FairROC

    post = FairROC(epsilon, **params)
    post.checked_options()
    found = counts(
        df,
        score=score,
        label=label,
        group=group,
        weight=weight,
        pos_label=post.pos_label,
        missing=post.missing,
        cells=cells,
        bits=bits,
    )
    return post.fit_counts(found)


def audit(
    df: Any,
    *,
    score: str,
    label: str,
    group: str | Sequence[str],
    weight: str | None = None,
    pos_label: Any = None,
    missing: Missing = "error",
    cells: int = CELLS,
    bits: int | None = None,
    **settings: Any,
) -> Audit:
    """Audit columns of a Spark frame; ``settings`` as for :func:`fairroc.audit`, ``cells`` and ``bits`` as for
    :func:`counts`."""
    from fairroc.auditing.audit import audit_counts

    found = counts(
        df,
        score=score,
        label=label,
        group=group,
        weight=weight,
        pos_label=pos_label,
        missing=missing,
        cells=cells,
        bits=bits,
    )
    return audit_counts(found, **settings)


def transform(
    df: Any,
    model: ModelData | FairROC,
    *,
    score: str,
    group: str | Sequence[str],
    id: str,
    key: bytes | str | None = None,
    column: str | None = None,
    on_unknown_group: str | None = None,
) -> Any:
    """The frame with one more column, the fair score (``<score>_fair`` unless named), computed when it is asked for.

    What is wrong with a row (a missing id, an unknown group) is then found on an executor, and the job fails with the
    message that says so.
    """
    return apply(
        df,
        Use.of(model, score=score, group=group, id=id, key=key, column=column, on_unknown_group=on_unknown_group),
    )


def apply(df: Any, use: Use) -> Any:
    """As :func:`transform`."""
    import pyarrow as pa

    F = _pyspark("functions")

    use.check(df.columns)
    sent, names, key, other = _sent(df, dumps(use.model)), use.groups, use.key, use.on_unknown_group

    def fair(scores: Any, ids: Any, *groups: Any) -> Any:
        model = _model(sent if isinstance(sent, str) else sent.value)
        features = groups[0] if len(groups) == 1 else dict(zip(names, groups, strict=True))
        return pa.array(model.drawn(model.read(scores, features, other), ids, None, key))

    fair.__annotations__ = dict.fromkeys(fair.__annotations__, pa.Array)  # tells Spark what to pass
    return df.withColumn(use.column, F.arrow_udf(fair, "double")(*map(_column, (use.score, use.id, *names))))


def _sent(df: Any, text: str) -> Any:
    """The text as a broadcast; Spark Connect has none, and sends it with the function."""
    return text if _pyspark("utils").is_remote() else df.sparkSession.sparkContext.broadcast(text)


@lru_cache(maxsize=4)
def _model(text: str) -> ModelData:
    """The model, read once in each Python worker."""
    return loads(text)


def _cells(df: Any, names: Names) -> Any:
    """The frame counted by group, label and score."""
    F = _pyspark("functions")

    keys = [_column(name).alias(alias) for alias, name in names.keys.items()]
    return df.select(*keys, *_weighed(names)).groupBy(*names.keys).agg(F.count("*").alias("rows"), *_sums(names))


def _many_scores(df: Any, score: str, cells: int) -> bool:
    """Whether there are more different scores than that, by a sketch: one cheap pass instead of a large shuffle."""
    F = _pyspark("functions")

    return bool(df.agg(F.approx_count_distinct(_column(score)).alias("n")).first()["n"] > cells)


def _bins(df: Any, names: Names, bits: int) -> Any:
    """The frame counted by group, label and bin of the score, with the lowest and highest score of each.

    Scores that are missing, infinite or too large have no bin and stay as they are, so that they are found and counted.
    """
    F = _pyspark("functions")

    marks = [_column(name).alias(alias) for alias, name in names.marks.items()]
    score = _column(names.score).cast("double")
    sound = F.coalesce(score.between(-LARGEST, LARGEST), F.lit(False))
    picked = df.select(*marks, score.alias("score"), sound.alias("sane"), *_weighed(names))
    ranked = _ranked(picked.withColumn("usable", F.when(F.col("sane"), F.col("score")).otherwise(0.0)), "usable")
    number = F.when(F.col("sane"), F.shiftright("rank", 64 - bits)).alias("bin")
    odd = F.when(~F.col("sane"), F.col("score")).alias("odd")
    kept = [F.col(name) for name in (*names.marks, "score", *(("weight", "sound") if names.weight else ()))]
    ends = F.min("score").alias("low"), F.max("score").alias("high")
    return (
        ranked.select(*kept, number, odd)
        .groupBy(*names.marks, "bin", "odd")
        .agg(*ends, F.count("*").alias("rows"), *_sums(names))
    )


def _ranked(df: Any, score: str) -> Any:
    """The frame with a column ``rank``: of finite doubles among all doubles, around 0 for zero, a 64-bit integer.

    Spark cannot look at the bits of a double, so they are worked out: the exponent by a logarithm that may be off by
    one and is set right, the rest by divisions by powers of two, which are exact. In steps, since one large expression
    would be too large for Java to compile.
    """
    F = _pyspark("functions")

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


def _weighed(names: Names) -> list[Any]:
    """The weight, and whether it is one."""
    F = _pyspark("functions")

    if names.weight is None:
        return []
    weight = _column(names.weight).cast("double")
    sound = F.when(weight.between(0.0, LARGEST), 1).otherwise(0)
    return [weight.alias("weight"), sound.alias("sound")]


def _sums(names: Names) -> list[Any]:
    F = _pyspark("functions")

    return [] if names.weight is None else [F.sum(name).alias(name) for name in ("weight", "sound")]


def _column(name: str) -> Any:
    """A column by its very name, whatever characters are in it."""
    F = _pyspark("functions")

    return F.col("`" + name.replace("`", "``") + "`")


def _check_type(df: Any, score: str) -> None:
    kind = df.schema[score].dataType
    if not isinstance(kind, _pyspark("types").NumericType):
        raise DataError(f"scores must be real numbers, but the column {score!r} holds {kind.simpleString()}; cast it.")


def _check_bits(bits: Any) -> None:
    if bits is not None and not (type(bits) is int and LEAST_BITS <= bits <= MOST_BITS):
        raise DataError(f"bits must be None or a whole number from {LEAST_BITS} to {MOST_BITS}; {bits!r} came.")


def _pyspark(module: str) -> Any:
    """A module of pyspark.sql, which is loaded only where there is a frame of Spark."""
    return import_module(f"pyspark.sql.{module}")
