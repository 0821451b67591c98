"""Fair scores of any people in expectation over the draw."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline import columns_of, normal_rows

from fairroc.core.constraint import equalized_odds
from fairroc.core.gap import pooled_auc, threshold_gap
from fairroc.errors import UnknownGroupError
from fairroc.model.model import expected_people
from fairroc.people.door import read_people
from fitted_people import FairROC
from strategies import NORMS, SEEDS

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


def fitted(rows, **how) -> FairROC:
    return FairROC(salt=1, **how).fit(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=rows.weights)


def accepted(post: FairROC, rows, threshold: float) -> np.ndarray:
    """(groups, 2) share of each group's negatives and positives accepted at a threshold."""
    rate = post.acceptance_rate(rows.scores, sensitive_features=rows.groups, threshold=threshold)
    cells = [[(rows.groups == g) & (rows.y == label) for label in (0, 1)] for g in np.unique(rows.groups)]
    return np.array([[np.average(rate[c], weights=rows.mass[c]) for c in pair] for pair in cells])


@settings(max_examples=15)
@given(SEEDS, st.sampled_from([2, 3]), st.sampled_from([0, 9]), NORMS, st.sampled_from(["all", "few", "never"]))
def test_rates_are_the_acceptance_rates(seed, groups, digits, norm, draw) -> None:
    """At any threshold of the fair score the acceptance rates lie on the curves of the expected rows."""
    post = fitted(normal_rows(seed, n=400, groups=groups), epsilon=0.1, norm=norm, draw=draw)
    new = normal_rows(seed + 1, n=300, groups=groups, digits=digits)
    new.scores[:5] -= 100.0  # below all fitted scores
    new.scores[5:10] += 100.0
    curves = expected_people(post.model_, columns_of(new)).exact.curves
    for threshold in np.quantile(post.transform(new.scores, sensitive_features=new.groups, random_state=0), [0.1, 0.6]):
        for curve, point in zip(curves, accepted(post, new, float(threshold)), strict=True):
            v = np.interp(point.sum(), curve.fpr + curve.tpr, curve.tpr - curve.fpr)
            assert v == pytest.approx(point[1] - point[0], abs=1e-9)


@settings(max_examples=15)
@given(SEEDS, NORMS, st.sampled_from(["all", "few", "never"]), st.booleans())
def test_on_the_fitted_people_it_is_the_certificate(seed, norm, draw, weighted) -> None:
    rows = normal_rows(seed, n=400)
    if weighted:
        rows = type(rows)(rows.scores, rows.y, rows.groups, np.random.default_rng(seed).uniform(0.5, 2.0, len(rows.y)))
    post = fitted(rows, epsilon=0.1, norm=norm, draw=draw)
    found = expected_people(post.model_, columns_of(rows)).exact
    assert threshold_gap(found, equalized_odds(norm)).value == pytest.approx(post.certificate_.gap, abs=1e-9)
    auc = pooled_auc(found.curves, found.weights0, found.weights1)
    assert auc == pytest.approx(post.certificate_.auc, abs=1e-9)


def test_weights_of_the_labels_are_kept() -> None:
    post = fitted(normal_rows(1), epsilon=0.05)
    new = columns_of(normal_rows(2))
    found = expected_people(post.model_, new)
    assert found.names == new.names
    for one, other in zip(found.samples, new.samples, strict=True):
        assert one.totals == pytest.approx(other.totals)


def test_a_score_that_was_fair_stays() -> None:
    post = fitted(normal_rows(1), epsilon=2.0)
    new = columns_of(normal_rows(2))
    assert expected_people(post.model_, new) is new


def test_unknown_groups() -> None:
    post = fitted(normal_rows(1), epsilon=0.05)
    new = normal_rows(2)
    names = np.unique(new.groups)
    strange = np.where(new.groups == names[0], "new", new.groups)
    columns = read_people(new.scores, new.y, sensitive_features=strange)
    with pytest.raises(UnknownGroupError, match=r"the model knows the groups .*, got 'new'"):
        expected_people(post.model_, columns)
    as_first = expected_people(post.model_, columns, on_unknown_group=names[0]).exact
    plain = expected_people(post.model_, columns_of(new)).exact
    assert sorted(c.auc for c in as_first.curves) == pytest.approx(sorted(c.auc for c in plain.curves))
