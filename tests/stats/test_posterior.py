"""What is known of the population: its algebra beside brute force, its draws, and statements beside known truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core.constraint import equalized_odds
from fairroc.core.gap import threshold_gap
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc.stats.bins import BINS, Bins, bins_of
from fairroc.stats.expected import figures
from fairroc.stats.posterior import (
    MIDDLE,
    STEPS,
    WEAK,
    Departures,
    Posterior,
    _likelihood,
    _newton,
    amplitudes,
    departures,
    polynomials,
    posterior,
    tilted,
    weigh,
)
from strategies import SEEDS

GAP = equalized_odds(1)


def bins_for(people: People) -> Bins:
    return bins_of(people.thin.curves, people.thin.shares, people.class_sizes())


def known_of(people: People) -> Posterior:
    return posterior(bins_for(people), people.thin, np.random.default_rng(0))


def some(seed: int, rows: int = 400, groups: int = 2, distinct: int = 0, shift: float = 0.5) -> People:
    rng = np.random.default_rng(seed)
    g, y = np.arange(rows) % groups, rng.random(rows) < 0.4
    y[: 2 * groups] = np.arange(2 * groups) < groups
    scores = rng.normal(1.2 * y + shift * g, 1.0)
    if distinct:
        scores = np.floor(distinct * np.argsort(np.argsort(scores)) / rows)
    return read_people(scores, y, sensitive_features=g)


# ---- bins ------------------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(SEEDS, st.sampled_from([0, 2, 7, 150]), st.integers(2, 5))
def test_bins_hold_everybody_and_each_lump_alone(seed, distinct, groups):
    people = some(seed, rows=900, groups=groups, distinct=distinct)
    bins = bins_for(people)
    np.testing.assert_allclose(bins.sizes, people.class_sizes())
    assert bins.people.sum() == pytest.approx(1)
    assert (bins.thresholds <= bins.tops).all() and (bins.tops[:-1] < bins.thresholds[1:]).all()
    assert (np.diff(bins.z) > 0).all()
    if distinct:
        assert len(bins.thresholds) == distinct
        np.testing.assert_array_equal(bins.inside, np.stack([bins.thresholds] * 2))


def test_a_score_that_many_share_is_a_bin_of_its_own():
    rng = np.random.default_rng(0)
    scores = np.concatenate((rng.random(2000), np.full(100, 0.5), np.full(70, 0.75)))
    y, g = rng.random(2170) < 0.5, np.arange(2170) % 2
    bins = bins_for(read_people(scores, y, sensitive_features=g))
    assert BINS * 0.9 < len(bins.thresholds) < BINS + 3
    for lump in (0.5, 0.75):
        at = np.searchsorted(bins.thresholds, lump)
        assert bins.thresholds[at] == bins.tops[at] == lump


# ---- the algebra -----------------------------------------------------------------------------------------------------


def test_departures_are_where_the_penalised_likelihood_is_largest():
    """Slope and bend beside differences of the likelihood itself."""
    bins = bins_for(some(3, rows=300))
    phi = polynomials(bins)[:, :3]
    common = bins.counts.sum(axis=0)
    common = common / common.sum(axis=1, keepdims=True)

    def likelihood(theta: np.ndarray) -> np.ndarray:
        return (bins.counts * np.log(np.maximum(tilted(common, theta, phi)[0], 1e-300))).sum(axis=-1)

    theta, slope, bend = _newton(bins, common, phi, np.zeros((2, 2, 3)))
    assert STEPS > 5
    step = 1e-4 * np.eye(3)
    for i in range(3):
        up, down = likelihood(theta + step[i]), likelihood(theta - step[i])
        np.testing.assert_allclose(slope[..., i], (up - down) / 2e-4, rtol=1e-4, atol=1e-3)
        curved = -(up + down - 2 * likelihood(theta)) / 1e-8
        np.testing.assert_allclose(bend[..., i, i], curved, rtol=1e-2)
    pulled_back = (np.arange(1, 4) ** 1.5 / WEAK) ** 2 * theta
    np.testing.assert_allclose(slope, pulled_back, atol=1e-4)


@settings(max_examples=15)
@given(SEEDS, st.integers(2, 4))
def test_evidence_and_means_are_those_of_the_joint_normal_distribution(seed, groups):
    """Beside one large matrix of the middle and of all groups, for every combination of amplitudes."""
    rng = np.random.default_rng(seed)
    size = 4
    root = rng.normal(size=(groups, size, size))
    bend, pull = root @ np.swapaxes(root, 1, 2) + 0.1 * np.eye(size), rng.normal(size=(groups, size))
    weighed = weigh(Departures(np.ones((2, 3)) / 3, np.ones((3, 2)), pull, bend))
    evidences, means = [], []
    for precision in weighed.precision:
        prior = np.diag(precision)
        whole = np.zeros((groups + 1, size, groups + 1, size))
        whole[0, :, 0] = groups * prior + np.diag((np.tile(np.arange(1, size // 2 + 1), 2) ** 1.5 / MIDDLE) ** 2)
        for g in range(groups):
            whole[0, :, g + 1] = whole[g + 1, :, 0] = -prior
            whole[g + 1, :, g + 1] = prior + bend[g]
        matrix = whole.reshape((groups + 1) * size, -1)
        right = np.concatenate((np.zeros(size), pull.ravel()))
        mean = np.linalg.solve(matrix, right)
        evidences.append(right @ mean / 2 - np.linalg.slogdet(matrix)[1] / 2 + groups * np.log(precision).sum() / 2)
        means.append(mean[size:].reshape(groups, size))
    evidence = np.array(evidences)
    np.testing.assert_allclose(weighed.evidence - weighed.evidence[0], evidence - evidence[0], rtol=1e-5, atol=1e-5)
    weights = amplitudes()[1] * np.exp(evidence - evidence.max())
    expected = np.tensordot(weights / weights.sum(), np.array(means), axes=1)
    np.testing.assert_allclose(weighed.mean, expected, rtol=1e-4, atol=1e-6)


def test_draws_have_the_mean_and_the_spread_of_the_joint_normal_distribution():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(2, 2, 2))
    bend, pull = root @ np.swapaxes(root, 1, 2) + np.eye(2), rng.normal(size=(2, 2))
    weighed = weigh(Departures(np.ones((2, 2)) / 2, np.ones((2, 1)), pull, bend))
    at = int(np.flatnonzero((amplitudes()[0] == (0.4, 0.3, 0.25)).all(axis=1))[0])
    drawn = replace(weighed, weights=np.eye(len(weighed.weights))[at]).drawn(40_000, rng).reshape(-1, 4)
    prior = np.diag(weighed.precision[at])
    zero = np.zeros((2, 2))
    matrix = np.block(
        [
            [2 * prior + np.eye(2) / MIDDLE**2, -prior, -prior],
            [-prior, prior + bend[0], zero],
            [-prior, zero, prior + bend[1]],
        ]
    )
    spread = np.linalg.inv(matrix)
    np.testing.assert_allclose(drawn.mean(axis=0), (spread @ np.append(np.zeros(2), pull))[2:], atol=0.02)
    np.testing.assert_allclose(np.cov(drawn.T), spread[2:, 2:], atol=0.02)


def test_draws_that_the_people_speak_against_are_drawn_back():
    bins = bins_for(some(1))
    found = departures(bins)
    weighed = weigh(found)
    known = known_of(some(1))
    assert np.isfinite(known.populations.masses).all()
    likely = _likelihood(bins, found, weighed.mean)
    assert (likely <= 0).all() and np.isfinite(likely).all()


# ---- populations -----------------------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(SEEDS, st.integers(2, 5), st.sampled_from([0, 2, 5]))
def test_populations_are_distributions_and_others_judge_than_choose(seed, groups, distinct):
    known = known_of(some(seed, rows=60, groups=groups, distinct=distinct))
    for part in (known.populations, known.judges):
        np.testing.assert_allclose(part.masses.sum(axis=-1), 1)
        assert ((part.priors > 0) & (part.priors < 1)).all()
    assert (known.populations.masses != known.judges.masses).any()
    np.testing.assert_allclose(known.mean.sum(axis=-1), 1)


def test_an_increasing_map_of_the_score_changes_nothing():
    rng = np.random.default_rng(5)
    scores, y, g = rng.normal(size=500), rng.random(500) < 0.4, np.arange(500) % 3
    one = known_of(read_people(scores, y, sensitive_features=g))
    other = known_of(read_people(np.exp(3 * scores), y, sensitive_features=g))
    np.testing.assert_array_equal(one.populations.masses, other.populations.masses)
    np.testing.assert_array_equal(one.judges.priors, other.judges.priors)


def test_one_score_alone_is_no_news():
    people = read_people(np.zeros(40), np.arange(40) % 2, sensitive_features=np.arange(40) // 20)
    known = known_of(people)
    assert (figures(known, known.judges, (), GAP).gaps == 0).all()


def test_wild_weights_and_scores_are_no_trouble():
    scores, labels, groups = [0.0, 1e300, 1e-300, 1e-300], [0, 1, 0, 1], ["a", "a", "b", "b"]
    weights = [5.24130949e-05, 2.11809733e-11, 1e-12, 1e12]
    known = known_of(read_people(scores, labels, sensitive_features=groups, sample_weight=weights))
    assert np.isfinite(known.judges.masses).all() and np.isfinite(figures(known, known.judges, (), GAP).gaps).all()


def test_samples_of_a_population_scatter_as_samples_do():
    known = known_of(some(2, rows=2000))
    sizes = np.array([[500.0, 20.0], [400.0, 300.0]])
    rng = np.random.default_rng(1)
    drawn = np.stack([known.judges.sampled(sizes, rng).masses for _ in range(60)])
    true = known.judges.masses
    np.testing.assert_allclose(drawn.mean(axis=0), true, atol=0.06)
    chance = (true * (1 - true) / sizes[..., None]).mean(axis=(0, 3))
    np.testing.assert_allclose(drawn.var(axis=0, ddof=1).mean(axis=(0, 3)), chance, rtol=0.05)


def test_populations_cannot_be_written_to():
    known = known_of(some(0, rows=40))
    with pytest.raises(ValueError, match="read-only"):
        known.judges.masses[0] = 0


# ---- statements beside known truth -----------------------------------------------------------------------------------


def _lumps(rng, g, y):
    at = np.clip(np.round(rng.normal(2 + 2 * y + 0.4 * g, 1.5)), 0, 7).astype(int)
    return np.linspace(0.05, 0.85, 8)[at] + rng.normal(0, 0.004, len(g))


TRUTHS = {
    "alike": lambda rng, g, y: rng.normal(1.2 * y, 1),
    "shifted": lambda rng, g, y: rng.normal(1.2 * y + 0.5 * g, 1),
    "yes or no": lambda rng, g, y: (rng.normal(1.2 * y + 0.5 * g, 1) > 1).astype(float),
    "five points": lambda rng, g, y: np.clip(np.floor(rng.normal(1.2 * y + 0.5 * g, 1) + 1), 0, 4),
    "lumps": _lumps,
    "skewed": lambda rng, g, y: rng.gamma(2, 1, len(g)) * np.exp(0.5 * y) * (1 + 0.3 * g),
}


def stated_and_true(drawn: Callable[[int, int], People], rows: int, samples: int) -> tuple[float, float]:
    """The mean over samples of what is stated of the original score's gap, and its gap among 200,000 others."""
    known = [known_of(drawn(rows, seed)) for seed in range(samples)]
    stated = np.mean([figures(one, one.judges, (), GAP).expected.gap for one in known])
    return float(stated), threshold_gap(drawn(200_000, 99).exact, GAP).value


@pytest.mark.parametrize("kind", TRUTHS)
def test_what_is_stated_of_the_original_score_is_true_on_average(kind):
    """Mean over samples of 1,000 people of two groups, beside 200,000 others."""

    def drawn(rows: int, seed: int) -> People:
        rng = np.random.default_rng(seed)
        g, y = np.arange(rows) % 2, rng.random(rows) < 0.3
        return read_people(TRUTHS[kind](rng, g, y), y, sensitive_features=g)

    stated, true = stated_and_true(drawn, 1000, 10)
    assert stated == pytest.approx(true, abs=0.04)


def test_a_small_group_that_is_badly_served_is_not_averaged_away():
    def drawn(rows: int, seed: int) -> People:
        rng = np.random.default_rng(seed)
        g, y = rng.choice(3, rows, p=[0.5, 0.38, 0.12]), rng.random(rows) < 0.4
        scores = rng.standard_t(3, rows) + 1.2 * y * np.where(g == 2, 0.3, 1.0) + 0.2 * g
        return read_people(scores, y, sensitive_features=g)

    stated, true = stated_and_true(drawn, 4000, 5)
    assert stated == pytest.approx(true, abs=0.07)
