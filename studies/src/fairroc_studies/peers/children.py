"""The parent's side of `fairroc_studies.peers.child`: tasks out, figures and arrays back."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import fairroc_studies
from fairroc_studies.peers.envs import NotAvailable, last_error, python_of
from fairroc_studies.problems.cases import Array

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

HOME = str(Path(fairroc_studies.__file__).parents[1])
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
