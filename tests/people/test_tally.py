"""Rows counted as they come: exact or in bins, whatever the order and the batches."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.people import tally
from fairroc.people.counts import bin_edges
from fairroc.people.tally import Tally
from strategies import POOLS, SEEDS

EVERYWHERE = {
    **POOLS,
    "four digits": (np.arange(10_001) / 10_000).tolist(),
    "logits": [-1e300, -3.5, -0.0, 0.0, 2.25, 7.0, *np.linspace(-8, 8, 301).tolist()],
    "octaves": [float(sign * 2.0**power) for sign in (-1, 1) for power in range(-1022, 1022, 37)],
}


def rows_of(pool: str, seed: int, count: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=count) if pool == "many" else rng.choice(EVERYWHERE[pool], count)
    return scores, rng.integers(0, cells, count).astype(np.int8)


def tallied(most: int, scores: np.ndarray, cells: np.ndarray, cuts: Any = (), weights: Any = None) -> Tally:
    found = Tally(most, weighted=weights is not None)
    for part in np.split(np.arange(len(scores)), sorted(cuts)):
        found.add(scores[part], cells[part], None if weights is None else weights[part])
    return found


def contents(found: Tally) -> tuple[int | None, list[tuple[list[float], list[float], Any]]]:
    cells = [
        (c.scores.tolist(), c.counts.tolist(), None if c.spread is None else c.spread.tolist()) for c in found.result()
    ]
    while cells and not cells[-1][0]:
        cells.pop()
    return found.bits, cells


@given(
    st.sampled_from([*sorted(EVERYWHERE), "many"]),
    SEEDS,
    st.integers(1, 400),
    st.integers(1, 9),
    st.lists(st.integers(0, 400), max_size=4),
)
def test_exact_counts(pool: str, seed: int, count: int, cells: int, cuts: list[int]) -> None:
    scores, where = rows_of(pool, seed, count, cells)
    bits, found = contents(tallied(1 << 20, scores, where, cuts))
    assert bits is None
    expected = Counter(zip(where.tolist(), (scores + 0.0).tolist(), strict=True))
    for cell, (values, counts, spread) in enumerate(found):
        assert values == sorted(set(values)) and spread is None
        assert dict(zip(values, counts, strict=True)) == {s: n for (c, s), n in expected.items() if c == cell}
    assert sum(sum(counts) for _, counts, _ in found) == count


@given(
    st.sampled_from(["four digits", "logits", "octaves", "extreme", "many"]),
    SEEDS,
    st.integers(50, 2000),
    st.integers(1, 5),
    st.integers(8, 2000),
    st.lists(st.integers(0, 2000), max_size=4),
)
def test_bins(pool: str, seed: int, count: int, cells: int, most: int, cuts: list[int]) -> None:
    """In bins exactly if there are too many scores; then the bins are those of ScoreCounts, as many as are allowed."""
    scores, where = rows_of(pool, seed, count, cells)
    bits, found = contents(tallied(most, scores, where, cuts))
    distinct = len(set(zip(where.tolist(), scores.tolist(), strict=True)))
    assert (bits is None) == (distinct <= most)
    if bits is None:
        return
    edges = bin_edges(scores, bits)
    expected = Counter(zip(where.tolist(), edges.tolist(), strict=True))
    inside = {(c, e) for c, e, s in zip(where.tolist(), edges.tolist(), scores.tolist(), strict=True) if e != s}
    for cell, (values, counts, spread) in enumerate(found):
        assert values == sorted(set(values))
        assert dict(zip(values, counts, strict=True)) == {e: n for (c, e), n in expected.items() if c == cell}
        assert spread == [(cell, value) in inside for value in values]
    octaves = len(np.unique(bin_edges(scores, 12)))
    table = octaves * (int(where.max()) + 1)
    assert bits == 12 or table << (bits - 12) <= most
    assert bits == 63 or table << (bits - 11) > most


@given(st.sampled_from(["four digits", "logits", "many"]), SEEDS, st.sampled_from([16, 300, 5000]), st.booleans())
def test_order_and_batches_do_not_matter(pool: str, seed: int, most: int, crowd: bool) -> None:
    scores, where = rows_of(pool, seed, 1500, 4)
    rng = np.random.default_rng(seed)
    order = rng.permutation(1500)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "BLOCK", 64)
        if crowd:
            patch.setattr(tally, "GRID", 1)
            patch.setattr(tally, "TABLE", 64)
            patch.setattr(tally, "CROWDED", 32)
            patch.setattr(tally, "WAITING", 100)
        other = contents(tallied(most, scores[order], where[order], rng.integers(0, 1500, 6)))
    assert other == contents(tallied(most, scores, where))


@given(st.sampled_from(["ties", "four digits", "many"]), SEEDS, st.sampled_from([64, 5000]), st.booleans())
def test_whole_weights_count_like_rows(pool: str, seed: int, most: int, crowd: bool) -> None:
    """A weight of 3 is three rows, one of 0 is none."""
    scores, where = rows_of(pool, seed, 600, 4)
    times = np.random.default_rng(seed).integers(0, 4, 600)
    with pytest.MonkeyPatch.context() as patch:
        if crowd:
            patch.setattr(tally, "GRID", 1)
            patch.setattr(tally, "CROWDED", 32)
            patch.setattr(tally, "WAITING", 100)
        found = tallied(most, scores, where, [100, 300], times.astype(np.float64))
        cells = [(c.scores[c.counts > 0].tolist(), c.counts[c.counts > 0].tolist()) for c in found.result()]
    if found.bits is not None:
        scores = bin_edges(scores, found.bits)
    expected: Counter[tuple[int, float]] = Counter()
    for cell, score, mass in zip(where.tolist(), (scores + 0.0).tolist(), times.tolist(), strict=True):
        expected[cell, score] += mass
    for cell, (values, sums) in enumerate(cells):
        assert dict(zip(values, sums, strict=True)) == {s: n for (c, s), n in expected.items() if c == cell and n}


def test_cells_that_come_late() -> None:
    """In bins, new cells and powers of two make the bins coarser, and nothing is lost."""
    rng = np.random.default_rng(0)
    found = Tally(256)
    found.add(rng.uniform(0.5, 1, 1000), np.zeros(1000, dtype=np.int8))
    fine = found.bits
    found.add(np.array([1e-300, -1e300, 0.75]), np.array([40, 2, 40]))
    assert fine is not None and found.bits is not None and found.bits < fine
    assert sum(int(cell.counts.sum()) for cell in found.result()) == 1003
    assert found.result()[40].counts.sum() == 2


@pytest.mark.parametrize("most", [1 << 10, 1 << 20])
def test_many_cells_need_little_memory(most: int) -> None:
    """A table for so many cells would need gigabytes."""
    found = Tally(most)
    found.add(np.linspace(0, 1, 3000), np.zeros(3000, dtype=np.int8))
    found.add(np.linspace(0, 1, 3000), np.arange(3000) * 7)
    assert found._table.nbytes < 1 << 26
    assert sum(int(cell.counts.sum()) for cell in found.result()) == 6000
    assert found._table.nbytes < 1 << 26
    assert (found.bits is None) == (most == 1 << 20)


def test_nothing() -> None:
    found = Tally(100)
    found.add(np.zeros(0), np.zeros(0, dtype=np.int8))
    assert contents(found) == (None, [])
