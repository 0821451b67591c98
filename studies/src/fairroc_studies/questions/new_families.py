"""Families whose population is known, for the question "new": of few imports, so that an older fairroc will do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairroc_studies.harness.people import Part
from fairroc_studies.problems.synthetic import FAMILIES, HEAVY, SKEWED, Family, Group

BASE = 0.3
"""Share of positives."""
SHIFTS, COUNTS = (0.0, 0.15, 0.4, 1.0), (2, 4)


@dataclass(frozen=True)
class Job:
    """One family or real set, so many people of it to fit to, one seed."""

    people: str
    rows: int
    seed: int


def apart(name: str, means: Sequence[float], distances: Sequence[float], shares: Sequence[float]) -> Family:
    """Groups whose negatives have logits of these means, and positives of means so much larger."""
    every = zip(shares, means, distances, strict=True)
    return Family(name, tuple(Group(share, BASE, (m - 0.9, 1.0), (m - 0.9 + d, 1.0)) for share, m, d in every))


def shifted(groups: int, shift: float, name: str = "") -> Family:
    """Groups of equal size; from the first to the last the logits are larger by the shift."""
    means = [shift * k / (groups - 1) for k in range(groups)]
    return apart(name or f"{groups} groups, shift {shift:g}", means, [1.2] * groups, [1 / groups] * groups)


HARM = {family.name: family for family in (shifted(k, shift) for k in COUNTS for shift in SHIFTS)}
"""For harm and help."""

_PAIR = shifted(2, 0.5)
_SMALL = apart("small group served worst", (0.0, 0.2), (1.2, 0.36), (0.88, 0.12))
_THREE = apart("small group served worst, 3 groups, heavy tails", (0.0, 0.2, 0.4), (1.2, 1.2, 0.36), (0.5, 0.38, 0.12))
TRUTH = {
    family.name: family
    for family in (
        shifted(2, 0.0, "no difference, 2 groups"),
        shifted(3, 0.0, "no difference, 3 groups"),
        shifted(2, 0.15, "hardly a difference, 2 groups"),
        shifted(3, 0.4, "shifted, 3 groups"),
        replace(_PAIR, name="lumps: eight scores, jitter .004", steps=7, jitter=0.004),
        replace(_PAIR, name="lumps: eight scores, jitter .02", steps=7, jitter=0.02),
        replace(_PAIR, name="five scores", steps=4),
        replace(_PAIR, name="0/1 scores", steps=1),
        replace(_PAIR, name="skewed", shape=SKEWED),
        replace(FAMILIES["three"], name="skewed, 3 groups", shape=SKEWED),
        replace(_PAIR, name="heavy tails", shape=HEAVY),
        _SMALL,
        replace(_THREE, shape=HEAVY),
    )
}
"""For what is stated; the three groups of "skewed, 3 groups" are those of the family "three"."""

KNOWN = HARM | TRUTH


def sample(job: Job) -> Part:
    """People of a family."""
    return Part.named(*KNOWN[job.people].draw(job.rows, np.random.default_rng([job.seed, job.rows])))
