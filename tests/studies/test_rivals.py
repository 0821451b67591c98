"""The measures of rivals on held-out people, and the reading of packed data files."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.estimators.metrics import threshold_gap_score
from fairroc_studies.harness.curve import Curve, reached
from fairroc_studies.harness.people import Part
from fairroc_studies.peers import rivals
from fairroc_studies.peers.fairprojection import TOLERANCES
from fairroc_studies.problems import held_out, packaged
from fairroc_studies.problems.registry import load
from strategies import SEEDS


def people(seed: int, rows: int, groups: int, distinct: int) -> Part:
    """Scores in [0, 1] with ties; every group has both labels."""
    rng = np.random.default_rng(seed)
    y = np.concatenate((np.tile([0, 1], groups), rng.integers(0, 2, rows)))
    group = np.concatenate((np.repeat(np.arange(groups), 2), rng.integers(0, groups, rows)))
    scores = np.round((rng.random(len(y)) + 0.3 * y + 0.2 * group).clip(0, 2) / 2 * distinct) / distinct
    return Part.named(scores, y, group.astype(str))


PEOPLE = st.builds(people, SEEDS, st.integers(0, 80), st.integers(2, 5), st.sampled_from([1, 3, 20, 10_000]))


@settings(deadline=None)
@given(PEOPLE)
def test_gap_and_auc_of_a_score(part: Part) -> None:
    from sklearn.metrics import roc_auc_score

    found = reached(part.scores, part)
    gap = threshold_gap_score(part.labels, part.scores, sensitive_features=part.group_names)
    assert found.gap == pytest.approx(gap, abs=1e-12)
    assert found.auc == pytest.approx(roc_auc_score(part.labels, part.scores), abs=1e-12)
    assert found.auc_hull >= found.auc - 1e-12
    assert found.rates.shape == (len(np.unique(part.scores)) + 1, part.count, 2)


@settings(deadline=None)
@given(SEEDS, st.integers(1, 30))
def test_hull_is_the_best_of_all_mixtures(seed: int, count: int) -> None:
    """At every fpr the hull is the highest line between two of the points; the area is that below it."""
    inner = np.random.default_rng(seed).integers(0, 6, (count, 2))
    points = np.vstack(([0.0, 0.0], inner / 6, [1.0, 1.0]))
    at = np.unique(points[:, 0])
    best = [
        max(
            b[1] if a[0] == b[0] else a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0])
            for a in points[points[:, 0] <= x]
            for b in points[points[:, 0] >= x]
        )
        for x in at
    ]
    area = float(np.sum(np.diff(at) * (np.array(best[1:]) + best[:-1]) / 2))
    assert Curve.of(inner, [6, 6]).auc_hull == pytest.approx(area, abs=1e-12)


def test_three_groups_have_the_widest_pair() -> None:
    assert Curve.of([1, 5, 2, 9, 4, 3], [10] * 6).gap == pytest.approx(0.2 + 0.6)


def test_fairprojection_chooses_by_the_training_people() -> None:
    """A wide epsilon keeps the best AUC, a narrow one the smallest gap there is."""
    everyone = people(7, 600, 2, 10_000)
    train, test = everyone.take(slice(0, 300)), everyone.take(slice(300, None))
    path = [rivals.fairprojection(train, train, tolerance) for tolerance in TOLERANCES]
    wide, narrow = (rivals.fairprojection_at(train, test, epsilon) for epsilon in (2.0, 0.0))
    best = TOLERANCES[int(np.argmax([rival.auc for rival in path]))]
    least = TOLERANCES[int(np.argmin([rival.gap for rival in path]))]
    assert wide.auc == rivals.fairprojection(train, test, best).auc
    assert narrow.gap == rivals.fairprojection(train, test, least).gap


def test_groups_must_agree() -> None:
    everyone = people(1, 50, 3, 20)
    two = everyone.groups != 2
    fewer = Part.named(everyone.scores[two], everyone.labels[two], everyone.group_names[two])
    with pytest.raises(ValueError, match="same groups"):
        rivals.error_parity(everyone, fewer, 0.05)


def test_words_become_columns_and_missing_numbers_stay() -> None:
    pd = pytest.importorskip("pandas")
    words = ["a"] * held_out.RARE + ["b"] * held_out.RARE + [None] * held_out.RARE + ["rare"]
    numbers = np.arange(len(words), dtype=float)
    numbers[3] = np.nan
    found = held_out.one_hot(pd.DataFrame({"n": numbers, "w": words}))
    assert found.shape == (len(words), 4)
    np.testing.assert_array_equal(found[:, 0], numbers.astype(np.float32))
    np.testing.assert_array_equal(found[:, 1:].sum(axis=0), [held_out.RARE] * 3)
    assert not found[-1, 1:].any()


def test_packed_files_are_checked(tmp_path: Path, monkeypatch: Any) -> None:
    wheel = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("x/data.csv", "a,b\n1,2\n")
    monkeypatch.setattr(packaged, "_archive", lambda pin: wheel)
    right = hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    assert packaged.Packed("x==1", "x/data.csv", right).content() == b"a,b\n1,2\n"
    with pytest.raises(ValueError, match="must have SHA-256 0, but has"):
        packaged.Packed("x==1", "x/data.csv", "0").content()


def test_unknown_data_set() -> None:
    with pytest.raises(ValueError, match="must be one of adult, adult-race"):
        held_out.matrix("nothing")


def test_a_packaged_data_set_is_a_problem(monkeypatch: Any) -> None:
    """Words may be mixed with numbers and missing; the group with the most positives is the privileged one."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "self": [1, 2, 3, 4],
            "gender": ["f", "m", "m", "f"],
            "class": ["1st", None, 3, "crew"],
            "age": [1.5, np.nan, 3, 4],
        }
    )
    made = SimpleNamespace(read=lambda: (frame, [1, 0, 0, 1], frame["gender"]), protected=("gender",))
    monkeypatch.setitem(packaged.PACKAGED, "titanic", made)
    problem = load("titanic")
    assert problem.privileged == "f" and problem.protected == ("gender",) and problem.rows == 4
    assert problem.features["class"].to_pylist() == ["1st", None, "3", "crew"]
    assert held_out.matrix("titanic")[0].shape == (4, 2)  # all words are rare
