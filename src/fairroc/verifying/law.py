"""Every group's law of the fair score, and what it does to the people: exact rates at all thresholds.

A person's place is level + place inside it (docs/reference/model-file.md). Rates are piece-wise linear in it: people
in raw order make a step, people who are drawn a slope. So what holds at the ends of all pieces, before and after the
steps there, holds at every threshold.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeAlias

from fairroc.verifying.files import ONE, ZERO, Body, Measure, Pair

Progress: TypeAlias = Callable[[int, int], None]
Row: TypeAlias = list[tuple[int, int]]
"""Levels with the chance of each, in whole numbers."""


@dataclass(frozen=True, slots=True)
class GroupPeople:
    """One group's people: number of rows and of positive ones, and (score, label, weight) of rows or cells of rows."""

    name: str
    rows: int
    positives: int
    cells: tuple[tuple[float, bool, float], ...]


class Everybody(NamedTuple):
    """By group: falling distinct scores, whole-number weights of negatives and positives at each, and their sums."""

    scores: list[list[float]]
    masses: list[list[tuple[int, int]]]
    totals: list[tuple[int, int]]

    @classmethod
    def of(cls, people: Sequence[GroupPeople]) -> Everybody:
        """Doubles are whole numbers of a small enough unit."""
        unit = max(Fraction(weight).denominator for group in people for *_, weight in group.cells)
        scores, masses = [], []
        for group in people:
            found: defaultdict[float, list[int]] = defaultdict(lambda: [0, 0])
            for score, label, weight in group.cells:
                if weight > 0:
                    found[score][label] += int(Fraction(weight) * unit)
            scores.append(sorted(found, reverse=True))
            masses.append([(found[score][0], found[score][1]) for score in scores[-1]])
        return cls(scores, masses, [(sum(n for n, _ in each), sum(p for _, p in each)) for each in masses])

    @property
    def weights(self) -> list[Pair]:
        """Every group's shares of all negatives and of all positives."""
        negatives, positives = (sum(each) for each in zip(*self.totals, strict=True))
        return [(Fraction(n, negatives), Fraction(p, positives)) for n, p in self.totals]

    @property
    def priors(self) -> list[Fraction]:
        """Every group's share of positives."""
        return [Fraction(p, n + p) for n, p in self.totals]

    @property
    def prior(self) -> Fraction:
        """The share of positives among all people."""
        negatives, positives = (sum(each) for each in zip(*self.totals, strict=True))
        return Fraction(positives, negatives + positives)

    def selected(self) -> tuple[list[float], list[Fraction]]:
        """All distinct scores, rising, and the share of all people with such a score or a higher one."""
        each: defaultdict[float, int] = defaultdict(int)
        for scores, masses in zip(self.scores, self.masses, strict=True):
            for score, mass in zip(scores, masses, strict=True):
                each[score] += sum(mass)
        falling = sorted(each, reverse=True)
        upto = list(accumulate(each[score] for score in falling))
        return falling[::-1], [Fraction(people, upto[-1]) for people in upto[::-1]]


class Line(NamedTuple):
    """Two rates over rising places, before and after the step at each; straight between."""

    places: list[float]
    before: list[Pair]
    after: list[Pair]

    @property
    def points(self) -> list[Pair]:
        """All points in their order."""
        return [point for pair in zip(self.before, self.after, strict=True) for point in pair]

    @property
    def steps(self) -> int:
        """At how many places there is a step."""
        return sum(before != after for before, after in zip(self.before, self.after, strict=True))


def original(people: Everybody) -> list[Line]:
    """The original score: a step at every score; places are ranks."""
    ranks = {score: float(-i) for i, score in enumerate(people.selected()[0])}
    lines = []
    for scores, masses, (negatives, positives) in zip(*people, strict=True):
        steps = accumulate(masses, lambda a, b: (a[0] + b[0], a[1] + b[1]), initial=(0, 0))
        points = [(Fraction(n, negatives), Fraction(p, positives)) for n, p in steps]
        lines.append(Line([ranks[score] for score in scores], points[:-1], points[1:]))
    return lines


class Kernel:
    """One group's kernel. Chances are whole numbers of 1 / ``one``; a row's last positive one is what is left of 1."""

    def __init__(self, data: Body, levels: int) -> None:
        self.levels, self.row, self.ordered, self.moved = levels, data["row"], data["ordered"], data["transported"]
        self.thresholds, self.ceiling = data["thresholds"], data["ceiling"]
        self.cuts = [-threshold for threshold in self.thresholds]
        self.own = list(zip(*(data[name] for name in ("first", "last", "start", "stop")), strict=True))
        self.one = max(Fraction(chance).denominator for _, *chances in data["table"] for chance in chances)
        self.rows: list[Row] = []
        for i, *chances in data["table"]:
            row = [(i + k, int(Fraction(chance) * self.one)) for k, chance in enumerate(chances) if chance > 0]
            left = self.one - sum(chance for _, chance in row[:-1])
            self.rows.append([*row[:-1], (row[-1][0], left)])

    def block(self, score: float) -> int:
        """The first block whose threshold is not above a score, or the last."""
        return min(bisect_left(self.cuts, -score), len(self.cuts) - 1)

    def ends(self, block: int, level: int) -> tuple[float, float]:
        """Between which places inside a level people of a block are spread evenly."""
        first, last, start, stop = self.own[block]
        return start if level == first else 0.0, stop if level == last else 1.0

    def place(self, block: int, score: float) -> float:
        """The place of a score whose block keeps its order: in doubles, as docs/reference/model-file.md says."""
        low, high = self.thresholds[block], self.thresholds[block - 1] if block else self.ceiling
        share = (high - min(max(score, low), high)) / (high - low) if high > low else 1.0
        first, _, start, stop = self.own[block]
        return float(first + (start + share * (stop - start)))

    def law(self, scores: Sequence[float], masses: Sequence[tuple[int, int]], totals: tuple[int, int]) -> Line:
        """The rates of the fair score over all places, for people with these scores."""
        blocks: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        jumps: defaultdict[float, list[int]] = defaultdict(lambda: [0, 0])
        pieces: defaultdict[tuple[float, float], list[int]] = defaultdict(lambda: [0, 0])
        for score, (negatives, positives) in zip(scores, masses, strict=True):
            block = self.block(score)
            if self.ordered[block]:
                _add(jumps[self.place(block, score)], negatives * self.one, positives * self.one)
            else:
                _add(blocks[block], negatives, positives)
        for block, mass in blocks.items():
            for level, chance in self.rows[self.row[block]]:
                begin, end = self.ends(block, level)
                _add(pieces[level + begin, level + end], mass[0] * chance, mass[1] * chance)
        slopes: defaultdict[float, list[Fraction]] = defaultdict(lambda: [ZERO, ZERO])
        for (begin, end), mass in pieces.items():
            if begin == end:
                _add(jumps[begin], *mass)
                continue
            width = Fraction(end) - Fraction(begin)
            _add(slopes[begin], mass[0] / width, mass[1] / width)
            _add(slopes[end], -mass[0] / width, -mass[1] / width)
        return self._line(jumps, slopes, (totals[0] * self.one, totals[1] * self.one))

    def _line(
        self, jumps: Mapping[float, list[int]], slopes: Mapping[float, list[Fraction]], totals: tuple[int, int]
    ) -> Line:
        """From steps and changes of slope."""
        line, last, mass, slope = Line([], [], []), ZERO, [ZERO, ZERO], [ZERO, ZERO]
        for place in sorted({0.0, float(self.levels), *jumps, *slopes}):
            here = Fraction(place)
            _add(mass, slope[0] * (here - last), slope[1] * (here - last))
            line.places.append(place)
            line.before.append((mass[0] / totals[0], mass[1] / totals[1]))
            _add(mass, *jumps.get(place, (0, 0)))
            line.after.append((mass[0] / totals[0], mass[1] / totals[1]))
            _add(slope, *slopes.get(place, (0, 0)))
            last = here
        return line

    def drawn(self, scores: Sequence[float], masses: Sequence[tuple[int, int]]) -> Pair:
        """Shares of the people whom fairness can move, and of those drawn for ties alone."""
        moved = tied = everybody = 0
        for score, mass in zip(scores, masses, strict=True):
            block = self.block(score)
            everybody += sum(mass)
            moved += sum(mass) * self.moved[block]
            tied += sum(mass) * (not self.moved[block] and not self.ordered[block])
        return Fraction(moved, everybody), Fraction(tied, everybody)

    def disorder(self) -> Pair:
        """By how much people of a block are likelier to get a good place than those of the block above, at most, and
        the threshold between the two. Not above 0 where a higher score never gets a lower law."""
        worst = (Fraction(-1), ZERO)
        for upper in range(len(self.cuts) - 1):
            rows = [dict(self.rows[self.row[block]]) for block in (upper, upper + 1)]
            before, found = [0, 0], ZERO
            corners = defaultdict(set)
            for first, last, start, stop in (self.own[upper], self.own[upper + 1]):
                corners[first].add(Fraction(start))
                corners[last].add(Fraction(stop))
            for level in sorted({*rows[0], *rows[1]}):
                for inside in corners.get(level, ()):
                    for closed in (True, False):
                        high = before[0] + rows[0].get(level, 0) * self._share(upper, level, inside, closed, best=False)
                        low = before[1] + rows[1].get(level, 0) * self._share(
                            upper + 1, level, inside, closed, best=True
                        )
                        found = max(found, low - high)
                before = [before[k] + rows[k].get(level, 0) for k in (0, 1)]
                found = max(found, Fraction(before[1] - before[0]))
            worst = max(worst, (found / self.one, Fraction(self.thresholds[upper])))
        return worst

    def _share(self, block: int, level: int, inside: Fraction, closed: bool, *, best: bool) -> Fraction:
        """Of a block's people in a level, who come up to a place; of a block in raw order, its best or worst score."""
        begin, end = map(Fraction, self.ends(block, level))
        if self.ordered[block]:
            begin = end = begin if best else end
        if begin < end:
            return min(max((inside - begin) / (end - begin), ZERO), ONE)
        return Fraction(inside > begin or (closed and inside == begin))


def _add(total: list[int] | list[Fraction], first: int | Fraction, second: int | Fraction) -> None:
    total[0] += first  # type: ignore[assignment]
    total[1] += second  # type: ignore[assignment]


class Figures(NamedTuple):
    """What a score does to people: the gap, AUCs, the widest range of FPR, TPR and selection rate; and the share of
    all people selected over all places (twice)."""

    gap: Fraction
    auc: Fraction
    group_aucs: list[Fraction]
    rates: list[Fraction]
    selected: Line


def figures(lines: Sequence[Line], people: Everybody, measure: Measure, progress: Progress | None = None) -> Figures:
    """At every place where some group's rates bend or step, before and after the step."""
    weights, priors, prior = people.weights, people.priors, people.prior
    gap, rates, pooled, selected = ZERO, [ZERO] * 3, [(ZERO, ZERO)], Line([], [], [])
    last, before = [(ZERO, ZERO)] * len(lines), ZERO
    for place, *both in sweep(lines, progress):
        selected.places.append(place)
        for points, kept in zip(both, (selected.before, selected.after), strict=True):
            x, y = (sum((w[c] * p[c] for w, p in zip(weights, points, strict=True)), ZERO) for c in (0, 1))
            share = x + prior * (y - x)
            pooled.append((x, y))
            kept.append((share, share))
            for end in measure.window or ():
                if points is both[0] and before < end < share:  # straight since the last place, past a window's end
                    part = (end - before) / (share - before)
                    gap = max(
                        gap, measure.gap([_between(a, b, part) for a, b in zip(last, points, strict=True)], priors)
                    )
            if measure.looks(share):
                gap = max(gap, measure.gap(points, priors))
            every = [(fpr, tpr, fpr + own * (tpr - fpr)) for (fpr, tpr), own in zip(points, priors, strict=True)]
            rates = [
                max(rate, max(line) - min(line)) for rate, line in zip(rates, zip(*every, strict=True), strict=True)
            ]
            last, before = points, share
            if both[0] == both[1]:
                selected.after.append((share, share))
                break
    return Figures(gap, area(pooled), [area(line.points) for line in lines], rates, selected)


def sweep(lines: Sequence[Line], progress: Progress | None) -> Iterator[tuple[float, list[Pair], list[Pair]]]:
    """All groups' points at every place of some group, before and after the steps there."""
    upto, places = [0] * len(lines), sorted({place for line in lines for place in line.places})
    for done, place in enumerate(places):
        if progress is not None:
            progress(done + 1, len(places))
        before, after = [], []
        for g, line in enumerate(lines):
            k = upto[g]
            if k < len(line.places) and line.places[k] == place:
                before.append(line.before[k])
                after.append(line.after[k])
                upto[g] = k + 1
            else:
                before.append(_inside(line, k, place))
                after.append(before[-1])
        yield place, before, after


def _inside(line: Line, k: int, place: float) -> Pair:
    """The point of a line at a place before its k-th."""
    if k == 0 or k == len(line.places) or line.after[k - 1] == line.before[k]:
        return line.after[k - 1] if k else (ZERO, ZERO)
    begin, end = Fraction(line.places[k - 1]), Fraction(line.places[k])
    return _between(line.after[k - 1], line.before[k], (Fraction(place) - begin) / (end - begin))


def _between(one: Pair, other: Pair, share: Fraction) -> Pair:
    return one[0] + share * (other[0] - one[0]), one[1] + share * (other[1] - one[1])


def around(line: Line, place: float) -> Pair:
    """The first rate of a line before and after the step at any place."""
    k = bisect_left(line.places, place)
    if k < len(line.places) and line.places[k] == place:
        return line.before[k][0], line.after[k][0]
    point = _inside(line, k, place)
    return point[0], point[0]


def area(points: Sequence[Pair]) -> Fraction:
    """Area under a polygonal line; summed in pairs, since denominators grow."""
    terms = [(b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points) if b[0] != a[0]]
    while len(terms) > 1:
        terms = [sum(terms[i : i + 2], ZERO) for i in range(0, len(terms), 2)]
    return sum(terms, ZERO)


def hull(points: Sequence[Pair]) -> list[Pair]:
    """Corners of the lowest concave line above points sorted by their coordinates."""
    found: list[Pair] = []
    for x, y in points:
        while found and (found[-1][0] == x or (len(found) > 1 and _below(found[-2], found[-1], (x, y)))):
            if found[-1][0] == x and found[-1][1] > y:
                break
            found.pop()
        else:
            found.append((x, y))
    return found


def _below(one: Pair, middle: Pair, other: Pair) -> bool:
    """Whether a point is not above the line through two others around it."""
    rise, run = other[1] - one[1], other[0] - one[0]
    return (middle[0] - one[0]) * rise >= (middle[1] - one[1]) * run


def roc_hull(line: Line) -> list[Pair]:
    """Corners of the concave hull of a ROC curve, from (0, 0) to (1, 1); turned, so that no edge is upright."""
    turned = hull([(fpr + tpr, tpr - fpr) for fpr, tpr in (line.before[0], *line.after)])
    return [((u - v) / 2, (u + v) / 2) for u, v in turned]
