"""Gaps between groups: at the same threshold against counting, at the same fpr against interpolation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from fairroc.core import gap
from fairroc.core.constraint import Difference, Ratio, Within, distance_of, equalized_odds, lp_norm, own_tolerances
from fairroc.core.gap import counted, curve_gap, is_fair, peaks, pooled_auc, pooled_curve, rate_gaps, threshold_gap
from fairroc.core.roc import RocCurve, all_thresholds, merge_thresholds, pooled_share, rates_at, roc_curve
from oracles import population_of, rates
from strategies import MILD, SEEDS, Sample, class_shares, populations

NORM_POWERS = st.sampled_from([1.0, 1.5, 2.0, float("inf")])
MILD_POPULATIONS = populations(weights=MILD)


def counted_gap(population: list[Sample], p: float) -> tuple[float, float, tuple[int, int]]:
    """Largest distance over all thresholds and pairs, by counting, with where it occurs."""
    best = (-1.0, np.nan, (0, 1))
    for t in np.unique(np.concatenate([s.scores for s in population])):
        points = [rates(s.scores, s.labels, s.mass, t) for s in population]
        for g, h in combinations(range(len(population)), 2):
            d = [abs(points[g][i] - points[h][i]) for i in (0, 1)]
            length = max(d) if p == float("inf") else float((d[0] ** p + d[1] ** p) ** (1 / p))
            best = max(best, (length, float(t), (g, h)), key=lambda item: item[0])
    return best


def curve_of(fpr: list[float], tpr: list[float]) -> RocCurve:
    """A curve with given points."""
    f, t = np.array(fpr), np.array(tpr)
    return RocCurve(np.arange(len(fpr) - 1, 0, -1.0), f, t, 0.5)


@given(MILD_POPULATIONS, NORM_POWERS)
def test_threshold_gap_equals_counting(population, p):
    """The value is the largest over all thresholds and pairs, and it occurs where it says."""
    curves = [sample.curve for sample in population]
    found = threshold_gap(population_of(curves), distance_of(p))
    value, _, _ = counted_gap(population, p)
    assert found.value == pytest.approx(value, abs=1e-12)
    g, h = found.pair
    a, b = (rates(s.scores, s.labels, s.mass, found.threshold) for s in (population[g], population[h]))
    x, y = abs(a[0] - b[0]), abs(a[1] - b[1])
    length = max(x, y) if p == float("inf") else (x**p + y**p) ** (1 / p)
    assert length == pytest.approx(found.value, abs=1e-12)


@given(MILD_POPULATIONS, NORM_POWERS)
def test_is_fair_says_what_the_gap_says(population, p):
    """Fair at the gap itself and above, not below it (but for rounding)."""
    curves = [sample.curve for sample in population]
    value = threshold_gap(population_of(curves), distance_of(p)).value
    assert is_fair(population_of(curves), distance_of(p), value)
    assert is_fair(population_of(curves), distance_of(p), value + 0.01)
    if value > 1e-9:
        assert not is_fair(population_of(curves), distance_of(p), value - 1e-9)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_is_fair_looks_at_every_threshold(seed):
    """With thousands of scores the first look skips most of them; a gap at a single one is still found."""
    rng = np.random.default_rng(seed)
    scores = np.arange(3000.0)
    labels = rng.random(3000) < 0.5
    moved = scores.copy()
    at = int(rng.integers(1, 2998))
    moved[at] = scores[at] + 0.5 + (labels[at] != labels[at + 1]) * 1.0  # past its neighbour or half the way
    curves = [roc_curve(scores, labels), roc_curve(moved, labels)]
    value = threshold_gap(population_of(curves), distance_of(1.0)).value
    assert value > 0
    assert not is_fair(population_of(curves), distance_of(1.0), value / 2)


@given(MILD_POPULATIONS, NORM_POWERS)
def test_a_few_thresholds_never_show_more(population, p):
    """Looking at given thresholds only gives at most the full gap, and the full gap at its own threshold."""
    curves = [sample.curve for sample in population]
    full = threshold_gap(population_of(curves), distance_of(p))
    some = curves[0].thresholds[::2]
    assert threshold_gap(population_of(curves), distance_of(p), some).value <= full.value
    assert threshold_gap(population_of(curves), distance_of(p), np.array([full.threshold])).value == full.value


CONSTRAINTS = (
    *(equalized_odds(1), equalized_odds("inf"), own_tolerances(0.1, 0.02), Difference("tpr"), Difference("fpr")),
    *(Difference("selection", (0.1, 0.6)), Ratio("selection"), Ratio("tpr", (0.2, 1.0))),
)


@settings(max_examples=40)
@given(MILD_POPULATIONS, st.sampled_from(CONSTRAINTS))
def test_ranges_tell_what_pairs_tell(population, constraint):
    """With many groups no pairs are looked at: the same gap, at a threshold and between two groups that have it."""
    people = population_of([sample.curve for sample in population], population)
    found = []
    for few in (99, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gap, "FEW_GROUPS", few)
            found.append(threshold_gap(people, constraint))
    assert found[1].value == pytest.approx(found[0].value, abs=1e-12)
    at = np.array([found[1].threshold])
    points = [np.stack(rates_at(constraint.seen(people.curves[g]), at)) for g in found[1].pair]
    assert constraint.between(*points)[0] == pytest.approx(found[0].value, abs=1e-12)


def stairs(rng: np.random.Generator, groups: int, count: int, heights: int) -> np.ndarray:
    """(2, groups, count) lines that never fall, of few heights: many places tie."""
    return np.sort(rng.integers(0, heights, (2, groups, count)), axis=2) / heights


@settings(max_examples=60)
@given(SEEDS, st.integers(2, 9), st.integers(1, 400), st.sampled_from([2, 7, 1000]), st.sampled_from([(2, 2), (5, 3)]))
def test_peaks_are_those_of_all_places(seed, groups, count, heights, steps):
    """The largest ranges of two rates and of their sum over all places, at the first place, and none below a floor."""
    lines = stairs(np.random.default_rng(seed), groups, count, heights)

    def most(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        low, high = (np.concatenate((part, part.sum(axis=0)[None])) for part in (one, other))
        return high.max(axis=1) - low.min(axis=1)

    every = most(lines, lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gap, "FIRST", steps[0])
        patch.setattr(gap, "FAN", steps[1])
        patch.setattr(gap, "ROOM", 64)
        values, places = peaks(count, lambda at: lines[..., at], most)
        floor = float(np.median(values))
        above, where = peaks(count, lambda at: lines[..., at], most, floor)
    assert (values == every.max(axis=1)).all() and (places == every.argmax(axis=1)).all()
    assert (above == np.maximum(values, floor)).all() and (where == np.where(values > floor, places, -1)).all()


def test_few_places_are_looked_at():
    """Of 100,000 places of smooth lines, a few thousand at most; on a plateau no more."""
    y = np.linspace(0, 1, 100_001)
    looked: list[int] = []
    for lines in (np.stack((y, y**2))[None], np.stack((np.minimum(4 * y, 1), np.maximum(4 * y - 3, 0)))[None]):

        def at(places: np.ndarray, lines: np.ndarray = lines) -> np.ndarray:
            looked.append(len(places))
            return lines[..., places]

        values, places = peaks(len(y), at, lambda one, other: other.max(axis=1) - one.min(axis=1))
        assert places == [np.argmax(np.ptp(lines[0], axis=0))] and values == np.ptp(lines[0], axis=0).max()
    assert sum(looked) < 10_000


@settings(max_examples=40)
@given(MILD_POPULATIONS, st.sampled_from([*CONSTRAINTS, distance_of(1.5), Within(distance_of(2.0), (0.1, 0.7))]))
def test_ties_go_to_the_first_pair_at_its_lowest_threshold(population, distance):
    """All pairs at all thresholds that count, one by one: the same numbers, to the last digit."""
    people = population_of([sample.curve for sample in population], population)
    thresholds = all_thresholds(people.curves)
    counts = distance.looks(pooled_share(people.curves, people.shares, thresholds))
    thresholds = thresholds[counts] if counts.any() else thresholds[:1]
    points = [np.stack(rates_at(distance.seen(curve), thresholds)) for curve in people.curves]
    pairs = list(combinations(range(len(points)), 2))
    apart = np.stack([distance.between(points[g], points[h]) for g, h in pairs])
    pair, place = np.unravel_index(int(np.argmax(apart)), apart.shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gap, "FEW_GROUPS", 99)
        patch.setattr(gap, "FIRST", 3)
        assert threshold_gap(people, distance) == gap.Gap(apart[pair, place], thresholds[place], pairs[pair])
        patch.setattr(gap, "FEW_PAIRED", 0)
        patch.setattr(gap, "FEW_GROUPS", 0)
        many = threshold_gap(people, distance)
    assert many.value == pytest.approx(apart.max(), abs=1e-12)
    i = int(np.flatnonzero(thresholds == many.threshold)[0])
    assert apart[pairs.index(many.pair), i] == pytest.approx(apart.max(), abs=1e-12)


@settings(max_examples=40)
@given(MILD_POPULATIONS)
def test_rate_gaps_equal_a_look_at_every_threshold(population):
    curves = [sample.curve for sample in population]
    at = np.unique(np.concatenate([sample.scores for sample in population]))
    points = np.array([[*rates_at(curve, at), curve.share_at(at)] for curve in curves])
    expected = np.ptp(points, axis=0).max(axis=1)
    found = rate_gaps(curves, labelled=True)
    assert [found.fpr, found.tpr, found.selection_rate] == pytest.approx(expected, abs=1e-15)


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(1, 50))
def test_norms_are_ordered(x, y, p):
    """max <= L-p <= L1, homogeneous, and equal to the textbook formula where that does not underflow."""
    a, b = np.array([x]), np.array([y])
    length = float(lp_norm(a, b, p)[0])
    assert max(abs(x), abs(y)) * (1 - 1e-12) <= length <= (abs(x) + abs(y)) * (1 + 1e-12)
    assert float(lp_norm(a / 2, b / 2, p)[0]) == pytest.approx(length / 2, rel=1e-12, abs=1e-300)
    if min(abs(x), abs(y)) > 1e-3:
        assert length == pytest.approx((abs(x) ** p + abs(y) ** p) ** (1 / p), rel=1e-9)


@given(MILD_POPULATIONS)
def test_curve_gap_equals_interpolation(population):
    """Between steep places np.interp on a fine grid finds nothing larger, and comes near the value."""
    curves = [sample.curve for sample in population]
    found = curve_gap(curves)
    corners = np.concatenate([curve.fpr for curve in curves])
    near = np.concatenate((corners - 1e-9, corners + 1e-9))
    at = np.unique(np.concatenate((np.linspace(0, 1, 2001), near[(near > 0) & (near < 1)])))
    at = at[np.abs(at[:, None] - corners).min(axis=1) > 1e-10]  # np.interp is arbitrary on a vertical edge
    tpr = np.stack([np.interp(at, *vertical_free(curve)) for curve in curves])
    assert found == pytest.approx(float(np.ptp(tpr, axis=0).max()), abs=1e-6)


def vertical_free(curve: RocCurve) -> tuple[np.ndarray, np.ndarray]:
    """The same points, each vertical edge leaning by less than the grid can see."""
    fpr, first = np.unique(curve.fpr, return_index=True)
    last = np.concatenate((first[1:], [len(curve.fpr)])) - 1
    lean = np.stack((fpr, fpr + 1e-12), axis=1).ravel()
    return lean, np.stack((curve.tpr[first], curve.tpr[last]), axis=1).ravel()


@pytest.mark.parametrize(
    ("one", "other", "gap"),
    [
        (([0, 0.5, 1], [0, 0.75, 1]), ([0, 0.5, 1], [0, 0.5, 1]), 0.25),
        (([0, 0, 1], [0, 1, 1]), ([0, 1, 1], [0, 0, 1]), 1.0),
        (([0, 0, 1], [0, 0.5, 1]), ([0, 1], [0, 1]), 0.5),
        (([0, 0.5, 0.5, 1], [0, 0.25, 0.75, 1]), ([0, 1], [0, 1]), 0.25),
        (([0, 0.25, 1], [0, 0.75, 1]), ([0, 0.5, 1], [0, 0.75, 1]), 0.375),
        (([0, 0.5, 1], [0, 0.5, 1]), ([0, 1], [0, 1]), 0.0),
    ],
)
def test_hand_made_curve_gaps(one, other, gap):
    """Gaps on vertical edges, at their ends and between vertices, worked out by hand."""
    assert curve_gap([curve_of(*one), curve_of(*other)]) == gap
    assert curve_gap([curve_of(*other), curve_of(*one)]) == gap


@given(MILD_POPULATIONS)
def test_pooled_auc_is_the_auc_of_all_rows(population):
    """The pooled AUC of the raw score is scikit-learn's on all rows together."""
    weights0, weights1, _ = class_shares(population)
    scores, labels, mass = (
        np.concatenate([getattr(s, name) for s in population]) for name in ("scores", "labels", "mass")
    )
    auc = metrics.roc_auc_score(labels, scores, sample_weight=mass)
    assert pooled_auc([s.curve for s in population], weights0, weights1) == pytest.approx(auc, abs=1e-12)


def test_sums_of_a_million_steps_keep_their_digits():
    """A hundred thousand equal steps in each of three groups: every rate is a whole number of steps."""
    scores = np.arange(300_000.0)
    curves = [RocCurve(scores[g::3][::-1].copy(), *(np.arange(100_001) / 100_000,) * 2, 0.5) for g in range(3)]
    third = np.full(3, 1 / 3)
    fpr, tpr = pooled_curve(curves, third, third, merge_thresholds(curves)[1])
    assert np.abs(fpr - np.arange(300_001) / 300_000).max() < 1e-14 and (tpr == fpr).all()


@given(populations(max_groups=4, weights=MILD))
def test_many_groups_are_pooled_as_few_are(population):
    """Sums of steps are sums of rates: fpr, tpr and shares of all people at every threshold."""
    curves = [sample.curve for sample in population]
    weights0, weights1, shares = class_shares(population)
    every, places = merge_thresholds(curves)
    found = []
    for few in (99, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("fairroc.core.gap.FEW_PAIRED", few)
            patch.setattr("fairroc.core.roc.FEW_GROUPS", few)
            at = np.concatenate((every, every + 0.1, every - 0.1, [np.inf]))
            found.append((*pooled_curve(curves, weights0, weights1, places), pooled_share(curves, shares, at)))
    for one, other in zip(*found, strict=True):
        assert np.abs(one - other).max() <= 1e-12
    rates_of_all = np.array([rates_at(curve, every[::-1]) for curve in curves])
    for k, weights in enumerate((weights0, weights1)):
        assert np.abs(found[1][k][1:] - weights @ rates_of_all[:, k]).max() <= 1e-12


@given(MILD_POPULATIONS, SEEDS)
def test_thresholds_that_select_just_the_ends_of_a_window_count(population, seed):
    """Whatever the order in which shares are summed."""
    curves, shares = [sample.curve for sample in population], class_shares(population)[2]
    thresholds = all_thresholds(curves)
    selected = np.sum(
        [s * curve.share_at(thresholds) for s, curve in zip(shares[::-1], curves[::-1], strict=True)], axis=0
    )
    low, high = np.sort(np.random.default_rng(seed).choice(selected, 2))
    inside = (selected >= low - 1e-13) & (selected <= high + 1e-13)
    assert counted(thresholds, (low, high), curves, shares).tolist() == thresholds[inside].tolist()
