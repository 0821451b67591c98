"""What the paper's method did in a fit, in plain numbers: counts, assumptions index by index, losses, AUCs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import BoolArray
from fairroc.core.roc import RocCurve
from fairroc.froc.algorithm import Froc, Shift, paper_run
from fairroc.froc.diagnostics import Diagnostics, Losses, diagnose


@dataclass(frozen=True, slots=True)
class FrocGroup:
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


@dataclass(frozen=True, slots=True)
class FrocReport:
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
        groups=tuple(_group(done, stated, g, name) for g, name in enumerate(names)),
    )


def _group(done: Froc, stated: Diagnostics, g: int, name: str) -> FrocGroup:
    figures = stated.groups[g]
    counts = ("upshifts", "leftshifts", "cutshifts", "hypograph", "kept", "clipped", "above_hull", "non_monotone")
    moved = done.shift[g] != Shift.FIXED
    return FrocGroup(
        group=name,
        auc_queries=figures.auc_before,
        auc_points=figures.auc_after,
        auc_curve=figures.auc_score,
        auc_optimal=figures.auc_optimal,
        losses=figures.losses,
        **{count: getattr(figures, count) for count in counts},
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
