"""A model's transform written as SQL, for the engines that hold the scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fairroc.backends.sql import buckets, dbt, duckdb, postgres
from fairroc.backends.sql.bigquery import BigQuery
from fairroc.backends.sql.common import Ask
from fairroc.backends.sql.snowflake import Snowflake
from fairroc.backends.sql.spark import Spark
from fairroc.errors import warn_user
from fairroc.model.model import ModelData

WRITERS: dict[str, Callable[[Ask], str]] = {
    "duckdb": duckdb.write,
    "spark": partial(buckets.write, Spark()),
    "postgres": postgres.write,
    "bigquery": partial(buckets.write, BigQuery()),
    "snowflake": partial(buckets.write, Snowflake()),
}

MOST_TEXT = {"bigquery": 1_000_000, "snowflake": 1_000_000}
"""Bytes of a query: BigQuery takes no more, Snowflake recommends no more."""


def to_sql(model: ModelData, dialect: str, **asked: Any) -> str:
    """Write a model's transform as SQL; `FairModel.to_sql` documents it."""
    ask = Ask.checked(model, dialect, **asked)
    text = WRITERS[dialect](ask) if ask.form != "dbt" else dbt.macro(ask, WRITERS[dialect])
    size, most = len(text.encode()), MOST_TEXT.get(dialect)
    if most is not None and size > most:
        warn_user(
            f"the query has {size:,} bytes, but should have {most:,} at most: BigQuery refuses longer ones, Snowflake "
            "advises against them. Let it read its numbers from tables (tables=, on the command line: --tables)."
        )
    return text
