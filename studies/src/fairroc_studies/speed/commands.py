"""What a user waits for: whole commands from Parquet, beside a process that reads the file and computes ROC curves.

    python -m fairroc_studies commands                               # 1e6 rows, 2 to 1,000 groups: about ten minutes
    python -m fairroc_studies commands --only growth --rows 1e4 1e5 1e6 1e7 1e8 --folder /tmp   # 1e8 needs 2 GB there

CPU seconds (user and system, one thread) and peak memory of whole processes, start of the interpreter included; every
process takes its turn in every round, and the best round counts. "roc_curve" reads the same file by pandas and computes
scikit-learn's `roc_curve` once for each group. Growth: CPU seconds along rows, groups and number of different scores,
and the exponent between neighbours (1: in proportion).
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from fairroc.cli.output import progress_bar
from fairroc_studies.harness.tables import table

NAMES = ["--score", "score", "--label", "label", "--group", "group"]

ROC_CURVES = """
import sys
import pandas
from sklearn.metrics import roc_curve
for _, part in pandas.read_parquet(sys.argv[1]).groupby("group"):
    roc_curve(part.label, part.score)
"""

GOALS = {2: 1.0, 8: 1.2, 32: 2.0}
"""Most that fit and audit of a million rows are to cost, times roc_curve."""

EPSILONS = ",".join(f"{0.01 * k:.2f}" for k in range(1, 51))
CHUNK = 1 << 22
PARTS = ("whole", "many", "report", "growth")


@dataclass(frozen=True)
class Data:
    """A table of people; ``distinct``: scores are rounded to so many."""

    rows: int
    groups: int
    distinct: int | None = None

    def written(self, folder: Path) -> Path:
        """Its Parquet file. Every group has a shift and a separation of its own, and people of both labels."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = folder / f"{self.rows}-{self.groups}-{self.distinct}.parquet"
        if path.exists():
            return path
        rng = np.random.default_rng(self.groups)
        shift, apart = rng.normal(0.0, 0.5, self.groups), 1.0 + rng.random(self.groups)
        share, names = 0.2 + 0.3 * rng.random(self.groups), [f"g{g}" for g in range(self.groups)]
        schema = pa.schema([("score", pa.float64()), ("label", pa.int64()), ("group", pa.string())])
        with pq.ParquetWriter(path, schema) as writer:
            for begin in range(0, self.rows, CHUNK):
                row = np.arange(begin, min(begin + CHUNK, self.rows))
                group, turn = row % self.groups, row // self.groups
                label = np.where(turn < 2, turn == 1, rng.random(len(row)) < share[group])
                score = 1 / (1 + np.exp(-rng.normal(size=len(row)) - shift[group] - apart[group] * label))
                if self.distinct is not None:
                    score = np.floor(score * self.distinct) / self.distinct
                coded = pa.DictionaryArray.from_arrays(group.astype(np.int32), names).cast(pa.string())
                writer.write_table(pa.table([score, label.astype(np.int64), coded], schema=schema))
        return path


@dataclass(frozen=True)
class Cost:
    """CPU seconds and peak megabytes of a process, or the best of several."""

    seconds: float = math.inf
    megabytes: float = math.inf

    def best(self, other: Cost) -> Cost:
        return Cost(min(self.seconds, other.seconds), min(self.megabytes, other.megabytes))


def run(command: list[str]) -> Cost:
    """Run a process, and what it took."""
    own = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    own.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, env=own)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1):
            said.seek(0)
            raise RuntimeError(f"{' '.join(command)} failed: {said.read().decode()[-500:]}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def command(name: str, path: Path, folder: Path) -> list[str]:
    """A command line, or the process of ROC curves."""
    if name == "roc_curve":
        return [sys.executable, "-c", ROC_CURVES, str(path)]
    if name == "help":
        return [sys.executable, "-m", "fairroc", "--help"]
    fitted = ["--promise", "fitted"]
    more = {
        "fit": [*fitted, "--epsilon", "0.05", "-o", str(folder / "model.json")],
        "fit, draw": [*fitted, "--epsilon", "0.05", "--draw", "all", "-o", str(folder / "model.json")],
        "audit": [],
        "report": [*fitted, "--epsilon", "0.05", "-o", str(folder / "report.html")],
        "frontier": [*fitted, "--epsilons", EPSILONS],
        "frontier, draw": [*fitted, "--draw", "all", "--epsilons", EPSILONS],
    }[name]
    return [sys.executable, "-m", "fairroc", name.partition(",")[0], str(path), *NAMES, *more]


def measured(data: Data, names: Sequence[str], rounds: int, folder: Path) -> dict[str, Cost]:
    """Every command once, then every one again."""
    with ProcessPoolExecutor(1, get_context("spawn")) as other:  # a child's peak memory is no less than its parent's
        path = other.submit(data.written, folder).result()
    found = {name: Cost() for name in names}
    for _ in range(rounds):
        for name in names:
            found[name] = found[name].best(run(command(name, path, folder)))
    return found


def whole(rounds: int, folder: Path) -> str:
    """Fit and audit of a million rows beside roc_curve."""
    rows = []
    for groups, goal in GOALS.items():
        cost = measured(Data(10**6, groups), ("roc_curve", "fit", "audit"), rounds, folder)
        base = cost["roc_curve"].seconds
        each = [f"{cost[name].seconds:.2f} s, {cost[name].seconds / base:.2f} ×" for name in ("fit", "audit")]
        rows.append([str(groups), f"{base:.2f} s", *each, f"{goal:g} ×", f"{cost['fit'].megabytes:.0f} MB"])
    return table(["groups", "roc_curve", "fit", "audit", "goal", "memory of fit"], rows)


def many(rounds: int, folder: Path) -> str:
    """Very many groups."""
    rows = []
    for groups, each in ((200, 20), (1000, 1000)):
        cost = measured(Data(groups * each, groups), ("fit", "audit"), rounds, folder)
        shown = [f"{cost[name].seconds:.1f} s, {cost[name].megabytes:.0f} MB" for name in ("fit", "audit")]
        rows.append([f"{groups:,} × {each:,}", *shown])
    return table(["groups × rows", "fit", "audit"], rows)


def reports(rounds: int, folder: Path) -> str:
    """Reports, frontiers of 50 epsilons beside a fit, and the start of the command line."""
    rows = []
    for groups in (8, 40):
        cost = measured(Data(40_000, groups), ("report",), rounds, folder)["report"]
        rows.append([f"report, {groups} groups", f"{cost.seconds:.1f} s", f"{cost.megabytes:.0f} MB"])
    for groups in (2, 8):
        for ties in ("", ", draw"):
            pair = f"fit{ties}", f"frontier{ties}"
            cost_of = measured(Data(40_000, groups), pair, rounds, folder)
            fit, line = (cost_of[name] for name in pair)
            told = f"{line.seconds:.1f} s, {line.seconds / fit.seconds:.1f} fits"
            rows.append([f"frontier of 50 epsilons{ties}, {groups} groups", told, f"{line.megabytes:.0f} MB"])
    cost = measured(Data(40_000, 2), ("help",), max(5, rounds), folder)["help"]
    rows.append(["fairroc --help", f"{1000 * cost.seconds:.0f} ms", f"{cost.megabytes:.0f} MB"])
    return table(["40,000 rows", "CPU", "memory"], rows)


def growth(rounds: int, folder: Path, most: Sequence[int]) -> str:
    """CPU seconds along one size while the others stay."""
    axes = {
        "rows (2 groups)": [Data(rows, 2) for rows in most],
        "groups (1e6 rows)": [Data(10**6, groups) for groups in (2, 8, 32, 100, 300, 1000)],
        "different scores (1e6 rows, 2 groups)": [Data(10**6, 2, k) for k in (10, 100, 1000, 10_000, 100_000, None)],
    }
    lines = []
    for axis, sizes in axes.items():
        before: tuple[float, tuple[Cost, Cost]] | None = None
        for data in sizes:
            cost = measured(data, ("fit", "audit"), rounds if data.rows <= 10**6 else 1, folder)
            size = float({"r": data.rows, "g": data.groups, "d": data.distinct or data.rows}[axis[0]])
            pair = cost["fit"], cost["audit"]
            told = [f"{each.seconds:.2f} s, {each.megabytes:.0f} MB" for each in pair]
            for i, each in enumerate(pair):
                if before is not None:
                    power = math.log(each.seconds / before[1][i].seconds) / math.log(size / before[0])
                    told[i] += f" ({power:.2f})"
            lines.append([axis, f"{size:,.0f}", *told])
            before = size, pair
            if data.rows > 10**6:
                data.written(folder).unlink()
    return table(["axis", "size", "fit (exponent)", "audit (exponent)"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m fairroc_studies commands",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--rows", nargs="+", type=float, default=[1e4, 1e5, 1e6, 1e7])
    parser.add_argument("--folder", type=Path, help="where files are made and removed (default: the system's)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name, progress_bar("commands", patience=0.0) as show:
        for i, part in enumerate(options.only):
            show(i, len(options.only))
            folder, rounds = Path(name), options.rounds
            rows = [int(count) for count in options.rows]
            found = {"whole": whole, "many": many, "report": reports}
            print(
                growth(rounds, folder, rows) if part == "growth" else found[part](rounds, folder),
                end="\n\n",
                flush=True,
            )


if __name__ == "__main__":
    main()
