"""Measure fairness and accuracy on people that were not in the fit, over seeded splits of real data."""

from __future__ import annotations

from itertools import product
from typing import Any

from fairroc.cli.output import progress_bar
from fairroc_studies.harness.curve import Curve
from fairroc_studies.harness.jobs import Steps
from fairroc_studies.peers.catalogue import CATALOGUE, Entry, of_quality
from fairroc_studies.peers.children import Answer, Task, run_many
from fairroc_studies.problems.scores import trained_file

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
