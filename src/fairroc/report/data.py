"""What a report shows, as plain data: an audit, a certificate, a frontier, lines to draw, and warnings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import numpy as np

from fairroc._version import __version__
from fairroc.auditing.audit import Settings, audit_quietly
from fairroc.auditing.findings import Audit
from fairroc.core.chain import FloatArray
from fairroc.core.constraint import Constraint, Difference, Rates, Ratio
from fairroc.core.gap import ROUNDING
from fairroc.core.roc import Population, RocCurve, all_thresholds, pooled_share, rates_at
from fairroc.errors import warn_all
from fairroc.fitting.certificate import Certificate, certify
from fairroc.fitting.fit import Fitted, fit_quietly, scale_of
from fairroc.fitting.frontier import Frontier, traced
from fairroc.fitting.one_draw import OneDraw, one_draw
from fairroc.fitting.outlook import Outlook, outlook
from fairroc.fitting.solving import Solution
from fairroc.model.model import ModelData
from fairroc.model.tables import hanging_shares
from fairroc.options import AUDIT, FIT, POSITIVE_MEANS, REPORT, Options, checked, same
from fairroc.people.people import People
from fairroc.people.small import SmallRule
from fairroc.plot.source import FairRates, ScoreRates
from fairroc.stats.bootstrap import Progress, portion
from fairroc.summary import Result, Summary, size
from fairroc.text.people import epsilon_words
from fairroc.text.report import cautions, gap_names
from fairroc.text.words import short

MOST_POINTS, FEWEST_POINTS = 200, 25
"""Thresholds on a line; fewer where many groups would make the page large."""

NOTED = 3
"""As many warnings stand below the table that a notebook shows."""

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
    """One group's rates at the thresholds of the report, and the share of its people whose decision there hangs on the
    draw."""

    fpr: Line
    tpr: Line
    drawn: Line


@dataclass(frozen=True, slots=True)
class Lines:
    """All groups' rates at the thresholds of the report, and the largest distance of two groups at each."""

    groups: tuple[GroupLine, ...]
    gap: Line

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        groups = [{name: list(line) for name, line in asdict(group).items()} for group in self.groups]
        return {"groups": groups, "gap": list(self.gap)}


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
    if asked is None:
        return tuple(sorted(found))
    return tuple(sorted({asked, *(e for e in found if abs(e - asked) > ROUNDING)}))


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


def original_lines(people: People, thresholds: FloatArray, constraint: Constraint) -> Lines:
    """Exact rates of ``score >= t``."""
    rates = ScoreRates(people.exact.curves).at(thresholds)
    return _lines(rates, np.zeros_like(rates[:, 0]), people, constraint)


def fair_lines(
    people: People, thresholds: FloatArray, constraint: Constraint, found: Solution | Fitted, before: Lines
) -> Lines:
    """Exact rates over the draw of ``fair score >= t``; a fit may have kept the original score with its lines."""
    model = found if isinstance(found, Solution) else found.model
    scale = scale_of(people, found) if isinstance(found, Solution) else found.model.scale
    if scale is None:
        return before
    places, both = scale.to_place(thresholds), zip(people.exact.curves, model.kernels, strict=True)
    drawn = np.stack([hanging_shares(curve, kernel, places) for curve, kernel in both])
    return _lines(FairRates(found.realised, scale).at(thresholds), drawn, people, constraint)


def _lines(rates: FloatArray, drawn: FloatArray, people: People, constraint: Constraint) -> Lines:
    """From (groups, 2, k) rates and (groups, k) shares; the gap is measured outside a window too."""
    every = np.clip(np.concatenate((rates, drawn[:, None]), axis=1), 0.0, 1.0)
    groups = tuple(GroupLine(*map(tuple, lines)) for lines in every.tolist())
    fpr, tpr = every[:, :2].transpose(1, 2, 0)
    everywhere = replace(constraint, window=None) if isinstance(constraint, Difference | Ratio) else constraint
    gap = everywhere.measured(Rates(fpr, tpr, people.exact.priors, people.exact.shares))
    return Lines(groups, tuple(gap.tolist()))


def counting(people: Population, constraint: Constraint) -> tuple[float, float] | None:
    """The lowest and the highest threshold that counts; None if all do."""
    if constraint.where is None:
        return None
    known = all_thresholds(people.curves)
    looks = constraint.looks(pooled_share(people.curves, people.shares, known))
    inside = known[looks] if looks.any() else known[:1]
    return float(inside.min()), float(inside.max())


def crossing_pairs(curves: Sequence[RocCurve]) -> list[tuple[int, int]]:
    """Pairs of groups whose curves cross: neither is better served at every threshold."""
    u = np.linspace(0.0, 2.0, 401)
    heights = [np.interp(u, curve.u, curve.tpr - curve.fpr) for curve in curves]
    return [
        (g, h)
        for g, h in combinations(range(len(curves)), 2)
        if (heights[g] - heights[h]).max() > CROSSES and (heights[h] - heights[g]).max() > CROSSES
    ]


FORMAT, VERSION = "fairroc report", 1
"""Of the JSON twin of a page; the version rises when a field changes its meaning or goes."""

ASKED = (
    *("constraint", "norm", "epsilon", "ratio", "tolerances", "where", "draw", "promise", "confidence"),
    "missing",
)
"""Options of the fits that the JSON twin tells."""

DRAWN = ("epsilon", "auc", "auc_bound", "gap_estimate", "auc_estimate", "randomised_share")
"""Columns of the frontier that the script draws or says."""

ROWS = 10
"""Thresholds of the table that stands for the curves, about."""

UNITS = 100_000
"""Rates for the script are whole hundred-thousandths, which makes the page a third smaller. For ratios, which look at
rates of any size, they have five digits instead."""

AUDITED, FITTED, TOLD, TRACED = 15, 30, 40, 95
"""Per cent of the work, about, by when parts of a report are done; without a fit the frontier follows the audit."""


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


@dataclass(frozen=True, slots=True, repr=False)
class Made(Result):
    """What a page or a folder is called, when and by what it was made, and of which rows."""

    title: str
    made: str
    package: str
    source: Source | None

    def _facts(self) -> dict[str, Any]:
        """The same, ready for JSON."""
        source = None if self.source is None else asdict(self.source)
        return {"title": self.title, "made": self.made, "package": self.package, "source": source}


def made_now(title: str, source: Source | None, now: datetime | None = None) -> dict[str, Any]:
    """The fields of `Made`."""
    day = (datetime.now(UTC) if now is None else now).strftime("%Y-%m-%d")
    return {"title": title, "made": day, "package": f"fairroc {__version__}", "source": source}


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What a report was asked for, checked; unless it ``fits``, no epsilon was named."""

    settings: Settings
    options: Options
    fits: bool
    positive_means: str = POSITIVE_MEANS.default

    @classmethod
    def checked(cls, **given: Any) -> Asked:
        """From what a user passed: the parameters of `fairroc.options.REPORT`."""
        values = checked(REPORT, given)
        goal = {name: given.get(name) for name in ("epsilon", "ratio") if values[name] is not None}
        fit = {option.name: values[option.name] for option in FIT if option in REPORT}
        if values["promise"] == "population":
            fit["confidence"] = values["confidence"]
        settings = {option.name: values[option.name] for option in AUDIT} | {"epsilon": goal.get("epsilon")}
        options = Options.checked(**fit | (goal or {"epsilon": 0.0}))
        return cls(Settings.checked(**settings), options, bool(goal), values["positive_means"])

    @property
    def frontier(self) -> Options:
        """How the fits of all epsilons are made: as the one asked for, but a promise for the population is not made."""
        if self.options.confidence is None:
            return self.options
        return replace(self.options, promise="fitted", confidence=None)


@dataclass(frozen=True, slots=True, repr=False)
class ReportData(Made):
    """All that a page shows.

    Attributes
    ----------
    options : how fits are made; the epsilon among them only where one was asked for.
    thresholds : rising; ``start`` is the index of the one asked for, or of the largest gap. ``window``: the lowest and
        the highest that counts, where not all do.
    priors, shares : each group's share of positives, and its share of all people.
    before : the original score's rates at the thresholds; ``fair``: those of the fair score at each epsilon of
        ``frontier.points``, in expectation over the draw.
    certificate, one_draw, outlook : of the fit at the epsilon asked for; None if none was.
    positive_means : the word for people with a positive decision.
    model : the fit at the epsilon asked for.
    chosen : index among the frontier's points of the epsilon asked for, else of one in the middle.
    """

    options: Options
    small: SmallRule
    weighted: bool
    threshold: float | None
    thresholds: tuple[float, ...]
    start: int
    window: tuple[float, float] | None
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
    positive_means: str = POSITIVE_MEANS.default
    model: ModelData | None = None

    def _summary(self) -> Summary:
        told = self.audit._summary()
        facts, c, o = list(told.facts), self.certificate, self.outlook
        if c is not None:
            at = f"epsilon {c.epsilon:.4g}" if c.ratio is None else f"ratio {c.ratio:.4g}"
            facts.append((f"fair score at {at}", f"gap {c.gap:.4f}, AUC {c.auc:.4f}"))
        if o is not None:
            facts.append(("  among new people", f"gap {o.gap_estimate:.3f}, AUC {o.auc_estimate:.3f} expected"))
        facts.append(("epsilons to choose from", str(len(self.frontier.points))))
        head = f"Report '{self.title}': {size(self.audit.rows, len(self.names))}"
        return Summary(head, facts, told.head, told.rows, notes=self.warnings[:NOTED])

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(group.group for group in self.audit.groups)

    @property
    def column(self) -> int:
        """Below which rate the table of rates shows the gap: people selected (0), TPR (2, also for both), FPR (4)."""
        return {"demographic_parity": 0, "predictive_equality": 4}.get(self.options.constraint, 2)

    @property
    def rows(self) -> list[int]:
        """Indices of a few thresholds, for a table that stands for the curves."""
        last = len(self.thresholds) - 1
        return sorted({round(i * last / ROWS) for i in range(ROWS + 1)} | {self.start})

    @property
    def draws(self) -> bool:
        """Whether anybody is drawn at any epsilon that the page shows."""
        return any(any(group.drawn) for lines in self.fair for group in lines.groups) or any(
            point.randomised_share for point in self.frontier.points
        )

    def _corners(self) -> list[list[list[float]]]:
        """For each corner and group what to multiply both rates by, so that the widest range over groups is the gap (of
        a ratio: what smallest over largest lacks of 1), as the page's script does."""
        unit = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        parts = [self.options.fairness.corners(*unit, prior) for prior in self.priors]
        return [list(map(list, corner)) for corner in np.stack(parts, axis=1).tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Every number that the page shows, none rounded, ready for JSON (``schema.json`` in this package)."""
        asked = same(self.options, *ASKED)
        goal = {} if self.certificate is not None else {"epsilon": None, "ratio": None, "tolerances": None}
        points = self.frontier.points
        return {
            "format": FORMAT,
            "version": VERSION,
            **self._facts(),
            "asked": asked | goal | {"threshold": self.threshold, "positive_means": self.positive_means},
            "groups": list(self.names),
            "priors": list(self.priors),
            "shares": list(self.shares),
            "thresholds": list(self.thresholds),
            "start": self.start,
            "window": None if self.window is None else list(self.window),
            "original": self.before.to_dict(),
            "fair": [
                {"epsilon": point.epsilon, "ratio": point.ratio, **lines.to_dict()}
                for point, lines in zip(points, self.fair, strict=True)
            ],
            "chosen": self.chosen,
            "audit": self.audit.to_dict(),
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "one_draw": None if self.one_draw is None else self.one_draw.to_dict(),
            "new_people": None if self.outlook is None else self.outlook.to_dict(),
            "frontier": self.frontier.to_dict(),
            "warnings": list(self.warnings),
        }

    def for_script(self) -> dict[str, Any]:
        """What the page's script draws: the same numbers, rounded beyond what a picture shows."""
        columns, asked = self.frontier.to_columns(), self.options.fairness
        fit, new = self.certificate, self.outlook
        return {
            "as_ratio": self.options.ratio is not None,
            "window": self.window,
            "column": self.column,
            "words": gap_names(asked) | {"selected": self.positive_means},
            "corners": self._corners(),
            "labels": [short(name) or "(no name)" for name in self.names],
            **same(self, "priors", "shares", "thresholds", "rows", "start", "chosen"),
            "units": UNITS,
            "draws": self.draws,
            "before": self._in_units(self.before, drawn=False),
            "fair": [self._in_units(lines, drawn=self.draws) for lines in self.fair],
            "auc": self.audit.auc,
            "frontier": {name: columns[name] for name in DRAWN}
            | {"drawn": [columns[f"drawn[{name}]"] for name in self.names]},
            "meant": [epsilon_words(asked, point.epsilon, self.positive_means) for point in self.frontier.points],
            "fit": None if fit is None else {"epsilon": fit.epsilon, "auc": fit.auc},
            "new": None if new is None else {"auc": new.auc_estimate, "error": new.auc_standard_error},
        }

    def _in_units(self, lines: Lines, *, drawn: bool) -> list[list[list[float]]]:
        """FPR and TPR of every group, and who hangs on a draw where that is asked for, in units: whole ones, or as many
        parts of one as five digits tell."""

        def told(rate: float) -> float:
            value = round(rate * UNITS) if self.options.ratio is None else float(f"{rate * UNITS:.5g}")
            return int(value) if value == int(value) else value

        shown = [(g.fpr, g.tpr, g.drawn) if drawn else (g.fpr, g.tpr) for g in lines.groups]
        return [[[told(rate) for rate in rates] for rates in group] for group in shown]


def gather(
    people: People,
    asked: Asked,
    *,
    title: str = "Scores and groups",
    source: Source | None = None,
    made: datetime | None = None,
    progress: Progress | None = None,
    page: bool = True,
) -> ReportData:
    """Measure, fit (if an epsilon was asked for) and draw the frontier; every warning is given once and kept. What is
    for no ``page`` has a frontier of two points."""
    options, asks = asked.options, asked.options.fairness
    audit = audit_quietly(people, asked.settings, progress=portion(progress, 0, AUDITED))
    fitted = fit_quietly(people, options, progress=portion(progress, AUDITED, FITTED)) if asked.fits else None
    certificate = None if fitted is None else certify(fitted)
    portion(progress, 0, AUDITED if fitted is None else FITTED)(1, 1)
    ahead = None if fitted is None else outlook(fitted, asked.settings.confidence)
    goal = options.epsilon if asked.fits else None
    wanted = round_epsilons(audit.gap, goal, len(people.names))
    if not page:
        wanted = tuple(sorted({goal or 0.0, audit.gap}))
    threshold = audit.gap_threshold if asked.settings.threshold is None else asked.settings.threshold
    window = counting(people.exact, asks)
    grid = threshold_grid(people, len(wanted), sorted({audit.gap_threshold, threshold, *(window or ())}))
    before = original_lines(people, grid, asks)
    found = traced(
        people,
        asked.frontier,
        epsilons=wanted,
        progress=portion(progress, AUDITED if fitted is None else TOLD, TRACED),
        solver=fitted.solver if fitted is not None and options.confidence is None else None,
        keep=lambda epsilon, solution: None if epsilon == goal else fair_lines(people, grid, asks, solution, before),
    )
    epsilons = [point.epsilon for point in found.frontier.points]
    fair = {epsilon: found.kept.get(epsilon, before) for epsilon in epsilons}
    if fitted is not None and goal is not None:  # whatever the frontier found there
        fair[goal] = fair_lines(people, grid, asks, fitted, before)
    notes = [*people.small_groups(), *(() if fitted is None else fitted.notes), *found.notes]
    kept = {str(note): note for note in notes}
    warn_all(kept.values())
    shares = tuple(people.exact.shares.tolist())
    return ReportData(
        **made_now(title, source, made),
        options=options,
        small=asked.settings.small_rule,
        weighted=people.weighted,
        threshold=asked.settings.threshold,
        thresholds=tuple(grid.tolist()),
        start=int(np.searchsorted(grid, threshold)),
        window=window,
        priors=tuple(curve.prior for curve in people.exact.curves),
        shares=shares,
        before=before,
        fair=tuple(fair.values()),
        audit=audit,
        certificate=certificate,
        one_draw=None if fitted is None else one_draw(fitted, progress=portion(progress, TRACED, 100)),
        outlook=ahead,
        frontier=found.frontier,
        chosen=len(epsilons) // 4 if goal is None else epsilons.index(goal),
        warnings=(*kept, *cautions(audit, crossing_pairs(people.thin.curves), certificate)),
        positive_means=asked.positive_means,
        model=None if fitted is None else fitted.model,
    )
