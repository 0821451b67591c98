"""The certificate of a fit: what was lost, what could not have been kept by any fair score, who is drawn."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from fairroc.core.constraint import Constraint, EqualizedOdds, Norm
from fairroc.core.gap import ROUNDING, RateGaps, rate_gaps
from fairroc.core.optimal import optimal
from fairroc.core.realised import drawn_shares
from fairroc.core.realised import rate_gaps as realised_gaps
from fairroc.core.roc import PlaLoss, pla_loss
from fairroc.docstrings import FITTED, documented
from fairroc.fitting.fit import Fitted
from fairroc.fitting.solving import bound_of, drawn_share, proof_of
from fairroc.froc.diagnostics import FrocReport, froc_report
from fairroc.model.file import checksum_in, dumps, sealed
from fairroc.options import COMBINE, CONSTRAINT, DRAW, KEPT, fairness_of, same
from fairroc.people.small import SmallGroups, plain_data
from fairroc.summary import Part, Result, Summary, Titled, figure, percent, short, size, window


@dataclass(frozen=True, slots=True, repr=False)
class GroupCertificate(Part):
    """One group's figures on the fitted people.

    ``auc_before`` is the original score's, ``auc_hull`` the best that randomising between its thresholds attains,
    ``auc_fair`` that of the highest fair curve (Theorem A; an unchanged score's own), ``auc`` the fair score's. Shares
    of people: ``randomised_share`` have a fair score that depends on the draw at all, ``transport_share`` because
    fairness moves them, ``tie_share`` only because of a draw among people with neighbouring or equal scores.
    """

    group: str
    rows: int
    positives: int
    auc_before: float
    auc_hull: float
    auc_fair: float
    auc: float
    randomised_share: float
    transport_share: float
    tie_share: float
    pla_loss: PlaLoss | None


@dataclass(frozen=True, slots=True, repr=False)
class FamilyCertificate(Part, Titled):
    """Gaps of the groups of one attribute, or of one attribute inside a stratum: before and after.

    Groups that are not ``compared`` (intersections of attributes that are kept close each for itself) are looked at for
    information; they have no ``epsilon``.
    """

    attribute: str
    stratum: str | None
    compared: bool
    epsilon: float | None
    gap_before: float
    gap: float


@dataclass(frozen=True, slots=True, repr=False)
class Told(Part):
    """A column that the fair score is told of a person beside the score.

    ``kind`` is "group", "stratum" or "probability"; ``of`` the group whose probability it is, where that is known.
    """

    column: str
    kind: str
    of: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class CellFigures(Part):
    """What a fit by cells of scores inside segments worked with.

    ``segments`` are what the score is told apart by beside itself, ``cells`` all bins of scores in them, ``levels`` the
    levels of the program. ``auc_unnested`` is the largest AUC with levels that need not fit into one score,
    ``auc_cells`` that of the program with people drawn inside cells: the first bounds what cells and levels cost.
    """

    segments: int
    cells: int
    levels: int
    auc_cells: float
    auc_unnested: float


OF_MODEL = (
    *(*KEPT, "epsilon", "method", "ties", "inner_epsilon", "unchanged", "levels", "curve", "promise", "confidence"),
    *("draw", "use_group", "combine"),
)
"""Fields that a certificate repeats of the model."""

OF_FAMILIES = ("use_group", "combine", "families", "cells", "told")
"""Fields that say something of fits by cells alone."""


@documented(setup=FITTED)
@dataclass(frozen=True, slots=True, repr=False)
class Certificate(Result):
    """Exact expectations over the draw on the fitted people, and an upper bound for every fair randomised score.

    "Exact" is to rounding: a gap that exceeds epsilon by no more than 1e-12 is stated as epsilon. ``froc`` says what
    the paper's method did, where it was asked for and the score had to change. ``count_error`` is 0 but for counts in
    bins: there the gaps of the people counted may exceed those stated by twice as much (once for norm "inf").
    ``allowed`` is the gap allowed on the fitted people: epsilon, or less where epsilon shall hold in the population at
    some ``confidence``. ``auc_bound`` is for scores within it. ``small_groups``: who was merged or left out, if any
    group was. ``ties_reason``: what was taken below that, and why. ``constraint``, ``ratio``,
    ``tolerances`` (of FPR and of TPR), ``draw`` and ``where`` are what was asked for; ``drawn`` is the share of people
    whose fair score depends on a draw, and ``least_gap_without_draw`` (for equalized odds, about) the least gap of a
    score that draws nobody and keeps all different scores of a group apart; ``auc_bound_without_draw`` bounds the AUC
    of such scores as ``auc_bound`` does that of all (None where none of them is within the gap allowed). Of a ratio,
    gaps are what the smallest ratio lacks of 1, with promise="new" at thresholds that select 5 % of people or more.
    ``rates_before`` and ``rates`` look at every rate, constrained or not. Without ``use_group``, with
    ``combine="each"`` and within strata, ``families`` has the gaps of each attribute, ``groups`` those of all,
    ``cells`` what was worked with, ``told`` the columns that the score is told, and ``auc_bound`` is for scores that
    never fall as the original one rises, and that are told no more than this one.

    >>> found = post.certificate_
    >>> round(found.gap_before, 3), round(found.gap, 3), found.auc <= found.auc_bound
    (0.382, 0.1, True)
    """

    epsilon: float
    norm: Norm
    method: str
    ties: str
    inner_epsilon: float
    unchanged: bool
    rows: int
    levels: int
    auc_before: float
    auc: float
    auc_bound: float
    gap_before: float
    gap: float
    groups: tuple[GroupCertificate, ...]
    seconds: float
    froc: FrocReport | None = None
    count_error: float = 0.0
    curve: str = "raw"
    promise: str = "fitted"
    confidence: float | None = None
    allowed: float | None = None
    small_groups: SmallGroups | None = None
    ties_reason: str | None = None
    constraint: str = CONSTRAINT.default
    ratio: float | None = None
    tolerances: tuple[float, float] | None = None
    draw: str = DRAW.default
    where: tuple[float, float] | None = None
    rates_before: RateGaps | None = None
    rates: RateGaps | None = None
    drawn: float = 0.0
    least_gap_without_draw: float | None = None
    auc_bound_without_draw: float | None = None
    use_group: bool = True
    combine: str = COMBINE.default
    families: tuple[FamilyCertificate, ...] = ()
    cells: CellFigures | None = None
    told: tuple[Told, ...] = ()

    def _summary(self) -> Summary:
        allowed = self.epsilon if self.allowed is None or self.families else self.allowed
        scores = "any score that is told no more," if self.families else "any score"
        facts = [
            ("epsilon", f"{self.epsilon:.4g} ({self.fairness.formula}), promise '{self.promise}'"),
            ("largest gap", f"{self.gap_before:.4f} before, {self.gap:.4f} after"),
            *self._family_facts(),
            *window(self.where),
            ("overall AUC", f"{self.auc_before:.4f} before, {self.auc:.4f} after"),
            ("  at most", f"{self.auc_bound:.4f} for {scores} with a gap of {allowed:.4g} or less on these rows"),
        ]
        if self.auc_bound_without_draw is not None:
            facts.append(("", f"{self.auc_bound_without_draw:.4f} where nobody is drawn and all scores stay apart"))
        elif self.least_gap_without_draw is not None:
            facts.append(("", f"without a draw the least gap is about {self.least_gap_without_draw:.4f}"))
        if self.families:
            made = ", ".join(["the score", *(short(told.column) for told in self.told)])
            facts.append(("made from", made if self.use_group else f"{made}; not the group"))
        head = ["group", "rows", "positives", "AUC before", "AUC after", "people drawn"]
        rows = [
            [g.group, f"{g.rows:,}", f"{g.positives:,}", *aucs, percent(g.randomised_share)]
            for g in self.groups
            for aucs in [map(figure, (g.auc_before, g.auc))]
        ]
        return Summary(f"Certificate: {size(self.rows, len(rows))}", facts, head, rows)

    def _family_facts(self) -> list[tuple[str, str]]:
        """The gap of each attribute and stratum, where there is more than one."""
        if len(self.families) < 2:
            return []
        both = ((one, f"{one.gap_before:.4f} before, {one.gap:.4f} after") for one in self.families)
        return [
            (f"  {short(one.title)}", f"{gap} (epsilon {one.epsilon:.4g})" if one.epsilon is not None else gap)
            for one, gap in both
        ]

    @property
    def fairness(self) -> Constraint:
        """What was to be close, as geometry."""
        return fairness_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; what is told of attributes and cells is there for fits that have ``families``.

        >>> post.certificate_.to_dict()["rows"]
        1000
        """
        found = plain_data(self)
        return found if self.families else {name: value for name, value in found.items() if name not in OF_FAMILIES}


def certify(fitted: Fitted) -> Certificate:
    """Compute the certificate."""
    begin = time.perf_counter()
    model, raw, done = fitted.model, fitted.raw, fitted.performance
    report = None
    if model.method == "froc" and fitted.solution is not None:
        queried = fitted.population.curves
        report = froc_report(model.names, queried, raw.curves, model.inner_epsilon, model.queries)
    before = rate_gaps(raw.curves, labelled=True, thresholds=raw.thresholds)
    bound = bound_of(raw, fitted.target, fitted.measure)
    least = fitted.solver.least_gap_without_draw
    without = None if least is None else fitted.solver.walks.most_auc(fitted.target)
    return Certificate(
        **same(model, *OF_MODEL),
        rows=model.record.rows,
        auc_before=fitted.before.auc,
        auc=done.auc,
        auc_bound=bound,
        gap_before=fitted.before.gap,
        gap=fitted.target if fitted.target < done.gap <= fitted.target + ROUNDING else done.gap,
        groups=tuple(_group(fitted, g, fair, report) for g, fair in enumerate(_fair_aucs(fitted))),
        froc=report,
        count_error=fitted.people.error,
        allowed=fitted.target,
        small_groups=fitted.people.small,
        ties_reason=None if fitted.solution is None else fitted.solution.reason,
        drawn=0.0 if model.unchanged else drawn_share(raw, model.kernels),
        least_gap_without_draw=least,
        auc_bound_without_draw=None if without is None else min(without, bound),
        rates_before=before,
        rates=realised_gaps(fitted.realised) if fitted.realised else before,
        seconds=time.perf_counter() - begin,
    )


def certificate_text(fitted: Fitted, certificate: Certificate) -> str:
    """The certificate's file: its figures, whose model it is, and the prices that prove its bound to anybody."""
    lines = proof_of(fitted.raw, fitted.target, fitted.measure)
    return sealed(
        {
            "format": "fairroc-certificate",
            "version": 1,
            "model": checksum_in(dumps(fitted.model)),
            "figures": certificate.to_dict(),
            "proof": {"directions": lines.b.tolist(), "prices": lines.prices.tolist()},
        }
    )


def _fair_aucs(fitted: Fitted) -> list[float]:
    """AUC of each group's highest fair curve; of an unchanged score, its own."""
    if fitted.model.unchanged:
        return list(fitted.before.group_aucs)
    hulls, fairness = [curve.hull for curve in fitted.raw.curves], fitted.model.fairness
    if not isinstance(fairness, EqualizedOdds):  # nobody leaves the own hull
        return [hull.auc for hull in hulls]
    return [curve.auc for curve in optimal(hulls, fitted.target, fairness).curves]


def _group(fitted: Fitted, g: int, fair: float, report: FrocReport | None) -> GroupCertificate:
    model, raw = fitted.model, fitted.raw.curves[g]
    record = model.groups[g]
    transport, tie = (0.0, 0.0) if model.unchanged else drawn_shares(raw, model.kernels[g])
    return GroupCertificate(
        group=record.name,
        rows=record.rows,
        positives=record.positives,
        auc_before=raw.auc,
        auc_hull=raw.hull.auc,
        auc_fair=fair,
        auc=fitted.performance.group_aucs[g],
        randomised_share=transport + tie,
        transport_share=transport,
        tie_share=tie,
        pla_loss=_pla_loss(fitted, g, report),
    )


def _pla_loss(fitted: Fitted, g: int, report: FrocReport | None) -> PlaLoss | None:
    """What knowing a group's curve at the queries only can lose."""
    if report is not None:
        losses = report.groups[g].losses
        return PlaLoss(losses.pla_bound, losses.pla_paper)
    queries = fitted.model.queries
    return None if queries is None else pla_loss(fitted.population.curves[g], queries)
