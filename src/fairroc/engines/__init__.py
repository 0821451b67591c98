"""The same counts, models and fair scores where the data lies: frames, DuckDB, Dask and Spark (docs/engines.md)."""
