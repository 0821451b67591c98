"""ConstructClassifier attains every attainable point, at every index, and its classifiers need not make a score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_froc_geometry import query_sets

from fairroc.froc.algorithm import froc
from fairroc.froc.mixture import barycentric, neighbour_mixture, triangle_mixture
from strategies import MILD, SEEDS, populations

BUILDERS = st.sampled_from([triangle_mixture, neighbour_mixture])


def test_weights_of_a_triangle_by_hand():
    """The printed p_b is -0.3 here; the true one is 0.3."""
    a, b, c = np.array([[0.2, 0.8], [1.0, 1.0], [0.0, 0.0]])
    assert barycentric(0.5 * a + 0.3 * b + 0.2 * c, a, b, c) == pytest.approx([0.5, 0.3, 0.2])
    assert np.isnan(barycentric(a, a, a, c)).all()


def test_triangle_by_hand():
    """(.3, .6) in the triangle of (0, 0), (1, 1) and (.2, .8): half the query, .2 of everyone, .3 of nobody."""
    mixture = triangle_mixture(np.array([[0.3, 0.6]]), np.array([[0.2, 0.8]]), np.array([0.5]))
    assert mixture.thresholds.tolist() == [[np.inf, -np.inf, 0.5]]
    assert mixture.weights[0] == pytest.approx([0.3, 0.2, 0.5])
    assert mixture.acceptance(np.array([0.7, 0.5, 0.4]))[:, 0] == pytest.approx([0.7, 0.7, 0.2])


def test_neighbours_by_hand():
    """(.5, .7) is half (.5, .9), between the queries, and half (.5, .5); the second query did not move."""
    queries = np.array([[0.2, 0.8], [0.8, 1.0]])
    mixture = neighbour_mixture(np.array([[0.5, 0.7], [0.8, 1.0]]), queries, np.array([0.6, 0.3]))
    assert mixture.thresholds.tolist() == [[0.6, 0.3, np.inf, -np.inf], [0.3, -np.inf, np.inf, -np.inf]]
    assert mixture.weights[0] == pytest.approx([0.25, 0.25, 0.25, 0.25])
    assert mixture.weights[1].tolist() == [1.0, 0.0, 0.0, 0.0]


@given(query_sets(), SEEDS, BUILDERS, st.floats(0.05, 2.0))
def test_every_attainable_point_is_attained(queries, seed, build, spread):
    """Any mixture of queries, on the hull, inside it, on the diagonal or below: no crash, no negative weight."""
    rng = np.random.default_rng(seed)
    vertices = np.vstack(([0, 0], queries, [1, 1]))
    points = rng.dirichlet(np.full(len(vertices), spread), len(queries)) @ vertices
    mixture = build(points, queries, np.linspace(0.9, 0.1, len(queries)))
    assert mixture.error.max() <= 1e-9
    assert mixture.weights.min() >= 0
    assert mixture.weights.sum(axis=1) == pytest.approx(np.ones(len(queries)))


@given(query_sets(), BUILDERS)
def test_queries_are_their_own_classifiers(queries, build):
    """A query that did not move accepts just who reaches its threshold (or one with the same rates)."""
    mixture = build(queries, queries, np.linspace(0.9, 0.1, len(queries)))
    assert mixture.error.max() <= 1e-12


@given(populations(max_groups=3, max_rows=30, weights=MILD), st.sampled_from([0.0, 0.05, 0.3]), BUILDERS)
def test_classifiers_attain_the_points_on_people(population, epsilon, build):
    """Expected rates of the fitted people under each classifier are the moved points."""
    curves = [sample.curve for sample in population]
    grid = np.unique(np.concatenate([curve.thresholds for curve in curves]))[::-1]
    done = froc(curves, grid, epsilon)
    for g, sample in enumerate(population):
        mixture = build(done.points[g], done.queries[g], grid)
        assert mixture.error.max() <= 1e-9
        accepted = mixture.acceptance(sample.scores)
        for rate, label in ((0, False), (1, True)):
            mass = sample.mass * (sample.labels == label)
            assert mass @ accepted / mass.sum() == pytest.approx(done.points[g, :, rate], abs=1e-9)


@given(query_sets(), SEEDS, BUILDERS)
def test_decisions_follow_the_acceptance(queries, seed, build):
    """With even uniforms the share of accepted draws is the acceptance probability."""
    rng = np.random.default_rng(seed)
    points = 0.5 * queries + 0.25
    mixture = build(points, queries, np.linspace(0.9, 0.1, len(queries)))
    score, at = rng.random(), int(rng.integers(len(queries)))
    uniforms = (np.arange(400) + 0.5) / 400
    share = mixture.decide(np.full(400, score), uniforms, at).mean()
    assert share == pytest.approx(mixture.acceptance(np.array([score]))[0, at], abs=4 / 400)


def test_classifiers_of_several_thresholds_are_no_score():
    """Points (.2, .6) and (.3, .65) under queries (.2, .6), (.3, .9): a person above both thresholds is accepted for
    certain at the first, and with less at the second, milder one."""
    queries = np.array([[0.2, 0.6], [0.3, 0.9]])
    mixture = triangle_mixture(np.array([[0.2, 0.6], [0.3, 0.65]]), queries, np.array([0.7, 0.4]))
    assert mixture.acceptance(np.array([0.8]))[0, 0] == pytest.approx(1.0)
    assert mixture.falls(np.array([0.8]))[0] > 0.2
    assert mixture.falls(np.array([0.5]))[0] == 0.0
