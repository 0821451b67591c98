"""Bins hold all people, never part a tie, and their means are those of their people."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from fairroc.auditing.audit import BINS, calibration
from fairroc.auditing.findings import Calibration
from fairroc.core.chain import FloatArray
from fairroc.core.roc import roc_curve
from strategies import MILD, Sample, samples


def masses(sample: Sample) -> tuple[float, float]:
    return float(sample.mass[~sample.labels].sum()), float(sample.mass[sample.labels].sum())


def columns(found: Calibration) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Count, mean score and share of positives of all bins."""
    rows = np.array([(b.count, b.mean_score, b.positive_share) for b in found.bins], dtype=np.float64)
    return rows[:, 0], rows[:, 1], rows[:, 2]


@given(samples(weights=MILD))
def test_bins_are_runs_of_scores_with_their_means(sample: Sample) -> None:
    bins = calibration(sample.curve, *masses(sample), whole=sample.weights is None)
    mass_of, mean_score, positive_share = columns(bins)
    values = np.unique(sample.scores[sample.mass > 0])
    weight = np.array([sample.mass[sample.scores == v].sum() for v in values])
    ends = np.searchsorted(np.cumsum(weight), np.cumsum(mass_of) * (1 - 1e-9))
    assert mass_of.sum() == pytest.approx(sample.mass.sum())
    assert 1 <= len(mass_of) <= BINS
    begin = 0
    for i, end in enumerate(ends):
        inside = np.isin(sample.scores, values[begin : end + 1])
        mass, begin = sample.mass * inside, end + 1
        assert mass_of[i] == pytest.approx(mass.sum())
        assert mean_score[i] == pytest.approx(np.average(sample.scores, weights=mass), rel=1e-9, abs=1e-300)
        assert positive_share[i] == pytest.approx(np.average(sample.labels, weights=mass), abs=1e-12)
    assert bins.error == pytest.approx(np.average(np.abs(mean_score - positive_share), weights=mass_of), rel=1e-9)


def test_even_bins_without_ties() -> None:
    scores = np.arange(1000) / 1000
    bins = calibration(roc_curve(scores, np.arange(1000) % 2 == 1), 500.0, 500.0, whole=True)
    mass, mean_score, positive_share = columns(bins)
    assert mass.tolist() == [100.0] * 10
    assert positive_share.tolist() == [0.5] * 10
    assert mean_score == pytest.approx(np.arange(10) / 10 + 0.0495)
    assert bins.error == pytest.approx(0.25)


def test_calibrated_scores_have_a_small_error_and_shifted_ones_a_large_one() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(40_000)
    labels = rng.random(40_000) < truth
    for scores, error in ((truth, 0.0), (truth / 2, 0.25)):
        bins = calibration(roc_curve(scores, labels), float((~labels).sum()), float(labels.sum()), whole=True)
        assert bins.error == pytest.approx(error, abs=0.01)
