"""What a fair score does to a population: to people at hand, or to a synthetic family's, known exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairroc.core.constraint import Constraint, equalized_odds
from fairroc.core.gap import pooled_auc, threshold_gap
from fairroc.core.kernel import Kernel
from fairroc.core.realised import Performance, performance, realise
from fairroc.core.roc import Population, RocCurve

L1: Constraint = equalized_odds(1)


def outcome(kernels: Sequence[Kernel], population: Population, constraint: Constraint = L1) -> Performance:
    """Gap and AUCs in a population, in expectation over the draw; without kernels those of the original score."""
    weights = population.weights0, population.weights1
    if not kernels:
        gap = threshold_gap(population, constraint).value
        return Performance(
            gap, pooled_auc(population.curves, *weights), tuple(curve.auc for curve in population.curves)
        )
    curves = [_not_below(c, kernel.thresholds[-1]) for c, kernel in zip(population.curves, kernels, strict=True)]
    realised = [realise(curve, kernel) for curve, kernel in zip(curves, kernels, strict=True)]
    return performance(realised, population, constraint)


def _not_below(curve: RocCurve, lowest: float) -> RocCurve:
    """People with scores below all fitted ones are treated like the lowest of them."""
    kept = int((curve.thresholds > lowest).sum())
    fpr, tpr = (np.append(rate[: kept + 1], 1.0) for rate in (curve.fpr, curve.tpr))
    return RocCurve(np.append(curve.thresholds[:kept], lowest), fpr, tpr, curve.prior)
