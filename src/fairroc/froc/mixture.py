"""ConstructClassifier: a randomised classifier for every threshold that attains the moved points.

Randomising between thresholds attains every point of the convex hull of a group's queries. A mixture names, for each
of k points, a few thresholds and the probability of using each: accept a person whose score reaches the threshold
drawn. Each threshold of the paper thus has a classifier of its own; the k of them together are in general not a score,
because a person's acceptance probability can fall as the threshold falls (`Mixture.falls`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, Frozen, IntArray, concave_hull, ratio
from fairroc.core.portable import weighted
from fairroc.docstrings import documented
from fairroc.froc.geometry import SAME, turned, with_ends
from fairroc.summary import Result

EXAMPLE = """>>> import numpy as np
>>> queries, thresholds = np.array([[0.1, 0.5], [0.4, 0.9]]), np.array([0.7, 0.3])"""


@documented(
    setup=f"""{EXAMPLE}
>>> from fairroc.froc import triangle_mixture
>>> mixture = triangle_mixture(queries, queries, thresholds)"""
)
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Mixture(Frozen, Result):
    """For point i: use ``thresholds[i, c]`` with probability ``weights[i, c]``.

    +inf rejects everyone and -inf accepts everyone. Weights are not negative, rows sum to one. ``error`` is the L1
    distance between a point and what its row attains: rounding, unless the point is not attainable at all.

    >>> mixture.weights.sum(axis=1).round(6).tolist()
    [1.0, 1.0]
    """

    thresholds: FloatArray
    weights: FloatArray
    error: FloatArray

    def acceptance(self, scores: FloatArray) -> FloatArray:
        """(n, k) probability that classifier i accepts a person with a score.

        >>> mixture.acceptance(np.array([0.9, 0.1])).round(2).tolist()
        [[1.0, 1.0], [0.0, 0.0]]
        """
        accepted = np.zeros((len(scores), len(self.thresholds)))
        for threshold, weight in zip(self.thresholds.T, self.weights.T, strict=True):
            accepted += weight * (scores[:, None] >= threshold)
        return accepted

    def acceptance_at(self, scores: FloatArray, point: int) -> FloatArray:
        """(n,) probability that one classifier accepts a person with a score.

        >>> mixture.acceptance_at(np.array([0.9, 0.1]), 0).round(2).tolist()
        [1.0, 0.0]
        """
        return weighted((scores[:, None] >= self.thresholds[point]).astype(np.float64), self.weights[point])

    def decide(self, scores: FloatArray, uniforms: FloatArray, point: int) -> BoolArray:
        """Decisions of one classifier, for one uniform number from [0, 1) a person.

        >>> mixture.decide(np.array([0.9, 0.1]), np.array([0.5, 0.5]), 0).tolist()
        [True, False]
        """
        upto = np.cumsum(self.weights[point])
        drawn = np.minimum(np.searchsorted(upto, uniforms, side="right"), len(upto) - 1)
        accepted: BoolArray = scores >= self.thresholds[point, drawn]
        return accepted

    def falls(self, scores: FloatArray) -> FloatArray:
        """(n,) the most that a person's acceptance probability falls from some classifier to a later one.

        >>> mixture.falls(np.array([0.9, 0.1])).round(6).tolist()
        [0.0, 0.0]
        """
        accepted = self.acceptance(scores)
        return np.asarray((np.maximum.accumulate(accepted, axis=1) - accepted).max(axis=1))


def barycentric(point: FloatArray, a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """(..., 3) weights of a, b and c that mix to the points; nan where the triangle is flat.

    The paper's C2 with the sign of p_b mended. With a, b and the point taken from c and
    cross(x, y) = x_tpr y_fpr - x_fpr y_tpr: p_a = cross(point, b) / cross(a, b), p_b = cross(a, point) / cross(a, b).

    >>> corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.2, 0.8]])
    >>> barycentric(np.array([0.5, 0.3, 0.2]) @ corners, *corners).round(12).tolist()
    [0.5, 0.3, 0.2]
    """
    whole = _cross(a - c, b - c)
    flat = whole == 0.0
    safe = np.where(flat, np.nan, whole)
    p_a, p_b = _cross(point - c, b - c) / safe, _cross(a - c, point - c) / safe
    return np.stack((p_a, p_b, 1.0 - p_a - p_b), axis=-1)


def _cross(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(x[..., 1] * y[..., 0] - x[..., 0] * y[..., 1])


@documented(setup=EXAMPLE)
def triangle_mixture(points: FloatArray, queries: FloatArray, thresholds: FloatArray) -> Mixture:
    """Mix reject-all, accept-all and the query of the same threshold, as in the paper's section 3.3.

    A moved point need not lie in the triangle (0, 0), (1, 1), Q_i. Where it does not, the triangle of (0, 0) and the
    edge of the hull of all queries under which it lies takes its place: these triangles fill what is attainable.
    O(k log k).

    >>> bool(triangle_mixture(queries, queries, thresholds).error.max() < 1e-12)
    True
    """
    vertices, levels = with_ends(queries), _with_ends(thresholds)
    last, own = len(levels) - 1, np.arange(1, len(levels) - 1)
    first_choice = np.stack((np.zeros_like(own), np.full_like(own, last), own), axis=1)
    first = barycentric(points, *np.moveaxis(vertices[first_choice], 1, 0))
    left, right = _hull_edge(points, vertices)
    second_choice = np.stack((np.zeros_like(left), left, right), axis=1)
    second = barycentric(points, *np.moveaxis(vertices[second_choice], 1, 0))
    # An edge from (0, 0) makes a flat triangle: mix its ends by their share of u.
    share = ratio(turned(points)[0] - turned(vertices[left])[0], turned(vertices[right] - vertices[left])[0], 0.0)
    flat = np.isnan(second).any(axis=1)
    second[flat] = np.stack((np.zeros_like(share), 1.0 - share, share), axis=1)[flat]
    inside = np.all(np.nan_to_num(first, nan=-1.0) >= -SAME, axis=1, keepdims=True)
    choice, weights = np.where(inside, first_choice, second_choice), np.where(inside, first, second)
    return _mixture(points, vertices, levels, choice, weights)


@documented(setup=EXAMPLE)
def neighbour_mixture(points: FloatArray, queries: FloatArray, thresholds: FloatArray) -> Mixture:
    """Mix the two queries around a point's fpr x with accepting everyone with probability x, as in the appendix.

    A query that did not move is its own classifier. Where the point lies above the line through its neighbours (or,
    under the diagonal, below it), the neighbours on the hull take their place. O(k log k).

    >>> bool(neighbour_mixture(queries, queries, thresholds).error.max() < 1e-12)
    True
    """
    vertices, levels = with_ends(queries), _with_ends(thresholds)
    x = np.clip(points[:, 0], 0.0, 1.0)
    right = np.clip(np.searchsorted(vertices[:, 0], x, side="right"), 1, len(vertices) - 1)
    near = _column(points, vertices, right - 1, right)
    hull = _column(points, vertices, *_hull_edge(points, vertices, by_fpr=True))
    choice, weights = np.where((near[1] >= -SAME).all(axis=1)[:, None], near, hull)
    kept = (np.abs(points - queries) <= SAME).all(axis=1)
    choice[kept, 0], weights[kept] = np.flatnonzero(kept) + 1, (1.0, 0.0, 0.0, 0.0)
    return _mixture(points, vertices, levels, choice.astype(np.intp), weights)


def _column(points: FloatArray, vertices: FloatArray, left: IntArray, right: IntArray) -> FloatArray:
    """Choices and weights (2, k, 4) of the edge's two ends, reject-all and accept-all, for points above its fpr."""
    x, y = points.T
    a, c = vertices[left], vertices[right]
    share = np.clip(ratio(x - a[:, 0], c[:, 0] - a[:, 0], 0.0), 0.0, 1.0)
    height = a[:, 1] + share * (c[:, 1] - a[:, 1])
    off = np.abs(height - x) <= SAME  # the line meets the diagonal: the random classifier does it all, or nothing does
    down = np.where(off, np.where(np.abs(y - x) <= SAME, 1.0, -1.0), (height - y) / np.where(off, 1.0, height - x))
    weights = np.stack(((1 - down) * (1 - share), (1 - down) * share, down * (1 - x), down * x), axis=1)
    ends = np.stack((left, right, np.zeros_like(left), np.full_like(left, len(vertices) - 1)), axis=1)
    return np.stack((ends.astype(np.float64), weights))


def _hull_edge(points: FloatArray, vertices: FloatArray, *, by_fpr: bool = False) -> tuple[IntArray, IntArray]:
    """Ends of the edge of the queries' hull that a point looks at: upper hull above the diagonal, lower hull below.

    It is the edge that the ray from (0, 0) through the point meets, or (``by_fpr``) the one above the point's fpr.
    """
    left, right = np.empty((2, len(points)), dtype=np.intp)
    for sign in (1.0, -1.0):
        here = (sign > 0) == (points[:, 1] >= points[:, 0])
        corner = _corners(vertices, sign)
        at = vertices[corner]
        if by_fpr:
            keys, wanted = at[:, 0], np.clip(points[here, 0], 0.0, 1.0)
        else:  # the angle from the tpr axis, or from the fpr axis below the diagonal, rises along the hull
            keys, wanted = _angle(at, sign), _angle(points[here], sign)
            keys[0] = -np.inf
        edge = np.clip(np.searchsorted(keys, wanted, side="right"), 1, len(corner) - 1)
        left[here], right[here] = corner[edge - 1], corner[edge]
    return left, right


def _corners(vertices: FloatArray, sign: float) -> IntArray:
    """Indices of the vertices of the upper (sign 1) or lower (sign -1) hull, without doubles."""
    distinct = np.flatnonzero(np.concatenate(([True], np.diff(turned(vertices)[0]) > 0)))
    x, y = vertices[distinct, 0], vertices[distinct, 1]
    return np.asarray(distinct[concave_hull(*((x, y) if sign > 0 else (y, x)))])


def _angle(points: FloatArray, sign: float) -> FloatArray:
    """What rises with the angle, up to a right one, from an axis."""
    off, on = points.T if sign > 0 else points.T[::-1]
    return ratio(off, np.abs(off) + np.abs(on), 0.0)


def _with_ends(thresholds: FloatArray) -> FloatArray:
    return np.concatenate(([np.inf], thresholds, [-np.inf]))


def _mixture(
    points: FloatArray, vertices: FloatArray, levels: FloatArray, choice: IntArray, weights: FloatArray
) -> Mixture:
    """Weights made whole: rounding (and what is not attainable) cut off, rows summing to one."""
    weights = np.maximum(weights, 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    attained = (weights[:, :, None] * vertices[choice]).sum(axis=1)
    return Mixture(levels[choice], weights, np.abs(attained - points).sum(axis=1))
