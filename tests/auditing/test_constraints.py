"""Every constraint's audit equals a look at every threshold, one by one; selection rates need no labels."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_audit import HALF, look, rows_of

from fairroc import ScoreCounts, audit, audit_counts
from fairroc.core.constraint import Ratio
from fairroc.errors import DataError, SmallGroupWarning
from fairroc.stats.bands import dkw_widths
from fairroc.text.audit import audit_text
from strategies import MILD, Sample, populations

RATES = {"equal_opportunity": 1, "predictive_equality": 0, "demographic_parity": 2}
WINDOWS = st.sampled_from([None, (0.0, 0.3), (0.2, 0.6), (0.5, 1.0), (0.31, 0.33)])
PARITY = "demographic_parity"


def selected(sample: Sample, threshold: float, label: int) -> tuple[float, float]:
    """Weight selected and weight in all: of negatives (0), of positives (1), of everybody (2)."""
    of = np.ones(len(sample.scores), dtype=bool) if label == 2 else sample.labels == bool(label)
    return math.fsum(sample.mass[of & (sample.scores >= threshold)]), math.fsum(sample.mass[of])


def rate(sample: Sample, threshold: float, label: int) -> float:
    part, whole = selected(sample, threshold, label)
    return part / whole


def counting_thresholds(population: Sequence[Sample], where: tuple[float, float] | None) -> list[float]:
    """Those that select a share of all people in the window."""
    low, high = where or (0.0, 1.0)
    kept = []
    for threshold in np.unique(np.concatenate([sample.scores for sample in population])):
        parts = [selected(sample, threshold, 2) for sample in population]
        share = math.fsum(p for p, _ in parts) / math.fsum(w for _, w in parts)
        if low - 1e-12 <= share <= high + 1e-12:
            kept.append(float(threshold))
    return kept


def apart(one: float, other: float, as_ratio: bool) -> float:
    low, high = sorted((one, other))
    return (0.0 if high == 0 else 1.0 - low / high) if as_ratio else high - low


@pytest.mark.parametrize("constraint", RATES)
@given(populations(max_groups=4, max_rows=30), st.booleans(), WINDOWS)
@settings(max_examples=40)
def test_gaps_equal_brute_force(
    constraint: str, population: list[Sample], as_ratio: bool, where: tuple[float, float] | None
) -> None:
    label, asked = RATES[constraint], {"ratio": 0.8} if as_ratio else {}
    found = look(rows_of(population), constraint=constraint, where=where, bootstrap=0, **asked)
    places = counting_thresholds(population, where)
    gaps = [
        apart(rate(one, t, label), rate(other, t, label), as_ratio)
        for t in places
        for one, other in combinations(population, 2)
    ]
    assert found.gap == pytest.approx(max(gaps, default=0.0), abs=1e-12)
    first, second = (population[int(name[1:])] for name in found.gap_pair)
    assert first is not second
    here = apart(rate(first, found.gap_threshold, label), rate(second, found.gap_threshold, label), as_ratio)
    assert here == pytest.approx(found.gap, abs=1e-12)
    assert found.smallest_ratio == (1.0 - found.gap if as_ratio else None)
    assert found.fair is ((found.gap <= 0.2 + 1e-12) if as_ratio else None)
    if not places and where[0] > 0:  # that nobody is selected counts too
        assert found.gap_interval.best is None and "no threshold selects" in found.gap_interval.dkw_reason


@given(populations(max_groups=4, max_rows=30), st.sampled_from([1.0, 2.0, math.inf]), WINDOWS)
@settings(max_examples=40)
def test_a_window_of_equalized_odds(population: list[Sample], p: float, where: tuple[float, float] | None) -> None:
    found = look(rows_of(population), norm=p, where=where, bootstrap=0)
    gaps = [
        np.linalg.norm([rate(one, t, label) - rate(other, t, label) for label in (0, 1)], p)
        for t in counting_thresholds(population, where)
        for one, other in combinations(population, 2)
    ]
    assert found.gap == pytest.approx(max(gaps, default=0.0), abs=1e-12)


@given(populations(max_groups=3, max_rows=30))
@settings(max_examples=40)
def test_every_rate_for_itself_and_own_tolerances(population: list[Sample]) -> None:
    rows = rows_of(population)
    found = look(rows, epsilon={"fpr": 0.4, "tpr": 0.1}, bootstrap=0)
    widest = [
        max(
            abs(rate(one, t, label) - rate(other, t, label))
            for t in counting_thresholds(population, None)
            for one, other in combinations(population, 2)
        )
        for label in (0, 1, 2)
    ]
    assert (found.rates.fpr, found.rates.tpr, found.rates.selection_rate) == pytest.approx(widest, abs=1e-12)
    assert (found.tolerances, found.epsilon, found.norm) == ((0.4, 0.1), 0.1, math.inf)
    assert found.gap == pytest.approx(max(widest[0] / 4, widest[1]), abs=1e-12)
    assert found.fair is (widest[0] <= 0.4 + 1e-12 and widest[1] <= 0.1 + 1e-12)


@pytest.mark.parametrize("constraint", RATES)
@given(populations(max_groups=3, max_rows=40, weights=["none"]), st.booleans(), WINDOWS)
@settings(max_examples=30)
def test_safe_limits_are_the_extremes_of_rates_in_their_bands(
    constraint: str, population: list[Sample], as_ratio: bool, where: tuple[float, float] | None
) -> None:
    """One band for each group: of a rate of people of one label, or of all people as one sample."""
    label, asked = RATES[constraint], {"ratio": 0.8} if as_ratio else {}
    if as_ratio:
        where = (max((where or (0.0, 1.0))[0], 0.05), (where or (0.0, 1.0))[1])
    interval = look(rows_of(population), constraint=constraint, where=where, bootstrap=0, **asked).gap_interval
    sizes = np.array([[selected(s, -math.inf, label)[1]] for s in population])
    widths = dkw_widths(sizes, 0.95)[:, 0]
    places = counting_thresholds(population, where)
    near = far = 0.0
    for t in [*places, *([math.inf] if places and (where is None or where[0] == 0) else [])]:
        rates = [rate(s, t, label) for s in population]
        bands = [(max(r - w, 0.0), min(r + w, 1.0)) for r, w in zip(rates, widths, strict=True)]
        for (a, b), (c, d) in combinations(bands, 2):
            far = max(far, *(apart(x, y, as_ratio) for x in (a, b) for y in (c, d)))
            near = max(near, apart(b, c, as_ratio) if b < c else apart(d, a, as_ratio) if d < a else 0.0)
    if places:
        assert interval.dkw == pytest.approx((near, far), abs=1e-12)


@pytest.mark.parametrize("where", [None, (0.1, 0.4), (0.3, 0.3005)])
@pytest.mark.parametrize(
    ("constraint", "asked"),
    [("equalized_odds", {}), *((name, asked) for name in RATES for asked in ({}, {"ratio": 0.8}))],
)
def test_bootstrap_intervals_are_inside_the_safe_ones_and_hold_the_sample(
    constraint: str, asked: dict[str, float], where: tuple[float, float] | None
) -> None:
    """However narrow a window is: the nearest points of the grid are looked at."""
    rng = np.random.default_rng(5)
    group, y = rng.integers(0, 2, 8000), rng.random(8000) < 0.4
    found = audit(rng.normal(y + 0.4 * group), y, sensitive_features=group, constraint=constraint, where=where, **asked)
    interval = found.gap_interval
    gap = found.gap if interval.gap is None else interval.gap
    (low, high), (lowest, highest) = interval.bootstrap, interval.dkw
    assert lowest <= low < gap - 0.005 and gap + 0.005 < high <= highest
    assert (interval.gap is None) is (not asked or where is not None)
    assert interval.where == ((0.05, 1.0) if asked and where is None else None)


def test_the_ratio_moves_with_its_rates_as_it_says() -> None:
    one, other = np.array([[0.2, 0.5], [0.3, 0.0]]), np.array([[0.4, 0.1], [0.3, 0.6]])
    step, ratio = 1e-6, Ratio("fpr")
    weights = ratio.leverage(one, other)
    for weight, moved in zip(weights, ((step, 0.0), (0.0, step)), strict=True):
        change = np.abs(ratio.between(one + moved[0], other + moved[1]) - ratio.between(one, other)) / step
        assert weight[0] == pytest.approx(change, rel=1e-4)


# ---- without labels --------------------------------------------------------------------------------------------


@given(populations(max_groups=4, max_rows=40, weights=["none", *MILD]), st.booleans(), WINDOWS)
@settings(max_examples=40)
def test_selection_rates_need_no_labels(
    population: list[Sample], as_ratio: bool, where: tuple[float, float] | None
) -> None:
    rows = rows_of(population)
    asked = {
        "constraint": PARITY,
        "where": where,
        "threshold": 0.5,
        **({"ratio": 0.8} if as_ratio else {"epsilon": 0.1}),
    }
    known, found = look(rows, **asked), look({**rows, "y": None}, **asked)
    assert (found.gap, found.rows, found.fair) == (pytest.approx(known.gap, abs=1e-12), known.rows, known.fair)
    assert found.rates.selection_rate == pytest.approx(known.rates.selection_rate, abs=1e-12)
    for kind in ("dkw", "bootstrap"):
        one, other = getattr(known.gap_interval, kind), getattr(found.gap_interval, kind)
        assert (one is None) is (other is None)
        assert one is None or other == pytest.approx(one, abs=1e-9)
    assert (found.auc, found.curve_gap, found.auc_interval, found.cross_aucs) == (None, None, None, ())
    assert found.auc_reason == found.calibration_reason == "there are no labels"
    assert (found.rates.fpr, found.rates.tpr) == (None, None)
    for group, full in zip(found.groups, known.groups, strict=True):
        assert (group.group, group.rows, group.positives, group.auc) == (full.group, full.rows, None, None)
        assert group.band is group.calibration is None
    for at, full in zip(found.decision.groups, known.decision.groups, strict=True):
        assert at.selection_rate == pytest.approx(full.selection_rate, abs=1e-12)
        assert (at.tpr, at.fpr, at.precision, at.accuracy) == (None,) * 4
    assert found.decision.disparate_impact == pytest.approx(known.decision.disparate_impact, abs=1e-12)
    assert found.decision.equalized_odds_l1 is None
    one, other = (json.loads(json.dumps(each.to_dict(), allow_nan=False)) for each in (known, found))
    assert one.keys() == other.keys() and one["groups"][0].keys() == other["groups"][0].keys()
    assert found.to_frame().num_rows == len(population)


def test_counts_without_positives_are_people_without_labels() -> None:
    rows = {**HALF, "y": None}
    rows_found = look(rows, constraint=PARITY)
    features, nobody = HALF["sensitive_features"], [0] * len(HALF["scores"])
    counts = ScoreCounts.from_rows(HALF["scores"], nobody, sensitive_features=features)
    assert audit_counts(counts, constraint=PARITY, bootstrap=100) == rows_found
    with pytest.raises(DataError, match="a ROC curve needs both labels"):
        audit_counts(counts)


def test_small_groups_without_labels() -> None:
    with pytest.warns(SmallGroupWarning, match=r"group 'b' has 3 rows: its selection rate is known to within ±0.78"):
        audit(np.arange(103.0), None, sensitive_features=["a"] * 100 + ["b"] * 3, constraint=PARITY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit(np.arange(200.0), None, sensitive_features=["a", "b"] * 100, constraint=PARITY, bootstrap=0)
    with pytest.raises(DataError, match="one group only: 'a' holds all 100 rows"):
        audit(np.arange(100.0), None, sensitive_features=["a"] * 100, constraint=PARITY)
    with pytest.raises(DataError, match="every group must have rows of positive weight, and 'b' has none"):
        audit([1.0, 2.0], None, sensitive_features=["a", "b"], sample_weight=[1.0, 0.0], constraint=PARITY)


# ---- what is refused, and what is said -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"constraint": "parity"}, "constraint must be 'equalized_odds', 'equal_opportunity'"),
        ({"constraint": PARITY, "norm": 2}, "norm must be 1 with constraint='demographic_parity', which looks at one"),
        ({"ratio": 0.8}, "ratio must be None with constraint='equalized_odds'"),
        ({"constraint": PARITY, "ratio": 0.8, "epsilon": 0.05}, "give either epsilon or ratio"),
        ({"constraint": PARITY, "ratio": 1.2}, "ratio must be above 0 and at most 1"),
        ({"constraint": PARITY, "epsilon": {"fpr": 0.1, "tpr": 0.1}}, "epsilon must be one number for a constraint on"),
        ({"epsilon": {"fpr": 0.1, "tpr": 0.1}, "norm": 2}, "norm must be left out with a tolerance for 'fpr'"),
        ({"epsilon": {"fpr": 0.1}}, "one tolerance for 'fpr' and one for 'tpr'"),
        ({"where": (0.5, 0.2)}, "where must be two rising shares"),
        ({"y": None}, "y must hold labels for constraint='equalized_odds'"),
        ({"y": None, "constraint": "equal_opportunity"}, "or take constraint='demographic_parity'"),
        ({"y": None, "constraint": PARITY, "small_groups": "merge"}, "small_groups must be 'error' without labels"),
        ({"y": None, "constraint": PARITY, "min_class_rows": 5}, "min_class_rows must be 1 without labels"),
    ],
)
def test_what_cannot_be_asked(asked: dict[str, Any], words: str) -> None:
    rows = {**HALF, "y": asked.get("y", HALF["y"])}
    with pytest.raises(DataError, match=words):
        look(rows, **{name: value for name, value in asked.items() if name != "y"})


def test_bins_leave_ratios_and_windows_open() -> None:
    """People in one bin may be selected apart: a gap of theirs can be anything."""
    rng = np.random.default_rng(0)
    counts = ScoreCounts.from_rows(rng.random(500), [0, 1] * 250, sensitive_features=["a"] * 250 + ["b"] * 250, bits=20)
    for asked in ({"ratio": 0.01}, {"epsilon": 0.9, "where": (0.1, 0.9)}):
        found = audit_counts(counts, constraint=PARITY, bootstrap=0, **asked)
        assert (found.gap_limit, found.fair) == (1.0, False)
        assert "The bins leave open" in audit_text(found)
    assert audit_counts(counts, constraint=PARITY, bootstrap=0, epsilon=0.9).fair is True
