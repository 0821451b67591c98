"""Estimates of ROC curves: valid curves at the same thresholds, whatever the people, and nearer to the population."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri

from fairroc.core.estimate import ESTIMATES, POINTS, PRIOR_ROWS, WIDTH, blend, flattened, straightened
from fairroc.core.kernel import FEW, PIECE, one_person
from fairroc.core.roc import RocCurve, rates_at, roc_curve
from strategies import SEEDS, Sample, class_shares, populations, samples

NAMES = st.sampled_from(sorted(ESTIMATES))


def estimated(name: str, population: Sequence[Sample]) -> tuple[RocCurve, ...]:
    """Estimates of all groups; every row counts as one."""
    sizes = np.array([[(~s.labels).sum(), s.labels.sum()] for s in population], dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ESTIMATES[name]([s.curve for s in population], class_shares(population)[2], sizes)


def assert_valid(found: RocCurve, raw: RocCurve) -> None:
    """A rising curve from 0 to 1 at the raw curve's thresholds, of few straight pieces."""
    assert np.array_equal(found.thresholds, raw.thresholds)
    assert found.prior == raw.prior
    for rate in (found.fpr, found.tpr):
        assert len(rate) == len(raw.thresholds) + 1
        assert rate[0] == 0.0
        assert rate[-1] == 1.0
        assert (np.diff(rate) >= 0).all()
    assert (found.hull.at(found.u) >= found.tpr - found.fpr - 1e-12).all()
    assert bends(found) <= POINTS + 2


def bends(curve: RocCurve) -> int:
    """Points of the hull where it turns by more than rounding, and both ends."""
    fpr, tpr = np.diff(curve.fpr[curve.corners]), np.diff(curve.tpr[curve.corners])
    return 2 + int((tpr[:-1] * fpr[1:] - fpr[:-1] * tpr[1:] > 1e-15).sum())


# ---- valid for everybody -----------------------------------------------------------------------------------


@settings(max_examples=150)
@given(populations(), NAMES)
def test_an_estimate_is_a_valid_curve(population, name):
    """Ties, extreme scores, wild weights, groups of two or three rows, perfect, useless and inverted scores."""
    for found, sample in zip(estimated(name, population), population, strict=True):
        assert_valid(found, sample.curve)


@settings(max_examples=20)
@given(st.lists(samples(300, ("none",)), min_size=2, max_size=3), NAMES)
def test_an_estimate_of_more_thresholds_than_points_is_valid(population, name):
    for found, sample in zip(estimated(name, population), population, strict=True):
        assert_valid(found, sample.curve)


@pytest.mark.parametrize("name", sorted(ESTIMATES))
def test_long_curves_have_few_corners(name):
    rng = np.random.default_rng(1)
    population = normal_people(rng, 900)
    for found, sample in zip(estimated(name, population), population, strict=True):
        assert len(sample.curve.thresholds) > 10 * POINTS
        assert_valid(found, sample.curve)


@given(populations(max_groups=4, weights=("none", "mild")), NAMES)
def test_estimates_do_not_depend_on_the_scale_of_scores(population, name):
    """Only the order of scores matters: their ranks give the same curves."""
    every = np.unique(np.concatenate([s.scores for s in population]))
    ranked = [Sample(np.searchsorted(every, s.scores) ** 3.0, s.labels, s.weights) for s in population]
    for one, other in zip(estimated(name, population), estimated(name, ranked), strict=True):
        assert np.allclose(one.fpr, other.fpr, rtol=0, atol=1e-9)
        assert np.allclose(one.tpr, other.tpr, rtol=0, atol=1e-9)


@given(SEEDS, NAMES)
def test_weights_of_whole_numbers_are_repetitions(seed, name):
    rng = np.random.default_rng(seed)
    rows = [(rng.integers(0, 9, 40) / 8, rng.random(40) < 0.4, rng.integers(1, 4, 40)) for _ in range(2)]
    weighted = [Sample(score, label, times.astype(float)) for score, label, times in rows]
    repeated = [Sample(np.repeat(score, times), np.repeat(label, times)) for score, label, times in rows]
    sizes = np.array([[(~s.labels).sum(), s.labels.sum()] for s in repeated], dtype=float)
    curves = [
        ESTIMATES[name]([s.curve for s in people], class_shares(people)[2], sizes) for people in (weighted, repeated)
    ]
    for one, other in zip(*curves, strict=True):
        assert np.allclose(one.fpr, other.fpr, rtol=0, atol=1e-9)
        assert np.allclose(one.tpr, other.tpr, rtol=0, atol=1e-9)


# ---- special people ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["smooth", "binormal", "calibrated"])
def test_a_perfect_score_stays_good_and_a_useless_one_useless(name):
    rng = np.random.default_rng(3)
    score = rng.normal(size=2000)
    perfect, useless = Sample(score, score > 0.3), Sample(score, rng.random(2000) < 0.5)
    found = estimated(name, [perfect, useless])
    assert found[0].auc > 0.95
    assert abs(found[1].auc - 0.5) < 0.04
    assert np.abs(found[1].tpr - found[1].fpr).max() < 0.06


@pytest.mark.parametrize("name", ["binormal", "calibrated"])
def test_two_scores_leave_one_point_between_the_ends(name):
    rows = [(0.0, False)] * 30 + [(1.0, False)] * 10 + [(0.0, True)] * 10 + [(1.0, True)] * 30
    scores, labels = map(np.array, zip(*rows, strict=True))
    for found in estimated(name, [Sample(scores, labels), Sample(scores, ~labels)]):
        assert_valid(found, roc_curve(scores, labels))
        assert len(found.fpr) == 3
    good, bad = estimated(name, [Sample(scores, labels), Sample(scores, ~labels)])
    assert good.tpr[1] > good.fpr[1]
    assert bad.tpr[1] < bad.fpr[1]


def test_shrunk_by_hand():
    """At every threshold: own and pooled rates, weighted as the class's rows and the prior's."""
    a = Sample(np.array([1.0, 2.0, 2.0, 3.0, 4.0]), np.array([False, False, True, True, True]))
    b = Sample(np.array([2.0, 3.0, 3.0, 5.0]), np.array([False, False, True, True]))
    found = estimated("shrunk", [a, b])
    for sample, curve in zip((a, b), found, strict=True):
        for label, rate in ((False, curve.fpr), (True, curve.tpr)):
            own = sample.scores[sample.labels == label]
            pooled = np.concatenate([s.scores[s.labels == label] for s in (a, b)])
            part = len(own) / (len(own) + PRIOR_ROWS)
            hand = [part * (own >= t).mean() + (1 - part) * (pooled >= t).mean() for t in curve.thresholds]
            assert np.allclose(rate[1:-1], hand[:-1], rtol=0, atol=1e-12)


SMALL = [
    Sample(np.array([1.0, 2, 2, 3, 4, 4, 6, 7]), np.array([0, 0, 1, 0, 1, 1, 0, 1], dtype=bool)),
    Sample(np.array([0.0, 2, 3, 3, 5, 5, 8]), np.array([0, 0, 0, 1, 0, 1, 1], dtype=bool)),
]


def normal_scores(sample: Sample) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thresholds of a group, falling; their normal scores, ties counted half; and cuts half way down to the next."""
    everybody = np.concatenate([other.scores for other in SMALL])
    falling = np.unique(sample.scores)[::-1]
    z = ndtri([((everybody < t).mean() + (everybody <= t).mean()) / 2 for t in falling])
    return falling, z, np.append((z[1:] + z[:-1]) / 2, -np.inf)


def of_people(sample: Sample, label: bool, z: np.ndarray, falling: np.ndarray) -> np.ndarray:
    """Normal scores of a group's people of one class, one by one."""
    return np.array([z[falling == score][0] for score in sample.scores[sample.labels == label]])


def test_smooth_and_binormal_by_hand():
    """One kernel for each person, and one normal distribution for each class."""
    for name in ("smooth", "binormal"):
        for sample, curve in zip(SMALL, estimated(name, SMALL), strict=True):
            falling, z, cuts = normal_scores(sample)
            for label, rate in ((False, curve.fpr), (True, curve.tpr)):
                own = of_people(sample, label, z, falling)
                width = WIDTH * 1.06 * own.std() * len(own) ** -0.2
                centre, spread = (own, width) if name == "smooth" else (own.mean(), own.std())
                hand = [ndtr((centre - cut) / spread).mean() for cut in cuts]
                assert rate[1:-1] == pytest.approx(np.maximum.accumulate(hand)[:-1], abs=1e-7)


def test_calibrated_by_hand():
    """Everybody is a positive by the chance of a logistic curve that an optimiser finds, too."""
    for sample, curve in zip(SMALL, estimated("calibrated", SMALL), strict=True):
        falling, z, _ = normal_scores(sample)
        x = np.array([z[falling == score][0] for score in sample.scores])
        features = np.stack((np.ones(len(x)), x, x**2), axis=1)

        def loss(weights: np.ndarray, features: np.ndarray = features, labels: np.ndarray = sample.labels) -> float:
            logit = features @ weights
            return float(np.logaddexp(0, np.where(labels, -logit, logit)).sum() + 0.5e-3 * weights @ weights)

        chance = 1 / (1 + np.exp(-features @ minimize(loss, np.zeros(3), tol=1e-12).x))
        for part, rate in ((1 - chance, curve.fpr), (chance, curve.tpr)):
            hand = [part[sample.scores >= t].sum() / part.sum() for t in falling]
            assert rate[1:] == pytest.approx(hand, abs=1e-4)


# ---- nearer to the population ------------------------------------------------------------------------------

MEANS = np.array([[-0.3, 0.3], [-0.1, 0.5]])


def normal_people(rng: np.random.Generator, rows: int) -> list[Sample]:
    """Two groups with normal scores in each class, not far from each other: all people together are nearly normal."""
    found = []
    for mean in MEANS:
        labels = np.arange(rows) % 2 == 1
        found.append(Sample(mean[labels.astype(int)] + rng.normal(size=rows), labels))
    return found


def far_off(curves: Sequence[RocCurve]) -> float:
    """Largest error of a rate, mean over groups and classes."""
    off = []
    for curve, mean in zip(curves, MEANS, strict=True):
        between = curve.thresholds[:-1] / 2 + curve.thresholds[1:] / 2  # at a score itself a raw curve jumps
        for rate, m in zip(rates_at(curve, between), mean, strict=True):
            off.append(np.abs(rate - ndtr(m - between)).max())
    return float(np.mean(off))


@cache
def errors(name: str, rows: int) -> float:
    found = []
    for seed in range(20):
        population = normal_people(np.random.default_rng([seed, rows]), rows)
        found.append(far_off([s.curve for s in population] if name == "raw" else estimated(name, population)))
    return float(np.mean(found))


@pytest.mark.parametrize("name", ["smooth", "binormal", "calibrated"])
@pytest.mark.parametrize("rows", [80, 400])
def test_estimates_of_a_normal_population_are_nearer_than_the_sample(name, rows):
    assert errors(name, rows) < 0.95 * errors("raw", rows)


@pytest.mark.parametrize("name", ["smooth", "binormal"])
def test_estimates_come_nearer_with_more_rows(name):
    assert errors(name, 1600) < 0.7 * errors(name, 400) < 0.7 * errors(name, 80)


# ---- blends ------------------------------------------------------------------------------------------------


@given(populations(max_groups=3), NAMES)
def test_blends_go_from_raw_to_the_estimate(population, name):
    raw, found = tuple(s.curve for s in population), estimated(name, population)
    for share in (0.0, 0.5, 1.0):
        for mixed, one, other in zip(blend(raw, found, share), raw, found, strict=True):
            assert_rising(mixed)
            assert np.allclose(mixed.fpr, one.fpr + share * (other.fpr - one.fpr), rtol=0, atol=1e-15)
            assert np.allclose(mixed.tpr, one.tpr + share * (other.tpr - one.tpr), rtol=0, atol=1e-15)
            assert mixed.prior == one.prior
    for ends, curves in ((0.0, raw), (1.0, found)):
        for mixed, curve in zip(blend(raw, found, ends), curves, strict=True):
            assert np.array_equal(mixed.fpr, curve.fpr)
            assert np.array_equal(mixed.tpr, curve.tpr)


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
