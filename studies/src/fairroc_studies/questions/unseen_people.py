"""Whom the question "unseen" is about: people to fit to, and others of the same population to measure on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairroc_studies.harness.people import Part
from fairroc_studies.problems.held_out import held_out
from fairroc_studies.problems.synthetic import FAMILIES

NEW_PEOPLE = 20_000
"""People to measure on, at most (synthetic sets: as many)."""
HELD_OUT = 500
"""A real set is used at a size only if that many people are left to measure on."""
LEAST = 3
"""People of every group and label that both parts must have, at least."""
EXPECTED = 2 * LEAST
"""A family is used at a size only if its smallest class has as many people on average."""


@dataclass(frozen=True)
class Job:
    """One set of people, so many of them to fit to, one seed."""

    people: str
    rows: int
    seed: int


def parts(job: Job) -> tuple[Part, Part] | None:
    """People to fit to and others, or None if the set is too small."""
    rng = np.random.default_rng([job.seed, job.rows])
    if job.people in FAMILIES:
        family = FAMILIES[job.people]
        if job.rows * min(g.share * min(g.positives, 1 - g.positives) for g in family.groups) < EXPECTED:
            return None
        return Part.named(*family.draw(job.rows, rng)), Part.named(*family.draw(NEW_PEOPLE, rng))
    name, model = job.people.split("/")
    found = held_out(name, job.seed)
    everyone = Part.named(found[model], found["label"], found["group"])
    if everyone.rows < job.rows + HELD_OUT:
        return None
    order = rng.permutation(everyone.rows)
    first, rest = (everyone.take(rows) for rows in (order[: job.rows], order[job.rows : job.rows + NEW_PEOPLE]))
    return (first, rest) if min(first.totals.min(), rest.totals.min()) >= LEAST else None
