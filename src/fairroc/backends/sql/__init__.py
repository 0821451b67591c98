"""A model's transform written as SQL, for engines that hold the scores: DuckDB, Spark and PostgreSQL."""

from __future__ import annotations

from typing import Any

from fairroc.backends.sql import duckdb, postgres, spark
from fairroc.backends.sql.common import Ask
from fairroc.model.model import ModelData

WRITERS = {"duckdb": duckdb.write, "spark": spark.write, "postgres": postgres.write}


def to_sql(model: ModelData, dialect: str, **asked: Any) -> str:
    """Write a model's transform as SQL; `FairModel.to_sql` documents it."""
    ask = Ask.checked(model, dialect, **asked)
    return WRITERS[dialect](ask)
