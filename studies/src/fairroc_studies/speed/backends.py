"""Every way to serve a model beside the others, in one run: prints or writes docs/results/backends.md.

    python -m fairroc_studies backends [--rows 1e6] [--python OTHER/bin/python] [-o docs/results/backends.md]

Two models, fitted on 40,000 rows, and the same rows for all. Each way runs in a process of its own. Start-up is wall
time from the start of that process to its first fair score, with the files it is deployed with (model, SQL, graph)
written before and database servers up; speed is CPU time of all processes of the way, client included, on one thread where it can be
asked for, with the rows where the way has them (arrays, a frame, a table), so that other work on the machine does
not count. The best of ``--repeats`` processes counts, each with two passes. Every fair score is compared with numpy's.
A way whose packages are in none of the Pythons is listed as not measured. Needs Linux, whose /proc tells CPU times.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fairroc import FairModel, FairROC, GroupCodes, frames
from fairroc_studies.harness.jobs import THREADS
from fairroc_studies.harness.tables import million, seconds, table
from fairroc_studies.speed.bench import machine

Rows: TypeAlias = dict[str, Any]
Work: TypeAlias = tuple[Callable[[], Any], Callable[[Any], Any]]
"""What is timed, and how its result becomes an array in the order of the rows."""

MODELS = {"2 groups, order": (2, "order"), "8 groups, drawn": (8, "draw")}
USE: dict[str, Any] = {"score": "p", "group": "g", "id": "id"}
NAMES = np.array(["a", "b", "c", "d", "e", "f", "g", "h"])


def fitted(groups: int, ties: str) -> FairModel:
    rng = np.random.default_rng(0)
    g, y = rng.integers(0, groups, 40_000), rng.integers(0, 2, 40_000)
    score = 1 / (1 + np.exp(-(1.2 * y + (1 + 0.1 * g) * rng.normal(size=40_000))))
    return FairROC(epsilon=0.05, ties=ties, salt=7).fit(score, y, sensitive_features=NAMES[g]).model_


def people(count: int, groups: int) -> Rows:
    rng = np.random.default_rng(1)
    ids, names = rng.permutation(count), NAMES[rng.integers(0, groups, count)]
    return {"n": np.arange(count), "p": rng.random(count), "g": names, "id": ids}


# ---- the ways: each opens a folder with a model's files and gives a function from rows to work -----------------------


def arrays(folder: Path) -> Callable[[Rows], Work]:
    model = FairModel.load(folder / "model.json")
    return lambda rows: (lambda: model.transform(rows["p"], sensitive_features=rows["g"], ids=rows["id"]), np.asarray)


def framed(make: Callable[[Rows], Any]) -> Callable[[Path], Callable[[Rows], Work]]:
    def begin(folder: Path) -> Callable[[Rows], Work]:
        model = FairModel.load(folder / "model.json")

        def load(rows: Rows) -> Work:
            frame = make(rows)
            return lambda: frames.transform(frame, model, **USE), lambda fair: np.asarray(fair["p_fair"])

        return load

    return begin


def pandas_frame(rows: Rows) -> Any:
    return import_module("pandas").DataFrame(rows)


def polars_frame(rows: Rows) -> Any:
    return import_module("polars").DataFrame(rows)


def arrow_table(rows: Rows) -> Any:
    return import_module("pyarrow").table(rows)


def duckdb_sql(query: str) -> Callable[[Path], Callable[[Rows], Work]]:
    def begin(folder: Path) -> Callable[[Rows], Work]:
        from fairroc_studies.speed.sql import DuckDB

        connection = DuckDB().connection
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
    from fairroc_studies.speed.sql import Postgres

    connection = Postgres((folder / "postgres.txt").read_text()).connection
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


def spark(text: bool) -> Callable[[Path], Callable[[Rows], Work]]:
    def begin(folder: Path) -> Callable[[Rows], Work]:
        from pyarrow import parquet

        from fairroc_studies.speed.sql import Spark

        os.environ["PYSPARK_PYTHON"] = sys.executable
        session, model = Spark().session, FairModel.load(folder / "model.json")

        def load(rows: Rows) -> Work:
            path = str(folder / f"{len(rows['n'])}.parquet")
            parquet.write_table(arrow_table(rows), path)
            frame = session.read.parquet(path)
            frame.createOrReplaceTempView("people")
            query = (folder / "spark.sql").read_text()
            fair = session.sql(query) if text else frames.transform(frame, model, **USE)
            return (
                lambda: fair.write.format("noop").mode("overwrite").save(),
                lambda _: np.asarray(fair.orderBy("n").toArrow()["p_fair"]),
            )

        return load

    return begin


def tensors(folder: Path) -> Callable[[Rows], Work]:
    torch, model = import_module("torch"), FairModel.load(folder / "model.json")
    torch.set_num_threads(1)

    def load(rows: Rows) -> Work:
        codes = GroupCodes(torch.tensor(NAMES.searchsorted(rows["g"])), NAMES.tolist())
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


@dataclass(frozen=True)
class Way:
    """A way to serve a model; ``most`` rows are enough where calls are slow."""

    begin: Callable[[Path], Callable[[Rows], Work]]
    modules: tuple[str, ...]
    needs: str
    most: int = 10**9


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
}


def exported(model: FairModel, folder: Path, server: str | None) -> None:
    """What the ways are deployed with."""
    folder.mkdir()
    model.save(folder / "model.json")
    for dialect in ("duckdb", "spark", "postgres"):
        (folder / f"{dialect}.sql").write_text(model.to_sql(dialect, **USE))
    (folder / "function.sql").write_text(model.to_sql("duckdb", form="function", **USE))
    if server is not None:
        (folder / "postgres.txt").write_text(server)
    if has(sys.executable, ("onnx",)):
        graph = model.to_onnx(score="p", group="g", ids="int64")
        (folder / "model.onnx").write_bytes(graph.SerializeToString())


# ---- measuring -------------------------------------------------------------------------------------------------------


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
    start, taken = time.time() - begun, []
    work, collect = load(people(rows, groups))
    for _ in range(2):
        before = cpu_of_all(root)
        found = work()
        taken.append(cpu_of_all(root) - before)
    np.save(folder / "fair.npy", np.asarray(collect(found), dtype=np.float64))
    print(json.dumps({"start": start, "seconds": min(taken)}))


def measure(python: str, name: str, folder: Path, rows: int) -> tuple[float, float, bool]:
    """Start-up, CPU seconds for all rows, and whether all bits are numpy's."""
    asked = ["--child", name, "--folder", str(folder), "--rows", str(rows), "--root", str(os.getpid())]
    begun = ["--begun", repr(time.time())]
    command = [python, "-m", "fairroc_studies", "backends", *asked, *begun]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | dict.fromkeys(THREADS, "1"))
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    fair, expected = np.load(folder / "fair.npy"), np.load(folder / f"{rows}.npy")
    return found["start"], found["seconds"], fair.tobytes() == expected.tobytes()


def has(python: str, modules: tuple[str, ...]) -> bool:
    code = f"from importlib.util import find_spec as f; raise SystemExit(not all(map(f, {modules!r})))"
    return subprocess.run([python, "-c", code]).returncode == 0


@contextmanager
def server() -> Iterator[str | None]:
    """Where a PostgreSQL server listens, started for this run; None where there is none. It refuses to run as root."""
    found = shutil.which("initdb")
    if found is None:
        yield None
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        who: dict[str, Any] = {"cwd": name, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(name, nobody.pw_uid, nobody.pw_gid)
            who |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        make = [found, "-D", "data", "-U", "me", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        subprocess.run(make, check=True, **who)
        postgres = str(Path(found).with_name("postgres"))
        process = subprocess.Popen([postgres, "-D", "data", "-k", name, "-F", "-c", "listen_addresses="], **who)
        try:
            time.sleep(3)
            yield f"host={name} user=me dbname=postgres"
        finally:
            process.terminate()
            process.wait(60)


def all_lines(folder: Path, pythons: list[str], rows: int, repeats: int, where: str | None) -> list[list[str]]:
    """A line of the table for every way."""
    folders = {}
    for number, (groups, ties) in enumerate(MODELS.values()):
        model, place = fitted(groups, ties), folder / str(number)
        exported(model, place, where)
        (place / "groups").write_text(str(groups))
        for count in {min(rows, way.most) for way in WAYS.values()}:
            given = people(count, groups)
            np.save(place / f"{count}.npy", model.transform(given["p"], sensitive_features=given["g"], ids=given["id"]))
        folders[number] = place
    lines = []
    for name, way in WAYS.items():
        python = next((one for one in pythons if has(one, way.modules)), None)
        if python is None or (name == "PostgreSQL" and where is None):
            lines.append([name, *["not measured"] * 2, "", "", f"{way.needs}: not installed here"])
            continue
        count = min(rows, way.most)
        found = [[measure(python, name, place, count) for _ in range(repeats)] for place in folders.values()]
        speeds = [million(count / max(min(one[1] for one in part), 0.01)) for part in found]
        start = seconds(min(one[0] for part in found for one in part))
        equal = "yes" if all(one[2] for part in found for one in part) else "**no**"
        lines.append([name, *speeds, equal, start, way.needs])
        print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
    return lines


PAGE = """# Back ends

The same model and the same rows in every way to serve them: `{command}`, {machine}.

{table}

Rows per second of one core: CPU time of all processes, the client's included, {rows} rows (PostgreSQL and the services fewer), from arrays, a
frame or a table to fair scores; only Spark reads a file. Both models were fitted on 40,000 rows: of two groups in raw order
few people are drawn, but the tables are longer; of eight groups with `ties="draw"` everybody is. Ids are integers, hashed on the way.
Start-up is wall time from the start of a process to its first fair score, on a busy machine; servers of databases were up before. Equal
bits: every fair score is compared with `FairModel.transform`. The best of {repeats} processes counts, each with two passes.

How to get there: [arrays](../guides/python.md), [frames and Spark](../guides/engines.md), [tensors](../guides/tensors.md) ([on a GPU](gpu.md)),
[ONNX](../guides/onnx.md), [SQL](../guides/sql.md).
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--python", action="append", default=[], help="another Python, for packages that this one lacks")
    parser.add_argument("-o", "--output", type=Path, help="page to write (default: standard output)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--begun", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child is not None:
        child(asked.child, asked.folder, int(asked.rows), asked.begun, asked.root)
        return
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, server() as where:
        pythons = [sys.executable, *asked.python]
        lines = all_lines(Path(folder), pythons, int(asked.rows), asked.repeats, where)
    head = ["back end", *(f"rows/s, {name}" for name in MODELS), "equal bits", "start-up, s", "needs"]
    page = PAGE.format(
        command="python -m fairroc_studies backends",
        machine=machine(),
        table=table(head, lines),
        rows=f"{int(asked.rows):,}",
        repeats=asked.repeats,
    )
    if asked.output is None:
        print(page, end="")
    else:
        asked.output.write_text(page)
