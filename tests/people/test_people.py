"""Parts of people: everybody in exactly one, every group and label evenly, rows and counts alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.people import people as room
from fairroc.people.counts import ScoreCounts
from fairroc.people.door import people_of
from fairroc.people.people import People, split
from fairroc.people.rows import Columns
from strategies import SEEDS


@st.composite
def columns(draw, weights: bool = True) -> Columns:
    """2 to 4 groups, every class of at least four rows, with ties."""
    rng = np.random.default_rng(draw(SEEDS))
    sizes = [(draw(st.integers(4, 9)), draw(st.integers(4, 40))) for _ in range(draw(st.integers(2, 4)))]
    labels = np.concatenate([np.repeat([False, True], pair) for pair in sizes])
    groups = np.repeat(np.arange(len(sizes), dtype=np.int8), [sum(pair) for pair in sizes])
    scores = rng.integers(0, draw(st.sampled_from([2, 9, 10_000])), len(labels)) / 8
    order = rng.permutation(len(labels))
    mass = rng.uniform(0.5, 2.0, len(labels)) if weights and draw(st.booleans()) else None
    names = tuple("abcd"[: len(sizes)])
    return Columns(scores[order], labels[order], groups[order], names, mass)


def listed(part: People) -> list[tuple[float, ...]]:
    """Everybody: score, label, group and weight; people of equal weight one by one."""
    found = []
    for g, sample in enumerate(part.samples):
        scores, labels, mass = sample.cells()
        times = np.ones(len(mass), dtype=int) if part.weighted else mass
        rows = zip(scores, labels, mass if part.weighted else np.ones(len(mass)), times, strict=True)
        found += [(s, y, g, w) for s, y, w, n in rows for _ in range(n)]
    return sorted(found)


COUNTS = st.integers(2, 4)


@given(columns(), COUNTS, SEEDS)
def test_everybody_is_in_one_part_and_all_other_rests(columns, count, seed):
    people = people_of(columns)
    pairs = list(split(people_of(columns), count, seed))
    assert len(pairs) == count
    assert sorted(row for _, part in pairs for row in listed(part)) == listed(people)
    for rest, part in pairs:
        assert sorted(listed(rest) + listed(part)) == listed(people)
        assert rest.names == part.names == columns.names
        assert rest.weighted == part.weighted == people.weighted


@given(columns(), COUNTS, SEEDS)
def test_groups_and_labels_are_split_evenly(columns, count, seed):
    sizes = np.array([part.class_rows() for _, part in split(people_of(columns), count, seed)])
    assert np.ptp(sizes, axis=0).max() <= 1
    assert sizes.min() >= 1


@given(columns(), COUNTS, SEEDS)
def test_the_same_seed_gives_the_same_parts(columns, count, seed):
    first, again = (list(split(people_of(columns), count, seed)) for _ in range(2))
    assert [listed(part) for _, part in first] == [listed(part) for _, part in again]


def test_other_seeds_give_other_parts():
    rng = np.random.default_rng(0)
    columns = Columns(rng.random(200), np.arange(200) % 2 == 0, np.arange(200) // 100, ("a", "b"), None)
    assert len({tuple(listed(next(split(people_of(columns), 5, seed))[1])) for seed in range(5)}) == 5


def test_the_order_of_rows_does_not_decide():
    """Rows sorted by score are spread over all parts: no part is the lowest or highest of its class."""
    columns = Columns(np.arange(400.0), np.arange(400) % 2 == 0, np.arange(400) // 200, ("a", "b"), None)
    means = [part.samples[0].cells()[0].mean() for _, part in split(people_of(columns), 4, 0)]
    assert max(abs(mean - 99.5) for mean in means) < 30


@given(columns(), COUNTS, SEEDS, st.integers(0, 10))
def test_rows_of_weight_zero_leave_no_part_without_others(columns, count, seed, kept):
    """However many rows weigh nothing: with as many others in a class as parts, each part gets one."""
    rng = np.random.default_rng(seed)
    weights = np.zeros(len(columns.scores))
    for cell in {(int(g), bool(y)) for g, y in zip(columns.groups, columns.labels, strict=True)}:
        rows = np.flatnonzero((columns.groups == cell[0]) & (columns.labels == cell[1]))
        weights[rng.choice(rows, min(len(rows), count + kept), replace=False)] = 1.0
    weighted = Columns(columns.scores, columns.labels, columns.groups, columns.names, weights)
    for rest, part in split(people_of(weighted), count, seed):
        assert part.class_rows().min() >= 1
        assert rest.class_rows().min() >= 1


@given(columns(), COUNTS, SEEDS)
def test_the_order_of_rows_makes_no_difference(columns, count, seed):
    index = np.random.default_rng(seed).permutation(len(columns.scores))
    weights = None if columns.weights is None else columns.weights[index]
    mixed = Columns(columns.scores[index], columns.labels[index], columns.groups[index], columns.names, weights)
    for one, other in zip(split(people_of(columns), count, seed), split(people_of(mixed), count, seed), strict=True):
        assert [listed(part) for part in one] == [listed(part) for part in other]


# ---- counts ------------------------------------------------------------------------------------------------


def tables(people: People) -> list[dict[float, tuple[float, float]]]:
    """For every group the negatives and positives at each score."""
    found = []
    for sample in people.samples:
        table: dict[float, tuple[float, float]] = {}
        for score, label, mass in zip(*sample.cells(), strict=True):
            negative, positive = table.get(score, (0, 0))
            table[score] = (negative, mass) if label else (mass, positive)
        found.append(table)
    return found


@given(columns(weights=False), COUNTS, SEEDS)
def test_counts_of_few_people_are_split_like_rows(columns, count, seed):
    """Person by person, evenly, and the same parts."""
    counts = ScoreCounts.from_columns(columns).people(whole=False)
    pairs = list(split(counts, count, seed))
    of_rows = split(people_of(columns), count, seed)
    assert [listed(part) for _, part in pairs] == [listed(part) for _, part in of_rows]
    sizes = np.array([part.class_rows() for _, part in pairs])
    assert np.ptp(sizes, axis=0).max() <= 1


@pytest.mark.parametrize("weighted", [False, True])
@given(columns(), COUNTS, SEEDS)
def test_counts_of_many_people_add_up(weighted, columns, count, seed):
    if weighted and columns.weights is None:
        columns = Columns(
            columns.scores, columns.labels, columns.groups, columns.names, np.full(len(columns.scores), 1.5)
        )
    if not weighted:
        columns = Columns(columns.scores, columns.labels, columns.groups, columns.names, None)
    counts = ScoreCounts.from_columns(columns).people(whole=False)
    if counts.class_rows().min() < count:
        count = max(2, int(counts.class_rows().min()))
    if counts.class_rows().min() < 2:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "EXPANDED", 0)
        patch.setattr(room, "TIED", 0)
        pairs = list(split(counts, count, seed))
    whole = tables(counts)
    for rest, part in pairs:
        assert part.weighted == rest.weighted == weighted
        assert part.class_rows().min() >= 1
        assert rest.class_rows().min() >= 1
        for all_of, one, other in zip(whole, tables(rest), tables(part), strict=True):
            assert set(one) | set(other) == set(all_of)
            for score, cells in all_of.items():
                sums = np.add(one.get(score, (0, 0)), other.get(score, (0, 0)))
                assert sums == pytest.approx(cells, rel=1e-12)
    every = [tables(part) for _, part in pairs]
    for g, all_of in enumerate(whole):
        for score, cells in all_of.items():
            assert np.sum([part[g].get(score, (0, 0)) for part in every], axis=0) == pytest.approx(cells, rel=1e-12)


def test_large_cells_are_split_at_random():
    """Of millions with one score every part gets its share, with a binomial's spread."""
    cells = np.array([3_000_000, 1_000_000])
    counts = ScoreCounts(("a", "b"), (np.array([0.0, 1.0]),) * 2, (cells, cells), (cells[::-1].copy(), cells))
    parts = [part.samples[0].negatives for _, part in split(counts.people(), 5, 0)]
    assert np.sum(parts, axis=0).tolist() == cells.tolist()
    off = (np.array(parts) - cells / 5) / np.sqrt(cells * 0.2 * 0.8)
    assert 0 < np.abs(off).max() < 5


def test_a_tiny_class_among_millions_is_in_every_part():
    many, few = np.array([2_000_000, 1_000_000]), np.array([3, 2])
    counts = ScoreCounts(("a", "b"), (np.array([0.0, 1.0]),) * 2, (many, many), (many, few))
    for seed in range(20):
        sizes = [part.class_rows()[1, 1] for _, part in split(counts.people(), 5, seed)]
        assert sizes == [1] * 5


@pytest.mark.parametrize("expanded", [0, 10**9])
@given(columns(weights=False), COUNTS, SEEDS)
def test_many_rows_are_split_like_their_counts(expanded, columns, count, seed):
    """However many: the parts depend on who the people are alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "EXPANDED", expanded)
        both = (people_of(columns), ScoreCounts.from_columns(columns).people(whole=False))
        one, other = ([listed(part) for _, part in split(people, count, seed)] for people in both)
    assert one == other
