"""The child process: performs tasks with one runner inside that runner's environment.

    python -m fairroc_studies.peers.child RUNNER TASKS.json RESULTS.json ARRAYS.npz

TASKS.json is a list of ``{"method", "options", "data", "ask", ...}``; ``data`` is a file of `harness.people`.
What ``ask`` can be: "cost" (CPU seconds and memory of fit and predict), "decision" (chance of acceptance of every
person of the test part), "curve" (the same summed over each group and label, for many decisions), "both" (such sums on
the calibration part and on the test part, for one decision or with ``many`` for many, from one fit). A task that fails
leaves ``{"error": why}`` and the others go on. RESULTS.json is a list of the same length; arrays go to ARRAYS.npz under
the task's number and name. Only numpy and the standard library are needed here.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fairroc_studies.harness.measure import measure
from fairroc_studies.harness.people import Array, Case, Part, load

WARM_ROWS = 2000
"""Rows of a call made before the measured one, so that what a library loads or compiles late is not counted."""

ID_BYTES = 8


def perform(runner: Any, task: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """What a task asks for: plain figures, and arrays."""
    make, options, case = getattr(runner, task["method"]), task.get("options", {}), load(task["data"])
    if task["ask"] == "cost":
        return cost(make, options, case, task.get("timed", ["fit", "predict"]), task.get("budget", 1.0)), {}
    begin = time.process_time()
    method = make(**options)
    method.fit(method.inputs(case.calibration))
    if task["ask"] == "both":
        arrays = both(method, case, many=task.get("many", False))
        return {"cpu": time.process_time() - begin}, arrays
    if task["ask"] == "decision":
        rates = np.asarray(method.rates(method.inputs(case.test)), dtype=np.float64)
        arrays = {"rates": rates, "accepted": case.test.summed(rates)[None, :]}
    else:
        curve = method.curve(method.inputs(case.test))
        arrays = {"accepted": np.array([case.test.summed(rates) for rates in curve])}
    arrays["totals"] = case.test.totals
    return {"cpu": time.process_time() - begin}, arrays


def both(method: Any, case: Case, *, many: bool) -> dict[str, Array]:
    """Expected numbers of people accepted, (decisions, cells), on the people fitted on and on the others."""
    cut = len(case.calibration.scores)
    inputs = method.inputs(case.calibration.then(case.test))
    decisions = method.curve(inputs) if many else [method.rates(inputs)]
    sums = [(case.calibration.summed(rates[:cut]), case.test.summed(rates[cut:])) for rates in decisions]
    fitted, test = (np.array(side) for side in zip(*sums, strict=True))
    return {"fitted": fitted, "test": test}


def cost(make: Any, options: dict[str, Any], case: Case, timed: list[str], budget: float) -> dict[str, Any]:
    """Costs of fit and predict, with the bytes of their input and output."""
    warm, warm_part = make(**options), case.calibration.take(slice(0, WARM_ROWS))
    warm.fit(warm.inputs(warm_part))
    if "predict" in timed:
        warm.predict(warm.inputs(warm_part))
    method, found = make(**options), {}
    known = method.inputs(case.calibration)
    if "fit" in timed:
        _, spent = measure(lambda: method.fit(known), budget=budget)
        found["fit"] = asdict(spent) | {"input": _bytes(case.calibration, labels=True), "output": 0}
    else:
        method.fit(known)
    if "predict" in timed:
        new = method.inputs(case.test)
        result, spent = measure(lambda: method.predict(new), budget=budget)
        found["predict"] = asdict(spent) | {"input": _bytes(case.test, labels=False), "output": _output(result)}
    if hasattr(method, "size"):
        found["size"] = method.size()
    return found


def _bytes(part: Part, *, labels: bool) -> int:
    """Scores and groups, with labels (fit) or integer ids (transform)."""
    beside = part.labels.nbytes if labels else ID_BYTES * len(part.scores)
    return int(part.scores.nbytes + part.groups.nbytes + beside)


def _output(result: Any) -> int:
    return int(getattr(result, "nbytes", 0))


def main(runner: str, tasks: str, results: str, arrays: str) -> None:
    warnings.simplefilter("ignore")
    module = importlib.import_module(f"fairroc_studies.peers.runners.{runner}")
    found: list[dict[str, Any]] = []
    kept: dict[str, Array] = {}
    for number, task in enumerate(json.loads(Path(tasks).read_text())):
        try:
            figures, made = perform(module, task)
        except Exception as error:  # whatever a library raises becomes a row of the report
            figures, made = {"error": f"{type(error).__name__}: {error}"}, {}
        found.append(figures)
        kept |= {f"{number}/{name}": array for name, array in made.items()}
    np.savez(arrays, allow_pickle=False, **kept)
    Path(results).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
