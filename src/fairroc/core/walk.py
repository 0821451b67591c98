"""Equalized odds without a draw: one falling threshold for each group, moved together.

A score that depends on group and original score alone, and neither reverses nor ties people of one group whose scores
differ, is a walk along the groups' ROC curves that visits every vertex of each; several groups may step at once. It
keeps epsilon where the stops of all groups are within epsilon of each other all the time. So the least gap of such a
score is the discrete Frechet distance of the curves, and the best one for an epsilon is a path on a lattice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import FloatArray, IntArray, freeze
from fairroc.core.constraint import EqualizedOdds
from fairroc.core.lattice import best_path, least_path, most_area
from fairroc.core.roc import RocCurve
from fairroc.core.strand import (
    Line,
    Strand,
    at_equal_pace,
    bend,
    chosen,
    exact_line,
    joined,
    line,
    on_the_way,
    strand_of,
    together,
    tightest,
)

LEAST_POSITIONS, BEST_POSITIONS = 1024, 4096
"""Positions on a curve between which stops are passed at a steady pace, for the least gap and for the best walk. Where
there are no more vertices the answer is exact."""

SUMS = 1e-9
"""Sums of areas are whole numbers of parts that small, all together."""


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """A score without a draw.

    Attributes
    ----------
    stops : (steps + 1, groups) the point of every group's curve at every stop: rising from all first to all last ones.
    gap : largest distance of two groups at one stop, and so at any threshold.
    auc : area under the pooled points of the stops.
    """

    stops: IntArray
    gap: float
    auc: float

    def __post_init__(self) -> None:
        freeze(self.stops)


@dataclass(frozen=True, slots=True, eq=False)
class LeastGap:
    """A walk that keeps all scores apart with a small gap, and what no such walk's gap is below."""

    walk: Walk
    lower: float


@dataclass(frozen=True, slots=True, eq=False)
class BestWalk:
    """A walk within epsilon of a large pooled AUC, and what no other one's AUC is above."""

    walk: Walk
    upper: float


def walk_of(strand: Strand) -> Walk:
    """What is told of a strand of all groups."""
    return Walk(strand.stops.copy(), strand.gap, strand.auc)


def positions(strands: Sequence[Strand], count: int) -> tuple[list[IntArray], list[Line], bool]:
    """About ``count`` positions on each strand, what a lattice sees of them, and whether these are all stops."""
    at = [chosen(strand, count) for strand in strands]
    exact = all(len(own) == len(strand.pace) for own, strand in zip(at, strands, strict=True))
    pairs = zip(strands, at, strict=True)
    return at, [exact_line(strand) if exact else line(strand, own, count) for strand, own in pairs], exact


def least_joined(one: Strand, other: Strand, count: int) -> tuple[Strand, float]:
    """A walk of both with about the least gap, and a lower bound of that. O(count**2) at most."""
    start = at_equal_pace([one, other])
    at, lines, exact = positions([one, other], count)
    most = _at_equal_pace(lines, [strand.pace[own] for strand, own in zip((one, other), at, strict=True)])
    least, path = least_path(*lines, most)
    if np.isinf(least):
        path = least_path(*lines)[1]
    found = on_the_way([one, other], at, path)
    found = found if found.gap < start.gap else start
    if exact:
        return found, found.gap
    tight = tightest(one, at[0]), tightest(other, at[1])
    return found, max(one.gap, other.gap, least_path(*tight, found.gap)[0])


def _at_equal_pace(lines: Sequence[Line], paces: Sequence[FloatArray]) -> float:
    """Largest distance of positions that are reached at equal pace."""
    i, j = together([pace[1:] for pace in paces])
    one, other = lines
    return float(np.maximum(one.high[:, i] - other.low[:, j], other.high[:, j] - one.low[:, i]).max())


def best_joined(one: Strand, other: Strand, epsilon: float, count: int) -> Strand | None:
    """The walk of both within epsilon with about the largest area; None where none is found."""
    at, lines, _ = positions([one, other], count)
    path = best_path(*lines, epsilon)
    return None if path is None else on_the_way([one, other], at, path)


def most_joined(one: Strand, other: Strand, epsilon: float, count: int) -> float:
    """What no walk's area is above: between positions the best is taken on either side. O(count**2) at most."""
    at = [chosen(strand, count) for strand in (one, other)]
    steps = most_area(tightest(one, at[0]), tightest(other, at[1]), epsilon)
    first, second = bend(one, at[0]), bend(other, at[1])
    (a, c), (b, d) = one.rates[:, -1], other.rates[:, -1]
    off = second[0] * c + second[1] * a + first[1] * b + first[0] * d  # products of bends with the others' whole rise
    return float(one.auc + other.auc + a * d + steps + off + SUMS)


def strands_of(
    curves: Sequence[RocCurve], weights0: FloatArray, weights1: FloatArray, constraint: EqualizedOdds
) -> list[Strand]:
    """Every group's curve as a strand."""
    weights = zip(curves, weights0.tolist(), weights1.tolist(), strict=True)
    return [strand_of(curve, weight0, weight1, constraint) for curve, weight0, weight1 in weights]
