"""Time this tree beside an older commit, in turns, in one run: ``python tools/beside.py [COMMIT]`` prints ratios.

Both trees run in processes of their own through public names alone, with the same numpy. Every figure is the best of
several turns of CPU time; a ratio near 1 says that nothing got slower.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASE = "70c1f43"

WORK = """
import json, sys, time
import numpy as np
import warnings
from fairroc import FairROC, audit
warnings.simplefilter("ignore")
sizes = json.loads(sys.argv[1])
found = {}

def timed(name, work, times=3):
    best = float("inf")
    for _ in range(times):
        begin = time.process_time()
        result = work()
        best = min(best, time.process_time() - begin)
    found[name] = best
    return result

for groups, rows in sizes:
    rng = np.random.default_rng(rows + groups)
    group = rng.integers(0, groups, rows)
    y = rng.integers(0, 2, rows)
    score = 1 / (1 + np.exp(-(y * (1 + 0.3 * group) + rng.normal(size=rows))))
    ids = np.arange(rows)
    what = f"{groups} groups, {rows:,} rows"
    for draw in ("few", "all"):
        fit = lambda: FairROC(0.05, promise="fitted", draw=draw, salt=1).fit(score, y, sensitive_features=group)
        post = timed(f"fit, draw {draw}, {what}", fit)
        post.transform(score[:10], sensitive_features=group[:10], ids=ids[:10])
        timed(f"transform, draw {draw}, {what}", lambda: post.transform(score, sensitive_features=group, ids=ids))
    if rows <= 200_000:
        timed(f"audit, {what}", lambda: audit(score, y, sensitive_features=group), times=1)
    timed(f"audit without bootstrap, {what}", lambda: audit(score, y, sensitive_features=group, bootstrap=0))
weight = rng.uniform(0.5, 1.5, rows)
weighted = dict(sensitive_features=group, sample_weight=weight)
timed(f"fit, weights, {what}", lambda: FairROC(0.05, promise="fitted", draw="all", salt=1).fit(score, y, **weighted))
print(json.dumps(found))
"""
STARTS = {"import fairroc": ["-c", "import fairroc"], "fairroc --help": ["-m", "fairroc", "--help"]}
COLUMNS = "--score p --label y --group g"
COMMANDS = {
    "fit": f"fit {{data}} {COLUMNS} --epsilon 0.05 --promise fitted -o {{folder}}/model.json",
    "fit --promise new": f"fit {{data}} {COLUMNS} --epsilon 0.05 --promise new -o {{folder}}/new.json",
    "transform": "transform {data} --model {folder}/model.json --score p --group g --id id -o {folder}/fair.csv",
    "audit": f"audit {{data}} {COLUMNS}",
}
"""Whole commands, in processes of their own."""


def environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def worked(tree: Path, sizes: list[list[int]]) -> dict[str, float]:
    """CPU seconds of every piece of work."""
    call = [sys.executable, "-c", WORK, json.dumps(sizes)]
    done = subprocess.run(call, env=environment(tree), capture_output=True, text=True, check=True, cwd=tree)
    return dict(json.loads(done.stdout))


def people(folder: Path, groups: int, rows: int) -> Path:
    """A CSV file."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    rng, path = np.random.default_rng(rows + groups), folder / f"{groups} groups, {rows:,} rows.csv"
    code, y = rng.integers(0, groups, rows), rng.integers(0, 2, rows)
    score = 1 / (1 + np.exp(-(y * (1 + 0.3 * code) + rng.normal(size=rows))))
    names = np.array([f"g{i}" for i in range(groups)])
    csv.write_csv(pa.table({"id": np.arange(rows), "p": score, "y": y, "g": names[code]}), path)
    return path


def started(tree: Path, files: list[Path]) -> dict[str, float]:
    """CPU seconds of whole commands, with the children's own clock."""
    calls = dict(STARTS)
    for file in files:
        for name, words in COMMANDS.items():
            filled = [word.format(data=file, folder=file.parent) for word in words.split()]
            calls[f"fairroc {name}, {file.stem}"] = ["-m", "fairroc", *filled, "--quiet"]
    found = {}
    for name, call in calls.items():
        before = os.times()
        subprocess.run([sys.executable, *call], env=environment(tree), capture_output=True, check=True, cwd=tree)
        after = os.times()
        found[name] = after.children_user + after.children_system - before.children_user - before.children_system
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", nargs="?", default=BASE, help=f"the older commit (default: {BASE})")
    parser.add_argument("--turns", type=int, default=5, help="times that both are measured (default: 5)")
    parser.add_argument("--sizes", default="2:10000,2:1000000,8:200000", help="groups:rows, with commas between")
    asked = parser.parse_args()
    sizes = [[int(part) for part in size.split(":")] for size in asked.sizes.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        old, files = Path(folder) / "old", [people(Path(folder), *size) for size in sizes]
        subprocess.run(
            ["git", "-C", str(ROOT), "worktree", "add", "--quiet", "--detach", str(old), asked.commit], check=True
        )
        try:
            best: dict[str, list[float]] = {}
            for _ in range(asked.turns):
                for at, tree in enumerate((old, ROOT)):
                    for name, seconds in {**started(tree, files), **worked(tree, sizes)}.items():
                        both = best.setdefault(name, [float("inf")] * 2)
                        both[at] = min(both[at], seconds)
        finally:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(old)], check=True)
    width = max(map(len, best))
    print(f"{'CPU seconds, best of turns'.ljust(width)}  {asked.commit:>9}       now  ratio")
    for name, (before, now) in best.items():
        print(f"{name.ljust(width)}  {before:9.4f} {now:9.4f}  {now / before:5.2f}")


if __name__ == "__main__":
    main()
