"""The gap of a fitted model's fair score among new people, and how sure one can be of it.

It is that of the model's constraint. Selection rates are measured without labels, as if everybody were once a negative
and once a positive: both rates, and what is uncertain of them, are then those of the group's people.

The people are the sample, not the draws: every figure is an expectation over the draw.

* DKW: within a group the chance to reach a place rises with the original score, so that a rate of the fair score is a
  mean of rates of the original one over thresholds. A band around the latter, at all thresholds, is a band around the
  former.
* Bootstrap: the error of a rate of people with one draw each is the error of its expectation and, independent of it,
  what the draws add. By Anderson's inequality (1955) the first alone is smaller, by whatever symmetric convex measure.
  So limits for the drawn score hold for its expectation. That needs no segments: of groups that are spread over several
  the same holds, where DKW does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairroc.auditing.audit import NO_THRESHOLD, gap_interval
from fairroc.auditing.findings import GapInterval, Interval
from fairroc.core.chain import BoolArray, FloatArray, area, totals
from fairroc.core.constraint import Ratio
from fairroc.core.gap import ROUNDING, pooled_auc, threshold_gap
from fairroc.core.kernel import Kernel
from fairroc.core.portable import weighted
from fairroc.core.realised import RealisedRoc, all_places, own_auc, realise, two_sided
from fairroc.core.roc import Population, RocCurve
from fairroc.model.families import FamilyPeople
from fairroc.model.model import ModelData, treated
from fairroc.monitoring.drift import Answer, FamilyGap, GapCheck
from fairroc.options import KEPT, MONITOR, checked, same
from fairroc.people.people import SMALL_CLASS, People
from fairroc.stats.auc import auc_interval
from fairroc.stats.bands import Noise, dkw_reach, gap_limits
from fairroc.stats.bootstrap import bootstrap

MOST_ROWS = 10**12
"""No larger number of rows is named as the number that would be needed."""

SPREAD_BAND = "DKW needs people of one group to be treated by one rule, and this model treats them by segments"


@dataclass(frozen=True, slots=True)
class GroupAucs:
    """AUCs of one group's new people: of the original score with DeLong's interval, and of the fair score."""

    auc: float
    interval: Interval | None
    fair_auc: float


@dataclass(frozen=True, slots=True, eq=False)
class _Aucs:
    """AUCs of groups and of all people, as far as there are any."""

    groups: dict[str, GroupAucs] = field(default_factory=dict)
    fair: float | None = None
    before: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class GapNow:
    """The gap, or why there is none; and the AUCs of all groups measured."""

    check: GapCheck | None
    reason: str | None
    aucs: dict[str, GroupAucs]


@dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """How to check, checked; a bootstrap draws from ``rng``."""

    confidence: float
    bootstrap: int
    rng: np.random.Generator
    on_unknown_group: str | None

    @classmethod
    def checked(cls, **given: Any) -> Watch:
        """From what a user passed: the parameters of `fairroc.options.MONITOR`."""
        values = checked(MONITOR, given)
        return cls(rng=values.pop("random_state"), **values)


def gap_now(model: ModelData, people: People, watch: Watch, labelled: bool) -> GapNow:
    """Measure new people."""
    by_label, treated_as = model.fairness.needs_labels, watch.on_unknown_group
    enough = _enough(model, people)
    kept = [g for g, name in enumerate(people.names) if enough[g] and (name in model.names or treated_as is not None)]
    if len(kept) < 2:
        return GapNow(None, _too_few(model), {})
    people = people.only(kept)
    rows, seen = people.class_rows(), people if by_label else people.without_labels()
    noises, hidden = _measured(model, seen, treated_as)
    both = [g for g, few in enumerate(rows.min(axis=1)) if few] if labelled else []
    aucs = _Aucs()
    if len(both) > 1:
        some = people.only(both)
        aucs = _aucs(model, some, noises if by_label else _measured(model, some, treated_as)[0], watch.confidence)
    hidden = hidden if by_label else hidden / 2  # people without labels count in both classes, and are one sample
    found = _Measured(people, seen.thin, noises, hidden, not people.weighted, model.epsilon)
    return _judged(model, found, aucs, watch)


def _enough(model: ModelData, people: People) -> BoolArray:
    """(groups,) whether groups have people, of both labels where the constraint is about these."""
    rows = people.class_rows()
    return np.asarray((rows.min(axis=1) if model.fairness.needs_labels else rows.sum(axis=1)) > 0)


def _too_few(model: ModelData) -> str:
    """Why no gap can be measured where fewer than two groups have enough people."""
    return f"fewer than two groups have people{' of both labels' if model.fairness.needs_labels else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """Groups' rates of the fair score with their noise, where ``banded`` that of DKW too; ``curves`` of the people tell
    weights."""

    people: People
    curves: Population
    noises: list[Noise]
    hidden: float
    banded: bool
    epsilon: float
    unbanded: str = "weighted rows need a bootstrap for an interval, and none was asked for"


def _judged(model: ModelData, one: _Measured, aucs: _Aucs, watch: Watch) -> GapNow:
    """Gap, interval and answer."""
    constraint, shares, hidden = model.fairness.told(), one.curves.shares, one.hidden
    noises, draws, level = one.noises, watch.bootstrap, watch.confidence
    if not constraint.needs_labels:  # shares of people selected, whatever their labels
        noises = [replace(noise, curve=replace(noise.curve, prior=0.0)) for noise in noises]
    noises = noises if model.unchanged else _with_ends(noises, shares, constraint.where)
    rows = one.people.class_rows()
    widths = dkw_reach(constraint, rows, level) + hidden if one.banded else None
    errors = bootstrap(noises, constraint, draws=draws, rng=watch.rng, shares=shares) if draws else None
    reach = None if errors is None else errors.reach((1 + level) / 2)
    now = replace(one.curves, curves=tuple(noise.curve for noise in noises))
    places = now.thresholds if model.unchanged else now.curves[0].thresholds[::-1]  # of a changed score all share them
    limits = gap_limits(noises, widths, constraint, level, shares, reach, places)
    if not limits.seen:
        return GapNow(None, NO_THRESHOLD, aucs.groups)
    if isinstance(constraint, Ratio) and constraint.where is not None:
        hidden = min(hidden / constraint.where[0], 1.0)  # the largest rate is about the share selected, or more
    interval = gap_interval(limits, errors, level, hidden)
    method = _method(interval, int(constraint.samples(rows.astype(np.float64))[1].min()))
    if method is None:
        return GapNow(None, one.unbanded, aucs.groups)
    worst = threshold_gap(now, constraint, places)
    gap, (low, high), names = worst.value, getattr(interval, method), one.people.names
    answer = _answer(one.epsilon, low, high)
    check = GapCheck(
        **same(model, *KEPT) | {"where": constraint.where},
        gap=gap,
        pair=(names[worst.pair[0]], names[worst.pair[1]]),
        epsilon=one.epsilon,
        answer=answer,
        method=method,
        interval=interval,
        resolution=hidden,
        rows=one.people.rows,
        rows_needed=_rows_needed(one.people.rows, one.epsilon, gap, high) if answer == "unclear" else None,
        groups=names,
        auc=aucs.fair,
        auc_before=aucs.before,
        smallest_ratio=None if model.ratio is None else 1.0 - gap,
    )
    return GapNow(check, None, aucs.groups)


# ---- groups that are spread over segments ----------------------------------------------------------------------------


def family_gap(model: ModelData, family: FamilyPeople, watch: Watch, labelled: bool) -> FamilyGap:
    """The gap of one family of groups among new people."""
    one, constraint, enough = family.compared, model.fairness.told(), _enough(model, family.people)
    kept = np.flatnonzero(enough).tolist()
    absent = tuple(group.name for group in one.groups if group.name not in family.names)
    half = tuple(name for g, name in enumerate(family.names) if not enough[g])
    found = FamilyGap(one.attribute, one.stratum, one.epsilon, None, None, absent, half, dict(family.others))
    if len(kept) < 2:
        return replace(found, reason=_too_few(model))
    family = family.only(kept)
    seen, people = (family if constraint.needs_labels else family.unlabelled()), family.people
    noises, hidden = _spread_noises(model, seen, people, constraint.needs_labels)
    aucs = _Aucs()
    if labelled and people.class_rows().min() > 0:
        before = pooled_auc(people.thin.curves, people.thin.weights0, people.thin.weights1)
        aucs = _Aucs({}, before if model.unchanged else own_auc(family.realised()[-1]), before)
    banded, unbanded = model.unchanged and not people.weighted, f"{SPREAD_BAND}, and no bootstrap was asked for"
    now = _judged(
        model, _Measured(people, seen.people.thin, noises, hidden, banded, one.epsilon, unbanded), aucs, watch
    )
    if now.check is None or model.unchanged:
        return replace(found, gap=now.check, reason=now.reason)
    return replace(found, gap=replace(now.check, interval=replace(now.check.interval, dkw_reason=SPREAD_BAND)))


def _spread_noises(model: ModelData, seen: FamilyPeople, people: People, labelled: bool) -> tuple[list[Noise], float]:
    """Curves of the fair score of groups, in expectation over the draw, with their noise: as if everybody of a group
    had been drawn once, a group's scores are one sample, whatever segments its people are in."""
    if model.unchanged:
        return seen.people.noises(thin=True), 0.0 if people.weighted else seen.people.hidden
    realised, sizes = seen.realised()[:-1], people.class_sizes()
    if not labelled:
        mass, squares = people.group_masses()
        sizes = np.repeat((mass**2 / squares)[:, None], 2, axis=1)
    squared = seen.realised(power=2)[:-1] if people.weighted else realised
    return _drawn_noises(realised, squared, seen.people.exact.curves, sizes), 0.0


def segment_aucs(model: ModelData, people: People, watch: Watch) -> dict[str, GroupAucs]:
    """AUCs of the people of segments that have both labels."""
    both = [
        g
        for g, (name, few) in enumerate(zip(people.names, people.class_rows().min(axis=1), strict=True))
        if few and name in model.names
    ]
    if not both:
        return {}
    some = people.only(both)
    return _aucs(model, some, _measured(model, some, watch.on_unknown_group)[0], watch.confidence).groups


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
    return _drawn_noises(realised, squared, people.thin.curves, people.class_sizes())


def _drawn_noises(
    realised: Sequence[RealisedRoc], squared: Sequence[RealisedRoc], before: Sequence[RocCurve], sizes: FloatArray
) -> list[Noise]:
    """The same from rates of people and of their squared weights, curves of the original score and class sizes."""
    places, scale = all_places([*realised, *squared]), 1.0 / sizes
    found = []
    for g, one in enumerate(realised):
        rates = _rising(one, places)
        squares = rates if squared[g] is one else _rising(squared[g], places)
        found.append(Noise(_curve(rates, before[g].prior), squares, scale[g]))
    return found


def _with_ends(noises: list[Noise], shares: FloatArray, where: Interval | None) -> list[Noise]:
    """The noises of a changed score with one more point where an end of the window is crossed between two places:
    there lines are straight."""
    if where is None:
        return noises
    selected = totals(shares[:, None] * np.stack([noise.curve.share for noise in noises]))
    before, after = selected[1:-1:2], selected[2::2]
    ends = np.array([(i, end) for end in where for i in np.flatnonzero((before < end) & (after > end))]).reshape(-1, 2)
    i = ends[:, 0].astype(np.intp)
    part, at = (ends[:, 1] - before[i]) / (after[i] - before[i]), 2 * i + 2

    def longer(line: FloatArray) -> FloatArray:
        return np.insert(line, at, line[..., at - 1] + part * (line[..., at] - line[..., at - 1]), axis=-1)

    return [Noise(_curve(longer(n.rates), n.curve.prior), longer(n.squares), n.scale) for n in noises]


def _curve(rates: FloatArray, prior: float) -> RocCurve:
    """The curve of (2, k) rates at the same places in all groups."""
    return RocCurve(-np.arange(1.0, rates.shape[1]), rates[0].copy(), rates[1].copy(), prior)


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
    return area(weighted(fpr, weights0), weighted(tpr, weights1))


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
