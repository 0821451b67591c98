"""Parts of people for cross-fitting: each part is looked at by a model that has not seen it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairroc.core.chain import IntArray
from fairroc.people.counts import CountArray, ScoreCounts
from fairroc.people.rows import Columns

EXPANDED = 1_000_000
"""Counts of at most this many people are split person by person, evenly; larger ones cell by cell, at random."""

FEW = 10_000
"""Of those, classes of at most this many people are split person by person too: at random a part might get nobody."""


def split(
    people: Columns | ScoreCounts, count: int, seed: int
) -> Iterator[tuple[Columns, Columns] | tuple[ScoreCounts, ScoreCounts]]:
    """``count`` pairs of all people but a part, and that part; every group and label is split evenly.

    Every group needs ``count`` people of each label at least.
    """
    rng = np.random.default_rng(seed)
    if isinstance(people, ScoreCounts) and (people.weighted or people.rows > EXPANDED):
        yield from _split_counts(people, count, rng)
    else:
        yield from _split_rows(_expanded(people) if isinstance(people, ScoreCounts) else people, count, rng)


def _split_rows(columns: Columns, count: int, rng: np.random.Generator) -> Iterator[tuple[Columns, Columns]]:
    order = rng.permutation(columns.rows)
    if columns.rows <= EXPANDED:
        order = _in_turn(columns)[order]
    cell = 2 * columns.groups[order].astype(np.intp) + columns.labels[order]
    if columns.weights is not None:
        cell = 2 * cell + (columns.weights[order] > 0)  # rows of weight 0 by themselves: every part needs others
    fold = np.empty(columns.rows, dtype=np.intp)
    fold[order[np.argsort(cell, kind="stable")]] = np.arange(columns.rows) % count
    for part in range(count):
        yield _rows(columns, np.flatnonzero(fold != part)), _rows(columns, np.flatnonzero(fold == part))


def _in_turn(columns: Columns) -> IntArray:
    """All rows in an order that depends on who they are alone: however they came, the parts are the same."""
    weights = () if columns.weights is None else (columns.weights,)
    return np.lexsort((*weights, columns.scores, columns.labels, columns.groups))


def _rows(columns: Columns, index: IntArray) -> Columns:
    weights = None if columns.weights is None else columns.weights[index]
    return Columns(columns.scores[index], columns.labels[index], columns.groups[index], columns.names, weights)


def _split_counts(
    counts: ScoreCounts, count: int, rng: np.random.Generator
) -> Iterator[tuple[ScoreCounts, ScoreCounts]]:
    negatives, positives = (
        [_shares(cells, count, counts.weighted, rng) for cells in of_class]
        for of_class in (counts.negatives, counts.positives)
    )
    for fold in range(count):
        held = [[cells[fold] for cells in of_class] for of_class in (negatives, positives)]
        rest = [[cells.sum(axis=0) - cells[fold] for cells in of_class] for of_class in (negatives, positives)]
        yield counts.recounted(None, *rest), counts.recounted(None, *held)


def _shares(cells: CountArray, count: int, weighted: bool, rng: np.random.Generator) -> CountArray:
    """(count, k) how many of every cell fall into each part; a weighted cell is one row and stays whole."""
    if not weighted and (people := int(cells.sum())) <= FEW:
        cell = np.repeat(np.arange(len(cells)), cells)
        places = rng.permutation(people) % count * len(cells) + cell
        return np.bincount(places, minlength=count * len(cells)).reshape(count, -1)
    if not weighted:
        found: CountArray = rng.multinomial(cells, np.full(count, 1.0 / count)).T
        return found
    used = rng.permutation(np.flatnonzero(cells > 0))
    shares = np.zeros((count, len(cells)))
    shares[np.arange(len(used)) % count, used] = cells[used]
    return shares


def _expanded(counts: ScoreCounts) -> Columns:
    """One row for each person counted."""
    parts = [counts.cells(g) for g in range(len(counts.names))]
    scores, labels = (np.concatenate([np.repeat(part[i], part[2]) for part in parts]) for i in (0, 1))
    groups = np.repeat(np.arange(len(parts)), [int(part[2].sum()) for part in parts])
    return Columns(scores, labels, groups, counts.names, None)
