"""Sets of real scores, whom the questions "new" and "prior" are about."""

from __future__ import annotations

from functools import cache

import numpy as np

from fairroc_studies.harness.people import FIELDS, Array, Part
from fairroc_studies.harness.store import Store, key, source_digest
from fairroc_studies.questions import draws_people
from fairroc_studies.questions.draws_people import MANY, crossed, pair, pairs
from fairroc_studies.questions.new_families import Job

NEW_PEOPLE = 20_000
"""So many people are measured on, at most."""
LEAST, LEAST_NEW = 3, 20
"""People of every group and label to fit to, and to measure on, at least."""


def real_sets() -> dict[str, tuple[str, ...] | None]:
    """Names of sets of real scores, and the columns that make their groups; None: the two groups of `pair`."""
    many = {_title(name, by): (name, *by) for name, every in MANY.items() for by in every}
    return {**dict.fromkeys(pairs()), **many}


def _title(name: str, by: tuple[str, ...]) -> str:
    return f"{name} by {' × '.join(by) or 'race'}"


@cache
def everybody(name: str) -> Part:
    """All people of a set, in random order; kept once they are found."""
    kept = key("everybody", name, source_digest(draws_people.__name__))
    found = Store().arrays(kept, lambda: _everybody(name))
    return Part.named(*(found[field] for field in FIELDS))


def _everybody(name: str) -> dict[str, Array]:
    by = real_sets()[name]
    people = pair(name) if by is None else crossed(by[0], by[1:])
    return {field: getattr(people, field) for field in FIELDS}


def source(name: str) -> str:
    """Where a set comes from: sets of one source share people."""
    return name.partition(",")[0].partition(" by ")[0].partition("_")[0].partition("-")[0]


def split(job: Job) -> tuple[Part, Part] | None:
    """People of a real set to fit to, and others to measure on; None if they are too few."""
    people = everybody(job.people)
    if people.rows <= job.rows:
        return None
    order = np.random.default_rng([job.seed, job.rows]).permutation(people.rows)
    parts = people.take(order[: job.rows]), people.take(order[job.rows : job.rows + NEW_PEOPLE])
    enough = [
        len(part.totals) == 2 * people.count and part.totals.min() >= least
        for part, least in zip(parts, (LEAST, LEAST_NEW), strict=True)
    ]
    return parts if all(enough) else None
