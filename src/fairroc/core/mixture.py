"""Populations that are spread over segments: their cells, the kernels of a selection, and what these really do.

A fair score knows the segment, the populations are compared: every population's ROC curve is a sum over the segments.
Curves here are not those of one group, which run from (0, 0) to (1, 1), but parts of a population's: they end at the
share of its people who are in the segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, Frozen, IntArray
from fairroc.core.kernel import PIECE, Kernel
from fairroc.core.program import Cells
from fairroc.core.realised import RealisedRoc, drawn_shares, realise, summed
from fairroc.core.roc import RocCurve

FEW = 3
"""A score held by more people than this, and wider than a piece, is shared: its people are drawn inside their part."""

SAME_ROW = 1e-9
"""Cells whose chances differ by no more have the same ones: the rounding of a linear program."""

SAME = 1e-12
"""Shares of a segment's people nearer than this are equal: sums of about 1 in different order."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment(Frozen):
    """The people of one segment by their scores.

    Attributes
    ----------
    thresholds : (k,) strictly falling scores, every one somebody's.
    masses : (populations + 1, 2, k) share of every population's negatives and positives with each score; the last
        population is everybody.
    """

    thresholds: FloatArray
    masses: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Mixture(Frozen):
    """All segments with everybody in them; the last of the populations is everybody.

    Attributes
    ----------
    priors : (populations + 1,) share of positives.
    person : the share of all people that one row is, at least.
    """

    segments: tuple[Segment, ...]
    priors: FloatArray
    person: float

    @property
    def everybody(self) -> int:
        """Number of the last population."""
        return len(self.priors) - 1

    def part(self, population: int, segment: int) -> RocCurve:
        """What a segment's people add to a population's ROC curve."""
        own = self.segments[segment]
        fpr, tpr = np.pad(np.cumsum(own.masses[population], axis=1), ((0, 0), (1, 0)))
        return RocCurve(own.thresholds, fpr, tpr, float(self.priors[population]))

    def whole(self, population: int) -> RocCurve:
        """A population's ROC curve under the original score."""
        scores = np.concatenate([own.thresholds for own in self.segments])
        masses = np.concatenate([own.masses[population] for own in self.segments], axis=1)
        values, at = np.unique(-scores, return_inverse=True)
        both = [np.concatenate(([0.0], np.cumsum(np.bincount(at, part, len(values))))) for part in masses]
        used = np.concatenate(([True], np.diff(both[0]) + np.diff(both[1]) > 0))
        fpr, tpr = (line[used] / line[-1] for line in both)
        return RocCurve(-values[used[1:]], fpr, tpr, float(self.priors[population]))

    def realised(self, kernels: Sequence[Kernel], population: int) -> RealisedRoc:
        """What kernels, one for each segment, do to a population."""
        return summed([realise(self.part(population, s), kernel) for s, kernel in enumerate(kernels)])

    def drawn(self, kernels: Sequence[Kernel], population: int) -> tuple[float, float]:
        """Shares of a population's people whom transport can move, and who are drawn for ties alone."""
        parts = [drawn_shares(self.part(population, s), kernel) for s, kernel in enumerate(kernels)]
        return sum(part[0] for part in parts), sum(part[1] for part in parts)

    def people(self, segment: int) -> FloatArray:
        """(k,) share of all people who have each score of a segment."""
        negatives, positives = self.segments[segment].masses[-1]
        return np.asarray(negatives + self.priors[-1] * (positives - negatives))

    def cuts(self, bins: int, least: float) -> list[IntArray]:
        """Ends of cells, as numbers of scores from the highest on: about so many of even weight in every segment, each
        with a share of all people of about ``least`` or more. Positives and negatives weigh the same."""
        found = []
        for s, own in enumerate(self.segments):
            people = np.cumsum(self.people(s))
            count = max(1, min(bins, int(people[-1] / least)))
            weight = np.cumsum(own.masses[-1].sum(axis=0))
            ends = np.searchsorted(weight, weight[-1] * np.arange(1, count) / count - SAME) + 1
            found.append(np.unique(np.concatenate((ends[ends < len(weight)], [len(weight)]))))
        return found

    def thinned(self, cuts: Sequence[IntArray], most: int) -> tuple[Mixture, list[IntArray]]:
        """The same people at ``most`` scores of every segment, about, neighbours tied, with the ends of cells among
        them; and these ends there. The same object where there are no more."""
        if all(len(own.thresholds) <= most for own in self.segments):
            return self, list(cuts)
        segments, found = [], []
        for own, ends in zip(self.segments, cuts, strict=True):
            count = len(own.thresholds)
            upto = np.union1d(np.linspace(0, count, min(most, count) + 1).astype(np.intp)[1:], ends)
            masses = np.add.reduceat(own.masses, np.concatenate(([0], upto[:-1])), axis=2)
            thresholds = own.thresholds[upto - 1].copy()
            segments.append(Segment(thresholds, masses))
            found.append(np.searchsorted(upto, ends) + 1)
        return Mixture(tuple(segments), self.priors, self.person), found

    def finest(self) -> list[IntArray]:
        """Every score a cell."""
        return [np.arange(1, len(own.thresholds) + 1) for own in self.segments]

    def cells(self, cuts: Sequence[IntArray]) -> Cells:
        """People by cells with these ends."""
        parts = [
            np.add.reduceat(own.masses, np.concatenate(([0], ends[:-1])), axis=2)
            for own, ends in zip(self.segments, cuts, strict=True)
        ]
        masses, prior = np.concatenate(parts, axis=2), float(self.priors[-1])
        negatives, positives = masses[-1]
        return Cells(
            rates=masses[:-1],
            priors=self.priors[:-1],
            people=negatives + prior * (positives - negatives),
            positives=positives,
            prior=prior,
            opens=np.cumsum([0, *(len(ends) for ends in cuts[:-1])]),
        )


def drawn_kernels(mixture: Mixture, cuts: Sequence[IntArray], chances: FloatArray) -> tuple[Kernel, ...]:
    """Everybody of a cell is drawn, by the same (C, levels) chances."""
    found = []
    for own, (ends, table) in zip(mixture.segments, _blocks(cuts, chances), strict=True):
        blocks = _Blocks(own.thresholds, table.shape[1])
        for end, row in zip(ends.tolist(), table, strict=True):
            blocks.draw(end, row)
        found.append(blocks.kernel())
    return tuple(found)


def _blocks(cuts: Sequence[IntArray], chances: FloatArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """For every segment the ends of its cells and their chances, which sum to one; neighbours with the same are one."""
    begin = 0
    for ends in cuts:
        table = chances[begin : begin + len(ends)]
        begin += len(ends)
        last = np.append(np.abs(np.diff(np.cumsum(table, axis=1), axis=0)).max(axis=1, initial=0.0) > SAME_ROW, True)
        table = table[last]
        yield ends[last], table / table.sum(axis=1, keepdims=True)


def ordered_kernels(
    mixture: Mixture, cuts: Sequence[IntArray], chances: FloatArray, drawn: BoolArray
) -> tuple[Kernel, ...]:
    """The same with people in raw order wherever a cell shares its levels with no other cell but at their ends, and no
    level of it is to be ``drawn``.

    There the upper part of a cell's people gets its upper level, and so on: each level gets as many as by the draw. In
    a level people are placed by their share of those who are so placed there, cells one after the other.
    """
    return tuple(_ordered(mixture, s, *part, drawn) for s, part in enumerate(_blocks(cuts, chances)))


def _alone(table: FloatArray, drawn: BoolArray) -> BoolArray:
    """Which cells, by falling score, can be placed in raw order.

    All cells above must have ended where a cell's levels begin, all below begin where they end; and a level that is
    shared with a cell that cannot be so placed is drawn for all.
    """
    some = table > 0
    first, last = some.argmax(axis=1), table.shape[1] - 1 - some[:, ::-1].argmax(axis=1)
    above = np.concatenate(([-1], np.maximum.accumulate(last)[:-1]))
    below = np.concatenate((np.minimum.accumulate(first[::-1])[::-1][1:], [table.shape[1]]))
    alone: BoolArray = (above <= first) & (below >= last) & ~(some & drawn).any(axis=1)
    while True:
        taken: BoolArray = np.asarray(some[~alone].any(axis=0))
        fewer = alone & ~taken[first] & ~taken[last]
        if (fewer == alone).all():
            return alone
        alone = fewer


def _ordered(mixture: Mixture, segment: int, ends: IntArray, table: FloatArray, drawn: BoolArray) -> Kernel:
    """One segment's kernel."""
    own, levels = mixture.segments[segment], table.shape[1]
    people = mixture.people(segment)
    alone = _alone(table, drawn)
    begins = np.concatenate(([0], ends[:-1]))
    size = np.add.reduceat(people, begins)
    placed = np.where(alone[:, None], size[:, None] * table, 0.0)  # (cells, levels) people in raw order there
    totals = placed.sum(axis=0)
    upto = np.cumsum(placed, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        part_stop = np.where(totals > 0, np.minimum(upto / totals, 1.0), 0.0)
        part_start = np.where(totals > 0, np.clip((upto - placed) / totals, 0.0, part_stop), 0.0)
    for level in range(levels):
        part_stop[np.flatnonzero(placed[:, level])[-1:], level] = 1.0
    blocks = _Blocks(own.thresholds, levels)
    for cell, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        if not alone[cell]:
            blocks.draw(end, table[cell])
            continue
        at = np.flatnonzero(table[cell])
        blocks.place(
            begin,
            people[begin:end],
            at,
            table[cell, at] * size[cell],
            part_start[cell, at],
            part_stop[cell, at],
            mixture.person,
        )
    return blocks.kernel()


class _Blocks:
    """The blocks of a segment's kernel, by falling score."""

    def __init__(self, thresholds: FloatArray, levels: int) -> None:
        self.thresholds, self.levels = thresholds, levels
        self.table: list[FloatArray] = []
        self.units: dict[int, int] = {}
        self.rows: list[tuple[int, int, int, int, float, float, bool, bool]] = []

    def draw(self, end: int, chances: FloatArray) -> None:
        """A cell whose people are drawn."""
        self.table.append(chances)
        self.rows.append((end, len(self.table) - 1, -1, -1, 0.0, 1.0, False, True))

    def place(
        self,
        begin: int,
        people: FloatArray,
        levels: IntArray,
        sizes: FloatArray,
        starts: FloatArray,
        stops: FloatArray,
        person: float,
    ) -> None:
        """A cell whose people, from the highest score on, fill parts of levels one after the other."""
        upto = np.cumsum(people)
        upto *= sizes.sum() / upto[-1]
        edges = np.concatenate(([0.0], np.cumsum(sizes)))
        edges[-1] = upto[-1]
        low = np.concatenate(([0.0], upto[:-1]))
        first = np.clip(np.searchsorted(edges, low + SAME, side="right") - 1, 0, len(levels) - 1)
        last = np.maximum(np.clip(np.searchsorted(edges, upto - SAME, side="left") - 1, 0, len(levels) - 1), first)
        wide = people > max(PIECE * sizes.sum(), FEW * person)
        piece = np.floor(low / max(PIECE, FEW * person)).astype(np.intp)
        single = (first < last) | wide
        new = np.ones(len(people), dtype=np.bool_)
        new[1:] = single[1:] | single[:-1] | (first[1:] != first[:-1]) | (piece[1:] != piece[:-1])
        heads = np.flatnonzero(new)
        tails = np.append(heads[1:], len(people)) - 1
        scale = np.where(sizes > 0, (stops - starts) / np.where(sizes > 0, sizes, 1.0), 0.0)
        for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
            one, other = int(first[head]), int(last[tail])
            start = starts[one] + (max(low[head], edges[one]) - edges[one]) * scale[one]
            stop = starts[other] + (min(upto[tail], edges[other + 1]) - edges[other]) * scale[other]
            start, stop = min(max(start, 0.0), 1.0), min(max(stop, 0.0), 1.0)
            if self.rows and self.rows[-1][3] == levels[one]:  # not a last digit before the block above ends
                start = max(start, self.rows[-1][5])
            if one == other:
                row, stop = self._unit(int(levels[one])), max(start, stop)
            else:
                inside = np.minimum(edges[one + 1 : other + 2], upto[tail]) - np.maximum(
                    edges[one : other + 1], low[head]
                )
                chances = np.zeros(self.levels)
                chances[levels[one : other + 1]] = np.maximum(inside, 0.0)
                self.table.append(chances / chances.sum())
                row = len(self.table) - 1
            drawn = bool(one < other or wide[head])
            self.rows.append(
                (begin + tail + 1, row, int(levels[one]), int(levels[other]), start, stop, not drawn, False)
            )

    def _unit(self, level: int) -> int:
        """The row of the table that gives a level for certain."""
        if level not in self.units:
            self.units[level] = len(self.table)
            self.table.append(np.eye(1, self.levels, level)[0])
        return self.units[level]

    def kernel(self) -> Kernel:
        end, row, first, last, start, stop, ordered, transported = zip(*self.rows, strict=True)
        return Kernel(
            thresholds=self.thresholds[np.array(end) - 1],
            ceiling=float(self.thresholds[0]),
            row=np.array(row, dtype=np.intp),
            table=np.array(self.table),
            first=np.array(first, dtype=np.intp),
            last=np.array(last, dtype=np.intp),
            start=np.array(start),
            stop=np.array(stop),
            ordered=np.array(ordered),
            transported=np.array(transported),
        )
