"""How far the population can be from the fitted people, whatever fair score is made from them (docs/unseen.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairroc.core.constraint import Constraint
from fairroc.people.people import SMALL_CLASS, People
from fairroc.stats.bands import dkw_widths
from fairroc.stats.deviations import safe_reach, sharp_reach

__all__ = ["DRAWS", "SEED", "Limit", "Reach", "reach"]

DRAWS = 1000
"""Draws of the bootstrap."""

SEED = 0
"""Draws are the same for the same people."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The class of people that limits what can be promised: the one whose band is widest.

    ``width`` is the half width of its DKW band, ``rows_to_halve`` how many rows of it would halve that.
    """

    group: str
    label: int
    rows: int
    width: float
    rows_to_halve: int


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the population's gap can exceed that of the fitted people, for any monotone score, at some level.

    ``dkw`` holds for any sample size (None for weighted rows), ``bootstrap`` for large samples, and is narrower. Both
    hold what counts in bins may hide.
    ``method`` names the one to rely on: DKW where some class has fewer than 50 rows.
    """

    level: float
    dkw: float | None
    bootstrap: float
    method: str
    limit: Limit

    @property
    def value(self) -> float:
        """The one to rely on."""
        return self.dkw if self.method == "dkw" and self.dkw is not None else self.bootstrap


def reach(people: People, constraint: Constraint, confidence: float) -> Reach:
    """How much people not seen can differ from these."""
    rows, sizes = people.class_rows(), people.class_sizes()
    noises, rng = people.noises(thin=True), np.random.default_rng(SEED)
    binned = people.error * constraint.largest
    sharp = sharp_reach(noises, constraint, draws=DRAWS, rng=rng, confidence=confidence) + binned
    widths = dkw_widths(sizes, confidence)
    safe = None if people.weighted else float(safe_reach(widths, constraint).max()) + binned
    g, label = divmod(int(np.argmin(sizes)), 2)
    known = int(rows[g, label])
    least = 2 * math.log(2 * sizes.size / (1.0 - confidence))  # widths end at 1: effective size that halves that
    halved = max(4 * known, math.ceil(least * (known / sizes[g, label])))
    limit = Limit(people.names[g], label, known, float(widths[g, label]), halved)
    small = safe is not None and int(rows.min()) < SMALL_CLASS
    return Reach(confidence, safe, sharp, "dkw" if small else "bootstrap", limit)
