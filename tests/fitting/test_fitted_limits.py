"""Limits of a fitted score: what its kernel does to people, whoever they are, and whether the limits hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline import Rows, normal_rows, worlds

from fairroc.core.constraint import equalized_odds
from fairroc.core.realised import all_places, chances
from fairroc.fitting import limits as limits_module
from fairroc.fitting.fit import Fitted, fit_quietly, limits_of
from fairroc.fitting.limits import DRAWS, SEED, limits
from fairroc.people.door import read_people
from fairroc_studies.problems.synthetic import FAMILIES
from fitted_people import fitted_options
from strategies import NORMS, SEEDS

HOW = st.sampled_from([{}, {"draw": "all"}, {"draw": "never"}, {"queries": 5}])


def fitted(rows: Rows, **options) -> Fitted:
    people = read_people(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=rows.weights)
    return fit_quietly(people, fitted_options(**options), salt=1)


@settings(max_examples=20)
@given(worlds(max_rows=40, max_groups=4), NORMS, st.sampled_from([0.0, 0.1, 0.3]), HOW, SEEDS)
def test_chances_add_up_to_the_realised_rates(rows, norm, epsilon, how, seed):
    """And rise with the place, and with the score."""
    done = fitted(rows, epsilon=epsilon, norm=norm, **how)
    rng = np.random.default_rng(seed)
    for curve, kernel, roc in zip(done.raw.curves, done.model.kernels, done.realised, strict=False):
        levels = kernel.table.shape[1]
        y = np.unique(np.concatenate((rng.uniform(0, levels, 20), all_places([roc]))))
        found = chances(kernel, curve.thresholds, y)
        assert np.diff(np.stack((curve.fpr, curve.tpr))) @ found == pytest.approx(roc.at(y)[:, :2].T, abs=1e-9)
        assert (np.diff(found, axis=1) >= -1e-9).all()
        assert (np.diff(found, axis=0) <= 1e-9).all()
        assert found[:, -1] == pytest.approx(1.0)


@settings(max_examples=10)
@given(worlds(max_rows=40, max_groups=4), NORMS, st.sampled_from([0.0, 0.1, 2.0]), HOW)
def test_limits_lie_between_the_gap_and_the_largest_there_is(rows, norm, epsilon, how):
    done = fitted(rows, epsilon=min(epsilon, equalized_odds(norm).largest), norm=norm, **how)
    gap, most = done.performance.gap, equalized_odds(norm).largest
    low, high = limits_of(done, 0.5), limits_of(done, 0.99)
    assert gap <= low.bootstrap <= high.bootstrap <= most
    assert (low.dkw is None) == (rows.weights is not None)
    if low.dkw is not None:
        assert gap < low.dkw <= high.dkw <= most
    assert limits_of(done, 0.5) == low


@pytest.mark.parametrize("how", [{}, {"draw": "all"}, {"draw": "never"}, {"epsilon": 2.0}])
def test_only_the_ratios_of_weights_count(how):
    rows = normal_rows(3, n=500)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 500)
    one, other = (
        limits_of(fitted(replace(rows, weights=mass), **{"epsilon": 0.1, **how}), 0.9).bootstrap
        for mass in (weights, 8 * weights)
    )
    assert one == pytest.approx(other, rel=1e-9)


def test_unequal_weights_widen_the_limit_and_more_rows_narrow_it():
    rows = normal_rows(3, n=600)
    twice = Rows(*(np.concatenate((a, a)) for a in (rows.scores, rows.y, rows.groups)))
    even, more = (limits_of(fitted(r, epsilon=2.0), 0.9).bootstrap for r in (rows, twice))
    gap = fitted(rows, epsilon=2.0).performance.gap
    assert more - gap == pytest.approx((even - gap) / 2**0.5, rel=0.15)
    mass = np.where(np.arange(600) % 5 == 0, 5.0, 1.0)
    uneven = fitted(replace(rows, weights=mass), epsilon=2.0)
    assert limits_of(uneven, 0.9).bootstrap - uneven.performance.gap > 1.1 * (even - gap)


@pytest.mark.parametrize("norm", [1, "inf"])
def test_the_limit_of_an_unchanged_score_is_that_of_its_rows(norm):
    """Rows drawn anew with Dirichlet weights, group by group and class by class, at every threshold."""
    rows = normal_rows(3, n=400)
    done = fitted(rows, epsilon=equalized_odds(norm).largest, norm=norm)
    assert done.model.unchanged
    every, rng, draws = np.unique(rows.scores), np.random.default_rng(5), 1500
    rates = np.empty((2, 2, draws, len(every)))
    for g, name in enumerate(("a", "b")):
        for label in (0, 1):
            scores = np.asarray(rows.scores)[(np.asarray(rows.groups) == name) & (np.asarray(rows.y) == label)]
            shape = np.concatenate((np.ones(len(scores)), [0.5, 0.5]))
            share = rng.dirichlet(shape, draws)
            ends = np.concatenate((scores, [np.inf, -np.inf]))
            rates[g, label] = share @ (ends[:, None] >= every)
    apart = np.abs(rates[0] - rates[1])
    gaps = (apart.sum(axis=0) if norm == 1 else apart.max(axis=0)).max(axis=1)
    assert limits_of(done, 0.9).bootstrap == pytest.approx(np.quantile(gaps, 0.9), rel=0.04)


def test_few_places_do_not_hide_the_gap(monkeypatch):
    """Where places are few, what they miss of the gap is added."""
    done = fitted(normal_rows(3, n=800), epsilon=0.1)
    fine = limits_of(done, 0.9)
    monkeypatch.setattr(limits_module, "PLACES", 8)
    monkeypatch.setattr(limits_module, "LEAST_PLACES", 2)
    coarse = limits_of(done, 0.9)
    assert done.performance.gap < coarse.bootstrap
    assert coarse.bootstrap == pytest.approx(fine.bootstrap, rel=0.2)
    assert coarse.dkw == fine.dkw


def test_the_safe_limit_does_not_ask_which_score_it_is():
    done = fitted(normal_rows(3, n=800), epsilon=0.1)
    one = limits_of(done, 0.9)
    gap, constraint = done.performance.gap, done.model.fairness
    other = limits(done.people, (), (), gap, constraint, 0.9)
    assert one.dkw == other.dkw
    assert one.bootstrap != other.bootstrap
    assert DRAWS >= 500
    assert SEED == 0


@pytest.mark.parametrize(
    "name", ["fifths", *(pytest.param(name, marks=pytest.mark.slow) for name in ("crossing", "recidivism"))]
)
def test_the_limits_hold_about_as_often_as_they_say(name):
    """Known populations: of 40 samples, 36 on average; and limits that always held would be too wide."""
    family, held, safe, near = FAMILIES[name], 0, 0, 0
    for seed in range(40):
        scores, labels, groups = family.draw(800, np.random.default_rng([seed, 7]))
        done = fitted(Rows(scores, labels, groups), epsilon=0.1)
        found, true = limits_of(done, 0.9), family.outcome(done.model.kernels).gap
        held += true <= found.bootstrap
        near += true <= done.performance.gap + 0.5 * (found.bootstrap - done.performance.gap)
        safe += true <= found.dkw
    assert held >= 33
    assert near <= 33
    assert safe >= 38
