"""Is what a fit without the group says about new people true? Few people of large sets fitted, all others looked at."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from fairroc_studies.harness.store import Store
from fairroc_studies.models.linear import matrix
from fairroc_studies.problems.registry import load
from fairroc_studies.questions.blind_fits import Figures, figures, fitted, kept, plain
from fairroc_studies.questions.blind_people import Known, trained

TRAIN_ROWS = 20_000
NAMES = ("census", "mortgages")
"""Sets of more than 200,000 people: what chance adds to the gap of the others is small."""


@cache
def everyone(name: str) -> Known:
    """Scores and guesses of the people who did not train the models."""
    problem = load(name)
    order = np.random.default_rng(0).permutation(problem.rows)
    train, rest = order[:TRAIN_ROWS], order[TRAIN_ROWS:]
    columns = matrix(problem, train, protected=False)
    names, codes = np.unique(problem.groups, return_inverse=True)
    scores, chances = (trained(columns, target, train)[:, 1] for target in (problem.labels, codes))
    return Known(scores, problem.labels, {"group": problem.groups}, {str(names[1]): chances}).take(rest)


def honest(name: str, rows: int, seed: int) -> dict[str, Figures]:
    """Fits of so many people, with the group known and by a proxy, looked at among all others."""
    found = Store().rows(kept("honest", name, rows, seed), lambda: plain(_honest(name, rows, seed)))
    return {way: Figures(**one) for way, one in found.items()}


def _honest(name: str, rows: int, seed: int) -> dict[str, Figures]:
    people = everyone(name)
    order = np.random.default_rng([rows, seed]).permutation(people.rows)
    known, new = people.take(order[:rows]), people.take(order[rows:])
    ways: dict[str, dict[str, Any]] = {
        "known": {},
        "proxy": {"use_group": False},
        "proxy, new": {"use_group": False, "promise": "new"},
    }
    return {way: figures(fitted(known, **options), known, new) for way, options in ways.items()}
