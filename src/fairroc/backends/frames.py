"""Data frames of any engine: pandas, polars (eager or lazy), Arrow, DuckDB, Dask, and Spark through engines.spark.

Frames in memory go the way of all arrays. Lazy frames are counted by group, label and score by their own engine, and
only these counts come to Python. The fair scores are those of numpy, bit for bit, whatever the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import narwhals as nw
from narwhals.exceptions import DuplicateError

from fairroc.auditing.audit import Audit, audit_counts
from fairroc.auditing.audit import audit as audit_rows
from fairroc.backends.use import Use
from fairroc.core.chain import FloatArray
from fairroc.errors import DataError
from fairroc.estimators.fair_roc import FairROC
from fairroc.model.model import ModelData
from fairroc.options import Missing
from fairroc.people.cells import Names, counts_of_cells
from fairroc.people.counts import ScoreCounts
from fairroc.people.rows import LARGEST, take_columns

__all__ = ["audit", "counts", "fit", "transform"]


def counts(
    frame: Any,
    *,
    score: str,
    label: str,
    group: str | Sequence[str],
    weight: str | None = None,
    pos_label: Any = None,
    missing: Missing = "error",
) -> ScoreCounts:
    """Rows counted by group, label and score: all that a fit or an audit needs.

    A lazy frame is aggregated once by its own engine, and as many cells come to Python as there are different
    (group, label, score).
    """
    if _is_spark(frame):
        from fairroc.backends import spark

        return spark.counts(
            frame, score=score, label=label, group=group, weight=weight, pos_label=pos_label, missing=missing
        )
    table = _opened(frame)
    if isinstance(table, nw.DataFrame):
        taken = take_columns(frame, score=score, group=group, label=label, weight=weight)
        return ScoreCounts.from_rows(
            taken.score,
            taken.label,
            sensitive_features=taken.group,
            sample_weight=taken.weight,
            pos_label=pos_label,
            missing=missing,
        )
    present = table.collect_schema().names()
    names = Names.checked(present, score=score, label=label, group=group, weight=weight)
    return counts_of_cells(_cells(table, names), names, pos_label=pos_label, missing=missing)


def fit(
    frame: Any,
    *,
    score: str,
    label: str,
    group: str | Sequence[str],
    weight: str | None = None,
    epsilon: float = 0.05,
    **params: Any,
) -> FairROC:
    """Fit to columns of a frame of any engine; ``params`` as for :class:`fairroc.FairROC`.

    >>> import pyarrow as pa
    >>> rows = pa.table({"p": [0.1, 0.9, 0.4, 0.6] * 50, "y": [0, 1] * 100, "sex": ["f", "f", "m", "m"] * 50})
    >>> fit(rows, score="p", label="y", group="sex", epsilon=0.1).model_.names
    ('f', 'm')
    """
    post = FairROC(epsilon, **params)
    post.checked_options()
    if not _is_lazy(frame):
        taken = take_columns(frame, score=score, group=group, label=label, weight=weight)
        return post.fit(taken.score, taken.label, sensitive_features=taken.group, sample_weight=taken.weight)
    found = counts(
        frame,
        score=score,
        label=label,
        group=group,
        weight=weight,
        pos_label=post.pos_label,
        missing=post.missing,
    )
    return post.fit_counts(found)


def audit(
    frame: Any,
    *,
    score: str,
    label: str,
    group: str | Sequence[str],
    weight: str | None = None,
    pos_label: Any = None,
    missing: Missing = "error",
    **settings: Any,
) -> Audit:
    """Audit columns of a frame of any engine; ``settings`` as for :func:`fairroc.audit`."""
    if not _is_lazy(frame):
        taken = take_columns(frame, score=score, group=group, label=label, weight=weight)
        return audit_rows(
            taken.score,
            taken.label,
            sensitive_features=taken.group,
            sample_weight=taken.weight,
            pos_label=pos_label,
            missing=missing,
            **settings,
        )
    found = counts(frame, score=score, label=label, group=group, weight=weight, pos_label=pos_label, missing=missing)
    return audit_counts(found, **settings)


def transform(
    frame: Any,
    model: ModelData | FairROC,
    *,
    score: str,
    group: str | Sequence[str],
    id: str,
    key: bytes | str | None = None,
    column: str | None = None,
    on_unknown_group: str | None = None,
) -> Any:
    """The frame with one more column, the fair score (``<score>_fair`` unless named); the same kind of frame.

    Polars' lazy frames, Dask and Spark stay lazy: what is wrong with a row is then found when the result is asked for.
    """
    use = Use.of(model, score=score, group=group, id=id, key=key, column=column, on_unknown_group=on_unknown_group)
    if _is_spark(frame):
        from fairroc.backends import spark

        return spark.apply(frame, use)
    table = _opened(frame)
    use.check(table.collect_schema().names())
    if isinstance(table, nw.DataFrame):
        return _with_fair(frame, use=use)
    kind = table.implementation
    if kind.is_polars():
        return _polars(frame, use)
    if kind.is_dask():
        return frame.map_partitions(partial(_with_fair, use=use), meta=_with_fair(frame._meta, use=use))
    if kind.is_duckdb():
        return _duckdb(frame, use)
    raise DataError(
        f"transform knows frames of pandas, polars, pyarrow, DuckDB, Dask and Spark, got {type(frame).__name__}; "
        "collect it first."
    )


def _is_spark(frame: Any) -> bool:
    return nw.dependencies.is_pyspark_dataframe(frame) or nw.dependencies.is_pyspark_connect_dataframe(frame)


def _is_lazy(frame: Any) -> bool:
    return _is_spark(frame) or isinstance(_opened(frame), nw.LazyFrame)


def _opened(frame: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
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


def _cells(table: nw.LazyFrame[Any], names: Names) -> Any:
    """The counted table of a lazy frame in Arrow: one aggregation by its engine."""
    picked = table.select(*(nw.col(name).alias(alias) for alias, name in names.keys.items()), *_weighed(names))
    sums = [] if names.weight is None else [nw.col("weight").sum(), nw.col("sound").sum()]
    counted = picked.group_by(list(names.keys)).agg(nw.len().alias("rows"), *sums)
    return counted.collect(backend="pyarrow").to_native()


def _weighed(names: Names) -> list[nw.Expr]:
    """The weight and whether it is one: NaN is above all numbers in some engines and none of them in others."""
    if names.weight is None:
        return []
    weight = nw.col(names.weight)
    sound = (weight >= 0) & (weight <= LARGEST)
    return [weight.cast(nw.Float64).alias("weight"), sound.cast(nw.Int64).alias("sound")]


def _with_fair(frame: Any, *, use: Use) -> Any:
    """An eager frame with the fair scores."""
    table = nw.from_native(frame, eager_only=True)
    fair = nw.new_series(use.column, _fair(frame, use), nw.Float64, backend=table.implementation)
    return table.with_columns(fair).to_native()


def _fair(frame: Any, use: Use) -> FloatArray:
    taken = take_columns(frame, score=use.score, group=use.group, id=use.id)
    return use.fair(taken.score, taken.group, taken.id)


def _polars(frame: Any, use: Use) -> Any:
    import polars as pl

    def fair(rows: pl.Series) -> pl.Series:
        return pl.Series(_fair(rows.struct.unnest(), use))

    batch = pl.struct(use.inputs).map_batches(fair, return_dtype=pl.Float64, is_elementwise=True)
    return frame.with_columns(batch.alias(use.column))


def _duckdb(frame: Any, use: Use) -> Any:
    """Through Arrow, batch by batch, into a relation of the same connection.

    A relation does not tell its connection, but a query on it may name a variable; no table will have that name.
    """
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(frame)
    batches = [_with_fair(pa.Table.from_batches([batch]), use=use) for batch in reader]
    schema = reader.schema.append(pa.field(use.column, pa.float64()))
    _fairroc_rows_with_fair_scores = pa.concat_tables(batches) if batches else schema.empty_table()
    return frame.query("_fairroc_rows", "SELECT * FROM _fairroc_rows_with_fair_scores")
