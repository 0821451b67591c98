"""A model's transform written as SQL, for engines that hold the scores: DuckDB, Spark and PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from fairroc.backends.sql import duckdb, postgres, spark
from fairroc.backends.sql.ask import Ask
from fairroc.model.model import ModelData

__all__ = ["to_sql"]

WRITERS = {"duckdb": duckdb.write, "spark": spark.write, "postgres": postgres.write}


def to_sql(
    model: ModelData,
    dialect: str,
    *,
    form: str | None = None,
    table: str = "people",
    score: str = "score",
    group: str | Sequence[str] = "group",
    id: str = "id",
    id_type: str = "integer",
    column: str | None = None,
    function: str = "fair_score",
    key: bytes | str | None = None,
    on_unknown_group: str | None = None,
) -> str:
    """Write a model's transform as SQL; `FairModel.to_sql` documents it."""
    ask = Ask.checked(
        model,
        dialect,
        form=form,
        table=table,
        score=score,
        group=group,
        id=id,
        id_type=id_type,
        column=column,
        function=function,
        key=key,
        on_unknown_group=on_unknown_group,
    )
    return WRITERS[dialect](ask)
