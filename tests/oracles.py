"""Slow truths, written from the definitions and not from the library's code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations, pairwise, product
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from fairroc.core.chain import Chain, FloatArray
from fairroc.core.kernel import Kernel
from fairroc.core.roc import Population, RocCurve, curve_from_counts


def population_of(curves: Sequence[RocCurve], samples: Sequence[Any] | None = None) -> Population:
    """Curves as a population: of groups of one size, or of the samples' sizes."""
    if samples is None:
        even = np.full(len(curves), 1.0 / len(curves))
        return Population(tuple(curves), even, even, even)
    from strategies import class_shares

    return Population(tuple(curves), *class_shares(samples))


# ---- plane geometry ----------------------------------------------------------------------------------------


def query_curve(scores: FloatArray, labels: np.ndarray, weights: FloatArray | None, thresholds: FloatArray) -> RocCurve:
    """ROC curve at given rising thresholds, the first of which is the lowest score; people between two thresholds count
    as tied."""
    bins = np.searchsorted(thresholds, scores, side="right") - 1
    mass = np.ones(len(labels)) if weights is None else weights
    both = (np.bincount(bins, mass * mine, len(thresholds)) for mine in (~labels, labels))
    return curve_from_counts(thresholds, *both)


def hull_height(x: FloatArray, y: FloatArray, at: FloatArray) -> FloatArray:
    """Height of the upper hull of points above ``at``: the highest chord of any two points. O(n^2) each."""
    best = np.full(len(at), -np.inf)
    for i in range(len(x)):
        best = np.where(at == x[i], np.maximum(best, y[i]), best)
        right = np.flatnonzero(x > x[i])
        inside = (at[None] >= x[i]) & (at[None] <= x[right][:, None])
        share = (at[None] - x[i]) / (x[right] - x[i])[:, None]
        chord = np.where(inside, y[i] + share * (y[right] - y[i])[:, None], -np.inf)
        best = np.maximum(best, chord.max(axis=0, initial=-np.inf))
    return best


def is_hull_vertex(x: FloatArray, y: FloatArray, i: int) -> bool:
    """Whether no chord of two other points passes on or above point i, in exact integers. O(n^2)."""
    for a, b in combinations([j for j in range(len(x)) if j != i], 2):
        ax, ay, bx, by = x[a] - x[i], y[a] - y[i], x[b] - x[i], y[b] - y[i]
        between = min(ax + ay, bx + by) <= 0 <= max(ax + ay, bx + by)
        if between and (bx * ay - ax * by) * np.sign((bx + by) - (ax + ay)) >= 0:
            return False
    return True


def ball_points(radius: float, norm: int | str, count: int = 5) -> FloatArray:
    """Points (du, dv) of the norm's ball in turned coordinates: a grid of its boundary, corners included."""
    side = np.linspace(-radius, radius, count)
    square = np.array([p for p in product(side, side) if max(map(abs, p)) == radius])
    if norm == 1:
        return square  # |df| + |dt| <= r is the box |du|, |dv| <= r
    return np.stack((square.sum(axis=1), square[:, 1] - square[:, 0]), axis=1)  # (df, dt) -> (du, dv)


def minkowski_height(chain: Chain, radius: float, norm: int | str, at: FloatArray) -> FloatArray:
    """Upper boundary of region (+) ball, from all sums of a chain vertex and a ball point."""
    ball = ball_points(radius, norm)
    u, v = (chain.u[:, None] + ball[:, 0]).ravel(), (chain.v[:, None] + ball[:, 1]).ravel()
    return hull_height(u, v, at)


# ---- fair tuples by linear programming ---------------------------------------------------------------------


def fair_support(
    hulls: Sequence[Chain],
    epsilon: float | tuple[float, float],
    norm: int | str,
    fpr_cost: FloatArray,
    tpr_cost: FloatArray,
) -> tuple[float, FloatArray]:
    """Largest ``sum of fpr_cost * fpr + tpr_cost * tpr`` over fair tuples, and the tuple (m, 2) that has it.

    Every pair of groups is within epsilon, or with two numbers within the first in fpr and the second in tpr.
    """

    def rows(df: FloatArray, dt: FloatArray) -> list[FloatArray]:
        if isinstance(epsilon, tuple):
            return [df / epsilon[0], -df / epsilon[0], dt / epsilon[1], -dt / epsilon[1]]
        return [df + dt, df - dt, dt - df, -df - dt] if norm == 1 else [df, -df, dt, -dt]

    m = len(hulls)
    owner = np.repeat(np.arange(m), [len(hull.u) for hull in hulls])
    f, t = (np.concatenate([getattr(hull, name) for hull in hulls]) for name in ("fpr", "tpr"))
    found = []
    for g, h in combinations(range(m), 2):
        sign = (owner == g) * 1.0 - (owner == h) * 1.0
        found += rows(sign * f, sign * t)
    return _best_tuple(hulls, fpr_cost, tpr_cost, found, 1.0 if isinstance(epsilon, tuple) else epsilon)


def one_rate_support(
    hulls: Sequence[Chain],
    rates: Sequence[FloatArray],
    epsilon: float,
    as_ratio: bool,
    fpr_cost: FloatArray,
    tpr_cost: FloatArray,
) -> tuple[float, FloatArray]:
    """The same where one rate, known at the vertices of every hull, is within epsilon or ``1 - epsilon`` of any."""
    m = len(hulls)
    owner = np.repeat(np.arange(m), [len(hull.u) for hull in hulls])
    rate, share = np.concatenate(rates), 1.0 - epsilon if as_ratio else 1.0
    rows = [(owner == g) * share * rate - (owner == h) * rate for g, h in product(range(m), repeat=2) if g != h]
    return _best_tuple(hulls, fpr_cost, tpr_cost, rows, 0.0 if as_ratio else epsilon)


def _best_tuple(
    hulls: Sequence[Chain], fpr_cost: FloatArray, tpr_cost: FloatArray, rows: Sequence[FloatArray], limit: float
) -> tuple[float, FloatArray]:
    """The linear program: every group's point is a convex combination of its hull's vertices."""
    f, t = [hull.fpr for hull in hulls], [hull.tpr for hull in hulls]
    owner = np.repeat(np.arange(len(hulls)), [len(x) for x in f])
    flat_f, flat_t = np.concatenate(f), np.concatenate(t)
    result = linprog(
        -(fpr_cost[owner] * flat_f + tpr_cost[owner] * flat_t),
        A_ub=np.array(rows),
        b_ub=np.full(len(rows), limit),
        A_eq=(owner == np.arange(len(hulls))[:, None]).astype(np.float64),
        b_eq=np.ones(len(hulls)),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert result.status == 0, result.message
    points = [(result.x[owner == g] @ f[g], result.x[owner == g] @ t[g]) for g in range(len(hulls))]
    return -float(result.fun), np.array(points)


Support: TypeAlias = Callable[[FloatArray, FloatArray], tuple[float, FloatArray]]


def pooled_sandwich(
    support: Support, weights0: FloatArray, weights1: FloatArray, directions: int
) -> tuple[float, float]:
    """Area under the inner and under the outer polygon of the pooled fair region, from many linear programs.

    ``support`` has the largest sum of prices of fpr and of tpr over fair tuples, and the tuple.
    """
    points, lines = [(0.0, 0.0)], [(0.0, 1.0, 0.0)]  # a * tpr - b * fpr <= c
    for angle in np.linspace(0.0, np.pi / 2, directions + 2)[1:-1]:
        a, b = np.sin(angle), np.cos(angle)
        value, tuple_ = support(-b * weights0, a * weights1)
        points.append((float(weights0 @ tuple_[:, 0]), float(weights1 @ tuple_[:, 1])))
        lines.append((float(a), float(b), value))
    points.append((1.0, 1.0))
    lines.append((1.0, 0.0, 1.0))
    corners = [(0.0, 0.0)]
    for (a1, b1, c1), (a2, b2, c2) in pairwise(lines):
        det = a1 * b2 - a2 * b1
        corners.append(((a1 * c2 - a2 * c1) / -det, (b2 * c1 - b1 * c2) / det))
    corners.append((1.0, 1.0))
    return trapezia(points), trapezia(corners)


def trapezia(points: Sequence[tuple[float, float]]) -> float:
    """Area under a polygonal line."""
    x, y = np.array(points).T
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2)


# ---- couplings ---------------------------------------------------------------------------------------------


def pair_gap(u: FloatArray, v: FloatArray, norm: int | str) -> float:
    """Largest distance of two groups at one level, pair by pair."""
    f, t = (u - v) / 2, (u + v) / 2
    worst = 0.0
    for g, h in combinations(range(u.shape[1]), 2):
        df, dt = np.abs(f[:, g] - f[:, h]), np.abs(t[:, g] - t[:, h])
        worst = max(worst, float((df + dt if norm == 1 else np.maximum(df, dt)).max()))
    return worst


def best_pooled_on_grid(
    f: Sequence[FloatArray], t: Sequence[FloatArray], fair: np.ndarray, weights0: FloatArray, weights1: FloatArray
) -> float:
    """Best pooled AUC of two groups whose levels are grid points with these rates, those of ``fair`` pairs only: a
    dynamic program."""
    pooled_f = weights0[0] * f[0][:, None] + weights0[1] * f[1]
    pooled_t = weights1[0] * t[0][:, None] + weights1[1] * t[1]
    best = np.full(fair.shape, -np.inf)
    best[0, 0] = 0.0
    for i, j in product(*map(range, fair.shape)):
        for a, b in ((i - 1, j), (i, j - 1), (i - 1, j - 1)):
            if fair[i, j] and a >= 0 and b >= 0:
                gain = (pooled_f[i, j] - pooled_f[a, b]) * (pooled_t[i, j] + pooled_t[a, b]) / 2
                best[i, j] = max(best[i, j], best[a, b] + gain)
    return float(best[-1, -1])


# ---- kernels and realised -------------------------------------------------------------------------------------


def place_chance(kernel: Kernel, score: float, y: float, closed: bool) -> float:
    """P(place <= y) of one person, or P(place < y), from the documented meaning of a kernel."""
    block = next((b for b, low in enumerate(kernel.thresholds) if score >= low), len(kernel.thresholds) - 1)
    first, last = kernel.first[block], kernel.last[block]
    total = 0.0
    for level, chance in enumerate(kernel.table[kernel.row[block]]):
        begin, end = float(level), float(level + 1)
        if first >= 0 and level == first:
            begin = level + kernel.start[block]
        if first >= 0 and level == last:
            end = level + kernel.stop[block]
        if kernel.ordered[block] and first <= level <= last:
            high = kernel.ceiling if block == 0 else kernel.thresholds[block - 1]
            low = kernel.thresholds[block]
            share = (high - min(max(score, low), high)) / (high - low) if high > low else 1.0
            begin = end = level + (kernel.start[block] + share * (kernel.stop[block] - kernel.start[block]))
        if end > begin:
            total += chance * min(1.0, max(0.0, (y - begin) / (end - begin)))
        elif y > begin or (closed and y == begin):
            total += chance
    return total


def drawn_place(kernel: Kernel, score: float, uniform: float) -> float:
    """Place of one person with a uniform number, from the documented meaning of a kernel."""
    block = next((b for b, low in enumerate(kernel.thresholds) if score >= low), len(kernel.thresholds) - 1)
    row = kernel.table[kernel.row[block]]
    level, before = 0, 0.0
    for candidate in np.flatnonzero(row):
        level, before = int(candidate), float(row[:candidate].sum())
        if uniform < before + row[candidate]:
            break
    first, last = kernel.first[block], kernel.last[block]
    begin = kernel.start[block] if level == first else 0.0
    end = kernel.stop[block] if level == last else 1.0
    share = min(1.0, max(0.0, (uniform - before) / row[level]))
    if kernel.ordered[block] and level == first:
        high = kernel.ceiling if block == 0 else kernel.thresholds[block - 1]
        low = kernel.thresholds[block]
        share = (high - min(max(score, low), high)) / (high - low) if high > low else 1.0
    return float(level + (begin + share * (end - begin)))


def walk_at(curve: RocCurve, kernel: Kernel, y: FloatArray, closed: bool) -> FloatArray:
    """(len(y), 3) shares of negatives, positives and people with a place up to y, person by person."""
    mass = np.stack([np.diff(curve.fpr), np.diff(curve.tpr), np.diff(curve.share)], axis=1)
    chances = [[place_chance(kernel, s, place, closed) for s in curve.thresholds] for place in y]
    return np.array(chances) @ mass


# ---- gaps --------------------------------------------------------------------------------------------------


def rates(scores: FloatArray, labels: np.ndarray, mass: FloatArray, threshold: float) -> tuple[float, float]:
    """(fpr, tpr) of ``score >= threshold`` by counting."""
    hit = scores >= threshold
    return (
        float(mass[hit & ~labels].sum() / mass[~labels].sum()),
        float(mass[hit & labels].sum() / mass[labels].sum()),
    )


# ---- areas and their variance, pair by pair ----------------------------------------------------------------


def above(high: FloatArray, low: FloatArray) -> FloatArray:
    """(n, m) 1 where the first scores above the second, one half where they tie."""
    return (high[:, None] > low[None, :]) + 0.5 * (high[:, None] == low[None, :])


def pair_auc(high: FloatArray, high_mass: FloatArray, low: FloatArray, low_mass: FloatArray) -> float:
    """Chance that one drawn from the first scores above one drawn from the second; a tie counts one half."""
    pairs = high_mass[:, None] * low_mass[None, :]
    return float((pairs * above(high, low)).sum() / pairs.sum())


def delong_variance(scores: FloatArray, labels: np.ndarray) -> float:
    """DeLong's variance of the AUC from the table of all pairs. O(n^2)."""
    wins = above(scores[labels], scores[~labels])
    return float(np.var(wins.mean(axis=1), ddof=1) / len(wins) + np.var(wins.mean(axis=0), ddof=1) / wins.shape[1])


@cache
def all_walks(steps: tuple[int, ...], skipping: bool) -> np.ndarray:
    """(walks, length, groups) every rising sequence of stops from all 0 to ``steps``: a step of every group is 0 or 1,
    or skips any number. The end is repeated."""

    def onwards(at: tuple[int, ...]) -> list[list[tuple[int, ...]]]:
        if at == steps:
            return [[at]]
        ways = [range(a, b + 1) if skipping else range(a, min(a + 1, b) + 1) for a, b in zip(at, steps, strict=True)]
        return [[at, *rest] for to in product(*ways) if to != at for rest in onwards(to)]

    found = onwards((0,) * len(steps))
    longest = max(map(len, found))
    return np.array([[*walk, *[steps] * (longest - len(walk))] for walk in found])


def judged_walks(
    walks: np.ndarray,
    curves: Sequence[RocCurve],
    weights: tuple[FloatArray, FloatArray],
    scale: tuple[float, float] | None,
) -> tuple[FloatArray, FloatArray]:
    """Gap and pooled AUC of (..., length, groups) walks. ``scale``: what dFPR and dTPR are multiplied by before
    the larger one counts; None: their sum counts."""
    rates = [
        np.stack([getattr(curve, name)[walks[..., g]] for g, curve in enumerate(curves)], axis=-1)
        for name in ("fpr", "tpr")
    ]
    gap = np.zeros(walks.shape[:-2])
    for g, h in combinations(range(len(curves)), 2):
        fpr, tpr = (np.abs(rate[..., g] - rate[..., h]) for rate in rates)
        far = fpr + tpr if scale is None else np.maximum(scale[0] * fpr, scale[1] * tpr)
        gap = np.maximum(gap, far.max(axis=-1))
    x, y = (sum(w * rate[..., g] for g, w in enumerate(own)) for own, rate in zip(weights, rates, strict=True))
    return gap, (np.diff(x) * (y[..., 1:] + y[..., :-1])).sum(axis=-1) / 2


def best_on_lattice(
    one: RocCurve,
    other: RocCurve,
    weights: tuple[FloatArray, FloatArray],
    far: FloatArray,
    epsilon: float,
    skipping: bool,
) -> tuple[float, float]:
    """Least gap and largest AUC of two groups' walks, cell by cell: ``far`` (n, m) has all distances."""
    (a, b), (c, d) = weights
    x, y = (p[:, None] + q[None] for p, q in ((a * one.fpr, b * other.fpr), (c * one.tpr, d * other.tpr)))
    gap, area = np.full(far.shape, np.inf), np.full(far.shape, -np.inf)
    gap[0, 0], area[0, 0] = far[0, 0], 0.0
    for i, j in product(*map(range, far.shape)):
        first, second = (0, 0) if skipping else (max(i - 1, 0), max(j - 1, 0))
        for k, m in product(range(first, i + 1), range(second, j + 1)):
            if (k, m) != (i, j):
                gap[i, j] = min(gap[i, j], max(far[i, j], gap[k, m]))
                if far[i, j] <= epsilon:
                    area[i, j] = max(area[i, j], area[k, m] + (x[i, j] - x[k, m]) * (y[i, j] + y[k, m]) / 2)
    return float(gap[-1, -1]), float(area[-1, -1])


def fewest_lowered(curves: Sequence[RocCurve], people: Sequence[FloatArray], epsilon: float) -> float | None:
    """The smallest share of people in intervals of two curves that must be lowered, for a walk that keeps
    |du| and |dv| within epsilon: a mixed-integer program. None where no lowering serves.

    ``people`` is the share of all people at every step. Inside an interval a curve is any concave line below itself.
    """
    u, v = [curve.u for curve in curves], [curve.tpr - curve.fpr for curve in curves]
    cells = {at for at in product(*(range(len(own)) for own in u)) if abs(u[0][at[0]] - u[1][at[1]]) <= epsilon + 1e-12}
    ahead = {at: [(at[0] + 1, at[1]), (at[0], at[1] + 1), (at[0] + 1, at[1] + 1)] for at in cells}
    edges = [(at, to) for at in sorted(cells) for to in ahead[at] if to in cells]
    first, last = (0, 0), (len(u[0]) - 1, len(u[1]) - 1)
    points = [(g, i) for g in (0, 1) for i in range(len(u[g]))]
    kinds: list[tuple[str, Any]] = [("edge", e) for e in edges]
    kinds += [(name, point) for name in ("height", "inside", "drawn") for point in points]
    number = {kind: k for k, kind in enumerate(kinds)}
    rows: list[dict[int, float]] = []
    limits: list[tuple[float, float]] = []

    def rule(low: float, high: float, *terms: tuple[float, str, Any]) -> None:
        rows.append({number[name, at]: factor for factor, name, at in terms})
        limits.append((low, high))

    for at in cells:
        out = [(1.0, "edge", e) for e in edges if e[0] == at]
        into = [(-1.0, "edge", e) for e in edges if e[1] == at]
        rule(*[float((at == first) - (at == last))] * 2, *out, *into)
        for sign in (1.0, -1.0):  # where a walk comes to, heights are within epsilon
            met = [(2.0, name, e) for _, name, e in into]
            rule(-np.inf, epsilon + 2.0, (sign, "height", (0, at[0])), (-sign, "height", (1, at[1])), *met)
    lower, upper = np.zeros(len(kinds)), np.ones(len(kinds))
    for g, i in points:
        lower[number["height", (g, i)]], upper[number["height", (g, i)]] = -1.0, v[g][i]
        rule(v[g][i], np.inf, (1.0, "height", (g, i)), (2.0, "inside", (g, i)))
        if i in (0, last[g]):
            upper[number["inside", (g, i)]] = 0.0
            continue
        a, b = np.diff(u[g][i - 1 : i + 2])
        sides = (-b, "height", (g, i - 1)), (-a, "height", (g, i + 1))
        rule(-4.0, np.inf, (a + b, "height", (g, i)), *sides, (-4.0, "inside", (g, i)))
        for k in (i - 1, i):
            rule(0.0, np.inf, (1.0, "drawn", (g, k)), (-1.0, "inside", (g, i)))
    cost, whole = np.zeros(len(kinds)), np.array([float(name in ("edge", "inside")) for name, _ in kinds])
    for g in (0, 1):
        cost[[number["drawn", (g, k)] for k in range(len(people[g]))]] = people[g]
    matrix = np.array([[row.get(k, 0.0) for k in range(len(kinds))] for row in rows])
    both = LinearConstraint(matrix, *np.array(limits).T)
    found = milp(cost, constraints=both, integrality=whole, bounds=Bounds(lower, upper), options={"mip_rel_gap": 1e-9})
    return None if found.x is None else float(found.fun)
