"""What the paper's method did, and which of its assumptions held: index by index, and in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, Frozen
from fairroc.core.optimal import optimal
from fairroc.core.roc import PlaLoss, RocCurve, pla_loss
from fairroc.docstrings import RUN, documented
from fairroc.froc.algorithm import CUTS, Froc, Shift, coherent_curves, paper_run
from fairroc.froc.geometry import FROC_CONSTRAINT, SAME, join, signed_auc, upper_hull, with_ends
from fairroc.options import same
from fairroc.summary import Part, Result


@dataclass(frozen=True, slots=True)
class Losses:
    """The paper's losses of AUC: L = L_PLA + L_AUC.

    ``pla`` is the measured L_PLA (negative where joining the queries gains); ``pla_bound`` holds always, ``pla_paper``
    is the paper's bound with slopes estimated from the queries. ``auc`` is L_AUC, of the moved points joined in order.
    """

    pla: float
    pla_bound: float
    pla_paper: float
    auc: float
    total: float


@dataclass(frozen=True, slots=True, repr=False)
class GroupDiagnostics(Part):
    """One group's figures.

    AUCs: ``auc_before`` of the joined queries, ``auc_after`` of the moved points joined in order (backward steps count
    negative; it need not be any score's AUC), ``auc_score`` of the fair curve made of them, ``auc_optimal`` of the
    highest fair curve on the same queries. Counts: what `Shift` says; ``above_hull`` and ``clipped`` of U and L;
    ``non_monotone`` steps between moved points on which a rate falls.
    """

    auc_before: float
    auc_after: float
    auc_score: float
    auc_optimal: float
    losses: Losses
    upshifts: int
    leftshifts: int
    cutshifts: int
    hypograph: int
    kept: int
    clipped: int
    above_hull: int
    non_monotone: int


@documented(setup=RUN)
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Diagnostics(Frozen, Result):
    """The whole run.

    Attributes
    ----------
    gap : (k,) largest L1 distance of two groups at every query, after the move.
    unfair : number of queries with a gap above epsilon.
    fpr_slopes, tpr_slopes : (m, k - 1) rise of the rates per range of the thresholds (1 in the paper) between
        neighbouring queries; their largest values estimate the u_F and u_T of Assumption 4.1. Where many people share a
        score, no bound exists: the estimate grows with k.
    between : (m, k) Assumption 4.2, first part: the query's fpr lies between those of the lower curve's neighbours.
    two_cuts : (m, k) Assumption 4.2, second part: at most two cuts. Both hold for queries that stay as the lowest.
    segments : number of stretches of queries over which the order of the curves stays the same.
    groups : figures of every group.

    >>> run.diagnostics.unfair, len(run.diagnostics.groups)
    (0, 2)
    """

    gap: FloatArray
    unfair: int
    fpr_slopes: FloatArray
    tpr_slopes: FloatArray
    between: BoolArray
    two_cuts: BoolArray
    segments: int
    groups: tuple[GroupDiagnostics, ...]


def diagnose(done: Froc, curves: Sequence[RocCurve], queries: int | None = None) -> Diagnostics:
    """Diagnostics of a run on the curves it was made from. O(m k log k).

    ``queries`` were asked for, if those that decide alike were left out of the run: k of the paper's bound.
    """
    widths = -np.diff(done.thresholds) / np.ptp(done.thresholds)
    steps = np.diff(done.queries, axis=1) / widths[:, None]
    scores = [curve.auc for curve in coherent_curves(done, [curve.hull for curve in curves]).curves]
    best = [curve.auc for curve in optimal([upper_hull(q) for q in done.queries], done.epsilon, FROC_CONSTRAINT).curves]
    return Diagnostics(
        gap=done.gap,
        unfair=int((done.gap > done.epsilon + SAME).sum()),
        fpr_slopes=steps[..., 0],
        tpr_slopes=steps[..., 1],
        between=_between(done),
        two_cuts=done.cuts <= 2,
        segments=1 + int((np.diff(done.order, axis=0) != 0).any(axis=1).sum()),
        groups=tuple(_group(done, g, curve, scores[g], best[g], queries) for g, curve in enumerate(curves)),
    )


def _between(done: Froc) -> BoolArray:
    """Assumption 4.2, first part, against the group just below at each query (its points as they stood then)."""
    moved, asked = (np.stack([with_ends(group)[:, 0] for group in rates]) for rates in (done.points, done.queries))
    rank = np.pad(done.rank, ((0, 0), (1, 1)))
    below, at = done.below, np.arange(1, done.shift.shape[1] + 1)

    def beside(step: int) -> FloatArray:
        then = rank[below, at + step] <= rank[below, at]
        return np.asarray(np.where(then, moved[below, at + step], asked[below, at + step]))

    fpr = done.queries[..., 0]
    holds: BoolArray = (beside(-1) <= fpr) & (fpr <= beside(1))
    holds[done.shift == Shift.FIXED] = True
    return holds


def _group(done: Froc, g: int, curve: RocCurve, score: float, best: float, asked: int | None) -> GroupDiagnostics:
    queries, points, shift = done.queries[g], done.points[g], done.shift[g]
    before, after = join(queries).auc, signed_auc(points)
    bounds = _pla(done, g, curve.prior, asked)
    backward = (np.diff(with_ends(points), axis=0) < -SAME).any(axis=1)
    return GroupDiagnostics(
        auc_before=before,
        auc_after=after,
        auc_score=score,
        auc_optimal=best,
        losses=Losses(curve.auc - before, bounds.bound, bounds.paper, before - after, curve.auc - after),
        upshifts=int((shift == Shift.UP).sum()),
        leftshifts=int((shift == Shift.LEFT).sum()),
        cutshifts=int(np.isin(shift, CUTS).sum()),
        hypograph=int((shift == Shift.HYPOGRAPH).sum()),
        kept=int(np.isin(shift, (Shift.FIXED, Shift.END, Shift.INSIDE)).sum()),
        clipped=int(done.clipped[g].sum()),
        above_hull=int(done.projected[g].sum()),
        non_monotone=int(backward.sum()),
    )


def _pla(done: Froc, g: int, prior: float, asked: int | None) -> PlaLoss:
    """Both bounds of L_PLA, from the joined queries; accepting everyone is a threshold of its own if none does."""
    thresholds, path = done.thresholds, with_ends(done.queries[g])
    if (path[-2] == 1.0).all():
        path = path[:-1]
    else:
        thresholds = np.append(thresholds, -np.inf)
    return pla_loss(RocCurve(thresholds, path[:, 0].copy(), path[:, 1].copy(), prior), asked)


@dataclass(frozen=True, slots=True, repr=False)
class FrocGroup(Part):
    """One group's figures. Queries count from 1, the strictest threshold first.

    AUCs: ``auc_queries`` of the joined queries, ``auc_points`` of the moved points joined in order (steps back count
    negative; it need not be any score's AUC), ``auc_curve`` of the fair curve made of them, ``auc_optimal`` of the
    highest fair curve on the same queries and at the same epsilon.

    Counts of queries: by what Algorithm 1 does (``upshifts``, ``leftshifts``, ``cutshifts``, ``hypograph`` and ``kept``
    add up to the number of queries), ``clipped`` to the unit square, ``above_hull`` where nothing leads and moved back
    onto it; ``non_monotone`` steps between moved points on which a rate falls.

    Index by index: ``shifts`` in words, ``fpr_slopes`` and ``tpr_slopes`` between neighbouring distinct queries, per
    range of the thresholds (their largest values estimate Assumption 4.1's bounds), and the queries at which
    Assumption 4.2 fails: ``not_between`` its first part, ``many_cuts`` its second.
    """

    group: str
    auc_queries: float
    auc_points: float
    auc_curve: float
    auc_optimal: float
    losses: Losses
    upshifts: int
    leftshifts: int
    cutshifts: int
    hypograph: int
    kept: int
    clipped: int
    above_hull: int
    non_monotone: int
    moved: int
    assumption_42: int
    not_between: tuple[int, ...]
    many_cuts: tuple[int, ...]
    shifts: tuple[str, ...]
    fpr_slopes: tuple[float, ...]
    tpr_slopes: tuple[float, ...]


@dataclass(frozen=True, slots=True, repr=False)
class FrocReport(Part):
    """The run of Algorithm 1 behind a model, at the model's internal epsilon.

    ``queries`` counts the distinct ones: a threshold that decides about nobody otherwise than its neighbour is none.
    ``gaps`` has the largest distance of two groups' moved points at every query, ``gap`` the largest of all,
    ``unfair`` counts those above epsilon; the fair score is within epsilon whatever they are. ``segments`` counts the
    stretches of queries over which the order of the curves stays the same.
    """

    epsilon: float
    queries: int
    segments: int
    gap: float
    unfair: int
    thresholds: tuple[float, ...]
    gaps: tuple[float, ...]
    groups: tuple[FrocGroup, ...]


def froc_report(
    names: Sequence[str], queried: Sequence[RocCurve], raw: Sequence[RocCurve], epsilon: float, queries: int | None
) -> FrocReport:
    """The report of Algorithm 1 on the groups' queried curves, which came from the raw ones, at an epsilon."""
    done = paper_run(queried, epsilon)
    stated = diagnose(done, raw, queries)
    return FrocReport(
        epsilon=done.epsilon,
        queries=len(done.thresholds),
        segments=stated.segments,
        gap=float(stated.gap.max()),
        unfair=stated.unfair,
        thresholds=tuple(done.thresholds.tolist()),
        gaps=tuple(stated.gap.tolist()),
        groups=tuple(_report_group(done, stated, g, name) for g, name in enumerate(names)),
    )


def _report_group(done: Froc, stated: Diagnostics, g: int, name: str) -> FrocGroup:
    figures = stated.groups[g]
    counts = ("upshifts", "leftshifts", "cutshifts", "hypograph", "kept", "clipped", "above_hull", "non_monotone")
    moved = done.shift[g] != Shift.FIXED
    return FrocGroup(
        group=name,
        auc_queries=figures.auc_before,
        auc_points=figures.auc_after,
        auc_curve=figures.auc_score,
        **same(figures, "auc_optimal", "losses", *counts),
        moved=int(moved.sum()),
        assumption_42=int((stated.between & stated.two_cuts)[g][moved].sum()),
        not_between=_places(~stated.between[g]),
        many_cuts=_places(~stated.two_cuts[g]),
        shifts=tuple(Shift(kind).name.lower().replace("_", " ") for kind in done.shift[g].tolist()),
        fpr_slopes=tuple(stated.fpr_slopes[g].tolist()),
        tpr_slopes=tuple(stated.tpr_slopes[g].tolist()),
    )


def _places(where: BoolArray) -> tuple[int, ...]:
    """Queries counted from 1."""
    return tuple((np.flatnonzero(where) + 1).tolist())
