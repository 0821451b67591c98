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

from fairroc.auditing.audit import audit
from fairroc.auditing.findings import Audit
from fairroc.core.constraint import distance_of
from fairroc.errors import DataError, SmallGroupWarning
from oracles import pair_auc
from refusals import refuses
from strategies import MILD, SEEDS, Sample, populations

NORMS = [1, 2, 3.5, math.inf]
COUNTS = ("none", "zeros")  # weights whose sums are exact in any order
SCORES, LABELS, GROUPS = [0.9, 0.6, 0.4, 0.2] * 2, [1, 0, 1, 0, 1, 1, 0, 0], ["a"] * 4 + ["b"] * 4
KEYS = {"rows", "norm", "auc", "gap", "gap_threshold", "gap_pair", "curve_gap", "epsilon", "fair", "groups"}
KEYS |= {"gap_interval", "auc_interval", "cross_aucs", "decision"}
GROUP_KEYS = {"group", "rows", "positives", "auc", "auc_interval", "bnsp_auc", "bpsn_auc", "band", "calibration"}
HALF = {"scores": SCORES * 30, "y": LABELS * 30, "sensitive_features": GROUPS * 30}


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
        return audit(rows["scores"], rows["y"], **rest, **{"bootstrap": 100, **options})


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
    assert look(mixed, norm=p, epsilon=0.1, threshold=0.5) == look(rows, norm=p, epsilon=0.1, threshold=0.5)


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
    refuses("sensitive_features must not be missing, but 4 of 8 are", audit, SCORES, LABELS, sensitive_features=groups)


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
    with pytest.raises(DataError, match=r"epsilon must be between 0 and 2"):
        look({"scores": SCORES, "y": LABELS, "sensitive_features": GROUPS}, epsilon=epsilon)


def test_the_public_name_is_the_function_even_after_its_module_was_imported() -> None:
    code = "import fairroc.auditing.audit, fairroc.cli.main; from fairroc import audit; print(callable(audit))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


# ---- intervals -------------------------------------------------------------------------------------------------


@given(populations(max_groups=4, max_rows=40), st.sampled_from(NORMS), st.sampled_from([0.5, 0.95]))
def test_intervals_lie_in_range_and_hold_the_sample(population: list[Sample], p: float, level: float) -> None:
    found = look(rows_of(population), norm=p, confidence=level)
    interval = found.gap_interval
    assert interval.level == level
    for low, high in filter(None, (interval.dkw, interval.bootstrap)):
        assert 0 <= low <= high <= distance_of(p).largest
        assert low <= found.gap + 1e-12 and min(found.gap, distance_of(p).largest) <= high + 1e-12
    for group in found.groups:
        assert all(
            0 <= width <= 1 for widths in filter(None, (group.band.dkw, group.band.bootstrap)) for width in widths
        )


def test_weights_leave_the_bootstrap_alone_and_say_why() -> None:
    weighted = look({**HALF, "sample_weight": [1.0, 2.0] * 120})
    interval = weighted.gap_interval
    assert interval.dkw is None and "rows of equal weight" in interval.dkw_reason
    assert interval.bootstrap is not None and interval.bootstrap_reason is None
    assert weighted.auc_interval is None and "DeLong's interval needs rows of equal weight" in weighted.auc_reason
    for group in weighted.groups:
        assert group.auc_interval is None and group.band.dkw is None and group.band.bootstrap is not None
    plain = look(HALF)
    assert (plain.gap_interval.dkw_reason, plain.auc_reason) == (None, None)
    assert plain.auc_interval is not None and plain.groups[0].auc_interval is not None


def test_equal_weights_give_the_bootstrap_of_no_weights() -> None:
    rng = np.random.default_rng(5)
    rows = {"scores": rng.random(300), "y": rng.random(300) < 0.5, "sensitive_features": rng.integers(0, 2, 300)}
    one = look(rows, sample_weight=None).gap_interval.bootstrap
    other = look(rows, sample_weight=np.full(300, 3.0)).gap_interval.bootstrap
    assert other == pytest.approx(one, abs=1e-9)


def test_uneven_weights_widen_the_bootstrap() -> None:
    rng = np.random.default_rng(6)
    rows = {"scores": rng.random(2000), "y": rng.random(2000) < 0.5, "sensitive_features": rng.integers(0, 2, 2000)}
    even, uneven = (look(rows, sample_weight=w) for w in (np.ones(2000), np.exp(rng.normal(0, 1.5, 2000))))
    widths = [np.array([group.band.bootstrap for group in found.groups]) for found in (even, uneven)]
    assert (widths[1] > 1.5 * widths[0]).all()


def test_no_bootstrap() -> None:
    found = look(HALF, bootstrap=0)
    assert (found.gap_interval.bootstrap, found.gap_interval.draws) == (None, 0)
    assert found.gap_interval.bootstrap_reason == "no bootstrap draws were asked for"
    assert all(group.band.bootstrap is None and group.band.dkw is not None for group in found.groups)
    assert found.gap_interval.best == found.gap_interval.dkw


def test_seeds() -> None:
    rng = np.random.default_rng(7)
    rows = {"scores": rng.random(400), "y": rng.random(400) < 0.5, "sensitive_features": rng.integers(0, 2, 400)}
    assert look(rows) == look(rows) == look(rows, random_state=0)
    assert look(rows, random_state=1) != look(rows)
    assert look(rows, random_state=np.random.default_rng(0)) == look(rows)
    state = np.random.RandomState(3)
    assert look(rows, random_state=state) != look(rows, random_state=state)
    for changed in ("dkw", "level"):
        one, other = look(rows), look(rows, confidence=0.5)
        assert getattr(one.gap_interval, changed) != getattr(other.gap_interval, changed)
    assert one.auc_interval[0] < other.auc_interval[0] < one.auc < other.auc_interval[1] < one.auc_interval[1]


def test_a_single_row_of_a_class_has_no_auc_interval() -> None:
    found = look({"scores": [0.1, 0.2, 0.3, 0.4, 0.5], "y": [0, 1, 0, 1, 1], "sensitive_features": list("aabbb")})
    assert [group.auc_interval for group in found.groups] == [None, None]
    assert found.auc_interval is not None
    assert found.auc_reason == "a class of a single row has no variance to estimate: 'a', 'b'"


# ---- across groups, one threshold, calibration -----------------------------------------------------------------


@given(populations(max_groups=4, max_rows=30, weights=MILD))
def test_aucs_across_groups_count_pairs(population: list[Sample]) -> None:
    found = look(rows_of(population))
    assert len(found.cross_aucs) == len(population) * (len(population) - 1)
    for cross in found.cross_aucs:
        one, other = (population[int(name[1:])] for name in (cross.positives, cross.negatives))
        chosen = one.scores[one.labels], one.mass[one.labels], other.scores[~other.labels], other.mass[~other.labels]
        assert cross.auc == pytest.approx(pair_auc(*chosen), abs=1e-12)


def test_two_groups_mirror_each_other() -> None:
    found = look(HALF)
    a, b = found.groups
    assert (a.bnsp_auc, a.bpsn_auc) == (b.bpsn_auc, b.bnsp_auc)
    assert {(c.positives, c.negatives): c.auc for c in found.cross_aucs} == {
        ("a", "b"): a.bnsp_auc,
        ("b", "a"): b.bnsp_auc,
    }


def test_decision_by_hand() -> None:
    """score >= 0.6: a accepts one of two positives and one of two negatives, b both positives and no negative."""
    decision = look(HALF, threshold=0.6).decision
    a, b = decision.groups
    assert (a.tpr, a.fpr, a.selection_rate, a.precision, a.accuracy) == (0.5, 0.5, 0.5, 0.5, 0.5)
    assert (b.tpr, b.fpr, b.selection_rate, b.precision, b.accuracy) == (1.0, 0.0, 0.5, 1.0, 1.0)
    assert (decision.disparate_impact, decision.four_fifths, decision.demographic_parity_difference) == (1.0, True, 0.0)
    assert decision.equal_opportunity_difference == decision.equalized_odds_max == decision.equalized_odds_mean == 0.5
    assert decision.equalized_odds_l1 == 1.0


def test_nobody_accepted_is_none_and_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = audit(**HALF, threshold=2, bootstrap=0)
    assert [g.precision for g in found.decision.groups] == [None, None]
    assert (found.decision.disparate_impact, found.decision.four_fifths) == (None, None)
    json.dumps(found.to_dict(), allow_nan=False)


def test_calibration_needs_scores_in_the_unit_interval() -> None:
    found = look({**HALF, "scores": [2 * s for s in HALF["scores"]]})
    assert all(group.calibration is None for group in found.groups)
    assert (
        found.calibration_reason == "scores must lie in [0, 1] to be compared with shares, and these lie in [0.4, 1.8]"
    )
    assert look(HALF).calibration_reason is None


def test_calibration_by_hand() -> None:
    """Group a has positives at 0.9 and 0.4 and negatives at 0.6 and 0.2: |0.9 - 1|, 0.6, |0.4 - 1|, 0.2 on average."""
    calibration = look(HALF).groups[0].calibration
    assert [(b.count, round(b.mean_score, 12), b.positive_share) for b in calibration.bins] == [
        (30, 0.2, 0.0),
        (30, 0.4, 1.0),
        (30, 0.6, 0.0),
        (30, 0.9, 1.0),
    ]
    assert all(type(b.count) is int for b in calibration.bins)
    assert calibration.error == pytest.approx((0.2 + 0.6 + 0.6 + 0.1) / 4)


def test_to_frame_has_a_row_for_each_group() -> None:
    table = look(HALF, threshold=0.6).to_frame()
    assert table.column("group").to_pylist() == ["a", "b"]
    assert table.column("auc").to_pylist() == [0.75, 1.0]
    assert table.column("tpr").to_pylist() == [0.5, 1.0]
    frame = table.to_pandas()
    assert frame.set_index("group").loc["b", "precision"] == 1.0
    weighted = look({**HALF, "sample_weight": [1.0] * 240}).to_frame()
    assert weighted.column("auc_low").to_pylist() == [None, None]
    assert "tpr" not in weighted.column_names
    assert str(weighted.schema.field("auc_low").type) == "double"


@pytest.mark.parametrize("confidence", [0, 1, 1.5, -0.1, math.nan, "0.95", True, None])
def test_bad_confidence(confidence: Any) -> None:
    refuses(r"confidence must lie between 0 and 1, both excluded, got", look, HALF, confidence=confidence)


@pytest.mark.parametrize("threshold", [math.nan, math.inf, "0.5", True, [0.5]])
def test_bad_threshold(threshold: Any) -> None:
    refuses(r"threshold must be a finite number on the score's scale, got", look, HALF, threshold=threshold)


@pytest.mark.parametrize("bootstrap", [-1, 1, 99, 1000.0, True, None, "1000"])
def test_bad_bootstrap(bootstrap: Any) -> None:
    with pytest.raises(DataError, match=r"bootstrap must be a whole number of draws, at least 100, or 0 for none, got"):
        look(HALF, bootstrap=bootstrap)


@pytest.mark.parametrize("random_state", [-1, 0.5, None, "0", True])
def test_bad_random_state(random_state: Any) -> None:
    refuses(r"random_state must be an integer of 0 or more", look, HALF, random_state=random_state)
