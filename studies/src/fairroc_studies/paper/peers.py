"""Other libraries' post-processors on the same scores.

Every peer is fitted on the calibration part and measured there and on the test part, in exact expectation over its
draws. All but error-parity make one decision. error-parity is refitted for 39 ratios of the two errors' costs, and each
refit is an operating point: the most accurate one on the fitted people is reported, as for every method.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairroc_studies.harness.curve import Curve
from fairroc_studies.harness.people import Case, save
from fairroc_studies.harness.store import key, source_digest
from fairroc_studies.models.recipes import Scored
from fairroc_studies.paper.measuring import named, parts_of
from fairroc_studies.paper.study import Result
from fairroc_studies.peers import child, children
from fairroc_studies.peers.catalogue import CALIBRATED, EQ_ODDS, FAIRLEARN, REJECT, Entry, refitted

EPSILONS = (0.0, 0.01, 0.02, 0.05, 0.1)
"""error-parity's tolerances of the L1 distance of two groups."""
SECONDS = 300.0
"""Time that a task may take; the slowest, aif360's reject option, needs about 15 s for 10,000 people."""

PEERS: dict[str, Entry] = {
    "aif360-reject": REJECT,
    "aif360-eqodds": EQ_ODDS,
    "aif360-calibrated": CALIBRATED,
    "error-parity": refitted(0.0),
    "fairlearn": FAIRLEARN,
}
"""By their names in the results."""
SWEPT = "error-parity"
"""Has a tolerance, and many operating points."""

LIBRARIES = tuple(dict.fromkeys(peer.library for peer in PEERS.values()))


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """One peer on one model's scores, at one tolerance."""

    number: int  # of the scores
    scored: Scored
    method: str
    epsilon: float | None

    @property
    def peer(self) -> Entry:
        return PEERS[self.method]

    @property
    def possible(self) -> bool:
        """Whether the peer takes so many groups."""
        return self.scored.test.count <= self.peer.most_groups

    def task(self, folder: Path) -> children.Task:
        options = {} if self.epsilon is None else {"tolerance": self.epsilon}
        asked = {"method": self.peer.method, "options": options, "data": str(folder / f"{self.number}.npz")}
        return children.Task(self.peer.library, asked | {"ask": "both", "many": self.method == SWEPT}, self.peer.slow)

    def line(self, why: str) -> str:
        """What is said where there is no result."""
        if why.startswith("not available"):
            return f"{self.peer.library}: {why}; its environment needs pip and a network, see studies/README.md"
        return f"{self.method} on {self.scored.problem}, {self.scored.model}: {why}"


def fingerprint() -> str:
    """SHA-256 of all that decides about peers' figures but the scores: the code that runs and measures them, and the
    versions of their packages."""
    runners = [f"fairroc_studies.peers.runners.{library.replace('-', '_')}" for library in LIBRARIES]
    return key(source_digest(__name__, child.__name__, *runners), [children.PINS[library] for library in LIBRARIES])


def refused(scoreds: Sequence[Scored]) -> tuple[str, ...]:
    """A line for each number of groups that some peers take at most, with these peers and the problems that have more;
    `results_many` leaves them out."""
    never = [job for job in _jobs(scoreds, ()) if not job.possible]
    lines = []
    for most in dict.fromkeys(job.peer.most_groups for job in never):
        peers = dict.fromkeys(job.method for job in never if job.peer.most_groups == most)
        problems = dict.fromkeys(job.scored.problem for job in never if job.peer.most_groups == most)
        lines.append(f"{', '.join(peers)}: {most} groups at most, so not run on {', '.join(problems)}")
    return tuple(lines)


def task_count(scoreds: Sequence[Scored], epsilons: Sequence[float] = EPSILONS) -> int:
    """How many tasks `results_many` will report as done."""
    return sum(job.possible for job in _jobs(scoreds, epsilons))


def results_many(
    scoreds: Sequence[Scored],
    epsilons: Sequence[float] = EPSILONS,
    *,
    workers: int | None = None,
    done: Callable[[int], object] | None = None,
) -> tuple[list[list[Result]], tuple[str, ...]]:
    """Every peer's figures for each of many models' scores, and a line for each failure; a peer that fails has none.

    ``workers`` and ``done`` as in `children.run_many`.
    """
    rows: list[list[Result]] = [[] for _ in scoreds]
    lines: dict[str, None] = {}
    jobs = [job for job in _jobs(scoreds, epsilons) if job.possible]
    with tempfile.TemporaryDirectory() as folder:
        for number, scored in enumerate(scoreds):
            save(Path(folder) / f"{number}.npz", Case(scored.calibration, scored.test))
        tasks = [job.task(Path(folder)) for job in jobs]
        answers = children.run_many(tasks, seconds=SECONDS, workers=workers, done=done)
    for job, answer in zip(jobs, answers, strict=True):
        if answer.error is None:
            rows[job.number] += _rows(job, answer.arrays)
        else:
            lines[job.line(answer.error)] = None
    ordered = [sorted(found, key=lambda row: (row.method, row.epsilon or 0.0, row.measured)) for found in rows]
    return ordered, tuple(lines)


def _jobs(scoreds: Sequence[Scored], epsilons: Sequence[float]) -> Iterator[_Job]:
    for method in PEERS:
        for number, scored in enumerate(scoreds):
            for epsilon in map(float, epsilons) if method == SWEPT else (None,):
                yield _Job(number, scored, method, epsilon)


def _rows(job: _Job, accepted: dict[str, Any]) -> Iterator[Result]:
    """Rows of the fitted and of the test people from (points, 2 * groups) expected acceptances on both."""
    parts = parts_of(job.scored)
    curves = [Curve.of(accepted[part.measured], part.people.totals) for part in parts]
    point = curves[0].best()
    for part, curve in zip(parts, curves, strict=True):
        names = named(job.scored, "splits", job.scored.seed, job.method, job.epsilon)
        yield Result(**names, **part.figures(curve, point, curve if job.method == SWEPT else None))
