"""The fair score of a model that draws nobody as tables for people to read: one rising map for each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from numbers import Integral
from typing import Any

import numpy as np

from fairroc.core.chain import FloatArray, Frozen, area, merged
from fairroc.core.doubles import first_true
from fairroc.core.portable import weighted
from fairroc.core.realised import Performance, performance, widest
from fairroc.core.roc import rates_at
from fairroc.docstrings import documented
from fairroc.errors import DataError
from fairroc.model.explanation import one_row
from fairroc.model.model import ModelData, Reference, expected_rocs, treated_as
from fairroc.people.people import People
from fairroc.summary import Result, Summary
from fairroc.tables.columns import data_frame

DIGITS, SLACK = 3, 0.001
"""Cut-offs and new scores are rounded down to so many digits, or as many more as it takes to move them by no more than
this part of the way to the next one."""

LARGEST = float(np.finfo(np.float64).max)

HEAD = ["group", "from score", "fair score", "slope", "points to add"]
SETUP = """>>> import numpy as np
>>> from fairroc import FairROC
>>> rng = np.random.default_rng(0)
>>> sex, y = rng.choice(["f", "m"], 1000), rng.integers(0, 2, 1000)
>>> scores = y + np.where(sex == "f", 1.0, 2.0) * rng.normal(size=1000)
>>> model = FairROC(epsilon=0.1, promise="fitted", draw="never").fit(scores, y, sensitive_features=sex).model_
>>> found = model.map("m")"""


@documented(setup=SETUP, raises="DataError")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoreMap(Frozen, Result):
    """How the score of one group's people becomes the fair one where nobody is drawn: one row for each straight piece.

    The fair score of s is ``(s - score[i]) * slope[i] + fair[i]``, where row i is the last one with ``score[i] <= s``,
    and the first one below all. These are `FairModel.transform`'s own numbers and steps, so they give the same bits.

    Attributes
    ----------
    group : as the model calls it.
    score : (k,) rising, where the pieces begin: the group's lowest fitted score, ..., its highest.
    fair : (k,) fair scores there. Where one is above the end of the piece before, the map jumps.
    slope : (k,) fair score for each unit of the score, up to the next row.
    lowest : scores below count as this one; minus infinity in a model that leaves scores as they are, whose map is one
        row of slope 1.

    Examples
    --------
    >>> found.group, len(found.score) == len(found.fair)
    ('m', True)
    """

    group: str
    score: FloatArray
    fair: FloatArray
    slope: FloatArray
    lowest: float

    def _summary(self) -> Summary:
        return Summary(f"ScoreMap: {len(self.score):,} rows", [], HEAD, shown(self), noun="rows: to_columns() has all")

    def __call__(self, scores: Any) -> FloatArray:
        """Fair scores of this group's scores."""
        s = np.maximum(np.asarray(scores, dtype=np.float64), self.lowest)
        row = np.maximum(np.searchsorted(self.score, s, side="right") - 1, 0)
        return np.asarray((s - self.score[row]) * self.slope[row] + self.fair[row])

    def to_columns(self) -> dict[str, list[Any]]:
        """One row for each piece; ``points`` are fair score minus score where it begins, in twelve digits.

        >>> list(found.to_columns())
        ['group', 'score', 'fair_score', 'slope', 'points']
        """
        points = [float(f"{one:.12g}") for one in (self.fair - self.score).tolist()]
        numbers = {"score": self.score.tolist(), "fair_score": self.fair.tolist(), "slope": self.slope.tolist()}
        return {"group": [self.group] * len(points), **numbers, "points": points}

    def to_frame(self) -> Any:
        """The same as a pandas data frame.

        Returns: pandas.DataFrame: one row for each piece.
        >>> len(found.to_frame()) == len(found.score)
        True
        """
        return data_frame(self.to_columns())


def shown(table: ScoreMap | PointsTable) -> list[list[str]]:
    """Rows of `HEAD` in few digits."""
    rows = zip(*table.to_columns().values(), strict=True)
    return [[str(group), *(f"{one:.6g}" for one in numbers)] for group, *numbers in rows]


def reaching(one: ScoreMap, thresholds: FloatArray) -> FloatArray:
    """The lowest scores whose fair scores reach thresholds; infinity where none does. Not for a slope after the last
    row."""
    after = np.searchsorted(one.fair, thresholds)
    found = np.append(one.score, np.inf)[after]
    inside = np.flatnonzero((after > 0) & (after < len(one.score)))
    wanted, low, top = thresholds[inside], one.score[after[inside] - 1], found[inside]
    found[inside] = first_true(lambda s, which: one(s) >= wanted[which], low, top, top)
    return found


def corners(one: ScoreMap, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Old and fair scores along a map from one old score to another, both sides of every jump."""
    bends = one.score[(one.score > low) & (one.score < high)]
    both = np.stack((np.nextafter(bends, -np.inf), bends), axis=1).ravel()
    x = np.concatenate(([low], both, [high]))
    return x, one(x)


def score_map(model: ModelData, group: Any, points: Any = None) -> ScoreMap:
    """The map of one group, by its value or the values of several columns; `FairModel.map` documents it."""
    maps = score_maps(model, points)
    return maps[int(model.read([0.0], one_row(group, named=True)).groups[0])]


def score_maps(model: ModelData, points: Any = None) -> tuple[ScoreMap, ...]:
    """The maps of all groups: as they are, or as steps to so many new scores that are the same for all groups."""
    if model.proxy is not None:
        raise DataError(
            "a map needs a model that is told the group, got one fitted with use_group=False, which is told "
            "probabilities of the groups. Use transform, to_sql or to_onnx."
        )
    if model.needs_ids:
        raise DataError(
            "a map needs a model that draws nobody, got one that draws people: their fair score is no function of "
            'score and group. Fit again with draw="never" (--draw never).'
        )
    exact = tuple(_exact(model, g) for g in range(len(model.names)))
    return exact if points is None else _steps(model, exact, points)


def _exact(model: ModelData, g: int) -> ScoreMap:
    """A group's cells but the first, which is for scores below all fitted ones."""
    if model.tables is None:
        return ScoreMap(model.names[g], np.zeros(1), np.zeros(1), np.ones(1), -np.inf)
    cells = model.tables.cells
    own = np.flatnonzero(cells.group == g)[1:]
    score = cells.origin[own]
    return ScoreMap(model.names[g], score, cells.value[own], cells.slope[own], float(score[0]))


# ---- few rows --------------------------------------------------------------------------------------------------------
#
# Fair scores that are rounded down to a few new ones, the same in all groups, open no gap: those who reach a new score
# are those who reached some threshold before. What is lost is the order of people inside a step.


def _steps(model: ModelData, maps: Sequence[ScoreMap], points: Any) -> tuple[ScoreMap, ...]:
    """Maps to at most so many new scores, each a fair score that somebody can have, in few digits like the cut-offs."""
    if not isinstance(points, Integral) or isinstance(points, bool) or points < 2:
        raise DataError(f"points must be a whole number of at least 2, got {points!r}. Try 20, or leave it out.")
    if model.unchanged:
        raise DataError(
            "points must be left out with a model that leaves every score as it is, got some: there is nothing to add."
        )
    wanted = _even_scores(model, int(points))
    first = [reaching(one, wanted) for one in maps]
    reached = [np.where(s < np.inf, one(np.minimum(s, LARGEST)), np.inf) for one, s in zip(maps, first, strict=True)]
    levels = np.unique(np.min(reached, axis=0))
    return tuple(_stepped(one, _short(levels[levels < np.inf])) for one in maps)


def _stepped(one: ScoreMap, levels: FloatArray) -> ScoreMap:
    """A map rounded down to those of some levels that it reaches."""
    cuts = reaching(one, levels)
    last = cuts < np.append(cuts[1:], np.inf)  # of levels that are reached at once, the highest
    score = _short(cuts[last])
    return ScoreMap(one.group, score, levels[last], np.zeros(len(score)), float(score[0]))


def _short(values: FloatArray) -> FloatArray:
    """Rising numbers rounded down to few digits."""
    room = SLACK * np.diff(values, prepend=np.nan)
    room[0] = room[1] if len(room) > 1 else 0.0
    return np.array([_rounded(value, most) for value, most in zip(values.tolist(), room.tolist(), strict=True)])


def _rounded(value: float, most: float) -> float:
    """A number rounded down by no more than so much."""
    text = repr(value)
    cut = (float(Context(prec=n, rounding=ROUND_FLOOR).create_decimal(text)) for n in range(DIGITS, 18))
    return next((found for found in cut if value - found <= most), value)


def _even_scores(model: ModelData, count: int) -> FloatArray:
    """(count,) rising scores that cut all fitted people into about even parts, from below all on."""
    low, high = model.score_range
    at, below = np.array([low, high]), np.array([0.0, 1.0])  # of an old file that does not tell: even steps
    if model.references:
        at = merged(*(one.borders for one in model.references))
        below = np.sum([_below(one, at).sum(axis=1) for one in model.references], axis=0)
    return np.append(-np.inf, np.interp(np.arange(1, count) / count * below[-1], below, at))


def _below(reference: Reference, scores: FloatArray) -> FloatArray:
    """(k, 2) how many fitted negatives and positives are below scores, spread evenly inside each bin."""
    upto = np.pad(np.cumsum(reference.counts, axis=0), ((1, 0), (0, 0)))
    return np.stack([np.interp(scores, reference.borders, line) for line in upto.T], axis=1)


# ---- what it costs ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PointsTable:
    """The maps of all groups in one table, and what it costs that they are rounded.

    Attributes
    ----------
    most : a fair score is rounded down by so much at most.
    crossing : of a group's fitted negatives or positives no more than about this share is lifted over a cut-off, which
        has few digits, by the counts in the model file; None in old files, which have none.
    people, rounded, exact : how many people were given, and gap and AUC of the table's and of the model's fair scores
        among them.
    """

    maps: tuple[ScoreMap, ...]
    most: float = 0.0
    crossing: float | None = 0.0
    people: int | None = None
    rounded: Performance | None = None
    exact: Performance | None = None

    def to_columns(self) -> dict[str, list[Any]]:
        """The rows of all groups."""
        parts = [one.to_columns() for one in self.maps]
        return {name: [value for part in parts for value in part[name]] for name in parts[0]}

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        columns = self.to_columns()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        found: dict[str, Any] = {"rows": rows, "most": self.most, "crossing": self.crossing, "people": self.people}
        for name, one in (("", self.rounded), ("_exact", self.exact)):
            found |= {f"gap{name}": None if one is None else one.gap, f"auc{name}": None if one is None else one.auc}
        return found


def points_table(model: ModelData, points: int | None = None, people: People | None = None) -> PointsTable:
    """All maps; rounded to so many ``points`` with what that costs, for ``people`` exactly."""
    exact, maps = score_maps(model), score_maps(model, points)
    if people is not None and (points is None or model.compared):
        raise DataError(
            "people go with points (--points), which alone round, and with a model that is told the very groups it "
            "compares; got some without. Leave them out (DATA, --score, --label, --group)."
        )
    if points is None:
        return PointsTable(maps)
    most = max(_most_moved(*pair) for pair in zip(exact, maps, strict=True))
    crossing = max(map(_crossing, model.references, exact, maps), default=None)
    if people is None:
        return PointsTable(maps, most, crossing)
    seen, realised = expected_rocs(model, people)
    before = performance(realised, seen, model.fairness)
    return PointsTable(maps, most, crossing, people.rows, _performance(model, maps, people), before)


def _crossing(reference: Reference, exact: ScoreMap, step: ScoreMap) -> float:
    """The largest share of a group's negatives or positives between a cut-off and the same in few digits."""
    between = _below(reference, reaching(exact, step.fair)) - _below(reference, step.score)
    return float((np.abs(between) / _below(reference, np.array([np.inf]))).max())


def _most_moved(exact: ScoreMap, step: ScoreMap) -> float:
    """How far rounding down moves a fair score of a group at most: at the end of some step."""
    ends = np.append(np.nextafter(step.score[1:], -np.inf), exact.score[-1])
    return float((exact(ends) - step.fair).max())


def _performance(model: ModelData, maps: Sequence[ScoreMap], people: People) -> Performance:
    """Gap and AUCs of a table's fair scores among people."""
    levels, lines = merged(*(one.fair for one in maps))[::-1], []
    for name, curve in zip(people.names, people.exact.curves, strict=True):
        one = maps[treated_as(model, name, None)]
        cut = np.append(one.score, np.inf)[np.searchsorted(one.fair, levels)]
        rates = np.stack(rates_at(curve, np.where(cut == one.lowest, -np.inf, cut)))
        lines.append(np.repeat(np.pad(rates, ((0, 0), (1, 0))), 2, axis=1)[:, 1:-1])  # before and after every step
    (fpr, tpr), exact = np.stack(lines, axis=2), people.exact
    auc = area(weighted(fpr, exact.weights0), weighted(tpr, exact.weights1))
    return Performance(widest(fpr, tpr, exact, model.fairness), auc, tuple(area(*line) for line in lines))
