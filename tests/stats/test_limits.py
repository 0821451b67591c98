"""Limits of the gap: the law of the errors against brute force, and drawn populations against their moments."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import smirnov
from scipy.stats import beta

from fairroc.core.constraint import equalized_odds
from fairroc.core.roc import roc_curve
from fairroc.stats.bands import dkw_widths, even_noise, weighted_noise
from fairroc.stats.limits import CELLS, END, Mixture, drawn_rates, mixture, safe_reach, sharp_limit, steps_of
from strategies import NORMS, SEEDS, populations

SIZES = st.lists(
    st.tuples(st.sampled_from([1, 2, 7, 50, 3000]), st.sampled_from([1, 3, 20, 10**6])), min_size=2, max_size=5
)


# ---- any sample size ---------------------------------------------------------------------------------------


def test_massart_bounds_the_exact_law_of_an_error():
    """Birnbaum and Tingey's law of the largest one-sided error, below its median too."""
    for n in (1, 2, 3, 5, 10, 40, 200, 2000):
        x = np.linspace(0.0, 1.0, 400)
        assert (smirnov(n, x) <= np.exp(-2 * n * x**2) + 1e-12).all()


@settings(max_examples=15)
@given(SIZES, NORMS, st.sampled_from([0.5, 0.9, 0.99]), SEEDS)
def test_safe_reach_against_drawn_errors(sizes, norm, confidence, seed):
    """Errors of Massart's law, drawn: pairs, corners and their opposites together have the probability they may, or a
    reach shorter by what rounding costs would exceed it."""
    sizes = np.array(sizes)
    found = safe_reach(sizes, equalized_odds(norm), confidence)
    widths = dkw_widths(sizes, confidence)
    pairs = list(combinations(range(len(sizes)), 2))
    bands = max((widths[g] + widths[h]).sum() if norm == 1 else (widths[g] + widths[h]).max() for g, h in pairs)
    assert 0 < found <= bands + 1e-12
    drawn = np.sqrt(np.random.default_rng(seed).exponential(size=(40_000, *sizes.shape)) / (2 * sizes))
    drawn = np.minimum(drawn, 1.0)

    def chance(reach: float) -> float:
        total = 0.0
        for g, h in pairs:
            both = drawn[:, g] + drawn[:, h]
            sums = [both.sum(axis=1)] * 2 if norm == 1 else [both[:, 0], both[:, 1]]
            total += sum(2 * float((one > reach).mean()) for one in sums)
        return total

    allowed = 1 - confidence
    noise = 6 * math.sqrt(4 * len(pairs) * allowed / 40_000)
    assert chance(found) <= allowed + noise
    if found < bands - bands / CELLS:
        assert chance(found - 5 * bands / CELLS) >= allowed - noise


@given(SIZES, NORMS)
def test_safe_reach_shrinks_with_rows_and_grows_with_confidence(sizes, norm):
    sizes, constraint = np.array(sizes), equalized_odds(norm)
    found = safe_reach(sizes, constraint, 0.9)
    assert safe_reach(sizes, constraint, 0.8) <= found <= safe_reach(sizes, constraint, 0.99)
    assert safe_reach(4 * sizes, constraint, 0.9) <= found * (1 + 5 / CELLS)
    assert safe_reach(sizes[::-1], constraint, 0.9) == pytest.approx(found, rel=1e-9)


# ---- this score --------------------------------------------------------------------------------------------


def steps_and_chances(sample, seed: int, places: int = 5) -> Mixture:
    """A group with some monotone kernel, in as many steps as there are scores."""
    rng = np.random.default_rng(seed)
    curve = roc_curve(sample.scores, sample.labels, sample.weights)
    if sample.weights is None:
        noise = even_noise(curve, (~sample.labels).sum(), sample.labels.sum())
    else:
        used = sample.weights > 0
        noise = weighted_noise(curve, sample.scores[used], sample.labels[used], sample.weights[used])
    ends = np.arange(1, len(curve.thresholds) + 1)
    chance = np.sort(np.sort(rng.random((len(ends), places)), axis=0)[::-1], axis=1)
    return mixture(noise, ends, chance, np.diff(noise.rates) @ chance)


@settings(max_examples=15)
@given(populations(max_groups=2, max_rows=30), SEEDS)
def test_drawn_rates_have_the_moments_of_a_dirichlet_distribution(population, seed):
    group = steps_and_chances(population[0], seed)
    found = drawn_rates(group, 20_000, np.random.default_rng(seed))
    for c in (0, 1):
        mass, person = group.mass[c], group.person[c]
        assert ((found[c] > -1e-9) & (found[c] < 1 + 1e-9)).all()
        if not np.allclose(group.variance[c], mass * person, rtol=1e-9, atol=0.0):
            continue  # unequal weights: no Dirichlet distribution
        shape = mass / person
        shape[0] += END
        shape[-1] += END
        mean = shape / shape.sum()
        spread = (np.diag(mean) - np.outer(mean, mean)) / (shape.sum() + 1)
        sd = np.sqrt(np.diag(group.chance.T @ spread @ group.chance))
        assert np.abs(found[c].mean(axis=0) - mean @ group.chance).max() <= 6 * sd.max() / 141 + 1e-9
        assert found[c].std(axis=0) == pytest.approx(sd, rel=0.12, abs=1e-9)


@pytest.mark.parametrize("weights", [None, "mixed"])
def test_the_noise_is_that_of_multipliers_over_rows(weights):
    """In large samples: every row of a class with its own multiplier, and what the kernel does to it."""
    rng = np.random.default_rng(3)
    scores, labels = rng.normal(size=4000).round(2), rng.random(4000) < 0.4
    mass = np.ones(4000) if weights is None else rng.uniform(0.2, 3.0, 4000)
    curve = roc_curve(scores, labels, mass)
    noise = weighted_noise(curve, scores, labels, mass)
    ends = np.arange(1, len(curve.thresholds) + 1)
    places = np.array([-1.0, -0.3, 0.2, 1.1])

    def kernel(s: np.ndarray) -> np.ndarray:  # half keep their place, half are spread over the whole range
        return 0.5 * (s[:, None] >= places) + 0.5 * (1 - (places + 4) / 8)

    group = mixture(noise, ends, kernel(curve.thresholds), np.diff(noise.rates) @ kernel(curve.thresholds))
    found = drawn_rates(group, 4000, rng)
    coarse = steps_of(noise)
    thin = mixture(noise, coarse, kernel(curve.thresholds[coarse - 1]), group.rates.copy())
    coarsely = drawn_rates(thin, 4000, rng)
    for c, rows in enumerate((~labels, labels)):
        share = mass[rows] / mass[rows].sum()
        off = kernel(scores[rows]) - share @ kernel(scores[rows])
        direct = off.T @ (share[:, None] ** 2 * off)  # the covariance over standard normal multipliers
        scale = np.sqrt(np.outer(np.diag(direct), np.diag(direct)))
        for drawn in (found[c], coarsely[c]):
            assert np.abs(np.cov(drawn.T) - direct).max() <= 0.1 * scale.max()
        assert found[c].mean(axis=0) == pytest.approx(group.rates[c], abs=0.002)


@settings(max_examples=20)
@given(populations(max_groups=4, max_rows=20), NORMS, SEEDS)
def test_sharp_limit_is_brute_force_over_its_draws(population, norm, seed):
    groups = [steps_and_chances(sample, seed + i) for i, sample in enumerate(population)]
    draws, confidence = 15, 0.8
    limit, gap = sharp_limit(
        groups, equalized_odds(norm), draws=draws, rng=np.random.default_rng(seed), confidence=confidence
    )
    rng = np.random.default_rng(seed)
    drawn = [drawn_rates(group, draws, rng) for group in groups]

    def largest(rates: list[np.ndarray]) -> float:
        apart = [np.abs(one - other) for one, other in combinations(rates, 2)]
        return max(float((d.sum(axis=0) if norm == 1 else d.max(axis=0)).max()) for d in apart)

    slow = sorted(largest([rates[:, i] for rates in drawn]) for i in range(draws))
    assert limit == pytest.approx(slow[math.ceil(confidence * (draws - 1))], abs=1e-12)
    assert gap == pytest.approx(largest([group.rates for group in groups]), abs=1e-12)


def test_a_class_of_one_row_is_uncertain():
    """Nobody is selected, and yet the population's rate need not be 0."""
    noise = even_noise(roc_curve(np.array([0.1, 0.9]), np.array([True, False])), 1, 1)
    group = mixture(noise, np.array([1, 2]), np.array([[1.0], [0.0]]), np.array([[1.0], [0.0]]))
    found = drawn_rates(group, 2000, np.random.default_rng(0))
    assert np.quantile(found[1], 0.95) == pytest.approx(beta(0.5, 1.5).ppf(0.95), abs=0.05)
    assert np.quantile(found[0], 0.05) == pytest.approx(beta(1.5, 0.5).ppf(0.05), abs=0.05)
