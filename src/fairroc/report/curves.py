"""The lines of a report: rates at a grid of thresholds, of the original score and of fair ones at several epsilons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.core.constraint import Norm, equalized_odds
from fairroc.core.gap import ROUNDING
from fairroc.core.roc import RocCurve, all_thresholds, rates_at
from fairroc.fitting.fit import Fitted, scale_of
from fairroc.fitting.solving import Solution
from fairroc.people.people import People
from fairroc.plot.source import FairRates, ScoreRates

MOST_POINTS, FEWEST_POINTS = 200, 25
"""Thresholds on a line; fewer where many groups would make the page large."""

CELLS = 50_000
"""Points on all lines of a page together: about 600 kB."""

STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Round steps between epsilons, times a power of ten."""

EPSILONS, MANY_GROUPS = 20, 4
"""Steps from 0 to the original score's gap, at most; with more groups half as many, for each takes seconds then."""

CROSSES = 0.02
"""Curves cross if each lies above the other by this much somewhere; less is noise."""

Line = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class GroupLine:
    """One group's rates at the thresholds of the report."""

    fpr: Line
    tpr: Line


@dataclass(frozen=True, slots=True)
class Lines:
    """All groups' rates at the thresholds of the report, and the largest distance of two groups at each."""

    groups: tuple[GroupLine, ...]
    gap: Line


def round_epsilons(gap: float, asked: float | None, groups: int = 2) -> tuple[float, ...]:
    """Round epsilons from 0 to the original score's gap, that gap itself, and the one asked for.

    >>> round_epsilons(0.11, 0.05, groups=9)
    (0.0, 0.015, 0.03, 0.045, 0.05, 0.06, 0.075, 0.09, 0.105, 0.11)
    """
    steps = EPSILONS if groups <= MANY_GROUPS else EPSILONS // 2
    rough = gap / steps
    found = {0.0, gap}
    if rough > ROUNDING:
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(number for number in STEPS if number * power >= rough * (1 - ROUNDING)) * power
        found |= {float(f"{i * step:.10g}") for i in range(steps + 1) if i * step < gap}
    return tuple(sorted(found if asked is None else found | {asked}))


def threshold_grid(people: People, epsilons: int, extra: Sequence[float]) -> FloatArray:
    """Rising thresholds, about evenly along the groups' curves, with all ``extra`` ones among them.

    Scores of few points get thresholds between them too: there the fair score has people.
    """
    curves = people.thin.curves
    points = int(np.clip(CELLS // (epsilons * len(curves)), FEWEST_POINTS, MOST_POINTS)) - len(extra)
    known = all_thresholds(curves)
    if len(known) > points:
        way = np.mean([np.add(*rates_at(curve, known)) for curve in curves], axis=0)
        wanted = np.linspace(way[0], way[-1], points)
        known = known[np.minimum(np.searchsorted(-way, -wanted), len(known) - 1)]
    elif len(known) > 1:
        parts = max(1, (points - 1) // (len(known) - 1))
        places = np.linspace(0, len(known) - 1, parts * (len(known) - 1) + 1)
        between = np.interp(places, np.arange(len(known)), known)
        between[::parts] = known
        known = between
    return np.unique(np.concatenate((known, np.asarray(extra, dtype=np.float64))))


def original_lines(people: People, thresholds: FloatArray, norm: Norm) -> Lines:
    """Exact rates of ``score >= t``."""
    return _lines(ScoreRates(people.exact.curves).at(thresholds), norm)


def fair_lines(
    people: People,
    thresholds: FloatArray,
    norm: Norm,
    epsilons: Sequence[float],
    before: Lines,
    fitted: Fitted | None,
    solutions: Mapping[float, Solution],
) -> tuple[Lines, ...]:
    """Exact rates over the draw of ``fair score >= t`` at every epsilon; at the fitted one, those of the fit itself.

    ``before`` is the original score's lines, which stand wherever the score meets epsilon already; at all other
    epsilons the frontier has found ``solutions``.
    """
    found = []
    for epsilon in epsilons:
        if epsilon not in solutions:
            found.append(before)
        elif fitted is not None and fitted.model.scale is not None and epsilon == fitted.model.epsilon:
            found.append(_lines(FairRates(fitted.realised, fitted.model.scale).at(thresholds), norm))
        else:
            solution = solutions[epsilon]
            found.append(_lines(FairRates(solution.realised, scale_of(people, solution)).at(thresholds), norm))
    return tuple(found)


def _lines(rates: FloatArray, norm: Norm) -> Lines:
    """From (groups, 2, k) rates."""
    fpr, tpr = np.clip(rates, 0.0, 1.0).transpose(1, 2, 0)
    groups = tuple(GroupLine(tuple(fpr[:, g].tolist()), tuple(tpr[:, g].tolist())) for g in range(len(rates)))
    return Lines(groups, tuple(equalized_odds(norm).gap(fpr + tpr, tpr - fpr).tolist()))


def crossing_pairs(curves: Sequence[RocCurve]) -> list[tuple[int, int]]:
    """Pairs of groups whose curves cross: neither is better served at every threshold."""
    u = np.linspace(0.0, 2.0, 401)
    heights = [np.interp(u, curve.u, curve.tpr - curve.fpr) for curve in curves]
    return [
        (g, h)
        for g, h in combinations(range(len(curves)), 2)
        if (heights[g] - heights[h]).max() > CROSSES and (heights[h] - heights[g]).max() > CROSSES
    ]
