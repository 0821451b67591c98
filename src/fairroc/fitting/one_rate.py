"""Fits that keep one rate close: levels, bounds and kernels, in the raw order of scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, IntArray, area, chain_through, merged
from fairroc.core.constraint import OneRate, Ratio
from fairroc.core.coupling import Levels, prune
from fairroc.core.gap import ROUNDING
from fairroc.core.kernel import FEW, FINE, Kernel, between_raw, rate_kernel
from fairroc.core.one_rate import rate_path
from fairroc.core.portable import dot, weighted
from fairroc.core.realised import RealisedRoc
from fairroc.core.roc import Population, RocCurve
from fairroc.stats.bootstrap import even_steps

NARROW, NARROW_RATIO = 0.2, 0.05
"""With some care, scores are drawn whose people are a larger share than this of what two rates may differ by there: of
a difference nobody or nearly everybody in a group, of a ratio about a hundred people at the top."""

THIN, THINNEST = 1.0 / 1024, 1.0 / 64
"""Raw order goes through straight pieces of at most the first width, and of at most such a share of what two rates may
differ by there, but that is taken for no less than the second share of the rate."""

FEW_LEVELS = 1e-8
"""A level goes if the pooled AUC loses no more than this by it: one or two hundred stay."""

MARKS = 64
"""Levels of the original order, about, that each group's scores are cut into."""

HALVINGS = 60
"""Of the way between two levels, in search of the place that selects a share of people."""

Share: TypeAlias = tuple[float, float]
"""A window of shares of all people selected."""

ORDERED, CAREFUL, EXACT = range(3)
"""How much is drawn: people who share a score; also single people where they are too many for epsilon; everybody,
inside the own part."""


@dataclass(frozen=True, slots=True, eq=False)
class Window(Levels):
    """Levels that keep the rates close, with others before and after them, in which the original order is kept.

    Both rates of a level are the one that is kept close.

    Attributes
    ----------
    begin, end : (groups,) points of every group's curve between which the rates are kept close.
    before, after : falling, the lowest scores of the levels of the original order.
    """

    begin: IntArray
    end: IntArray
    before: FloatArray
    after: FloatArray


def levels_of_rate(population: Population, inner: float, constraint: OneRate, seen: Population | None = None) -> Levels:
    """Levels of the best path of tuples.

    In the raw order of the people ``seen`` every group keeps its AUC, whatever the levels, so that few of them will do;
    and with a window they are those inside it. Who asks for the path alone (``seen`` is None) gets all of it.
    """
    hulls = [curve.inner_hull for curve in population.curves]
    weights = population.weights0, population.weights1
    path = rate_path(hulls, population.priors, *weights, inner, constraint)
    if seen is None:
        return prune(path, *weights)
    path = prune(path, *weights, FEW_LEVELS, pooled=True)
    return path if constraint.where is None else _window(path, constraint, seen)


def rate_bound(population: Population, epsilon: float, constraint: OneRate) -> float:
    """What no fair score's pooled AUC exceeds: that of the path; with a window, of any score outside it.

    People who share a fair score may be selected all at once, past an end of the window: so what is above the line from
    a point outside to a point inside is out of reach, and no more.
    """
    hulls = [curve.hull for curve in population.curves]
    known = population.priors, population.weights0, population.weights1
    allowed = (epsilon,) if constraint.where is None else (epsilon, 1.0)
    paths = [rate_path(hulls, *known, each, constraint) for each in allowed]
    lines = [(weighted(path.fpr, population.weights0), weighted(path.tpr, population.weights1)) for path in paths]
    if constraint.where is None:
        return area(*lines[0])
    prior = dot(population.shares, population.priors)
    lines = [((1 - prior) * x + prior * y, y - x) for x, y in lines]  # heights over the share of people selected
    share = np.unique(np.concatenate((*(line[0] for line in lines), constraint.where)))
    kept, any_score = (np.interp(share, *line) for line in lines)
    low, high = constraint.where
    line = chain_through(share, np.where((share > low) & (share < high), kept, any_score))
    return 0.5 + area(line.u, line.v)


def rate_kernels(
    curves: Sequence[RocCurve],
    seen: Sequence[RocCurve],
    levels: Levels,
    constraint: OneRate,
    *,
    epsilon: float,
    care: int,
    never: bool,
) -> tuple[Kernel, ...]:
    """Kernels that keep the raw order; ``seen`` curves tell how wide one person is, steps of estimated ones do not."""
    found = []
    top = max(float(curve.thresholds[0]) for curve in curves)
    narrow = NARROW_RATIO if isinstance(constraint, Ratio) else NARROW
    for g, (curve, own) in enumerate(zip(curves, seen, strict=True)):
        line = constraint.line(curve)
        low, high = constraint.reach(line[1:], epsilon)
        apart = narrow * np.maximum(high - low, THINNEST * line[1:])
        drawn = np.zeros(len(apart), dtype=np.bool_)
        if not never:
            drawn = _drawn(np.diff(line), _person(constraint.line(own)), narrow * (high - low), care)
        thin = np.where(apart > 0, np.minimum(THIN, apart), THIN)  # 0 where nobody counts yet
        grid = _grid(levels, g, constraint, curve)
        if isinstance(levels, Window):
            found.append(_in_window(curve, line, grid, drawn, thin, levels, g, top))
            continue
        grid[0], grid[-1] = 0.0, 1.0
        found.append(rate_kernel(curve.thresholds, curve.u, line, grid, drawn, thin))
    return tuple(found)


def _grid(levels: Levels, g: int, constraint: OneRate, curve: RocCurve) -> FloatArray:
    """A group's rate at the levels, rising whatever the rounding."""
    return np.maximum.accumulate(constraint.of(levels.fpr[:, g], levels.tpr[:, g], curve.prior))


def _person(line: FloatArray) -> float:
    """Width of one person who counts for the rate."""
    width = np.diff(line)
    return float(width[width > 0].min())


def _drawn(width: FloatArray, person: float, apart: FloatArray, care: int) -> BoolArray:
    """Which scores' people are drawn inside their own part of the line, from the parts' width and what is narrow."""
    if care == EXACT:
        return np.ones(len(width), dtype=np.bool_)
    wide: BoolArray = width > max(THIN, FEW * person)
    return wide | (width > apart) if care == CAREFUL else wide


# -- a window ----------------------------------------------------------------------------------------------------------


def _window(path: Levels, constraint: OneRate, seen: Population) -> Window:
    """The path between two shares of all people, and where every group leaves the original order and returns to it."""
    assert constraint.where is not None
    curves = seen.curves
    lines = [constraint.line(curve) for curve in curves]
    rates = np.stack([constraint.of(path.fpr[:, g], path.tpr[:, g], c.prior) for g, c in enumerate(curves)], axis=1)
    low, high = (_tuple_at(rates, lines, seen, end, constraint.where[end]) for end in (0, 1))
    inside = (rates > low).any(axis=1) & (rates < high).any(axis=1)
    inner = np.concatenate((low[None], np.clip(rates[inside], low, high), high[None]))
    begin = np.array([np.searchsorted(one, at + ROUNDING, "right") - 1 for one, at in zip(lines, low, strict=True)])
    end = np.array([np.searchsorted(one, at - ROUNDING, "left") for one, at in zip(lines, high, strict=True)])
    end = np.maximum(begin, end)
    start, stop = (np.array([one[at] for one, at in zip(lines, point, strict=True)]) for point in (begin, end))
    inner = np.clip(np.concatenate((start[None], inner, stop[None])), start, stop)
    moves = np.concatenate(([True], (np.diff(inner, axis=0) > 0).any(axis=1)))
    leaves = [np.inf if at == 0 else c.thresholds[at - 1] for c, at in zip(curves, end, strict=True)]
    before = np.unique([c.thresholds[at - 1] for c, at in zip(curves, begin, strict=True) if at > 0])
    after = np.unique([*leaves, min(curve.thresholds[-1] for curve in curves)])
    marks = np.concatenate([curve.thresholds[even_steps(curve.share, MARKS) - 1] for curve in curves])
    before = np.union1d(before, marks[marks > before.min(initial=np.inf)])
    after = np.union1d(after, marks[(marks < after[-1]) & (marks > after[0])])
    inner = inner[moves]
    return Window(2 * inner, np.zeros(inner.shape), begin, end, before[::-1].copy(), after[::-1][1:].copy())


def _tuple_at(
    rates: FloatArray, lines: Sequence[FloatArray], seen: Population, end: Literal[0, 1], share: float
) -> FloatArray:
    """The tuple of rates on the path at which so many of all people are selected: no more than that at the lower end of
    a window, and no fewer at its upper end, however those who do not count for the rate are placed between the others.
    """

    def selected(row: FloatArray) -> float:
        parts = []
        for rate, line, curve in zip(row, lines, seen.curves, strict=True):
            if end:
                at = np.searchsorted(line, line[max(np.searchsorted(line, rate - FINE, "right") - 1, 0)], "left")
            else:
                at = np.searchsorted(line, line[np.searchsorted(line, min(rate + FINE, 1.0), "left")], "right") - 1
            parts.append(curve.share[at])
        return dot(seen.shares, np.array(parts))

    if share <= 0.0 or share >= 1.0:
        return np.asarray(rates[0 if share <= 0.0 else -1])
    low, high = 0, len(rates) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if selected(rates[middle]) <= share else (low, middle)
    part, step = 0.0, 0.5
    for _ in range(HALVINGS):
        if selected(rates[low] + (part + step) * (rates[high] - rates[low])) <= share:
            part += step
        step /= 2
    return np.asarray(rates[low] + (part + end * 2 * step) * (rates[high] - rates[low]))


def _in_window(
    curve: RocCurve,
    line: FloatArray,
    grid: FloatArray,
    drawn: BoolArray,
    thin: FloatArray,
    levels: Window,
    g: int,
    top: float,
) -> Kernel:
    begin, end = int(levels.begin[g]), int(levels.end[g])
    inner = None
    if end > begin:
        grid[0], grid[-1] = line[begin], line[end]
        part, own = slice(begin, end + 1), slice(begin, end)
        inner = rate_kernel(curve.thresholds[own], curve.u[part], line[part], grid, drawn[own], thin[own])
    before = levels.before[levels.before >= curve.thresholds[begin - 1]] if begin else levels.before[:0]
    after = levels.after[levels.after < (curve.thresholds[end - 1] if end else np.inf)]
    return between_raw(inner, before, after, (len(levels.before), len(levels.u) - 1, len(levels.after)), top)


# -- how far people's own rates are off --------------------------------------------------------------------------------


def deviation(judged: Population, realised: Sequence[RealisedRoc], levels: Levels, constraint: OneRate) -> float:
    """How much larger a difference of two groups' rates can be than that of the levels, at most.

    Between two levels every rate should rise evenly; people who are not drawn make steps. Group by group: O(k).
    """
    column = {"fpr": 0, "tpr": 1, "selection": 2}[constraint.rate]
    off = np.zeros((2, len(realised)))
    for g, (curve, roc) in enumerate(zip(judged.curves, realised, strict=True)):
        grid = _grid(levels, g, constraint, curve)
        y = merged(np.arange(len(grid), dtype=np.float64), roc.y)
        wanted = np.interp(y, np.arange(len(grid)), grid)
        before, after = roc.both_sides(y)
        off[:, g] = (roc.line(after, column) - wanted).max(), (wanted - roc.line(before, column)).max()
    high, low = (np.argsort(-part, kind="stable") for part in off)
    pairs = [(high[0], low[0])] if high[0] != low[0] else [(high[0], low[1]), (high[1], low[0])]
    return float(max(off[0, g] + off[1, h] for g, h in pairs))


# -- the search --------------------------------------------------------------------------------------------------------


def widened(where: Share | None) -> Iterator[Share | None]:
    """A window, and wider ones for where its ends cut through people who count for too much; at last none."""
    if where is not None:
        yield where
        yield where[0] / 2, (1.0 + where[1]) / 2
        yield 0.0, (1.0 + where[1]) / 2
    yield None


def cares(never: bool, ratio: bool) -> Iterator[int]:
    """How much to draw, one after the other until epsilon is kept."""
    if never:
        yield ORDERED
        return
    if not ratio:
        yield ORDERED
    yield CAREFUL
    yield EXACT
