"""The gap of new people for every constraint, and without labels: against sums over people at every place."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cli import Run, run

from fairroc import Drift, FairModel
from fairroc.core import gap as gaps
from fairroc.core.realised import chances, ordered_place
from fairroc.people.door import read_people
from fairroc.stats import bands
from fairroc.stats import bootstrap as multiplier
from fairroc.text.drift import drift_text
from fitted_people import FairROC
from strategies import SEEDS

__all__ = ["run"]  # a fixture

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

RATES = {"equal_opportunity": "tpr", "predictive_equality": "fpr", "demographic_parity": "selection"}


def rows_of(seed: int, n: int, *, digits: int = 9, shift: float = 0.0, groups: int = 2):
    """Scores, labels and groups 'a', 'b', 'c' that differ in everything; group 'a' can be shifted."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, groups, n)
    y = (rng.random(n) < 0.3 + 0.2 * g).astype(int)
    scores = rng.normal(size=n) + y * (1 + 0.7 * g) + shift * (g == 0)
    return scores.round(digits), y, np.array(list("abc"))[g]


def fitted(rows, **how) -> FairModel:
    scores, y, groups = rows
    return FairROC(salt=1, **how).fit(scores, y, sensitive_features=groups).model_


def checked(model: FairModel, rows, *, labels: bool = True, **how) -> Drift:
    scores, y, groups = rows
    return model.check(scores, sensitive_features=groups, y=y if labels else None, **{"bootstrap": 200} | how)


def rates_by_sums(model: FairModel, rows, rate: str) -> tuple[np.ndarray, np.ndarray]:
    """(places, groups) rates and (places,) share of all selected, on both sides of every place, person by person."""
    scores, y, groups = rows
    names = sorted(set(groups))
    kernels = {name: model.kernels[model.names.index(name)] for name in names}
    ends = [np.arange(model.levels + 1.0)]
    for name, kernel in kernels.items():
        own = np.maximum(scores[groups == name], kernel.thresholds[-1])
        block = np.array([min(np.sum(kernel.thresholds > s), len(kernel.thresholds) - 1) for s in own])
        ends += [kernel.first + kernel.start, kernel.last + kernel.stop]
        ends.append((kernel.first[block] + ordered_place(kernel, block, own))[kernel.ordered[block]])
    places = np.unique(np.concatenate(ends))
    places = np.unique(np.concatenate((places, np.nextafter(places, -1.0))))
    places = places[(places >= 0) & (places <= model.levels)]
    reach = np.zeros((len(scores), len(places)))
    for name, kernel in kernels.items():
        mine = groups == name
        reach[mine] = chances(kernel, np.maximum(scores[mine], kernel.thresholds[-1]), places)
    counts = {"tpr": y == 1, "fpr": y == 0, "selection": y >= 0}[rate]
    found = np.stack([reach[counts & (groups == name)].mean(axis=0) for name in names], axis=1)
    return found, reach.mean(axis=0)


@pytest.mark.parametrize(
    "how", [{"epsilon": 0.1}, {"epsilon": 0.1, "norm": "inf"}, {"epsilon": 0.1, "where": (0.1, 0.9)}]
)
def test_many_groups_have_the_same_gap_and_limits_no_closer(how, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if three groups were many: no pairs are looked at."""
    if "where" in how:
        how = how | {"constraint": "equal_opportunity"}
    model, new = fitted(rows_of(3, 900, groups=3), **how), rows_of(4, 900, groups=3, shift=0.5)
    few = checked(model, new).gap
    for module in (gaps, bands, multiplier):
        monkeypatch.setattr(module, "FEW_PAIRED", 0)
    monkeypatch.setattr(gaps, "FEW_GROUPS", 0)
    many = checked(model, new).gap
    assert many.gap == pytest.approx(few.gap, abs=1e-12) and many.pair == few.pair
    assert many.interval.dkw == pytest.approx(few.interval.dkw, abs=1e-12)
    assert many.interval.bootstrap[1] == pytest.approx(few.interval.bootstrap[1], abs=1e-12)
    assert many.interval.bootstrap[0] < few.interval.bootstrap[0]


HOW = st.sampled_from(
    [
        {"epsilon": 0.1},
        {"epsilon": 0.02, "draw": "all"},
        {"epsilon": 0.3, "draw": "never"},
        {"epsilon": 0.05, "where": (0.1, 0.5)},
    ]
)


@settings(max_examples=25)
@given(SEEDS, st.sampled_from(sorted(RATES)), HOW, st.sampled_from([1, 9]))
def test_gap_is_that_of_sums_over_people(seed, constraint, how, digits) -> None:
    """Exactly, at all places inside the window; between two places all rates are straight lines."""
    model = fitted(rows_of(seed, 400, digits=digits, groups=3), constraint=constraint, **how)
    new = rows_of(seed + 1, 150, digits=digits, groups=3, shift=0.4)
    gap = checked(model, new).gap
    if model.unchanged:
        return
    rates, selected = rates_by_sums(model, new, RATES[constraint])
    low, high = how.get("where", (0.0, 1.0))
    looks = (selected >= low - 1e-9) & (selected <= high + 1e-9)
    by_sums = float(np.ptp(rates, axis=1)[looks].max(initial=0.0))
    if "where" not in how:
        assert gap.gap == pytest.approx(by_sums, abs=1e-9)
    else:  # the largest gap may lie at an end of the window, between two places
        around = looks.copy()
        around[1:] |= looks[:-1]
        around[:-1] |= looks[1:]
        assert by_sums - 1e-9 <= gap.gap <= float(np.ptp(rates, axis=1)[around].max()) + 1e-9
    assert gap.constraint == constraint and gap.where == how.get("where") and gap.smallest_ratio is None
    for kind in ("dkw", "bootstrap"):
        ends = getattr(gap.interval, kind)
        assert ends[0] <= gap.gap <= ends[1]


@pytest.mark.parametrize("how", [{"epsilon": 0.1}, {"epsilon": 0.1, "where": (0.1, 0.4)}, {"epsilon": 1.0}])
def test_demographic_parity_needs_no_labels(how) -> None:
    """Gap and intervals are the same with labels and without; a group of one label counts, and AUCs come with labels
    only. An epsilon of 1 leaves the score unchanged."""
    model = fitted(rows_of(1, 1500, groups=3), constraint="demographic_parity", **how)
    assert model.unchanged == (how["epsilon"] == 1.0)
    scores, y, groups = rows_of(2, 600, groups=3, digits=1)
    y[groups == "c"] = 0
    with_labels, without = (checked(model, (scores, y, groups), labels=labels).gap for labels in (True, False))
    assert (with_labels.gap, with_labels.pair) == (without.gap, without.pair)
    assert with_labels.interval == without.interval and without.groups == ("a", "b", "c")
    assert with_labels.auc is not None and without.auc is None and without.auc_before is None
    other = checked(model, (scores, 1 - y, groups)).gap
    assert other.gap == without.gap


def test_an_unchanged_score_is_measured_in_the_window() -> None:
    scores, y, groups = rows_of(2, 500, digits=1)
    model = fitted(rows_of(1, 800), constraint="demographic_parity", epsilon=1.0, where=(0.2, 0.3))
    ends = np.unique(scores)
    by_hand = [
        abs((scores[groups == "a"] >= t).mean() - (scores[groups == "b"] >= t).mean())
        for t in ends
        if 0.2 <= (scores >= t).mean() <= 0.3
    ]
    assert checked(model, (scores, y, groups), labels=False).gap.gap == pytest.approx(max(by_hand), abs=1e-12)
    same = np.zeros(len(scores))
    nowhere = checked(model, (same, y, groups), labels=False)
    assert (
        nowhere.gap is None and "no threshold selects a share of these people inside the window" in nowhere.gap_reason
    )
    assert any("the gap was not checked: no threshold" in doubt for doubt in nowhere.doubts)


@settings(max_examples=8)
@given(SEEDS, st.sampled_from(sorted(RATES)))
def test_whole_weights_are_rows(seed, constraint) -> None:
    """Weights that count people give the gap of so many rows, with labels and without."""
    model = fitted(rows_of(seed, 500), constraint=constraint, epsilon=0.05)
    scores, y, groups = rows_of(seed + 1, 120, digits=1)
    times = np.random.default_rng(seed).integers(1, 4, len(y))
    often = tuple(np.repeat(part, times) for part in (scores, y, groups))
    for labels in [True, *([False] if constraint == "demographic_parity" else [])]:
        weighted = checked(model, (scores, y, groups), labels=labels, sample_weight=times.astype(float)).gap
        assert weighted.gap == pytest.approx(checked(model, often, labels=labels).gap.gap, abs=1e-9)
        assert weighted.interval.dkw is None


@settings(max_examples=15)
@given(SEEDS, st.integers(2, 60), st.sampled_from([0, 9]), st.booleans())
def test_people_without_labels(seed, n, digits, weighted) -> None:
    """Both rates are the share of people who reach a score, and as uncertain as a share of so many people."""
    rng = np.random.default_rng(seed)
    scores, y, weights = rng.normal(size=n).round(digits), rng.integers(0, 2, n), rng.uniform(0.5, 2.0, n)
    mass = weights if weighted else None
    people = read_people(scores, y, sensitive_features=["a"] * n, sample_weight=mass, whole=False)
    curve = people.without_labels().exact.curves[0]
    share = [weights[scores >= t].sum() / weights.sum() if weighted else (scores >= t).mean() for t in curve.thresholds]
    assert curve.thresholds.tolist() == np.unique(scores + 0.0)[::-1].tolist()
    assert curve.fpr[1:] == pytest.approx(share) and curve.tpr[1:] == pytest.approx(share)
    size = weights.sum() ** 2 / (weights**2).sum() if weighted else n
    assert people.without_labels().class_sizes()[0] == pytest.approx([size, size])


def test_three_answers_without_labels() -> None:
    model = fitted(rows_of(1, 3000), epsilon=0.02, constraint="demographic_parity")
    within, unclear, outside = (
        checked(replace(model, epsilon=0.2), rows_of(2, 6000), labels=False),  # fitted more strictly than it is judged
        checked(model, rows_of(2, 300), labels=False),
        checked(model, rows_of(2, 3000, shift=0.8), labels=False),
    )
    assert [found.gap.answer for found in (within, unclear, outside)] == ["within", "unclear", "outside"]
    assert any("(difference of the selection rate) is" in reason for reason in outside.reasons)
    assert unclear.gap.rows_needed > 300 and not unclear.drifted
    words = drift_text(within)
    assert "at one threshold (difference of the selection rate):" in words and "AUC of these people" not in words


def test_intervals_without_labels_cover_the_gap_of_all_people() -> None:
    """The gap of a large population lies in both intervals of nearly all samples (95 % at least)."""
    model = fitted(rows_of(0, 2000), constraint="demographic_parity", epsilon=0.1)
    truth = checked(model, rows_of(99, 100_000, shift=0.2), labels=False, bootstrap=0).gap
    inside = {"dkw": 0, "bootstrap": 0}
    for seed in range(100, 140):
        interval = checked(model, rows_of(seed, 500, shift=0.2), labels=False).gap.interval
        for kind in inside:
            low, high = getattr(interval, kind)
            inside[kind] += low - truth.resolution <= truth.gap <= high + truth.resolution
    assert inside["dkw"] >= 39 and inside["bootstrap"] >= 34


def test_fewer_samples_make_narrower_bands() -> None:
    """One rate of each group is one sample, not two; a selection rate is one of all the group's people."""
    new = rows_of(2, 2000)
    wide = {
        name: checked(fitted(rows_of(1, 2000), constraint=name, epsilon=1.0 if name != "equalized_odds" else 2.0), new)
        for name in [*RATES, "equalized_odds"]
    }
    width = {name: found.gap.interval.dkw[1] - found.gap.gap for name, found in wide.items()}
    assert width["demographic_parity"] < min(width["equal_opportunity"], width["predictive_equality"])
    assert max(width["equal_opportunity"], width["predictive_equality"]) < width["equalized_odds"]


@pytest.mark.parametrize("constraint", sorted(RATES))
def test_ratios_are_told_from_five_percent_on(constraint) -> None:
    model = fitted(rows_of(1, 1500), constraint=constraint, ratio=0.8)
    new = rows_of(2, 400, shift=0.3)
    found = checked(model, new)
    rates, selected = rates_by_sums(model, new, RATES[constraint])
    looks = selected >= 0.05 - 1e-9
    by_sums = float((rates[looks].min(axis=1) / rates[looks].max(axis=1)).min())
    assert found.gap.smallest_ratio == pytest.approx(by_sums, abs=2e-3)  # at 5 % itself lines may be slopes
    assert found.gap.smallest_ratio <= by_sums + 1e-9 and found.gap.gap == 1.0 - found.gap.smallest_ratio
    assert found.gap.where == (0.05, 1.0) and found.gap.ratio == 0.8 and found.gap.epsilon == pytest.approx(0.2)
    words = drift_text(found)
    assert "smallest ratio" in words and "measured where 5% of people or more are selected" in words
    assert "epsilon = 0.2 (ratio 0.8)" in words


def test_own_tolerances() -> None:
    """Each rate's difference over its own tolerance, times the smaller one."""
    model = fitted(rows_of(1, 1500), epsilon={"fpr": 0.2, "tpr": 0.05})
    new = rows_of(2, 400, shift=0.3)
    gap = checked(model, new).gap
    fpr, tpr = (np.ptp(rates_by_sums(model, new, rate)[0], axis=1) for rate in ("fpr", "tpr"))
    assert gap.gap == pytest.approx(float(np.maximum(0.25 * fpr, tpr).max()), abs=1e-9)
    assert (gap.tolerances, gap.epsilon, gap.constraint) == ((0.2, 0.05), 0.05, "equalized_odds")
    assert "larger of 0.25 |dFPR| and 1 |dTPR|" in drift_text(checked(model, new))


def test_monitor_without_labels(tmp_path: Path, run: Run) -> None:
    """The command measures demographic parity without --label, and its exit code tells."""
    fitted(rows_of(1, 3000), constraint="demographic_parity", epsilon=0.02).save(tmp_path / "m.json")
    for name, shift in (("same", 0.0), ("moved", 0.8)):
        scores, _, groups = rows_of(2, 3000, shift=shift)
        lines = ["p,g", *(f"{s!r},{g}" for s, g in zip(scores.tolist(), groups.tolist(), strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    how = ("--model", tmp_path / "m.json", "--score", "p", "--group", "g", "--format", "json")
    same, moved = (run("monitor", tmp_path / f"{name}.csv", *how) for name in ("same", "moved"))
    assert same.code == 0 and same.json["gap"]["answer"] != "outside"
    assert moved.code == 1 and moved.json["gap"]["answer"] == "outside"
    assert moved.json["gap"]["constraint"] == "demographic_parity" and moved.json["gap"]["auc"] is None
    assert json.dumps(moved.json, allow_nan=False)
