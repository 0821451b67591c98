"""Impact ratios: how often categories of people are selected, or score above the median, beside the highest category.

As New York City's rules on bias audits (6 RCNY 5-300 to 5-301) and the four-fifths rule (29 CFR 1607.4 D) have them.
Rates are weighted where rows are; of a fair score they are expectations over its draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from fairroc.auditing.audit import FOUR_FIFTHS
from fairroc.core.chain import FloatArray
from fairroc.core.constraint import FEW_SELECTED
from fairroc.core.doubles import first_true
from fairroc.core.gap import ROUNDING
from fairroc.errors import DataError, several
from fairroc.people.factorise import IntArray, as_column, as_text, present_values
from fairroc.people.rows import same_length
from fairroc.summary import Part

FEW_EXPECTED = 5.0
"""With fewer people expected in a cell of two categories by two outcomes, the normal distribution is a poor guide."""

MOST_CATEGORIES = 100
"""A column of more values than this is no protected attribute."""

LOOKS = 200
"""Thresholds at which a fair score is looked at, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Classification:
    """People by the values of one column, or of two together; the code -1 is for people of unknown category."""

    by: tuple[str, ...]
    names: tuple[str, ...]
    codes: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A score of some rows: the original one, or a fair one by the ``chance`` of each row to reach a threshold."""

    name: str
    scores: FloatArray  # the original ones
    weights: FloatArray
    chance: Callable[[float], FloatArray] | None = None

    def reaches(self, threshold: float) -> FloatArray:
        """(n,) chance that the row's score is at least the threshold."""
        return (self.scores >= threshold).astype(np.float64) if self.chance is None else self.chance(threshold)

    def share(self, threshold: float) -> float:
        """Share of all people whose score is at least the threshold."""
        return float(self.weights @ self.reaches(threshold) / self.weights.sum())

    def median(self) -> float:
        """Half of all people have at most this score, and half at least; the middle where several numbers are such.

        >>> Scored("original", np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4)).median()
        2.5
        """

        def test(values: FloatArray, which: Any) -> Any:
            """Whether at most half are above (first), and whether fewer than half are there (second)."""
            both = zip(values.tolist(), which.tolist(), strict=True)
            above = (self.share(t) < 0.5 - ROUNDING if i else self.share(_next(t)) <= 0.5 + ROUNDING for t, i in both)
            return np.fromiter(above, bool, len(values))

        ends = np.full(2, 1e308)
        low, beyond = first_true(test, -ends, np.full(2, np.median(self.scores)), ends).tolist()
        return float((low + math.nextafter(beyond, -math.inf)) / 2)

    def above(self, threshold: float) -> FloatArray:
        """(n,) chance that the row's score is above the threshold."""
        return self.reaches(_next(threshold))

    def selecting(self, share: float) -> float:
        """The lowest threshold that selects at most this share of all people; the highest score where none does."""
        known, shares = self._distinct()
        few = np.flatnonzero(shares <= share + ROUNDING)
        return float(known[few[0] if len(few) else -1])

    def _distinct(self) -> tuple[FloatArray, FloatArray]:
        """Rising distinct original scores, and the share of all people who have each or more."""
        known, place = np.unique(self.scores, return_inverse=True)
        each = np.bincount(place, self.weights)
        return known, np.cumsum(each[::-1])[::-1] / each.sum()

    def everywhere(self, parts: Sequence[Classification]) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        """Thresholds, shares of all people selected there, and for each classification (thresholds, categories) sums
        of weight selected: at all scores of an original score, at LOOKS of them of a fair one."""
        if self.chance is None:
            known, shares = self._distinct()
            place = np.searchsorted(known, self.scores)
            return known, shares, [np.stack([*self._from_above(of, place, len(known))], axis=1) for of in parts]
        known = np.unique(np.quantile(self.scores, np.linspace(0, 1, LOOKS), method="nearest"))
        each = [np.empty((len(known), len(of.names))) for of in parts]
        shares = np.empty(len(known))
        for i, threshold in enumerate(known.tolist()):
            weights = self.weights * self.reaches(threshold)
            shares[i] = weights.sum() / self.weights.sum()
            for sums, of in zip(each, parts, strict=True):
                sums[i] = _sums(of, weights)
        return known, shares, each

    def _from_above(self, of: Classification, place: Any, size: int) -> Iterator[Any]:
        """For each category the weight of those at every place or above."""
        for code in range(len(of.names)):
            mine = of.codes == code
            yield np.cumsum(np.bincount(place[mine], self.weights[mine], size)[::-1])[::-1]


@dataclass(frozen=True, slots=True, repr=False)
class CategoryRate(Part):
    """One category of people: how many, how often they are selected or above the median, and beside the highest rate.

    Attributes
    ----------
    rows, people, share : rows; the weight they have together (rows, without weights); their share of all people.
    selected, rate : people selected or above the median, of a fair score in expectation; their share of the category,
        None where it has nobody.
    excluded : whether its share is too small for a ratio.
    ratio : rate over the highest rate; None if excluded, if it has nobody or if the highest rate is 0.
    below_four_fifths : whether the ratio is below 0.8.
    deviations : by how many standard deviations the rate is below the highest (two proportions, pooled); None for the
        highest itself and where both are 0 or 1. Weighted rows count as their effective number.
    few : whether fewer than five people are expected in some cell of that comparison: then go by ``fisher``.
    fisher : two-sided p value of Fisher's exact test; None for weighted rows and for expectations.
    """

    category: str
    rows: int
    people: float
    share: float
    selected: float
    rate: float | None
    excluded: bool = False
    ratio: float | None = None
    below_four_fifths: bool | None = None
    deviations: float | None = None
    few: bool | None = None
    fisher: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class ImpactTable(Part):
    """Rates and impact ratios of the categories of one classification.

    ``measure`` is "scoring_rate" (score above ``threshold``, the median of all people) or "selection_rate" (score at
    least the threshold). ``selected_share`` is that of all people, ``highest`` the category with the highest rate of
    those that are not excluded. People of unknown category are in the median and in shares, and in no category.
    """

    by: tuple[str, ...]
    score: str
    measure: str
    threshold: float
    selected_share: float
    unknown_rows: int
    unknown_share: float
    highest: str | None
    categories: tuple[CategoryRate, ...]

    @property
    def lowest(self) -> CategoryRate | None:
        """The category with the lowest ratio."""
        known = [each for each in self.categories if each.ratio is not None]
        return min(known, key=lambda each: each.ratio or 0.0, default=None)


@dataclass(frozen=True, slots=True, repr=False)
class WorstRatio(Part):
    """The smallest impact ratio of selection rates over thresholds that select 5 % of all people or more."""

    by: tuple[str, ...]
    score: str
    thresholds: int
    ratio: float | None = None
    category: str | None = None
    highest: str | None = None
    threshold: float | None = None
    selected_share: float | None = None


def classify(columns: Mapping[str, Any], unknown: Collection[str] = ()) -> tuple[Classification, ...]:
    """People by each column, and by every two of them together. Missing values, blanks and the ``unknown`` ones are
    unknown; of two columns, where either is. A combination that nobody has is a category of nobody.

    >>> found = classify({"sex": ["f", "m", "?"], "race": ["x", None, "y"]}, ["?"])
    >>> [(each.by, each.names, each.codes.tolist()) for each in found[::2]]
    [(('sex',), ('f', 'm'), [0, 1, -1]), (('sex', 'race'), ('f & x', 'f & y', 'm & x', 'm & y'), [0, -1, -1])]
    """
    single = [_one_column(str(name), column, unknown) for name, column in columns.items()]
    same_length(**{f"category {each.by[0]!r}": each.codes for each in single})
    pairs = []
    for one, two in combinations(single, 2):
        codes = np.where((one.codes < 0) | (two.codes < 0), -1, one.codes * len(two.names) + two.codes)
        names = tuple(" & ".join(both) for both in product(one.names, two.names))
        if len(set(names)) < len(names):
            raise DataError(f"two combinations of {one.by[0]!r} and {two.by[0]!r} have one name; rename their values.")
        pairs.append(Classification((*one.by, *two.by), names, codes))
    return (*single, *pairs)


def _one_column(name: str, column: Any, unknown: Collection[str]) -> Classification:
    codes, values, _ = present_values(as_column(column, name), name)
    texts = [as_text(value) for value in values]
    names = tuple(sorted({text for text in texts if text.strip() and text not in unknown}))
    if not names or len(names) > MOST_CATEGORIES:
        got = (
            "none that is known"
            if not names
            else f"{len(names):,}, such as {several(list(map(repr, names[:3])), ', ')}"
        )
        raise DataError(
            f"the categories of {name!r} must be 1 to {MOST_CATEGORIES}, got {got}. Name a column with few values, "
            "such as sex or race (categories=, on the command line: --category)."
        )
    place = {text: i for i, text in enumerate(names)}
    table = np.array([*(place.get(text, -1) for text in texts), -1], dtype=np.intp)  # the last: reached by -1
    return Classification((name,), names, table[codes])


def impact_table(
    of: Classification, score: Scored, measure: str, threshold: float, *, exclude_below: float, weighted: bool
) -> ImpactTable:
    """Rates of all categories at a threshold, ratios to the highest, and how sure differences are."""
    chance = score.above(threshold) if measure == "scoring_rate" else score.reaches(threshold)
    weights, unknown = score.weights, of.codes < 0
    rows, total = _sums(of, np.ones(len(weights))).astype(int).tolist(), float(weights.sum())
    people, selected, squares = (_sums(of, part) for part in (weights, weights * chance, weights**2))
    rates = [got / all_ if all_ > 0 else None for got, all_ in zip(selected.tolist(), people.tolist(), strict=True)]
    excluded = people / total < exclude_below - ROUNDING
    known = [k for k, rate in enumerate(rates) if rate is not None and not excluded[k]]
    best = max(known, key=lambda k: rates[k] or 0.0, default=None)
    sizes = np.divide(people**2, squares, out=np.zeros(len(people)), where=squares > 0)
    exact = score.chance is None and not weighted
    made = []
    for k, name in enumerate(of.names):
        each = CategoryRate(name, rows[k], float(people[k]), float(people[k] / total), float(selected[k]), rates[k])
        beside: dict[str, Any] = {"excluded": bool(excluded[k])}
        rate, most = rates[k], None if best is None else rates[best]
        if k in known and rate is not None and most is not None:
            if most > 0:
                beside |= {"ratio": rate / most, "below_four_fifths": rate / most < FOUR_FIFTHS}
            if k != best:
                beside |= _apart(rate, most, float(sizes[k]), float(sizes[best]), exact)
        made.append(replace(each, **beside))
    return ImpactTable(
        of.by,
        score.name,
        measure,
        threshold,
        float(weights @ chance / total),
        int(unknown.sum()),
        float(weights[unknown].sum() / total),
        None if best is None else of.names[best],
        tuple(made),
    )


def _apart(rate: float, most: float, size: float, other: float, exact: bool) -> dict[str, Any]:
    """How far a rate is below the highest, in standard deviations and by Fisher's test; sizes are numbers of people."""
    pooled = (rate * size + most * other) / (size + other)
    error = math.sqrt(max(pooled * (1 - pooled), 0.0) * (1 / size + 1 / other))
    found: dict[str, Any] = {
        "deviations": (most - rate) / error if error > 0 else None,
        "few": min(size, other) * min(pooled, 1 - pooled) < FEW_EXPECTED,
    }
    if exact:
        from scipy.stats import fisher_exact

        counts = [(round(r * n), round((1 - r) * n)) for r, n in ((rate, size), (most, other))]
        found["fisher"] = min(float(fisher_exact(counts).pvalue), 1.0)
    return found


def worst_ratios(parts: Sequence[Classification], score: Scored, *, exclude_below: float) -> list[WorstRatio]:
    """Where categories are furthest apart: the smallest ratio over thresholds that select FEW_SELECTED or more."""
    known, shares, every = score.everywhere(parts)
    many = shares >= FEW_SELECTED - ROUNDING
    known, shares = known[many], shares[many]
    found = []
    for of, sums in zip(parts, every, strict=True):
        people = _sums(of, score.weights)
        kept = np.flatnonzero((people > 0) & (people / score.weights.sum() >= exclude_below - ROUNDING))
        rates = sums[many][:, kept] / people[kept]
        top = rates.max(axis=1, initial=0.0)
        where: tuple[Any, ...] = ()
        if len(kept) > 1 and top.any():
            ratios = np.where(top > 0, rates.min(axis=1) / np.where(top > 0, top, 1.0), 1.0)
            at = int(ratios.argmin())
            low, high = (of.names[kept[pick(rates[at])]] for pick in (np.argmin, np.argmax))
            where = float(ratios[at]), low, high, float(known[at]), float(shares[at])
        found.append(WorstRatio(of.by, score.name, len(known), *where))
    return found


def _sums(of: Classification, weights: FloatArray) -> FloatArray:
    """(categories,) sums of weights over the people of each."""
    return np.bincount(of.codes + 1, weights, len(of.names) + 1)[1:].astype(np.float64, copy=False)


def _next(threshold: float) -> float:
    return math.nextafter(threshold, math.inf)
