"""Estimates that borrow, and populations that people may come from: against what they must be where it is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline import worlds

from fairroc.core.constraint import equalized_odds
from fairroc.core.gap import pooled_auc, threshold_gap
from fairroc.core.realised import performance, realise
from fairroc.core.roc import RocCurve
from fairroc.fitting.fit import fit_quietly
from fairroc.fitting.new_people import populations
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc.stats.bins import BINS, Bins, bins_of
from fairroc.stats.borrow import alignment, alike, estimator, own_shares, sampled
from fairroc.stats.plausible import Plausible, expected
from fairroc_studies.problems.synthetic import FAMILIES
from fitted_people import fitted_options
from strategies import NORMS


def people_of(rows) -> People:
    return read_people(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=rows.weights)


def bins_for(people: People) -> Bins:
    thin = people.thin
    return bins_of(thin.curves, thin.shares, people.class_sizes())


def drawn(name: str, rows: int, seed: int) -> People:
    scores, labels, groups = FAMILIES[name].draw(rows, np.random.default_rng([seed, rows]))
    return read_people(scores, labels, sensitive_features=groups)


def shifted_twins(rows: int, shift: float, seed: int = 0) -> People:
    """Two groups whose logits differ by a shift and by nothing else."""
    rng = np.random.default_rng(seed)
    group, label = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    logit = rng.normal(size=rows) + 1.5 * label - 0.75 + shift * group
    return read_people(1 / (1 + np.exp(-logit)), label, sensitive_features=group)


# ---- bins ----------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(worlds(max_rows=60, max_groups=4))
def test_bins_hold_everybody_once(rows):
    people = people_of(rows)
    found = bins_for(people)
    np.testing.assert_allclose(found.counts.sum(axis=2), people.class_sizes(), rtol=1e-9)
    assert len(found.thresholds) <= BINS + 1
    assert (np.diff(found.thresholds) > 0).all()
    assert np.isfinite(found.z).all()
    assert (np.diff(found.z) > 0).all()
    assert ((found.edges[1:-1] >= found.z[:-1]) & (found.edges[1:-1] <= found.z[1:])).all()


def test_rates_of_bins_are_the_curves_rates():
    """At the lowest score of each bin, without any smoothing."""
    people = drawn("income", 3000, 0)
    found = bins_for(people)
    for curve, counts in zip(people.thin.curves, found.counts, strict=True):
        masses = counts / counts.sum(axis=1, keepdims=True)
        at = curve.index_at(found.thresholds)
        np.testing.assert_allclose(found.rates(masses, found.thresholds), [curve.fpr[at], curve.tpr[at]], atol=1e-9)


def test_scores_of_probabilities_are_logits_and_others_themselves():
    rng = np.random.default_rng(1)
    label, group = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    logit = rng.normal(size=400) + label
    one, other = (
        bins_for(read_people(score, label, sensitive_features=group)) for score in (1 / (1 + np.exp(-logit)), logit)
    )
    np.testing.assert_allclose(one.z, other.z, atol=0.05)  # but for where inside a bin its middle is


# ---- estimates -----------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(worlds(max_rows=60, max_groups=4))
def test_estimates_are_distributions(rows):
    bins = bins_for(people_of(rows))
    made = estimator(bins, np.random.default_rng(0), floor=1.0)
    own = own_shares(made, np.random.default_rng(0))
    assert 0.0 <= made.trust <= 1.0
    assert ((own >= 0.0) & (own <= 1.0)).all()
    for masses in (made.hard(bins.counts), made.soft(bins.counts), made.masses(bins.counts)):
        assert (masses >= 0.0).all()
        np.testing.assert_allclose(masses.sum(axis=-1), 1.0, atol=1e-9)


def test_an_estimate_of_many_samples_is_that_of_each():
    """The same numbers whether samples are estimated together or one by one."""
    people = drawn("three", 600, 0)
    bins = bins_for(people)
    made = estimator(bins, np.random.default_rng(0), floor=0.5)
    several = sampled(made.masses(bins.counts), bins.sizes, 3, np.random.default_rng(1))
    together = made.masses(several)
    for one, each in zip(together, several, strict=True):
        np.testing.assert_allclose(one, made.masses(each), atol=1e-6)


def test_a_shift_is_found_and_undone():
    """Twins: the shift in deviations of all people, and nothing of their own to keep."""
    shift = 1.0
    people = shifted_twins(20_000, shift)
    bins = bins_for(people)
    made = estimator(bins, np.random.default_rng(0))
    masses = made.masses(bins.counts)
    moved = alignment(bins, masses, stretched=False)
    scores = np.concatenate([np.log(c.thresholds) - np.log1p(-c.thresholds) for c in people.thin.curves])
    assert np.diff(moved.shift)[0] * scores.std() == pytest.approx(shift, abs=0.1)
    shared = alike(bins, masses, moved)
    assert np.abs(np.cumsum(shared - masses, axis=-1)).max() < 0.03
    assert own_shares(made, np.random.default_rng(0)).mean() < 0.5


def test_groups_that_cross_keep_their_own():
    people = drawn("crossing", 4000, 0)
    made = estimator(bins_for(people), np.random.default_rng(0))
    assert own_shares(made, np.random.default_rng(0)).min() > 0.8


def test_few_points_are_not_shifted():
    people = drawn("tenths", 2000, 0)
    bins = bins_for(people)
    assert bins.tied
    assert (own_shares(estimator(bins, np.random.default_rng(0)), np.random.default_rng(0)) == 1.0).all()


def test_soft_labels_are_trusted_where_they_fit_and_not_where_they_cannot():
    """Log odds that go up and down several times are no low polynomial."""
    rng = np.random.default_rng(0)
    x, group = rng.uniform(-3, 3, 20_000), rng.integers(0, 2, 20_000)
    trusts = []
    for odds in (x, 3 * np.sign(np.sin(5 * x))):
        label = rng.random(20_000) < 1 / (1 + np.exp(-odds))
        bins = bins_for(read_people(x, label, sensitive_features=group))
        trusts.append(estimator(bins, np.random.default_rng(0)).trust)
    assert trusts[0] > 0.9
    assert trusts[1] < 0.5


# ---- populations ---------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(worlds(max_rows=40, max_groups=4), NORMS, st.sampled_from([0.05, 0.3]))
def test_what_is_expected_is_what_the_populations_do(rows, norm, epsilon):
    """Brute force: realise the fair score in each population and measure it."""
    people, constraint = people_of(rows), equalized_odds(norm)
    known = populations(people)
    model = fit_quietly(people, fitted_options(epsilon=epsilon, norm=norm), salt=1).model
    found = expected(known, model.kernels, constraint)
    assert np.isfinite([found.gap, found.gap_deviation, found.auc, found.auc_deviation]).all()
    assert 0.0 <= found.gap <= 1.1 * constraint.largest


def judged(known: Plausible, model, draw: int) -> tuple[float, float]:
    """Gap and AUC of a fair score in one population whose bins are single scores, by the machine that judges fits."""
    curves = []
    for g in range(len(model.kernels)):
        rates = np.cumsum(known.draws[draw, g, :, ::-1], axis=1)
        fpr, tpr = (np.concatenate(([0.0], line)) for line in rates)
        fpr[-1] = tpr[-1] = 1.0
        curves.append(RocCurve(known.bins.thresholds[::-1].copy(), fpr, tpr, 0.5))
    realised = [realise(c, kernel) for c, kernel in zip(_known(curves, model), model.kernels, strict=True)]
    done = performance(realised, known, model.fairness)
    return done.gap, done.auc


def test_expectations_agree_with_the_machine_that_judges_fits():
    """Scores of eleven points: a bin is a score, nothing is approximated but the places that are looked at."""
    people = drawn("tenths", 800, 3)
    known = populations(people)
    model = fit_quietly(people, fitted_options(epsilon=0.05, draw="all"), salt=1).model
    found = expected(known, model.kernels, model.fairness)
    each = np.array([judged(known, model, draw) for draw in range(len(known.draws))])
    assert found.gap == pytest.approx(each[:, 0].mean(), abs=2e-3)
    assert found.auc == pytest.approx(each[:, 1].mean(), abs=2e-3)


def test_the_original_score_is_expected_to_be_like_the_sample():
    people = drawn("income", 5000, 1)
    found = expected(populations(people), (), equalized_odds(1))
    thin = people.thin
    assert found.auc == pytest.approx(pooled_auc(thin.curves, thin.weights0, thin.weights1), abs=0.01)
    assert found.gap == pytest.approx(threshold_gap(thin, equalized_odds(1)).value, abs=0.06)


def test_populations_are_the_same_for_the_same_people():
    one, other = (populations(drawn("three", 500, 0)) for _ in range(2))
    np.testing.assert_array_equal(one.draws, other.draws)


def test_more_people_leave_less_to_chance():
    """No population is far from the others: every estimate among them has come to its end."""
    few, many = (
        expected(populations(drawn("income", rows, 2)), (), equalized_odds(1)).gap_deviation for rows in (1000, 16_000)
    )
    assert many < few / 2


@pytest.mark.parametrize("name", ["income", "recidivism", "three", "tenths"])
def test_the_expected_gap_is_near_the_true_one(name):
    """Mean over samples of 1,000 people, against the exact population."""
    family = FAMILIES[name]
    truth, off = family.population(), []
    for seed in range(6):
        people = drawn(name, 1000, seed)
        model = fit_quietly(people, fitted_options(epsilon=0.1), salt=1).model
        found = expected(populations(people), model.kernels, model.fairness)
        curves = _known(truth.curves, model)
        realised = [realise(curve, kernel) for curve, kernel in zip(curves, model.kernels, strict=True)]
        true = performance(realised, truth, model.fairness).gap
        off.append(found.gap - true)
    assert abs(np.mean(off)) < 0.05


def _known(curves, model):
    """People with scores below all fitted ones are treated like the lowest."""
    found = []
    for curve, kernel in zip(curves, model.kernels, strict=True):
        low = kernel.thresholds[-1]
        kept = int((curve.thresholds > low).sum())
        fpr, tpr = (np.append(rate[: kept + 1], 1.0) for rate in (curve.fpr, curve.tpr))
        found.append(RocCurve(np.append(curve.thresholds[:kept], low), fpr, tpr, curve.prior))
    return found
