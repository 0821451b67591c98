"""Splits that keep every group's share of each label."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

from fairroc.errors import DataError, FairrocWarning
from fairroc.estimators import (
    FairROCClassifier,
    SensitiveStratifiedKFold,
    auc_at_gap_scorer,
    best_within_gap,
    strata,
    threshold_gap_scorer,
)
from refusals import refuses
from strategies import SEEDS


def cells(y, groups) -> dict[tuple, int]:
    return {(g, label): int(((groups == g) & (y == label)).sum()) for g in np.unique(groups) for label in np.unique(y)}


@given(SEEDS, st.integers(2, 5), st.booleans(), st.sampled_from([("no", "yes"), (0, 1), (1, 2, 3)]))
def test_every_fold_has_its_share_of_every_cell(seed, folds, shuffle, labels) -> None:
    rng = np.random.default_rng(seed)
    n = 60 + int(rng.integers(100))
    y, groups = rng.choice(labels, n), rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    y = np.concatenate((y, np.tile(labels, 3 * folds)))
    groups = np.concatenate((groups, np.repeat(["a", "b", "c"], len(labels) * folds)))
    splitter = SensitiveStratifiedKFold(folds, shuffle=shuffle, random_state=seed % 7 if shuffle else None)
    tests = []
    for train, test in splitter.split(np.zeros((len(y), 1)), y, sensitive_features=groups):
        assert sorted([*train, *test]) == list(range(len(y)))
        whole, part = cells(y, groups), cells(y[test], groups[test])
        assert all(abs(part.get(cell, 0) - whole[cell] / folds) < 1 for cell in whole)
        tests += test.tolist()
    assert sorted(tests) == list(range(len(y)))
    assert splitter.get_n_splits() == folds


def test_the_shuffle_follows_its_seed() -> None:
    y, groups = np.tile([0, 1], 50), np.repeat(["a", "b"], 50)

    def tests(seed):
        folds = SensitiveStratifiedKFold(3, shuffle=True, random_state=seed)
        return [test.tolist() for _, test in folds.split(y[:, None], y, sensitive_features=groups)]

    assert tests(1) == tests(1) != tests(2)


def test_small_cells_are_named() -> None:
    groups, y = np.array(["a"] * 10 + ["b"] * 5), np.array([0, 1] * 5 + [0, 0, 0, 1, 1])
    with pytest.raises(
        DataError, match="at least 3 rows of each label for 3 folds, but group 'b' with label '1' has 2"
    ):
        list(SensitiveStratifiedKFold(3).split(y[:, None], y, sensitive_features=groups))
    many = np.array([f"g{i:02d}" for i in range(15)])
    with pytest.raises(DataError, match=r"'g02' with label '0' has 1.*, and 25 more"):
        list(SensitiveStratifiedKFold(2).split(y[:, None], y, sensitive_features=many))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame(make) -> None:
    table = {"x": np.arange(20.0), "sex": ["f", "m"] * 10, "race": ["u"] * 10 + ["v"] * 10}
    X, y = make(table), [0, 0, 1, 1] * 5
    given = list(SensitiveStratifiedKFold(2).split(X, y, sensitive_features=table["sex"]))
    for named in (
        SensitiveStratifiedKFold(2).split(X, y, sensitive_features="sex"),
        SensitiveStratifiedKFold(2, sensitive_features="sex").split(X, y),
        SensitiveStratifiedKFold(2, sensitive_features=["sex"]).split(X, y),
    ):
        for one, other in zip(given, named, strict=True):
            assert all(map(np.array_equal, one, other))
    crossed = SensitiveStratifiedKFold(2, sensitive_features=["sex", "race"])
    assert [len(test) for _, test in crossed.split(X, y)] == [10, 10]


def test_in_a_search_with_and_without_routing() -> None:
    rng = np.random.default_rng(0)
    sex, y = rng.choice(["f", "m"], 80), rng.integers(0, 2, 80)
    X = pd.DataFrame({"x": y + rng.normal(size=80), "f": (sex == "f").astype(float)})
    plain = cross_val_score(LogisticRegression(), X, y, cv=SensitiveStratifiedKFold(4, sensitive_features="f"))
    with config_context(enable_metadata_routing=True):
        routed = cross_val_score(
            LogisticRegression(), X, y, cv=SensitiveStratifiedKFold(4), params={"sensitive_features": sex}
        )
        search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=SensitiveStratifiedKFold(4))
        search.fit(X, y, sensitive_features=sex)
    assert plain.mean() == pytest.approx(search.cv_results_["mean_test_score"][1])  # C=1, the default
    assert search.n_splits_ == 4
    assert np.allclose(plain, routed)


def test_strata_stratify_a_split() -> None:
    rng = np.random.default_rng(1)
    y, groups = rng.choice(["no", "yes"], 400, p=[0.8, 0.2]), rng.choice(["a", "b"], 400, p=[0.9, 0.1])
    first, second = train_test_split(np.arange(400), stratify=strata(y, sensitive_features=groups), random_state=0)
    whole, part = cells(y, groups), cells(y[second], groups[second])
    assert all(abs(part[cell] - whole[cell] / 4) <= 1 for cell in whole)
    assert len(first) == 300


def test_what_must_hold() -> None:
    refuses("one row for each row of y, got 3 and 2 rows", strata, [0, 1], sensitive_features=["a", "b", "a"])
    refuses("y must not be missing, but 1 of 2 are", strata, [0, None], sensitive_features=["a", "b"])
    refuses("must not be missing", strata, [0, 1], sensitive_features=["a", None])
    assert strata([0, 1], sensitive_features=["a", None], missing="group").tolist() == [2, 1]
    refuses("missing must be", strata, [0, 1], sensitive_features=["a", "b"], missing="drop")


def test_shown_and_cloned() -> None:
    splitter = SensitiveStratifiedKFold(3, shuffle=True, random_state=1)
    assert repr(splitter).startswith("SensitiveStratifiedKFold(")
    assert clone(GridSearchCV(LogisticRegression(), {}, cv=splitter)).cv.n_splits == 3


def test_a_search_takes_the_best_auc_within_the_gap() -> None:
    """Beside every candidate looked at; the search itself refits what was chosen."""
    rng = np.random.default_rng(5)
    sex, y = rng.choice(["f", "m"], 600), rng.integers(0, 2, 600)
    X = y[:, None] + np.where(sex == "f", 2.0, 1.0)[:, None] * rng.normal(size=(600, 2))
    search = GridSearchCV(
        FairROCClassifier(LogisticRegression(), cv=2, promise="fitted", draw="all"),
        {"epsilon": [0.02, 0.2, 1.0], "estimator__C": [0.001, 1.0]},
        scoring={"gap": threshold_gap_scorer(), "auc": auc_at_gap_scorer(max_gap=2)},
        refit=best_within_gap(0.3),
        cv=SensitiveStratifiedKFold(2),
    )
    with config_context(enable_metadata_routing=True):
        search.fit(X, y, sensitive_features=sex)
    found = search.cv_results_
    rows = list(zip(found["mean_test_auc"], -found["mean_test_gap"], strict=True))
    assert min(gap for _, gap in rows) < 0.3 < max(gap for _, gap in rows)
    for target in [0.3, *(gap for _, gap in rows)]:
        chosen = best_within_gap(target)(found)
        assert rows[chosen] == max(row for row in rows if row[1] <= target)
    assert search.best_index_ == best_within_gap(0.3)(found)
    assert search.best_estimator_.epsilon == search.best_params_["epsilon"]
    least = min(range(len(rows)), key=lambda i: rows[i][1])
    with pytest.warns(FairrocWarning, match=r"no candidate has a mean test gap within 0: the smallest, 0\.\d+ \({'eps"):
        assert best_within_gap(0)(found) == least


def test_choices_of_a_search_that_failed_in_part() -> None:
    nan = float("nan")
    assert best_within_gap(0.1)({"mean_test_auc": [nan, 0.9, 0.8], "mean_test_gap": [0.0, nan, -0.05]}) == 2
    assert (
        best_within_gap(0.1, auc_name="a", gap_name="g")({"mean_test_a": [0.8, 0.8], "mean_test_g": [0.1, 0.05]}) == 1
    )
    refuses("every fit or scorer failed", best_within_gap(0.1), {"mean_test_auc": [nan], "mean_test_gap": [nan]})
    refuses("have no mean_test_auc and no mean_test_gap", best_within_gap(0.1), {"mean_test_score": [0.7]})
    refuses("between 0 and 2, got 3", best_within_gap, 3)
    assert repr(clone(GridSearchCV(LogisticRegression(), {}, refit=best_within_gap())).refit).startswith(
        "best_within_gap(0"
    )
