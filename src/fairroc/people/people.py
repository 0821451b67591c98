"""People: the one noun for data behind the door. Every group's sample, with what a fit or an audit asks of it.

Rows, counts, files, frames and tensors all become `People` (:mod:`fairroc.people.door`); nothing else sees them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray
from fairroc.core.roc import Population, curve_from_counts, query_thresholds
from fairroc.errors import DataError, SmallGroupWarning, number_of_rows, several
from fairroc.people.cells import WeightedRows, WeightedSample, tallied, unlabelled
from fairroc.people.sample import EvenSample, thin_points
from fairroc.people.small import SmallGroups, SmallRule, too_small
from fairroc.stats.bands import Noise

SMALL_CLASS = 50
"""Fewer rows of a class leave its rate uncertain by ±0.19 and more."""

Sample: TypeAlias = EvenSample | WeightedSample


@dataclass(frozen=True, eq=False)
class People:
    """Everybody a fit or an audit looks at, group by group.

    A class without people is allowed as long as nobody asks for a curve; `both_labels` checks that.

    Attributes
    ----------
    names : the groups, sorted.
    samples : each group's people.
    weighted : whether people have weights; then samples are `WeightedSample`.
    error : of counts in bins, how far any rate at any threshold can be too low; else 0.
    small : the small groups that were merged or left out at the door, if there were any.
    """

    names: tuple[str, ...]
    samples: tuple[Sample, ...]
    weighted: bool = False
    error: float = 0.0
    small: SmallGroups | None = None

    # -- how many ----------------------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.group_counts()[0].sum())

    def group_counts(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows and positives of every group, whatever their weight."""
        counts = np.array([sample.counts for sample in self.samples], dtype=np.intp).reshape(-1, 2)
        return counts.sum(axis=1), counts[:, 1]

    def class_rows(self) -> NDArray[np.intp]:
        """(groups, 2) number of rows of positive weight, by group and label."""
        return np.array([sample.class_rows for sample in self.samples], dtype=np.intp).reshape(-1, 2)

    def class_sizes(self) -> FloatArray:
        """(groups, 2) effective sample size (Kish) by group and label: the number of rows without weights."""
        heaviest = self._heaviest
        sizes = [s.sizes(heaviest) if isinstance(s, WeightedSample) else s.counts for s in self.samples]
        return np.array(sizes, dtype=np.float64).reshape(-1, 2)

    def class_people(self) -> FloatArray:
        """(groups, 2) people by group and label: whole weights of rows count people, else the effective size."""
        rows = [sample for sample in self.samples if isinstance(sample, WeightedRows)]
        if not rows or any(bool((sample.weights != np.floor(sample.weights)).any()) for sample in rows):
            return self.class_sizes()
        return np.array([np.bincount(sample.labels, sample.weights, 2) for sample in rows], dtype=np.float64)

    def group_masses(self) -> tuple[FloatArray, FloatArray]:
        """(groups,) weight of every group's people over that of the heaviest row, and the sum of its squares."""
        if not self.weighted:
            rows = self.group_counts()[0].astype(np.float64)
            return rows, rows
        parts = [sample.cells()[2] / self._heaviest for sample in self.samples]
        one, two = ([float(np.bincount(np.zeros(len(p), dtype=np.intp), p**k, 1)[0]) for p in parts] for k in (1, 2))
        return np.array(one), np.array(two)

    @cached_property
    def _heaviest(self) -> float:
        """The largest weight of a row."""
        return max(float(sample.cells()[2].max(initial=0.0)) for sample in self.samples) if self.weighted else 1.0

    def small_by(self, rule: SmallRule) -> SmallGroups | None:
        """The groups that a rule merges or leaves out."""
        return rule.found(self.names, self.class_rows(), *self.group_counts())

    @cached_property
    def labelled(self) -> bool:
        """Whether anybody is positive: without labels all count as negatives."""
        return bool(self.group_counts()[1].any())

    @property
    def score_range(self) -> tuple[float, float]:
        """Lowest and highest score."""
        spans = [sample.span for sample in self.samples if sum(sample.counts)]
        return min(low for low, _ in spans), max(high for _, high in spans)

    # -- curves ------------------------------------------------------------------------------------------------------

    @cached_property
    def thin(self) -> Population:
        """Curves of bounded size with the exact hulls; the exact curves themselves unless there are many scores."""
        totals = np.array([sample.totals for sample in self.samples])
        each = totals.sum(axis=0)
        weights = totals[:, 0] / each[0], totals[:, 1] / each[1], totals.sum(axis=1) / each.sum()
        return Population(tuple(sample.thin for sample in self.samples), *weights)

    @cached_property
    def exact(self) -> Population:
        """Curves with a point for every distinct score."""
        curves = tuple(sample.curve for sample in self.samples)
        same = all(a is b for a, b in zip(curves, self.thin.curves, strict=True))
        return self.thin if same else replace(self.thin, curves=curves)

    @cached_property
    def hidden(self) -> float:
        """How far the gap of the thin curves may be off: inside a step of several scores a point can lie anywhere."""
        return sum(sorted(sample.hidden for sample in self.samples)[-2:])

    def queried(self, queries: int) -> Population:
        """These people seen through the query model only: curves at equidistant thresholds over the score range."""
        grid = query_thresholds(*self.score_range, queries)
        both = [sample.between(grid)[1:].T for sample in self.samples]
        return replace(self.thin, curves=tuple(curve_from_counts(grid, *part) for part in both))

    def noises(self, *, thin: bool = False) -> list[Noise]:
        """How uncertain every group's exact curve is; with ``thin``, its thin curve where rows weigh the same."""
        return [sample.noise(thin=thin) for sample in self.samples]

    # -- other people ------------------------------------------------------------------------------------------------

    def only(self, groups: Sequence[int]) -> People:
        """The people of some groups."""
        if len(groups) == len(self.names):
            return self
        points = thin_points(len(groups))
        samples = tuple(replace(self.samples[g], points=points) for g in groups)
        return replace(self, names=tuple(self.names[g] for g in groups), samples=samples)

    def not_below(self, lowest: Sequence[float]) -> People:
        """The same people with scores below a lowest one of their group raised to it; the same object if none is."""
        samples: list[Sample] = []
        for sample, low in zip(self.samples, lowest, strict=True):
            if sample.span[0] < low:
                sample = (sample if isinstance(sample, WeightedSample) else tallied(sample)).not_below(low)
            samples.append(sample)
        same = all(a is b for a, b in zip(samples, self.samples, strict=True))
        return self if same else replace(self, samples=tuple(samples))

    def used(self) -> People:
        """Without the rows of weight 0."""
        found = [
            sample.taken(np.flatnonzero(sample.weights > 0))
            if isinstance(sample, WeightedRows) and not (sample.weights > 0).all()
            else sample
            for sample in self.samples
        ]
        return replace(self, samples=tuple(found))

    def squared(self) -> People:
        """The same people with the square of their weights."""
        heaviest = self._heaviest
        found = [
            replace(sample, weights=(sample.weights / heaviest) ** 2) if isinstance(sample, WeightedRows) else sample
            for sample in self.samples
        ]
        return replace(self, samples=tuple(found))

    def without_labels(self) -> People:
        """The same people, everybody once as a negative and once as a positive: what is measured of either rate is
        measured of the share selected, with the uncertainty of the group's people."""
        return replace(self, samples=tuple(unlabelled(sample) for sample in self.samples))

    # -- what to say of them -----------------------------------------------------------------------------------------

    def small_groups(self, minimum: int = SMALL_CLASS) -> list[SmallGroupWarning]:
        """One warning, or none, that names the groups with fewer than ``minimum`` rows of a class, after one of those
        that were merged or left out.

        The half width is that of the Dvoretzky-Kiefer-Wolfowitz band with Massart's constant
        (doi:10.1214/aop/1176990746), for rows of equal weight; unequal weights make it wider.
        """
        notes = []
        for name, label, rows in _classes(self):
            if rows < minimum:
                width = min(math.sqrt(math.log(2 / 0.05) / (2 * max(rows, 1))), 1.0)
                of, rate = (f" with label {label}", ("false", "true")[label] + " positive")
                of, rate = (of, rate) if self.labelled else ("", "selection")
                notes.append(
                    f"group {name!r} has {number_of_rows(rows)}{of}: its {rate} rate is known to within ±{width:.2f} "
                    "only (95 %)"
                )
        treated = [] if self.small is None else [SmallGroupWarning(self.small.words())]
        ways = (
            "Take more rows, or have small groups merged or left out (--small-groups merge or drop, --min-class-rows "
        )
        listed = f"{several(notes, shown=2)}. {ways}{minimum})."
        more = f"All of them: {'; '.join(notes)}." if len(notes) > 2 else ""
        return [*treated, *([SmallGroupWarning(listed, more)] if notes else [])]


def both_labels(people: People) -> People:
    """The same people, if they can be fitted or audited: two groups or more, each with people of both labels."""
    names, counts = several_groups(people).names, people.class_rows()
    used = " of positive weight" if people.weighted else ""
    broken = [
        f"group {name!r} has {number_of_rows(sum(rows))}{used}"
        + (f", all with label {int(rows[1] > 0)}" if sum(rows) else "")
        for name, rows, small in zip(names, counts.tolist(), too_small(counts, 1), strict=True)
        if small
    ]
    if broken:
        it = "it" if len(broken) == 1 else "each"
        raise DataError(
            f"{several(broken)}; a ROC curve needs both labels. "
            + _ways_out(people, f"Merge {it} with another group, leave {it} out")
        )
    return people


def several_groups(people: People) -> People:
    """The same people, if they can be compared: two groups or more, each with people of positive weight."""
    names = people.names
    if len(names) == 1:
        before = "" if people.small is None else f" ({people.small.words().removesuffix('.')})"
        raise DataError(
            f"one group only: {names[0]!r} holds all {people.rows} rows{before}, there is nothing to compare; "
            "pass sensitive_features (on the command line: --group) with at least two groups."
        )
    if not people.labelled and (lost := np.flatnonzero(people.class_rows()[:, 0] == 0)).size:
        listed = several([repr(names[g]) for g in lost], ", ")
        raise DataError(f"every group must have rows of positive weight, and {listed} has none; leave such rows out.")
    return people


def refuse_tiny_groups(people: People, minimum: int) -> None:
    """Raise if a group has fewer than ``minimum`` rows of a class."""
    if too_small(people.class_rows(), minimum).any():
        tiny = [cell for cell in _classes(people) if cell[2] < minimum]
        listed = [f"group {name!r} has {number_of_rows(rows)} with label {label}" for name, label, rows in tiny]
        raise DataError(
            f"{several(listed)}; at least {minimum} of each label are needed. "
            + _ways_out(
                people,
                "Merge small groups with others, leave them out, "
                f"pass min_class_rows={min(rows for *_, rows in tiny)} to go on regardless",
            )
        )


def _ways_out(people: People, by_hand: str) -> str:
    """What to do about groups that are too small."""
    small = people.small
    if small is not None and small.merged_into is not None:
        return (
            f"{small.merged_into!r} holds all small groups, and they are too few: {small.listed()}. Take "
            "small_groups='drop' (--small-groups drop), or merge them with a larger group."
        )
    return f"{by_hand}, or let fits and audits do it: small_groups='merge' (--small-groups merge) or 'drop'."


def _classes(people: People) -> list[tuple[str, int, int]]:
    """(name, label, rows of positive weight) of every group and label."""
    counts = zip(people.names, people.class_rows().tolist(), strict=True)
    return [(name, label, rows[label]) for name, rows in counts for label in ((0, 1) if people.labelled else (0,))]
