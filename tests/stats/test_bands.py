"""Bands hold the truth, limits of the gap follow from them, and weights that are all alike change nothing."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core import gap
from fairroc.core.constraint import (
    Difference,
    Distance,
    Ratio,
    Within,
    distance_of,
    equalized_odds,
    lp_norm,
    own_tolerances,
)
from fairroc.core.gap import threshold_gap
from fairroc.core.roc import all_thresholds, pooled_share
from fairroc.stats import bands
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
    assert found.within[0] <= gap + 1e-12 and gap - 1e-12 <= found.within[1] <= distance_of(p).largest
    assert min(gap, distance_of(p).largest) - 1e-12 <= found.upper <= distance_of(p).largest


def slow_limits(
    noises: list, widths: np.ndarray, measure: Distance, z: float, shares: np.ndarray, reach: dict
) -> tuple:
    """Smallest and largest gap inside bands, lower and upper limit: every pair at every threshold that counts."""
    noises = [noise.seen(measure) for noise in noises]
    at = np.append(all_thresholds([noise.curve for noise in noises]), np.inf)
    at = at[measure.looks(pooled_share([noise.curve for noise in noises], shares, at))]
    index = [noise.curve.index_at(at) for noise in noises]
    rates = [noise.rates[:, i] for noise, i in zip(noises, index, strict=True)]
    variances = [noise.variance(z * z / 4)[:, i] for noise, i in zip(noises, index, strict=True)]
    near = far = lower = upper = 0.0
    for g, h in combinations(range(len(noises)), 2) if len(at) else []:
        apart = measure.between(rates[g], rates[h])
        by = measure.leverage(rates[g], rates[h]) or (1.0, 1.0)
        noise = measure.variance(*(by[0] ** 2 * variances[g] + by[1] ** 2 * variances[h]))
        upper = max(upper, (apart + z * np.sqrt(noise)).max())
        lower = max(lower, (apart - reach[g, h]).max())
        ends = [[np.clip(rates[i] + side * widths[i][:, None], 0, 1) for side in (-1, 1)] for i in (g, h)]
        close = np.clip(ends[1][0], *ends[0])
        near = max(near, measure.between(close, np.clip(close, *ends[1])).max())
        corners = product(*([(f, t) for f in (a[0], b[0]) for t in (a[1], b[1])] for a, b in ends))
        far = max(far, *(measure.between(np.stack(x), np.stack(y)).max() for x, y in corners))
    return near, far, lower, min(upper, measure.largest)


def ratio_limits(noises: list, measure: Ratio, z: float, shares: np.ndarray, each: np.ndarray) -> tuple[float, float]:
    """Lower and upper limit of a ratio with many groups: errors of both groups over the larger rate."""
    noises = [noise.seen(measure) for noise in noises]
    lower = upper = 0.0
    for t in [*all_thresholds([noise.curve for noise in noises]), np.inf]:
        if not measure.looks(pooled_share([noise.curve for noise in noises], shares, np.array([t])))[0]:
            continue
        i, rate = [int(noise.curve.index_at(np.array([t]))[0]) for noise in noises], measure.rate != "fpr"
        rates = [noise.rates[int(rate), j] for noise, j in zip(noises, i, strict=True)]
        errors = [z * math.sqrt(noise.variance(z * z / 4)[int(rate), j]) for noise, j in zip(noises, i, strict=True)]
        for g, h in permutations(range(len(noises)), 2):
            if rates[h] > 1e-15:
                lower = max(lower, 1 - (rates[g] + each[g] + each[h]) / rates[h])
                upper = max(upper, 1 - max(rates[g] - errors[g] - errors[h], 0) / rates[h])
    return lower, upper


MEASURES = (
    *(equalized_odds(1), equalized_odds("inf"), own_tolerances(0.1, 0.02), distance_of(1.5), Difference("tpr")),
    *(Within(equalized_odds(1), (0.1, 0.6)), Within(distance_of(2.0), (0.3, 0.9)), Difference("selection", (0.1, 0.6))),
    *(Ratio("selection", (0.05, 1.0)), Ratio("tpr", (0.2, 1.0)), Ratio("fpr")),
)


@settings(max_examples=150)
@given(populations(max_rows=40, weights=MILD), st.sampled_from(MEASURES), SEEDS, st.booleans())
def test_limits_equal_a_look_at_every_pair(population: list[Sample], measure: Distance, seed: int, many: bool) -> None:
    """By pairs, and as with many groups by ranges; of a ratio's upper limit the ranges say no less."""
    rng, groups = np.random.default_rng(seed), len(population)
    people = population_of([s.curve for s in population], population)
    noises, widths = [noise_of(s) for s in population], rng.choice([0.0, 0.01, 0.1, 0.7], (groups, 2))
    each = rng.choice([0.0, 0.02, 0.3], groups)
    pairs = group_pairs(groups)
    reach = each if many else rng.choice([0.0, 0.05, 0.4], len(pairs))
    sums = {(g, h): each[g] + each[h] if many else reach[i] for i, (g, h) in enumerate(pairs.tolist())}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gap, "FIRST", 3)
        patch.setattr(bands, "PAIRS", 5)
        patch.setattr(bands, "FEW_PAIRED", 0 if many else 99)
        found = gap_limits(noises, widths, measure, 0.9, people.shares, reach)
    near, far, lower, upper = slow_limits(noises, widths, measure, 1.6448536269514722, people.shares, sums)
    if not found.seen:
        assert far == 0.0
        return
    assert found.within == pytest.approx((near, far), abs=1e-12)
    if many and isinstance(measure, Ratio):
        assert found.lower <= lower + 1e-12 and upper - 1e-12 <= found.upper
        lower, upper = ratio_limits(noises, measure, 1.6448536269514722, people.shares, each)
    assert (found.lower, found.upper) == pytest.approx((lower, upper), abs=1e-12)


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
