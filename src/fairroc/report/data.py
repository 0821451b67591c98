"""What a report shows, as plain data: an audit, a certificate, a frontier, lines to draw, and warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from fairroc._version import __version__
from fairroc.auditing.audit import Settings, audit_quietly
from fairroc.auditing.findings import Audit
from fairroc.core.constraint import Norm, equalized_odds
from fairroc.errors import warn_all
from fairroc.fitting.certificate import Certificate, certify
from fairroc.fitting.fit import fit_quietly
from fairroc.fitting.frontier import Frontier, traced
from fairroc.fitting.outlook import Outlook, outlook
from fairroc.options import AUDIT, REPORT, Missing, Options, checked
from fairroc.people.people import People
from fairroc.report.curves import Lines, crossing_pairs, fair_lines, original_lines, round_epsilons, threshold_grid
from fairroc.text.report import cautions
from fairroc.text.words import short

__all__ = ["Asked", "ReportData", "Source", "gather"]

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

    @classmethod
    def checked(cls, **given: Any) -> Asked:
        """From what a user passed: the parameters of `fairroc.options.REPORT`."""
        values = checked(REPORT, given)
        fit = {name: values[name] for name in ("norm", "ties", "missing")}
        settings = {option.name: values[option.name] for option in AUDIT}
        options = None if values["epsilon"] is None else Options.checked(epsilon=values["epsilon"], **fit)
        return cls(Settings.checked(**settings), values["norm"], options, values["missing"], values["ties"])


@dataclass(frozen=True, slots=True)
class ReportData:
    """All that a page shows.

    Attributes
    ----------
    thresholds : rising; ``start`` is the index of the one asked for, or of the largest gap.
    priors, shares : each group's share of positives, and its share of all people.
    before : the original score's rates at the thresholds; ``fair``: those of the fair score at each epsilon of
        ``frontier.points``, in expectation over the draw.
    certificate, outlook : of the fit at the epsilon asked for; None if none was.
    chosen : index among the frontier's points of the epsilon asked for, else of one in the middle.
    """

    title: str
    made: str
    package: str
    source: Source | None
    norm: Norm
    ties: str
    missing: Missing
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
    ahead = None if fitted is None else outlook(fitted, asked.settings.confidence, progress=progress)
    epsilons = round_epsilons(audit.gap, asked.settings.epsilon, len(people.names))
    plain = Options.checked(epsilon=0.0, norm=asked.norm, ties="draw", missing=asked.missing)
    found = traced(people, plain, epsilons=epsilons, progress=progress)
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
        missing=asked.missing,
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
        outlook=ahead,
        frontier=found.frontier,
        chosen=len(epsilons) // 4 if asked.settings.epsilon is None else epsilons.index(asked.settings.epsilon),
        warnings=(*kept, *cautions(audit, crossing_pairs(people.thin.curves))),
    )


def _whole(rates: tuple[float, ...]) -> list[int]:
    return [round(rate * UNITS) for rate in rates]
