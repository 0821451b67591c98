"""Checks of new people against a model: oracles for every figure, false alarms, power, old files, exit codes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cli import PEOPLE, Run, model, run, write

from fairroc import Drift, FairModel, audit
from fairroc.core.constraint import equalized_odds
from fairroc.core.gap import threshold_gap
from fairroc.errors import DataError, ModelFileError
from fairroc.model.file import _checksum
from fairroc.model.model import PARTS, Reference, expected_people, reference_of
from fairroc.model.model import PEOPLE as EACH
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc.stats import two_sample as twosample
from fairroc.text.drift import drift_text
from fitted_people import FairROC
from strategies import SEEDS

__all__ = ["model", "run"]  # fixtures

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


def rows_of(seed: int, n: int, *, digits: int = 9, shift: float = 0.0, parts=(0.5, 0.5)):
    """Scores, labels and groups 'a', 'b', ...; group 'a' can be shifted."""
    rng = np.random.default_rng(seed)
    g = rng.choice(len(parts), n, p=parts)
    y = (rng.random(n) < 0.4).astype(int)
    scores = (rng.normal(size=n) + y * (1 + 0.7 * g) + shift * (g == 0)).round(digits)
    return scores, y, np.array(list("abcdefgh"))[g]


def model_of(seed: int = 0, n: int = 3000, epsilon: float = 0.2, **how) -> FairModel:
    scores, y, groups = rows_of(seed, n, **how)
    return FairROC(epsilon=epsilon, salt=1).fit(scores, y, sensitive_features=groups).model_


MODEL = model_of()
NEW = rows_of(1, 2000)


def checked(found: FairModel, rows, labels: bool = False, **how) -> Drift:
    scores, y, groups = rows
    return found.check(scores, sensitive_features=groups, y=y if labels else None, **how)


def references(columns: People) -> tuple[Reference, ...]:
    """As a fit makes them, without the fit."""
    return tuple(reference_of(sample, None, None) for sample in columns.samples)


def quick_model(scores, y, groups) -> FairModel:
    """A model of an unchanged score with the references of these rows."""
    columns = read_people(scores, y, sensitive_features=groups)
    counts = zip(columns.names, *(part.tolist() for part in columns.group_counts()), strict=True)
    records = tuple(replace(MODEL.groups[0], name=name, rows=n, positives=k) for name, n, k in counts)
    return replace(MODEL, groups=records, kernels=(), scale=None, references=references(columns))


# ---- the reference -----------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(SEEDS, st.integers(3, 3000), st.sampled_from([0, 1, 9]), st.booleans())
def test_reference_counts_the_fitted_rows(seed, n, digits, weighted) -> None:
    """Counting the fitted rows again gives the reference; its bins are few, and even unless a score is shared."""
    rng = np.random.default_rng(seed)
    scores, y = rng.normal(size=n).round(digits), rng.random(n) < 0.3
    y[:2] = [False, True]
    weights = rng.uniform(0.1, 3.0, n) if weighted else None
    fitted = read_people(scores, y, sensitive_features=["a"] * n, sample_weight=weights, whole=False)
    sizes = fitted.class_sizes()[0]
    found = reference_of(fitted.samples[0], sizes if weighted else None, None)
    assert found.edges[0] == scores.min() and found.highest == scores.max()
    assert len(found.edges) <= 4 * PARTS
    again = fitted.samples[0].between(found.borders)
    assert again == pytest.approx(found.padded, abs=1e-9 * n) if weighted else np.array_equal(again, found.padded)
    for label in (0, 1):
        of_label = np.bincount(np.searchsorted(found.edges, scores[y == label], side="right"), minlength=1)
        distinct = [
            len(set(scores[(y == label) & (scores >= low) & (scores < high)]))
            for low, high in zip(found.edges, [*found.edges[1:], math.inf], strict=True)
        ]
        if not weighted:
            wide = np.array(of_label[1:])[np.array(distinct)[: len(of_label) - 1] > 1]
            size = int((y == label).sum())
            parts = min(max(size // EACH, 1), PARTS)
            shared = np.unique(scores[y == label], return_counts=True)[1].max()
            assert (wide <= 2 * size / parts + EACH + shared).all()
    people = np.bincount(np.searchsorted(found.edges, scores, side="right"))[1:]
    assert weighted or len(people) == 1 or people.min() >= EACH
    mass = np.ones(n) if weights is None else weights
    assert sizes == pytest.approx([mass[y == c].sum() ** 2 / (mass[y == c] ** 2).sum() for c in (0, 1)])


def test_the_file_comes_back_and_stays_small() -> None:
    for epsilon in (0.2, 2.0):  # the second leaves the score unchanged
        found = model_of(epsilon=epsilon)
        assert found.unchanged == (epsilon == 2.0)
        text = found.to_json()
        back = FairModel.from_json(text)
        assert back.to_json() == text
        again = model_of(epsilon=epsilon)
        assert replace(again, record=found.record).to_json() == text
        assert drift_json(checked(back, NEW, True)) == drift_json(checked(found, NEW, True))
        bare = len(replace(found, references=()).to_json())
        assert len(text) - bare < 6000 * len(found.groups)


def drift_json(found: Drift) -> str:
    return json.dumps(found.to_dict(), allow_nan=False)


def test_weighted_references_come_back() -> None:
    scores, y, groups = rows_of(3, 800)
    weights = np.random.default_rng(3).uniform(0.1, 4.0, 800)
    found = FairROC(epsilon=0.3, salt=1).fit(scores, y, sensitive_features=groups, sample_weight=weights).model_
    assert FairModel.from_json(found.to_json()).to_json() == found.to_json()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r["edges"].reverse(), "edges must rise"),
        (lambda r: r.update(highest=r["edges"][0]), "edges must rise"),
        (lambda r: r["negatives"].pop(), "one entry in every list"),
        (lambda r: r["positives"].__setitem__(0, -1), "must not be negative"),
        (lambda r: r.update(sizes=[1]), "sizes must be two numbers"),
        (lambda r: r.update(auc=1.5), "AUC must lie in"),
        (lambda r: r.pop("edges"), "lacks or garbles"),
    ],
)
def test_broken_references_are_refused(change, words) -> None:
    body = json.loads(MODEL.to_json())
    body.pop("checksum")
    change(body["groups"][0]["reference"])
    with pytest.raises(ModelFileError, match=words):
        FairModel.from_json(json.dumps({**body, "checksum": _checksum(body)}))


def old_file(found: FairModel) -> FairModel:
    """The model as a file holds it that was written without references."""
    body = json.loads(found.to_json())
    body.pop("checksum")
    for group in body["groups"]:
        del group["reference"]
    return FairModel.from_json(json.dumps({**body, "checksum": _checksum(body)}))


def test_old_files_load_and_say_what_cannot_be_checked() -> None:
    found = checked(old_file(MODEL), NEW, True)
    assert {test.what for test in found.tests} == {"shares"}
    assert {group.status for group in found.groups} == {"not checked"}
    assert any("no fitted scores" in doubt and "fit again" in doubt for doubt in found.doubts)
    assert found.gap is not None and found.gap.gap == checked(MODEL, NEW, True).gap.gap
    drift_text(found)


def test_half_a_reference_is_refused() -> None:
    body = json.loads(MODEL.to_json())
    body.pop("checksum")
    del body["groups"][0]["reference"]
    with pytest.raises(ModelFileError, match="all groups must have a reference"):
        FairModel.from_json(json.dumps({**body, "checksum": _checksum(body)}))


# ---- the tests, one by one -----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(SEEDS, st.integers(2, 60), st.integers(1, 60), st.integers(2, 12))
def test_distance_is_kolmogorov_smirnov(seed, n, m, values) -> None:
    """Over the borders of all values it is the two-sample statistic, and the p-value bounds scipy's exact one."""
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(seed)
    fitted, new = rng.integers(0, values, n), rng.integers(0, values, m)
    counts = [np.bincount(part, minlength=values + 1).astype(float) for part in (fitted, new)]
    distance, border = twosample.largest_shift(*counts)
    assert distance == pytest.approx(stats.ks_2samp(fitted, new, method="asymp").statistic, abs=1e-12)
    assert abs((fitted >= border).mean() - (new >= border).mean()) == pytest.approx(distance, abs=1e-12)


@pytest.mark.parametrize(("n", "m"), [(40, 60), (25, 100), (150, 77), (500, 500)])
def test_shift_p_value_bounds_the_exact_one(n, m) -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(n)
    for shift in (0.1, 0.4, 0.7):
        fitted, new = rng.normal(size=n), rng.normal(size=m) + shift
        exact = stats.ks_2samp(fitted, new, method="exact")
        bound = twosample.shift_p_value(float(exact.statistic), n, m)
        assert exact.pvalue <= bound + 1e-12
        assert bound <= 3 * exact.pvalue or bound > 0.5 or exact.pvalue < 1e-4


def test_psi_by_hand() -> None:
    fitted, new = np.array([10.0, 30.0]), np.array([25.0, 25.0])
    p, q = np.array([10.5, 30.5]) / 41, np.array([25.5, 25.5]) / 51
    by_hand = sum((b - a) * math.log(b / a) for a, b in zip(p, q, strict=True))
    assert twosample.psi(fitted, new) == pytest.approx(by_hand)
    assert twosample.psi(fitted, np.array([0.0, 5.0])) < math.inf
    assert twosample.psi(fitted, 3 * fitted) == pytest.approx(0.0, abs=1e-3)


def test_psi_by_chance_is_what_chance_gives() -> None:
    """Mean and limit of the index between samples of one population."""
    rng = np.random.default_rng(0)
    n, m, bins = 4000, 1500, 15
    draws = [
        twosample.psi(*(rng.multinomial(k, np.full(bins, 1 / bins)).astype(float) for k in (n, m))) for _ in range(600)
    ]
    expected, limit = twosample.psi_by_chance(bins, n, m, 0.95)
    assert np.mean(draws) == pytest.approx(expected, rel=0.08)
    assert 0.92 < np.mean(np.array(draws) < limit) < 0.98


@given(st.lists(st.integers(0, 500), min_size=1, max_size=200).filter(any))
def test_psi_bins_are_few_and_keep_their_order(counts) -> None:
    coarse = twosample.psi_bins(np.array(counts, dtype=float))
    assert coarse[0] == 0 and (np.diff(coarse) >= 0).all() and (np.diff(coarse) <= 1).all()
    assert coarse.max() < twosample.PSI_BINS


def test_parts_are_a_chi_square_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    fitted, new = np.array([100.0, 50.0, 30.0]), np.array([60.0, 40.0, 10.0])
    exact = stats.chi2_contingency(np.stack((fitted, new)), correction=False).pvalue
    assert twosample.parts_p_value(fitted, new) == pytest.approx(exact)
    joined = stats.chi2_contingency([[100.0, 55.0], [60.0, 41.0]], correction=False).pvalue
    assert twosample.parts_p_value(np.array([100.0, 50.0, 3, 2]), np.array([60.0, 40.0, 1, 0])) == pytest.approx(joined)
    assert twosample.parts_p_value(np.array([100.0, 1.0]), np.array([5.0, 1.0])) == 1.0


@pytest.mark.parametrize(("n", "m"), [(2, 3), (4, 4), (6, 3)])
def test_outside_p_value_counts_orders(n, m) -> None:
    """All orders of fitted and new scores are equally likely: count those with so many new ones outside."""
    orders = list(combinations(range(n + m), n))
    outside = [n + m - 1 - (places[-1] - places[0]) - 0 for places in orders]
    for k in range(m + 1):
        by_hand = np.mean([out >= k for out in outside])
        assert twosample.outside_p_value(k, m, n) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("k", "rows", "fitted"),
    [(1, 10**6, 10**6), (40, 2000, 900), (300, 400, 50), (5, 10, 10**5), (9, 30, 55.5), (3, 3, 1.5)],
)
def test_outside_p_value_is_beta_binomial(k, rows, fitted) -> None:
    """With effective sample sizes too; scipy's survival function is 1 - cdf and inexact, its mass is not."""
    stats = pytest.importorskip("scipy.stats")
    mass = stats.betabinom(rows, 2, max(fitted - 1, 1)).pmf
    exact = mass(np.arange(k, rows + 1)).sum() if rows <= 3000 else 1 - mass(np.arange(k)).sum()
    assert twosample.outside_p_value(k, rows, fitted) == pytest.approx(exact, rel=1e-6)


def test_absent_p_value_counts_samples() -> None:
    """Of 8 rows, 3 of them of the group, choose the 4 new ones: none of the group."""
    picks = list(combinations(range(8), 4))
    by_hand = np.mean([not {0, 1, 2} & set(pick) for pick in picks])
    assert twosample.absent_p_value(3, 4, 4) == pytest.approx(by_hand)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.001, 0.5))
def test_holm_steps_down(p_values, level) -> None:
    """Reject in order of p-values as long as p <= level / (tests left)."""
    rejected = set()
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[i] * (len(p_values) - rank) > level:
            break
        rejected.add(i)
    adjusted = twosample.holm(p_values)
    assert rejected == {i for i, p in enumerate(adjusted) if p <= level}


def test_rows_to_see() -> None:
    for fitted in (1000, 10**6):
        rows = twosample.rows_to_see(0.1, 0.01, fitted)
        assert twosample.visible_shift(0.01, fitted, rows) <= 0.1 < twosample.visible_shift(0.01, fitted, rows - 1)
    assert twosample.rows_to_see(0.1, 0.01, 200) is None


# ---- a whole check -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("digits", "parts"), [(9, (0.5, 0.5)), (0, (0.6, 0.3, 0.1))])
def test_false_alarms_are_rare(digits, parts) -> None:
    """5 % at most over all tests together: of 300 checks 15 are expected, and more than 28 in one of 1000 times."""
    alarms = 0
    for seed in range(300):
        found = quick_model(*rows_of(2 * seed, 500, digits=digits, parts=parts))
        alarms += checked(found, rows_of(2 * seed + 1, 400, digits=digits, parts=parts)).drifted
    assert alarms <= 28


@pytest.mark.slow
@pytest.mark.parametrize("digits", [0, 9])
@pytest.mark.parametrize(("n", "m"), [(200, 5000), (600, 300), (3000, 1000)])
def test_false_alarms_with_labels(n, m, digits) -> None:
    alarms = 0
    for seed in range(600):
        found = quick_model(*rows_of(2 * seed, n, digits=digits))
        tests = checked(found, rows_of(2 * seed + 1, m, digits=digits), True, bootstrap=0).tests
        alarms += any(test.found for test in tests)
    assert alarms <= 48  # 30 expected at most


def test_a_real_shift_is_seen() -> None:
    seen = [checked(MODEL, rows_of(seed, 1500, shift=0.4)) for seed in range(20, 40)]
    assert sum(any("'a' moved" in reason for reason in found.reasons) for found in seen) >= 19
    assert not any("'b' moved" in reason for found in seen for reason in found.reasons)
    assert {found.groups[0].status for found in seen} == {"moved"}


def test_figures_of_a_group() -> None:
    """Shares, distance and range counts against plain numpy on the rows of the fit."""
    fitted, new = rows_of(0, 3000, digits=1), rows_of(5, 900, digits=1, shift=0.3)
    found = checked(quick_model(*fitted), new, True, bootstrap=0)
    for group in found.groups:
        (old, old_y), (now, now_y) = ((s[g == group.group], y[g == group.group]) for s, y, g in (fitted, new))
        assert (group.rows, group.fitted_rows) == (len(now), len(old))
        assert (group.below, group.above) == ((now < old.min()).sum(), (now > old.max()).sum())
        assert group.share == pytest.approx(len(now) / 900) and group.fitted_share == pytest.approx(len(old) / 3000)
        assert group.positive_share == pytest.approx(now_y.mean())
        assert group.fitted_positive_share == pytest.approx(old_y.mean())
        assert group.outside_expected == pytest.approx(2 * len(now) / (len(old) + 1))
        for what, keep in (("scores", (0, 1)), ("negatives", (0,)), ("positives", (1,))):
            shift, ends = getattr(group, what), np.unique(np.concatenate((old, now)))
            shares = [[(s[np.isin(y, keep)] >= t).mean() for t in ends] for s, y in ((old, old_y), (now, now_y))]
            assert shift.distance == pytest.approx(np.abs(np.subtract(*shares)).max(), abs=1e-12)
            reach = np.greater if shift.above else np.greater_equal
            assert shift.share == pytest.approx(reach(now[np.isin(now_y, keep)], shift.score).mean())
            assert abs(shift.share - shift.fitted_share) == pytest.approx(shift.distance)


def test_weights_that_repeat_rows() -> None:
    """Equal weights change nothing; rows of weight 0 are not there."""
    scores, y, groups = NEW
    plain, even = checked(MODEL, NEW, True), checked(MODEL, NEW, True, sample_weight=np.full(len(y), 2.5))
    assert [t.p_value for t in even.tests] == pytest.approx([t.p_value for t in plain.tests])
    assert even.gap.gap == pytest.approx(plain.gap.gap, abs=1e-12)
    assert even.gap.interval.bootstrap == pytest.approx(plain.gap.interval.bootstrap, abs=0.01)
    more = (np.append(scores, 99.0), np.append(y, 1), np.append(groups, "z"))
    none = checked(MODEL, more, True, sample_weight=np.append(np.ones(len(y)), 0.0))
    assert not none.unknown and none.rows == len(y) and not none.drifted


def test_scores_outside_the_range() -> None:
    scores, y, groups = (part.copy() for part in NEW)
    scores[np.flatnonzero(groups == "b")[:15]] = 50.0
    found = checked(MODEL, (scores, y, groups))
    assert [(t.what, t.group) for t in found.tests if t.found] == [("range", "b")]
    assert "15 above" in found.reasons[0] and found.groups[1].above == 15


def test_one_row_of_a_new_group() -> None:
    scores, y, groups = (part.copy() for part in NEW)
    groups[0] = "z"
    assert "'z' (1 row)" in checked(MODEL, (scores, y, groups)).reasons[0]


def test_groups_that_come_and_go() -> None:
    scores, y, groups = (part.copy() for part in NEW)
    groups[:7] = "z"
    found = checked(MODEL, (scores, y, groups), True)
    assert [(u.group, u.rows) for u in found.unknown] == [("z", 7)]
    assert found.reasons == (found.reasons[0],) and "'z' (7 rows)" in found.reasons[0]
    assert found.gap.groups == ("a", "b")
    mapped = checked(MODEL, (scores, y, groups), on_unknown_group="a")
    assert not mapped.drifted and any("treated as group 'a'" in doubt for doubt in mapped.doubts)
    with pytest.raises(DataError, match="on_unknown_group must name a group of the model"):
        checked(MODEL, NEW, on_unknown_group="q")
    lost = np.array([None if g == "z" else g for g in groups], dtype=object)
    assert checked(MODEL, (scores, y, lost)).unknown[0].group == "(missing)"


def test_missing_groups() -> None:
    only = NEW[2] == "a"
    gone = checked(MODEL, tuple(part[only] for part in NEW), True)
    assert gone.groups[1].status == "missing" and gone.groups[1].rows == 0
    assert any("'b' has no rows" in reason for reason in gone.reasons)
    assert gone.gap is None and "fewer than two groups" in gone.gap_reason
    few = checked(MODEL, tuple(part[only][:2] for part in NEW))
    assert not few.drifted and any("by chance" in doubt for doubt in few.doubts)
    moved = checked(MODEL, rows_of(9, 2000, parts=(0.7, 0.3)))
    assert "the groups' shares of all people moved" in moved.reasons[0]


def test_too_few_rows_are_not_called_fine() -> None:
    found = checked(MODEL, tuple(part[:30] for part in NEW))
    assert not found.drifted and {g.status for g in found.groups} == {"too few rows"}
    needed = found.groups[0].rows_needed
    assert f"{needed:,} rows are needed" in found.doubts[0]
    assert "some checks were inconclusive" in drift_text(found).splitlines()[0]
    tiny = quick_model(*rows_of(0, 60))
    assert checked(tiny, NEW).groups[0].rows_needed is None


# ---- the gap -------------------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(SEEDS, st.sampled_from([0.05, 0.3]), st.sampled_from([1, "inf"]), st.sampled_from(["few", "never", "all"]))
def test_gap_is_the_expected_one(seed, epsilon, norm, draw) -> None:
    """Gap and AUCs are those of the expected rows, weighted or not."""
    scores, y, groups = rows_of(seed, 400)
    found = FairROC(epsilon=epsilon, norm=norm, draw=draw, salt=1).fit(scores, y, sensitive_features=groups).model_
    new, labels, of = rows_of(seed + 1, 300, digits=1)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, 300)
    for mass in (None, weights):
        gap = found.check(new, sensitive_features=of, y=labels, sample_weight=mass, bootstrap=200).gap
        columns = read_people(new, labels, sensitive_features=of, sample_weight=mass)
        people = expected_people(found, columns).exact
        assert gap.gap == pytest.approx(threshold_gap(people, equalized_odds(norm)).value, abs=1e-9)
        before = audit(new, labels, sensitive_features=of, sample_weight=mass, bootstrap=0)
        assert gap.auc_before == pytest.approx(before.auc, abs=1e-12) and gap.resolution == 0.0
        low, high = gap.interval.bootstrap
        assert low <= gap.gap <= high
        assert (gap.interval.dkw is None) == (mass is not None)


def test_gap_of_an_unchanged_score_is_the_audit() -> None:
    found = model_of(epsilon=2.0)
    scores, y, groups = NEW
    gap = checked(found, NEW, True).gap
    known = audit(scores, y, sensitive_features=groups)
    assert (gap.gap, gap.interval.dkw, gap.auc) == (known.gap, known.gap_interval.dkw, known.auc)
    assert gap.interval.bootstrap == known.gap_interval.bootstrap
    assert gap.answer == "within"


def test_three_answers() -> None:
    wide, unclear, outside = (
        checked(model_of(epsilon=0.4), rows_of(7, 20000), True),
        checked(model_of(epsilon=0.05), rows_of(7, 300), True),
        checked(model_of(epsilon=0.05), rows_of(7, 4000, shift=0.8), True),
    )
    assert [found.gap.answer for found in (wide, unclear, outside)] == ["within", "unclear", "outside"]
    assert not wide.doubts and not wide.drifted
    assert unclear.gap.rows_needed > 300 and not unclear.drifted
    assert any("outside epsilon = 0.05" in reason for reason in outside.reasons)
    small = checked(MODEL, tuple(part[:60] for part in NEW), True)
    assert small.gap.method == "dkw"


def test_intervals_cover_the_gap_of_all_people() -> None:
    """The gap of a large population lies in both intervals of nearly all samples (95 % at least)."""
    truth = checked(MODEL, rows_of(99, 200_000), True, bootstrap=0).gap
    inside = {"dkw": 0, "bootstrap": 0}
    for seed in range(100, 160):
        interval = checked(MODEL, rows_of(seed, 600), True, bootstrap=200).gap.interval
        for kind in inside:
            low, high = getattr(interval, kind)
            inside[kind] += low - truth.resolution <= truth.gap <= high + truth.resolution
    assert inside["dkw"] >= 59 and inside["bootstrap"] >= 52


def test_a_group_of_one_label_is_left_out() -> None:
    scores, y, groups = (part.copy() for part in rows_of(1, 2000, parts=(0.4, 0.4, 0.2)))
    found = model_of(parts=(0.4, 0.4, 0.2))
    y[groups == "c"] = 0
    gap = checked(found, (scores, y, groups), True)
    assert gap.gap.groups == ("a", "b")
    assert any("'c' is left out of the gap" in doubt for doubt in gap.doubts)


def test_weighted_rows_without_a_bootstrap_have_no_interval() -> None:
    found = checked(MODEL, NEW, True, bootstrap=0, sample_weight=np.ones(len(NEW[0])))
    assert found.gap is None and "need a bootstrap" in found.gap_reason


def test_merged_scores_are_accounted_for() -> None:
    """With very many scores the gap is off by the stated resolution at most."""
    rows = rows_of(11, 300_000, digits=15)
    gap = checked(MODEL, rows, True, bootstrap=0).gap
    people = expected_people(MODEL, read_people(rows[0], rows[1], sensitive_features=rows[2])).exact
    exact = threshold_gap(people, equalized_odds(MODEL.norm)).value
    assert 0 < gap.resolution < 0.001 and abs(gap.gap - exact) <= gap.resolution


# ---- the command line ----------------------------------------------------------------------------------------


HOW = ("--score", "p", "--group", "sex")


def test_monitor_exit_codes(tmp_path: Path, run: Run, model: Path) -> None:
    same = run("monitor", write(tmp_path), "--model", model, *HOW)
    assert same.code == 0 and same.out.startswith("No drift found in 800 rows")
    high = [{**row, "p": str(min(1.0, float(row["p"]) + 0.3))} for row in PEOPLE]
    moved = run("monitor", write(tmp_path, high, "high.csv"), "--model", model, *HOW, "--label", "y")
    assert moved.code == 1 and moved.out.startswith("DRIFT: ")
    strange = [{**row, "sex": "X"} if i < 3 else row for i, row in enumerate(PEOPLE)]
    unknown = run("monitor", write(tmp_path, strange, "x.csv"), "--model", model, *HOW)
    assert unknown.code == 1 and "'X' (3 rows)" in unknown.out
    told = run("monitor", tmp_path / "x.csv", "--model", model, *HOW, "--on-unknown-group", "F")
    assert told.code == 0


def test_monitor_json_is_the_result(tmp_path: Path, run: Run, model: Path) -> None:
    path = write(tmp_path, name="d.parquet")
    ran = run("monitor", path, "--model", model, *HOW, "--label", "y", "--weight", "w", "--format", "json")
    found = FairModel.load(model).check(
        [float(row["p"]) for row in PEOPLE],
        sensitive_features=[row["sex"] for row in PEOPLE],
        y=[int(row["y"]) for row in PEOPLE],
        sample_weight=[float(row["w"]) for row in PEOPLE],
    )
    assert ran.json == json.loads(drift_json(found))
    assert ran.json["drifted"] is False and ran.code == 0
    again = run("monitor", path, "--model", model, *HOW, "--label", "y", "--weight", "w", "--format", "json")
    assert again.out == ran.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--confidence", "2"), "confidence must lie between 0 and 1"),
        (("--bootstrap", "7"), "bootstrap must be a whole number"),
        (("--pos-label", "1"), "--pos-label goes with --label"),
        (("--label", "nowhere"), "no column 'nowhere'"),
        (("--on-unknown-group", "Q"), "--on-unknown-group"),
    ],
)
def test_monitor_that_cannot_run(tmp_path: Path, run: Run, model: Path, options, words) -> None:
    run("monitor", write(tmp_path), "--model", model, *HOW, *options).refused(words)


def test_monitor_without_a_model(tmp_path: Path, run: Run) -> None:
    run("monitor", write(tmp_path), "--model", tmp_path / "none.json", *HOW).refused("no model file")
