"""What a fit can promise for people not seen yet: an estimate by cross-fitting, and upper limits (docs/unseen.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from fairroc.auditing.audit import EQUAL_ONLY
from fairroc.core.chain import FloatArray, IntArray
from fairroc.core.constraint import Constraint
from fairroc.core.realised import realise
from fairroc.core.roc import RocCurve, all_thresholds, rates_at
from fairroc.fitting.fit import Fitted, chosen_curve, fit_quietly, limits_of
from fairroc.fitting.limits import SEED, Limit
from fairroc.model.model import ModelData, treated
from fairroc.options import FOLDS, LEVEL
from fairroc.people.people import People, split
from fairroc.stats.bands import even_noise, group_pairs
from fairroc.stats.bootstrap import errors, grid_of

REPEATS, FEW_ROWS = 2, 20_000
"""People are split so many times where they are few: another split gives another estimate."""

FOLD_DRAWS = 200
"""Draws of the noise in each part."""

GRID = 1024
"""Thresholds, about, at which the folds are compared."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to expect of the fair score among new people like the fitted ones.

    Attributes
    ----------
    gap : on the fitted people.
    gap_estimate : estimate for new people: every fifth of the fitted people is judged by a fit to the others, and what
        its own noise adds to the gap is taken off, down to ``gap``. None if a class is too small: ``estimate_reason``.
    gap_folds : the same before the noise is taken off.
    upper_dkw, upper_bootstrap : upper confidence limits, at ``level``, of the gap among all people; the first holds for
        any sample size and any score (None for weighted rows: ``dkw_reason``), the second for this score, in large
        samples.
    method, upper : the limit to rely on.
    limited_by : the group and label with the widest band.
    rows, rows_to_halve : fitted rows; rows, in the same proportions, that would halve ``upper - gap``.
    """

    level: float
    gap: float
    gap_estimate: float | None
    gap_folds: float | None
    folds: int
    estimate_reason: str | None
    upper_dkw: float | None
    upper_bootstrap: float
    dkw_reason: str | None
    method: str
    upper: float
    limited_by: Limit
    rows: int
    rows_to_halve: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def outlook(
    fitted: Fitted,
    confidence: float = LEVEL.default,
    *,
    folds: int = FOLDS.default,
    progress: Callable[[int, int], None] | None = None,
) -> Outlook:
    """Look ahead; costs as much as ``folds`` fits, or twice as many. ``progress(done, all)`` is called after each."""
    people, gap, far = fitted.people, fitted.performance.gap, limits_of(fitted, confidence)
    smallest = int(people.class_rows().min())
    reason = "none was asked for" if not folds else "a class of a single row cannot be split" if smallest < 2 else None
    folds = 0 if reason else min(folds, smallest)
    found = cross_fitted(fitted, folds, progress) if folds else None
    return Outlook(
        level=confidence,
        gap=gap,
        gap_estimate=None if found is None else max(found[0] - found[1], gap),
        gap_folds=None if found is None else found[0],
        folds=folds,
        estimate_reason=reason,
        upper_dkw=far.dkw,
        upper_bootstrap=far.bootstrap,
        dkw_reason=EQUAL_ONLY if far.dkw is None else None,
        method=far.method,
        upper=far.value,
        limited_by=far.limit,
        rows=people.rows,
        rows_to_halve=4 * people.rows,
    )


def cross_fitted(fitted: Fitted, folds: int, progress: Callable[[int, int], None] | None = None) -> tuple[float, float]:
    """Gap of people judged by fits that have not seen them, and how much of it their own noise adds: means over folds.

    Every fold has its own gap. Rates are not pooled over folds: the errors of the fits and of the parts, put together,
    would cancel.
    """
    people, asked = fitted.people, fitted.options
    curve = chosen_curve(people, asked)  # whatever a part of the people would make of "auto"
    options = replace(asked, epsilon=fitted.target, curve=curve, confidence=None, min_class_rows=1)
    thresholds = _grid(people.thin.curves)
    repeats = REPEATS if people.rows <= FEW_ROWS else 1
    parts = chain.from_iterable(split(people, folds, SEED + repeat) for repeat in range(repeats))
    found = []
    for done, (rest, part) in enumerate(parts, 1):
        model = fit_quietly(rest, options, salt=0).model
        rates = _rates(model, part, thresholds)
        found.append(_gap_and_noise(thresholds, rates, part.class_sizes(), options.constraint))
        if progress is not None:
            progress(done, repeats * folds)
    gap, noise = np.mean(found, axis=0).tolist()
    return gap, noise


def _grid(curves: tuple[RocCurve, ...]) -> FloatArray:
    """About ``GRID`` thresholds, falling, that part every rate of every group evenly; the lowest score is the last."""
    each = max(GRID // (2 * len(curves)), 64)
    parts = [
        curve.thresholds[np.searchsorted(rate, np.arange(1, each + 1) / each) - 1]
        for curve in curves
        for rate in (curve.fpr, curve.tpr)
    ]
    return np.unique(np.concatenate((*parts, all_thresholds(curves)[:1])))[::-1]


def _rates(model: ModelData, people: People, thresholds: FloatArray) -> FloatArray:
    """(groups, 2, k) fpr and tpr of the fair score at falling thresholds, in expectation over the draw."""
    if model.unchanged or model.scale is None:
        found = np.array([rates_at(curve, thresholds) for curve in people.exact.curves])
    else:
        seen, kernels = treated(model, people)
        scale = model.scale
        places = scale.to_place(thresholds)
        realised = [realise(curve, kernel) for curve, kernel in zip(seen.exact.curves, kernels, strict=True)]
        found = np.array([one.at(np.maximum(places, 0.0))[:, :2].T for one in realised])
        found[:, :, places < 0] = 0.0
    found[:, :, -1] = 1.0
    return found


def _gap_and_noise(
    thresholds: FloatArray, rates: FloatArray, sizes: FloatArray, constraint: Constraint
) -> tuple[float, float]:
    """Largest distance of two groups, and by how much noise lifts it, by a bootstrap around these rates."""
    pairs = group_pairs(len(rates))
    lines = np.concatenate((np.zeros((*rates.shape[:2], 1)), rates), axis=2)
    curves = [RocCurve(thresholds, fpr, tpr, 0.5) for fpr, tpr in lines]
    grid = grid_of([even_noise(curve, *size) for curve, size in zip(curves, sizes, strict=True)])
    gap = _largest(rates[None], pairs, constraint)[0]
    lifted = np.concatenate(
        [
            _largest(grid.rates + error, pairs, constraint)
            for _, error in errors(grid, FOLD_DRAWS, np.random.default_rng(SEED))
        ]
    )
    return float(gap), float(lifted.mean() - _largest(grid.rates[None], pairs, constraint)[0])


def _largest(rates: FloatArray, pairs: IntArray, constraint: Constraint) -> FloatArray:
    """(draws,) largest distance of two groups at any threshold, from (draws, groups, 2, k) rates."""
    off = rates[:, pairs[:, 0]] - rates[:, pairs[:, 1]]
    return np.asarray(constraint.length(off[:, :, 0], off[:, :, 1]).max(axis=(1, 2)))
