"""Means, spreads and slopes of result rows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairroc_studies.paper.study import Kind, Measured, Result

FIGURES = ("accuracy", "disparate_impact", "meo", "gap", "auc", "auc_loss", "auc_loss_upper")

NOTHING = 1e-12
"""Differences of sums that are equal but for rounding are smaller than this; a published variance is not."""
STILL = 1e-3
"""Accuracy that moves by less than this (a tenth of a point) over all epsilons has no slope to speak of."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and scatter of one figure over its repetitions; ``sd`` and the rest need two."""

    n: int
    mean: float
    sd: float | None

    @property
    def variance(self) -> float | None:
        return None if self.sd is None else self.sd**2

    @property
    def cov(self) -> float | None:
        """Coefficient of variation, sd / |mean|."""
        return None if self.sd is None or self.mean == 0 else self.sd / abs(self.mean)


@dataclass(frozen=True, slots=True)
class Series:
    """What summaries of one line of a figure have in common."""

    problem: str
    model: str
    protected: bool
    kind: Kind
    method: str
    measured: Measured


@dataclass(frozen=True, slots=True)
class Summary:
    """All repetitions of one method at one epsilon."""

    series: Series
    epsilon: float | None
    n: int
    figures: dict[str, Spread | None] = field(hash=False)  # None: does not apply

    def mean(self, figure: str) -> float | None:
        found = self.figures[figure]
        return None if found is None else found.mean

    def to_row(self) -> dict[str, Any]:
        """One line of summary.csv: mean and sd of every figure; of draws also variance and CoV of the two published.

        Rounded to what repetitions can tell: means to five digits, the rest to three.
        """
        s = self.series
        row: dict[str, Any] = {
            **{"problem": s.problem, "model": s.model, "protected": s.protected, "kind": s.kind, "method": s.method},
            **{"epsilon": rounded(self.epsilon, 6), "measured": s.measured, "n": self.n},
        }
        for name, spread in self.figures.items():
            row[f"{name}_mean"] = None if spread is None else rounded(spread.mean, 5)
            row[f"{name}_sd"] = None if spread is None else rounded(spread.sd, 3)
        for name in ("accuracy", "disparate_impact"):
            spread = self.figures[name] if s.kind == "draws" else None
            row[f"{name}_variance"] = None if spread is None else rounded(spread.variance, 3)
            row[f"{name}_cov"] = None if spread is None else rounded(spread.cov, 3)
        return row


def rounded(value: float | None, digits: int) -> float | None:
    """To so many digits; what rounding left of a zero is none.

    >>> rounded(0.123456789, 4), rounded(3e-17, 4), rounded(None, 4)
    (0.1235, 0.0, None)
    """
    if value is None:
        return None
    return 0.0 if abs(value) < NOTHING else float(f"{value:.{digits}g}")


def summarise(results: Iterable[Result]) -> tuple[Summary, ...]:
    """One summary for every series and epsilon, in the order in which these first come; epsilons of a series rise.

    Repetitions in which a figure does not apply are left out of it; their number is that of the others.
    """
    found: dict[Series, dict[float | None, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for row in results:
        series = Series(row.problem, row.model, row.protected, row.kind, row.method, row.measured)
        found[series][row.epsilon].append(row)
    return tuple(
        Summary(series, epsilon, len(rows), {name: _spread(rows, name) for name in FIGURES})
        for series, by_epsilon in found.items()
        for epsilon, rows in sorted(by_epsilon.items(), key=lambda item: -math.inf if item[0] is None else item[0])
    )


def _spread(rows: Sequence[Result], name: str) -> Spread | None:
    values = [value for row in rows if (value := getattr(row, name)) is not None and math.isfinite(value)]
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return Spread(1, mean, None)
    return Spread(len(values), mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)))


class Table:
    """Summaries by series. Methods without an epsilon have one row in theirs."""

    def __init__(self, results: Iterable[Result]) -> None:
        self.summaries = summarise(results)
        self._by: dict[Series, list[Summary]] = defaultdict(list)
        for summary in self.summaries:
            self._by[summary.series].append(summary)

    def series(
        self, problem: str, model: str, method: str, measured: Measured, *, protected: bool, kind: Kind = "splits"
    ) -> list[Summary]:
        """Rows of one line, by rising epsilon; empty if it was not run."""
        return self._by.get(Series(problem, model, protected, kind, method, measured), [])

    def at(self, epsilon: float, within: float, *where: str, measured: Measured, protected: bool) -> Summary | None:
        """The row of (problem, model, method) whose epsilon is nearest, if it is near enough."""
        problem, model, method = where
        rows = [r for r in self.series(problem, model, method, measured, protected=protected) if r.epsilon is not None]
        nearest = min(rows, key=lambda r: abs((r.epsilon or 0.0) - epsilon), default=None)
        return nearest if nearest is not None and abs((nearest.epsilon or 0.0) - epsilon) <= within else None

    def pairs(self) -> list[tuple[str, str]]:
        """(problem, model) in the order of the rows."""
        return list(dict.fromkeys((s.problem, s.model) for s in self._by))

    def protected(self, problem: str, model: str) -> list[bool]:
        """Whether runs with (True) and without (False) the protected attribute exist; with comes first."""
        return sorted({s.protected for s in self._by if (s.problem, s.model) == (problem, model)}, reverse=True)

    def largest(
        self, problem: str, model: str, method: str, measured: Measured, *, protected: bool
    ) -> dict[str, float | None]:
        """Maxima over epsilon of variance and CoV of the draws; None where there are fewer than two draws."""
        rows = self.series(problem, model, method, measured, protected=protected, kind="draws")
        found: dict[str, float | None] = {}
        for figure, short in (("accuracy", "accuracy"), ("disparate_impact", "impact")):
            spreads = [s for row in rows if (s := row.figures[figure]) is not None]
            variances = [s.variance for s in spreads if s.variance is not None]
            covs = [s.cov for s in spreads if s.cov is not None]
            found[f"{short}_variance"] = max(variances, default=None)
            found[f"{short}_cov"] = max(covs, default=None)
        return found


def closeness(impact: float | None) -> float | None:
    """How near a disparate impact is to 1: the smaller rate over the larger one.

    >>> closeness(1.25), closeness(0.8)
    (0.8, 0.8)
    """
    if impact is None:
        return None
    if impact <= 0 or not math.isfinite(impact):
        return 0.0
    return min(impact, 1 / impact)


@dataclass(frozen=True, slots=True)
class Slope:
    """Points of disparate impact (nearness to 1) that one point of accuracy buys, over the epsilons of one line.

    ``fit`` is minus the least-squares slope of nearness on accuracy; ``ends`` the ratio of what is gained and what is
    lost between the largest and the smallest epsilon. None where accuracy moves by less than STILL: a ratio of two
    noises says nothing.
    """

    fit: float | None
    ends: float | None
    accuracy_range: float


def slope(rows: Sequence[Summary]) -> Slope | None:
    """Slope of a line of summaries, by means over repetitions; None with fewer than three epsilons."""
    points = [(x, y) for row in rows if (x := row.mean("accuracy")) is not None and (y := _near(row)) is not None]
    if len(points) < 3:
        return None
    xs, ys = zip(*points, strict=True)
    spread = max(xs) - min(xs)
    gain, loss = ys[0] - ys[-1], xs[-1] - xs[0]
    middle_x, middle_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    bent = math.fsum((x - middle_x) ** 2 for x in xs)
    along = math.fsum((x - middle_x) * (y - middle_y) for x, y in points)
    return Slope(None if spread < STILL else -along / bent, None if abs(loss) < STILL else gain / loss, spread)


def _near(row: Summary) -> float | None:
    return closeness(row.mean("disparate_impact"))
