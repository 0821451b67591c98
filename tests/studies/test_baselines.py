"""The measures of rivals on held-out people, and the reading of packed data files."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core.chain import FloatArray
from fairroc.estimators.metrics import threshold_gap_score
from fairroc_studies.peers import baselines
from fairroc_studies.problems import realdata
from strategies import SEEDS

Triple = tuple[FloatArray, FloatArray, FloatArray]


def people(seed: int, rows: int, groups: int, distinct: int) -> Triple:
    """Scores in [0, 1] with ties; every group has both labels."""
    rng = np.random.default_rng(seed)
    y = np.concatenate((np.tile([0, 1], groups), rng.integers(0, 2, rows)))
    group = np.concatenate((np.repeat(np.arange(groups), 2), rng.integers(0, groups, rows)))
    scores = np.round((rng.random(len(y)) + 0.3 * y + 0.2 * group).clip(0, 2) / 2 * distinct) / distinct
    return scores, y, group.astype(str)


PEOPLE = st.builds(people, SEEDS, st.integers(0, 80), st.integers(2, 5), st.sampled_from([1, 3, 20, 10_000]))


@settings(deadline=None)
@given(PEOPLE)
def test_gap_and_auc_of_a_score(triple: Triple) -> None:
    from sklearn.metrics import roc_auc_score

    scores, y, group = triple
    found = baselines.of_score(scores, y, group)
    assert found.gap == pytest.approx(threshold_gap_score(y, scores, sensitive_features=group), abs=1e-12)
    assert found.auc == pytest.approx(roc_auc_score(y, scores), abs=1e-12)
    assert found.auc_hull >= found.auc - 1e-12
    assert found.fpr.shape == (len(np.unique(scores)), len(np.unique(group)))


@settings(deadline=None)
@given(SEEDS, st.integers(1, 30))
def test_hull_is_the_best_of_all_mixtures(seed: int, count: int) -> None:
    """At every fpr the hull is the highest line between two of the points."""
    inner = np.random.default_rng(seed).integers(0, 6, (count, 2)) / 6
    points = np.vstack(([0.0, 0.0], inner[np.lexsort((inner[:, 1], inner[:, 0]))], [1.0, 1.0]))
    hull = baselines.upper_hull(points)
    for x in np.linspace(0.01, 0.99, 23):
        left, right = points[points[:, 0] <= x], points[points[:, 0] > x]
        slopes = (right[None, :, 1] - left[:, None, 1]) / (right[None, :, 0] - left[:, None, 0])
        best = np.max(left[:, None, 1] + slopes * (x - left[:, None, 0]))
        at = np.searchsorted(hull[:, 0], x, side="right")
        (x0, y0), (x1, y1) = hull[at - 1], hull[at]
        assert y0 + (y1 - y0) * (x - x0) / (x1 - x0) == pytest.approx(best, abs=1e-12)


def test_three_groups_have_the_widest_pair() -> None:
    fpr, tpr = np.array([[0.1, 0.2, 0.4]]), np.array([[0.5, 0.9, 0.3]])
    assert baselines.widest(fpr, tpr) == pytest.approx(0.2 + 0.6)


def test_fairprojection_chooses_by_the_training_people() -> None:
    """A wide epsilon keeps the best AUC, a narrow one the smallest gap there is."""
    scores, y, group = people(7, 600, 2, 10_000)
    train, test = [(scores[rows], y[rows], group[rows]) for rows in (slice(0, 300), slice(300, None))]
    path = [baselines.fairprojection(train, train, tolerance) for tolerance in baselines.TOLERANCES]
    wide, narrow = (baselines.fairprojection_at(train, test, epsilon) for epsilon in (2.0, 0.0))
    best = baselines.TOLERANCES[int(np.argmax([rival.auc for rival in path]))]
    least = baselines.TOLERANCES[int(np.argmin([rival.gap for rival in path]))]
    assert wide.auc == baselines.fairprojection(train, test, best).auc
    assert narrow.gap == baselines.fairprojection(train, test, least).gap


def test_groups_must_agree() -> None:
    scores, y, group = people(1, 50, 3, 20)
    two = group != "2"
    with pytest.raises(ValueError, match="same groups"):
        baselines.coded((scores, y, group), (scores[two], y[two], group[two]))


def test_words_become_columns_and_missing_numbers_stay() -> None:
    pd = pytest.importorskip("pandas")
    words = ["a"] * realdata.RARE + ["b"] * realdata.RARE + [None] * realdata.RARE + ["rare"]
    numbers = np.arange(len(words), dtype=float)
    numbers[3] = np.nan
    found = realdata._matrix(pd.DataFrame({"n": numbers, "w": words}))
    assert found.shape == (len(words), 4)
    np.testing.assert_array_equal(found[:, 0], numbers.astype(np.float32))
    np.testing.assert_array_equal(found[:, 1:].sum(axis=0), [realdata.RARE] * 3)
    assert not found[-1, 1:].any()


def test_packed_files_are_checked(tmp_path: Path, monkeypatch: Any) -> None:
    wheel = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("x/data.csv", "a,b\n1,2\n")
    monkeypatch.setattr(realdata, "_archive", lambda pin: wheel)
    right = hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    assert realdata.Packed("x==1", "x/data.csv", right).content() == b"a,b\n1,2\n"
    with pytest.raises(ValueError, match="must have SHA-256 0, but has"):
        realdata.Packed("x==1", "x/data.csv", "0").content()


def test_unknown_data_set() -> None:
    with pytest.raises(ValueError, match="must be one of adult, adult-race"):
        realdata.load("nothing")
