"""The parent's side of `peers.child`: tasks out, figures and arrays back, from processes of each library's own.

Libraries' requirements contradict each other, so each runs in an environment of its own, made on demand and kept.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from fairroc_studies.harness.people import Array
from fairroc_studies.peers.envs import NotAvailable, last_error, python_of

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

CHUNK = 40
"""At most so many tasks of one process, so that a process that dies takes few with it."""
HOME = str(Path(__file__).parents[2])
CHILD = "import sys; sys.path.append(sys.argv[1]); from fairroc_studies.peers.child import main; main(*sys.argv[2:])"
"""Finds this package last, so that an environment's own packages go before those installed beside this one."""


@dataclass(frozen=True)
class Answer:
    """What a child found for one task, or why it found nothing."""

    figures: dict[str, Any]
    arrays: dict[str, Array] = field(default_factory=dict)

    @property
    def error(self) -> str | None:
        return self.figures.get("error")


@dataclass(frozen=True)
class Task:
    """What to ask of a library, as `peers.child` wants it."""

    library: str
    asked: dict[str, Any]
    slow: bool = False  # takes longer than the start of a process


def run_many(
    tasks: Sequence[Task], *, seconds: float, workers: int | None = None, done: Callable[[int], object] | None = None
) -> list[Answer]:
    """Answers in the order of the tasks, which may take so many ``seconds`` each.

    ``workers``: processes at a time (default: one for each core). ``done`` hears, from other threads, how many tasks
    have just ended. An environment that is not there yet is made first, which takes about a minute and a network.
    """
    for library in dict.fromkeys(task.library for task in tasks):
        with suppress(NotAvailable):  # every task will be answered so
            python_of(library)  # now, lest two threads make the same environment
    workers = workers or os.cpu_count() or 1
    found: list[Answer] = [Answer({})] * len(tasks)

    def run(chunk: list[int]) -> None:
        asked = [tasks[number].asked for number in chunk]
        answers = run_tasks(tasks[chunk[0]].library, asked, timeout=seconds * len(chunk))
        for number, answer in zip(chunk, answers, strict=True):
            found[number] = answer
        if done is not None:
            done(len(chunk))

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, chunks(tasks, workers)))
    return found


def chunks(tasks: Sequence[Task], workers: int) -> list[list[int]]:
    """Numbers of tasks of one library each, at most CHUNK of them; slow ones first, dealt out to the workers."""
    dealt = []
    for slow, library in product((True, False), dict.fromkeys(task.library for task in tasks)):
        mine = [number for number, task in enumerate(tasks) if (task.library, task.slow) == (library, slow)]
        count = max(min(len(mine), workers) if slow else 1, -(-len(mine) // CHUNK))
        dealt += [mine[start::count] for start in range(count) if mine]
    return dealt


def run_tasks(library: str, tasks: list[dict[str, Any]], *, timeout: float) -> list[Answer]:
    """Perform tasks in a fresh process of the library's environment; a failure answers every task."""
    try:
        python = python_of(library)
    except NotAvailable as why:
        return [Answer({"error": f"not available: {why}"})] * len(tasks)
    with tempfile.TemporaryDirectory() as folder:
        asked, found, arrays = (Path(folder) / name for name in ("tasks.json", "results.json", "arrays.npz"))
        asked.write_text(json.dumps(tasks))
        runner = library.replace("-", "_")
        command = [str(python), "-c", CHILD, HOME, runner, str(asked), str(found), str(arrays)]
        try:
            done = subprocess.run(
                command,
                env=os.environ | ONE_THREAD,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [Answer({"error": f"stopped after {timeout:.0f} s"})] * len(tasks)
        if done.returncode:
            return [Answer({"error": _why(done.returncode, done.stderr)})] * len(tasks)
        return _read(found, arrays)


def _read(found: Path, arrays: Path) -> list[Answer]:
    figures = json.loads(found.read_text())
    kept: list[dict[str, Array]] = [{} for _ in figures]
    with np.load(arrays) as file:
        for key in file.files:
            number, name = key.split("/")
            kept[int(number)][name] = file[key]
    return [Answer(*pair) for pair in zip(figures, kept, strict=True)]


def _why(code: int, text: str) -> str:
    if code == -9:
        return "killed by the system, most likely for want of memory"
    return last_error(text) or f"the process ended with {code}"
