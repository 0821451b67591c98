"""Curves with fewer points: blocks that dip far below the hull, and straight lines between some points."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.core.estimate import flattened, straightened
from fairroc.core.kernel import FEW, PIECE, one_person
from fairroc.core.roc import RocCurve, roc_curve
from strategies import populations


def assert_rising(curve: RocCurve) -> None:
    for rate in (curve.fpr, curve.tpr):
        assert rate[0] == 0.0
        assert rate[-1] == 1.0
        assert (np.diff(rate) >= 0).all()


# ---- blocks in which the order misleads --------------------------------------------------------------------


@given(populations(max_groups=3), st.sampled_from([0.0, 0.4, 1.36]))
def test_flat_curves_have_the_same_hull_and_lose_whole_blocks(population, chance):
    """A block keeps all its points or only its ends, by how deep the curve dips below the hull in it."""
    raw = [s.curve for s in population]
    sizes = np.array([[(~s.labels).sum(), s.labels.sum()] for s in population], dtype=float)
    for flat, curve, size in zip(flattened(raw, sizes, chance), raw, sizes, strict=True):
        assert_rising(flat)
        assert set(flat.thresholds) <= set(curve.thresholds)
        at = curve.index_at(flat.thresholds)
        assert np.array_equal(flat.fpr[1:], curve.fpr[at])
        assert np.array_equal(flat.tpr[1:], curve.tpr[at])
        assert set(curve.corners[1:]) <= set(at)
        if flat is curve:  # nothing deep, or too few steps left to tell a person by
            continue
        kept = {0, *at.tolist()}
        for begin, end in zip(curve.corners[:-1], curve.corners[1:], strict=True):
            inside = set(range(begin + 1, end))
            edge = curve.fpr[[begin, end]], curve.tpr[[begin, end]]
            span = curve.u[end] - curve.u[begin]
            dips = [
                edge[1][0]
                - edge[0][0]
                + (curve.u[i] - curve.u[begin]) / span * np.subtract(*np.diff(edge[::-1]).ravel())
                - (curve.tpr[i] - curve.fpr[i])
                for i in inside
            ]
            limit = chance * np.sqrt(span / 2 * (1 / size).sum())
            if dips and abs(max(dips) - limit) > 1e-9:
                wide = span > max(PIECE, FEW * one_person(curve))  # else nobody in it would be drawn
                assert kept & inside == (set() if wide and max(dips) > limit else inside)


@given(populations(max_groups=3))
def test_curves_without_deep_blocks_come_back_themselves(population):
    raw = [s.curve for s in population]
    sizes = np.array([[(~s.labels).sum(), s.labels.sum()] for s in population], dtype=float)
    assert all(flat is curve for flat, curve in zip(flattened(raw, sizes, 100.0), raw, strict=True))


@pytest.mark.parametrize("points", [1, 2, 5, 1000])
def test_straightened_curves_run_through_few_points(points):
    """Evenly along fpr + tpr the points are the curve's own, with straight lines between; thresholds stay."""
    rng = np.random.default_rng(points)
    scores = rng.normal(size=400)
    curve = roc_curve(scores, rng.random(400) < 1 / (1 + np.exp(-scores)))
    found = straightened(curve, points)
    assert (found.thresholds == curve.thresholds).all() and found.prior == curve.prior
    met = [0, *(int(np.flatnonzero(curve.u >= k * 2 / points)[0]) for k in range(1, points)), len(curve.u) - 1]
    assert (found.fpr[met] == curve.fpr[met]).all() and (found.tpr[met] == curve.tpr[met]).all()
    for a, b in pairwise(met):
        share = (curve.u[a : b + 1] - curve.u[a]) / max(curve.u[b] - curve.u[a], 1e-300)
        line = curve.fpr[a] + share * (curve.fpr[b] - curve.fpr[a])
        assert np.abs(found.fpr[a : b + 1] - line).max() <= 1e-12
