"""What a fit says of new people: against true populations, and honest where it cannot say much."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from test_pipeline import columns_of, normal_rows, worlds

from fairroc.core.constraint import distance_of, equalized_odds
from fairroc.core.gap import threshold_gap
from fairroc.core.realised import performance
from fairroc.errors import SmallGroupWarning
from fairroc.fitting.fit import Fitted, fit, fit_quietly, limits_of
from fairroc.fitting.limits import FEWEST_ROWS
from fairroc.fitting.outlook import Outlook, outlook
from fairroc.model.model import expected_rocs
from fairroc.people.counts import ScoreCounts
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc.stats.bands import dkw_widths
from fairroc_studies.problems.synthetic import FAMILIES
from fitted_people import FairROC, fitted_options
from strategies import NORMS


def fitted(people, **options) -> Fitted:
    return fit_quietly(people, fitted_options(**options), salt=1)


def drawn(name: str, rows: int, seed: int) -> People:
    scores, labels, groups = FAMILIES[name].draw(rows, np.random.default_rng([seed, rows]))
    return read_people(scores, labels, sensitive_features=groups)


def counted(name: str, rows: int, seed: int) -> ScoreCounts:
    scores, labels, groups = FAMILIES[name].draw(rows, np.random.default_rng([seed, rows]))
    return ScoreCounts.from_rows(scores, labels, sensitive_features=groups)


ROWS = normal_rows(3, n=300)
SMALL = columns_of(ROWS)


def weighted(weights: np.ndarray) -> People:
    return read_people(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups, sample_weight=weights)


# ---- whoever the people are --------------------------------------------------------------------------------


@settings(max_examples=10)
@given(worlds(max_rows=20, max_groups=4), NORMS)
def test_every_outlook_is_complete_and_honest(rows, norm):
    """Tiny groups, ties, weights: limits above the gap, reasons for what is missing, plain data, the same each time."""
    columns = columns_of(rows)
    done = fitted(columns, epsilon=0.1, norm=norm)
    found = outlook(done, 0.9)
    most = 2.0 if norm == 1 else 1.0
    assert done.performance.gap == found.gap
    assert found.gap <= found.upper_bootstrap <= most
    assert (found.upper_dkw is None) == columns.weighted == (found.dkw_reason is not None)
    if found.upper_dkw is not None:
        assert found.gap <= found.upper_dkw <= most
    assert 0.0 <= found.gap_estimate <= 1.1 * most
    assert 0.0 <= found.auc_estimate <= 1.0
    assert np.isfinite([found.gap_standard_error, found.auc_standard_error, found.gap_before_estimate]).all()
    assert found.exceeds == (found.gap_estimate > 0.1)
    smallest = columns.class_rows().min()
    assert found.method == ("bootstrap" if columns.weighted or smallest >= FEWEST_ROWS else "dkw")
    assert found.upper == (found.upper_dkw if found.method == "dkw" else found.upper_bootstrap)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["gap"] == found.gap


@settings(max_examples=10)
@given(worlds(max_rows=20, max_groups=5))
def test_the_smallest_class_is_the_limit(rows):
    """The one that tells least, by Kish's size; of equal ones the first."""
    columns = columns_of(rows)
    found = limits_of(fitted(columns, epsilon=2.0), 0.95).limit
    sizes = columns.class_sizes()
    g, label = np.unravel_index(np.argmin(sizes), sizes.shape)
    assert (found.group, found.label) == (columns.names[g], label)
    assert found.rows == columns.class_rows()[g, label]
    assert found.width == dkw_widths(sizes, 0.95)[g, label]
    more = sizes * (found.rows_to_halve / found.rows)
    assert dkw_widths(more, 0.95)[g, label] <= found.width / 2 + 1e-12


def test_the_outlook_is_the_same_each_time():
    done = fitted(SMALL, epsilon=0.1)
    assert outlook(done) == outlook(done)


def test_rows_of_weight_zero_do_no_harm():
    rng = np.random.default_rng(4)
    weights = (rng.random(SMALL.rows) < 0.2).astype(float)
    for label in (0, 1):
        for group in SMALL.names:
            rows = (np.asarray(ROWS.groups).astype(str) == group) & (np.asarray(ROWS.y) == label)
            weights[np.flatnonzero(rows)[:5]] = 1.0
    found = outlook(fitted(weighted(weights), epsilon=0.1))
    assert np.isfinite(found.gap_estimate)


def test_an_unchanged_score_has_an_outlook():
    done = fitted(SMALL, epsilon=2.0)
    assert done.model.unchanged
    found = outlook(done)
    assert found.gap == threshold_gap(done.raw, distance_of(1.0)).value
    assert found.gap < found.upper
    assert abs(found.gap_estimate - found.gap) < 0.15


@pytest.mark.parametrize(
    "how", [{"method": "froc"}, {"queries": 20}, {"draw": "all"}, {"draw": "never"}, {"norm": "inf"}]
)
def test_every_kind_of_fit_has_an_outlook(how):
    found = outlook(fitted(SMALL, epsilon=0.1, **how))
    assert 0.0 < found.gap_estimate < 1.0


# ---- counts and bins ---------------------------------------------------------------------------------------


def test_counts_look_ahead_like_rows():
    """The same people, however they came: the same limits and estimate."""
    both = drawn("recidivism", 1500, 0), counted("recidivism", 1500, 0).people()
    one, other = (outlook(fitted(people, epsilon=0.1)) for people in both)
    assert other.upper_dkw == pytest.approx(one.upper_dkw, abs=1e-12)
    assert other.upper_bootstrap == pytest.approx(one.upper_bootstrap, abs=1e-12)
    assert other.limited_by == one.limited_by
    assert other.gap_estimate == pytest.approx(one.gap_estimate, abs=1e-9)


def test_bins_widen_the_limits():
    """People tied in a bin may be apart: two rates of two groups can each be off by the error."""
    counts = counted("recidivism", 1500, 0)
    binned = counts.binned(14)
    assert binned.error > 0.01
    for norm, times in ((1, 2), ("inf", 1)):
        done = [fitted(c.people(), epsilon=0.1, norm=norm) for c in (counts, binned)]
        fine, coarse = (limits_of(one, 0.95) for one in done)
        more = done[1].performance.gap - done[0].performance.gap
        assert coarse.dkw == pytest.approx(fine.dkw + more + times * binned.error)
        assert coarse.bootstrap > done[1].performance.gap + times * binned.error


def test_weighted_rows_have_no_dkw_limit():
    weights = np.random.default_rng(0).uniform(0.5, 2.0, SMALL.rows)
    found = outlook(fitted(weighted(weights), epsilon=0.1))
    assert found.upper_dkw is None
    assert "weight" in found.dkw_reason
    assert found.upper == found.upper_bootstrap
    even = outlook(fitted(weighted(np.full(SMALL.rows, 0.75)), epsilon=0.1))
    plain = outlook(fitted(SMALL, epsilon=0.1))
    assert even.upper_bootstrap == pytest.approx(plain.upper_bootstrap, rel=1e-9)


# ---- true populations --------------------------------------------------------------------------------------


@cache
def looks(name: str, rows: int, epsilon: float) -> list[tuple[Outlook, float]]:
    """Outlooks of a few samples, and the gap of each fair score among 40,000 new people."""
    new = drawn(name, 40_000, 99)
    found = []
    for seed in range(4):
        done = fitted(drawn(name, rows, seed), epsilon=epsilon)
        if done.model.unchanged:
            true = threshold_gap(new.exact, equalized_odds(done.model.norm)).value
        else:
            people, realised = expected_rocs(done.model, new)
            true = performance(realised, people, done.model.fairness).gap
        found.append((outlook(done), true))
    return found


@pytest.mark.parametrize(("name", "rows", "epsilon"), [("income", 800, 0.05), ("recidivism", 800, 0.1)])
def test_the_estimate_is_near_the_truth(name, rows, epsilon):
    """On average over samples, and nearer than the gap of the fitted people."""
    found = looks(name, rows, epsilon)
    true, estimate, fit_gap = (
        np.mean([pick(one) for one in found])
        for pick in (lambda one: one[1], lambda one: one[0].gap_estimate, lambda one: one[0].gap)
    )
    assert true > fit_gap
    assert abs(estimate - true) < 0.07  # some thirty positives in the smaller group
    assert abs(estimate - true) < abs(fit_gap - true)


@pytest.mark.parametrize(("name", "rows", "epsilon"), [("income", 800, 0.05), ("recidivism", 800, 0.1)])
def test_the_limits_hold(name, rows, epsilon):
    """Of four samples one may be beyond the narrow limit; the safe one is wider than that."""
    found = looks(name, rows, epsilon)
    assert sum(true <= one.upper_bootstrap for one, true in found) >= 3
    assert all(true <= one.upper_dkw for one, true in found)


# ---- the estimator's door ----------------------------------------------------------------------------------


def test_the_estimator_looks_ahead_on_first_access():
    rows = normal_rows(3, n=300)
    post = FairROC(0.1, salt=1).fit(rows.scores, rows.y, sensitive_features=rows.groups)
    assert post.outlook_ == outlook(fitted(SMALL, epsilon=0.1))
    assert post.outlook_ is post.outlook_
    first = post.outlook_
    post.set_params(epsilon=0.3).fit(rows.scores, rows.y, sensitive_features=rows.groups)
    assert post.outlook_ != first
    sure = FairROC(1.0, salt=1, promise="population", confidence=0.8).fit(
        rows.scores, rows.y, sensitive_features=rows.groups
    )
    assert sure.outlook_.level == 0.8


def test_a_small_group_warns_once_and_not_when_looking_ahead():
    rows = normal_rows(3, n=150)
    with pytest.warns(SmallGroupWarning):
        done = fit(columns_of(rows), fitted_options(epsilon=0.5), salt=1)
    outlook(done)  # a warning would be an error here


def test_a_buffer_may_be_used_again_after_the_fit():
    """What is computed on first access is about those who were fitted, not what their array holds by then."""
    rows = normal_rows(3, n=300)
    given, weights = rows.scores.copy(), np.linspace(0.5, 1.5, len(rows.scores))
    for mass in (None, weights):
        how = {"sensitive_features": rows.groups, "sample_weight": None if mass is None else mass.copy()}
        first = FairROC(0.1, salt=1).fit(given, rows.y, **how)
        again = FairROC(0.1, salt=1).fit(given, rows.y, **how)
        known = first.outlook_, first.certificate_
        given[:] = given[::-1].copy()
        if mass is not None:
            how["sample_weight"][:] = 1.0
        assert again.outlook_ == known[0]
        assert replace(again.certificate_, seconds=0.0) == replace(known[1], seconds=0.0)
        given[:] = rows.scores
