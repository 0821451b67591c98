"""Tables larger than memory: rows per second, peak memory, and time beside that of decoding the file alone.

    python -m fairroc_studies streaming                                  # 1e7 rows, about a minute
    python -m fairroc_studies streaming --rows 1e7 1e8 --folder /tmp     # needs 2 GB of disk there for each file

Two Parquet files of (id, p, y, sex): scores rounded to four digits, and not rounded at all. Every line is a process of
its own: seconds and CPU seconds of the command without loading modules, peak resident memory of the whole process.
"Decode" reads the three columns that a fit reads, by the same reader (groups as dictionaries); "plain decode" does so
by pyarrow's defaults. Ratios are to "decode". Files are made before and removed after.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from fairroc.options import MAX_DISTINCT, Options
from fairroc.people import streaming
from fairroc_studies.harness.tables import table

CHUNK = 1 << 20
NAMES = ["--score", "p", "--label", "y", "--group", "sex"]
DRAWS = ["--score", "p", "--group", "sex", "--id", "id"]


def generate(path: Path, rows: int, digits: int | None) -> None:
    """Write a table of two groups; the score says less about group F."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    schema = pa.schema([("id", pa.int64()), ("p", pa.float64()), ("y", pa.int8()), ("sex", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, rows, CHUNK):
            n = min(CHUNK, rows - begin)
            sex, p = rng.integers(0, 2, n, dtype=np.int8), rng.random(n)
            y = rng.random(n) < np.where(sex, p, 0.25 + p / 2)
            p = p if digits is None else p.round(digits)
            group = pa.DictionaryArray.from_arrays(sex, ["F", "M"]).cast(pa.string())
            columns = [np.arange(begin, begin + n), p, y.astype(np.int8), group]
            writer.write_table(pa.table(columns, schema=schema))


def child(words: list[str]) -> None:
    """Run one task and print what it took."""
    import resource

    from fairroc.auditing import audit as auditing  # noqa: F401 - loaded beforehand
    from fairroc.backends import files as rewriting  # noqa: F401 - loaded beforehand
    from fairroc.cli.main import main
    from fairroc.fitting import certificate  # noqa: F401 - loaded beforehand
    from fairroc.fitting import fit as fitting
    from fairroc.tables.columns import ColumnNames
    from fairroc.tables.files import find_parts
    from fairroc.tables.read import read_batches
    from fairroc.text import audit  # noqa: F401

    error = None
    begin, cpu = time.perf_counter(), time.process_time()
    if words[0] == "decode":
        parts = find_parts(words[1])
        rows = sum(b.rows.num_rows for b in read_batches(parts, ["p", "y", "sex"], categories=["sex"]))
        assert rows == int(words[2])
    elif words[0] == "plain decode":
        import pyarrow.parquet as pq

        with pq.ParquetFile(words[1]) as file:
            rows = sum(batch.num_rows for batch in file.iter_batches(1 << 18, columns=["p", "y", "sex"]))
            assert rows == int(words[2])
    elif words[0] == "count":
        names = ColumnNames("p", ("sex",), "y")
        counts = streaming.count_table(find_parts(words[1]), names, most=int(words[3]))
        if words[2] != "count":
            options = Options.checked(epsilon=0.05, promise="fitted", queries=int(words[2]) or None)
            fitting.fit(counts.people(), options)
        error = counts.error
    else:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = main(words)
        assert code == 0, words
    took = time.perf_counter() - begin, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # kB on Linux
    print(json.dumps([*took, peak, error]))


def measured(words: list[str]) -> list[float]:
    command = [sys.executable, "-m", "fairroc_studies", "streaming", "--child", json.dumps(words)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def tasks(data: str, rows: int, folder: Path) -> dict[str, list[str]]:
    model, stream = str(folder / "model.json"), ["--stream"]
    exact, bins = str(MAX_DISTINCT.default), str(1 << 20)
    fit = ["fit", data, *NAMES, "--epsilon", "0.05", "--promise", "fitted", "-o", model, *stream]
    return {
        "decode": ["decode", data, str(rows)],
        "plain decode": ["plain decode", data, str(rows)],
        "count": ["count", data, "count", exact],
        "count, fit": ["count", data, "0", exact],
        "count, fit with queries=1024": ["count", data, "1024", exact],
        "count, fit with queries=1024 and max_distinct=2**20": ["count", data, "1024", bins],
        "`fairroc fit` (with certificate and outlook)": fit,
        "`fairroc audit --bootstrap 0`": ["audit", data, *NAMES, "--bootstrap", "0", *stream],
        "`fairroc transform`": ["transform", data, *DRAWS, "--model", model, "-o", str(folder / "o.parquet"), *stream],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=float, default=[1e7])
    parser.add_argument("--digits", nargs="+", choices=["4", "all"], default=["4", "all"])
    parser.add_argument("--folder", default=None, help="where to make the files (default: the system's)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(json.loads(arguments.child))
        return
    lines = []
    for rows in map(int, arguments.rows):
        for digits in arguments.digits:
            with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
                data = Path(place) / "people.parquet"
                generate(data, rows, None if digits == "all" else int(digits))
                decode = (0.0, 0.0)
                for task, words in tasks(str(data), rows, Path(place)).items():
                    seconds, cpu, peak, error = measured(words)
                    decode = (seconds, cpu) if task == "decode" else decode
                    ratio = [f"{seconds / decode[0]:.1f}", f"{cpu / decode[1]:.1f}"]
                    bound = "" if error is None else f"{error:.1g}"
                    size = f"{rows:.0e}".replace("e+0", "e")
                    figures = [f"{rows / seconds / 1e6:.1f}", f"{seconds:.2f}", f"{cpu:.2f}", *ratio, f"{peak:.2f}"]
                    lines.append([size, digits, task, *figures, bound])
                    print(*lines[-1], sep="\t", file=sys.stderr, flush=True)
    head = [
        "rows",
        "digits",
        "task",
        "M rows/s",
        "s",
        "CPU s",
        "s / decode",
        "CPU s / decode",
        "peak GB",
        "count error",
    ]
    print(table(head, lines))
