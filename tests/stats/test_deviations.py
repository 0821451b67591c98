"""How far any monotone score's gap can be from the population's: against brute force and against true populations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline import Rows, columns_of, from_population

from fairroc.core.constraint import equalized_odds
from fairroc.core.gap import threshold_gap
from fairroc.core.realised import performance
from fairroc.core.roc import rates_at
from fairroc.fitting.fit import fit_quietly
from fairroc.model.model import expected_rocs
from fairroc.stats.limits import safe_reach
from fitted_people import fitted_options
from strategies import NORMS, SEEDS, populations

CORNERS = {1: [(1, 1), (1, -1), (-1, 1), (-1, -1)], "inf": [(1, 0), (-1, 0), (0, 1), (0, -1)]}


def slow_reach(off: np.ndarray, norm) -> float:
    """Largest error of any two groups' distance, from (groups, 2, k) errors: all pairs, directions and thresholds."""
    found = 0.0
    for g, h in combinations(range(len(off)), 2):
        for d in CORNERS[norm]:
            one = [0.0, *(d[0] * off[g, 0, i] + d[1] * off[g, 1, i] for i in range(off.shape[2]))]
            other = [0.0, *(d[0] * off[h, 0, i] + d[1] * off[h, 1, i] for i in range(off.shape[2]))]
            found = max(found, max(one) - min(other), max(other) - min(one))
    return found


# ---- what is claimed ---------------------------------------------------------------------------------------


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


def summed_reach(off: np.ndarray, norm) -> float:
    """The same from the largest errors of every rate, up and down, wherever they are: what `safe_reach` bounds."""
    up, down = np.maximum(off.max(axis=2), 0.0), np.maximum(-off.min(axis=2), 0.0)
    found = 0.0
    for g, h in combinations(range(len(off)), 2):
        each = [max(up[g, c] + down[h, c], down[g, c] + up[h, c]) for c in (0, 1)]
        found = max(found, sum(each) if norm == 1 else max(each))
    return found


@pytest.mark.parametrize("norm", [1, "inf"])
@pytest.mark.parametrize("rows", [((12, 5), (9, 30)), ((60, 90), (150, 70)), ((40, 40), (25, 60), (90, 15))])
def test_the_reach_is_exceeded_as_rarely_as_it_says(norm, rows):
    """Uniform scores in every class, so that the population's rates are 1 - t: the largest errors of samples are within
    the reach in at least 90% of them, and not in nearly all."""
    rng, draws, within, near = np.random.default_rng(5), 1500, 0, 0
    far = safe_reach(np.array(rows), equalized_odds(norm), 0.9)
    for _ in range(draws):
        off = np.zeros((len(rows), 2, 2))
        for g, c in np.ndindex(off.shape[:2]):
            n = rows[g][c]
            scores, steps = np.sort(rng.random(n)), np.arange(n + 1) / n
            off[g, c] = (steps[1:] - scores).max(), -(scores - steps[:-1]).max()
        true = summed_reach(off, norm)
        within += true <= far
        near += true <= 0.8 * far
    assert 0.89 * draws <= within
    assert near <= 0.89 * draws


def gap_of(model, rows: Rows, norm) -> float:
    columns = columns_of(rows)
    if model.unchanged:
        return threshold_gap(columns.exact, equalized_odds(norm)).value
    people, realised = expected_rocs(model, columns)
    return performance(realised, people, equalized_odds(norm)).gap


HOW = st.sampled_from(
    [
        {"draw": "all"},
        {"draw": "few"},
        {"draw": "never"},
        {"queries": 5},
        {"queries": 5, "draw": "all"},
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
    model = fit_quietly(columns_of(one), fitted_options(epsilon=epsilon, norm=norm, **how), salt=1).model
    first, second = (columns_of(rows).exact.curves for rows in (one, other))
    every = np.unique(np.concatenate([one.scores, other.scores]))
    off = np.array([np.subtract(rates_at(a, every), rates_at(b, every)) for a, b in zip(first, second, strict=True)])
    change = abs(gap_of(model, one, norm) - gap_of(model, other, norm))
    assert change <= max_reach(off, norm) + 1e-9
    assert max_reach(off, norm) <= summed_reach(off, norm) + 1e-12


def test_froc_models_keep_the_theorem_too():
    rng = np.random.default_rng(8)
    rows = [Rows(rng.normal(size=300).round(2), rng.integers(0, 2, 300), np.array(["a", "b"])[np.arange(300) % 2])] * 2
    one, other = (
        Rows(r.scores + r.y * shift * (r.groups == "a"), r.y, r.groups)
        for r, shift in zip(rows, (1.0, 1.2), strict=True)
    )
    model = fit_quietly(columns_of(one), fitted_options(epsilon=0.05, method="froc", queries=20), salt=1).model
    assert not model.unchanged
    first, second = (columns_of(r).exact.curves for r in (one, other))
    every = np.unique(np.concatenate([one.scores, other.scores]))
    off = np.array([np.subtract(rates_at(a, every), rates_at(b, every)) for a, b in zip(first, second, strict=True)])
    change = abs(gap_of(model, one, 1) - gap_of(model, other, 1))
    assert 0 < change <= max_reach(off, 1) + 1e-9
