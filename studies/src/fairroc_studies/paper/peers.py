"""Other libraries' post-processors on the same scores.

fairlearn's, aif360's and error-parity's requirements contradict each other, so each runs in an environment of its own,
which is made on demand and kept.

Every peer is fitted on the calibration part and measured there and on the test part, in exact expectation over its
draws. All but error-parity make one decision. error-parity is refitted for 39 ratios of the two errors' costs, and each
refit is an operating point: the most accurate one on the fitted people is reported, as for every method.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairroc.people.rows import Columns
from fairroc_studies.harness.store import key, source_digest
from fairroc_studies.paper.curve import Curve, totals_of
from fairroc_studies.paper.measuring import baseline
from fairroc_studies.paper.study import Result, Scored
from fairroc_studies.peers import child, children, envs
from fairroc_studies.peers import runners as runners_home
from fairroc_studies.problems import cases

__all__ = ["EPSILONS", "PEERS", "Peer", "fingerprint", "refused", "results", "results_many", "task_count"]

EPSILONS = (0.0, 0.01, 0.02, 0.05, 0.1)
"""error-parity's tolerances of the L1 distance of two groups."""

CHUNK = 40
"""At most so many tasks of one process, so that a process that dies takes few with it."""

SECONDS = 300.0
"""Time that a task may take; the slowest, aif360's reject option, needs about 15 s for 10,000 people."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A method of another library."""

    method: str  # its name in the results
    library: str  # its environment
    runner: str  # its class in the module of that library's runners
    swept: bool = False  # has a tolerance, and many operating points
    most_groups: int | None = None
    slow: bool = False  # a task takes longer than the start of a process


PEERS = (
    Peer("aif360-reject", "aif360", "RejectOption", most_groups=2, slow=True),
    Peer("aif360-eqodds", "aif360", "EqOdds", most_groups=2),
    Peer("aif360-calibrated", "aif360", "CalibratedEqOdds", most_groups=2),
    Peer("error-parity", "error-parity", "Relaxed", swept=True),
    Peer("fairlearn", "fairlearn", "EqualizedOdds"),
)
LIBRARIES = tuple(dict.fromkeys(peer.library for peer in PEERS))


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """One peer on one model's scores, at one tolerance."""

    number: int  # of the scores
    scored: Scored
    peer: Peer
    epsilon: float | None

    @property
    def possible(self) -> bool:
        """Whether the peer takes so many groups."""
        return self.peer.most_groups is None or len(self.scored.test.names) <= self.peer.most_groups

    def asked(self, folder: Path) -> dict[str, Any]:
        """As a child process wants it."""
        options = {} if self.epsilon is None else {"tolerance": self.epsilon}
        named = {"method": self.peer.runner, "options": options, "data": str(folder / f"{self.number}.npz")}
        return named | {"ask": "both", "many": self.peer.swept}

    def line(self, why: str) -> str:
        """What is said where there is no result."""
        if why.startswith("not available"):
            return f"{self.peer.library}: {why}; its environment needs pip and a network, see studies/README.md"
        return f"{self.peer.method} on {self.scored.problem}, {self.scored.model}: {why}"


def fingerprint() -> str:
    """SHA-256 of all that decides about peers' figures but the scores: the code that runs and measures them, and the
    versions of their packages."""
    runners = [f"{runners_home.__name__}.{library.replace('-', '_')}" for library in LIBRARIES]
    pins = [envs.PINS[library] for library in LIBRARIES]
    return key(source_digest(__name__, child.__name__, *runners), pins, EPSILONS)


def refused(scoreds: Sequence[Scored]) -> tuple[str, ...]:
    """A line for each number of groups that some peers take at most, with these peers and the problems that have more;
    `results_many` leaves them out."""
    never = [task for task in _tasks(scoreds, ()) if not task.possible]
    lines = []
    for most in dict.fromkeys(task.peer.most_groups for task in never):
        peers = dict.fromkeys(task.peer.method for task in never if task.peer.most_groups == most)
        problems = dict.fromkeys(task.scored.problem for task in never if task.peer.most_groups == most)
        lines.append(f"{', '.join(peers)}: {most} groups at most, so not run on {', '.join(problems)}")
    return tuple(lines)


def results(scored: Scored, epsilons: Sequence[float] = EPSILONS) -> list[Result]:
    """Every peer's figures for one model's scores; a peer that fails has none."""
    return results_many([scored], epsilons)[0][0]


def task_count(scoreds: Sequence[Scored], epsilons: Sequence[float] = EPSILONS) -> int:
    """How many tasks `results_many` will report as done."""
    return sum(task.possible for task in _tasks(scoreds, epsilons))


def results_many(
    scoreds: Sequence[Scored],
    epsilons: Sequence[float] = EPSILONS,
    *,
    workers: int | None = None,
    done: Callable[[int], object] | None = None,
) -> tuple[list[list[Result]], tuple[str, ...]]:
    """Every peer's figures for each of many models' scores, and a line for each failure.

    ``workers``: processes at a time (default: one for each core). ``done`` hears, from other threads, how many tasks
    have just ended. An environment that is not there yet is made first, which takes about a minute and a network.
    """
    rows: list[list[Result]] = [[] for _ in scoreds]
    lines: dict[str, None] = {}
    tasks = [task for task in _tasks(scoreds, epsilons) if task.possible]
    for task, answer in _answered(scoreds, tasks, workers or os.cpu_count() or 1, done):
        if answer.error is None:
            rows[task.number] += _rows(task, answer.arrays)
        else:
            lines[task.line(answer.error)] = None
    return [sorted(found, key=_order) for found in rows], tuple(lines)


def _order(row: Result) -> tuple[str, float, str]:
    return row.method, row.epsilon or 0.0, row.measured


def _tasks(scoreds: Sequence[Scored], epsilons: Sequence[float]) -> Iterator[_Task]:
    for peer in PEERS:
        for number, scored in enumerate(scoreds):
            for epsilon in map(float, epsilons) if peer.swept else (None,):
                yield _Task(number, scored, peer, epsilon)


# -- processes ---------------------------------------------------------------------------------------------------------


def _answered(
    scoreds: Sequence[Scored], tasks: list[_Task], workers: int, done: Callable[[int], object] | None
) -> Iterator[tuple[_Task, Any]]:
    """Every task with its answer."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        for number, scored in enumerate(scoreds):
            case = cases.Case(_part(scored.calibration), _part(scored.test))
            cases.save(Path(folder) / f"{number}.npz", case)
        for library in dict.fromkeys(task.peer.library for task in tasks):
            with suppress(envs.NotAvailable):  # every task will be answered so
                envs.python_of(library)  # now, lest two threads make the same environment

        def run(chunk: list[_Task]) -> list[Any]:
            asked = [task.asked(Path(folder)) for task in chunk]
            found = children.run_tasks(chunk[0].peer.library, asked, timeout=SECONDS * len(chunk))
            if done is not None:
                done(len(chunk))
            return list(found)

        chunks = _chunks(tasks, workers)
        for chunk, answers in zip(chunks, pool.map(run, chunks), strict=True):
            yield from zip(chunk, answers, strict=True)


def _chunks(tasks: list[_Task], workers: int) -> list[list[_Task]]:
    """Tasks of one library each, at most CHUNK of them; slow ones first, dealt out to the workers."""
    chunks = []
    for slow in (True, False):
        for library in LIBRARIES:
            mine = [task for task in tasks if (task.peer.library, task.peer.slow) == (library, slow)]
            count = max(min(len(mine), workers) if slow else 1, -(-len(mine) // CHUNK))
            chunks += [mine[start::count] for start in range(count) if mine]
    return chunks


def _part(people: Columns) -> cases.Part:
    return cases.Part(people.scores, people.labels.astype(np.int64), people.groups.astype(np.int64))


# -- figures -----------------------------------------------------------------------------------------------------------


def _rows(task: _Task, accepted: dict[str, Any]) -> Iterator[Result]:
    """Rows of the fitted and of the test people from (points, 2 * groups) expected acceptances on both."""
    scored = task.scored
    parts = (baseline(scored, scored.calibration, "fitted"), baseline(scored, scored.test, "test"))
    curves = [_curve(accepted[part.measured], part.people) for part in parts]
    point = curves[0].best()
    for part, curve in zip(parts, curves, strict=True):
        yield Result(
            problem=scored.problem,
            model=scored.model,
            protected=scored.protected,
            kind="splits",
            repetition=scored.seed,
            method=task.peer.method,
            epsilon=task.epsilon,
            **part.figures(curve, point, curve if task.peer.swept else None),
        )


def _curve(accepted: Any, people: Columns) -> Curve:
    return Curve(np.asarray(accepted, dtype=np.float64).reshape(-1, len(people.names), 2), totals_of(people))
