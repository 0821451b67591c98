"""Every way to serve a model beside the others, in one run: prints or writes docs/results/backends.md.

    python -m fairroc_studies backends [--rows 1e6] [--python OTHER/bin/python] [-o docs/results/backends.md]

Two models, fitted on 40,000 rows, and the same rows for all. Each way runs in a process of its own, see
`fairroc_studies.speed.ways`. Start-up is from the start of that process to its first fair score, in wall and CPU
time; the files that it is deployed with (model, SQL, graph) are there, and database servers are up. Speed is CPU time
of all processes of the way, the client included, on one thread where that can be asked for, so that other work on the
machine does not count; rows are where the way has them (arrays, a frame, a table). The best of ``--repeats``
processes counts. Every fair score is compared with numpy's. A way whose packages are in none of the Pythons is listed
as not measured. Needs Linux, whose /proc tells CPU times.
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
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from fairroc import FairModel, FairROC
from fairroc_studies.harness.jobs import THREADS
from fairroc_studies.harness.tables import seconds, table
from fairroc_studies.speed.bench import machine
from fairroc_studies.speed.ways import NAMES, USE, WAYS, people

MODELS = {"2 groups, order": (2, "few"), "8 groups, drawn": (8, "all")}


def fitted(groups: int, draw: str) -> FairModel:
    rng = np.random.default_rng(0)
    g, y = rng.integers(0, groups, 40_000), rng.integers(0, 2, 40_000)
    score = 1 / (1 + np.exp(-(1.2 * y + np.linspace(1.0, 1.6, groups)[g] * rng.normal(size=40_000))))
    return FairROC(epsilon=0.05, promise="fitted", draw=draw, salt=7).fit(score, y, sensitive_features=NAMES[g]).model_


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
    if has(sys.executable, WAYS["MLflow pyfunc"].modules):
        import_module("fairroc.mlflow").save_model(model, folder / "mlflow", **USE)


def measure(python: str, name: str, folder: Path, rows: int) -> tuple[tuple[float, float], float, bool]:
    """Start-up in wall and in CPU seconds, CPU seconds for all rows, and whether all bits are numpy's."""
    asked = [name, str(folder), str(rows), repr(time.time()), str(os.getpid())]
    command = [python, "-m", "fairroc_studies.speed.ways", *asked]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | dict.fromkeys(THREADS, "1"))
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    fair, expected = np.load(folder / "fair.npy"), np.load(folder / f"{rows}.npy")
    return tuple(found["start"]), found["seconds"], fair.tobytes() == expected.tobytes()


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
    folders = []
    for number, (groups, draw) in enumerate(MODELS.values()):
        model, place = fitted(groups, draw), folder / str(number)
        exported(model, place, where)
        (place / "groups").write_text(str(groups))
        for count in {min(rows, way.most) for way in WAYS.values()}:
            given = people(count, groups)
            np.save(place / f"{count}.npy", model.transform(given["p"], sensitive_features=given["g"], ids=given["id"]))
        folders.append(place)
    lines = []
    for name, way in WAYS.items():
        python = next((one for one in pythons if has(one, way.modules)), None)
        if python is None or (name == "PostgreSQL" and where is None):
            lines.append([name, *["not measured"] * 2, "", "", f"{way.needs}: not installed here"])
            continue
        count = min(rows, way.most)
        found = [[measure(python, name, place, count) for _ in range(repeats)] for place in folders]
        speeds = [two_figures(count / min(one[1] for one in part)) for part in found]
        wall, cpu = (seconds(min(one[0][i] for part in found for one in part)) for i in range(2))
        equal = "yes" if all(one[2] for part in found for one in part) else "**no**"
        lines.append([name, *speeds, equal, f"{wall} ({cpu})", way.needs])
        print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
    return lines


def two_figures(value: float) -> str:
    return f"{int(float(f'{value:.1e}')):,}"


PAGE = """# Back ends

The same model and the same rows in every way to serve them: `{command}`, {machine}.

{table}

Rows per second of one core, by CPU time of all processes, the client's included: from arrays, a frame or a table to
fair scores (only Spark reads a file). {rows} rows; PostgreSQL and the services got fewer. Both models were fitted on
40,000 rows: of two groups in raw order few people are drawn, but the tables are longer; of eight groups with
`draw="all"` everybody is drawn. Ids are integers and hashed on the way. Start-up is from the start of a process to
its first fair score: wall time, on a busy machine that can easily double it, and CPU time in brackets; database
servers were up before. Equal bits: every fair score is compared with `FairModel.transform`. The best of {repeats}
processes counts.

How to get there: [arrays](../guides/python.md), [frames and Spark](../guides/engines.md),
[tensors](../guides/tensors.md) ([on a GPU](gpu.md)), [ONNX](../guides/onnx.md), [SQL](../guides/sql.md),
[MLflow](../guides/mlflow.md), [the service](../guides/service.md).

[Where a newcomer stumbled](fresh-machine.md) on the way from a model file to each of them.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument(
        "--python", action="append", default=[], help="another Python, for packages that this one lacks"
    )
    parser.add_argument("-o", "--output", type=Path, help="page to write (default: standard output)")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, server() as where:
        pythons = [sys.executable, *asked.python]
        lines = all_lines(Path(folder), pythons, int(asked.rows), asked.repeats, where)
    head = ["back end", *(f"rows/s, {name}" for name in MODELS), "equal bits", "start-up, s (CPU s)", "needs"]
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
