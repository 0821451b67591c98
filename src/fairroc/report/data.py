"""What a report shows, as plain data: an audit, a certificate, a frontier, lines to draw, and warnings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import numpy as np

from fairroc._version import __version__
from fairroc.auditing.audit import Settings, audit_quietly
from fairroc.auditing.findings import Audit
from fairroc.core.chain import FloatArray
from fairroc.core.constraint import Norm, equalized_odds
from fairroc.core.gap import ROUNDING
from fairroc.core.roc import RocCurve, all_thresholds, rates_at
from fairroc.errors import warn_all
from fairroc.fitting.certificate import Certificate, certify
from fairroc.fitting.fit import Fitted, fit_quietly, scale_of
from fairroc.fitting.frontier import Frontier, traced
from fairroc.fitting.one_draw import OneDraw, one_draw
from fairroc.fitting.outlook import Outlook, outlook
from fairroc.fitting.solving import Solution
from fairroc.options import AUDIT, MIN_CLASS_ROWS, REPORT, SMALL_GROUPS, Missing, Options, checked
from fairroc.people.people import People
from fairroc.people.small import SmallRule
from fairroc.plot.source import FairRates, ScoreRates
from fairroc.text.report import cautions
from fairroc.text.words import short

MOST_POINTS, FEWEST_POINTS = 200, 25
"""Thresholds on a line; fewer where many groups would make the page large."""

CELLS = 50_000
"""Points on all lines of a page together: about 600 kB."""

STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Round steps between epsilons, times a power of ten."""

EPSILONS, MANY_GROUPS = 20, 4
"""Steps from 0 to the original score's gap, at most; with more groups half as many, for each takes seconds then."""

CROSSES = 0.02
"""Curves cross if each lies above the other by this much somewhere; less is noise."""

Line = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class GroupLine:
    """One group's rates at the thresholds of the report."""

    fpr: Line
    tpr: Line


@dataclass(frozen=True, slots=True)
class Lines:
    """All groups' rates at the thresholds of the report, and the largest distance of two groups at each."""

    groups: tuple[GroupLine, ...]
    gap: Line


def round_epsilons(gap: float, asked: float | None, groups: int = 2) -> tuple[float, ...]:
    """Round epsilons from 0 to the original score's gap, that gap itself, and the one asked for.

    >>> round_epsilons(0.11, 0.05, groups=9)
    (0.0, 0.015, 0.03, 0.045, 0.05, 0.06, 0.075, 0.09, 0.105, 0.11)
    """
    steps = EPSILONS if groups <= MANY_GROUPS else EPSILONS // 2
    rough = gap / steps
    found = {0.0, gap}
    if rough > ROUNDING:
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(number for number in STEPS if number * power >= rough * (1 - ROUNDING)) * power
        found |= {float(f"{i * step:.10g}") for i in range(steps + 1) if i * step < gap}
    return tuple(sorted(found if asked is None else found | {asked}))


def threshold_grid(people: People, epsilons: int, extra: Sequence[float]) -> FloatArray:
    """Rising thresholds, about evenly along the groups' curves, with all ``extra`` ones among them.

    Scores of few points get thresholds between them too: there the fair score has people.
    """
    curves = people.thin.curves
    points = int(np.clip(CELLS // (epsilons * len(curves)), FEWEST_POINTS, MOST_POINTS)) - len(extra)
    known = all_thresholds(curves)
    if len(known) > points:
        way = np.mean([np.add(*rates_at(curve, known)) for curve in curves], axis=0)
        wanted = np.linspace(way[0], way[-1], points)
        known = known[np.minimum(np.searchsorted(-way, -wanted), len(known) - 1)]
    elif len(known) > 1:
        parts = max(1, (points - 1) // (len(known) - 1))
        places = np.linspace(0, len(known) - 1, parts * (len(known) - 1) + 1)
        between = np.interp(places, np.arange(len(known)), known)
        between[::parts] = known
        known = between
    return np.unique(np.concatenate((known, np.asarray(extra, dtype=np.float64))))


def original_lines(people: People, thresholds: FloatArray, norm: Norm) -> Lines:
    """Exact rates of ``score >= t``."""
    return _lines(ScoreRates(people.exact.curves).at(thresholds), norm)


def fair_lines(
    people: People,
    thresholds: FloatArray,
    norm: Norm,
    epsilons: Sequence[float],
    before: Lines,
    fitted: Fitted | None,
    solutions: Mapping[float, Solution],
) -> tuple[Lines, ...]:
    """Exact rates over the draw of ``fair score >= t`` at every epsilon; at the fitted one, those of the fit itself.

    ``before`` is the original score's lines, which stand wherever the score meets epsilon already; at all other
    epsilons the frontier has found ``solutions``.
    """
    found = []
    for epsilon in epsilons:
        if fitted is not None and epsilon == fitted.model.epsilon:
            scale = fitted.model.scale
            found.append(before if scale is None else _lines(FairRates(fitted.realised, scale).at(thresholds), norm))
        elif epsilon not in solutions:
            found.append(before)
        else:
            solution = solutions[epsilon]
            found.append(_lines(FairRates(solution.realised, scale_of(people, solution)).at(thresholds), norm))
    return tuple(found)


def _lines(rates: FloatArray, norm: Norm) -> Lines:
    """From (groups, 2, k) rates."""
    fpr, tpr = np.clip(rates, 0.0, 1.0).transpose(1, 2, 0)
    groups = tuple(GroupLine(tuple(fpr[:, g].tolist()), tuple(tpr[:, g].tolist())) for g in range(len(rates)))
    return Lines(groups, tuple(equalized_odds(norm).gap(fpr + tpr, tpr - fpr).tolist()))


def crossing_pairs(curves: Sequence[RocCurve]) -> list[tuple[int, int]]:
    """Pairs of groups whose curves cross: neither is better served at every threshold."""
    u = np.linspace(0.0, 2.0, 401)
    heights = [np.interp(u, curve.u, curve.tpr - curve.fpr) for curve in curves]
    return [
        (g, h)
        for g, h in combinations(range(len(curves)), 2)
        if (heights[g] - heights[h]).max() > CROSSES and (heights[h] - heights[g]).max() > CROSSES
    ]


FEW_GROUPS = 12
"""With more groups the page leaves out the AUCs of all pairs, which grow with the square."""

UNITS = 100_000
"""Rates of fair scores are kept as whole hundred-thousandths, which makes the page a third smaller."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows came from, in the words of the command line."""

    data: str
    score: str
    label: str | None
    groups: tuple[str, ...]
    weight: str | None = None
    pos_label: str | None = None
    counts: tuple[str, str] | None = None  # columns of positives and negatives, instead of a label


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What a report was asked for, checked; without ``options`` no epsilon was named and nothing is fitted."""

    settings: Settings
    norm: Norm
    options: Options | None
    missing: Missing
    ties: str
    promise: str

    @classmethod
    def checked(cls, **given: Any) -> Asked:
        """From what a user passed: the parameters of `fairroc.options.REPORT`."""
        values = checked(REPORT, given)
        names = ("norm", "ties", "promise", "missing", MIN_CLASS_ROWS.name, SMALL_GROUPS.name)
        fit = {name: values[name] for name in names}
        if values["promise"] == "population":
            fit["confidence"] = values["confidence"]
        settings = {option.name: values[option.name] for option in AUDIT if option.name in values}
        options = None if values["epsilon"] is None else Options.checked(epsilon=values["epsilon"], **fit)
        how = values["missing"], values["ties"], values["promise"]
        return cls(Settings.checked(**settings), values["norm"], options, *how)

    def frontier_options(self) -> Options:
        """How the fits of all epsilons are made: as the one asked for, but a promise for the population is not made."""
        promise = "fitted" if self.promise == "population" else self.promise
        return Options.checked(epsilon=0.0, norm=self.norm, ties=self.ties, promise=promise, missing=self.missing)


@dataclass(frozen=True, slots=True)
class ReportData:
    """All that a page shows.

    Attributes
    ----------
    thresholds : rising; ``start`` is the index of the one asked for, or of the largest gap.
    priors, shares : each group's share of positives, and its share of all people.
    before : the original score's rates at the thresholds; ``fair``: those of the fair score at each epsilon of
        ``frontier.points``, in expectation over the draw.
    certificate, one_draw, outlook : of the fit at the epsilon asked for; None if none was.
    chosen : index among the frontier's points of the epsilon asked for, else of one in the middle.
    """

    title: str
    made: str
    package: str
    source: Source | None
    norm: Norm
    ties: str
    promise: str
    missing: Missing
    small: SmallRule
    weighted: bool
    threshold: float | None
    thresholds: tuple[float, ...]
    start: int
    priors: tuple[float, ...]
    shares: tuple[float, ...]
    before: Lines
    fair: tuple[Lines, ...]
    audit: Audit
    certificate: Certificate | None
    one_draw: OneDraw | None
    outlook: Outlook | None
    frontier: Frontier
    chosen: int
    warnings: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(group.group for group in self.audit.groups)

    def _corners(self) -> list[list[float]]:
        """What to multiply both rates by so that the widest range over groups is the gap, as the page's script does."""
        parts = equalized_odds(self.norm).corners(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
        return [part.tolist() for part in parts]

    def to_dict(self) -> dict[str, Any]:
        """What the page's script reads, ready for JSON: the audit and the certificate as the commands print them."""
        audit = self.audit.to_dict()
        if len(self.names) > FEW_GROUPS:
            del audit["cross_aucs"]
        return {
            "title": self.title,
            "made": self.made,
            "package": self.package,
            "norm": self.norm,
            "promise": self.promise,
            "corners": self._corners(),
            "names": self.names,
            "labels": [short(name) or "(no name)" for name in self.names],
            "priors": self.priors,
            "shares": self.shares,
            "thresholds": self.thresholds,
            "start": self.start,
            "chosen": self.chosen,
            "before": [{"fpr": g.fpr, "tpr": g.tpr} for g in self.before.groups],
            "units": UNITS,
            "fair": [[{"fpr": _whole(g.fpr), "tpr": _whole(g.tpr)} for g in lines.groups] for lines in self.fair],
            "frontier": self.frontier.to_columns(),
            "audit": audit,
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "one_draw": None if self.one_draw is None else self.one_draw.to_dict(),
            "new_people": None if self.outlook is None else self.outlook.to_dict(),
        }


def gather(
    people: People,
    asked: Asked,
    *,
    title: str = "Scores and groups",
    source: Source | None = None,
    made: datetime | None = None,
    progress: Progress | None = None,
) -> ReportData:
    """Measure, fit (if an epsilon was asked for) and draw the frontier; every warning is given once and kept."""
    audit = audit_quietly(people, asked.settings, progress=progress)
    fitted = None if asked.options is None else fit_quietly(people, asked.options)
    certificate = None if fitted is None else certify(fitted)
    ahead = None if fitted is None else outlook(fitted, asked.settings.confidence)
    epsilons = round_epsilons(audit.gap, asked.settings.epsilon, len(people.names))
    same = fitted is not None and fitted.options.confidence is None
    found = traced(
        people,
        asked.frontier_options(),
        epsilons=epsilons,
        progress=progress,
        solver=fitted.solver if fitted is not None and same else None,
    )
    notes = [*people.small_groups(), *(() if fitted is None else fitted.notes), *found.notes]
    kept = {str(note): note for note in notes}
    warn_all(kept.values())
    threshold = audit.gap_threshold if asked.settings.threshold is None else asked.settings.threshold
    grid = threshold_grid(people, len(epsilons), sorted({audit.gap_threshold, threshold}))
    before = original_lines(people, grid, asked.norm)
    return ReportData(
        title=title,
        made=(datetime.now(UTC) if made is None else made).strftime("%Y-%m-%d"),
        package=f"fairroc {__version__}",
        source=source,
        norm=asked.norm,
        ties=asked.ties,
        promise=asked.promise,
        missing=asked.missing,
        small=asked.settings.small_rule,
        weighted=people.weighted,
        threshold=asked.settings.threshold,
        thresholds=tuple(grid.tolist()),
        start=int(np.searchsorted(grid, threshold)),
        priors=tuple(curve.prior for curve in people.exact.curves),
        shares=tuple(people.exact.shares.tolist()),
        before=before,
        fair=fair_lines(people, grid, asked.norm, epsilons, before, fitted, found.solutions),
        audit=audit,
        certificate=certificate,
        one_draw=None if fitted is None else one_draw(fitted),
        outlook=ahead,
        frontier=found.frontier,
        chosen=len(epsilons) // 4 if asked.settings.epsilon is None else epsilons.index(asked.settings.epsilon),
        warnings=(*kept, *cautions(audit, crossing_pairs(people.thin.curves))),
    )


def _whole(rates: tuple[float, ...]) -> list[int]:
    return [round(rate * UNITS) for rate in rates]
