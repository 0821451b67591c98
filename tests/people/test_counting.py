"""Counting without sorting: the bins of a binary search, the counts of one row at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairroc.core.roc import query_thresholds
from fairroc.people.counting import RankBins, grid_counts
from fairroc.people.counts import ScoreCounts, bin_edges
from fairroc.people.door import read_people
from oracles import query_curve
from strategies import POOLS, SEEDS

FINITE = st.floats(-1e307, 1e307)
ANY = st.one_of(FINITE, st.floats(-1, 1), st.sampled_from([x for pool in POOLS.values() for x in pool] + [-0.0]))
MANY = st.lists(ANY, min_size=1, max_size=60)


@given(MANY, st.integers(12, 24))
def test_bins_have_the_edges_of_counts(scores, bits):
    x = np.array(scores)
    x = x[(np.abs(x) > 0.01) & (np.abs(x) < 100) | (x == 0)] if bits > 16 else x
    if not len(x):
        return
    bins = RankBins.over(x.min(), x.max(), bits)
    (found, at_edge), edges = bins(x), bin_edges(x, bits)
    assert found.min() == 0 and found.max() == bins.size - 1
    used = np.unique(found)
    if bins.size < 1 << 22:
        assert bins.edges()[found].tobytes() == edges.tobytes()
    assert (at_edge == (x == edges)).all()
    assert len(used) == len(np.unique(edges))


@given(SEEDS, st.sampled_from(sorted(POOLS)), st.integers(1, 300), st.integers(1, 9))
def test_counts_are_those_of_single_rows(seed, pool, n, groups):
    rng = np.random.default_rng(seed)
    x, y, g = rng.choice(POOLS[pool], n), rng.random(n) < 0.5, rng.integers(0, groups, n).astype(np.int8)
    bins = RankBins.over(x.min(), x.max(), 12)
    right, edge = np.zeros((groups, 2, bins.size), dtype=int), np.zeros((groups, bins.size), dtype=int)
    for score, label, group, cell in zip(x, y, g, bins(x)[0], strict=True):
        right[group, int(label), cell] += 1
        edge[group, cell] += score == bin_edges(np.array([score]), 12)[0]
    both, at_edge = grid_counts(x, y, g, groups, bins)
    assert (both == right).all() and (at_edge == edge).all()


def test_many_blocks():
    rng = np.random.default_rng(0)
    n = 200_001
    x, y, g = rng.random(n), rng.random(n) < 0.3, rng.integers(0, 3, n)
    bins = RankBins.over(x.min(), x.max(), 16)
    found, _ = grid_counts(x, y, g, 3, bins)
    cell = (2 * g + y) * bins.size + bins(x)[0]
    assert (found.ravel() == np.bincount(cell, minlength=6 * bins.size)).all()


def rows(seed, pool, n=400, groups=3):
    rng = np.random.default_rng(seed)
    g, y = np.arange(n) % groups, (np.arange(n) // groups) % 2
    return (rng.normal(size=n) if pool == "normal" else rng.choice(POOLS[pool], n)), y, g


@given(SEEDS, st.sampled_from(["normal", *sorted(POOLS)]), st.integers(2, 60))
def test_queried_curves_are_those_of_each_group(seed, pool, queries):
    scores, y, g = rows(seed, pool)
    found = read_people(scores, y, sensitive_features=g).queried(queries)
    grid = query_thresholds(scores.min(), scores.max(), queries)
    for group, curve in enumerate(found.curves):
        mine = g == group
        right = query_curve(scores[mine], y[mine] > 0, None, grid)
        for part in ("thresholds", "fpr", "tpr"):
            assert getattr(curve, part).tobytes() == getattr(right, part).tobytes()
        assert curve.prior == right.prior


@given(SEEDS, st.sampled_from(["normal", *sorted(POOLS)]), st.integers(12, 63), st.booleans())
def test_counting_in_bins_is_binning_exact_counts(seed, pool, bits, weighted):
    scores, y, g = rows(seed, pool)
    how = {"sensitive_features": g, "sample_weight": np.arange(len(y)) + 1.0 if weighted else None}
    right = ScoreCounts.from_rows(scores, y, **how).binned(bits)
    found = ScoreCounts.from_rows(scores, y, **how, bits=bits)
    assert (found.names, found.bits, found.weighted, found.error) == (right.names, bits, weighted, right.error)
    for part in ("scores", "negatives", "positives", "spread"):
        for a, b in zip(getattr(found, part), getattr(right, part), strict=True):
            assert a.dtype == b.dtype and a.tobytes() == b.tobytes()
