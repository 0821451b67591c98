"""A model's transform written as SQL, for engines that hold the scores: DuckDB, Spark and PostgreSQL."""

from fairroc.backends.sql.write import to_sql

__all__ = ["to_sql"]
