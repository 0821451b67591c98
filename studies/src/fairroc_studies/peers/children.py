"""The parent's side of `peers.child`: tasks out, figures and arrays back, from processes of each library's own.

Libraries' requirements contradict each other, so each runs in an environment of its own, made on demand and kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from fairroc_studies.harness.people import Array
from fairroc_studies.harness.store import home

# -- environments ------------------------------------------------------------------------------------------------------

COMMON = ("numpy==2.4.6", "scipy==1.17.1", "scikit-learn==1.9.1", "pandas==3.1.1")
PINS: dict[str, tuple[str, ...]] = {
    "fairlearn": ("fairlearn==0.15.0", *COMMON),
    "error-parity": (
        "error-parity==0.3.12",
        "cvxpy==1.3.4",
        "ecos==2.0.14",
        "numpy==1.26.4",
        "scipy==1.17.1",
        "scikit-learn==1.9.1",
        "pandas==3.0.6",
    ),
    "oxonfair": ("oxonfair==0.3", *COMMON),
    "aif360": ("aif360==0.6.1", *COMMON),
    "equipy": ("equipy==0.0.11a0.dev0", "statsmodels==0.15.0", "seaborn==0.13.2", "matplotlib==3.11.2", *COMMON),
    "holisticai": ("holisticai[bias]==1.0.14", "jax==0.10.2", "jaxlib==0.10.2", "flax==0.12.8", *COMMON),
}
MARKER = "benchmark-pins"


class NotAvailable(Exception):  # noqa: N818 - a state that the report shows, not a fault of the harness
    """An environment could not be made; the text says why."""


@cache
def python_of(library: str) -> Path:
    """The interpreter that runs a library: its environment's own (made if need be), or the project's."""
    if library not in PINS:
        return Path(sys.executable)
    why = _failure(library)
    if why is not None:
        raise NotAvailable(why)
    return _python(_home(library))


def version_of(library: str) -> str:
    """The pinned version of a peer."""
    return PINS[library][0].partition("==")[2]


@cache
def _failure(library: str) -> str | None:
    """Make the environment unless it is there with the same pins; why it failed, or None."""
    home = _home(library)
    stamp = hashlib.sha256("\n".join((sys.version, *PINS[library])).encode()).hexdigest()
    marker = home / MARKER
    if marker.is_file() and marker.read_text() == stamp:
        return None
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    pip = [str(_python(home)), "-m", "pip", "install", "--quiet", *PINS[library]]
    for command in ([sys.executable, "-m", "venv", str(home)], pip):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(home, ignore_errors=True)
            return last_error(done.stderr) or f"{' '.join(command[1:4])} ended with {done.returncode}"
    marker.write_text(stamp)
    return None


def last_error(text: str) -> str:
    """The last line that names an error, or else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if "rror" in line]
    return (named or lines or [""])[-1][:200]


def _home(library: str) -> Path:
    return home() / "environments" / library


def _python(home: Path) -> Path:
    return home / "bin" / "python"


# -- tasks -------------------------------------------------------------------------------------------------------------

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
                command, env=os.environ | ONE_THREAD, capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return [Answer({"error": f"stopped after {timeout:.0f} s"})] * len(tasks)
        if done.returncode:
            error = last_error(done.stderr) or f"the process ended with {done.returncode}"
            error = "killed by the system, most likely for want of memory" if done.returncode == -9 else error
            return [Answer({"error": error})] * len(tasks)
        return _read(found, arrays)


def _read(found: Path, arrays: Path) -> list[Answer]:
    figures = json.loads(found.read_text(encoding="utf-8"))
    kept: list[dict[str, Array]] = [{} for _ in figures]
    with np.load(arrays) as file:
        for key in file.files:
            number, name = key.split("/")
            kept[int(number)][name] = file[key]
    return [Answer(*pair) for pair in zip(figures, kept, strict=True)]
