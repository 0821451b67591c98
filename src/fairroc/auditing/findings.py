"""What an audit found: frozen results, as plain data and as a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from fairroc.core.constraint import Distance, Within, distance_of
from fairroc.core.gap import RateGaps
from fairroc.docstrings import PEOPLE, documented
from fairroc.options import CONSTRAINT, fairness
from fairroc.people.small import SmallGroups, plain_data
from fairroc.summary import Part, Result, Summary, Titled, figure, short, size, span, window

Interval: TypeAlias = tuple[float, float]


def distance_asked(asked: Any) -> Distance:
    """How far apart two groups are by what an audit was asked to compare; of both rates, in any L-p norm."""
    if asked.constraint != CONSTRAINT.default:
        return fairness(asked.constraint, 1, None, asked.ratio is not None, asked.where)
    own = asked.tolerances
    found = distance_of(asked.norm) if own is None else fairness(asked.constraint, "inf", own)
    return found if asked.where is None else Within(found, asked.where)


@dataclass(frozen=True, slots=True, repr=False)
class GapInterval(Part):
    """Where the gap of the people that the rows stand for lies, at confidence ``level``.

    Attributes
    ----------
    dkw : holds for any number of rows and any distribution; wide. None with row weights.
    bootstrap : narrower, for classes of a few dozen rows and more. None if no draws were asked for.
    dkw_reason, bootstrap_reason : why there is none; None where there is one.
    draws : bootstrap draws.
    where, gap : of a ratio, which says nothing of new people where few are selected: the shares of all people selected
        at the thresholds that the interval is about, and the gap of these rows there. None: those of the audit.
    """

    level: float
    dkw: Interval | None
    bootstrap: Interval | None
    dkw_reason: str | None = None
    bootstrap_reason: str | None = None
    draws: int = 0
    where: Interval | None = None
    gap: float | None = None

    @property
    def best(self) -> Interval | None:
        """The narrower one that there is."""
        return self.dkw if self.bootstrap is None else self.bootstrap


@dataclass(frozen=True, slots=True, repr=False)
class Band(Part):
    """Half widths (fpr, tpr) of a group's ROC band, which holds for all thresholds and all groups at once.

    At every threshold the true point lies within them of the measured one.
    """

    dkw: Interval | None
    bootstrap: Interval | None

    @property
    def best(self) -> Interval | None:
        """The narrower ones that there are."""
        return self.dkw if self.bootstrap is None else self.bootstrap


@dataclass(frozen=True, slots=True, repr=False)
class CalibrationBin(Part):
    """People of neighbouring scores: how many (their weight, if rows are weighted), mean score, share of positives."""

    count: float
    mean_score: float
    positive_share: float


@dataclass(frozen=True, slots=True, repr=False)
class Calibration(Part):
    """A group's calibration in bins of about equal count, by rising score.

    ``error`` is the expected calibration error: the mean of |mean score - share of positives| over people.
    """

    error: float
    bins: tuple[CalibrationBin, ...]


@dataclass(frozen=True, slots=True, repr=False)
class GroupAudit(Part):
    """One group of an audited score. Without labels only its rows are known.

    Attributes
    ----------
    auc_interval : DeLong's, on the logit scale; None with row weights or a single row of a class.
    bnsp_auc : background negative, subgroup positive: the chance that a positive of the group scores above a negative
        of the other groups. Low: the group's positives are overlooked.
    bpsn_auc : background positive, subgroup negative: the chance that a positive of the other groups scores above a
        negative of the group. Low: the group's negatives are taken for positives.
    calibration : None unless all scores lie in [0, 1].
    """

    group: str
    rows: int
    positives: int | None
    auc: float | None
    auc_interval: Interval | None = None
    bnsp_auc: float | None = None
    bpsn_auc: float | None = None
    band: Band | None = None
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True, repr=False)
class CrossAuc(Part):
    """Chance that a positive of one group scores above a negative of another; ties count one half (xAUC)."""

    positives: str
    negatives: str
    auc: float


@dataclass(frozen=True, slots=True, repr=False)
class GroupDecision(Part):
    """One group when everyone with ``score >= threshold`` is selected; precision is None where nobody is.

    Without labels only the selection rate is known.
    """

    group: str
    tpr: float | None
    fpr: float | None
    selection_rate: float
    precision: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True, repr=False)
class Decision(Part):
    """What one threshold does. Without labels only selection rates are compared.

    Attributes
    ----------
    disparate_impact : smallest selection rate over the largest; None where nobody is selected.
    four_fifths : whether that is at least 0.8 (the 80 % rule).
    demographic_parity_difference, equal_opportunity_difference : largest less smallest selection rate, and TPR.
    equalized_odds_l1 : largest |dFPR| + |dTPR| of two groups.
    equalized_odds_max, equalized_odds_mean : the larger, and the mean, of the ranges of FPR and TPR.
    """

    threshold: float
    disparate_impact: float | None
    four_fifths: bool | None
    demographic_parity_difference: float
    equal_opportunity_difference: float | None
    equalized_odds_l1: float | None
    equalized_odds_max: float | None
    equalized_odds_mean: float | None
    groups: tuple[GroupDecision, ...]


@documented(
    setup=f"{PEOPLE}\n>>> from fairroc import audit\n>>> found = audit(scores, y, sensitive_features=sex, bootstrap=0)"
)
@dataclass(frozen=True, slots=True, repr=False)
class Audit(Result):
    """What an audit found.

    Attributes
    ----------
    constraint : what is compared. ``ratio``, ``tolerances`` (of FPR and of TPR) and ``where`` are what was asked for.
    gap : the largest distance of two groups at the same threshold, over all thresholds (the threshold gap): of their
        (fpr, tpr) in the norm, in units of the stricter of two tolerances, or of one rate; of a ratio, what the
        smallest one lacks of 1. With ``where``, over the thresholds that select such a share of all people.
    smallest_ratio : the smallest rate over the largest at the same threshold, over these thresholds; None unless a
        ratio was asked for.
    rates : the largest difference of every rate for itself, over all thresholds.
    gap_threshold, gap_pair : where it occurs (select ``score >= gap_threshold``) and between which groups.
    curve_gap : the largest difference of two groups' tpr at the same fpr. A weaker measure: choosing other thresholds
        for each group would remove what the threshold gap sees beyond it.
    fair : whether the gap is <= epsilon (up to rounding) on these rows, for counts in bins: whether that is sure; None
        if no epsilon was given. A ratio of R is an epsilon of 1 - R.
    gap_interval : what the rows say about the gap of the people they stand for.
    auc_interval, auc_reason : DeLong's interval of the AUC of all people, or why there is none. Without labels there
        are no AUCs, no curve gap and no calibration, and the reasons say so.
    cross_aucs, cross_aucs_reason : for every ordered pair of groups, or why there are none.
    calibration_reason : why there is no calibration; None where there is.
    decision : rates at the chosen threshold; None if none was given.
    count_error : how far any rate can be too low because people were counted in bins; 0.0 for exact scores.
    small_groups : groups that were merged or left out as too small, with their rows; None if there were none.
    gap_limit : the gap of the people counted is at least ``gap`` and at most this: the same for exact scores.

    >>> found.gap_pair, round(found.gap, 3), found.fair
    (('f', 'm'), 0.382, None)
    """

    rows: int
    norm: float
    auc: float | None
    gap: float
    gap_threshold: float
    gap_pair: tuple[str, str]
    curve_gap: float | None
    epsilon: float | None
    fair: bool | None
    groups: tuple[GroupAudit, ...]
    gap_interval: GapInterval | None = None
    auc_interval: Interval | None = None
    auc_reason: str | None = None
    cross_aucs: tuple[CrossAuc, ...] = ()
    cross_aucs_reason: str | None = None
    calibration_reason: str | None = None
    decision: Decision | None = None
    count_error: float = 0.0
    small_groups: SmallGroups | None = None
    constraint: str = CONSTRAINT.default
    ratio: float | None = None
    tolerances: Interval | None = None
    where: Interval | None = None
    rates: RateGaps | None = None

    def _summary(self) -> Summary:
        pair = "' and '".join(map(short, self.gap_pair))
        what = ("largest gap", self.gap) if self.ratio is None else ("smallest ratio", 1.0 - self.gap)
        sure = None if self.gap_interval is None else self.gap_interval.best
        if sure is not None and self.ratio is not None:
            sure = 1.0 - sure[1], 1.0 - sure[0]
        level = "" if self.gap_interval is None else f" ({100 * self.gap_interval.level:g}% confidence)"
        if self.gap_interval is not None and self.gap_interval.gap is not None and self.gap_interval.where is not None:
            level += f", where {self.gap_interval.where[0]:.0%} or more are selected"
        facts = [(what[0], f"{what[1]:.4f} at score >= {self.gap_threshold:.4g}, between '{pair}'")]
        facts += window(self.where)
        facts += [] if sure is None else [("  in the population", f"{span(sure)}{level}")]
        if self.epsilon is not None:
            asked = f"within {self.epsilon:g}" if self.ratio is None else f"at least {self.ratio:g}"
            facts.append((asked, "yes" if self.fair else "no"))
        if self.auc is not None:
            sure_auc = "" if self.auc_interval is None else f" ({span(self.auc_interval)})"
            facts.append(("overall AUC", f"{self.auc:.4f}{sure_auc}"))
        at = () if self.decision is None else self.decision.groups
        columns = {
            "rows": [f"{g.rows:,}" for g in self.groups],
            "positives": ["" if g.positives is None else f"{g.positives:,}" for g in self.groups],
            "AUC": [figure(g.auc) for g in self.groups],
            "BNSP": [figure(g.bnsp_auc) for g in self.groups],
            "BPSN": [figure(g.bpsn_auc) for g in self.groups],
            "selected": [figure(d.selection_rate) for d in at],
            "TPR": [figure(d.tpr) for d in at],
            "FPR": [figure(d.fpr) for d in at],
        }
        shown = {name: cells for name, cells in columns.items() if any(cells)}
        rows = [[g.group, *cells] for g, *cells in zip(self.groups, *shown.values(), strict=True)]
        return Summary(f"Audit: {size(self.rows, len(rows))}", facts, ["group", *shown], rows)

    @property
    def distance(self) -> Distance:
        """How far apart two groups are, by what was asked for."""
        return distance_asked(self)

    @property
    def smallest_ratio(self) -> float | None:
        """The smallest rate over the largest."""
        return None if self.ratio is None else 1.0 - self.gap

    @property
    def gap_limit(self) -> float:
        """What the gap of the people counted does not exceed: rates are never too high, so two groups' differ by at
        most ``count_error`` more than stated. Bins can hide any ratio of small rates, and thresholds in a window."""
        largest, sure = self.distance.largest, self.ratio is None and self.where is None
        limit = min(self.gap + self.count_error * largest, largest) if sure else largest
        return limit if self.count_error else self.gap

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON (an infinite norm becomes "inf"); ``cross_aucs_reason`` only where it says why.

        >>> found.to_dict()["rows"]
        1000
        """
        data = plain_data(self)
        if self.cross_aucs_reason is None:
            del data["cross_aucs_reason"]
        data["smallest_ratio"] = self.smallest_ratio
        data["norm"] = "inf" if np.isinf(self.norm) else (int(self.norm) if self.norm == int(self.norm) else self.norm)
        return data

    def to_frame(self) -> Any:
        """One row for each group, as a ``pyarrow.Table``.

        ``.to_pandas()`` makes a pandas frame of it, ``polars.from_arrow`` a polars one. What is None is null. With a
        threshold the group's rates there are columns too.

        Returns: pyarrow.Table: one row for each group.
        >>> found.to_frame().column_names[:4]
        ['group', 'rows', 'positives', 'auc']
        """
        import pyarrow

        decided = [None] * len(self.groups) if self.decision is None else self.decision.groups
        rows = [_group_row(group, at) for group, at in zip(self.groups, decided, strict=True)]
        kinds = {"group": pyarrow.string(), "rows": pyarrow.int64(), "positives": pyarrow.int64()}
        schema = pyarrow.schema([(name, kinds.get(name, pyarrow.float64())) for name in rows[0]])
        return pyarrow.Table.from_pylist(rows, schema=schema)


def _group_row(group: GroupAudit, at: GroupDecision | None) -> dict[str, Any]:
    low, high = group.auc_interval or (None, None)
    row = {
        "group": group.group,
        "rows": group.rows,
        "positives": group.positives,
        "auc": group.auc,
        "auc_low": low,
        "auc_high": high,
        "bnsp_auc": group.bnsp_auc,
        "bpsn_auc": group.bpsn_auc,
        "calibration_error": None if group.calibration is None else group.calibration.error,
    }
    for kind in ("dkw", "bootstrap"):
        fpr, tpr = (None if group.band is None else getattr(group.band, kind)) or (None, None)
        row |= {f"fpr_width_{kind}": fpr, f"tpr_width_{kind}": tpr}
    return row if at is None else row | {name: value for name, value in asdict(at).items() if name != "group"}


@dataclass(frozen=True, slots=True, eq=False)
class FamilyAudit(Titled):
    """The audit of one attribute, or of one attribute inside a stratum.

    Groups that are not ``compared`` are the intersections of attributes that are looked at each for itself: for
    information, without a verdict.
    """

    attribute: str
    stratum: str | None
    compared: bool
    audit: Audit


@dataclass(frozen=True, slots=True, eq=False)
class Audits:
    """Audits of the same rows by several attributes and strata."""

    rows: int
    families: tuple[FamilyAudit, ...]

    @property
    def compared(self) -> list[FamilyAudit]:
        """Those that count."""
        return [family for family in self.families if family.compared]

    @property
    def gap(self) -> float:
        """The largest gap of those that count."""
        return max(family.audit.gap for family in self.compared)

    @property
    def fair(self) -> bool | None:
        """Whether every gap is within its epsilon; None where none was given."""
        found = [family.audit.fair for family in self.compared]
        return None if None in found else all(found)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON: audits by attribute, with strata by attribute and stratum."""
        attributes: dict[str, Any] = {}
        for family in self.compared:
            if family.stratum is None:
                attributes[family.attribute] = family.audit.to_dict()
            else:
                attributes.setdefault(family.attribute, {})[family.stratum] = family.audit.to_dict()
        loose = [family.audit.to_dict() for family in self.families if not family.compared]
        whole = {"rows": self.rows, "gap": self.gap, "fair": self.fair, "attributes": attributes}
        return whole | {"intersections": loose[0] if loose else None}
