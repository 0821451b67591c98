"""The gap of a fitted model's fair score among new people with labels, and how sure one can be of it.

The people are the sample, not the draws: every figure is an expectation over the draw.

* DKW: within a group the chance to reach a place rises with the original score, so that a rate of the fair score is a
  mean of rates of the original one over thresholds. A band around the latter, at all thresholds, is a band around the
  former.
* Bootstrap: the error of a rate of people with one draw each is the error of its expectation and, independent of it,
  what the draws add. By Anderson's inequality (1955) the first alone is smaller, by whatever symmetric convex measure.
  So limits for the drawn score hold for its expectation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fairroc.auditing.audit import gap_interval, thin_noises
from fairroc.auditing.findings import GapInterval, Interval
from fairroc.core.chain import FloatArray, area
from fairroc.core.gap import ROUNDING, pooled_auc
from fairroc.core.kernel import Kernel
from fairroc.core.realised import Walk, all_places, two_sided, walk
from fairroc.core.roc import RocCurve
from fairroc.model.expectation import treated
from fairroc.model.model import ModelData
from fairroc.monitoring.drift import Answer, GapCheck
from fairroc.people.factorise import code_dtype, recode
from fairroc.people.people import People, measure
from fairroc.people.rows import SMALL_CLASS, Columns
from fairroc.stats.auc import auc_interval
from fairroc.stats.bands import Noise, dkw_widths, gap_limits, group_pairs
from fairroc.stats.bootstrap import bootstrap

__all__ = ["GapNow", "GroupAucs", "gap_now"]

MOST_ROWS = 10**12
"""No larger number of rows is named as the number that would be needed."""


@dataclass(frozen=True, slots=True)
class GroupAucs:
    """AUCs of one group's new people: of the original score with DeLong's interval, and of the fair score."""

    auc: float
    interval: Interval | None
    fair_auc: float


@dataclass(frozen=True, slots=True, eq=False)
class GapNow:
    """The gap, or why there is none; and the AUCs of all groups measured."""

    check: GapCheck | None
    reason: str | None
    aucs: dict[str, GroupAucs]


def gap_now(
    model: ModelData,
    people: Columns,
    *,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
    treated_as: str | None,
) -> GapNow:
    """Measure new people; ``treated_as`` is the fitted group that unknown groups are treated as, if any."""
    columns = _measurable(model, people, treated_as)
    if columns is None:
        return GapNow(None, "fewer than two groups have people of both labels", {})
    before, noises, hidden = _measured(model, columns, treated_as)
    curves = [noise.curve for noise in noises]
    aucs = {
        name: GroupAucs(old.auc, _interval(old, columns, g, confidence), curve.auc)
        for g, (name, old, curve) in enumerate(zip(columns.names, before.thin.curves, curves, strict=True))
    }
    weights = before.thin.weights0, before.thin.weights1
    widths = None if columns.weighted else dkw_widths(columns.class_rows(), confidence) + hidden
    limits = gap_limits(noises, widths, model.constraint.p, confidence)
    errors = bootstrap(noises, model.constraint.p, draws=draws, rng=rng) if draws else None
    interval = gap_interval(limits, errors, confidence, hidden)
    method = _method(interval, int(columns.class_rows().min()))
    if method is None:
        return GapNow(None, "weighted rows need a bootstrap for an interval, and none was asked for", aucs)
    worst = int(np.argmax(limits.pair_gaps))
    gap, (low, high) = float(limits.pair_gaps[worst]), getattr(interval, method)
    pair = group_pairs(len(noises))[worst]
    answer = _answer(model.epsilon, low, high)
    check = GapCheck(
        gap=gap,
        pair=(columns.names[pair[0]], columns.names[pair[1]]),
        epsilon=model.epsilon,
        norm=model.norm,
        answer=answer,
        method=method,
        interval=interval,
        resolution=hidden,
        rows=columns.rows,
        rows_needed=_rows_needed(columns.rows, model.epsilon, gap, high) if answer == "unclear" else None,
        groups=columns.names,
        auc=_pooled_auc(curves, *weights) if model.kernels else pooled_auc(curves, *weights),
        auc_before=pooled_auc(before.thin.curves, *weights),
    )
    return GapNow(check, None, aucs)


def _measurable(model: ModelData, people: Columns, treated_as: str | None) -> Columns | None:
    """The people of groups that the model treats and that have both labels; None if that leaves fewer than two."""
    both = people.class_rows().min(axis=1) > 0
    kept = [g for g, name in enumerate(people.names) if both[g] and (name in model.names or treated_as is not None)]
    if len(kept) < 2:
        return None
    if len(kept) == len(people.names):
        return people
    table = np.full(len(people.names), -1, dtype=code_dtype(len(people.names)))
    table[kept] = np.arange(len(kept))
    codes = recode(people.groups, table)
    rows = np.flatnonzero(codes >= 0)
    return Columns(
        scores=people.scores[rows],
        labels=people.labels[rows],
        groups=codes[rows],
        names=tuple(people.names[g] for g in kept),
        weights=None if people.weights is None else people.weights[rows],
    )


def _measured(model: ModelData, columns: Columns, treated_as: str | None) -> tuple[People, list[Noise], float]:
    """These people, curves of their fair score with noise, and how far merged scores may put the gap off.

    Places rise with the score within a group, so what merging moves sums to one step of a curve at most.
    """
    if model.unchanged:
        people = measure(columns)
        return people, thin_noises(columns, people), 0.0 if columns.weighted else people.hidden
    people, kernels = treated(model, columns, on_unknown_group=treated_as)
    lowest = np.array([kernel.thresholds[-1] for kernel in kernels])
    before = measure(columns) if bool((columns.scores < lowest[columns.groups]).any()) else people
    return before, _fair_noises(model, columns, people, kernels, treated_as), people.hidden


def _fair_noises(
    model: ModelData, columns: Columns, people: People, kernels: tuple[Kernel, ...], treated_as: str | None
) -> list[Noise]:
    """Curves of a changed score in expectation over the draw, all at the same places, with their noise."""
    walks = [walk(curve, kernel) for curve, kernel in zip(people.thin.curves, kernels, strict=True)]
    squared = walks
    if columns.weights is not None:
        heavy = replace(columns, weights=(columns.weights / columns.weights.max()) ** 2)
        curves = treated(model, heavy, on_unknown_group=treated_as)[0].thin.curves
        squared = [walk(curve, kernel) for curve, kernel in zip(curves, kernels, strict=True)]
    places, scale = all_places([*walks, *squared]), 1.0 / columns.class_sizes()
    found = []
    for g, one in enumerate(walks):
        rates = _rising(one, places)
        squares = rates if squared[g] is one else _rising(squared[g], places)
        curve = RocCurve(-np.arange(1.0, rates.shape[1]), rates[0], rates[1], people.thin.curves[g].prior)
        found.append(Noise(curve, squares, scale[g]))
    return found


def _rising(one: Walk, places: FloatArray) -> FloatArray:
    """(2, k) fpr and tpr at all places, from exactly 0 to exactly 1."""
    rates = np.maximum.accumulate(np.stack(two_sided(one, places, (0, 1))), axis=1)
    rates -= rates[:, :1]
    rates /= rates[:, -1:]
    return rates


def _interval(curve: RocCurve, columns: Columns, g: int, confidence: float) -> Interval | None:
    if columns.weighted:
        return None
    negatives, positives = columns.class_rows()[g].tolist()
    return auc_interval(curve.fpr, curve.tpr, curve.auc, negatives, positives, confidence)


def _pooled_auc(curves: list[RocCurve], weights0: FloatArray, weights1: FloatArray) -> float:
    """AUC of all groups, whose curves have the same places."""
    fpr, tpr = (np.stack([getattr(curve, rate) for curve in curves], axis=1) for rate in ("fpr", "tpr"))
    return area(fpr @ weights0, tpr @ weights1)


def _method(interval: GapInterval, smallest: int) -> str | None:
    """The interval to decide by: the narrower one, but where some class is small the one that needs no large sample."""
    if interval.bootstrap is None or (interval.dkw is not None and smallest < SMALL_CLASS):
        return None if interval.dkw is None else "dkw"
    return "bootstrap"


def _answer(epsilon: float, low: float, high: float) -> Answer:
    if low > epsilon + ROUNDING:
        return "outside"
    return "within" if high <= epsilon + ROUNDING else "unclear"


def _rows_needed(rows: int, epsilon: float, gap: float, high: float) -> int | None:
    """Rows that would show a gap of half epsilon to be within it: an interval's width shrinks with their root."""
    needed = rows * ((high - gap) / max(epsilon / 2, 1e-9)) ** 2
    return math.ceil(needed) if needed <= MOST_ROWS else None
