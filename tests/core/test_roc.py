"""ROC curves from rows: against scikit-learn, against counting, and invariant to increasing maps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from fairroc.core import chain
from fairroc.core.chain import area, inscribed
from fairroc.core.roc import FINEST, RocCurve, pla_loss, query_thresholds, rates_at, roc_curve, thinned
from oracles import hull_height, query_curve, rates
from strategies import MILD, WEIGHTS, Sample, samples

MILD_SAMPLES = samples(weights=MILD)


def exact_rates(sample: Sample, threshold: float) -> tuple[float, float, float]:
    """(fpr, tpr, share) of ``score >= threshold`` with correctly rounded sums."""
    hit, mass = sample.scores >= threshold, sample.mass
    parts = (~sample.labels, sample.labels, np.ones_like(sample.labels))
    fpr, tpr, share = (math.fsum(mass[hit & part]) / math.fsum(mass[part]) for part in parts)
    return fpr, tpr, share


@given(MILD_SAMPLES)
def test_equals_scikit_learn(sample):
    """Thresholds, rates and AUC are scikit-learn's, with ties and weights."""
    curve = sample.curve
    used = sample.mass > 0  # scikit-learn drops rows of weight 0 too
    fpr, tpr, thresholds = metrics.roc_curve(
        sample.labels[used],
        sample.scores[used],
        sample_weight=None if sample.weights is None else sample.weights[used],
        drop_intermediate=False,
    )
    assert curve.thresholds.tolist() == thresholds[1:].tolist()
    assert np.abs(curve.fpr - fpr).max() <= 1e-12
    assert np.abs(curve.tpr - tpr).max() <= 1e-12
    auc = metrics.roc_auc_score(sample.labels, sample.scores, sample_weight=sample.weights)
    assert curve.auc == pytest.approx(auc, abs=1e-12)


@given(samples())
def test_equals_counting_whatever_the_weights(sample):
    """Every point is the exactly summed rates of ``score >= threshold``, for weights from 1e-12 to 1e12 too."""
    curve = sample.curve
    found = np.stack((curve.fpr, curve.tpr, curve.share), axis=1)[1:]
    counted = np.array([exact_rates(sample, t) for t in curve.thresholds])
    assert np.abs(found - counted).max() <= 1e-12
    assert curve.thresholds.tolist() == np.unique(sample.scores[sample.mass > 0])[::-1].tolist()


@given(samples())
def test_a_curve_runs_from_zero_to_one(sample):
    """Rates start at exactly 0, never fall and end at exactly 1."""
    curve = sample.curve
    for rate in (curve.fpr, curve.tpr, curve.share):
        assert (rate[0], rate[-1]) == (0.0, 1.0)
        assert (np.diff(rate) >= 0).all()
        assert len(rate) == len(curve.thresholds) + 1


@given(samples(weights=("none", "mild", "wild")), st.sampled_from(["cube", "steps", "exp"]))
def test_increasing_maps_change_nothing(sample, kind):
    """Only the order of the scores counts: ranks, cubes and exponentials give the same rates bit for bit."""
    ranks = np.unique(sample.scores, return_inverse=True)[1].astype(np.float64)
    mapped = {"cube": (ranks - 2) ** 3, "steps": ranks, "exp": np.exp(ranks / 10)}[kind]
    before, after = sample.curve, roc_curve(mapped, sample.labels, sample.weights)
    assert before.fpr.tolist() == after.fpr.tolist()
    assert before.tpr.tolist() == after.tpr.tolist()
    assert before.corners.tolist() == after.corners.tolist()


@given(samples(weights=("none", "mild")), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(sample, random):
    """Shuffled rows give the same curve (up to the order of the sums)."""
    order = list(range(len(sample.scores)))
    random.shuffle(order)
    weights = None if sample.weights is None else sample.weights[order]
    shuffled = roc_curve(sample.scores[order], sample.labels[order], weights)
    assert shuffled.thresholds.tolist() == sample.curve.thresholds.tolist()
    assert np.abs(shuffled.fpr - sample.curve.fpr).max() <= 1e-13
    assert np.abs(shuffled.tpr - sample.curve.tpr).max() <= 1e-13


@given(samples(max_rows=40))
def test_the_hull_is_the_highest_chord(sample):
    """The hull's chain is concave, strictly rising in u, and at every point as high as the highest chord."""
    curve = sample.curve
    hull = curve.hull
    assert (hull.u[0], hull.v[0], hull.u[-1], hull.v[-1]) == (0.0, 0.0, 2.0, 0.0)
    assert (np.diff(hull.u) > 0).all()
    assert (np.diff(hull.slopes) < 0).all()
    u, v = curve.fpr + curve.tpr, curve.tpr - curve.fpr
    assert np.abs(hull.at(u) - hull_height(u, v, u)).max() <= 1e-12
    assert (np.abs(np.diff(hull.v)) <= np.diff(hull.u) + 1e-15).all()


@given(samples(weights=MILD), st.sampled_from([1, 2, 3, 7, 50]))
def test_query_curve_equals_counting(sample, queries):
    """At every query threshold the rates are those of counting; people between two thresholds are tied."""
    low, high = sample.scores.min(), sample.scores.max()
    thresholds = query_thresholds(low, high, queries)
    curve = query_curve(sample.scores, sample.labels, sample.weights, thresholds)
    counted = np.array([rates(sample.scores, sample.labels, sample.mass, t) for t in thresholds])
    found = np.stack(rates_at(curve, thresholds), axis=1)
    assert np.abs(found - counted).max() <= 1e-12
    assert set(curve.thresholds) <= set(thresholds)


@given(samples(), st.sampled_from([1, 2, 3, 7, 50]))
def test_pla_loss_bounds_the_loss_of_querying(sample, queries):
    """The exact curve's AUC is within the stated bound of the query curve's, and the estimate is no smaller."""
    thresholds = query_thresholds(sample.scores.min(), sample.scores.max(), queries)
    curve = query_curve(sample.scores, sample.labels, sample.weights, thresholds)
    loss = pla_loss(curve)
    assert abs(sample.curve.auc - curve.auc) <= loss.bound + 1e-12
    assert loss.bound <= loss.paper + 1e-12


def test_the_papers_estimate_counts_all_queries():
    """Thresholds that decide alike are no points of the curve, but they are queries: u_T u_F / 2k as defined."""
    scores, labels = np.array([0.0, 0.1, 0.2, 0.9, 1.0, 1.0]), np.array([0, 0, 1, 0, 1, 1], dtype=bool)
    grid = query_thresholds(0.0, 1.0, 21)
    curve = query_curve(scores, labels, None, grid)
    rates = np.array([[(scores[labels == y] >= t).mean() for t in grid[::-1]] for y in (False, True)])
    slopes = np.diff(rates, axis=1, prepend=0.0).max(axis=1) * len(grid)
    assert len(curve.thresholds) == 5 < len(grid)
    assert pla_loss(curve, 21).paper == pytest.approx(slopes[0] * slopes[1] / (2 * len(grid)))
    assert pla_loss(curve, 21).bound == pla_loss(curve).bound <= pla_loss(curve).paper < pla_loss(curve, 21).paper


def test_pla_loss_is_tight():
    """One query over two separated classes loses exactly the bound: the AUC is 1/2 instead of 1."""
    scores, labels = np.array([0.0, 1.0]), np.array([False, True])
    blurred = query_curve(scores, labels, None, np.array([0.0]))
    assert (roc_curve(scores, labels).auc, blurred.auc, pla_loss(blurred).bound) == (1.0, 0.5, 0.5)


@given(st.floats(-1e300, 1e300), st.floats(0, 1e300), st.integers(2, 200))
def test_query_thresholds_span_the_scores(low, width, queries):
    """The thresholds rise strictly from the lowest score to the highest, at most as many as asked for."""
    high = low + width
    thresholds = query_thresholds(low, high, queries)
    assert thresholds[0] == low
    assert thresholds[-1] == high
    assert (np.diff(thresholds) > 0).all()
    assert len(thresholds) <= queries


@given(samples(max_rows=20, weights=WEIGHTS))
def test_rates_at_any_threshold(sample):
    """At, next to and far beyond every score the rates are those of ``score >= t``."""
    curve = sample.curve
    t = np.concatenate([[s, np.nextafter(s, -np.inf), np.nextafter(s, np.inf)] for s in curve.thresholds])
    t = np.concatenate((t, [-1e305, 1e305]))
    found = np.stack(rates_at(curve, t), axis=1)
    assert np.abs(found - np.array([exact_rates(sample, x)[:2] for x in t])).max() <= 1e-12


@pytest.mark.parametrize("weights", [[1e12, 1e-12], [1e-12, 1e12], [1e-300, 1e300], [5e-324, 1.0]])
def test_a_class_of_tiny_weight_is_not_lost(weights):
    """Each class is summed by itself: next to a class 1e24 times heavier its rates are still exact."""
    scores, labels = np.array([3.0, 2.0, 1.0, 0.0]), np.array([True, False, True, False])
    mass = np.where(labels, weights[0], weights[1])
    curve = roc_curve(scores, labels, mass)
    assert (curve.fpr.tolist(), curve.tpr.tolist()) == ([0, 0, 0.5, 0.5, 1], [0, 0.5, 0.5, 1, 1])
    queried = query_curve(scores, labels, mass, scores[::-1].copy())
    assert (queried.fpr.tolist(), queried.tpr.tolist()) == (curve.fpr.tolist(), curve.tpr.tolist())


@pytest.mark.parametrize("tiny", [1e-20, 1e-300, 5e-324])
def test_a_person_of_tiny_weight_does_not_hide_a_corner(tiny):
    """Two points that rounding makes equal are one hull vertex, not none: the perfect score stays perfect."""
    for scores, labels in (([3.0, 2, 1], [True, True, False]), ([3.0, 2, 1], [True, False, False])):
        curve = roc_curve(np.array(scores), np.array(labels), np.array([1.0, tiny, 1.0]))
        assert (curve.hull.u.tolist(), curve.hull.v.tolist()) == ([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])
        assert (curve.corners[0], curve.corners[-1]) == (0, len(curve.thresholds))


# ---- very fine hulls -----------------------------------------------------------------------------------------------


CONCAVE = {
    "quadratic": lambda x: x * (2 - x),  # on a dyadic grid all its triangles are the same to the last bit
    "circle": lambda x: np.sqrt(x * (2 - x)),
    "steep": lambda x: 1.01 * x / (x + 0.01),
    "late": lambda x: 1 - (1 - x) ** 9,
    "shallow": lambda x: x + 0.001 * x * (1 - x),
}


def fine_curve(shape: str, points: int) -> RocCurve:
    """A strictly concave curve, each point of which is a hull vertex."""
    fpr = np.arange(points + 1) / points
    tpr = CONCAVE[shape](fpr)
    tpr[-1] = 1.0
    return RocCurve(-np.arange(points, dtype=np.float64), fpr, tpr, 0.5)


def dropped_one_by_one(x: np.ndarray, y: np.ndarray, count: int) -> float:
    """Area lost when the one vertex that costs least is dropped, again and again."""
    keep = list(range(len(x)))
    while len(keep) > count:
        left, here, right = ((x[part], y[part]) for part in (keep[:-2], keep[1:-1], keep[2:]))
        lost = (here[1] - left[1]) * (right[0] - left[0]) - (right[1] - left[1]) * (here[0] - left[0])
        keep.pop(1 + int(np.argmin(lost)))
    return area(x, y) - area(x[keep], y[keep])


@pytest.mark.parametrize("shape", CONCAVE)
def test_a_very_fine_hull_loses_hardly_any_area(shape):
    """Inscribed, of FINEST vertices, and about as good as dropping one after the other; the hull itself stays exact."""
    curve = fine_curve(shape, 1024)
    hull, inner = curve.hull, curve.inner_hull
    assert len(inner.u) == FINEST < 512 < len(hull.u) and set(inner.u) <= set(hull.u)
    assert (inner.at(hull.u) <= hull.v + 1e-15).all()
    assert 0 < hull.auc - inner.auc <= min(1e-5, 1.5 * dropped_one_by_one(hull.fpr, hull.tpr, FINEST))


@given(MILD_SAMPLES)
def test_a_usual_hull_is_kept(sample):
    """Few vertices are worked with as they are."""
    curve = sample.curve
    assert curve.inner_hull is curve.hull and curve.blocks.tolist() == curve.corners.tolist()


@pytest.mark.parametrize("shape", CONCAVE)
@pytest.mark.parametrize("points", [1024, 65536])
def test_a_fine_hull_takes_work_that_grows_with_its_vertices(shape, points, monkeypatch):
    """Also where all triangles are equal, or rise along the line, so that few are cheaper than both neighbours."""
    curve, seen, diff = fine_curve(shape, points), [], np.diff
    monkeypatch.setattr(chain.np, "diff", lambda line: seen.append(len(line)) or diff(line))
    assert len(inscribed(curve.fpr, curve.tpr, FINEST)) == FINEST
    assert sum(seen) <= 2 * 8 * points


def test_a_thinned_curve_keeps_hull_and_large_steps():
    """Few of the points, in order, the hull's among them and both ends of every large step; a short curve stays."""
    rng = np.random.default_rng(0)
    scores = np.concatenate((rng.normal(size=3000), np.full(400, 0.25), np.full(300, -0.5)))
    curve = roc_curve(scores, rng.random(len(scores)) < 0.3 + 0.1 * np.tanh(scores))
    thin = thinned(curve, 50)
    at = np.searchsorted(curve.u, thin.u)
    assert (thin.u == curve.u[at]).all() and (thin.fpr == curve.fpr[at]).all() and (thin.tpr == curve.tpr[at]).all()
    assert (thin.thresholds == curve.thresholds[at[1:] - 1]).all()
    large = np.flatnonzero(np.diff(curve.u) > 0.04)
    assert len(large) == 2
    assert {*large.tolist(), *(large + 1).tolist(), *curve.corners.tolist(), 0, len(curve.thresholds)} <= set(
        at.tolist()
    )
    assert 51 <= len(at) <= 51 + len(curve.corners) + 4
    assert np.diff(at).max() <= len(curve.thresholds) / 50 + 1
    assert thin.prior == curve.prior
    assert thinned(curve, len(curve.thresholds)) is curve


def test_arrays_are_read_only():
    curve = roc_curve(np.array([0.1, 0.7]), np.array([False, True]))
    for array in (curve.thresholds, curve.fpr, curve.tpr):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
