"""The gap of a fitted model's fair score among new people, and how sure one can be of it.

It is that of the model's constraint. Selection rates are measured without labels, as if everybody were once a negative
and once a positive: both rates, and what is uncertain of them, are then those of the group's people.

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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.auditing.audit import gap_interval
from fairroc.auditing.findings import GapInterval, Interval
from fairroc.core.chain import FloatArray, area
from fairroc.core.constraint import Constraint, OneRate, Rates, Ratio
from fairroc.core.gap import ROUNDING, pooled_auc
from fairroc.core.kernel import Kernel
from fairroc.core.realised import RealisedRoc, all_places, realise, two_sided
from fairroc.core.roc import Population, RocCurve, all_thresholds
from fairroc.model.model import ModelData, treated
from fairroc.monitoring.drift import Answer, GapCheck
from fairroc.options import fairness
from fairroc.people.people import SMALL_CLASS, People
from fairroc.stats.auc import auc_interval
from fairroc.stats.bands import Noise, dkw_widths, gap_limits, group_pairs
from fairroc.stats.bootstrap import bootstrap

MOST_ROWS = 10**12
"""No larger number of rows is named as the number that would be needed."""


@dataclass(frozen=True, slots=True)
class GroupAucs:
    """AUCs of one group's new people: of the original score with DeLong's interval, and of the fair score."""

    auc: float
    interval: Interval | None
    fair_auc: float


@dataclass(frozen=True, slots=True, eq=False)
class _Aucs:
    """AUCs of groups and of all people, as far as there are any."""

    groups: dict[str, GroupAucs]
    fair: float | None
    before: float | None


@dataclass(frozen=True, slots=True, eq=False)
class GapNow:
    """The gap, or why there is none; and the AUCs of all groups measured."""

    check: GapCheck | None
    reason: str | None
    aucs: dict[str, GroupAucs]


def needs_labels(constraint: Constraint) -> bool:
    """Whether the gap is one of people with labels: shares of people selected can be told without."""
    return not isinstance(constraint, OneRate) or constraint.rate != "selection"


def gap_now(
    model: ModelData,
    people: People,
    *,
    labelled: bool,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
    treated_as: str | None,
) -> GapNow:
    """Measure new people; ``treated_as`` is the fitted group that unknown groups are treated as, if any."""
    constraint, rows = model.fairness.told(), people.class_rows()
    by_label = needs_labels(constraint)
    enough = rows.min(axis=1) > 0 if by_label else rows.sum(axis=1) > 0
    kept = [g for g, name in enumerate(people.names) if enough[g] and (name in model.names or treated_as is not None)]
    if len(kept) < 2:
        return GapNow(None, f"fewer than two groups have people{' of both labels' if by_label else ''}", {})
    people = people.only(kept)
    seen = people if by_label else people.without_labels()
    noises, hidden = _measured(model, seen, treated_as)
    hidden = hidden if by_label else hidden / 2  # of one rate, which counts twice in the sum of both
    aucs = _Aucs({}, None, None)
    if by_label:
        aucs = _aucs(model, people, noises, confidence)
    elif labelled and len(both := [g for g, few in enumerate(people.class_rows().min(axis=1)) if few]) > 1:
        some = people.only(both)
        aucs = _aucs(model, some, _measured(model, some, treated_as)[0], confidence)
    noises = _inside(model, noises, seen.thin, constraint)
    if not noises:
        return GapNow(None, "no threshold selects a share of these people inside the model's window", aucs.groups)
    distance = fairness(model.constraint, model.norm, model.tolerances, model.ratio is not None)
    sizes = constraint.samples(people.class_rows().astype(np.float64))[1]
    widths = None
    if not people.weighted:
        widths = np.broadcast_to(dkw_widths(sizes, confidence) + hidden, (len(noises), 2))
    limits = gap_limits(noises, widths, distance, confidence)
    errors = bootstrap(noises, distance, draws=draws, rng=rng) if draws else None
    resolution = _resolution(noises, constraint, hidden)
    interval = gap_interval(limits, errors, confidence, resolution)
    method = _method(interval, int(sizes.min()))
    if method is None:
        return GapNow(None, "weighted rows need a bootstrap for an interval, and none was asked for", aucs.groups)
    worst = int(np.argmax(limits.pair_gaps))
    gap, (low, high) = float(limits.pair_gaps[worst]), getattr(interval, method)
    pair = group_pairs(len(noises))[worst]
    answer = _answer(model.epsilon, low, high)
    check = GapCheck(
        gap=gap,
        pair=(people.names[pair[0]], people.names[pair[1]]),
        epsilon=model.epsilon,
        norm=model.norm,
        answer=answer,
        method=method,
        interval=interval,
        resolution=resolution,
        rows=people.rows,
        rows_needed=_rows_needed(people.rows, model.epsilon, gap, high) if answer == "unclear" else None,
        groups=people.names,
        auc=aucs.fair,
        auc_before=aucs.before,
        constraint=model.constraint,
        ratio=model.ratio,
        tolerances=model.tolerances,
        where=constraint.where,
        smallest_ratio=None if model.ratio is None else 1.0 - gap,
    )
    return GapNow(check, None, aucs.groups)


def _aucs(model: ModelData, people: People, noises: list[Noise], confidence: float) -> _Aucs:
    """AUCs of people with labels, whose fair score's curves are those of the noises."""
    curves, old = [noise.curve for noise in noises], people.thin
    each = {
        name: GroupAucs(before.auc, _interval(before, people, g, confidence), curve.auc)
        for g, (name, before, curve) in enumerate(zip(people.names, old.curves, curves, strict=True))
    }
    weights = old.weights0, old.weights1
    fair = _pooled_auc(curves, *weights) if model.kernels else pooled_auc(curves, *weights)
    return _Aucs(each, fair, pooled_auc(old.curves, *weights))


def _measured(model: ModelData, people: People, treated_as: str | None) -> tuple[list[Noise], float]:
    """Curves of these people's fair score with noise, and how far merged scores may put the gap off.

    Places rise with the score within a group, so what merging moves sums to one step of a curve at most.
    """
    if model.unchanged:
        return people.noises(thin=True), 0.0 if people.weighted else people.hidden
    seen, kernels = treated(model, people, on_unknown_group=treated_as)
    return _fair_noises(model, seen, kernels, treated_as), seen.hidden


def _fair_noises(model: ModelData, people: People, kernels: tuple[Kernel, ...], treated_as: str | None) -> list[Noise]:
    """Curves of a changed score in expectation over the draw, all at the same places, with their noise."""
    realised = [realise(curve, kernel) for curve, kernel in zip(people.thin.curves, kernels, strict=True)]
    squared = realised
    if people.weighted:
        curves = treated(model, people.squared(), on_unknown_group=treated_as)[0].thin.curves
        squared = [realise(curve, kernel) for curve, kernel in zip(curves, kernels, strict=True)]
    places, scale = all_places([*realised, *squared]), 1.0 / people.class_sizes()
    found = []
    for g, one in enumerate(realised):
        rates = _rising(one, places)
        squares = rates if squared[g] is one else _rising(squared[g], places)
        curve = RocCurve(-np.arange(1.0, rates.shape[1]), rates[0], rates[1], people.thin.curves[g].prior)
        found.append(Noise(curve, squares, scale[g]))
    return found


# -- windows and ratios ------------------------------------------------------------------------------------------------


def _inside(model: ModelData, noises: list[Noise], people: Population, constraint: Constraint) -> list[Noise]:
    """The noises at those places only that select a share of all people in the window; none, if no place does.

    The lowest place, at which all are selected, stays as well: it holds no distance. Between two places that are both
    sides of a step apart (of a changed score) lines are straight, and a window may begin or end there.
    """
    if constraint.where is None:
        return noises
    if model.unchanged:
        thresholds = all_thresholds([noise.curve for noise in noises])[::-1]
        at = [np.concatenate(([0], noise.curve.index_at(thresholds))) for noise in noises]
    else:
        at = [np.arange(len(noise.curve.fpr)) for noise in noises]
    lines = np.stack([np.concatenate((n.rates, n.squares))[:, i] for n, i in zip(noises, at, strict=True)])
    if not model.unchanged:
        lines = _with_ends(lines, people, constraint.where)
    inside = np.flatnonzero(constraint.looks(_selected(lines, people)))
    if not len(inside):
        return []
    lines = lines[..., np.concatenate((inside[:1], inside, [-1]))]  # a grid leaves out the first point of a curve
    places = -np.arange(1.0, lines.shape[-1])
    return [
        Noise(RocCurve(places, one[0].copy(), one[1].copy(), noise.curve.prior), one[2:].copy(), noise.scale)
        for noise, one in zip(noises, lines, strict=True)
    ]


def _with_ends(lines: FloatArray, people: Population, where: tuple[float, float]) -> FloatArray:
    """The lines with a point where they cross an end of the window on a slope."""
    selected = _selected(lines, people)
    before, after = selected[1:-1:2], selected[2::2]
    for end in where:
        for i in np.flatnonzero((before < end) & (after > end)).tolist():
            share = (end - before[i]) / (after[i] - before[i])
            low, high = lines[..., 2 * i + 1], lines[..., 2 * i + 2]
            lines = np.concatenate((lines, (low + share * (high - low))[..., None]), axis=-1)
    return lines[..., np.argsort(_selected(lines, people), kind="stable")]


def _selected(lines: FloatArray, people: Population) -> FloatArray:
    """Share of all people selected, from (groups, lines, places) of which the first two are fpr and tpr."""
    fpr, tpr = lines[:, 0].T, lines[:, 1].T
    return Rates(fpr.copy(), tpr.copy(), people.priors, people.shares).selected


def _resolution(noises: Sequence[Noise], constraint: Constraint, hidden: float) -> float:
    """How far the gap may be off where rates may be off by ``hidden``: a ratio is the more so the smaller rates are."""
    if not isinstance(constraint, Ratio) or not hidden:
        return hidden
    largest = np.max([constraint.line(noise.curve) for noise in noises], axis=0)
    return min(hidden / float(largest[largest > 0].min()), 1.0)


def _rising(one: RealisedRoc, places: FloatArray) -> FloatArray:
    """(2, k) fpr and tpr at all places, from exactly 0 to exactly 1."""
    rates = np.maximum.accumulate(np.stack(two_sided(one, places, (0, 1))), axis=1)
    rates -= rates[:, :1]
    rates /= rates[:, -1:]
    return rates


def _interval(curve: RocCurve, people: People, g: int, confidence: float) -> Interval | None:
    if people.weighted:
        return None
    negatives, positives = people.class_rows()[g].tolist()
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
