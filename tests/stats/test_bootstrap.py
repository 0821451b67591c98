"""The multiplier bootstrap draws processes of the right covariance, and a thin grid tells what all thresholds tell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import kstwobign

from fairroc.core.constraint import Difference, distance_of
from fairroc.core.roc import roc_curve
from fairroc.stats import bootstrap as multiplier
from fairroc.stats.bands import Noise, even_noise, group_pairs, weighted_noise
from fairroc.stats.bootstrap import OVERSHOOT, bootstrap, grid_of, own_grids
from strategies import MILD, Sample, populations


def normal_group(rows: tuple[int, int], shift: float, rng: np.random.Generator, digits: int = 12) -> Noise:
    scores = np.concatenate((rng.normal(shift, 1, rows[0]), rng.normal(shift + 1, 1, rows[1]))).round(digits)
    return even_noise(roc_curve(scores, np.arange(sum(rows)) >= rows[0]), *rows)


def test_overshoot_is_the_known_constant() -> None:
    """-zeta(1/2) / sqrt(2 pi), with zeta(1/2) = -1.4603545..."""
    assert pytest.approx(1.4603545088095868 / math.sqrt(2 * math.pi), abs=1e-4) == OVERSHOOT


def test_widths_are_those_of_kolmogorov() -> None:
    """In large samples of continuous scores the largest error of a rate, times sqrt(n), has Kolmogorov's distribution,
    and four independent ones together keep its (0.95 ** 0.25)-quantile, 1.6269."""
    rng = np.random.default_rng(0)
    rows = np.array([(900, 400), (2500, 1600)])
    draws = bootstrap(
        [normal_group(tuple(r), 0.3 * i, rng) for i, r in enumerate(rows)], distance_of(1.0), draws=4000, rng=rng
    )
    assert draws.widths(0.95) * np.sqrt(rows) == pytest.approx(np.full((2, 2), 1.6269), rel=0.04)


def test_a_thin_grid_tells_what_all_thresholds_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    noises = [normal_group((3000, 2000), 0.0, rng), normal_group((1000, 500), 0.5, rng)]
    width, points = {}, {}
    for count in (128, 512, 10**6):
        monkeypatch.setattr(multiplier, "GRID", count)
        points[count] = grid_of(noises).rates.shape[-1]
        width[count] = bootstrap(noises, distance_of(1.0), draws=3000, rng=np.random.default_rng(2)).reach(0.975)[0]
    assert points[128] < 200 < 400 < points[512] < 700 and points[10**6] == 6500
    assert width[128] == pytest.approx(width[10**6], rel=0.04)
    assert width[512] == pytest.approx(width[10**6], rel=0.03)


@given(populations(max_groups=3, max_rows=60, weights=MILD))
def test_grids_hold_every_row_and_end_at_one(population: list[Sample]) -> None:
    noises = [
        even_noise(s.curve, float((~s.labels).sum()), float(s.labels.sum()))
        if s.weights is None
        else weighted_noise(s.curve, s.scores, s.labels, s.weights)
        for s in population
    ]
    for grid in (grid_of(noises, 8), grid_of(noises, 10**6), own_grids(noises)):
        assert (grid.rates[:, :, -1] == 1).all()
        assert (np.diff(grid.rates, axis=-1) >= 0).all()
        assert grid.steps.sum(axis=-1) == pytest.approx(np.stack([noise.scale for noise in noises]))
        assert ((grid.hidden == grid.steps) | (grid.hidden == 0)).all()
    draws = bootstrap(noises, distance_of(1.0), draws=8, rng=np.random.default_rng(0))
    for found in (draws.widths(0.9), draws.reach(0.9)):
        assert np.isfinite(found).all() and (found >= 0).all()


@pytest.mark.parametrize("each", [64, 16])
def test_what_each_of_many_groups_adds_is_kolmogorovs(each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one rate: sixteen independent errors together keep the (0.975 ** (1 / 16))-quantile, and so do the bands of
    thirty-two; two groups' reaches add up to no less than what pairs have."""
    rng = np.random.default_rng(5)
    monkeypatch.setattr(multiplier, "OWN_MOST", each)
    rows = [(400 * (1 + g % 3), 300 * (1 + g % 2)) for g in range(16)]
    noises = [normal_group(r, 0.1 * g, rng) for g, r in enumerate(rows)]
    draws = bootstrap(noises, Difference("tpr"), draws=3000, rng=rng)
    assert draws.off.shape == (3000, 16)
    roots = np.sqrt(rows)
    assert draws.reach(0.975) * roots[:, 1] == pytest.approx(kstwobign.ppf(0.975 ** (1 / 16)), rel=0.05)
    assert draws.widths(0.95) * roots == pytest.approx(np.full((16, 2), kstwobign.ppf(0.95 ** (1 / 32))), rel=0.05)
    monkeypatch.setattr(multiplier, "FEW_PAIRED", 99)
    few = bootstrap(noises, Difference("tpr"), draws=300, rng=rng)
    g, h = group_pairs(16).T
    assert (draws.reach(0.975)[g] + draws.reach(0.975)[h] > few.reach(0.975)).all()


def test_scores_of_few_points_hide_nothing() -> None:
    rng = np.random.default_rng(3)
    noises = [normal_group((400, 300), shift, rng, digits=0) for shift in (0.0, 0.5)]
    crowded = grid_of(noises).steps > 3 / 300**2
    assert (grid_of(noises).hidden[crowded] == 0).all()
    assert crowded.sum() > 10


def test_the_covariance_is_that_of_the_rates() -> None:
    """Largest error of a rate with two points only: |N(0, rate (1 - rate) / n)|."""
    scores, labels = np.repeat([0.0, 1.0, 0.0, 1.0], [60, 40, 30, 70]), np.arange(200) >= 100
    noise = even_noise(roc_curve(scores, labels), 100, 100)
    draws = bootstrap([noise, noise], distance_of(1.0), draws=20_000, rng=np.random.default_rng(0))
    spread = np.sqrt((draws.cells**2).mean(axis=0))
    assert spread[0] == pytest.approx([math.sqrt(0.4 * 0.6 / 100), math.sqrt(0.3 * 0.7 / 100)], rel=0.03)
    assert (draws.missed_cells == 0).all()
    correlation = np.corrcoef(draws.cells.reshape(len(draws.cells), -1).T)
    assert np.abs(correlation - np.eye(4)).max() < 0.03


def test_the_same_seed_gives_the_same_draws_and_progress_is_told() -> None:
    rng = np.random.default_rng(4)
    noises = [normal_group((300, 300), shift, rng) for shift in (0.0, 0.5)]
    told: list[tuple[int, int]] = []
    one, other = (
        bootstrap(
            noises, distance_of(2.0), draws=300, rng=np.random.default_rng(7), progress=lambda *step: told.append(step)
        )
        for _ in range(2)
    )
    assert (one.off == other.off).all() and (one.cells == other.cells).all()
    assert told[: len(told) // 2] == told[len(told) // 2 :]
    assert told[-1] == (300, 300) and [done for done, _ in told[: len(told) // 2]] == sorted({d for d, _ in told})
