"""The child process: performs tasks with one runner inside that runner's environment.

    python -m fairroc_studies.peers.child RUNNER TASKS.json RESULTS.json ARRAYS.npz

TASKS.json is a list of ``{"method", "options", "data", "ask", ...}``; ``data`` is a file of `harness.people`.
What ``ask`` can be: "cost" (CPU seconds and memory of fit and predict), "decision" (chance of acceptance of every
person of the test part), "curve" (the same summed over each group and label, for many decisions), "both" (such sums on
the calibration part and on the test part, for one decision or with ``many`` for many, from one fit), "again" (share of
the test people whose answer changes in a second call, and with their rows shuffled). A task that fails leaves
``{"error": why}`` and the others go on. RESULTS.json is a list of the same length; arrays go to ARRAYS.npz under the
task's number and name. Only numpy and the standard library are needed here.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairroc_studies.harness.people import Array, Case, Part, load

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # what the kernel wants to hear to set the peak resident size back to the present one


@dataclass(frozen=True)
class Cost:
    """CPU seconds (best of ``calls``, and those of the first call, which may prepare what later ones use), and bytes
    that the process held at its peak during the first call beyond what it held before."""

    cpu: float
    first: float
    memory: int
    calls: int


def measure(call: Callable[[], Any], *, budget: float = 0.0, most: int = 5) -> tuple[Any, Cost]:
    """Call once, and again while less than ``budget`` CPU seconds are spent (ten times that for the second call)."""
    before = _start_of_peak()
    first, result = _timed(call)
    memory = max(_peak() - before, 0)
    best, spent, calls = first, first, 1
    while calls < most and spent < (10.0 if calls == 1 else 1.0) * budget:
        seconds, result = _timed(call)
        best, spent, calls = min(best, seconds), spent + seconds, calls + 1
    return result, Cost(best, first, memory, calls)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = call()
    return time.process_time() - begin, result


def _start_of_peak() -> int:
    """Give freed memory back to the system, set the peak back; the resident bytes now."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    try:
        CLEAR.write_text(RESET_PEAK, encoding="utf-8")
    except OSError:  # no such file on this system: the peak since the process began has to do
        return _peak()
    return _status("VmRSS")


def _peak() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _status(field: str) -> int:
    for line in STATUS.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{STATUS} has no {field}")


# -- tasks -------------------------------------------------------------------------------------------------------------

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
    if task["ask"] == "again":
        return answers(method.predict, lambda rows: method.inputs(case.test.take(rows)), case.test.rows), {}
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


def answers(predict: Callable[[Any], Array], inputs: Callable[[Array], Any], count: int) -> dict[str, Any]:
    """Shares of people whose answer changes in the same call made again, and when their rows are shuffled."""
    rows, order = np.arange(count), np.random.default_rng(0).permutation(count)
    first, second, shuffled = (np.asarray(predict(inputs(some))) for some in (rows, rows, order))
    return {"again": float((first != second).mean()), "shuffled": float((first[order] != shuffled).mean())}


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
        sizes = {"input": _bytes(case.test, labels=False), "output": int(getattr(result, "nbytes", 0))}
        found["predict"] = asdict(spent) | sizes
    if hasattr(method, "size"):
        found["size"] = method.size()
    return found


def _bytes(part: Part, *, labels: bool) -> int:
    """Scores and groups, with labels (fit) or integer ids (transform)."""
    beside = part.labels.nbytes if labels else ID_BYTES * len(part.scores)
    return int(part.scores.nbytes + part.groups.nbytes + beside)


def main(runner: str, tasks: str, results: str, arrays: str) -> None:
    warnings.simplefilter("ignore")
    module = importlib.import_module(f"fairroc_studies.peers.runners.{runner}")
    found: list[dict[str, Any]] = []
    kept: dict[str, Array] = {}
    for number, task in enumerate(json.loads(Path(tasks).read_text(encoding="utf-8"))):
        try:
            figures, made = perform(module, task)
        except Exception as error:  # whatever a library raises becomes a row of the report
            figures, made = {"error": f"{type(error).__name__}: {error}"}, {}
        found.append(figures)
        kept |= {f"{number}/{name}": array for name, array in made.items()}
    np.savez(arrays, **kept)  # type: ignore[arg-type]
    Path(results).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
