"""Equalized odds without a draw: one falling threshold for each group, moved together.

A score that depends on group and original score alone, and neither reverses nor ties people of one group whose scores
differ, is a walk along the groups' ROC curves that visits every vertex of each; several groups may step at once. It
keeps epsilon where the stops of all groups are within epsilon of each other all the time. So the least gap of such a
score is the discrete Frechet distance of the curves, and of two groups the best one for an epsilon is a path on a
lattice. More groups are split in two, each side's walk being a sequence of boxes, and both are merged again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from fairroc.core.chain import Frozen, IntArray
from fairroc.core.lattice import best_path, least_path, most_area
from fairroc.core.optimal import TIGHT
from fairroc.core.strand import (
    Line,
    Strand,
    at_equal_pace,
    bend,
    chosen,
    measured,
    on_the_way,
    thinned,
    through,
    tightest,
)

LEAST_POSITIONS, BEST_POSITIONS = 1024, 4096
"""Positions on either of two curves, for the least gap and for the best walk: between them vertices are passed at a
steady pace. Measured on a million people in each of two groups: a gap within 2e-4 of the least, an AUC within 5e-5 of
the best; on 20,000 in each, an AUC within 2e-4."""

FEW_VERTICES = 8192
"""Where the groups have no more vertices than this together, all are positions; of two groups the answer is exact."""

ALL_POSITIONS, FEWEST_POSITIONS = 4096, 128
"""Positions on the curves of three and more groups, all together and on each of them."""

SUMS = 1e-9
"""Sums of areas are whole numbers of parts that small, all together."""

GAIN = 1e-5
"""More than two groups go on taking turns while a turn of all of them gains more AUC than this."""

MOST_MOVES = 64
"""So often, at most, some of more than two groups takes its best way beside the rest."""

MANY_GROUPS = 32
"""More groups than this go at equal pace; then only the pairs that are farthest apart there bound the least gap."""


@dataclass(frozen=True, slots=True, eq=False)
class Walk(Frozen):
    """A score without a draw.

    Attributes
    ----------
    stops : (steps + 1, groups) the point of every group's curve at every stop, rising from all first to all last ones.
        Of a group those who are between two of its points share one fair score.
    gap : largest distance of two groups at one stop, and so at any threshold.
    auc : area under the pooled points of the stops.
    """

    stops: IntArray
    gap: float
    auc: float


class Sketch:
    """Every group's curve, and some positions on each between which its vertices are passed at a steady pace."""

    def __init__(self, curves: Sequence[Strand], count: int) -> None:
        self.curves = curves
        self.at = [chosen(curve, count) for curve in curves]
        self.exact = all(len(own) == len(curve.pace) for own, curve in zip(self.at, curves, strict=True))
        pairs = zip(curves, self.at, strict=True)
        self.strands = list(curves) if self.exact else [thinned(curve, own, count) for curve, own in pairs]

    @cached_property
    def steps(self) -> list[Line]:
        """What the steps between positions are to lower and upper bounds."""
        return [tightest(curve, own) for curve, own in zip(self.curves, self.at, strict=True)]

    def walk(self, path: IntArray) -> Walk:
        """The walk through all vertices, from (n, groups) positions."""
        return walk_through(self.curves, on_the_way(self.curves, self.at, path))

    def part(self, path: IntArray, groups: Sequence[int]) -> Strand:
        """Of a walk on the positions that of some groups."""
        own = path[:, list(groups)]
        moves = np.concatenate(([True], (np.diff(own, axis=0) > 0).any(axis=1)))
        return through([self.strands[g] for g in groups], own[moves])


def walk_through(strands: Sequence[Strand], stops: IntArray) -> Walk:
    """The walk of all groups with these stops."""
    return Walk(stops, *measured(strands, stops))


# -- the least gap -----------------------------------------------------------------------------------------------------


def least_walk(strands: Sequence[Strand]) -> Walk:
    """A walk with the least gap of a score that draws nobody and keeps all scores apart.

    Exact for two groups of at most `FEW_VERTICES`; else about the least, and not below `least_bound`.
    O(n + positions**2) for n vertices.
    """
    sketch = Sketch(strands, _count(strands, LEAST_POSITIONS))
    return sketch.walk(_least_path(sketch))


def _count(strands: Sequence[Strand], positions: int) -> int:
    """How many positions there are on each of the groups' curves."""
    vertices = sum(len(strand.pace) for strand in strands)
    if vertices <= FEW_VERTICES:
        return vertices
    return positions if len(strands) == 2 else max(ALL_POSITIONS // len(strands), FEWEST_POSITIONS)


def _least_path(sketch: Sketch) -> IntArray:
    """(n, groups) positions of a walk with about the least gap."""
    groups = range(len(sketch.strands))
    if len(groups) == 2:
        return _merged(sketch, None, [0], [1])
    if len(groups) > MANY_GROUPS:
        return at_equal_pace(sketch.strands)
    found = [at_equal_pace(sketch.strands)] if sketch.exact else []
    for order in (list(groups), list(groups)[::-1]):
        path = None
        for k in range(1, len(order)):
            path = _merged(sketch, path, order[:k], order[k : k + 1])
        assert path is not None
        found.append(path)
    path = min(found, key=lambda path: sketch.part(path, groups).gap)
    return _split_again(sketch, path)


def _merged(sketch: Sketch, path: IntArray | None, left: Sequence[int], right: Sequence[int]) -> IntArray:
    """The walk of least gap of two sides' walks; of a path the columns of other groups are not looked at, and one group
    alone needs none."""
    sides = [_side(sketch, path, groups) for groups in (left, right)]
    start = at_equal_pace(sides)
    least, found = least_path(sides[0], sides[1], _far(sides, start))
    if np.isinf(least):  # some of these steps are not to be taken together
        found = least_path(sides[0], sides[1])[1]
    return _columns(sketch, sides, found, [*left, *right])


def _side(sketch: Sketch, path: IntArray | None, groups: Sequence[int]) -> Strand:
    return sketch.strands[groups[0]] if len(groups) == 1 or path is None else sketch.part(path, groups)


def _far(sides: Sequence[Strand], path: IntArray) -> float:
    """Largest distance of both sides on a path."""
    (i, j), (one, other) = path.T, sides
    return float(np.maximum(one.high[:, i] - other.low[:, j], other.high[:, j] - one.low[:, i]).max())


def _columns(sketch: Sketch, sides: Sequence[Strand], path: IntArray, order: Sequence[int]) -> IntArray:
    """(n, groups) positions of all groups, in their own order, from a path of both sides' stops."""
    found = np.zeros((len(path), len(sketch.strands)), dtype=np.intp)
    found[:, list(order)] = np.concatenate([side.stops[at] for side, at in zip(sides, path.T, strict=True)], axis=1)
    return found


def _split_again(sketch: Sketch, path: IntArray) -> IntArray:
    """Split the groups in two, merge both walks, keep the better, until nothing is better or the least is found."""
    groups = range(len(sketch.strands))
    gap, lower = sketch.part(path, groups).gap, _at_least(sketch, np.inf)
    better = True
    while better and gap > lower + SUMS:
        better = False
        for left, right in _splits(len(groups)):
            other = _merged(sketch, path, left, right)
            new = sketch.part(other, groups).gap
            if new < gap - SUMS:
                path, gap, better = other, new, True
    return path


def _splits(groups: int) -> Iterator[tuple[list[int], list[int]]]:
    """One group against the rest, and halves by every binary digit of the groups' numbers."""
    for g in range(groups):
        yield [h for h in range(groups) if h != g], [g]
    for bit in range(max(groups - 1, 1).bit_length()):
        sides: tuple[list[int], list[int]] = ([], [])
        for g in range(groups):
            sides[g >> bit & 1].append(g)
        if min(map(len, sides)) > 1:
            yield sides


def least_bound(strands: Sequence[Strand], gap: float) -> float:
    """What the gap of no walk is below that keeps all scores apart; ``gap`` is attained."""
    return _at_least(Sketch(strands, _count(strands, LEAST_POSITIONS)), gap)


def _at_least(sketch: Sketch, gap: float) -> float:
    """What no walk's gap is below: the largest least gap of two groups, farthest pairs first. ``gap`` is attained."""
    if sketch.exact and len(sketch.strands) == 2 and np.isfinite(gap):
        return gap
    both = zip(sketch.strands, at_equal_pace(sketch.strands).T, strict=True)
    boxes = [(strand.low[:, at], strand.high[:, at]) for strand, at in both]
    far = {
        (g, h): float(np.maximum(boxes[g][1] - boxes[h][0], boxes[h][1] - boxes[g][0]).max())
        for g, h in combinations(range(len(boxes)), 2)
    }
    lower = 0.0
    for pair, most in sorted(far.items(), key=lambda found: (-found[1], found[0]))[: MANY_GROUPS * MANY_GROUPS // 2]:
        if most <= lower:
            break
        lines = sketch.strands if sketch.exact else sketch.steps
        lower = max(lower, least_path(lines[pair[0]], lines[pair[1]], most)[0])
    return min(lower, gap)


# -- the best walk within epsilon --------------------------------------------------------------------------------------


def best_walk(strands: Sequence[Strand], epsilon: float, start: Walk | None = None) -> Walk | None:
    """The walk with the largest pooled AUC among those within epsilon that keep all scores apart; None where epsilon is
    below the least gap found.

    Exact for two groups of at most `FEW_VERTICES`. Of more groups one after the other takes its best way beside the
    rest: from the walk ``start`` on where that keeps epsilon, else from equal pace or from the walk of least gap.
    O(n + positions**2) for n vertices.
    """
    sketch = Sketch(strands, _count(strands, BEST_POSITIONS))
    epsilon += TIGHT
    path = _best_path(sketch, epsilon, start)
    if path is not None:
        return sketch.walk(path)
    least = None if sketch.exact else least_walk(strands)
    return None if least is None or least.gap > epsilon else least


def most_auc(strands: Sequence[Strand], epsilon: float) -> float | None:
    """What the pooled AUC of no walk exceeds that is within epsilon and keeps all scores apart; None where it is seen
    that there is none.

    To `SUMS` the largest there is, for two groups of at most `FEW_VERTICES`. O(n + positions**2) for n vertices.
    """
    sketch = Sketch(strands, _count(strands, BEST_POSITIONS))
    if sketch.exact and len(strands) == 2:
        path = _best_path(sketch, epsilon + TIGHT, None)
        return None if path is None else sketch.walk(path).auc + SUMS
    most = _at_most(sketch, epsilon + TIGHT)
    return most if np.isfinite(most) else None


def _best_path(sketch: Sketch, epsilon: float, start: Walk | None) -> IntArray | None:
    """(n, groups) positions of about the best walk within epsilon."""
    groups = range(len(sketch.strands))
    if len(groups) == 2:
        return best_path(sketch.strands[0], sketch.strands[1], epsilon)
    path = _first_path(sketch, epsilon, start)
    if path is None:
        return None
    worth = sketch.part(path, groups).auc
    for _ in range(MOST_MOVES // len(groups)):
        before = worth
        for g in groups:
            rest = [h for h in groups if h != g]
            sides = [_side(sketch, path, rest), sketch.strands[g]]
            way = best_path(sides[0], sides[1], epsilon)
            if way is None:
                continue
            other = _columns(sketch, sides, way, [*rest, g])
            new = sketch.part(other, groups).auc
            if new > worth:
                path, worth = other, new
        if worth - before < GAIN:
            break
    return path


def _first_path(sketch: Sketch, epsilon: float, start: Walk | None) -> IntArray | None:
    """(n, groups) positions of a walk within epsilon, of the first that is one."""
    groups = range(len(sketch.strands))
    if sketch.exact:
        for path in (*([] if start is None else [start.stops]), at_equal_pace(sketch.strands)):
            if sketch.part(path, groups).gap <= epsilon:
                return path
    path = _least_path(sketch)
    return path if sketch.part(path, groups).gap <= epsilon else None


def _at_most(sketch: Sketch, epsilon: float) -> float:
    """What no walk's AUC is above: each curve's own area, and the largest of every two groups with each other."""
    found = SUMS
    for curve in sketch.curves:
        found += curve.auc
    bends = [bend(curve, own) for curve, own in zip(sketch.curves, sketch.at, strict=True)]
    ends = [curve.rates[:, -1] for curve in sketch.curves]
    for g, h in combinations(range(len(ends)), 2):
        (a, c), (b, d) = ends[g], ends[h]
        # between positions the better end is taken; each curve's bend is met by the whole of the other's rise
        off = bends[h][0] * c + bends[h][1] * a + bends[g][1] * b + bends[g][0] * d
        found += float(a * d + off) + most_area(sketch.steps[g], sketch.steps[h], epsilon)
    return found
