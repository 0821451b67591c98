"""DeLong's variance equals its definition by all pairs, and a published example; AUCs across groups count all pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from fairroc.core.gap import pooled_curve
from fairroc.core.roc import RocCurve, merge_thresholds, rates_at, roc_curve
from fairroc.stats import auc as module
from fairroc.stats.auc import (
    auc_interval,
    auc_variance,
    background_aucs,
    cross_aucs,
    pooled_background,
    side_by_side,
)
from oracles import delong_variance, pair_auc
from strategies import MILD, Sample, class_shares, populations, samples

RATINGS = [*range(1, 6)]
NORMAL, ABNORMAL = [33, 6, 6, 11, 2], [3, 2, 2, 11, 33]  # Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747


def published() -> RocCurve:
    scores = np.repeat(np.array(RATINGS * 2, dtype=float), NORMAL + ABNORMAL)
    return roc_curve(scores, np.arange(len(scores)) >= sum(NORMAL))


def counts(sample: Sample) -> tuple[int, int]:
    return int((~sample.labels).sum()), int(sample.labels.sum())


@given(samples(weights=["none"]))
def test_variance_is_that_of_the_structural_components(sample: Sample) -> None:
    negatives, positives = counts(sample)
    if min(negatives, positives) < 2:
        assert auc_interval(sample.curve.fpr, sample.curve.tpr, sample.curve.auc, negatives, positives, 0.95) is None
        return
    expected = delong_variance(sample.scores, sample.labels)
    assert auc_variance(sample.curve.fpr, sample.curve.tpr, negatives, positives) == pytest.approx(expected, abs=1e-12)


def test_published_example() -> None:
    """Area 0.8932, standard error 0.0307 and interval [0.83295, 0.95339] on the plain scale, as Stata's roctab prints
    them (its default is DeLong's) for these ratings."""
    curve = published()
    error = math.sqrt(auc_variance(curve.fpr, curve.tpr, sum(NORMAL), sum(ABNORMAL)))
    half = NormalDist().inv_cdf(0.975) * error
    assert (round(curve.auc, 4), round(error, 4)) == (0.8932, 0.0307)
    assert (round(curve.auc - half, 5), round(curve.auc + half, 5)) == (0.83295, 0.95339)


def test_the_logit_interval_has_the_same_error_on_its_scale() -> None:
    curve = published()
    low, high = auc_interval(curve.fpr, curve.tpr, curve.auc, sum(NORMAL), sum(ABNORMAL), 0.95)
    error = math.sqrt(auc_variance(curve.fpr, curve.tpr, sum(NORMAL), sum(ABNORMAL)))
    logits = [math.log(x / (1 - x)) for x in (low, curve.auc, high)]
    assert logits[1] - logits[0] == pytest.approx(logits[2] - logits[1])
    assert logits[2] - logits[1] == pytest.approx(1.959963984540054 * error / (curve.auc * (1 - curve.auc)))


@given(samples(weights=["none"]), st.sampled_from([0.5, 0.95, 0.999999]))
def test_intervals_hold_the_auc_and_stay_in_range(sample: Sample, confidence: float) -> None:
    curve, rows = sample.curve, counts(sample)
    found = auc_interval(curve.fpr, curve.tpr, curve.auc, *rows, confidence)
    if found is not None:
        assert 0 <= found[0] <= curve.auc + 1e-12 and curve.auc - 1e-12 <= found[1] <= 1
        assert found[0] < found[1]


@pytest.mark.parametrize(
    ("scores", "auc", "expected"),
    [
        ([0.0] * 20 + [1.0] * 10, 1.0, (0.025**0.1, 1.0)),
        ([1.0] * 20 + [0.0] * 10, 0.0, (0.0, 1 - 0.025**0.1)),
        ([1.0] * 30, 0.5, (0.025**0.1 / 2, 1 - 0.025**0.1 / 2)),
    ],
)
def test_no_variance_is_no_certainty(scores: list[float], auc: float, expected: tuple[float, float]) -> None:
    """Ten pairs of different people all alike: a chance p of that has p^10 >= 0.025."""
    curve = roc_curve(np.array(scores), np.arange(30) >= 20)
    assert curve.auc == auc
    assert auc_interval(curve.fpr, curve.tpr, curve.auc, 20, 10, 0.95) == pytest.approx(expected)


# ---- across groups ----------------------------------------------------------------------------------------------


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


@given(populations(max_rows=30), st.sampled_from([0.5, 1e-3, 1e-9]))
def test_the_background_of_many_groups_is_the_same(population: list[Sample], share: float) -> None:
    """From the curve of all people less the group's own part, even if one group is nearly everybody."""
    curves = [sample.curve for sample in population]
    weights = np.full(len(curves), share / (len(curves) - 1))
    weights[0] = 1 - share
    places = merge_thresholds(curves)[1]
    pooled = pooled_curve(curves, weights, weights[::-1], places)
    found = pooled_background(curves, weights, weights[::-1], places, pooled)
    expected = background_aucs(cross_aucs(curves), weights, weights[::-1])
    assert np.stack(found) == pytest.approx(np.stack(expected), abs=1e-12)


def test_the_diagonal_is_scikit_learns_auc() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 20, (3, 200)).astype(float), rng.random((3, 200)) < 0.4
    found = cross_aucs([roc_curve(s, y) for s, y in zip(scores, labels, strict=True)])
    assert np.diag(found) == pytest.approx([roc_auc_score(y, s) for s, y in zip(scores, labels, strict=True)])


@given(populations(max_groups=3, max_rows=60))
def test_blocks_join_without_a_seam(population: list[Sample]) -> None:
    curves = [sample.curve for sample in population]
    thresholds, places = merge_thresholds(curves)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", 3)
        parts = list(side_by_side(curves, places))
    assert all((one[:, :, -1] == other[:, :, 0]).all() for one, other in pairwise(parts))
    joined = np.concatenate([parts[0][:, :, :1], *(part[:, :, 1:] for part in parts)], axis=2)
    rates = np.stack([rates_at(curve, np.append(np.inf, thresholds[::-1])) for curve in curves], axis=1)
    assert (joined == rates).all()
