"""What came out for the question "new", kept once it is made: by this fairroc, by rivals, and by an older fairroc."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fairroc.errors import FairrocError
from fairroc.fitting.fit import Fitted, limits_of
from fairroc.stats.expected import figures
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.harness.people import Case, Part, save
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.peers.rivals import error_parity_many, fairprojection
from fairroc_studies.problems import synthetic
from fairroc_studies.questions import new_child, new_families
from fairroc_studies.questions.new_child import Judge, Points, begun, judge_of, path, plain, read, whom
from fairroc_studies.questions.new_families import KNOWN, Job
from fairroc_studies.questions.new_people import everybody, split

EPSILON, LEVEL = 0.05, 0.95
PATH = (EPSILON, 0.1, 0.02, 0.075, 0.15, 0.2, 0.3, 0.5)
"""Epsilons of promise="new": all of them cost one run."""
BEFORE = {"new": PATH[:2], "fitted": PATH[:2]}
"""Promises of the older fairroc, whose default was the second, and their epsilons."""
TOLERANCES = (0.0, 0.02, 0.05, 0.1, 0.3)
"""FairProjection's own."""
ERROR_PARITY, SLOW_ROWS = (0.0, 0.1), 2000
"""Epsilons of error-parity, which is slow: one seed at one size."""
RIVALS = ("FairProjection-CE", "FairProjection-KL", "error-parity")

CHILD = (new_child.__file__, new_families.__file__, synthetic.__file__)
"""What the older fairroc's process reads."""

Found = dict[str, Points]
"""Points by method."""


def name_of(job: Job, method: str) -> str:
    """Under which the store keeps what came out: everything that went into it decides."""
    people = () if job.people in KNOWN else (everybody(job.people).scores, everybody(job.people).cells)
    text = source_digest("fairroc_studies.peers.rivals" if method in RIVALS else __name__)
    return key("new", job.people, job.rows, job.seed, *people, method, text, package_versions(("sklearn",)))


def run(job: Job, method: str) -> Found:
    """What one method gives for one job; nothing where there are too few people."""
    found: Found = Store().rows(name_of(job, method), lambda: _run(job, method))
    return found


def gathered(jobs: Sequence[tuple[Job, str]], workers: int | None) -> dict[Job, Found]:
    """Points of all methods for every job."""
    found: dict[Job, Found] = {job: {} for job, _ in jobs}
    for (job, _), points in zip(jobs, in_order(run, jobs, workers), strict=True):
        found[job] |= points
    return found


def _run(job: Job, method: str) -> Found:
    if job.people in KNOWN:
        people, judge = whom(job.people, job.rows, job.seed)
        return _own(begun(people, method, EPSILON), judge, method, None)
    parts = split(job)
    if parts is None:
        return {}
    if method in RIVALS:
        return {method: list(_rival(parts, method))}
    return _own(begun(read(parts[0]), method, EPSILON), judge_of(parts[1]), method, parts[1])


def _own(fitted: Fitted, judge: Judge, method: str, others: Part | None) -> Found:
    """promise="new" at all its epsilons, with the shift, which is among its candidates, and the original score; or
    promise="fitted" at one."""
    points = list(path(fitted, PATH if method == "new" else (EPSILON,), judge))
    points[0]["upper"] = limits_of(fitted, LEVEL).value
    if method != "new":
        return {method: plain(iter(points))}
    solver = fitted.solver
    original = {"kernels": (), "stated": solver.figures_before.expected.gap} | _there(judge, ())
    if others is not None:
        for point in (*points, original):
            point["shown"] = _shown(fitted, point["kernels"], others)
    shifts = [_there(judge, one.kernels) for one in solver.choice.candidates if one.name.startswith("shift, ")]
    return {"new": plain(iter(points)), "shift": shifts, "original": plain(iter([original]))}


def _there(judge: Judge, kernels: Any) -> dict[str, Any]:
    there = judge(kernels)
    return {"gap": there.gap, "auc": there.auc}


def _shown(fitted: Fitted, kernels: Any, others: Part) -> float:
    """The gap that so many people to measure on are expected to show: their own chance makes it larger."""
    known = fitted.solver.known
    sizes = others.totals.reshape(-1, 2).astype(np.float64)
    among = known.judges.sampled(sizes, np.random.default_rng(0))
    return float(figures(known, among, kernels, fitted.solver.constraint).gaps.mean())


def _rival(parts: tuple[Part, Part], method: str) -> Iterator[dict[str, Any]]:
    if method == "error-parity":
        every = [(one.gap, one.auc_hull) for one in error_parity_many([parts], ERROR_PARITY, workers=1)[0]]
    else:
        every = []
        for tolerance in TOLERANCES:
            try:
                one = fairprojection(*parts, tolerance, method[-2:].lower())
                every.append((one.gap, one.auc))
            except FairrocError:  # no convergence
                continue
    yield from ({"gap": gap, "auc": auc} for gap, auc in every if not math.isnan(gap))


# -- an older fairroc --------------------------------------------------------------------------------------------------


def before(jobs: Sequence[Job], tree: Path, workers: int) -> dict[Job, Found]:
    """Paths of an older fairroc, whose sources lie in ``tree``, in processes of their own: "before, PROMISE"."""
    store, asked = Store(), json.dumps(BEFORE)
    texts = [path.read_bytes() for path in (*sorted(tree.rglob("*.py")), *map(Path, CHILD))]
    about = key(texts, asked, package_versions(()))
    names = {job: key(about, job.people, job.rows, job.seed) for job in jobs}
    missing = [job for job in jobs if store.get_rows(names[job]) is None]

    def work(share: Sequence[Job]) -> None:
        with older(tree, asked) as child:
            for job in share:
                store.put_rows(names[job], _asked(child, job))

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, [missing[k::workers] for k in range(workers) if missing[k::workers]]))
    return {job: {f"before, {name}": points for name, points in store.get_rows(names[job]).items()} for job in jobs}


@contextmanager
def older(tree: Path, asked: str) -> Iterator[subprocess.Popen[str]]:
    """A process with the older sources, which waits for jobs."""
    home = Path(new_child.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (tree, home))), "OMP_NUM_THREADS": "1"}
    call = [sys.executable, "-P", new_child.__file__, asked]
    with subprocess.Popen(call, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        origin = json.loads(child.stdout.readline())
        if not Path(origin).is_relative_to(tree):
            raise RuntimeError(f"fits must come from {tree}; they came from {origin}.")
        yield child


def _asked(child: subprocess.Popen[str], job: Job) -> Any:
    """What the child says of one job."""
    assert child.stdin is not None and child.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        whom: dict[str, Any] = {"family": job.people, "rows": job.rows, "seed": job.seed}
        if job.people not in KNOWN:
            parts = split(job)
            if parts is None:
                return {}
            whom = {"case": str(Path(folder) / "people.npz")}
            save(Path(whom["case"]), Case(*parts))
        print(json.dumps(whom), file=child.stdin, flush=True)
        return json.loads(child.stdout.readline())
