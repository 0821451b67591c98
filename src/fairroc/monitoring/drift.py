"""What a check of new people against a fitted model found: frozen results, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from fairroc.auditing.findings import GapInterval, Interval
from fairroc.core.constraint import Constraint, Norm
from fairroc.docstrings import FITTED, documented
from fairroc.options import CONSTRAINT, fairness_of
from fairroc.people.small import SmallGroups, plain_data
from fairroc.summary import Part, Result, Summary, Titled, figure, size, span

Status: TypeAlias = Literal["moved", "steady", "too few rows", "missing", "not checked"]
Answer: TypeAlias = Literal["within", "unclear", "outside"]

NOTED = 5
"""As many findings stand below the table that a notebook shows."""

PSI_LEVELS = ((0.1, "small"), (0.25, "moderate"))
"""Customary words for the population stability index: small below 0.1, moderate below 0.25, else large."""


@dataclass(frozen=True, slots=True, repr=False)
class ScoreShift(Part):
    """How far some people's scores moved: the largest change of the share who reach a score.

    Attributes
    ----------
    distance : that change (Kolmogorov and Smirnov's distance), over the borders of the model's bins.
    score : where it is: ``score >= score``, or ``score > score`` if ``above`` (beyond the highest fitted score).
    share, fitted_share : of people who reach it, now and at the fit.
    visible : the smallest distance that so many rows can show.
    """

    distance: float
    score: float
    above: bool
    share: float
    fitted_share: float
    visible: float


@dataclass(frozen=True, slots=True, repr=False)
class GroupDrift(Part):
    """One fitted group among the new people. What could not be measured is None.

    Attributes
    ----------
    status : "moved": some test of the group found something; "steady": none did; "too few rows": none did, but a
        shift of a tenth of the people would not show; "missing": no new rows; "not checked": no reference.
    rows_needed : with too few rows, how many would show a shift of a tenth; None: the fit itself has too few.
    share, fitted_share : the group's share of all people of fitted groups.
    scores, negatives, positives : shift of the scores of all the group's people, and by label.
    psi, psi_level : population stability index and the customary word for it.
    psi_expected, psi_limit : mean of the index if nothing moved, and what it then stays below with the confidence.
    lowest, highest : fitted score range; ``below`` and ``above`` it lie so many new rows, ``outside_expected`` of them
        are to be expected.
    positive_share, fitted_positive_share : share of positives.
    auc, auc_interval, fitted_auc : of the original score.
    fair_auc, fitted_fair_auc : of the fair score, in expectation over the draw.
    """

    group: str
    status: Status
    rows: int
    fitted_rows: int
    rows_needed: int | None = None
    share: float | None = None
    fitted_share: float | None = None
    scores: ScoreShift | None = None
    negatives: ScoreShift | None = None
    positives: ScoreShift | None = None
    psi: float | None = None
    psi_level: str | None = None
    psi_expected: float | None = None
    psi_limit: float | None = None
    lowest: float | None = None
    highest: float | None = None
    below: int | None = None
    above: int | None = None
    outside_expected: float | None = None
    positive_share: float | None = None
    fitted_positive_share: float | None = None
    auc: float | None = None
    auc_interval: Interval | None = None
    fitted_auc: float | None = None
    fair_auc: float | None = None
    fitted_fair_auc: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class DriftTest(Part):
    """One test; ``adjusted`` is its p-value after Holm's correction for all tests of the check.

    ``what`` is "scores", "negatives", "positives", "range", "labels", "missing" (of a group) or "shares" (of all). Of
    a model that is not told the group also "groups": shares of the groups of a family, whose name is in ``group``.
    """

    what: str
    group: str | None
    p_value: float
    adjusted: float
    found: bool


@dataclass(frozen=True, slots=True)
class UnknownGroup:
    """A group that the model was not fitted to, and its new rows."""

    group: str
    rows: int


@dataclass(frozen=True, slots=True, repr=False)
class GapCheck(Part):
    """The gap of the fair score among new people, in expectation over the draw.

    Attributes
    ----------
    gap : the largest distance of two groups, as the model's constraint has it; of a ratio, what the smallest one lacks
        of 1.
    answer : "within": the whole interval is; "outside": none of it is; "unclear": it holds epsilon.
    resolution : how far ``gap`` may be off because neighbouring scores were merged; 0 unless there are very many.
    interval, method : where the gap of the people that the rows stand for lies, and which of the two decided.
    groups : those measured; others lack rows of a label that counts or are unknown.
    rows_needed : where unclear, about how many rows would show a gap of half epsilon to be within it.
    auc, auc_before : of all these people, for the fair and for the original score; None without labels.
    constraint, ratio, tolerances : what the model was asked to keep close, and how.
    where : shares of all these people selected between which thresholds were looked at; None: all were. Ratios are
        told from 5 % on: below, a few people make any ratio.
    smallest_ratio : smallest over largest rate, where the model was asked for a ratio.
    """

    gap: float
    pair: tuple[str, str]
    epsilon: float
    norm: Norm
    answer: Answer
    method: str
    interval: GapInterval
    resolution: float
    rows: int
    rows_needed: int | None
    groups: tuple[str, ...]
    auc: float | None
    auc_before: float | None
    constraint: str = CONSTRAINT.default
    ratio: float | None = None
    tolerances: tuple[float, float] | None = None
    where: tuple[float, float] | None = None
    smallest_ratio: float | None = None

    @property
    def fairness(self) -> Constraint:
        """What was measured, as geometry."""
        return fairness_of(self)


@dataclass(frozen=True, slots=True, repr=False)
class FamilyGap(Part, Titled):
    """One family of groups that the model keeps close, among new people: those of an attribute, or of an attribute
    within a stratum.

    Attributes
    ----------
    gap, reason : the gap, or why it was not measured.
    absent : groups of the fit without new people; ``one_label``: those that lack people of a label and are left out.
    unknown : new rows of groups that the fit did not compare, by name; they are left out.
    """

    attribute: str
    stratum: str | None
    epsilon: float
    gap: GapCheck | None
    reason: str | None
    absent: tuple[str, ...] = ()
    one_label: tuple[str, ...] = ()
    unknown: dict[str, int] = field(default_factory=dict)


@documented(setup=f"{FITTED}\n>>> found = post.model_.check(scores, sensitive_features=sex)")
@dataclass(frozen=True, slots=True, repr=False)
class Drift(Result):
    """Whether new people are still like those a model was fitted to.

    Attributes
    ----------
    reasons : every finding, in words; none: nothing was found.
    doubts : what could not be checked or told, and why, in words.
    rows : new rows, those of unknown groups included.
    confidence : if nothing moved, all ``tests`` together find something with probability 1 - confidence at most.
    gap, gap_reason : the gap, with labels unless selection rates are compared; or why it was not measured.
    small_groups : groups that were merged, as at the fit, with their new rows; None if there are none.
    segments : what ``groups`` are: "group", or "cell" of a model that is told probabilities in place of the group.
    families : for a model whose groups are spread over such segments, the gap of every family of groups that it
        compares, all intervals together at the confidence; ``gap`` is then the one farthest above its epsilon.

    >>> found.drifted, found.reasons, [group.rows for group in found.groups]
    (False, (), [500, 500])
    """

    rows: int
    confidence: float
    reasons: tuple[str, ...] = field(default=(), kw_only=True)
    doubts: tuple[str, ...] = field(default=(), kw_only=True)
    groups: tuple[GroupDrift, ...]
    unknown: tuple[UnknownGroup, ...]
    tests: tuple[DriftTest, ...]
    gap: GapCheck | None
    gap_reason: str | None
    small_groups: SmallGroups | None = None
    segments: str = "group"
    families: tuple[FamilyGap, ...] = ()

    def _summary(self) -> Summary:
        found = f"{len(self.reasons)} found" if self.reasons else "none found"
        facts = [("drift", f"{found} ({100 * self.confidence:g}% confidence)")]
        if self.gap is None:
            facts.append(("gap", f"not measured: {self.gap_reason}"))
        else:
            sure = span(self.gap.interval.best)
            facts.append(("gap", f"{self.gap.gap:.4f} ({sure}); epsilon {self.gap.epsilon:g}: {self.gap.answer}"))
        for family in self.families if len(self.families) > 1 else ():
            if family.gap is not None:
                told = f"{family.gap.gap:.4f}; epsilon {family.epsilon:g}: {family.gap.answer}"
                facts.append((f"  {family.title}", told))
        head = [self.segments, "status", "rows", "fitted rows", "score shift", "PSI"]
        rows = [
            [g.group, g.status, f"{g.rows:,}", f"{g.fitted_rows:,}", *(figure(x, 3) for x in (shift, g.psi))]
            for g in sorted(self.groups, key=lambda g: g.status != "moved")
            for shift in [None if g.scores is None else g.scores.distance]
        ]
        many = size(self.rows, len(rows)) if self.segments == "group" else f"{self.rows:,} rows, {len(rows)} cells"
        return Summary(f"Drift: {many}", facts, head, rows, notes=self.reasons[:NOTED])

    @property
    def drifted(self) -> bool:
        """Whether anything was found."""
        return bool(self.reasons)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON.

        >>> found.to_dict()["drifted"]
        False
        """
        found = {"drifted": self.drifted, **plain_data(self)}
        return found if self.families else {k: v for k, v in found.items() if k not in ("segments", "families")}
