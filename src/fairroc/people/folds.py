"""Parts of people for cross-fitting: each part is looked at by a model that has not seen it.

The parts depend on who the people are alone, not on the order they came in or whether they were counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import IntArray
from fairroc.people.people import People, Sample
from fairroc.people.sample import EvenSample
from fairroc.people.tally_sample import TallySample, tallied
from fairroc.people.weighted import WeightedCells, WeightedRows

__all__ = ["split"]

Pairs: TypeAlias = Iterator[tuple[People, People]]

EXPANDED, TIED = 1_000_000, 4
"""People are split one by one, evenly, if they are at most so many, or so many at each score; else score by score, at
random: billions of people who were counted need no more memory than their scores."""

FEW = 10_000
"""Of those, classes of at most this many people are split one by one too: at random a part might get nobody."""


def split(people: People, count: int, seed: int) -> Pairs:
    """``count`` pairs of all people but a part, and that part; every group and label is split evenly.

    Every group needs ``count`` people of each label at least. O(n log n) for weighted rows, else O(n).
    """
    rng = np.random.default_rng(seed)
    rows = [sample for sample in people.samples if isinstance(sample, WeightedRows)]
    even = [sample for sample in people.samples if isinstance(sample, EvenSample)]
    cells = [sample for sample in people.samples if isinstance(sample, WeightedCells)]
    if rows:
        return _split_rows(people, rows, count, rng)
    if cells:
        return _split_cells(people, cells, count, rng)
    if people.rows > EXPANDED:
        tallies = [tallied(sample) for sample in even]
        if people.rows > TIED * sum(len(sample.scores) for sample in tallies):
            return _split_cells(people, tallies, count, rng)
    return _split_even(people, even, count, rng)


def _split_even(people: People, samples: Sequence[EvenSample], count: int, rng: np.random.Generator) -> Pairs:
    """Person by person; they stand in the order of group, label and score."""
    sizes = people.class_rows().ravel()
    fold = _dealt(rng.permutation(people.rows), np.repeat(np.arange(len(sizes)), sizes), count)
    folds = np.split(fold, np.cumsum(sizes)[:-1])
    for part in range(count):
        rest, held = (
            [sample.kept(*(mark(of, part) for of in folds[2 * g : 2 * g + 2])) for g, sample in enumerate(samples)]
            for mark in (np.not_equal, np.equal)
        )
        yield _with(people, rest), _with(people, held)


def _split_rows(people: People, samples: Sequence[WeightedRows], count: int, rng: np.random.Generator) -> Pairs:
    """Row by row, those of weight 0 by themselves: every part needs others."""
    scores, labels, weights = (np.concatenate(column) for column in zip(*(s.cells() for s in samples), strict=True))
    sizes = [len(sample.scores) for sample in samples]
    groups = np.repeat(np.arange(len(samples)), sizes)
    order = np.lexsort((weights, scores, labels, groups))[rng.permutation(len(scores))]
    fold = _dealt(order, 2 * (2 * groups + labels) + (weights > 0), count)
    folds = np.split(fold, np.cumsum(sizes)[:-1])
    for part in range(count):
        rest, held = (
            [sample.taken(np.flatnonzero(mark(of, part))) for sample, of in zip(samples, folds, strict=True)]
            for mark in (np.not_equal, np.equal)
        )
        yield _with(people, rest), _with(people, held)


def _dealt(order: IntArray, cell: IntArray, count: int) -> NDArray[np.int8]:
    """(n,) part of everybody: each cell's people, in this order, are dealt to the parts in turn."""
    fold = np.empty(len(order), dtype=np.int8)
    fold[order[np.argsort(cell[order], kind="stable")]] = np.arange(len(order)) % count
    return fold


def _split_cells(
    people: People, samples: Sequence[TallySample | WeightedCells], count: int, rng: np.random.Generator
) -> Pairs:
    """Score by score: people at random, weighted cells whole."""
    hits = [sample.positives_at if isinstance(sample, TallySample) else sample.positives for sample in samples]
    negatives = [_shares(sample.negatives, count, people.weighted, rng) for sample in samples]
    positives = [_shares(part, count, people.weighted, rng) for part in hits]
    for part in range(count):
        rest: list[Sample] = []
        held: list[Sample] = []
        for sample, *shares in zip(samples, negatives, positives, strict=True):
            held.append(sample.recounted(*(share[part] for share in shares)))
            rest.append(sample.recounted(*(share.sum(axis=0) - share[part] for share in shares)))
        yield _with(people, rest), _with(people, held)


def _shares(cells: NDArray[Any], count: int, weighted: bool, rng: np.random.Generator) -> NDArray[Any]:
    """(count, k) how many of every cell fall into each part; a weighted cell is one row and stays whole."""
    if not weighted and (people := int(cells.sum())) <= FEW:
        cell = np.repeat(np.arange(len(cells)), cells)
        places = rng.permutation(people) % count * len(cells) + cell
        return np.bincount(places, minlength=count * len(cells)).reshape(count, -1)
    if not weighted:
        found: NDArray[Any] = rng.multinomial(cells, np.full(count, 1.0 / count)).T
        return found
    used = rng.permutation(np.flatnonzero(cells > 0))
    shares = np.zeros((count, len(cells)))
    shares[np.arange(len(used)) % count, used] = cells[used]
    return shares


def _with(people: People, samples: Sequence[Sample]) -> People:
    return replace(people, samples=tuple(samples))
