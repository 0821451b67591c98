"""Counts are as good as the rows they count: same model, same audit; they add up; bins cost what they say."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc import FairModel, ScoreCounts, audit, audit_counts
from fairroc.auditing.audit import Settings, audit_people
from fairroc.core.constraint import distance_of
from fairroc.core.gap import threshold_gap
from fairroc.core.roc import rates_at
from fairroc.errors import DataError, FairrocWarning, SmallGroupWarning
from fairroc.fitting.certificate import certify
from fairroc.fitting.fit import fit
from fairroc.fitting.frontier import frontier_of
from fairroc.model.file import dumps
from fairroc.people.counts import bin_edges
from fairroc.people.door import people_of
from fairroc.people.rows import Columns
from fairroc.text.audit import audit_text
from fairroc.text.certificate import certificate_text
from fitted_people import FairROC, fit_counts, fitted_options
from oracles import population_of
from refusals import refuses
from strategies import POOLS, SEEDS, Sample, populations
from strategies import samples as one_sample

DATE = datetime(2024, 5, 6, tzinfo=UTC)
ROWS = populations(max_groups=5, max_rows=60, weights=("none",))
OPTIONS = st.sampled_from(
    [
        {"epsilon": 0.05},
        {"epsilon": 0.1, "draw": "all"},
        {"epsilon": 0.0, "draw": "all", "norm": "inf"},
        {"epsilon": 0.2, "norm": "inf"},
        {"epsilon": 0.1, "queries": 5},
        {"epsilon": 0.1, "method": "froc"},
        {"epsilon": 2.0},
        {"epsilon": 0.1, "min_class_rows": 2},
    ]
)
NAMES = [*"abcdefgh"]


def columns_of(people: list[Sample], seed: int = 0) -> Columns:
    """All groups' rows together, shuffled."""
    order = np.random.default_rng(seed).permutation(sum(len(part.scores) for part in people))
    groups = np.repeat(np.arange(len(people), dtype=np.int8), [len(part.scores) for part in people])[order]
    weights = None if people[0].weights is None else np.concatenate([part.mass for part in people])[order]
    scores = np.concatenate([part.scores for part in people])[order]
    labels = np.concatenate([part.labels for part in people])[order]
    return Columns(scores, labels, groups, tuple(NAMES[: len(people)]), weights)


def rows_of(columns: Columns, part: Any = slice(None)) -> dict[str, Any]:
    """Some rows, as arguments of ``from_rows``."""
    names = np.array(columns.names)
    found = {"scores": columns.scores[part], "y": columns.labels[part].astype(int)}
    return found | {"sensitive_features": names[columns.groups[part]]}


def outcome(work: Callable[[], Any]) -> tuple[Any, list[str]]:
    """The result, or the error's words, and all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = work()
        except DataError as error:
            found = str(error)
    return found, [str(warning.message) for warning in caught]


def highest(counts: ScoreCounts) -> float:
    """What no score of the first group exceeds."""
    return counts.people(whole=False).samples[0].highest


def same(one: ScoreCounts, other: ScoreCounts) -> bool:
    """Every number, and how it is stored."""
    kinds = zip(
        *[(*c.scores, *c.negatives, *c.positives, *(c._spread(g) for g in range(len(c.names)))) for c in (one, other)],
        strict=True,
    )
    plain = [(c.names, c.weighted, c.bits, c.rows, c.error) for c in (one, other)]
    return plain[0] == plain[1] and all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in kinds)


# ---- the same as rows --------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(ROWS, OPTIONS, SEEDS)
def test_same_model_as_from_rows(people, options, seed):
    """Byte for byte: curves, groups, fingerprint; and the same warnings and errors."""
    columns = columns_of(people, seed)
    counts, asked = ScoreCounts.from_columns(columns), fitted_options(**options)
    rows, cells = (
        outcome(lambda d=d: dumps(fit(d, asked, salt=7, date=DATE).model))
        for d in (people_of(columns), counts.people())
    )
    assert rows == cells
    assert counts.rows == len(columns.scores) and counts.bits is None and counts.error == 0.0


@settings(max_examples=40)
@given(ROWS, st.sampled_from([1, 1.7, "inf"]), st.sampled_from([0, 100]), SEEDS)
def test_same_audit_as_of_rows(people, norm, draws, seed):
    """Intervals and bootstrap too: a count of five is five rows, not one of weight five."""
    columns = columns_of(people, seed)
    counts = ScoreCounts.from_columns(columns)
    asked = {"norm": norm, "epsilon": 0.3, "threshold": 0.5, "bootstrap": draws, "random_state": seed}
    rows, cells = (
        outcome(lambda d=data: audit_people(d, Settings.checked(**asked)).to_dict())
        for data in (people_of(columns), counts.people())
    )
    assert rows == cells


@settings(max_examples=8)
@given(ROWS, SEEDS)
def test_same_frontier_and_certificate_as_of_rows(people, seed):
    columns = columns_of(people, seed)
    plain = fitted_options(epsilon=0.05, draw="all")
    found = []
    for data in (people_of(columns), ScoreCounts.from_columns(columns).people()):
        points, _ = outcome(lambda d=data: frontier_of(d, plain, epsilons=[0, 0.1], bound=False).to_dict())
        certificate, _ = outcome(lambda d=data: certify(fit(d, plain, salt=1)).to_dict())
        found.append((points, {**certificate, "seconds": 0}))
    assert found[0] == found[1]


@settings(max_examples=40)
@given(populations(max_groups=4, weights=("mild", "zeros", "wild")), SEEDS)
def test_weighted_counts(people, seed):
    """The same curves but for the rounding of sums; every cell is one weighted row."""
    people = [Sample(part.scores, part.labels, part.mass) for part in people]
    columns = columns_of(people, seed)
    counts = ScoreCounts.from_columns(columns)
    assert counts.weighted and counts.negatives[0].dtype == np.float64
    for one, other in zip(people_of(columns).samples, counts.people().samples, strict=True):
        assert np.array_equal(one.curve.thresholds, other.curve.thresholds)
        assert np.abs(one.curve.fpr - other.curve.fpr).max() <= 1e-12
        assert np.abs(one.curve.tpr - other.curve.tpr).max() <= 1e-12
        assert one.totals == pytest.approx(other.totals)
    used = columns.weights > 0
    cells = set(zip(columns.groups[used], columns.labels[used], columns.scores[used], strict=True))
    assert counts.rows == len(cells) == int(counts.people().class_rows().sum())
    gaps = [threshold_gap(data.exact, distance_of(1.0)).value for data in (people_of(columns), counts.people())]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-11)


def test_weighted_audit_of_distinct_scores_is_that_of_rows():
    """With one row for each score, a cell is a row."""
    rng, n = np.random.default_rng(4), 600
    scores, y, sex = rng.permutation(n) / n, rng.integers(0, 2, n), rng.choice(["f", "m"], n)
    weights = rng.uniform(1, 3, n)
    rows = audit(scores, y, sensitive_features=sex, sample_weight=weights, bootstrap=100)
    cells = audit_counts(ScoreCounts.from_rows(scores, y, sensitive_features=sex, sample_weight=weights), bootstrap=100)
    assert (rows.rows, rows.gap, rows.gap_pair) == (cells.rows, pytest.approx(cells.gap), cells.gap_pair)
    assert cells.gap_interval.bootstrap == pytest.approx(rows.gap_interval.bootstrap)
    assert cells.gap_interval.dkw is None and cells.auc_interval is None


def test_counts_are_no_weights():
    """Ten times the people, ten times as much is known: intervals narrow, and nothing grows with the counts."""
    scores, groups = np.tile(np.arange(10), 2), np.repeat(["a", "b"], 10)
    positives, negatives = np.arange(1, 21), np.arange(20, 0, -1)
    widths, gaps = [], []
    for times in (1, 100, 10**10):
        counts = ScoreCounts.from_table(scores, positives * times, negatives * times, sensitive_features=groups)
        found = outcome(lambda c=counts: audit_counts(c, bootstrap=0))[0]
        widths.append(found.groups[0].band.dkw[0])
        gaps.append(found.gap)
        fitted = outcome(lambda c=counts: fit_counts(c, 0.05, draw="all"))[0]
        assert fitted.certificate_.gap <= 0.05 and fitted.certificate_.rows == 420 * times
    assert gaps[0] == gaps[1] == gaps[2]
    assert widths[0] == pytest.approx(10 * widths[1]) == pytest.approx(1e5 * widths[2])


def test_estimator_and_function():
    rng, n = np.random.default_rng(1), 3000
    sex, y = rng.choice(["f", "m"], n), rng.integers(0, 2, n)
    scores = np.round(y + rng.normal(size=n) * np.where(sex == "f", 1, 2), 1)
    counts = ScoreCounts.from_rows(scores, y, sensitive_features=sex)
    params = {"epsilon": 0.1, "salt": 3, "draw": "all"}
    rows = FairROC(**params).fit(scores, y, sensitive_features=sex)
    for post in (FairROC(**params).fit_counts(counts), fit_counts(counts, **params)):
        mine, other = (p.transform(scores, sensitive_features=sex, random_state=0) for p in (post, rows))
        assert np.array_equal(mine, other)
        assert post.n_features_in_ == 1 and post.certificate_.gap == rows.certificate_.gap
        assert post.certificate_.count_error == 0.0


# ---- where counts come from ----------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(ROWS, SEEDS, st.integers(1, 5))
def test_parts_add_up_to_the_whole(people, seed, pieces):
    """However rows are dealt into parts, which may lack labels or groups, and in whatever order parts are merged."""
    columns = columns_of(people, seed)
    rng = np.random.default_rng(seed)
    part = rng.integers(0, pieces, len(columns.scores))
    parts = [ScoreCounts.from_rows(**rows_of(columns, part == i)) for i in range(pieces) if (part == i).any()]
    whole = ScoreCounts.from_columns(columns)
    assert same(parts[0].merge(*parts[1:]), whole)
    for order in list(permutations(parts))[:4]:
        left, right = order[0], order[-1]
        for one in order[1:]:
            left = left + one
        for one in order[-2::-1]:
            right = one + right
        assert same(left, whole) and same(right, whole)


@settings(max_examples=40)
@given(ROWS, SEEDS)
def test_tables_and_cells(people, seed):
    """An aggregated table, its rows repeated and in any order, and plain cells: the counts of the rows."""
    columns = columns_of(people, seed)
    whole, row = ScoreCounts.from_columns(columns), np.random.default_rng(seed).permutation(len(columns.scores))
    hits, names = columns.labels[row].astype(int), np.array(columns.names)[columns.groups[row]]
    table = ScoreCounts.from_table(columns.scores[row], hits, 1 - hits, sensitive_features=names)
    assert same(table, whole)
    assert same(ScoreCounts.from_cells(columns.taken(row), np.ones(len(row), dtype=int)), whole)


def test_zero_is_zero():
    counts = ScoreCounts.from_rows([-0.0, 0.0, 1.0], [0, 1, 1], sensitive_features=["a"] * 3)
    assert counts.scores[0].tolist() == [0.0, 1.0] and not np.signbit(counts.scores[0]).any()
    table = ScoreCounts.from_table([-0.0, 0.0], [1, 2], [0, 0], sensitive_features=["a"] * 2)
    assert table.positives[0].tolist() == [3] and not np.signbit(table.scores[0]).any()


def test_empty_cells_are_left_out_but_groups_stay():
    counts = ScoreCounts.from_table([1, 2, 3], [0, 1, 0], [0, 0, 0], sensitive_features=["a", "a", "b"])
    assert counts.names == ("a", "b") and [part.tolist() for part in counts.scores] == [[2.0], []]
    assert counts.rows == 1 and counts.people(whole=False).class_rows().tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("labels", "positives"),
    [([1, 1], 2), ([0, 0], 0), ([-1, -1], 0), ([True, True], 2), ([False, False], 0)],
)
def test_parts_with_one_label(labels, positives):
    counts = ScoreCounts.from_rows([0.5, 0.5], labels, sensitive_features=["a", "a"])
    assert counts.positives[0].tolist() == [positives]


def test_parts_with_one_text_label():
    for label, positives in (("yes", 1), ("no", 0)):
        counts = ScoreCounts.from_rows([0.5], [label], sensitive_features=["a"], pos_label="yes")
        assert counts.positives[0].tolist() == [positives]
    refuses("y holds 'no'; pass pos_label=", ScoreCounts.from_rows, [0.5], ["no"], sensitive_features=["a"])


def test_fractions_are_weights():
    with pytest.warns(FairrocWarning, match="1 of 4 counts are fractional, so all are taken for weights"):
        counts = ScoreCounts.from_table([1, 2], [0.5, 1], [1, 1], sensitive_features=["a", "b"])
    assert counts.weighted and counts.positives[0].tolist() == [0.5]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"positives": [1, -1]},
            r"positives \(.*: --positives\) must be >= 0, but 1 of 2 are negative",
        ),
        ({"negatives": [1, None]}, "negatives .* must not be missing, but 1 of 2 are"),
        ({"negatives": [1, float("nan")]}, "negatives .* must not be missing"),
        ({"positives": ["1", "x"]}, "positives .* must be real numbers"),
        ({"positives": [2**60, 1]}, r"must sum to 2\*\*48 at most"),
        ({"scores": [1, float("inf")]}, "scores must be finite"),
        ({"scores": [1]}, "same number of rows, got scores 1, positives 2, negatives 2"),
        ({"sensitive_features": ["a", None]}, "must not be missing"),
        ({"scores": [], "positives": [], "negatives": [], "sensitive_features": []}, "at least one row"),
    ],
)
def test_bad_tables(change, words):
    table = {"scores": [1, 2], "positives": [1, 2], "negatives": [3, 4], "sensitive_features": ["a", "b"]} | change
    refuses(words, ScoreCounts.from_table, **table)


@pytest.mark.parametrize("use", [fit_counts, audit_counts])
def test_incomplete_counts(use):
    """Parts may lack people; a fit or an audit may not."""
    one = ScoreCounts.from_table([1], [1], [1], sensitive_features=["a"])
    refuses("one group only: 'a' holds all 2 rows", use, one)
    with pytest.raises(DataError, match="group 'b' has 3 rows, all with label 1; a ROC curve needs both labels"):
        use(one + ScoreCounts.from_table([1], [3], [0], sensitive_features=["b"]))
    refuses("hold nobody", use, ScoreCounts((), (), (), ()))


def test_misuse_of_the_estimator():
    refuses(r"counts must be a fairroc\.ScoreCounts, got list", FairROC().fit_counts, [1, 2])
    counts = ScoreCounts.from_table([1, 1], [9, 9], [9, 9], sensitive_features=["a", "b"])
    refuses("on_unknown_group must be a fitted group", FairROC(on_unknown_group="c").fit_counts, counts)
    with pytest.warns(SmallGroupWarning, match="group 'a' has 9 rows with label 0"):
        assert FairROC().fit_counts(counts).model_.unchanged


# ---- bins ----------------------------------------------------------------------------------------------------------

BITS = st.sampled_from([12, 13, 14, 16, 20, 40, 63])
DOUBLES = st.one_of(st.floats(-1e307, 1e307), st.sampled_from([x for pool in POOLS.values() for x in pool]))


@given(st.lists(DOUBLES, min_size=1, max_size=30), BITS, BITS)
def test_edges(scores, bits, fewer):
    values = np.sort(np.array(scores) + 0.0)
    edges = bin_edges(values, bits)
    assert np.isfinite(edges).all() and (edges <= values).all() and (np.diff(edges) >= 0).all()
    assert np.array_equal(bin_edges(edges, bits), edges)
    assert np.array_equal(bin_edges(edges, min(bits, fewer)), bin_edges(values, min(bits, fewer)))
    below = np.nextafter(edges, -np.inf)
    assert (bin_edges(below, bits) < edges).all()


def test_edges_of_twelve_bits_are_powers_of_two():
    assert bin_edges(np.array([0.3, 1.0, 5.9]), 12).tolist() == [0.25, 1.0, 4.0]
    assert bin_edges(np.array([0.3, 1.0, 5.9]), 13).tolist() == [0.25, 1.0, 4.0]
    assert bin_edges(np.array([0.4, 1.6, 7.9]), 13).tolist() == [0.375, 1.5, 6.0]


def spread_people(draw: int, groups: int, most: int = 60) -> Columns:
    """Scores that share few bins."""
    rng = np.random.default_rng(draw)
    people = []
    for _ in range(groups):
        n = int(rng.integers(2, most))
        scores = rng.choice([rng.uniform(0.9, 1.1, n), rng.normal(size=n), np.round(rng.uniform(0, 1, n), 1)])
        labels = rng.random(n) < 0.5
        labels[:2] = [False, True]
        people.append(Sample(scores, labels))
    return columns_of(people, draw)


@settings(max_examples=80)
@given(SEEDS, st.integers(2, 4), BITS)
def test_error_of_bins(seed, groups, bits):
    """Against all thresholds there are: rates are never too high, and too low by no more than is said; so are gaps."""
    columns = spread_people(seed, groups)
    exact = ScoreCounts.from_columns(columns)
    cut = exact.binned(bits)
    assert cut.rows == exact.rows
    values = np.concatenate(exact.scores)
    at = np.unique(np.concatenate((values, np.nextafter(values, 9), np.nextafter(values, -9), bin_edges(values, bits))))
    curves, coarse = ([sample.curve for sample in c.people().samples] for c in (exact, cut))
    worst = 0.0
    for one, other in zip(curves, coarse, strict=True):
        for true, said in zip(rates_at(one, at), rates_at(other, at), strict=True):
            assert (said <= true).all()
            worst = max(worst, float((true - said).max()))
    assert worst <= cut.error + 1e-15
    assert (cut.error == 0) == (worst == 0)
    for norm, p in ((1, 1.0), (1.5, 1.5), ("inf", np.inf)):
        true = threshold_gap(population_of(curves), distance_of(p)).value
        found = outcome(lambda norm=norm: audit_counts(cut, norm=norm, bootstrap=0, epsilon=0.2))[0]
        assert found.gap - 1e-12 <= true <= found.gap_limit + 1e-12
        assert found.count_error == cut.error
        assert not found.fair or true <= 0.2 + 1e-9


@settings(max_examples=20)
@given(SEEDS, st.sampled_from([1, "inf"]), st.sampled_from(["few", "all"]), st.sampled_from([None, 6]), BITS)
def test_fair_score_from_bins_on_the_people_themselves(seed, norm, draw, queries, bits):
    """The stated gap and twice the error (once in the largest norm) bound the gap of the rows at any threshold."""
    columns = spread_people(seed, 2, 200)
    cut = ScoreCounts.from_columns(columns).binned(bits)
    asked = fitted_options(epsilon=0.1, norm=norm, draw=draw, queries=queries)
    fitted = outcome(lambda: fit(cut.people(), asked, salt=1))[0]
    groups = np.array(columns.names)[columns.groups]
    places = np.quantile(columns.scores, np.linspace(0, 1, 40))
    stated = max(fitted.performance.gap, 0.0) + (2 if norm == 1 else 1) * cut.error
    model = FairModel.of(fitted.model)
    for threshold in np.unique(np.concatenate((places, bin_edges(places, bits)))):
        rate = model.acceptance_rate(columns.scores, sensitive_features=groups, threshold=threshold)
        means = [[rate[(columns.groups == g) & (columns.labels == c)].mean() for c in (False, True)] for g in (0, 1)]
        apart = np.abs(np.subtract(*means))
        assert (apart.sum() if norm == 1 else apart.max()) <= stated + 1e-9


@settings(max_examples=60)
@given(SEEDS, BITS, BITS, st.integers(1, 4))
def test_cutting_and_merging_in_any_order(seed, bits, other, pieces):
    columns = spread_people(seed, 3)
    whole = ScoreCounts.from_columns(columns)
    least = min(bits, other)
    assert same(whole.binned(bits).binned(other), whole.binned(least))
    part = np.random.default_rng(seed).integers(0, pieces, len(columns.scores))
    parts = [ScoreCounts.from_rows(**rows_of(columns, part == i)) for i in range(pieces) if (part == i).any()]
    cuts = [one.binned(bits) for one in parts]
    assert same(cuts[0].merge(*cuts[1:]), whole.binned(bits))
    mixed = [parts[0].binned(least), *(one.binned(bits) for one in parts[1:2]), *parts[2:]]
    assert same(mixed[-1].merge(*mixed[:-1]), whole.binned(least))


def test_scores_on_edges_lose_nothing():
    """Deciles and other short binary fractions are edges themselves: such bins are exact, and known to be."""
    counts = ScoreCounts.from_table(np.arange(1, 11), [5] * 10, [6] * 10, sensitive_features=["a"] * 10)
    assert counts.binned(16).error == 0.0 and counts.binned(12).error == pytest.approx(4 / 10)
    cells = Columns(np.ones(2), np.array([False, True]), np.zeros(2, int), ("a",), None)
    unknown = ScoreCounts.from_cells(cells, np.ones(2, int), bits=20)
    assert unknown.error == 1.0 and unknown.binned(14).error == 1.0


def test_the_top_of_the_last_bin():
    counts = ScoreCounts.from_rows([0.3, 0.3, 0.7], [0, 1, 1], sensitive_features=["a"] * 3)
    assert highest(counts) == 0.7 and highest(counts.binned(12)) == np.nextafter(1.0, 0)
    assert highest(ScoreCounts.from_rows([0.5], [0], sensitive_features=["a"]).binned(12)) == 0.5


@pytest.mark.parametrize("bits", [11, 64, 0, -1, 12.5, True, "20", None])
def test_bad_bits(bits):
    with pytest.raises(DataError, match="bits must be a whole number from 12 to 63"):
        ScoreCounts.from_rows([1], [1], sensitive_features=["a"]).binned(bits)


def test_bins_are_stated():
    rng, n = np.random.default_rng(0), 2000
    y, sex = rng.integers(0, 2, n), rng.choice(["f", "m"], n)
    scores = y + rng.normal(size=n) * np.where(sex == "f", 1, 2)
    exact = ScoreCounts.from_rows(scores, y, sensitive_features=sex)
    cut = exact.binned(17)
    assert 0 < cut.error < 0.1
    for norm, times in ((1, 2), ("inf", 1)):
        found = fit_counts(cut, 0.1, norm=norm, draw="all").certificate_
        assert found.count_error == cut.error and found.to_dict()["count_error"] == cut.error
        said = f"rates can be too low by up to {cut.error:.2g}, so gaps can exceed those stated by up to"
        assert f"{said} {times * cut.error:.2g}" in certificate_text(found)
    assert "bins" not in certificate_text(fit_counts(exact, 0.1, draw="all").certificate_)
    gap = audit_counts(cut, bootstrap=0).gap
    open_, sure = (audit_counts(cut, bootstrap=0, epsilon=gap + x * cut.error) for x in (1, 3))
    assert (open_.fair, sure.fair) == (False, True)
    assert "The bins leave open whether the gap is within epsilon" in audit_text(open_)
    assert f"the gap is at most {open_.gap_limit:.3f}" in audit_text(sure) and "is within epsilon" in audit_text(sure)
    assert "bins" not in audit_text(audit_counts(exact, bootstrap=0, epsilon=0.1))


# ---- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("kind", ["exact", "binned", "weighted", "unknown"])
def test_files(tmp_path: Path, suffix, kind):
    columns = spread_people(3, 4)
    counts = ScoreCounts.from_columns(columns)
    if kind == "binned":
        counts = counts.binned(15)
    if kind == "weighted":
        rows = rows_of(columns) | {"sample_weight": np.linspace(0, 1, len(columns.scores))}
        counts = ScoreCounts.from_rows(**rows)
    if kind == "unknown":
        edges = replace(columns, scores=bin_edges(columns.scores, 15))
        counts = ScoreCounts.from_cells(edges, np.ones(len(columns.scores), int), bits=15)
    nobody = Columns(np.zeros(0), np.zeros(0, bool), np.zeros(0, int), ("nobody",), None)
    counts += ScoreCounts.from_cells(nobody, np.zeros(0, int))
    path = tmp_path / f"counts{suffix}"
    counts.save(path)
    assert same(ScoreCounts.load(path), counts)
    table = counts.to_arrow()
    assert same(ScoreCounts.from_arrow(table.take(np.random.default_rng(0).permutation(len(table)))), counts)


def test_bad_files(tmp_path: Path):
    counts = ScoreCounts.from_rows([0.3, 0.3, 0.7], [0, 1, 1], sensitive_features=["a"] * 3)
    refuses(r"must end in one of \.parquet", counts.save, tmp_path / "counts.csv")
    refuses(r"a file of counts must end in one of \.parquet", ScoreCounts.load, tmp_path / "counts.csv")
    refuses("there is no file", ScoreCounts.load, tmp_path / "counts.parquet")
    table = counts.to_arrow()
    about = table.schema.metadata[b"fairroc-counts"]
    for old, new, words in [
        (b"", None, "counts must carry their 'fairroc-counts' metadata"),
        (b'"version": 1', b'"version": 9', "version 1; these have version 9"),
        (b'"bits": null', b'"bits": 99', "metadata is damaged"),
        (b'["a"]', b'["b"]', "a group that their own list of groups lacks"),
        (b'"weighted": false', b'"weighted": true', "column 'negatives' .* cannot be counted"),
        (b'"bits": null', b'"bits": 20', "must have a column 'spread'"),
    ]:
        metadata = {} if new is None else {"fairroc-counts": about.replace(old, new)}
        refuses(words, ScoreCounts.from_arrow, table.replace_schema_metadata(metadata))
    negative = table.set_column(2, "negatives", [[-1, 0]])
    refuses("negative number of people", ScoreCounts.from_arrow, negative)


@given(one_sample(max_rows=40, weights=("none",)))
def test_one_group_is_a_part(sample):
    """No group or label is needed for counting."""
    counts = ScoreCounts.from_columns(columns_of([sample]))
    assert counts.rows == len(sample.scores)
    assert counts.positives[0].sum() == sample.labels.sum()


def test_counts_do_not_share_the_callers_arrays() -> None:
    cells = np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([[9, 3], [5, 4]]), np.array([[2, 8], [3, 9]])
    cells = cells[0], 40 * cells[1], 40 * cells[2]
    counts = ScoreCounts(("a", "b"), *(tuple(part) for part in cells))
    post, other = (FairROC(0.05, salt=1, draw="all").fit_counts(counts) for _ in range(2))
    known = post.outlook_, post.one_draw_
    for part in cells:
        part[:] = 7
    assert counts.negatives[0].tolist() == [360, 120] and (other.outlook_, other.one_draw_) == known


def test_minus_zero_is_zero() -> None:
    """Rows, weighted rows, tables and counts made by hand give the same bytes of a model, whatever zero's sign."""
    rng = np.random.default_rng(0)
    groups, y = np.tile(["a", "b"], 300), rng.integers(0, 2, 600)
    scores = np.rint(y + np.where(groups == "a", 1.0, 2.0) * rng.normal(size=600))
    weights = np.linspace(0.5, 1.0, 600)
    found: dict[str, set[str]] = {"even": set(), "weighted": set()}
    for sign in (1.0, -1.0, np.where(rng.random(600) < 0.5, 1.0, -1.0)):
        for low, high in ((-9, 9), (0, 9), (-9, 0)):
            signed = np.where(scores.clip(low, high) == 0, np.copysign(0.0, sign), scores.clip(low, high))
            rows, how = (signed, y), {"sensitive_features": groups}
            counts = ScoreCounts.from_rows(*rows, **how)
            zero = float(np.copysign(0.0, signed[signed == 0][0]))
            by_hand = replace(counts, scores=tuple(np.where(part == 0, zero, part) for part in counts.scores))
            for kind, fitted in {
                "even": FairROC(0.1, salt=1, draw="all").fit(*rows, **how),
                "even ": fit_counts(counts, 0.1, salt=1, draw="all"),
                "even  ": fit_counts(by_hand, 0.1, salt=1, draw="all"),
                "weighted": FairROC(0.1, salt=1, draw="all").fit(*rows, **how, sample_weight=weights),
            }.items():
                model = replace(fitted.model_, record=replace(fitted.model_.record, date=""))
                found[kind.strip()].add(model.to_json())
    assert {kind: len(texts) for kind, texts in found.items()} == {"even": 3, "weighted": 3}  # one for each range
