"""AUCs across groups equal a count of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import roc_auc_score

from fairroc.core.roc import roc_curve
from fairroc.stats import cross
from fairroc.stats.cross import background_aucs, cross_aucs, rate_lines, side_by_side
from oracles import pair_auc
from strategies import MILD, Sample, class_shares, populations


def halves(population: Sequence[Sample], g: int, label: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and weights of a group's people of one label."""
    chosen = population[g].labels == bool(label)
    return population[g].scores[chosen], population[g].mass[chosen]


def everyone_but(population: Sequence[Sample], g: int, label: int) -> tuple[np.ndarray, np.ndarray]:
    parts = [halves(population, h, label) for h in range(len(population)) if h != g]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


@given(populations(max_groups=4, max_rows=30, weights=MILD))
def test_every_pair_of_groups(population: list[Sample]) -> None:
    found = cross_aucs([sample.curve for sample in population])
    for g in range(len(population)):
        for h in range(len(population)):
            assert found[g, h] == pytest.approx(
                pair_auc(*halves(population, g, 1), *halves(population, h, 0)), abs=1e-12
            )


@given(populations(max_groups=4, max_rows=30, weights=MILD))
def test_background(population: list[Sample]) -> None:
    weights0, weights1, _ = class_shares(population)
    bnsp, bpsn = background_aucs(cross_aucs([s.curve for s in population]), weights0, weights1)
    for g in range(len(population)):
        others0, others1 = everyone_but(population, g, 0), everyone_but(population, g, 1)
        assert bnsp[g] == pytest.approx(pair_auc(*halves(population, g, 1), *others0), abs=1e-12)
        assert bpsn[g] == pytest.approx(pair_auc(*others1, *halves(population, g, 0)), abs=1e-12)


def test_the_diagonal_is_scikit_learns_auc() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 20, (3, 200)).astype(float), rng.random((3, 200)) < 0.4
    found = cross_aucs([roc_curve(s, y) for s, y in zip(scores, labels, strict=True)])
    assert np.diag(found) == pytest.approx([roc_auc_score(y, s) for s, y in zip(scores, labels, strict=True)])


@given(populations(max_groups=3, max_rows=60))
def test_blocks_join_without_a_seam(population: list[Sample]) -> None:
    curves = [sample.curve for sample in population]
    lines = [rate_lines(curve) for curve in curves]
    whole = list(side_by_side(curves, lines))
    usual = cross.BLOCK
    try:
        cross.BLOCK = 3
        parts = list(side_by_side(curves, lines))
    finally:
        cross.BLOCK = usual
    assert len(whole) == 1
    assert all((one[:, :, -1] == other[:, :, 0]).all() for one, other in pairwise(parts))
    joined = np.concatenate([parts[0][:, :, :1], *(part[:, :, 1:] for part in parts)], axis=2)
    assert (joined == whole[0]).all()
    assert (joined[:, :, 0] == 0).all() and (joined[:, :, -1] == 1).all()
