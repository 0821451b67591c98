"""How far any monotone score's gap can be from the population's: against brute force and against true populations."""

from __future__ import annotations

import math
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline import Rows, from_population

from fairroc.core.constraint import equalized_odds
from fairroc.core.gap import threshold_gap
from fairroc.core.realised import performance
from fairroc.core.roc import rates_at, roc_curve
from fairroc.errors import FairrocWarning
from fairroc.fitting.fit import fit
from fairroc.model.model import expected_rocs
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc.stats import bootstrap as reach_module
from fairroc.stats.bands import dkw_widths, even_noise
from fairroc.stats.bootstrap import OVERSHOOT, errors, grid_of, safe_reach, sharp_reach
from strategies import NORMS, SEEDS, populations

CORNERS = {1: [(1, 1), (1, -1), (-1, 1), (-1, -1)], "inf": [(1, 0), (-1, 0), (0, 1), (0, -1)]}


def noises_of(population):
    return [even_noise(s.curve, (~s.labels).sum(), s.labels.sum()) for s in population]


def slow_reach(off: np.ndarray, norm) -> float:
    """Largest error of any two groups' distance, from (groups, 2, k) errors: all pairs, directions and thresholds."""
    found = 0.0
    for g, h in combinations(range(len(off)), 2):
        for d in CORNERS[norm]:
            one = [0.0, *(d[0] * off[g, 0, i] + d[1] * off[g, 1, i] for i in range(off.shape[2]))]
            other = [0.0, *(d[0] * off[h, 0, i] + d[1] * off[h, 1, i] for i in range(off.shape[2]))]
            found = max(found, max(one) - min(other), max(other) - min(one))
    return found


# ---- oracles -----------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(populations(max_groups=4, max_rows=20, weights=("none",)), NORMS, SEEDS)
def test_sharp_reach_is_brute_force_over_its_draws(population, norm, seed):
    """Quantile over draws of the largest error, and what grid points may hide of it."""
    noises, draws, confidence = noises_of(population), 15, 0.8
    found = sharp_reach(
        noises, equalized_odds(norm), draws=draws, rng=np.random.default_rng(seed), confidence=confidence
    )
    grid = grid_of(noises)
    parts = [error for _, error in errors(grid, draws, np.random.default_rng(seed))]
    slow = sorted(slow_reach(off, norm) for off in np.concatenate(parts))
    hidden = [
        max(part[0] + part[1] if norm == 1 else max(part) for part in cells.T) for cells in grid.hidden
    ]  # variance of the direction's largest step with room for more thresholds
    missed = OVERSHOOT * sum(sorted(math.sqrt(h) for h in hidden)[-2:])
    assert found == pytest.approx(slow[math.ceil(confidence * (draws - 1))] + missed, abs=1e-12)


def test_safe_reach_by_hand():
    widths = np.array([[0.1, 0.2], [0.05, 0.3], [0.4, 0.01]])
    assert safe_reach(widths, equalized_odds(1)) == pytest.approx([0.65, 0.71, 0.76])
    assert safe_reach(widths, equalized_odds("inf")) == pytest.approx([0.5, 0.5, 0.45])


def test_more_confidence_reaches_farther_and_more_rows_less_far():
    rng = np.random.default_rng(0)

    def found(rows: int, confidence: float) -> float:
        curves = [roc_curve(rng.random(rows), np.arange(rows) % 2 == 0) for _ in range(2)]
        noises = [even_noise(curve, rows / 2, rows / 2) for curve in curves]
        return sharp_reach(noises, equalized_odds(1), draws=400, rng=np.random.default_rng(1), confidence=confidence)

    assert found(400, 0.5) < found(400, 0.9) < found(400, 0.99)
    assert found(6400, 0.9) == pytest.approx(found(400, 0.9) / 4, rel=0.2)


# ---- what is claimed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1, "inf"])
def test_the_reach_is_exceeded_as_rarely_as_it_says(norm):
    """Uniform scores in every class, so that the population's rates are 1 - t: the largest true error of the samples is
    within the bootstrap's reach in about 90% of samples, and within the DKW reach almost always."""
    rng, rows, draws = np.random.default_rng(5), np.array([[60, 90], [150, 70]]), 100
    sharp, safe = 0, 0
    for _ in range(draws):
        noises, off = [], []
        for negatives, positives in rows:
            labels = np.arange(negatives + positives) >= negatives
            curve = roc_curve(rng.random(len(labels)), labels)
            noises.append(even_noise(curve, negatives, positives))
            off.append(curve)
        every = np.sort(np.concatenate([curve.thresholds for curve in off]))
        after = np.nextafter(every, 2.0)  # just above a score its people are lost
        at = np.concatenate((every, after))
        error = np.array([[rate - (1 - at) for rate in rates_at(curve, at)] for curve in off])
        true = max_reach(error, norm)
        sharp += true <= sharp_reach(noises, equalized_odds(norm), draws=150, rng=rng, confidence=0.9)
        safe += true <= safe_reach(dkw_widths(rows, 0.9), equalized_odds(norm)).max()
    assert 0.82 * draws <= sharp <= 0.99 * draws
    assert safe >= 0.95 * draws


def max_reach(off: np.ndarray, norm) -> float:
    """`slow_reach` in numpy."""
    lines = np.stack([d[0] * off[:, 0] + d[1] * off[:, 1] for d in CORNERS[norm]])
    up = np.maximum(lines.max(axis=2), 0.0)
    down = np.maximum(-lines.min(axis=2), 0.0)
    pairs = combinations(range(off.shape[0]), 2)
    return float(max(max((up[:, g] + down[:, h]).max(), (down[:, g] + up[:, h]).max()) for g, h in pairs))


@given(SEEDS, NORMS)
def test_both_brute_forces_agree(seed, norm):
    off = np.random.default_rng(seed).normal(size=(3, 2, 6))
    assert max_reach(off, norm) == pytest.approx(slow_reach(off, norm))


def gap_of(model, rows: Rows, norm) -> float:
    columns = columns_of(rows)
    if model.unchanged:
        return threshold_gap(columns.exact.curves, equalized_odds(norm)).value
    people, realised = expected_rocs(model, columns)
    return performance(realised, people.weights0, people.weights1, equalized_odds(norm)).gap


def columns_of(rows: Rows):
    return read_people(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=rows.weights)


HOW = st.sampled_from(
    [
        {"ties": "draw"},
        {"curve": "raw"},
        {"curve": "smooth"},
        {"curve": "shrunk"},
        {"queries": 5},
        {"queries": 5, "ties": "draw"},
    ]
)


@st.composite
def two_populations(draw):
    """Two sets of people in the same groups."""
    one = draw(populations(max_groups=4, max_rows=40, weights=("none", "mild")))
    other = draw(st.lists(st.sampled_from([3, 40]), min_size=len(one), max_size=len(one)))
    rng = np.random.default_rng(draw(SEEDS))
    moved = []
    for sample, size in zip(one, other, strict=True):  # people of the first set, drawn anew, and some other scores
        at = rng.integers(0, len(sample.scores), size)
        scores = np.where(rng.random(size) < 0.2, rng.choice(sample.scores) * rng.choice([0.5, 2.0]), sample.scores[at])
        labels = sample.labels[at].copy()
        labels[0], labels[-1] = True, False
        moved.append(type(sample)(scores, labels))
    return from_population(one), from_population(moved)


@settings(max_examples=40)
@given(two_populations(), NORMS, st.sampled_from([0.0, 0.02, 0.1, 0.3]), HOW)
def test_no_fair_score_is_farther_off_than_the_original_rates_are(both, norm, epsilon, how):
    """The theorem: fitted to some people and judged by others, a gap changes by no more than the reach of the two sets'
    differences, whatever was fitted. Nothing random is left: the second set stands for the population."""
    one, other = both
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        model = fit(columns_of(one), Options.checked(epsilon=epsilon, norm=norm, **how), salt=1).model
    first, second = (columns_of(rows).exact.curves for rows in (one, other))
    every = np.unique(np.concatenate([one.scores, other.scores]))
    off = np.array([np.subtract(rates_at(a, every), rates_at(b, every)) for a, b in zip(first, second, strict=True)])
    change = abs(gap_of(model, one, norm) - gap_of(model, other, norm))
    assert change <= max_reach(off, norm) + 1e-9
    assert max_reach(off, norm) <= safe_reach(np.abs(off).max(axis=2), equalized_odds(norm)).max() + 1e-12


def test_froc_models_keep_the_theorem_too():
    rng = np.random.default_rng(8)
    rows = [Rows(rng.normal(size=300).round(2), rng.integers(0, 2, 300), np.array(["a", "b"])[np.arange(300) % 2])] * 2
    one, other = (
        Rows(r.scores + r.y * shift * (r.groups == "a"), r.y, r.groups)
        for r, shift in zip(rows, (1.0, 1.2), strict=True)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        model = fit(columns_of(one), Options.checked(epsilon=0.05, method="froc", queries=20), salt=1).model
    assert not model.unchanged
    first, second = (columns_of(r).exact.curves for r in (one, other))
    every = np.unique(np.concatenate([one.scores, other.scores]))
    off = np.array([np.subtract(rates_at(a, every), rates_at(b, every)) for a, b in zip(first, second, strict=True)])
    change = abs(gap_of(model, one, 1) - gap_of(model, other, 1))
    assert 0 < change <= max_reach(off, 1) + 1e-9


def test_large_ties_hide_nothing(monkeypatch):
    """Where all people share a few scores, the grid has all thresholds there are: nothing is added."""
    scores, labels = np.repeat([0.0, 0.5, 1.0], 40), np.arange(120) % 2 == 0
    noises = [even_noise(roc_curve(scores, labels), 60, 60)] * 2

    def found() -> float:
        return sharp_reach(noises, equalized_odds(1), draws=50, rng=np.random.default_rng(0), confidence=0.9)

    with_ties = found()
    monkeypatch.setattr(reach_module, "OVERSHOOT", 100.0)
    assert found() == with_ties
