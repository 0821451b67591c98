"""Assess a score: how far apart the groups are at every threshold, where, between whom, and how sure one can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from fairroc.auditing.findings import (
    Audit,
    Audits,
    Band,
    Calibration,
    CalibrationBin,
    CrossAuc,
    Decision,
    FamilyAudit,
    GapInterval,
    GroupAudit,
    GroupDecision,
    Interval,
    distance_asked,
)
from fairroc.core.chain import FloatArray, area
from fairroc.core.constraint import Distance, distance_of
from fairroc.core.gap import ROUNDING, curve_gap, pooled_curve, rate_gaps, threshold_gap
from fairroc.core.roc import Population, RocCurve, rates_at
from fairroc.docstrings import documented
from fairroc.errors import DataError, several, warn_all
from fairroc.model.model import ModelData
from fairroc.options import (
    AUDIT,
    CONSTRAINT,
    KEPT,
    MIN_CLASS_ROWS,
    NORM,
    RATIO,
    SMALL_GROUPS,
    SmallTreatment,
    checked,
    refuse,
    refuse_for_both_rates,
    refuse_for_one_rate,
    same,
    tolerated,
)
from fairroc.people.cells import WeightedSample
from fairroc.people.counts import ScoreCounts
from fairroc.people.door import people_of_family, read_people
from fairroc.people.people import People, refuse_tiny_groups, several_groups
from fairroc.people.small import SmallRule
from fairroc.people.spread import Family, SpreadRows
from fairroc.stats.auc import auc_interval, background_aucs, cross_aucs, pooled_background
from fairroc.stats.bands import GapLimits, Noise, dkw_reach, dkw_widths, gap_limits, unlabelled_noise
from fairroc.stats.bootstrap import Draws
from fairroc.stats.bootstrap import bootstrap as bootstrap_draws

UNLABELLED = "demographic_parity"
"""The constraint that compares shares of people selected, whatever their labels."""

NO_LABELS = "there are no labels"
NO_THRESHOLD = "no threshold selects a share of these people inside the window"

EQUAL_ONLY = "DKW needs rows of equal weight, and these rows are weighted; see the bootstrap"
NOT_ASKED = "no bootstrap draws were asked for"
DELONG_ONLY = "DeLong's interval needs rows of equal weight, and these rows are weighted"
LONE_ROW = "a class of a single row has no variance to estimate"
NO_PROBABILITY = "scores must lie in [0, 1] to be compared with shares, and these lie in [{low:g}, {high:g}]"

TOO_MANY = "there is one for every two of {groups} groups, and they are told of up to {most}"

MOST_CROSSED = 50
"""AUCs across groups are told of so many groups at most."""

BINS = 10
"""Calibration bins of a group; people with one score are never parted, so there may be fewer."""

FOUR_FIFTHS = 0.8 - 1e-12
"""Ratio of selection rates below which US practice speaks of adverse impact (29 CFR 1607.4 D); 0.24 / 0.3 meets it."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """What to measure, checked; a bootstrap draws from ``rng``."""

    norm: float
    epsilon: float | None
    confidence: float
    threshold: float | None
    bootstrap: int
    rng: np.random.Generator
    min_class_rows: int
    small_groups: SmallTreatment
    constraint: str = CONSTRAINT.default
    ratio: float | None = None
    where: Interval | None = None
    tolerances: Interval | None = None

    @classmethod
    def checked(cls, **given: Any) -> Settings:
        """From what a user passed: the parameters of `fairroc.options.AUDIT`."""
        values = checked(AUDIT, given)
        if isinstance(values["epsilon"], tuple) and values["norm"] not in (NORM.default, np.inf):
            raise DataError(
                "norm must be left out with a tolerance for 'fpr' and one for 'tpr', as each rate is compared for "
                f"itself, got {values['norm']:g}."
            )
        values = tolerated(values, default=None)
        settings = cls(rng=values.pop("random_state"), **values | {"norm": float(values["norm"])})
        if settings.constraint == CONSTRAINT.default:
            refuse_for_both_rates(settings, (RATIO,))
        else:
            refuse_for_one_rate(settings, (NORM,))
        return settings

    @classmethod
    def of(cls, model: ModelData, **given: Any) -> Settings:
        """To measure what a model keeps close."""
        asked: dict[str, Any] = {"constraint": model.constraint, "ratio": model.ratio, "where": model.where}
        if model.tolerances is not None:
            asked["epsilon"] = dict(zip(("fpr", "tpr"), model.tolerances, strict=True))
        elif model.ratio is None:
            asked |= {"epsilon": model.epsilon, "norm": model.norm}
        return cls.checked(**asked, **given)

    @property
    def distance(self) -> Distance:
        """How far apart two groups are, by what is asked for."""
        return distance_asked(self)

    def check_unlabelled(self) -> None:
        """Raise if this cannot be measured of people without labels."""
        if self.constraint != UNLABELLED:
            raise DataError(
                f"y must hold labels for constraint={self.constraint!r}, which compares rates of each label, got none. "
                "Pass y (on the command line: --label), or take constraint='demographic_parity' (--constraint "
                "demographic_parity), which compares the shares of people selected."
            )
        why = "without labels, as a group is small by its rows of each label"
        refuse(self, (MIN_CLASS_ROWS, SMALL_GROUPS), why)

    @property
    def small_rule(self) -> SmallRule:
        """What becomes of small groups."""
        return SmallRule(self.small_groups, self.min_class_rows)


@documented(options=AUDIT)
def audit(
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    norm: Any = 1,
    epsilon: Any = None,
    constraint: str = "equalized_odds",
    ratio: float | None = None,
    where: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    missing: Any = "error",
    confidence: float = 0.95,
    threshold: float | None = None,
    bootstrap: int = 1000,
    random_state: Any = 0,
    min_class_rows: int = 1,
    small_groups: SmallTreatment = "error",
) -> Audit:
    """Measure the gap between groups at every threshold of a score, AUCs, calibration, and how sure one can be.

    Parameters
    ----------
    epsilon : float in [0, 2], {"fpr": a, "tpr": b} or None
        The allowed gap, for the result's ``fair``; of equalized odds also one for each rate.
    y : array-like of shape (n,) of two labels, or None
        None for ``constraint="demographic_parity"`` without labels: then only selection rates are measured.

    Returns: Audit: all that was measured; printed, it is a table.
    Raises: DataError
    >>> scores, y = [0.9, 0.6, 0.4, 0.2] * 50, [1, 0, 1, 0] * 25 + [1, 1, 0, 0] * 25
    >>> found = audit(scores, y, sensitive_features=["a"] * 100 + ["b"] * 100, threshold=0.5)
    >>> found.gap, found.gap_threshold, found.gap_pair
    (1.0, 0.6, ('a', 'b'))
    >>> [(round(low, 2), round(high, 2)) for low, high in (found.gap_interval.dkw, found.gap_interval.bootstrap)]
    [(0.1, 1.45), (0.73, 1.21)]
    >>> found.decision.disparate_impact, found.decision.equal_opportunity_difference
    (1.0, 0.5)
    """
    settings = Settings.checked(
        norm=norm,
        epsilon=epsilon,
        constraint=constraint,
        ratio=ratio,
        where=where,
        confidence=confidence,
        threshold=threshold,
        bootstrap=bootstrap,
        random_state=random_state,
        min_class_rows=min_class_rows,
        small_groups=small_groups,
    )
    if y is None:
        settings.check_unlabelled()
    known = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "pos_label": pos_label}
    people = read_people(scores, y, **known, missing=missing, small=settings.small_rule, whole=y is not None)
    return audit_people(people, settings)


@documented()
def audit_counts(counts: ScoreCounts, **settings: Any) -> Audit:
    """Audit people who were counted: the same figures as from their rows, in memory for the distinct scores only.

    For demographic parity, counts without any positives are people without labels.

    Returns: Audit: the same as from the rows.
    Raises: DataError
    >>> from fairroc import ScoreCounts
    >>> counts = ScoreCounts.from_table([1, 2] * 2, [0, 60] * 2, [90, 0, 80, 10], sensitive_features=[*"aabb"])
    >>> audit_counts(counts, bootstrap=0).gap
    0.1111111111111111
    """
    asked = Settings.checked(**settings)
    labelled = asked.constraint != UNLABELLED or any(part.any() for part in counts.positives)
    return audit_people(counts.people(small=asked.small_rule, whole=labelled), asked)


def audit_people(people: People, settings: Settings, *, progress: Progress | None = None) -> Audit:
    """Audit people, and warn of small groups; ``progress(done, all)`` is called as the bootstrap goes on."""
    found = audit_quietly(people, settings, progress=progress)
    warn_all(people.small_groups())
    return found


def audit_quietly(people: People, settings: Settings, *, progress: Progress | None = None) -> Audit:
    """The same without a warning."""
    if people.labelled:
        refuse_tiny_groups(people, settings.min_class_rows)
    else:
        settings.check_unlabelled()
    population, noises = _measured(people)
    gap, limit = threshold_gap(population, settings.distance), settings.epsilon
    interval, draws = _interval(people, population, noises, settings, progress)
    found = Audit(
        **same(settings, *KEPT),
        rows=people.rows,
        auc=None,
        gap=gap.value,
        gap_threshold=gap.threshold,
        gap_pair=(people.names[gap.pair[0]], people.names[gap.pair[1]]),
        curve_gap=None,
        epsilon=limit,
        fair=None,
        groups=tuple(
            GroupAudit(name, int(rows), None, None)
            for name, rows in zip(people.names, people.group_counts()[0], strict=True)
        ),
        gap_interval=interval,
        auc_reason=NO_LABELS,
        calibration_reason=NO_LABELS,
        decision=None
        if settings.threshold is None
        else decide(people.names, population.curves, settings.threshold, labelled=people.labelled),
        count_error=people.error,
        small_groups=people.small,
        rates=rate_gaps(population.curves, labelled=people.labelled, thresholds=population.thresholds),
    )
    if limit is not None:
        found = replace(found, fair=found.gap_limit <= limit + ROUNDING)
    return _with_labels(found, people, _bands(people, noises, draws, settings)) if people.labelled else found


def audit_each(rows: SpreadRows, settings: Callable[[Family], Settings]) -> Audits:
    """Audit every family of rows, with its own settings, and warn of small groups."""
    found, notes = [], []
    for family in rows.families:
        if len(family.groups) < 2:  # intersections of which all but one lack a label
            continue
        people = people_of_family(family, rows.scores, rows.labels, rows.weights)
        audit = audit_quietly(people, settings(family))
        audit = audit if family.compared else replace(audit, fair=None)
        found.append(FamilyAudit(family.name, family.stratum, family.compared, audit))
        notes += people.small_groups() if family.compared else []
    warn_all(notes)
    return Audits(rows.rows, tuple(found))


def _measured(people: People) -> tuple[Population, list[Noise]]:
    """Exact curves and how uncertain they are; without labels, of selection rates alone."""
    if people.labelled:
        return people.exact, people.noises()
    several_groups(people)
    noises = []
    for sample in people.samples:
        scores, _, weights = sample.cells()
        noises.append(unlabelled_noise(scores, weights, counts=not isinstance(sample, WeightedSample)))
    shares = people.group_masses()[0] / people.group_masses()[0].sum()
    return Population(tuple(noise.curve for noise in noises), shares, shares, shares), noises


def _with_labels(found: Audit, people: People, bands: Sequence[Band]) -> Audit:
    """The audit with all that labels tell."""
    exact, level = people.exact, 0.0 if found.gap_interval is None else found.gap_interval.level
    places, names, weights = exact.merge[1], people.names, (exact.weights0, exact.weights1)
    fpr, tpr = pooled_curve(exact.curves, *weights, places)
    auc, (negatives, positives) = area(fpr, tpr), people.class_rows().sum(axis=0).tolist()
    crossed: tuple[CrossAuc, ...] = ()
    if len(names) > MOST_CROSSED:
        background = pooled_background(exact.curves, *weights, places, (fpr, tpr))
    else:
        cross = cross_aucs(exact.curves, places)
        background, pairs = background_aucs(cross, *weights), permutations(range(len(names)), 2)
        crossed = tuple(CrossAuc(names[g], names[h], float(cross[g, h])) for g, h in pairs)
    return replace(
        found,
        auc=auc,
        curve_gap=curve_gap(exact.curves),
        groups=_groups(people, background, bands, level),
        auc_interval=None if people.weighted else auc_interval(fpr, tpr, auc, negatives, positives, level),
        auc_reason=_why_no_auc_interval(people),
        cross_aucs=crossed,
        cross_aucs_reason=None if crossed else TOO_MANY.format(groups=len(names), most=MOST_CROSSED),
        calibration_reason=_why_no_calibration(people),
    )


def _interval(
    people: People, population: Population, noises: list[Noise], settings: Settings, progress: Progress | None
) -> tuple[GapInterval, Draws | None]:
    """The gap's interval, and the draws it was made from."""
    level, distance, draws, reach = settings.confidence, settings.distance.told(), None, None
    widths = None if people.weighted else dkw_reach(distance, people.class_rows(), level)
    if settings.bootstrap:
        how: dict[str, Any] = {"draws": settings.bootstrap, "rng": settings.rng, "progress": progress}
        draws = bootstrap_draws(noises, distance, **how, shares=population.shares)
        reach = draws.reach((1 + level) / 2)
    limits = gap_limits(noises, widths, distance, level, population.shares, reach, population.thresholds)
    interval = gap_interval(limits, draws, level)
    if distance.where != settings.where:
        interval = replace(interval, where=distance.where, gap=threshold_gap(population, distance).value)
    return interval, draws


def _bands(people: People, noises: list[Noise], draws: Draws | None, settings: Settings) -> tuple[Band, ...]:
    """The bands of all groups' FPR and TPR; draws of other rates do not tell them."""
    level = settings.confidence
    if draws is not None and noises[0].seen(settings.distance) is not noises[0]:
        draws = bootstrap_draws(noises, distance_of(1.0), draws=settings.bootstrap, rng=settings.rng)
    safe = None if people.weighted else dkw_widths(people.class_rows(), level).tolist()
    sharp = None if draws is None else draws.widths(level).tolist()
    each = range(len(noises))
    return tuple(
        Band(*(None if known is None else (known[g][0], known[g][1]) for known in (safe, sharp))) for g in each
    )


def gap_interval(limits: GapLimits, draws: Draws | None, level: float, hidden: float = 0.0) -> GapInterval:
    """Both intervals of the gap, as far as there are limits and draws; merged scores hide so much of it."""
    if not limits.seen:
        return GapInterval(level, None, None, NO_THRESHOLD, NO_THRESHOLD)
    sharp = None
    if draws is not None:
        sharp = (max(limits.lower - hidden, 0.0), limits.upper + hidden)
    return GapInterval(
        level=level,
        dkw=limits.within,
        bootstrap=sharp,
        dkw_reason=EQUAL_ONLY if limits.within is None else None,
        bootstrap_reason=NOT_ASKED if draws is None else None,
        draws=0 if draws is None else len(draws.off),
    )


def _why_no_auc_interval(people: People) -> str | None:
    """Why some AUC has no interval."""
    if people.weighted:
        return DELONG_ONLY
    lone = [name for name, rows in zip(people.names, people.class_rows().min(axis=1), strict=True) if rows < 2]
    return f"{LONE_ROW}: {several(list(map(repr, lone)), ', ')}" if lone else None


def _why_no_calibration(people: People) -> str | None:
    low, high = people.score_range
    return None if low >= 0 and high <= 1 else NO_PROBABILITY.format(low=low, high=high)


def _groups(
    people: People, background: tuple[FloatArray, FloatArray], bands: Sequence[Band], confidence: float
) -> tuple[GroupAudit, ...]:
    exact, weighted, calibrated = people.exact, people.weighted, _why_no_calibration(people) is None
    bnsp, bpsn = background
    found = []
    for g, (rows, positives) in enumerate(zip(*people.group_counts(), strict=True)):
        curve = exact.curves[g]
        counts = int(rows - positives), int(positives)
        found.append(
            GroupAudit(
                group=people.names[g],
                rows=int(rows),
                positives=int(positives),
                auc=curve.auc,
                auc_interval=None if weighted else auc_interval(curve.fpr, curve.tpr, curve.auc, *counts, confidence),
                bnsp_auc=float(bnsp[g]),
                bpsn_auc=float(bpsn[g]),
                band=bands[g],
                calibration=calibration(curve, *people.samples[g].totals, whole=not weighted) if calibrated else None,
            )
        )
    return tuple(found)


def calibration(curve: RocCurve, negatives: float, positives: float, *, whole: bool) -> Calibration:
    """Bins of about equal weight: all people of one score go where the middle one of them belongs. O(k).

    ``whole``: rows of equal weight, so that every sum is a whole number.
    """
    scores = curve.thresholds[::-1]
    positive, negative = positives * np.diff(curve.tpr)[::-1], negatives * np.diff(curve.fpr)[::-1]
    if whole:
        positive, negative = np.rint(positive), np.rint(negative)
    mass = positive + negative
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    place = np.minimum((middle * BINS).astype(np.intp), BINS - 1)
    total: FloatArray = np.bincount(place, mass, BINS).astype(np.float64)
    used = total > 0
    total = total[used]
    mean = np.clip(np.bincount(place, mass * scores, BINS)[used] / total, scores[0], scores[-1])
    share = np.clip(np.bincount(place, positive, BINS)[used] / total, 0.0, 1.0)
    counts = total.astype(int).tolist() if whole else total.tolist()
    bins = zip(counts, mean.tolist(), share.tolist(), strict=True)
    error = float(np.dot(total / total.sum(), np.abs(mean - share)))
    return Calibration(error, tuple(CalibrationBin(*row) for row in bins))


def decide(names: Sequence[str], curves: Sequence[RocCurve], threshold: float, *, labelled: bool = True) -> Decision:
    """What ``score >= threshold`` does to every group, and how far apart they are. O(groups log k).

    Without labels the curves have the selection rate for both rates.
    """
    points = np.array([np.concatenate(rates_at(curve, np.array([threshold]))) for curve in curves])
    fpr, tpr, prior = points[:, 0].copy(), points[:, 1].copy(), np.array([curve.prior for curve in curves])
    hits, selection = prior * tpr, prior * tpr + (1.0 - prior) * fpr
    accuracy = prior * tpr + (1.0 - prior) * (1.0 - fpr)
    precision = [hit / all_ if all_ > 0 else None for hit, all_ in zip(hits.tolist(), selection.tolist(), strict=True)]
    most, least = float(selection.max()), float(selection.min())
    impact = least / most if most > 0 else None
    ranges = float(np.ptp(fpr)), float(np.ptp(tpr))
    rows = zip(names, tpr.tolist(), fpr.tolist(), selection.tolist(), precision, accuracy.tolist(), strict=True)
    # over pairs, max of |dF| + |dT| is the larger range of F + T and T - F
    sums = float(max(np.ptp(fpr + tpr), np.ptp(tpr - fpr)))
    groups = tuple(GroupDecision(*row) for row in rows)
    if not labelled:
        groups = tuple(GroupDecision(g.group, None, None, g.selection_rate, None, None) for g in groups)
    return Decision(
        threshold=threshold,
        disparate_impact=impact,
        four_fifths=None if impact is None else impact >= FOUR_FIFTHS,
        demographic_parity_difference=most - least,
        equal_opportunity_difference=ranges[1] if labelled else None,
        equalized_odds_l1=sums if labelled else None,
        equalized_odds_max=max(ranges) if labelled else None,
        equalized_odds_mean=sum(ranges) / 2 if labelled else None,
        groups=groups,
    )
