"""Measure fairness and accuracy on people that were not in the fit, over seeded splits of real data."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import product
from typing import Any

import numpy as np

from fairroc_studies.harness.progress import Progress
from fairroc_studies.peers.catalogue import CATALOGUE, Entry, of_quality
from fairroc_studies.peers.children import Answer, run_tasks
from fairroc_studies.problems.cases import MODELS, SOURCES, Array, trained_file

TIMEOUT = 3600.0
Job = list[tuple[Entry, dict[str, Any]]]


def quality(splits: int, peers: tuple[str, ...], points: int | None) -> list[dict[str, Any]]:
    """A record for every split, data set, model and method; ``points`` as in the fairroc runner."""
    train = Progress("training", splits * len(SOURCES) * len(MODELS))
    files = {}
    for place in product(range(splits), SOURCES, MODELS):
        train.step(" ".join(map(str, place)))
        split, source, model = place
        files[place] = str(trained_file(source, model, split))
    jobs = [job for split in range(splits) for job in _jobs(split, files, peers, points)]
    jobs.sort(key=len, reverse=True)  # the long ones first, so that no worker waits at the end
    progress = Progress("quality", len(jobs))
    records = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(_answers, job): job for job in jobs}
        for done in as_completed(running):
            entry, task = running[done][0]
            progress.step(f"{entry.library}, split {task['split']}")
            records += [_record(*pair) for pair in zip(running[done], done.result(), strict=True)]
    order = list(dict.fromkeys(entry.title for entry in CATALOGUE))
    return sorted(records, key=lambda record: (order.index(record["title"]), record["split"]))


def _jobs(split: int, files: dict[Any, str], peers: tuple[str, ...], points: int | None) -> list[Job]:
    """One list of tasks for each library."""
    jobs: dict[str, Job] = {}
    for ask in ("curve", "decision"):
        for entry, source, model in product(of_quality(ask, peers), SOURCES, MODELS):
            own = {"points": points} if entry.library == "fairroc" and ask == "curve" else {}
            task = {"ask": ask, "method": entry.method, "options": entry.options | own, "split": split}
            task |= {"source": source, "model": model, "data": files[split, source, model]}
            jobs.setdefault(entry.library, []).append((entry, task))
    return list(jobs.values())


def _answers(job: Job) -> list[Answer]:
    return run_tasks(job[0][0].library, [task for _, task in job], timeout=TIMEOUT)


def _record(pair: tuple[Entry, dict[str, Any]], answer: Answer) -> dict[str, Any]:
    entry, task = pair
    record = {key: task[key] for key in ("ask", "source", "model", "split")} | {"title": entry.title}
    if answer.error:
        return record | {"error": answer.error}
    accepted, totals = answer.arrays["accepted"], answer.arrays["totals"]
    if task["ask"] == "curve":
        return record | {"gap": gap_of(accepted, totals), "auc": auc_of(accepted, totals)}
    return record | decision_of(accepted[0], totals) | {"eo": gap_of(accepted, totals)}


def gap_of(accepted: Array, totals: Array) -> float:
    """Largest |dFPR| + |dTPR| of two groups in any row of (rows, 2 * groups) expected acceptances."""
    points = (accepted / totals).reshape(len(accepted), -1, 2)
    distances = np.abs(points[:, :, None, :] - points[:, None, :, :]).sum(axis=3)
    return float(distances.max())


def auc_of(accepted: Array, totals: Array) -> float:
    """Area under the straight lines through the pooled points, in order of the false positive rate."""
    pooled = accepted.reshape(len(accepted), -1, 2).sum(axis=1) / totals.reshape(-1, 2).sum(axis=0)
    pooled = np.vstack(([0.0, 0.0], pooled[np.lexsort((pooled[:, 1], pooled[:, 0]))], [1.0, 1.0]))
    return float(np.dot(np.diff(pooled[:, 0]), pooled[1:, 1] + pooled[:-1, 1]) / 2)


def decision_of(accepted: Array, totals: Array) -> dict[str, float]:
    """Expected accuracy and balanced accuracy of one decision."""
    false_pos, true_pos = accepted.reshape(-1, 2).sum(axis=0)
    negatives, positives = totals.reshape(-1, 2).sum(axis=0)
    right = negatives - false_pos + true_pos
    return {
        "accuracy": float(right / (negatives + positives)),
        "balanced": float((1.0 - false_pos / negatives + true_pos / positives) / 2),
    }
