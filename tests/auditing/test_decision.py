"""Rates at one threshold and comparisons of groups, against their formulas by counting."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, precision_score, recall_score

from fairroc.auditing.audit import decide
from fairroc.auditing.findings import Decision
from fairroc.core.roc import RocCurve
from strategies import Sample, populations


def decided(population: list[Sample], threshold: float) -> Decision:
    return decide([str(g) for g in range(len(population))], [sample.curve for sample in population], threshold)


@given(populations(max_groups=5, weights=["none"]), st.sampled_from([-1e301, 0.25, 0.5, 0.75, 1.0, 1e301]))
def test_rates_equal_counts(population: list[Sample], threshold: float) -> None:
    for rates, sample in zip(decided(population, threshold).groups, population, strict=True):
        accepted = sample.scores >= threshold
        assert rates.selection_rate == pytest.approx(accepted.mean())
        assert rates.tpr == pytest.approx(recall_score(sample.labels, accepted))
        assert rates.fpr == pytest.approx(accepted[~sample.labels].mean())
        assert rates.accuracy == pytest.approx(accuracy_score(sample.labels, accepted))
        if accepted.any():
            assert rates.precision == pytest.approx(precision_score(sample.labels, accepted))
        else:
            assert rates.precision is None


@given(populations(max_groups=5, weights=["none"]), st.sampled_from([0.25, 0.5, 0.75]))
def test_comparisons_equal_their_formulas(population: list[Sample], threshold: float) -> None:
    """Demographic parity difference and ratio, equal opportunity, equalized odds (worst case and mean) as published."""
    accepted = [sample.scores >= threshold for sample in population]
    selection = [float(a.mean()) for a in accepted]
    tpr = [float(a[s.labels].mean()) for a, s in zip(accepted, population, strict=True)]
    fpr = [float(a[~s.labels].mean()) for a, s in zip(accepted, population, strict=True)]
    found = decided(population, threshold)
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


def at_rates(*rates: float, threshold: float = 1.0) -> Decision:
    """Groups with both rates so large at threshold 1, and of 1 at threshold 0."""
    line = [np.array([0.0, rate, 1.0]) for rate in rates]
    curves = [RocCurve(np.array([1.0, 0.0]), both.copy(), both.copy(), 0.5) for both in line]
    return decide("ab", curves, threshold)


def test_nobody_accepted() -> None:
    found = at_rates(0.5, 0.2, threshold=2.0)
    assert (found.disparate_impact, found.four_fifths, found.demographic_parity_difference) == (None, None, 0.0)


@pytest.mark.parametrize(("low", "meets"), [(0.24, True), (0.2399, False), (0.0, False), (0.3, True)])
def test_four_fifths_of_three_tenths(low: float, meets: bool) -> None:
    assert at_rates(0.3, low).four_fifths is meets
