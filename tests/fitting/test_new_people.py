"""promise="new": honest candidates, a choice that follows its rule, and models like all others."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from test_pipeline import normal_rows, worlds

from fairroc import FairModel, FairROC, FairROCClassifier
from fairroc.core.constraint import equalized_odds
from fairroc.errors import DataError, FairrocWarning
from fairroc.fitting.fit import fit_quietly
from fairroc.fitting.new_people import Choice, choice
from fairroc.fitting.outlook import outlook
from fairroc.options import Options
from fairroc.people.counts import ScoreCounts
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc_studies.problems.synthetic import FAMILIES
from strategies import NORMS


def people_of(rows) -> People:
    return read_people(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=rows.weights)


def columns(name: str, rows: int, seed: int):
    return FAMILIES[name].draw(rows, np.random.default_rng([seed, rows]))


def drawn(name: str, rows: int, seed: int) -> People:
    scores, labels, groups = columns(name, rows, seed)
    return read_people(scores, labels, sensitive_features=groups)


@pytest.fixture(scope="module")
def found() -> Choice:
    return choice(drawn("income", 600, 0), equalized_odds(1))


def test_the_best_is_the_best_within_epsilon(found):
    """By brute force over the candidates."""
    least = min(c.expected.gap for c in found.candidates)
    for epsilon in np.linspace(least, found.original.expected.gap - 1e-6, 12):
        best = found.best(epsilon)
        reach = [c for c in found.candidates if c.expected.gap <= epsilon]
        if reach:
            assert best.expected.auc >= max(c.expected.auc for c in reach)


def test_a_larger_epsilon_never_costs_expected_auc(found):
    epsilons = np.linspace(0.0, found.original.expected.gap, 60, endpoint=False)
    aucs = [found.best(epsilon).expected.auc for epsilon in epsilons]
    reached = [found.best(epsilon).expected.gap <= epsilon for epsilon in epsilons]
    inside = np.array(aucs)[np.array(reached)]
    assert len(inside) > 10
    assert (np.diff(inside) >= 0).all()


def test_a_score_within_epsilon_stays(found):
    assert found.best(found.original.expected.gap).levels is None
    assert found.best(2.0).levels is None


def test_out_of_reach_is_near_the_least_gap(found):
    least = min((c.expected for c in found.candidates), key=lambda e: e.gap)
    best = found.best(0.0)
    assert best.levels is not None
    assert least.gap <= best.expected.gap <= least.gap + least.gap_deviation


def test_progress_tells_of_every_candidate():
    seen: list[tuple[int, int]] = []
    made = choice(drawn("tenths", 300, 0), equalized_odds(1), progress=lambda done, of: seen.append((done, of)))
    assert seen == [(i + 1, len(made.candidates) - 1) for i in range(len(made.candidates) - 1)]


@settings(max_examples=8)
@given(worlds(max_rows=24, max_groups=4), NORMS)
def test_every_model_is_like_any_other(rows, norm):
    """Tiny groups, ties, weights, huge numbers: draws in range, the same each time, saved and loaded."""
    people = people_of(rows)
    fitted = fit_quietly(people, Options.checked(epsilon=0.1, norm=norm, promise="new"), salt=1)
    model = FairModel.of(fitted.model)
    again = FairModel.from_json(model.to_json())
    assert again.promise == "new"
    how = {"sensitive_features": rows.groups, "ids": np.arange(len(rows.scores))}
    fair = model.transform(rows.scores, **how)
    np.testing.assert_array_equal(fair, again.transform(rows.scores, **how))
    assert ((fair >= np.min(rows.scores)) & (fair <= np.max(rows.scores))).all()
    ahead = outlook(fitted, 0.9)
    assert json.loads(json.dumps(ahead.to_dict(), allow_nan=False))["promise"] == "new"
    if not model.unchanged:
        assert ahead.gap_estimate <= 0.1 or ahead.gap_estimate < ahead.gap_before_estimate


def test_counts_are_fitted_like_rows():
    scores, labels, groups = columns("tenths", 900, 1)
    counts = ScoreCounts.from_rows(scores, labels, sensitive_features=groups)
    options = Options.checked(epsilon=0.1, promise="new")
    one, other = (
        fit_quietly(people, options, salt=1)
        for people in (read_people(scores, labels, sensitive_features=groups), counts.people())
    )
    assert one.performance.gap == pytest.approx(other.performance.gap, abs=1e-9)
    assert one.expected.gap == pytest.approx(other.expected.gap, abs=1e-9)


def test_what_cannot_be_reached_is_said():
    rows = normal_rows(3, n=400)
    with pytest.warns(FairrocWarning, match="no score that was tried reaches an expected gap of 0.001"):
        FairROC(0.001, promise="new", salt=1).fit(rows.scores, rows.y, sensitive_features=rows.groups)


def test_nothing_is_forced_and_the_certificate_says_so():
    scores, labels, groups = columns("recidivism", 500, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        post = FairROC(0.15, promise="new", salt=1).fit(scores, labels, sensitive_features=groups)
    found = post.certificate_
    assert found.promise == "new"
    assert found.allowed == pytest.approx(found.gap)
    assert found.auc <= found.auc_bound + 1e-9
    assert post.outlook_.gap_estimate <= 0.15 or post.outlook_.exceeds


def test_new_people_see_a_smaller_gap_than_with_fitted_at_equal_epsilon():
    """Mean over samples of 300 people of three groups, on 20,000 others."""
    gaps = {"fitted": [], "new": []}
    new = columns("three", 20_000, 99)
    for seed in range(4):
        scores, labels, groups = columns("three", 300, seed)
        for promise, found in gaps.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FairrocWarning)
                post = FairROC(0.1, promise=promise, salt=1).fit(scores, labels, sensitive_features=groups)
            found.append(_gap(post.model_, new))
    assert np.mean(gaps["new"]) < np.mean(gaps["fitted"]) + 0.02


def _gap(model: FairModel, rows) -> float:
    from fairroc.core.realised import performance
    from fairroc.model.model import expected_rocs

    scores, labels, groups = rows
    people, realised = expected_rocs(model, read_people(scores, labels, sensitive_features=groups))
    return performance(realised, people, model.fairness).gap


def test_a_classifier_takes_out_of_fold_scores_for_new_but_not_for_the_population():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    sex, y = np.repeat(["f", "m"], 300), rng.integers(0, 2, 600)
    x = y[:, None] + np.where(sex == "f", 1.0, 2.0)[:, None] * rng.normal(size=(600, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        made = FairROCClassifier(LogisticRegression(), 0.2, cv=3, promise="new").fit(x, y, sensitive_features=sex)
    assert made.model_.promise == "new"
    with pytest.raises(DataError, match="promise must be 'new' or 'fitted'"):
        FairROCClassifier(LogisticRegression(), 0.2, cv=3, promise="population").fit(x, y, sensitive_features=sex)
