"""Rows looked up in the joined map land where kernel and scale, one after the other, would put them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_kernel import fitted

from fairroc.core import finder
from fairroc.core.kernel import Kernel, drawn_kernel, ordered_kernel
from fairroc.core.realised import realise
from fairroc.core.scale import Scale, build_scale
from fairroc.model import lookup
from fairroc.model.lookup import Guide, Lookup
from fairroc.model.tables import CellTable, LookupTables, OutcomeTable, lookup_tables, outcome_table
from oracles import drawn_place, place_chance
from strategies import NORMS, SEEDS, Sample, class_shares, populations

BUILDS = st.sampled_from([drawn_kernel, ordered_kernel])
EPSILONS = st.sampled_from([0.0, 0.01, 0.1, 0.5])


def made(population: list[Sample], epsilon: float, norm: int | str, build) -> tuple[list[Kernel], Scale]:
    """Kernels and scale of a population that has two scores at least."""
    curves, levels = fitted(population, epsilon, norm)
    kernels = [build(curve, levels.u[:, g], levels.v[:, g]) for g, curve in enumerate(curves)]
    realised = [realise(curve, kernel) for curve, kernel in zip(curves, kernels, strict=True)]
    return kernels, build_scale(curves, realised, class_shares(population)[2])


def some_rows(population: list[Sample], seed: int, n: int = 150) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fitted scores, their neighbouring doubles, scores between and beyond; groups; uniform numbers."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, len(population), n).astype(np.int8)
    scores = np.array([rng.choice(population[g].scores) for g in groups])
    other = np.array([rng.choice(population[g].scores) for g in groups])
    kind = rng.integers(0, 6, n)
    scores = np.select(
        [kind == 0, kind == 1, kind == 2, kind == 3],
        [np.nextafter(scores, np.inf), np.nextafter(scores, -np.inf), scores / 2 + other / 2, 2 * scores - other],
        scores,
    )
    return np.clip(scores, -1e307, 1e307), groups, np.where(kind == 5, rng.choice([0.0, 1 - 2**-53], n), rng.random(n))


def spread(population: list[Sample]) -> bool:
    return len(np.unique(np.concatenate([part.scores for part in population]))) > 1


def narrow(count: int) -> list[Sample]:
    """Two groups, the scores of one of which are neighbours among the smallest of all numbers."""
    labels = np.arange(count) % 3 == 0
    return [Sample(np.arange(count) / count, labels), Sample(np.arange(count) * 5e-324, labels)]


@settings(max_examples=60)
@given(populations(max_groups=4), EPSILONS, NORMS, BUILDS, SEEDS)
@example(narrow(5), 0.0, 1, ordered_kernel, 1)
@example(narrow(1500), 0.5, 1, ordered_kernel, 1)
def test_fair_scores_are_those_of_kernel_and_scale(population, epsilon, norm, build, seed):
    """To rounding; and on the same side of every knot of the scale for people who keep their order.

    Where a cell is too narrow for any slope, this holds for the fitted scores; others there come out too low at most.
    """
    if not spread(population):
        return
    kernels, scale = made(population, epsilon, norm, build)
    table = Lookup(lookup_tables(kernels, scale))
    scores, groups, uniforms = some_rows(population, seed)
    fair = table.scores(scores, groups, uniforms.__getitem__)
    place = np.array([drawn_place(kernels[g], s, u) for g, s, u in zip(groups, scores, uniforms, strict=True)])
    cells, outcomes = table.tables.cells, table.tables.outcomes
    cell = np.array(
        [
            cells.opens[g] + np.searchsorted(cells.starts()[g], s, side="right") - 1
            for g, s in zip(groups, scores, strict=True)
        ]
    )
    picked = ((outcomes.row == cells.row[c]) & (outcomes.lower <= u) for c, u in zip(cell, uniforms, strict=True))
    rare = np.array([np.append(1.0, outcomes.width[which])[-1] for which in picked])
    slack = 1e-11 + 1e-15 / rare  # where few uniform numbers lead to a level, rounding moves them inside it
    best, worst = (scale.to_score(np.clip(place + move, 0, scale.y[-1])) for move in (-slack, slack))
    width = np.abs(scale.score[0] / 2 - scale.score[-1] / 2) * 1e-11 + 2 * np.spacing(np.abs(scale.score).max())
    fits = np.array([s in population[g].scores for g, s in zip(groups, scores, strict=True)])
    told = fits | (cells.slope[cell] < np.finfo(np.float64).max)
    assert (fair <= best + width).all() and (fair >= worst - width)[told].all()
    for g, (opens, starts) in enumerate(zip(cells.opens, cells.starts(), strict=True)):
        mine = np.flatnonzero(groups == g)
        kept = mine[cells.row[opens + np.searchsorted(starts, scores[mine], side="right") - 1] < 0]
        reached = place[kept][:, None] <= scale.y[1:]
        assert ((fair[kept][:, None] >= scale.score[1:]) == reached).all()


def one_by_one(tables: LookupTables, score: float, group: int, uniform: float) -> float:
    """The three lists of `fairroc.model.tables`, as its words have them."""
    cells, outcomes, knots = tables.cells, tables.outcomes, tables.knots
    mine = np.flatnonzero(cells.group == group)
    cell = mine[0] + np.count_nonzero(cells.origin[mine[1:]] <= score)
    if cells.row[cell] < 0:
        return (score - cells.origin[cell]) * cells.slope[cell] + cells.value[cell]
    o = np.flatnonzero((outcomes.row == cells.row[cell]) & (outcomes.lower <= uniform))[-1]
    level, share = outcomes.level[o], (uniform - outcomes.lower[o]) / (outcomes.upper[o] - outcomes.lower[o])
    begin = cells.begin[cell] if level == cells.first[cell] else 0.0
    end = cells.end[cell] if level == cells.last[cell] else 1.0
    place = share * (end - begin) + begin + level
    k = np.flatnonzero(knots.y <= place)[-1]
    after = min((place - knots.y[k]) * knots.slope[k] + knots.score[k], knots.below[k])
    return after if place > knots.y[k] else knots.score[k]


@pytest.mark.parametrize("fine", [None, 1])
@settings(max_examples=60)
@given(populations(max_groups=4), EPSILONS, NORMS, BUILDS, SEEDS)
def test_every_bit_is_that_of_the_tables(fine, population, epsilon, norm, build, seed):
    """Also with buckets so coarse that numbers are searched for in them."""
    if not spread(population):
        return
    tables = lookup_tables(*made(population, epsilon, norm, build))
    scores, groups, uniforms = some_rows(population, seed)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LEAST", "MOST", "PER_ENTRY"):
            patch.setattr(finder, name, fine or getattr(finder, name))
        for name in ("FINE", "COARSEST", "KNOTS"):
            patch.setattr(lookup, name, fine or getattr(lookup, name))
        fair = Lookup(tables).scores(scores, groups, uniforms.__getitem__)
    truth = [one_by_one(tables, *row) for row in zip(scores, groups, uniforms, strict=True)]
    assert fair.tobytes() == np.array(truth).tobytes()


@settings(max_examples=40)
@given(populations(max_groups=4), EPSILONS, NORMS, BUILDS, SEEDS)
def test_chances_are_those_of_kernel_and_scale(population, epsilon, norm, build, seed):
    """Acceptance at a knot, person by person."""
    if not spread(population):
        return
    kernels, scale = made(population, epsilon, norm, build)
    table = Lookup(lookup_tables(kernels, scale))
    scores, groups, _ = some_rows(population, seed, 60)
    for threshold in np.random.default_rng(seed).choice(scale.score, 3):
        y = float(scale.to_place(np.array(threshold)))
        got = table.rates(scores, groups, float(threshold))
        true = [place_chance(kernels[g], s, y, closed=True) for g, s in zip(groups, scores, strict=True)]
        assert np.abs(got - true).max() <= 1e-9


@settings(max_examples=40)
@given(populations(max_groups=3), EPSILONS, NORMS)
def test_order_is_kept(population, epsilon, norm):
    """Inside a group, with one uniform number for all, a higher score never gets a lower fair score."""
    if not spread(population):
        return
    table = Lookup(lookup_tables(*made(population, epsilon, norm, ordered_kernel)))
    for g, part in enumerate(population):
        scores = np.unique(np.concatenate((part.scores, np.nextafter(part.scores, 1e308), part.scores / 3)))
        for u in (0.0, 0.3, 0.99):
            fair = table.scores(scores, np.full(len(scores), g, dtype=np.int8), np.full(len(scores), u).__getitem__)
            assert (np.diff(fair) >= -1e-12 * np.abs(fair).max() - 1e-323).all()


@given(st.integers(1, 12), st.integers(1, 40), SEEDS)
def test_outcomes_are_drawn_by_cumulated_sums(rows, outcomes, seed):
    """For numbers on the bounds, beside them and anywhere: the outcome is that of a plain search."""
    rng = np.random.default_rng(seed)
    table = rng.random((rows, outcomes)) ** 6 * (rng.random((rows, outcomes)) < 0.6)
    table[np.arange(rows), rng.integers(0, outcomes, rows)] += rng.random(rows) + 1e-3
    table /= table.sum(axis=1, keepdims=True)
    total = np.minimum(np.cumsum(table, axis=1), 1.0)
    parts = (table[:1], table[1:]) if rows > 1 else (table,)
    every, none = np.arange(rows), np.zeros(rows)
    cells = CellTable((0,), every * 0, every + 0.0, none, none, every, every * 0 - 1, every * 0 - 1, none, none + 1)
    scale = Scale(np.array([0.0, outcomes]), np.array([0.0, -outcomes]))  # a fair score is a place with a minus
    found = Lookup(LookupTables(cells, outcome_table(parts, every), scale, parts, every))
    for row in range(rows):
        exact = total[row][total[row] < 1.0]
        u = np.concatenate((rng.random(20), exact, np.nextafter(exact, 0.0), [0.0, 1 - 2**-53]))
        place = -found.scores(np.full(len(u), float(row)), np.zeros(len(u), dtype=np.int8), u.__getitem__)
        last = int(np.flatnonzero(table[row])[-1])
        outcome = np.minimum(np.searchsorted(total[row], u, side="right"), last)
        share = place - outcome
        assert ((share >= 0) & (share <= 1)).all()
        assert np.abs(np.append(0.0, total[row])[outcome] + share * table[row, outcome] - u).max() <= 1e-12


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(3)
    labels = rng.random(400) < 0.5
    population = [Sample(labels * d + rng.normal(size=400), labels) for d in (0.5, 1.5)]
    table = Lookup(lookup_tables(*made(population, 0.1, 1, ordered_kernel)))
    scores, groups, uniforms = some_rows(population, 4, 1000)
    whole = table.scores(scores, groups, uniforms.__getitem__)
    chance = table.rates(scores, groups, 0.5)
    monkeypatch.setattr(lookup, "CHUNK", 7)
    assert (table.scores(scores, groups, uniforms.__getitem__) == whole).all()
    assert (table.rates(scores, groups, 0.5) == chance).all()


@settings(max_examples=40)
@given(populations(max_groups=4), EPSILONS, NORMS, BUILDS)
def test_the_tables_hold_together(population, epsilon, norm, build):
    """Cells rise group by group, outcomes fill [0, 1), and every cell that is drawn has a row of outcomes."""
    if not spread(population):
        return
    kernels, scale = made(population, epsilon, norm, build)
    tables = lookup_tables(kernels, scale)
    cells, outcomes, knots = tables.cells, tables.outcomes, tables.knots
    inner = np.setdiff1d(np.arange(len(cells.origin)), cells.opens)
    starts = np.concatenate([part[1:] for part in cells.starts()])
    assert cells.origin[inner].tobytes() == starts.tobytes()
    assert all((np.diff(part) > 0).all() and part[0] == -np.inf for part in cells.starts())
    assert sorted(set(cells.row.tolist()) - {-1}) == np.unique(outcomes.row).tolist()
    for row in np.unique(outcomes.row):
        mine = np.flatnonzero(outcomes.row == row)
        assert outcomes.lower[mine[0]] == 0 and outcomes.upper[mine[-1]] == 1
        assert (outcomes.lower[mine[1:]] == outcomes.upper[mine[:-1]]).all() and (outcomes.width[mine] > 0).all()
        assert (np.diff(outcomes.level[mine]) > 0).all()
    assert knots.y[0] == 0 and (np.diff(knots.y) > 0).all()


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=9), min_size=1, max_size=4), st.sampled_from([1, 4]))
def test_a_guide_leads_to_the_first_outcome_possible(rows, finer):
    """For every part of [0, 1), of which there are at least as many as outcomes."""
    upper = [np.cumsum(row) / sum(row) for row in rows]
    lower = [np.concatenate(([0.0], ends[:-1])) for ends in upper]
    row = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    table = OutcomeTable(row, np.concatenate(lower), np.concatenate(upper), np.zeros(len(row), dtype=np.intp))
    guide = Guide.to(table, finer)
    begin = 0
    for k, ends in enumerate(upper):
        parts = int(guide.parts[k])
        assert len(ends) * finer <= parts < 2 * len(ends) * finer and parts & (parts - 1) == 0
        for part in range(parts):
            first = int(np.argmax(ends > part / parts))
            assert guide.outcome[guide.first[k] + part] == begin + first
        begin += len(ends)
    assert len(guide.outcome) == guide.parts.sum()
