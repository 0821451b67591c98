"""The score made of the paper's points: fair for all pairs, realised by the kernel, never above the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.core.constraint import equalized_odds
from fairroc.core.coupling import couple
from fairroc.core.kernel import drawn_kernel
from fairroc.core.optimal import optimal
from fairroc.core.realised import performance, realise
from fairroc.core.roc import all_thresholds
from fairroc.froc.algorithm import coherent_curves, froc, query
from fairroc.froc.geometry import turned, upper_hull
from oracles import population_of
from strategies import MILD, class_shares, populations

STEPS = st.sampled_from([0.0, 0.01, 0.05, 0.2, 1.0])
PAIRS = st.sampled_from(["neighbours", "all"])


def froc_curves(curves, *how, **more):
    return coherent_curves(froc(curves, *how, **more), [curve.hull for curve in curves])


def thresholds_of(curves, queries):
    every = all_thresholds(curves)[::-1]
    return every if queries is None else every[:: max(1, len(every) // queries)].copy()


def made(curves, thresholds, epsilon, **how):
    """Fair curves by the paper's method: what `optimal` is to the exact one."""
    return coherent_curves(froc(curves, thresholds, epsilon, **how), [curve.hull for curve in curves])


@given(populations(max_groups=5, max_rows=40, weights=MILD), STEPS, st.sampled_from([None, 5]), PAIRS)
def test_fair_for_all_pairs_and_never_above_the_optimum(population, epsilon, queries, pairs):
    """The levels' gap is within epsilon, and no group's AUC exceeds the optimum's at that gap, on the same queries."""
    curves = [sample.curve for sample in population]
    grid = thresholds_of(curves, queries)
    hulls = [upper_hull(group) for group in query(curves, grid)]
    fair = made(curves, grid, epsilon, pairs=pairs)
    weights0, weights1, _ = class_shares(population)
    levels = couple(fair, weights0, weights1)
    reached = levels.gap(equalized_odds(1))
    assert reached <= epsilon + 1e-12
    best = optimal(hulls, reached, equalized_odds(1)).curves
    assert (levels.group_aucs() <= np.array([curve.auc for curve in best]) + 1e-9).all()


@given(populations(max_groups=4, max_rows=40, weights=MILD), STEPS)
def test_kernels_realise_the_curves(population, epsilon):
    """The exact method's kernel turns the scores into a score with these curves: gap and AUCs on the people."""
    curves = [sample.curve for sample in population]
    weights0, weights1, _ = class_shares(population)
    levels = couple(made(curves, thresholds_of(curves, 9), epsilon), weights0, weights1)
    kernels = [drawn_kernel(curve, levels.u[:, g], levels.v[:, g]) for g, curve in enumerate(curves)]
    done = performance(
        [realise(c, k) for c, k in zip(curves, kernels, strict=True)],
        population_of(curves, population),
        equalized_odds(1),
    )
    assert done.gap <= epsilon + 1e-12
    assert done.group_aucs == pytest.approx(levels.group_aucs(), abs=1e-9)


@given(populations(max_groups=2, max_rows=40, weights=MILD), STEPS)
def test_fair_points_keep_their_hull(population, epsilon):
    """Two groups, all queries fair: the curves are the hulls of the moved points."""
    curves = [sample.curve for sample in population]
    done = froc(curves, thresholds_of(curves, None), epsilon)
    fair = coherent_curves(done, [curve.hull for curve in curves])
    at = np.linspace(0, 2, 101)
    for curve, points in zip(fair.curves, done.points, strict=True):
        hull = upper_hull(points)
        assert (curve.at(at) <= hull.at(at) + 1e-12).all()
        if done.gap.max() <= epsilon and (turned(done.points)[1] >= 0).all():
            assert curve.at(at) == pytest.approx(hull.at(at), abs=1e-9)
