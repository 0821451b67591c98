"""Bands hold the truth, limits of the gap follow from them, and weights that are all alike change nothing."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.core.constraint import Difference, distance_of, lp_norm
from fairroc.core.gap import threshold_gap
from fairroc.stats.bands import dkw_widths, even_noise, gap_limits, group_pairs, weighted_noise
from oracles import population_of
from strategies import MILD, SEEDS, Sample, populations

NORMS = st.sampled_from([1.0, 1.5, 2.0, 3.0, math.inf])


def noise_of(sample: Sample) -> object:
    if sample.weights is None:
        return even_noise(sample.curve, float((~sample.labels).sum()), float(sample.labels.sum()))
    return weighted_noise(sample.curve, sample.scores, sample.labels, sample.weights)


def test_dkw_by_hand() -> None:
    """Two groups make four cells; each must hold at 1 - 0.05 / 4."""
    rows = np.array([[100, 400], [1, 50]])
    expected = np.sqrt(np.log(2 / (0.05 / 4)) / (2 * rows))
    assert dkw_widths(rows, 0.95) == pytest.approx(np.minimum(expected, 1.0))
    assert dkw_widths(rows, 0.95)[1, 0] == 1.0


@pytest.mark.parametrize(("p", "most"), [(1.0, 2.0), (2.0, math.sqrt(2)), (math.inf, 1.0)])
def test_largest_gap(p: float, most: float) -> None:
    assert distance_of(p).largest == pytest.approx(most)


@given(populations(max_groups=4, max_rows=30, weights=["none"]), NORMS, st.sampled_from([0.5, 0.95]))
def test_limits_equal_a_look_at_every_threshold(population: list[Sample], p: float, confidence: float) -> None:
    """Every pair, threshold and corner of the two boxes, one by one."""
    curves = [s.curve for s in population]
    widths = dkw_widths(np.array([[(~s.labels).sum(), s.labels.sum()] for s in population]), confidence)
    found = gap_limits([noise_of(s) for s in population], widths, distance_of(p), confidence)
    thresholds = [*np.unique(np.concatenate([s.scores for s in population])), np.inf]
    near, far = 0.0, 0.0
    for t, (g, h) in product(thresholds, combinations(range(len(population)), 2)):
        boxes = []
        for i in (g, h):
            s = population[i]
            rates = [(s.scores[s.labels == y] >= t).mean() for y in (False, True)]
            boxes.append([(max(r - w, 0), min(r + w, 1)) for r, w in zip(rates, widths[i], strict=True)])
        corners = [
            lp_norm(np.array([one[0] - other[0]]), np.array([one[1] - other[1]]), p)[0]
            for one, other in product(product(*boxes[0]), product(*boxes[1]))
        ]
        far = max(far, *corners)
        parts = [max(a[0] - b[1], b[0] - a[1], 0.0) for a, b in zip(*boxes, strict=True)]
        near = max(near, lp_norm(np.array(parts[:1]), np.array(parts[1:]), p)[0])
    assert found.within == pytest.approx((near, far), abs=1e-12)
    gap = threshold_gap(population_of(curves), distance_of(p)).value
    assert found.pair_gaps.max() == pytest.approx(gap, abs=1e-12)
    assert found.within[0] <= gap + 1e-12 and gap - 1e-12 <= found.within[1] <= distance_of(p).largest
    assert min(gap, distance_of(p).largest) - 1e-12 <= found.upper <= distance_of(p).largest


@given(populations(max_groups=3, max_rows=40, weights=MILD), SEEDS, st.sampled_from([1.0, 1.25, 1.5, 2.0, 3.0, 40.0]))
def test_the_upper_limit_covers_every_direction(population: list[Sample], seed: int, p: float) -> None:
    """The standard error used is that of the worst unit vector of the dual norm, no smaller and no larger."""
    noises = [noise_of(s) for s in population]
    one, other = (noise.variance(0.0)[:, len(noise.curve.fpr) // 2] for noise in noises[:2])
    power = p / (2 - p) if p < 2 else math.inf
    bound = math.sqrt(lp_norm(*(np.array([x]) for x in one + other), power)[0])
    x = np.linspace(0, 1, 20_001)
    q = p / (p - 1) if p > 1 else math.inf
    y = (1 - x**q) ** (1 / q) if p > 1 else np.ones_like(x)
    directions = np.sqrt(x**2 * (one + other)[0] + y**2 * (one + other)[1]).max()
    assert directions <= bound + 1e-12
    assert directions == pytest.approx(bound, rel=1e-3, abs=1e-12)


@given(populations(max_groups=2, max_rows=60, weights=MILD))
def test_variance_is_that_of_weighted_means(population: list[Sample]) -> None:
    """At every point: sum of w^2 (1{accepted} - rate)^2 over squared sum of w."""
    for sample in population:
        noise = noise_of(sample)
        for c, chosen in enumerate((~sample.labels, sample.labels)):
            w, x = sample.mass[chosen], sample.scores[chosen]
            for j, t in enumerate(sample.curve.thresholds):
                accepted = (x >= t).astype(float)
                rate = (w * accepted).sum() / w.sum()
                expected = (w**2 * (accepted - rate) ** 2).sum() / w.sum() ** 2
                assert noise.variance(0.0)[c, j + 1] == pytest.approx(expected, abs=1e-12)


@given(populations(max_groups=3, max_rows=40, weights=MILD))
def test_selection_rates_vary_as_means_over_all_rows(population: list[Sample]) -> None:
    """At every threshold: sum of w^2 (1{selected} - rate)^2 over squared sum of w, labels aside."""
    for sample in population:
        seen = noise_of(sample).seen(Difference("selection"))
        mass = sample.mass
        for j, t in enumerate(seen.curve.thresholds):
            chosen = (sample.scores >= t).astype(float)
            share = (mass * chosen).sum() / mass.sum()
            assert seen.rates[:, j + 1] == pytest.approx([share, share], abs=1e-12)
            expected = (mass**2 * (chosen - share) ** 2).sum() / mass.sum() ** 2
            assert seen.variance(0.0)[:, j + 1] == pytest.approx([expected, expected], abs=1e-12)
        again = seen.seen(Difference("selection"))
        assert (again.squares == seen.squares).all() and again.scale == pytest.approx(seen.scale)


@given(populations(max_groups=3, weights=["none"]))
def test_equal_weights_are_no_weights(population: list[Sample]) -> None:
    for sample in population:
        even, weighted = (
            noise_of(sample),
            noise_of(Sample(sample.scores, sample.labels, np.full(len(sample.scores), 7.0))),
        )
        assert weighted.squares == pytest.approx(even.squares, abs=1e-12)
        assert weighted.scale == pytest.approx(even.scale)


def test_pairs() -> None:
    assert group_pairs(3).tolist() == [[0, 1], [0, 2], [1, 2]]
