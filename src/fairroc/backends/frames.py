"""Fair scores of data frames of any engine: those of numpy, bit for bit, in batches where frames are lazy.

On Spark the executors, which need fairroc installed, compute them; a model travels there once, by broadcast, as JSON
text. All holds with ANSI mode on, Spark's default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from fairroc.core.chain import FloatArray
from fairroc.errors import DataError
from fairroc.model.file import dumps, loads
from fairroc.model.model import ModelData
from fairroc.people.frames import is_spark, opened, pyspark_module, spark_column
from fairroc.people.rows import TakenColumns, known_groups, take_columns, taken_columns
from fairroc.tables.columns import ColumnNames


@dataclass(frozen=True, slots=True)
class Use:
    """What to do with every row: a model, the names of the columns it needs and of the one it makes; checked once, and
    small enough to be sent to other machines."""

    model: ModelData
    names: ColumnNames
    column: str
    key: bytes | str | None = field(default=None, repr=False)  # engines show what they are about to call
    on_unknown_group: str | None = None
    seed: int | None = None  # of the draws, where no column of ids is named
    allow_out_of_range: bool = False

    def check(self, present: Sequence[str], *, where: str = "the frame", option: str = "column=") -> None:
        """Raise unless the columns, the key and the unknown group can be used: before any row is looked at."""
        names = self.names
        self.model.told_columns(names.groups, names.probabilities, names.controls)
        names.require(present)
        if self.column in present:
            raise DataError(f"{where} already has a column {self.column!r}; name another with {option}.")
        if names.id is not None:
            self.fair(self.taken({name: [] for name in names.all}))
            return
        known_groups(self.model.names, self.on_unknown_group)
        if self.seed is None and self.model.needs_ids:
            raise DataError(
                "id must name a column of ids, got none: the fair score is drawn at random for each row, and the same "
                "id always gets the same draw. Pass id=; only a model that draws nobody (draw='never') needs none."
            )

    def taken(self, columns: Mapping[str, Any]) -> TakenColumns:
        """The columns that are needed, of all by name."""
        return taken_columns(columns, self.names)

    def told(self, taken: TakenColumns) -> Any:
        """What the model is told of people beside the score."""
        return self.model.told(taken.group, taken.probabilities, taken.controls, len(taken.score))

    def fair(self, taken: TakenColumns) -> FloatArray:
        """Fair scores of rows."""
        columns = self.model.read(taken.score, self.told(taken), self.on_unknown_group, self.allow_out_of_range)
        return self.model.drawn(columns, taken.id, None, self.key)


def transform(frame: Any, use: Use) -> Any:
    """The frame with the fair scores, of the same kind; lazy frames of polars, Dask and Spark stay lazy."""
    import narwhals as nw

    if is_spark(frame):
        return _spark(frame, use)
    table = opened(frame)
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


def _with_fair(frame: Any, *, use: Use) -> Any:
    """An eager frame with the fair scores."""
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    fair = nw.new_series(use.column, _fair(frame, use), nw.Float64, backend=table.implementation)
    return table.with_columns(fair).to_native()


def _fair(frame: Any, use: Use) -> FloatArray:
    return use.fair(take_columns(frame, use.names))


def _polars(frame: Any, use: Use) -> Any:
    import polars as pl

    def fair(rows: pl.Series) -> pl.Series:
        return pl.Series(_fair(rows.struct.unnest(), use))

    batch = pl.struct(use.names.all).map_batches(fair, return_dtype=pl.Float64, is_elementwise=True)
    return frame.with_columns(batch.alias(use.column))


def _duckdb(frame: Any, use: Use) -> Any:
    """Through Arrow into a relation of the same connection.

    A relation does not tell its connection, but a query on it may name a variable; no table will have that name.
    """
    import pyarrow as pa

    _fairroc_rows_with_fair_scores = _with_fair(pa.RecordBatchReader.from_stream(frame).read_all(), use=use)
    return frame.query("_fairroc_rows", "SELECT * FROM _fairroc_rows_with_fair_scores")


def _spark(df: Any, use: Use) -> Any:
    """By a function that the executors call when the scores are asked for."""
    import pyarrow as pa

    use.check(df.columns)
    sent, needed, bare = dumps(use.model), use.names.all, replace(use, model=None)  # type: ignore[arg-type]
    if not pyspark_module("utils").is_remote():  # Spark Connect has no broadcast, and sends the text with the function
        sent = df.sparkSession.sparkContext.broadcast(sent)

    def fair(*columns: Any) -> Any:
        use = replace(bare, model=_model(sent if isinstance(sent, str) else sent.value))
        return pa.array(use.fair(use.taken(dict(zip(needed, columns, strict=True)))))

    fair.__annotations__ = dict.fromkeys(fair.__annotations__, pa.Array)  # tells Spark what to pass
    inputs = [spark_column(name) for name in needed]
    return df.withColumn(use.column, pyspark_module("functions").arrow_udf(fair, "double")(*inputs))


@lru_cache(maxsize=4)
def _model(text: str) -> ModelData:
    """The model, read once in each Python worker."""
    return loads(text)
