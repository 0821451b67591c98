"""fairroc's part of the question "unseen": what a fit says of new people, and what they get.

Every method is fitted at several epsilons. A point is what came out: gap and AUC among the people left over
(``gap``, ``auc``), in the population where it is known exactly (``true_gap``, ``true_auc``), and what was stated of
new people (``stated_gap``, ``stated_auc``, ``gap_error``, ``auc_error``). All are exact expectations over the draw.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairroc.core.kernel import Kernel
from fairroc.fitting.new_people import Candidate
from fairroc.fitting.solver import Solver
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc.stats.expected import Expected
from fairroc_studies.harness.outcome import outcome
from fairroc_studies.harness.people import Part
from fairroc_studies.problems.synthetic import FAMILIES
from fairroc_studies.questions.unseen_people import Job, parts

Points = list[dict[str, Any]]

PROMISED = (0.02, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 2.0)
"""Epsilons of promise="new": all of them cost one run."""
EPSILONS = (0.0, 0.05, 0.1, 0.2, 0.3)
"""Epsilons of all other methods."""

FITTED: dict[str, dict[str, Any]] = {
    "fitted": {},
    "nobody drawn": {"draw": "never"},
    "ties drawn": {"draw": "all"},
    "50 queries": {"queries": 50},
}
"""Methods that keep epsilon on the fitted people, and their options."""


def points(job: Job, method: str) -> dict[str, Points]:
    """What came out, by method: "new" brings "shift" and "original" along, which are among its candidates."""
    split = parts(job)
    if split is None:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        people, others = (_people(part) for part in split)
        judge = _Judge(job, others)
        return _new(people, judge) if method == "new" else {method: _fitted(people, method, judge)}


class _Judge:
    """Measures kernels on the people left over, and in the population where it is known."""

    def __init__(self, job: Job, others: People) -> None:
        self.others, self.family = others.exact, FAMILIES.get(job.people)

    def __call__(self, epsilon: float, what: str, kernels: Sequence[Kernel], stated: Expected) -> dict[str, Any]:
        here = outcome(kernels, self.others)
        found = {"epsilon": epsilon, "what": what, "gap": here.gap, "auc": here.auc}
        found |= {"stated_gap": stated.gap, "gap_error": stated.gap_deviation}
        found |= {"stated_auc": stated.auc, "auc_error": stated.auc_deviation}
        if self.family is not None:
            there = outcome(kernels, self.family.population([kernel.thresholds for kernel in kernels]))
            found |= {"true_gap": there.gap, "true_auc": there.auc}
        return found


def _new(people: People, judge: _Judge) -> dict[str, Points]:
    solver = Solver(people, Options.checked(epsilon=0.0, promise="new"))
    made = solver.choice

    def point(epsilon: float, candidate: Candidate) -> dict[str, Any]:
        return judge(epsilon, candidate.name, candidate.kernels, _stated(solver, candidate.expected))

    known: dict[tuple[str, float], dict[str, Any]] = {}
    found = []
    for epsilon in PROMISED:
        best = made.best(epsilon)
        place = best.name, best.inner_epsilon
        known[place] = known.get(place) or point(epsilon, best)
        found.append(known[place] | {"epsilon": epsilon})
    shifted = [point(0.0, candidate) for candidate in made.candidates if candidate.name.startswith("shift, ")]
    return {"new": found, "shift": shifted, "original": [point(2.0, made.candidates[0])]}


def _fitted(people: People, method: str, judge: _Judge) -> Points:
    solver = Solver(people, Options.checked(epsilon=0.0, promise="fitted", **FITTED[method]))
    found = []
    for epsilon in EPSILONS:
        solution = solver.at(epsilon)
        what = "original" if solution is None else f"{solution.curve} {solution.ties}"
        kernels = () if solution is None else solution.kernels
        found.append(judge(epsilon, what, kernels, solver.expected(solution)))
    return found


def _stated(solver: Solver, told: Expected) -> Expected:
    """What a fit states of a candidate: the AUC of the original score among the people, less what is expected to be
    lost."""
    return replace(told, auc=solver.auc_before + told.auc - solver.figures_before.expected.auc)


def _people(part: Part) -> People:
    return read_people(part.scores, part.labels, sensitive_features=part.group_names)
