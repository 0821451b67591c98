"""What a fit means for people not seen yet: expected gap and AUC, upper limits (docs/explanation/unseen.md)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fairroc.auditing.audit import EQUAL_ONLY
from fairroc.docstrings import FITTED, documented
from fairroc.fitting.fit import Fitted, limits_of
from fairroc.fitting.limits import Limit
from fairroc.options import LEVEL
from fairroc.summary import Part, Result, Summary, Titled, figure, short

NO_RATIO = "it bounds differences of a fitted score's rates, and a ratio was asked for"


@dataclass(frozen=True, slots=True, repr=False)
class FamilyOutlook(Part, Titled):
    """What to expect of the groups of one attribute, or of one attribute inside a stratum, among new people."""

    attribute: str
    stratum: str | None
    epsilon: float
    gap_before_estimate: float
    gap_estimate: float
    gap_standard_error: float

    @property
    def exceeds(self) -> bool:
        """Whether the gap expected among new people is above epsilon."""
        return self.gap_estimate > self.epsilon


@documented(setup=FITTED)
@dataclass(frozen=True, slots=True, repr=False)
class Outlook(Result):
    """What to expect of the fair score among new people like the fitted ones.

    Attributes
    ----------
    epsilon, promise : what was asked for, and for whom.
    gap_estimate, gap_standard_error : gap expected among new people, and how uncertain it is: mean and deviation over
        populations that the fitted people may come from.
    gap_before_estimate : the same for the original score.
    helps : whether that is smaller by more than the estimate can tell; False for an unchanged score.
    test_gap_estimate : the gap that a test set with as many rows as were fitted is expected to show: chance alone makes
        it larger than the gap among all new people. None where groups are spread over segments.
    auc_estimate, auc_standard_error : AUC expected among new people: the original score's on the fitted people, less
        what the fair score is expected to lose.
    auc_before : of the original score on the fitted people, which is a fair estimate for new ones.
    gap, auc : of the fair score on the fitted people.
    upper, method : the upper confidence limit, at ``level``, of the gap among all people to rely on, and its name.
    upper_dkw, upper_bootstrap : both limits; the first holds for any sample size and any score (None for weighted rows:
        ``dkw_reason``), the second for this score, in large samples.
    limited_by : the group and label with the widest band.
    told_from : of a ratio, gaps are told at thresholds that select this share of all people or more; else 0.
    rows, rows_to_halve : fitted rows; rows, in the same proportions, that would halve ``upper - gap``.
    families : without ``use_group``, with ``combine="each"`` and within strata, the gap of each attribute for itself;
        ``gap_estimate`` is of the largest of them.

    >>> found = post.outlook_
    >>> found.gap_estimate < found.upper, found.exceeds
    (True, True)
    """

    epsilon: float
    promise: str
    level: float
    gap_estimate: float
    gap_standard_error: float
    gap_before_estimate: float
    helps: bool
    test_gap_estimate: float | None
    auc_estimate: float
    auc_standard_error: float
    auc_before: float
    gap: float
    auc: float
    upper: float
    method: str
    upper_dkw: float | None
    upper_bootstrap: float
    dkw_reason: str | None
    limited_by: Limit
    told_from: float
    rows: int
    rows_to_halve: int
    families: tuple[FamilyOutlook, ...] = ()

    def _summary(self) -> Summary:
        limit, above = self.limited_by, "above" if self.exceeds else "within"
        label = "" if limit.label is None else f", label {limit.label}"
        facts = [
            ("expected gap", f"{above} epsilon {self.epsilon:g} (promise '{self.promise}')"),
            ("upper limit", f"{self.upper:.3f} at {100 * self.level:g}% confidence ({self.method})"),
            ("least certain", f"group '{short(limit.group)}'{label}: {limit.rows:,} rows"),
        ]
        if self.test_gap_estimate is not None:
            facts.insert(1, ("in a test set", f"about {self.test_gap_estimate:.3f}, if it has {self.rows:,} rows"))
        head = ["", "before", "after", "±", "fitted people, after"]
        gap = [self.gap_before_estimate, self.gap_estimate, self.gap_standard_error, self.gap]
        auc = [self.auc_before, self.auc_estimate, self.auc_standard_error, self.auc]
        rows = [[name, *(figure(x, 3) for x in four)] for name, four in (("largest gap", gap), ("overall AUC", auc))]
        notes = ["No smaller gap is expected than with the original score."] if self.harms else []
        return Summary(f"Outlook for new people, from {self.rows:,} rows", facts, head, rows, notes=notes)

    @property
    def exceeds(self) -> bool:
        """Whether the gap expected among new people is above epsilon."""
        return self.gap_estimate > self.epsilon or any(family.exceeds for family in self.families)

    @property
    def harms(self) -> bool:
        """Whether new people's gap is not expected to be smaller than with the original score, though it changed."""
        return self.auc != self.auc_before and self.gap_estimate >= self.gap_before_estimate

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; ``families`` where there are some.

        >>> post.outlook_.to_dict()["promise"]
        'fitted'
        """
        found = {name: value for name, value in asdict(self).items() if name != "families" or value}
        return found | {"exceeds_epsilon": self.exceeds, "harms": self.harms}


def outlook(fitted: Fitted, confidence: float = LEVEL.default) -> Outlook:
    """Look ahead."""
    far, done, new, before = limits_of(fitted, confidence), fitted.performance, fitted.expected, fitted.expected_before
    return Outlook(
        epsilon=fitted.model.epsilon,
        promise=fitted.model.promise,
        level=confidence,
        gap_estimate=new.gap,
        gap_standard_error=new.gap_deviation,
        gap_before_estimate=before.gap,
        helps=fitted.solution is not None and fitted.solver.helps(fitted.solution),
        test_gap_estimate=fitted.solver.test_gap(fitted.solution),
        auc_estimate=new.auc,
        auc_standard_error=new.auc_deviation,
        auc_before=fitted.before.auc,
        gap=done.gap,
        auc=done.auc,
        upper=far.value,
        method=far.method,
        upper_dkw=far.dkw,
        upper_bootstrap=far.bootstrap,
        dkw_reason=None if far.dkw is not None else EQUAL_ONLY if fitted.people.weighted else NO_RATIO,
        limited_by=far.limit,
        told_from=_told_from(fitted),
        rows=fitted.people.rows,
        rows_to_halve=4 * fitted.people.rows,
    )


def _told_from(fitted: Fitted) -> float:
    """The share of people from which gaps of new people are told."""
    asked = fitted.model.fairness
    where = asked.told().where
    return 0.0 if where is None or where == asked.where else where[0]
