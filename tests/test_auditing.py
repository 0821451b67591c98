"""The audit equals a brute-force look at every threshold, and says where and between whom."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import FrozenInstanceError
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.auditing import Audit, audit
from fairroc.errors import DataError, SmallGroupWarning
from strategies import MILD, SEEDS, Sample, populations

NORMS = [1, 2, 3.5, math.inf]
COUNTS = ("none", "zeros")  # weights whose sums are exact in any order
SCORES, LABELS, GROUPS = [0.9, 0.6, 0.4, 0.2] * 2, [1, 0, 1, 0, 1, 1, 0, 0], ["a"] * 4 + ["b"] * 4
KEYS = {"rows", "norm", "auc", "gap", "gap_threshold", "gap_pair", "curve_gap", "epsilon", "fair", "groups"}
GROUP_KEYS = {"group", "rows", "positives", "auc"}


def rows_of(population: Sequence[Sample]) -> dict[str, Any]:
    """One long table of all groups: "g0", "g1", ..."""
    weighted = any(sample.weights is not None for sample in population)
    return {
        "scores": np.concatenate([sample.scores for sample in population]),
        "y": np.concatenate([sample.labels for sample in population]).astype(int),
        "sensitive_features": np.repeat([f"g{i}" for i in range(len(population))], [len(s.scores) for s in population]),
        "sample_weight": np.concatenate([sample.mass for sample in population]) if weighted else None,
    }


def look(rows: dict[str, Any], **options: Any) -> Audit:
    """An audit without the warning about small groups."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallGroupWarning)
        rest = {name: values for name, values in rows.items() if name not in ("scores", "y")}
        return audit(rows["scores"], rows["y"], **rest, **options)


def take(rows: dict[str, Any], index: np.ndarray) -> dict[str, Any]:
    return {name: None if values is None else values[index] for name, values in rows.items()}


def rates(sample: Sample, threshold: float) -> tuple[float, float]:
    """(fpr, tpr) of ``score >= threshold``, straight from their definition."""
    accepted, mass, positive = sample.scores >= threshold, sample.mass, sample.labels
    fpr = math.fsum(mass[accepted & ~positive]) / math.fsum(mass[~positive])
    return fpr, math.fsum(mass[accepted & positive]) / math.fsum(mass[positive])


def distance(one: Sample, other: Sample, threshold: float, p: float) -> float:
    steps = [abs(a - b) for a, b in zip(rates(one, threshold), rates(other, threshold), strict=True)]
    return max(steps) if math.isinf(p) else sum(step**p for step in steps) ** (1 / p)


def brute_gap(population: Sequence[Sample], p: float) -> float:
    thresholds = np.unique(np.concatenate([sample.scores for sample in population]))
    return max(distance(one, other, t, p) for one, other in combinations(population, 2) for t in thresholds)


def brute_auc(scores: np.ndarray, labels: np.ndarray, mass: np.ndarray) -> float:
    """Chance that a positive scores higher than a negative; a tie counts one half."""
    high, low = scores[labels][:, None], scores[~labels][None, :]
    pairs = mass[labels][:, None] * mass[~labels][None, :]
    return math.fsum((pairs * ((high > low) + 0.5 * (high == low))).ravel()) / math.fsum(pairs.ravel())


@pytest.mark.parametrize("p", NORMS)
@given(population=populations(max_groups=4, max_rows=30))
def test_gap_equals_brute_force(p: float, population: list[Sample]) -> None:
    found = look(rows_of(population), norm=p)
    assert found.gap == pytest.approx(brute_gap(population, p), abs=1e-12)
    first, second = (population[int(name[1:])] for name in found.gap_pair)
    assert first is not second
    assert distance(first, second, found.gap_threshold, p) == pytest.approx(found.gap, abs=1e-12)


@given(populations(max_groups=4, max_rows=30, weights=MILD))
def test_aucs_and_counts_equal_brute_force(population: list[Sample]) -> None:
    rows = rows_of(population)
    found = look(rows)
    mass = np.ones(len(rows["scores"])) if rows["sample_weight"] is None else rows["sample_weight"]
    assert found.auc == pytest.approx(brute_auc(rows["scores"], rows["y"] == 1, mass), abs=1e-12)
    assert found.rows == len(rows["scores"])
    for group, sample in zip(found.groups, population, strict=True):
        assert group.auc == pytest.approx(brute_auc(sample.scores, sample.labels, sample.mass), abs=1e-12)
        assert (group.rows, group.positives) == (len(sample.scores), sample.labels.sum())
    assert [group.group for group in found.groups] == [f"g{i}" for i in range(len(population))]


@given(populations(max_groups=4, weights=COUNTS), SEEDS, st.sampled_from(NORMS))
def test_row_order_changes_nothing(population: list[Sample], seed: int, p: float) -> None:
    rows = rows_of(population)
    mixed = take(rows, np.random.default_rng(seed).permutation(len(rows["scores"])))
    assert look(mixed, norm=p, epsilon=0.1) == look(rows, norm=p, epsilon=0.1)


@given(populations(max_groups=4, weights=["zeros"]), st.sampled_from(NORMS))
def test_weights_equal_repeated_rows(population: list[Sample], p: float) -> None:
    rows = rows_of(population)
    repeated = take(rows, np.repeat(np.arange(len(rows["scores"])), rows["sample_weight"].astype(int)))
    repeated["sample_weight"] = None
    one, other = look(rows, norm=p), look(repeated, norm=p)
    for name in ("auc", "gap", "gap_threshold", "gap_pair", "curve_gap"):
        assert getattr(one, name) == getattr(other, name)
    assert [group.auc for group in one.groups] == [group.auc for group in other.groups]


@given(populations(max_groups=3), st.sampled_from(NORMS))
def test_fair_means_gap_at_most_epsilon(population: list[Sample], p: float) -> None:
    """Equality is fair, also up to rounding; a smaller epsilon is exceeded."""
    rows = rows_of(population)
    gap = look(rows, norm=p).gap
    assert look(rows, norm=p).fair is None
    assert look(rows, norm=p, epsilon=gap).fair is True
    assert look(rows, norm=p, epsilon=2).fair is True
    if gap > 0:
        assert look(rows, norm=p, epsilon=max(gap - 1e-9, 0.0)).fair is (gap <= 1e-12)


def test_a_score_that_treats_groups_alike_has_no_gap() -> None:
    rows = {"scores": [0.9, 0.6, 0.4, 0.2] * 2, "y": [1, 0, 1, 0] * 2, "sensitive_features": GROUPS}
    found = look(rows, epsilon=0)
    assert (found.gap, found.curve_gap, found.fair) == (0.0, 0.0, True)


def test_by_hand() -> None:
    """Group a: (0, .5) (.5, .5) (.5, 1) (1, 1); group b: (0, .5) (0, 1) (.5, 1) (1, 1)."""
    found = look({"scores": SCORES, "y": LABELS, "sensitive_features": GROUPS})
    assert (found.gap, found.gap_threshold, found.gap_pair) == (1.0, 0.6, ("a", "b"))
    assert (found.curve_gap, found.auc) == (0.5, 14 / 16)
    assert [group.auc for group in found.groups] == [0.75, 1.0]


def test_moved_thresholds_leave_the_curve_gap_at_zero() -> None:
    """Equal curves, but group b reaches them 0.05 lower: the threshold gap sees it, the curve gap does not."""
    scores = [0.9, 0.6, 0.4, 0.2, 0.85, 0.55, 0.35, 0.15]
    found = look({"scores": scores, "y": [1, 0, 1, 0] * 2, "sensitive_features": GROUPS})
    assert (found.gap, found.curve_gap) == (0.5, 0.0)


def test_small_groups_are_told_at_the_callers_line() -> None:
    with pytest.warns(SmallGroupWarning, match="group 'a' has 2 rows with label 0") as record:
        audit(SCORES, LABELS, sensitive_features=GROUPS)
    assert [warning.filename for warning in record] == [__file__]


def test_large_groups_give_no_warning() -> None:
    found = audit(SCORES * 25, LABELS * 25, sensitive_features=GROUPS * 25)
    assert [(group.rows, group.positives) for group in found.groups] == [(100, 50), (100, 50)]


def test_several_columns_are_crossed() -> None:
    features = {"sex": ["F", "M"] * 8, "race": (["x"] * 2 + ["y"] * 2) * 4}
    found = look({"scores": np.arange(16.0), "y": [0] * 8 + [1] * 8, "sensitive_features": features})
    assert [group.group for group in found.groups] == ["F & x", "F & y", "M & x", "M & y"]


def test_pos_label_and_missing_groups() -> None:
    words = [{1: "bad", 0: "good"}[label] for label in LABELS]
    groups = [None if group == "b" else group for group in GROUPS]
    with pytest.warns(SmallGroupWarning):
        found = audit(SCORES, words, sensitive_features=groups, pos_label="bad", missing="group")
    assert found.gap_pair == ("(missing)", "a")
    assert found.gap == look({"scores": SCORES, "y": LABELS, "sensitive_features": GROUPS}).gap
    with pytest.raises(DataError, match="sensitive_features must not be missing, but 4 of 8 are"):
        audit(SCORES, LABELS, sensitive_features=groups)


def test_results_are_frozen() -> None:
    found = look({"scores": SCORES, "y": LABELS, "sensitive_features": GROUPS})
    with pytest.raises(FrozenInstanceError):
        found.gap = 0.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        found.groups[0].auc = 1.0  # type: ignore[misc]
    assert isinstance(found.groups, tuple)


@pytest.mark.parametrize(
    ("norm", "written"), [(1, 1), ("1", 1), (2.0, 2), (3.5, 3.5), (math.inf, "inf"), ("inf", "inf")]
)
def test_to_dict_survives_json(norm: Any, written: Any) -> None:
    found = look({"scores": SCORES, "y": LABELS, "sensitive_features": GROUPS}, norm=norm, epsilon=0.5)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data.keys() >= KEYS
    assert all(group.keys() >= GROUP_KEYS for group in data["groups"])
    assert data["norm"] == written and type(data["norm"]) is type(written)
    assert (data["gap"], data["gap_threshold"], data["gap_pair"]) == (found.gap, found.gap_threshold, ["a", "b"])
    assert (data["rows"], data["auc"], data["curve_gap"]) == (8, found.auc, found.curve_gap)
    assert (data["epsilon"], data["fair"]) == (0.5, found.fair)
    one, other = data["groups"]
    assert (one["group"], one["rows"], one["positives"], one["auc"]) == ("a", 4, 2, 0.75)
    assert (other["group"], other["rows"], other["positives"], other["auc"]) == ("b", 4, 2, 1.0)


@pytest.mark.parametrize("norm", [0.5, 0, -1, math.nan, "x", True, None])
def test_bad_norm(norm: Any) -> None:
    with pytest.raises(DataError, match=r"norm must be a number p >= 1 or 'inf', got"):
        look({"scores": SCORES, "y": LABELS, "sensitive_features": GROUPS}, norm=norm)


@pytest.mark.parametrize("epsilon", [-0.1, 2.5, math.nan, "0.1", True])
def test_bad_epsilon(epsilon: Any) -> None:
    with pytest.raises(DataError, match=r"epsilon must lie in \[0, 2\]"):
        look({"scores": SCORES, "y": LABELS, "sensitive_features": GROUPS}, epsilon=epsilon)


def test_the_public_name_is_the_function_even_after_its_module_was_imported() -> None:
    code = "import fairroc.auditing, fairroc.cli; from fairroc import audit; print(callable(audit))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
