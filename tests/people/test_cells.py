"""Counts give the very curves of the rows that were counted, whether all scores are kept or curves are thinned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sample import KINDS, some_columns

from fairroc.core.roc import RocCurve
from fairroc.people import sample
from fairroc.people.cells import TallySample
from fairroc.people.counts import ScoreCounts
from fairroc.people.door import people_of
from fairroc.people.rows import Columns
from fairroc.people.sample import CountedSample
from strategies import SEEDS


@contextmanager
def small() -> Iterator[None]:
    """A few hundred rows are many."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"WHOLE": 3, "FINE": 20, "LEAST": 1, "STEP": 4, "LOOK": 50, "CHUNK": 7}.items():
            patch.setattr(sample, name, value)
        yield


def assert_same_curve(one: RocCurve, other: RocCurve) -> None:
    for name in ("thresholds", "fpr", "tpr"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), name
    assert one.prior == other.prior


def assert_same_people(columns: Columns) -> None:
    """Every figure of the samples, bit for bit."""
    counts = ScoreCounts.from_columns(columns)
    rows, tallies = people_of(columns), counts.people()
    for part, tally in zip(rows.samples, tallies.samples, strict=True):
        assert isinstance(part, CountedSample) and isinstance(tally, TallySample)
        assert_same_curve(part.thin, tally.thin)
        assert_same_curve(part.curve, tally.curve)
        assert (part.thin is part.curve) == (tally.thin is tally.curve)
        assert part.hidden == tally.hidden and part.totals == tally.totals and part.highest == tally.highest
        values = part.curve.thresholds
        edges = [values[0] + 1, values[-1] - 1, *values, *np.nextafter(values, 9e307), *np.nextafter(values, -9e307)]
        at = np.array(edges)
        assert part.share_at(at).tobytes() == tally.share_at(at).tobytes()
    for a, b in zip(rows.queried(7).curves, tallies.queried(7).curves, strict=True):
        assert_same_curve(a, b)


@settings(max_examples=80)
@given(KINDS, st.integers(4, 800), SEEDS)
def test_same_as_rows(kind, n, seed):
    with small():
        assert_same_people(some_columns(kind, n, seed))


@settings(max_examples=40)
@given(st.integers(70, 300), st.integers(1, 40), SEEDS)
def test_same_as_rows_with_large_ties(distinct, most, seed):
    """Ties of very different size, some across many of the even positions at which rows are looked at."""
    rng = np.random.default_rng(seed)
    size = np.where(rng.random(distinct) < 0.1, rng.integers(1, most * most + 1, distinct), 1)
    scores = np.repeat(rng.normal(size=distinct), size)
    labels, groups = rng.random(len(scores)) < 0.4, rng.integers(0, 2, len(scores)).astype(np.int8)
    groups[:4], labels[:4] = [0, 0, 1, 1], [False, True, False, True]
    with small():
        assert_same_people(Columns(scores, labels, groups, ("a", "b"), None))


@pytest.mark.parametrize("spread", ["even", "normal", "clustered", "skewed"])
def test_same_as_rows_at_full_size(spread):
    """More distinct scores than are kept whole, with the real constants."""
    columns = some_columns(spread, 300_000, 5)
    tied = np.concatenate((columns.scores, np.repeat(columns.scores[:3], 5000)))
    rng = np.random.default_rng(1)
    more = len(tied) - len(columns.scores)
    labels = np.concatenate((columns.labels, rng.random(more) < 0.7))
    groups = np.concatenate((columns.groups, (rng.random(more) < 0.5).astype(np.int8)))
    both = Columns(tied, labels, groups, columns.names, None)
    assert len(np.unique(columns.scores[columns.groups == 0])) > sample.WHOLE * sample.FINE
    assert_same_people(both)


def test_large_counts_need_no_rows():
    """Ten times the counts give the same curve; billions of people fit into a few kilobytes."""
    rng = np.random.default_rng(3)
    scores, negatives = np.sort(rng.normal(size=200)), rng.integers(1, 9, 200)
    positives = rng.integers(0, 9, 200)
    one = TallySample(scores, negatives, positives, points=20)
    many = TallySample(scores, negatives * 10**9, positives * 10**9, points=20)
    assert_same_curve(one.curve, many.curve)
    assert many.people == one.people * 10**9
    with small():
        assert set(many.thin.thresholds) < set(scores)
        assert np.array_equal(one.thin.hull.u, many.thin.hull.u)
