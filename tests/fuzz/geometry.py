"""The core by itself: curves, hulls, fair curves, levels, kernels and gaps, on the hardest little populations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from fairroc.core.chain import area
from fairroc.core.constraint import EqualizedOdds, equalized_odds, own_tolerances
from fairroc.core.coupling import Levels, closed_form, with_vertices
from fairroc.core.gap import threshold_gap
from fairroc.core.kernel import drawn_kernel
from fairroc.core.optimal import FairCurves, optimal
from fairroc.core.realised import chances, realise
from fairroc.core.roc import Population, RocCurve, roc_curve
from fuzz.people import EPSILONS, POOLS, People, fewer_rows, hard_rows

ROUNDING = 1e-9
CLOSE = 1e-12


class Geometry:
    """The closed form of a fair score: within epsilon at every place, below the hulls, in order; gaps by brute force"""

    def make(self, seed: int) -> People:
        rng = np.random.default_rng([6, seed])
        pool = sorted(POOLS)[rng.integers(len(POOLS))]
        sizes = rng.choice([2, 3, 5, 9, 20], int(rng.choice([2, 2, 3, 4, 8])))
        epsilon = float(rng.choice(EPSILONS))
        shape = [("norm", 1), ("norm", "inf"), ("tpr", float(epsilon * rng.choice([0.1, 0.5, 1.0])))][rng.integers(3)]
        return hard_rows(rng, pool, sizes, (("epsilon", epsilon), shape))

    def check(self, people: People) -> str | None:
        scores, labels, groups, mass = people.columns
        own = [groups == name for name in np.unique(groups)]
        curves = [roc_curve(scores[rows], labels[rows] == 1, mass[rows]) for rows in own]
        epsilon, constraint = _constraint(people)
        wrong = _wrong_gap(curves, own, mass, labels, constraint)
        if wrong:
            return wrong
        fair = optimal([curve.hull for curve in curves], epsilon, constraint)
        levels = with_vertices(fair, closed_form(fair))
        wrong = _wrong_levels(levels, fair, curves, epsilon)
        if wrong:
            return wrong
        places = np.arange(0.0, len(levels.u) - 0.5, 0.5)[1:]
        rates = []
        for g, (rows, curve) in enumerate(zip(own, curves, strict=True)):
            kernel = drawn_kernel(curve, levels.u[:, g].copy(), levels.v[:, g].copy())
            chance = chances(kernel, scores[rows], places)
            order = np.argsort(scores[rows], kind="stable")
            if (np.diff(chance[order], axis=0) < -ROUNDING).any():
                return f"order: a higher score has a lower chance in group {g}"
            by_class = [_mean(chance, mass[rows] * (labels[rows] == label)) for label in (0, 1)]
            known = realise(curve, kernel).at(places)[:, :2].T
            if np.abs(np.array(by_class) - known).max() > ROUNDING:
                return f"push-forward: off by {np.abs(np.array(by_class) - known).max()} in group {g}"
            rates.append(by_class)
        gap = max(float(constraint.length(*np.subtract(a, b)).max()) for a, b in combinations(rates, 2))
        return f"gap: {gap} beyond epsilon {epsilon}" if gap > epsilon + ROUNDING else None

    def smaller(self, people: People) -> Iterator[People]:
        return fewer_rows(people)


def _constraint(people: People) -> tuple[float, EqualizedOdds]:
    asked = people.asked
    if "tpr" in asked:
        fpr, tpr = max(asked["epsilon"], CLOSE), max(asked["tpr"], CLOSE)
        return min(fpr, tpr), own_tolerances(fpr, tpr)
    return asked["epsilon"], equalized_odds(asked["norm"])


def _wrong_levels(levels: Levels, fair: FairCurves, curves: list[RocCurve], epsilon: float) -> str | None:
    """Beyond epsilon, above a hull, or not all that a fair curve has."""
    gap, aucs, best = levels.gap(fair.constraint), levels.group_aucs(), np.array([curve.auc for curve in fair.curves])
    if gap > epsilon + CLOSE:
        return f"levels: gap {gap} beyond epsilon {epsilon}"
    if (aucs > np.minimum(best, [curve.hull.auc for curve in curves]) + CLOSE).any() or (aucs < best - ROUNDING).any():
        return f"AUC: {aucs} instead of {best}"
    return None


def _mean(chance: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return weights @ chance / weights.sum()


def _wrong_gap(
    curves: list[RocCurve], own: list[np.ndarray], mass: np.ndarray, labels: np.ndarray, constraint: EqualizedOdds
) -> str | None:
    """The largest gap of the original score beside all thresholds and pairs; AUC beside all pairs of people."""
    shares = [
        np.array([mass[rows & (labels == label)].sum() for rows in own]) / mass[labels == label].sum()
        for label in (0, 1)
    ]
    everyone = np.array([mass[rows].sum() for rows in own]) / mass.sum()
    found = threshold_gap(Population(tuple(curves), *shares, everyone), constraint).value
    every = np.unique(np.concatenate([curve.thresholds for curve in curves]))
    at = [np.stack((c.fpr[c.index_at(every)], c.tpr[c.index_at(every)])) for c in curves]
    slow = max(float(constraint.length(*(a - b)).max()) for a, b in combinations(at, 2))
    if abs(found - slow) > CLOSE:
        return f"threshold gap: {found}, by brute force {slow}"
    for curve in curves:
        if area(curve.fpr, curve.tpr) > curve.hull.auc + CLOSE:
            return "hull: below its curve"
    return None
