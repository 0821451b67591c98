"""Multiplier bootstrap: how far sample curves stray from the curves they are samples of, at all thresholds at once.

Every row gets a standard normal multiplier e. The process ``sum of w_i e_i (1{s_i >= t} - rate(t)) / sum of w_i`` has,
given the rows, the covariance that the rate's error has in large samples (van der Vaart and Wellner 1996, chapter 2.9),
weights or not. Its steps between neighbouring thresholds of a grid are independent normal numbers, so that a draw costs
as much as the grid has points, whatever the number of rows.

The distance of two groups is off by no more than the length of the difference of their errors. Of few groups that is
drawn for every pair. Of more than `FEW_PAIRED` groups each one's error is drawn, at thresholds of its own: limits that
all groups keep at once add up to limits that all pairs keep. These are wider; their cost grows with the groups alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from fairroc.core.chain import FloatArray, Frozen, IntArray, ratio, totals
from fairroc.core.constraint import EDGE, Distance
from fairroc.core.gap import FEW_PAIRED
from fairroc.stats.bands import Noise, group_pairs, leverages

Progress = Callable[[int, int], None]
"""Told what is done of all there is to do."""

GRID = 512
"""Thresholds of the grid, about: all thresholds if there are no more."""

FEWEST = 8
"""Grid points that every class of every group gets at least."""

OWN, OWN_MOST, OWN_LEAST = 1 << 13, 64, 16
"""Grid points of a class where each group has a grid of its own: so many over the number of groups, within limits."""

ROOM = 1 << 18
"""Numbers held at once: few enough for the cache."""

OVERSHOOT = 0.5826
"""Mean excess of Brownian motion's maximum over its maximum at whole times (Chernoff 1965, Siegmund 1979):
-zeta(1/2) / sqrt(2 pi)."""


def portion(progress: Progress | None, begin: int, end: int) -> Progress:
    """Progress of a part of the work, from ``begin`` to ``end`` per cent of it; None: nobody is told."""

    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(begin + (end - begin) * done // total, 100)

    return tell


@dataclass(frozen=True, slots=True, eq=False)
class Grid(Frozen):
    """Falling thresholds down to the lowest score, with every group's rates there and the variance of each step.

    Attributes
    ----------
    rates : (groups, 2, k), 1 in the last column.
    steps : (groups, 2, k) variance of the step that ends at each threshold.
    hidden : (groups, 2, k) the part of it in steps that may hold further thresholds: more than one score, or a single
        row, which may come from a continuous distribution.
    """

    rates: FloatArray
    steps: FloatArray
    hidden: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Draws(Frozen):
    """Largest errors seen in every draw, over the grid, and what the grid may have missed of them.

    Attributes
    ----------
    cells : (draws, groups, 2) of every rate.
    off : (draws, pairs) of every two groups' distance, at the thresholds that count; of more than `FEW_PAIRED` groups
        (draws, groups) of every group's point, at all thresholds.
    missed_cells, missed_off : (groups, 2), and (pairs,) or (groups,).
    """

    cells: FloatArray
    off: FloatArray
    missed_cells: FloatArray
    missed_off: FloatArray

    def widths(self, confidence: float) -> FloatArray:
        """(groups, 2) half widths of bands that hold for all thresholds, groups and classes at once."""
        flat = self.cells.reshape(len(self.cells), -1)
        return np.minimum(_limits(flat, confidence).reshape(-1, 2) + self.missed_cells, 1.0)

    def reach(self, confidence: float) -> FloatArray:
        """How far distances can be from the sample's, all thresholds and groups at once: (pairs,) of two groups, or
        (groups,) what each group adds."""
        return _limits(self.off, confidence) + self.missed_off


def bootstrap(
    noises: Sequence[Noise],
    distance: Distance,
    *,
    draws: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
    shares: FloatArray | None = None,
) -> Draws:
    """Draw the groups' errors ``draws`` times; ``progress(done, draws)`` is called. O(draws m k), k grid points; of few
    groups m^2.

    The errors are those of the rates that the distance compares. A distance with a window asks for the groups'
    ``shares`` of all people.
    """
    noises = [noise.seen(distance) for noise in noises]
    if len(noises) > FEW_PAIRED:
        grid = own_grids(noises)
        missed, off = grid.hidden.sum(axis=1).max(axis=-1), partial(_of_groups, distance)
    else:
        grid = grid_of(noises)
        counts = slice(None) if distance.where is None else _touched(grid, noises, distance.where, shares)
        rates, hidden, (g, h) = grid.rates[..., counts], grid.hidden[..., counts], group_pairs(len(noises)).T
        one, other = leverages(distance, rates[g], rates[g], rates[h], rates[h])
        missed = (one**2 * hidden[g] + other**2 * hidden[h]).sum(axis=1).max(axis=-1)
        off = partial(_of_pairs, distance, rates, counts)
    cells, apart = np.empty((draws, *grid.steps.shape[:2])), np.empty((draws, len(missed)))
    for part, error in errors(grid, draws, rng):
        cells[part] = np.abs(error).max(axis=-1)
        apart[part] = off(error)
        if progress is not None:
            progress(part.stop, draws)
    return Draws(cells, apart, OVERSHOOT * np.sqrt(grid.hidden.max(axis=-1)), OVERSHOOT * np.sqrt(missed))


def _of_pairs(distance: Distance, rates: FloatArray, counts: slice, error: FloatArray) -> FloatArray:
    """(draws, pairs) largest length of the difference of two groups' errors."""
    found, error = [], error[..., counts]
    for g, h in group_pairs(len(rates)):
        one, other = leverages(distance, rates[g], rates[g], rates[h], rates[h])
        off = error[:, g] - error[:, h] if isinstance(one, float) else one * error[:, g] - other * error[:, h]
        found.append(distance.length(off[:, 0], off[:, 1]).max(axis=-1))
    return np.stack(found, axis=1)


def _of_groups(distance: Distance, error: FloatArray) -> FloatArray:
    """(draws, groups) largest length of a group's error."""
    return np.asarray(distance.length(error[:, :, 0], error[:, :, 1]).max(axis=-1))


def _touched(grid: Grid, noises: Sequence[Noise], window: tuple[float, float], shares: FloatArray | None) -> slice:
    """The grid points at the ends of steps that reach into a window: one at least."""
    assert shares is not None, "a window is one of shares of all people"
    priors = np.array([noise.curve.prior for noise in noises])[:, None]
    selected = totals(shares[:, None] * (grid.rates[:, 0] + priors * (grid.rates[:, 1] - grid.rates[:, 0])))
    first, last = np.searchsorted(selected, window[0] - EDGE), np.searchsorted(selected, window[1] + EDGE)
    return slice(max(int(first) - 1, 0), int(last) + 1)


def errors(grid: Grid, draws: int, rng: np.random.Generator) -> Iterator[tuple[slice, FloatArray]]:
    """Errors of all rates, (draws, groups, 2, k) in all, a few draws at a time."""
    spread = np.sqrt(grid.steps)
    batch = max(1, ROOM // spread.size)
    for begin in range(0, draws, batch):
        part = slice(begin, min(begin + batch, draws))
        error = rng.standard_normal((part.stop - begin, *spread.shape))
        error *= spread
        np.cumsum(error, axis=-1, out=error)
        error -= grid.rates * error[..., -1:]
        yield part, error


def grid_of(noises: Sequence[Noise], count: int | None = None) -> Grid:
    """All thresholds, or about ``count`` (GRID) of them: even steps of every rate, and large ties by themselves."""
    curves = [noise.curve for noise in noises]
    every = np.unique(np.concatenate([curve.thresholds for curve in curves]))[::-1]
    thresholds, count = every, GRID if count is None else count
    if len(every) > count:
        each = max(count // (2 * len(noises)), FEWEST)
        parts = [noise.curve.thresholds[even_steps(rate, each) - 1] for noise in noises for rate in noise.rates]
        thresholds = np.unique(np.concatenate((every[-1:], *parts)))[::-1]
    scores = np.diff(len(every) - np.searchsorted(every[::-1], thresholds), prepend=0)  # distinct ones of every step
    at = np.stack([curve.index_at(thresholds) for curve in curves])
    return _grid(noises, at, scores)


def own_grids(noises: Sequence[Noise]) -> Grid:
    """Every group at thresholds of its own: the same, but the last one again and again where a group has fewer."""
    each = min(max(OWN // len(noises), OWN_LEAST), OWN_MOST)
    parts = []
    for noise in noises:
        curve, last = noise.curve, len(noise.curve.thresholds)
        some = np.union1d(even_steps(curve.fpr, each), even_steps(curve.tpr, each))
        parts.append(np.arange(1, last + 1) if last <= len(some) else some)
    at = np.stack([np.pad(part, (0, max(map(len, parts)) - len(part)), mode="edge") for part in parts])
    return _grid(noises, at, np.diff(at, prepend=0)[:, None])


def _grid(noises: Sequence[Noise], at: IntArray, scores: IntArray) -> Grid:
    """The grid of points ``at`` of every group's curve, each after so many distinct scores."""
    rates = np.stack([np.stack((n.curve.fpr[i], n.curve.tpr[i])) for n, i in zip(noises, at, strict=True)])
    squares = np.stack([noise.squares[:, i] for noise, i in zip(noises, at, strict=True)])
    scale = np.stack([noise.scale for noise in noises])[:, :, None]
    mass, steps = np.diff(rates, prepend=0.0), scale * np.maximum(np.diff(squares, prepend=0.0), 0.0)
    tied = (scores == 1) & (mass > 1.5 * scale)
    return Grid(rates, steps, np.where(tied, 0.0, steps))


def even_steps(rate: FloatArray, count: int) -> IntArray:
    """Indices, from 1, of points that part a rising rate into even steps; both ends of every larger step."""
    index = np.searchsorted(rate, np.arange(1, count + 1) / count)
    large = np.flatnonzero(np.diff(rate) > 1.0 / count)
    found = np.unique(np.concatenate((index, large, large + 1)))
    return found[(found > 0) & (found < len(rate))]


def _limits(errors: FloatArray, confidence: float) -> FloatArray:
    """Limits of the columns, in proportion to their means, that all columns keep in that share of draws."""
    mean = errors.mean(axis=0)
    worst = ratio(errors, np.broadcast_to(mean, errors.shape), 0.0).max(axis=1)
    return np.asarray(mean * np.quantile(worst, confidence, method="higher"))
