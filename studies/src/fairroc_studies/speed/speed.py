"""Measure CPU seconds and memory: everything in one run, in turns, each time in a fresh process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from fairroc.cli.output import progress_bar
from fairroc_studies.harness.curve import Curve
from fairroc_studies.harness.jobs import Steps
from fairroc_studies.peers.catalogue import CATALOGUE, DRAW, ORDER, ROC_CURVE, SEARCH, Entry, of_quality, of_speed
from fairroc_studies.peers.children import Answer, Task, run_many, run_tasks
from fairroc_studies.problems.scores import synthetic_file, trained_file

SLOW = 5.0
"""CPU seconds of a first round after which a contestant takes part in no other."""

TIMEOUT = 1800.0


@dataclass(frozen=True)
class Size:
    """One synthetic data set."""

    rows: int
    groups: int = 2
    distinct: int | None = None


def speed(rows: Sequence[int], peers: tuple[str, ...], rounds: int) -> list[dict[str, Any]]:
    """A record for every size and contestant."""
    contestants, sizes = of_speed(peers), [Size(count) for count in rows]
    with progress_bar("speed", patience=0.0) as show:
        steps = Steps(show, len(sizes) * len(contestants) * rounds)
        return [record for size in sizes for record in in_turns(size, contestants, rounds, steps)]


def growth(most_rows: int, fixed_rows: int, rounds: int) -> list[dict[str, Any]]:
    """fairroc and the references along three axes: rows, groups, number of different scores."""
    axes = {
        "rows": [Size(10**power) for power in range(4, 9) if 10**power <= most_rows],
        "groups": [Size(fixed_rows, groups=count) for count in (2, 8, 32)],
        "distinct": [Size(fixed_rows, distinct=count) for count in (10, 100, 1000, 10_000, 100_000, None)],
    }
    contestants = [ROC_CURVE, SEARCH, ORDER, DRAW]
    different = dict.fromkeys(size for sizes in axes.values() for size in sizes)
    with progress_bar("growth", patience=0.0) as show:
        steps = Steps(show, len(different) * len(contestants) * rounds)
        found = {size: in_turns(size, contestants, rounds, steps) for size in different}
    return [record | {"axis": axis} for axis, sizes in axes.items() for size in sizes for record in found[size]]


def in_turns(
    size: Size, contestants: Sequence[Entry], rounds: int, steps: Steps, *, budget: float = 1.0
) -> list[dict[str, Any]]:
    """Every contestant once, then every one again, and so on; the best of the rounds."""
    data = str(synthetic_file(size.rows, groups=size.groups, distinct=size.distinct))
    found: dict[str, list[Answer]] = {entry.title: [] for entry in contestants}
    for _ in range(rounds):
        for entry in contestants:
            if size.rows > entry.most_rows:
                found[entry.title] = [Answer({"error": f"not measured above {entry.most_rows:,} rows"})]
            elif not any(answer.error or _spent(answer) > SLOW for answer in found[entry.title]):
                task: dict[str, Any] = {"method": entry.method, "options": entry.options, "data": data, "ask": "cost"}
                task |= {"timed": entry.timed, "budget": budget}
                found[entry.title] += run_tasks(entry.library, [task], timeout=TIMEOUT)
            steps.add()
    sized = {"rows": size.rows, "groups": size.groups, "distinct": size.distinct}
    return [
        sized | {"title": entry.title, "library": entry.library, "timed": entry.timed} | best(found[entry.title])
        for entry in contestants
    ]


def best(answers: Sequence[Answer]) -> dict[str, Any]:
    """Least CPU seconds and largest memory over rounds; an error wins over all."""
    errors = [answer.error for answer in answers if answer.error]
    if errors:
        return {"error": errors[0]}
    first = answers[0].figures
    record: dict[str, Any] = {"rounds": len(answers), "size": first.get("size")}
    for part in ("fit", "predict"):
        if part in first:
            costs = [answer.figures[part] for answer in answers]
            extremes = {name: min(c[name] for c in costs) for name in ("cpu", "first")}
            extremes["memory"] = max(c["memory"] for c in costs)
            record[part] = costs[0] | extremes
    return record


def _spent(answer: Answer) -> float:
    return sum(answer.figures[part]["cpu"] for part in ("fit", "predict") if part in answer.figures)


def startup(rounds: int) -> dict[str, float]:
    """Wall seconds, best of several in turns: a bare interpreter, ``import fairroc``, ``fairroc --help``."""
    script = Path(sys.executable).with_name("fairroc")
    help_command = [str(script)] if script.exists() else [sys.executable, "-m", "fairroc"]
    commands = {
        "bare": [sys.executable, "-c", "pass"],
        "import": [sys.executable, "-c", "import fairroc"],
        "help": [*help_command, "--help"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            begin = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times[name].append(time.perf_counter() - begin)
    return {name: min(values) for name, values in times.items()}


# -- fairness and accuracy on people that were not in the fit ----------------------------------------------------------

SECONDS = 600.0
"""Time that a task may take."""

SOURCES = ("adult", "compas")
MODELS = ("logistic", "forest")


def quality(splits: int, peers: tuple[str, ...], points: int | None) -> list[dict[str, Any]]:
    """A record for every split, data set, model and method; ``points`` as in the fairroc runner."""
    asked = [
        (entry, {"ask": ask, "source": source, "model": model, "split": split})
        for split, ask in product(range(splits), ("curve", "decision"))
        for entry, source, model in product(of_quality(ask, peers), SOURCES, MODELS)
    ]
    tasks = [_task(entry, where, points) for entry, where in asked]
    with progress_bar("quality", patience=0.0) as show:
        answers = run_many(tasks, seconds=SECONDS, done=Steps(show, len(tasks)).add)
    records = [_record(*one, answer) for one, answer in zip(asked, answers, strict=True)]
    order = list(dict.fromkeys(entry.title for entry in CATALOGUE))
    return sorted(records, key=lambda record: (order.index(record["title"]), record["split"]))


def _task(entry: Entry, where: dict[str, Any], points: int | None) -> Task:
    own = {"points": points} if entry.library == "fairroc" and where["ask"] == "curve" else {}
    data = trained_file(where["source"], where["model"], where["split"])
    asked = {"ask": where["ask"], "method": entry.method, "options": entry.options | own, "data": str(data)}
    return Task(entry.library, asked, entry.slow)


def _record(entry: Entry, where: dict[str, Any], answer: Answer) -> dict[str, Any]:
    record = where | {"title": entry.title}
    if answer.error:
        return record | {"error": answer.error}
    curve = Curve.of(answer.arrays["accepted"], answer.arrays["totals"])
    if where["ask"] == "curve":
        return record | {"gap": curve.gap, "auc": curve.auc}
    return record | {"accuracy": float(curve.accuracy[0]), "balanced": float(curve.balanced[0]), "eo": curve.gap}
