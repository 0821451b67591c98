"""The ways to serve a model that `fairroc_studies.speed.backends` compares, each run in a process of its own by
``python -m fairroc_studies.speed.ways NAME FOLDER ROWS BEGUN ROOT``: nothing is imported that a way does not need.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias

import numpy as np

Rows: TypeAlias = dict[str, Any]
Work: TypeAlias = tuple[Callable[[], Any], Callable[[Any], Any]]
"""What is timed, and how its result becomes an array in the order of the rows."""

Begin: TypeAlias = Callable[[Path], Callable[[Rows], Work]]
"""Opens a folder with a model's files, and gives a function from rows to work."""

USE: dict[str, Any] = {"score": "p", "group": "g", "id": "id"}
NAMES = np.array(["a", "b", "c", "d", "e", "f", "g", "h"])
LEAST = 1.0
"""CPU seconds that a way works at least."""


def people(count: int, groups: int) -> Rows:
    rng = np.random.default_rng(1)
    ids, names = rng.permutation(count), NAMES[rng.integers(0, groups, count)]
    return {"n": np.arange(count), "p": rng.random(count), "g": names, "id": ids}


def load_model(folder: Path) -> Any:
    return import_module("fairroc").FairModel.load(folder / "model.json")


def arrays(folder: Path) -> Callable[[Rows], Work]:
    model = load_model(folder)
    return lambda rows: (lambda: model.transform(rows["p"], sensitive_features=rows["g"], ids=rows["id"]), np.asarray)


def framed(make: Callable[[Rows], Any]) -> Begin:
    def begin(folder: Path) -> Callable[[Rows], Work]:
        model = load_model(folder)

        def load(rows: Rows) -> Work:
            frame, transform = make(rows), import_module("fairroc.frames").transform
            return lambda: transform(frame, model, **USE), lambda fair: np.asarray(fair["p_fair"])

        return load

    return begin


def pandas_frame(rows: Rows) -> Any:
    return import_module("pandas").DataFrame(rows)


def polars_frame(rows: Rows) -> Any:
    return import_module("polars").DataFrame(rows)


def arrow_table(rows: Rows) -> Any:
    return import_module("pyarrow").table(rows)


def duckdb_sql(query: str) -> Begin:
    def begin(folder: Path) -> Callable[[Rows], Work]:
        connection = import_module("duckdb").connect(config={"threads": 1})
        if "{" not in query:
            connection.execute((folder / "function.sql").read_text())
        text = query.format((folder / "duckdb.sql").read_text())

        def load(rows: Rows) -> Work:
            connection.register("given", arrow_table(rows))
            connection.execute("CREATE OR REPLACE TABLE people AS FROM given")
            order = "SELECT p_fair FROM fair ORDER BY n"
            return (
                lambda: connection.execute(f"CREATE OR REPLACE TABLE fair AS {text}"),
                lambda _: connection.execute(order).fetchnumpy()["p_fair"],
            )

        return load

    return begin


def postgres(folder: Path) -> Callable[[Rows], Work]:
    where = (folder / "postgres.txt").read_text()
    connection = import_module("psycopg").connect(where, autocommit=True, prepare_threshold=None)
    connection.execute("SET max_parallel_workers_per_gather = 0")
    connection.execute((folder / "postgres.sql").read_text())

    def load(rows: Rows) -> Work:
        connection.execute("DROP TABLE IF EXISTS people")
        connection.execute("CREATE TEMPORARY TABLE people (n int, p float8, g text, id bigint)")
        with connection.cursor() as cursor, cursor.copy("COPY people FROM STDIN") as copy:
            for row in zip(*(column.tolist() for column in rows.values()), strict=True):
                copy.write_row(row)
        fair = "fair_score(p, g, id)"
        return (
            lambda: connection.execute(f"SELECT sum({fair}) FROM people").fetchall(),
            lambda _: np.array(connection.execute(f"SELECT {fair} FROM people ORDER BY n").fetchall())[:, 0],
        )

    return load


def spark(text: bool) -> Begin:
    def begin(folder: Path) -> Callable[[Rows], Work]:
        from pyarrow import parquet

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = import_module("pyspark.sql").SparkSession.builder.master("local[1]")
        session = builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR").getOrCreate()

        def load(rows: Rows) -> Work:
            path = str(folder / f"{len(rows['n'])}.parquet")
            parquet.write_table(arrow_table(rows), path)
            frame = session.read.parquet(path)
            frame.createOrReplaceTempView("people")
            if text:
                fair = session.sql((folder / "spark.sql").read_text())
            else:
                fair = import_module("fairroc.frames").transform(frame, load_model(folder), **USE)
            return (
                lambda: fair.write.format("noop").mode("overwrite").save(),
                lambda _: np.asarray(fair.orderBy("n").toArrow()["p_fair"]),
            )

        return load

    return begin


def tensors(folder: Path) -> Callable[[Rows], Work]:
    torch, model = import_module("torch"), load_model(folder)
    torch.set_num_threads(1)

    def load(rows: Rows) -> Work:
        codes = import_module("fairroc").GroupCodes(torch.tensor(NAMES.searchsorted(rows["g"])), NAMES.tolist())
        score, ids = torch.tensor(rows["p"]), torch.tensor(rows["id"])
        return lambda: model.transform(score, sensitive_features=codes, ids=ids), lambda fair: fair.numpy()

    return load


def onnx(folder: Path) -> Callable[[Rows], Work]:
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])

    def load(rows: Rows) -> Work:
        given = {"p": rows["p"], "g": rows["g"].astype(object), "id": rows["id"]}
        return lambda: session.run(["fair_score"], given)[0], np.asarray

    return load


def service(size: int) -> Begin:
    """So many people with each request."""

    def begin(folder: Path) -> Callable[[Rows], Work]:
        command = [sys.executable, "-m", "fairroc", "serve", "--model", str(folder / "model.json"), "--port", "0"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        atexit.register(process.terminate)
        found = re.search(r":(\d+),", process.stderr.readline() if process.stderr else "")
        assert found is not None and process.stderr is not None
        Thread(target=process.stderr.read, daemon=True).start()  # its log
        connection = HTTPConnection("127.0.0.1", int(found[1]))

        def ask(scores: list[float], groups: list[str], ids: list[int]) -> list[float]:
            people = {"scores": scores, "groups": groups, "ids": ids}
            connection.request("POST", "/v1/scores", json.dumps(people), {"Content-Type": "application/json"})
            fair: list[float] = json.loads(connection.getresponse().read())["fair_scores"]
            return fair

        def load(rows: Rows) -> Work:
            columns = [rows[name].tolist() for name in ("p", "g", "id")]
            parts = [[column[i : i + size] for column in columns] for i in range(0, len(rows["n"]), size)]
            return lambda: [score for part in parts for score in ask(*part)], np.asarray

        return load

    return begin


def mlflow(folder: Path) -> Callable[[Rows], Work]:
    model = import_module("mlflow.pyfunc").load_model(str(folder / "mlflow"))

    def load(rows: Rows) -> Work:
        frame = pandas_frame({name: rows[name] for name in ("p", "g", "id")})
        return lambda: model.predict(frame), np.asarray

    return load


@dataclass(frozen=True)
class Way:
    """A way to serve a model; ``most`` rows are enough where calls are slow."""

    begin: Begin
    modules: tuple[str, ...]
    needs: str
    most: int = 10**9


SERVED = ("fairroc.serving", "starlette", "uvicorn")
WAYS = {
    "numpy arrays": Way(arrays, (), "Python, fairroc"),
    "pandas": Way(framed(pandas_frame), ("pandas",), "Python, fairroc, pandas"),
    "polars": Way(framed(polars_frame), ("polars",), "Python, `fairroc[polars]`"),
    "Arrow table": Way(framed(arrow_table), ("pyarrow",), "Python, fairroc"),
    "torch, CPU": Way(tensors, ("torch",), "Python, `fairroc[torch]`"),
    "ONNX Runtime": Way(onnx, ("onnx", "onnxruntime"), "ONNX Runtime 1.18, in any language"),
    "DuckDB, query": Way(duckdb_sql("{}"), ("duckdb",), "DuckDB 1.3"),
    "DuckDB, macro": Way(duckdb_sql("SELECT * FROM fair_score('people')"), ("duckdb",), "DuckDB 1.3"),
    "PostgreSQL": Way(postgres, ("psycopg",), "a PostgreSQL server", 200_000),
    "Spark SQL": Way(spark(True), ("pyspark",), "Spark 3.5 or newer"),
    "Spark frame": Way(spark(False), ("pyspark",), "Spark, `fairroc[spark]` on the executors"),
    "MLflow pyfunc": Way(mlflow, ("fairroc.mlflow", "mlflow"), "Python, `fairroc[mlflow]`"),
    "REST, 1,000 people a request": Way(service(1000), SERVED, "`fairroc[serve]`", 100_000),
    "REST, one person a request": Way(service(1), SERVED, "`fairroc[serve]`", 1000),
}


def cpu_of_all(root: int) -> float:
    """CPU seconds of a process and of all that descend from it."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        found[int(path.parent.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
    family = {root}
    while more := {one for one, (parent, _) in found.items() if parent in family} - family:
        family |= more
    return sum(found[one][1] for one in family if one in found) / os.sysconf("SC_CLK_TCK")


def child(name: str, folder: Path, rows: int, begun: float, root: int) -> None:
    """Open a way, time its first row and then all rows."""
    warnings.simplefilter("ignore")
    load = WAYS[name].begin(folder)
    groups = int((folder / "groups").read_text())
    work, collect = load(people(1, groups))
    collect(work())
    start = time.time() - begun, cpu_of_all(os.getpid())
    work, collect = load(people(rows, groups))
    found, calls, before = work(), 0, cpu_of_all(root)
    while (taken := cpu_of_all(root) - before) < LEAST or not calls:
        found, calls = work(), calls + 1
    np.save(folder / "fair.npy", np.asarray(collect(found), dtype=np.float64))
    print(json.dumps({"start": start, "seconds": taken / calls}))


if __name__ == "__main__":
    child(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
