"""Rates at one threshold and comparisons of groups, against their formulas by counting."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, precision_score, recall_score

from fairroc.core.roc import rates_at
from fairroc.stats.decision import GroupRates, disparity
from strategies import Sample, populations


def rates_of(population: list[Sample], threshold: float) -> GroupRates:
    points = np.array([np.concatenate(rates_at(s.curve, np.array([threshold]))) for s in population])
    return GroupRates(points[:, 0].copy(), points[:, 1].copy(), np.array([s.curve.prior for s in population]))


@given(populations(max_groups=5, weights=["none"]), st.sampled_from([-1e301, 0.25, 0.5, 0.75, 1.0, 1e301]))
def test_rates_equal_counts(population: list[Sample], threshold: float) -> None:
    rates = rates_of(population, threshold)
    for g, sample in enumerate(population):
        accepted = sample.scores >= threshold
        assert rates.selection[g] == pytest.approx(accepted.mean())
        assert rates.tpr[g] == pytest.approx(recall_score(sample.labels, accepted))
        assert rates.fpr[g] == pytest.approx(accepted[~sample.labels].mean())
        assert rates.accuracy[g] == pytest.approx(accuracy_score(sample.labels, accepted))
        if accepted.any():
            assert rates.precision[g] == pytest.approx(precision_score(sample.labels, accepted))
        else:
            assert rates.precision[g] is None


@given(populations(max_groups=5, weights=["none"]), st.sampled_from([0.25, 0.5, 0.75]))
def test_comparisons_equal_their_formulas(population: list[Sample], threshold: float) -> None:
    """Demographic parity difference and ratio, equal opportunity, equalized odds (worst case and mean) as published."""
    accepted = [sample.scores >= threshold for sample in population]
    selection = [float(a.mean()) for a in accepted]
    tpr = [float(a[s.labels].mean()) for a, s in zip(accepted, population, strict=True)]
    fpr = [float(a[~s.labels].mean()) for a, s in zip(accepted, population, strict=True)]
    found = disparity(rates_of(population, threshold))
    assert found.demographic_parity_difference == pytest.approx(max(selection) - min(selection))
    assert found.equal_opportunity_difference == pytest.approx(max(tpr) - min(tpr))
    ranges = [max(tpr) - min(tpr), max(fpr) - min(fpr)]
    assert found.equalized_odds_max == pytest.approx(max(ranges))
    assert found.equalized_odds_mean == pytest.approx(sum(ranges) / 2)
    pairs = combinations(range(len(population)), 2)
    assert found.equalized_odds_l1 == pytest.approx(max(abs(tpr[g] - tpr[h]) + abs(fpr[g] - fpr[h]) for g, h in pairs))
    if max(selection) > 0:
        assert found.disparate_impact == pytest.approx(min(selection) / max(selection))
        assert found.four_fifths is (found.disparate_impact >= 0.8 - 1e-12)


def test_nobody_accepted() -> None:
    found = disparity(GroupRates(np.zeros(2), np.zeros(2), np.array([0.5, 0.2])))
    assert (found.disparate_impact, found.four_fifths, found.demographic_parity_difference) == (None, None, 0.0)


@pytest.mark.parametrize(("low", "meets"), [(0.24, True), (0.2399, False), (0.0, False), (0.3, True)])
def test_four_fifths_of_three_tenths(low: float, meets: bool) -> None:
    rate = np.array([0.3, low])
    assert disparity(GroupRates(rate.copy(), rate.copy(), np.array([0.5, 0.5]))).four_fifths is meets
