"""What the paper's method did, and which of its assumptions held: index by index, and in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, freeze
from fairroc.core.optimal import optimal
from fairroc.core.roc import PlaLoss, RocCurve, pla_loss
from fairroc.froc.algorithm import CUTS, Froc, Shift
from fairroc.froc.curves import coherent_curves
from fairroc.froc.geometry import FROC_CONSTRAINT, SAME, join, signed_auc, upper_hull, with_ends


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


@dataclass(frozen=True, slots=True)
class GroupDiagnostics:
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


@dataclass(frozen=True, slots=True, eq=False)
class Diagnostics:
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
    """

    gap: FloatArray
    unfair: int
    fpr_slopes: FloatArray
    tpr_slopes: FloatArray
    between: BoolArray
    two_cuts: BoolArray
    segments: int
    groups: tuple[GroupDiagnostics, ...]

    def __post_init__(self) -> None:
        freeze(self.gap, self.fpr_slopes, self.tpr_slopes, self.between, self.two_cuts)


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
