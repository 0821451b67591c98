"""The paper's method: Algorithm 1 of *FROC: Building Fair ROC from a Trained Classifier*, for any number of groups.

Vummintala, Das and Gujar, 2024, arXiv:2412.14724. The groups' ROC curves are queried at k thresholds; the lower curve
stays, and every query of the upper one moves into the L1 ball of radius epsilon around the lower one's query at the
same threshold. What comes out is a point for each threshold and group, not yet a score: see
`fairroc.froc.mixture` for a classifier per threshold and `coherent_curves` for a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, Chain, FloatArray, Frozen, IntArray, meet
from fairroc.core.optimal import FairCurves, optimal
from fairroc.core.roc import RocCurve, all_thresholds, rates_at
from fairroc.docstrings import RUN, documented
from fairroc.froc.geometry import (
    FROC_CONSTRAINT,
    SAME,
    attainable,
    cut_shift,
    in_hypograph,
    in_norm_set,
    join,
    norm_boundary,
    quadrilateral_area,
    turned,
    upper_hull,
    with_ends,
)
from fairroc.summary import Result

Pairs: TypeAlias = Literal["neighbours", "all"]
Crossing: TypeAlias = Literal["segments", "area"]
Kinds: TypeAlias = NDArray[np.int8]


class Shift(IntEnum):
    """What Algorithm 1 does with a query.

    Examples
    --------
    >>> from fairroc.froc import Shift
    >>> Shift(8)
    <Shift.UP: 8>
    """

    FIXED = 0
    """the lowest curve there: not moved"""
    END = 1
    """first or last query, fair already: kept"""
    CUT_LEFT = 2
    """two cuts, moved to the left one (line 10)"""
    CUT_RIGHT = 3
    """two cuts, moved to the right one (line 8)"""
    CUT_ONLY = 4
    """moved to the only cut"""
    CUT_NEAREST = 5
    """more than two cuts, moved to the one nearest in fpr"""
    HYPOGRAPH = 6
    """no cut and under the lower curve: kept (line 13), be it fair or not"""
    INSIDE = 7
    """no cut because the whole upper curve lies in the norm set: kept"""
    UP = 8
    """UpShift to U (line 17)"""
    LEFT = 9
    """LeftShift to L (line 19)"""


CUTS = (Shift.CUT_LEFT, Shift.CUT_RIGHT, Shift.CUT_ONLY, Shift.CUT_NEAREST)


@dataclass(frozen=True, slots=True, eq=False)
class Transport(Frozen):
    """Algorithm 1 on two curves of k queries.

    Attributes
    ----------
    points : (k, 2) the upper curve's queries after the move.
    shift : (k,) what was done, as `Shift`.
    cuts : (k,) in how many points the upper curve cuts the norm boundary.
    clipped : (k,) whether U or L lay outside the unit square and was clipped to it.
    projected : (k,) whether U or L lay outside the hull of the upper curve's queries, where no randomisation leads
        (above it, as a rule), and was moved onto it.
    """

    points: FloatArray
    shift: Kinds
    cuts: IntArray
    clipped: BoolArray
    projected: BoolArray


@documented()
def algorithm_1(roc_up: FloatArray, roc_down: FloatArray, epsilon: float) -> Transport:
    """Move the queries of the upper curve into the norm sets of the lower curve's queries.

    The comments carry the line numbers of the paper's Algorithm 1. Its loop over i is here one step for all i.
    O((k + c) log k) for k queries and c cuts.

    Parameters
    ----------
    roc_up, roc_down : (k, 2) queries (fpr, tpr) of both groups at the same thresholds, the strictest first.
    epsilon : L1 radius of the norm sets.

    Notes
    -----
    Changes from the paper:

    1. Thresholds t_i = i/k rise with i, curves are joined from (0, 0): here i counts from the highest threshold down.
       The last query is joined to (1, 1).
    2. The loop runs from 2 to k - 1 and leaves both ends out of the result. Here they are kept if they are fair and
       treated like the rest if they are not, with (0, 0) and (1, 1) as their outer neighbours.
    3. ``continue`` in line 14 jumps over the append of line 22. A query kept by line 13 is appended here.
    4. Line 6 returns two cuts. Where there is one it is taken; where there are more than two (against Assumption
       4.2), the one nearest in fpr to the query, as the paper's CutShift theorem says; line 7 decides between two.
       A curve that touches the boundary from inside does not cut it.
    5. Without a cut the whole upper curve may lie inside the norm set (a large epsilon). The query is kept then.
    6. U or L outside the unit square is clipped to it; outside the hull of the upper curve's queries, where no
       randomisation leads, it is projected onto the hull, inside the norm set if the two meet. Both are counted.
    7. Line 16 by Heron's formula in Kahan's form, which degenerate triangles survive.
    8. A lower curve that was moved before (several groups) may step back; it is joined in order of fpr + tpr.

    Not changed: queries that are fair already move to the boundary, areas are unsigned and use the original neighbours,
    and a query kept by line 13 may be farther than epsilon from its partner.

    >>> import numpy as np
    >>> up, down = np.array([[0.1, 0.6], [0.4, 0.9]]), np.array([[0.1, 0.4], [0.4, 0.7]])
    >>> algorithm_1(up, down, 0.1).points.round(2).tolist()
    [[0.08, 0.48], [0.3, 0.7]]
    """
    around = with_ends(roc_up)  # Q_0 = (0, 0) and Q_{k+1} = (1, 1) as outer neighbours
    before, after = around[:-2], around[2:]
    boundary = norm_boundary(roc_down, epsilon)  # B_i with vertices U, R, D, L
    cuts = cut_shift(join(roc_up), roc_down, epsilon)  # line 6: all of ROC_up with B_i
    fair = in_norm_set(roc_up, roc_down, epsilon)
    ends = np.zeros(len(roc_up), dtype=np.bool_)
    ends[[0, -1]] = True  # lines 3, 4: the loop leaves them out
    right = roc_up[:, 0] >= roc_down[:, 0]  # line 7
    low = in_hypograph(join(roc_down), roc_up)  # line 12
    area_left = quadrilateral_area(after, roc_up, before, boundary.left)  # line 16
    area_up = quadrilateral_area(after, roc_up, before, boundary.up)
    branches: list[tuple[Shift, BoolArray, FloatArray]] = [
        (Shift.END, ends & fair, roc_up),
        (Shift.CUT_ONLY, cuts.count == 1, cuts.left),  # line 5: BoundaryCut
        (Shift.CUT_RIGHT, (cuts.count == 2) & right, cuts.right),  # lines 7, 8
        (Shift.CUT_LEFT, cuts.count == 2, cuts.left),  # lines 9, 10
        (Shift.CUT_NEAREST, cuts.count > 2, cuts.nearest(roc_up)),
        (Shift.INSIDE, fair, roc_up),
        (Shift.HYPOGRAPH, low, roc_up),  # lines 12, 13
        (Shift.UP, area_left >= area_up, boundary.up),  # lines 16, 17
        (Shift.LEFT, np.ones_like(low), boundary.left),  # lines 18, 19
    ]
    shift = np.select([where for _, where, _ in branches], [kind for kind, _, _ in branches]).astype(np.int8)
    target = np.select([where[:, None] for _, where, _ in branches], [to for _, _, to in branches])
    inside = np.clip(target, 0.0, 1.0)
    points = attainable(inside, roc_down, epsilon, roc_up)
    projected: BoolArray = np.abs(points - inside).max(axis=1) > SAME
    return Transport(  # line 22: all are appended
        points=points,
        shift=shift,
        cuts=cuts.count,
        clipped=(inside != target).any(axis=1),
        projected=projected,
    )


@documented(setup=RUN)
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Froc(Frozen, Result):
    """The paper's method on m groups and k thresholds. Arrays (m, k, ...) are by group and query.

    Attributes
    ----------
    thresholds : (k,) falling.
    queries, points : (m, k, 2) rates (fpr, tpr) of ``score >= thresholds[i]`` before, and after the move.
    shift, cuts, clipped, projected : (m, k) as in `Transport`.
    order : (k, m) groups from the lowest to the highest curve around each query.
    epsilon : the distance asked for.
    step : the distance kept between neighbours in that order: epsilon, or epsilon / (m - 1).

    >>> done = run.moved
    >>> done.points.shape, done.step
    ((2, 100, 2), 0.1)
    """

    thresholds: FloatArray
    queries: FloatArray
    points: FloatArray
    shift: Kinds
    cuts: IntArray
    clipped: BoolArray
    projected: BoolArray
    order: IntArray
    epsilon: float
    step: float

    @property
    def gap(self) -> FloatArray:
        """(k,) largest L1 distance of two groups after the move, at every query: what is really reached."""
        u, v = turned(self.points)
        return np.asarray(np.maximum(np.ptp(u, axis=0), np.ptp(v, axis=0)))

    @property
    def below(self) -> IntArray:
        """(m, k) the group against which each query was moved; the group itself where it is the lowest."""
        chain = np.concatenate((self.order[:, :1], self.order[:, :-1]), axis=1)
        below = np.empty(self.shift.shape, dtype=np.intp)
        np.put_along_axis(below, self.order.T, chain.T, axis=0)
        return below

    @property
    def rank(self) -> IntArray:
        """(m, k) place of every group in the order of the curves at each query; 0 is the lowest."""
        return np.asarray(np.argsort(self.order, axis=1).T)

    def lower_curve(self, group: int, index: int) -> FloatArray:
        """(k, 2) the curve that a group's query was moved against, as it stood then.

        Parameters
        ----------
        group : number of the group.
        index : number of the query, from 0.

        >>> run.moved.lower_curve(0, 5).shape
        (100, 2)
        """
        below = int(self.below[group, index])
        moved = self.rank[below] <= self.rank[below, index]
        return np.asarray(np.where(moved[:, None], self.points[below], self.queries[below]))


@documented()
def query_grid(queries: int) -> FloatArray:
    """The paper's thresholds t_i = i / k, falling from 1 to 1 / k, for scores between 0 and 1.

    Parameters
    ----------
    queries : how many.

    Returns: ndarray of shape (k,): falling.
    >>> query_grid(4).tolist()
    [1.0, 0.75, 0.5, 0.25]
    """
    return np.arange(queries, 0, -1) / queries


def query(curves: Sequence[RocCurve], thresholds: FloatArray) -> FloatArray:
    """(m, k, 2) rates (fpr, tpr) of all groups at falling thresholds."""
    return np.stack([np.stack(rates_at(curve, thresholds), axis=1) for curve in curves])


def froc(
    curves: Sequence[RocCurve],
    thresholds: FloatArray,
    epsilon: float,
    *,
    pairs: Pairs = "neighbours",
    crossing: Crossing = "segments",
) -> Froc:
    """The paper's method for two or more groups, at falling thresholds.

    From the second-lowest curve up, each is moved towards the one just processed. O(m (k + c) log k) while the curves
    keep their order, O(m^2 (k + c) log k) otherwise.

    Parameters
    ----------
    pairs : ``"neighbours"`` keeps neighbouring curves within epsilon (the paper's D.6), so that two of m groups can be
        (m - 1) epsilon apart; ``"all"`` keeps neighbours within epsilon / (m - 1).
    crossing : ``"segments"`` cuts crossing curves where they cross, and in each segment the queries of the higher one
        move (cuts and areas still come from the whole curves); ``"area"`` calls the curve of larger area the upper one
        throughout.
    """
    queries = query(curves, thresholds)
    groups, count = queries.shape[:2]
    order = curve_order(queries, crossing)
    step = epsilon if pairs == "neighbours" else epsilon / (groups - 1)
    points = queries.copy()
    shift, cuts = np.zeros((groups, count), dtype=np.int8), np.zeros((groups, count), dtype=np.intp)
    clipped, projected = np.zeros((2, groups, count), dtype=np.bool_)
    for rank in range(1, groups):
        lower = points.copy()  # as they stand now, so that which pair comes first makes no difference
        for down, up in np.unique(order[:, rank - 1 : rank + 1], axis=0):
            here = (order[:, rank - 1] == down) & (order[:, rank] == up)
            moved = algorithm_1(queries[up], lower[down], step)
            points[up, here], shift[up, here], cuts[up, here] = moved.points[here], moved.shift[here], moved.cuts[here]
            clipped[up, here], projected[up, here] = moved.clipped[here], moved.projected[here]
    return Froc(thresholds.copy(), queries, points, shift, cuts, clipped, projected, order, epsilon, step)


def paper_run(curves: Sequence[RocCurve], epsilon: float) -> Froc:
    """Algorithm 1 on curves of queries, at every threshold that some group has, the strictest first."""
    return froc(curves, all_thresholds(curves)[::-1], epsilon)


def curve_order(queries: FloatArray, crossing: Crossing) -> IntArray:
    """(k, m) groups from the lowest to the highest curve around every query.

    By area, the order is the same everywhere. By segments it is that of the curves' heights at equal fpr + tpr, in
    the middle of the groups' queries at that threshold: it changes just where two curves cross. Equal heights go by
    area.
    """
    paths = [join(group) for group in queries]
    by_area = np.argsort([path.auc for path in paths], kind="stable")
    if crossing == "area":
        return np.repeat(by_area[None], queries.shape[1], axis=0)
    middle = turned(queries)[0].mean(axis=0)
    heights = np.stack([paths[g].at(middle) for g in by_area], axis=1)
    return np.asarray(by_area[np.argsort(heights, axis=1, kind="stable")])


def coherent_curves(done: Froc, hulls: Sequence[Chain]) -> FairCurves:
    """Fair curves from moved points, under the groups' own hulls: what `optimal` is to the exact method. O(m k log k).

    The moved points need be neither monotone nor concave, so they are no score's ROC. Their concave hull is attainable,
    and where every query is fair the hulls of two groups are within epsilon of each other: each vertex of one is within
    epsilon of a point under the other, and such regions are convex. `optimal` keeps these hulls then as they are, and
    lowers them where some query is not fair. So a score with these curves is fair at every threshold, for all pairs.
    None lies above `optimal`'s curve at the same epsilon.
    """
    lowered = [meet((upper_hull(points), hull)) for points, hull in zip(done.points, hulls, strict=True)]
    return optimal(lowered, done.epsilon, FROC_CONSTRAINT)
