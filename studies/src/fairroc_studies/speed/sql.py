"""How fast a model runs as SQL, on one core of each engine: prints the table of docs/results/sql.md.

    python -m fairroc_studies sql [--rows 1000000] [--postgres "host=/tmp dbname=test user=me"]
    python -m fairroc_studies sql --sizes scores.csv.gz   only how long the SQL is, fitted on score, label and group

Three groups, fitted on 40,000 rows, with ties drawn (everybody is drawn) and in order (few are). Ids are integers or
UUIDs as text. What is timed is reading a table, transforming it and throwing the result away (DuckDB keeps it), in CPU
seconds of the engine's process, so that other work on the machine does not count. Spark's third run is taken: the first
ones compile. Engines that are not installed, or not given, are left out. Every result is compared with numpy, bit for
bit. Needs Linux, whose /proc tells the CPU time of another process.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.csv import read_csv

from fairroc import FairModel, FairROC
from fairroc.backends.sql import WRITERS
from fairroc.backends.sql.lists import csv_files

GROUPS = np.array(["f", "m", "x"])


def fitted(draw: str) -> FairModel:
    rng = np.random.default_rng(0)
    g, y = rng.integers(0, 3, 40_000), rng.integers(0, 2, 40_000)
    score = 1 / (1 + np.exp(-(1.2 * y + np.array([1.0, 1.6, 1.6])[g] * rng.normal(size=40_000))))
    return FairROC(epsilon=0.05, promise="fitted", draw=draw, salt=7).fit(score, y, sensitive_features=GROUPS[g]).model_


def people(rows: int, id_type: str) -> pa.Table:
    rng = np.random.default_rng(1)
    ids = rng.integers(-(2**63), 2**63 - 1, rows)
    texts = [str(uuid.UUID(int=int(i) % 2**128)) for i in ids] if id_type == "text" else ids
    groups = pa.array(GROUPS[rng.integers(0, 3, rows)])
    return pa.table({"n": np.arange(rows), "score": rng.random(rows), "group": groups, "id": texts})


def check(model: FairModel, table: pa.Table, numbers: Any, fair: Any) -> None:
    expected = model.transform(table["score"], sensitive_features=table["group"], ids=table["id"])
    found = np.asarray(fair, dtype=float)[np.argsort(np.asarray(numbers))]
    if not np.array_equal(found.view(np.int64), expected.view(np.int64)):
        raise SystemExit("SQL and numpy differ")


def cpu_of(process: int) -> float:
    """Seconds that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class DuckDB:
    """In this process, on one thread."""

    name, dialect = "DuckDB", "duckdb"

    def __init__(self) -> None:
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")

    def run(self, model: FairModel, table: pa.Table, id_type: str) -> float:
        self.connection.register("given", table)
        self.connection.execute("CREATE OR REPLACE TABLE people AS FROM given")
        begin = time.process_time()
        self.connection.execute("CREATE OR REPLACE TABLE fair AS " + model.to_sql("duckdb", id_type=id_type))
        taken = time.process_time() - begin
        found = self.connection.execute("SELECT n, score_fair FROM fair").fetchnumpy()
        check(model, table, found["n"], found["score_fair"])
        return taken


class Spark:
    """A local session with one core."""

    name, dialect = "Spark", "spark"

    def __init__(self) -> None:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        self.session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")

    def _cpu(self) -> float:
        gateway: Any = self.session.sparkContext._gateway
        return cpu_of(gateway.proc.pid)

    def run(self, model: FairModel, table: pa.Table, id_type: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            pq.write_table(table, Path(folder) / "people.parquet")
            self.session.read.parquet(f"{folder}/people.parquet").createOrReplaceTempView("people")
            query = model.to_sql("spark", id_type=id_type)
            for _ in range(3):
                begin = self._cpu()
                self.session.sql(query).write.format("noop").mode("overwrite").save()
                taken = self._cpu() - begin
            self.session.sql(query).select("n", "score_fair").write.parquet(f"{folder}/fair")
            found = pq.read_table(f"{folder}/fair")
        check(model, table, found["n"], found["score_fair"])
        return taken


class Postgres:
    """A server on this machine, without parallel workers."""

    name, dialect = "PostgreSQL", "postgres"

    def __init__(self, where: str) -> None:
        import psycopg

        self.connection = psycopg.connect(where, autocommit=True, prepare_threshold=None)
        self.connection.execute("SET max_parallel_workers_per_gather = 0")

    def _cpu(self) -> float:
        return cpu_of(self.connection.info.backend_pid)

    def run(self, model: FairModel, table: pa.Table, id_type: str) -> float:
        kind = "bigint" if id_type == "integer" else "text"
        self.connection.execute(f'CREATE TEMPORARY TABLE people (n int, score float8, "group" text, id {kind})')
        with self.connection.cursor() as cursor, cursor.copy("COPY people FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
        self.connection.execute(model.to_sql("postgres", id_type=id_type))
        begin = self._cpu()
        self.connection.execute('SELECT sum(fair_score(score, "group", id)) FROM people').fetchall()
        taken = self._cpu() - begin
        found = self.connection.execute('SELECT n, fair_score(score, "group", id) FROM people').fetchall()
        check(model, table, *zip(*found, strict=True))
        self.connection.execute("DROP TABLE people")
        return taken


def engines(postgres: str | None) -> Iterator[Any]:
    makes: list[Callable[[], Any]] = [DuckDB, Spark, *([partial(Postgres, postgres)] if postgres else [])]
    for make in makes:
        try:
            yield make()
        except ImportError as error:
            print(f"left out: {error}")


def sizes(path: str) -> None:
    """Kilobytes of SQL with the model's numbers in it, and with them in files beside it."""
    rows = read_csv(path)
    columns = {name: rows[name].to_numpy(zero_copy_only=False) for name in ("score", "label", "group")}
    heading = "| dialect | ids | SQL, kB | SQL beside tables, kB | tables as CSV, kB |\n|---|---|---|---|---|"
    for draw in ("few", "all"):
        post = FairROC(epsilon=0.05, promise="fitted", draw=draw, salt=7)
        model = post.fit(columns["score"], columns["label"], sensitive_features=columns["group"]).model_
        assert model.tables is not None
        print(f"draw={draw!r}: {len(model.tables.cells.row)} cells, {len(model.tables.knots.y)} knots\n{heading}")
        files = sum(map(len, csv_files(model.tables).values())) / 1e3
        for dialect in WRITERS:
            for id_type in ("integer", "text"):
                whole = len(model.to_sql(dialect, id_type=id_type)) / 1e3
                short = "" if dialect == "postgres" else len(model.to_sql(dialect, id_type=id_type, tables="f")) / 1e3
                shown = f"{short:.0f} | {files:.0f}" if short else "– | –"
                print(f"| {dialect} | {id_type} | {whole:.0f} | {shown} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--postgres", metavar="WHERE", help="connection string of a server on this machine")
    parser.add_argument("--sizes", metavar="FILE", help="CSV with score, label and group: print how long the SQL is")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.sizes is not None:
        sizes(arguments.sizes)
        return
    models = {draw: fitted(draw) for draw in ("all", "few")}
    print("| engine | draw | ids | SQL, MB | CPU seconds | rows per CPU second |\n|---|---|---|---|---|---|")
    for engine in engines(arguments.postgres):
        for draw, model in models.items():
            for id_type in ("integer", "text"):
                size = len(model.to_sql(engine.dialect, id_type=id_type)) / 1e6
                taken = engine.run(model, people(arguments.rows, id_type), id_type)
                speed = f"{arguments.rows / taken:,.0f}"
                print(f"| {engine.name} | {draw} | {id_type} | {size:.1f} | {taken:.1f} | {speed} |", flush=True)
