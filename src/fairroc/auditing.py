"""Assess a score: how far apart the groups are at every threshold, where, and between whom."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairroc.checks import check_audit_norm, check_epsilon
from fairroc.columns import Columns, read_columns, warn_small_groups
from fairroc.core.gap import ROUNDING, curve_gap, pooled_auc, threshold_gap
from fairroc.population import measure


@dataclass(frozen=True, slots=True)
class GroupAudit:
    """One group of an audited score."""

    group: str
    rows: int
    positives: int
    auc: float


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    gap : the largest distance of two groups' (fpr, tpr) at the same threshold, over all thresholds (the threshold gap).
    gap_threshold, gap_pair : where it occurs (accept ``score >= gap_threshold``) and between which groups.
    curve_gap : the largest difference of two groups' tpr at the same fpr. A weaker measure: choosing other thresholds
        for each group would remove what the threshold gap sees beyond it.
    fair : whether gap <= epsilon (up to rounding); None if no epsilon was given.
    """

    rows: int
    norm: float
    auc: float
    gap: float
    gap_threshold: float
    gap_pair: tuple[str, str]
    curve_gap: float
    epsilon: float | None
    fair: bool | None
    groups: tuple[GroupAudit, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON (an infinite norm becomes "inf")."""
        data = asdict(self)
        data["norm"] = "inf" if np.isinf(self.norm) else (int(self.norm) if self.norm == int(self.norm) else self.norm)
        return data


def audit(
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    norm: Any = 1,
    epsilon: float | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    missing: Any = "error",
) -> Audit:
    """Measure the gap between groups at every threshold of a score, in any L-p norm, and the AUCs.

    >>> scores, y = [0.9, 0.6, 0.4, 0.2] * 50, [1, 0, 1, 0] * 25 + [1, 1, 0, 0] * 25
    >>> found = audit(scores, y, sensitive_features=["a"] * 100 + ["b"] * 100)
    >>> found.gap, found.gap_threshold, found.gap_pair
    (1.0, 0.6, ('a', 'b'))
    """
    columns = read_columns(
        scores,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        pos_label=pos_label,
        missing=missing,
    )
    return audit_columns(columns, norm=norm, epsilon=epsilon)


def audit_columns(columns: Columns, *, norm: Any = 1, epsilon: float | None = None) -> Audit:
    """Audit checked columns."""
    p = check_audit_norm(norm)
    limit = None if epsilon is None else check_epsilon(epsilon)
    warn_small_groups(columns)
    population = measure(columns).exact
    gap = threshold_gap(population.curves, p)
    first, second = gap.pair
    counts = zip(columns.names, *columns.group_counts(), population.curves, strict=True)
    groups = tuple(GroupAudit(name, int(rows), int(positives), curve.auc) for name, rows, positives, curve in counts)
    return Audit(
        rows=columns.rows,
        norm=p,
        auc=pooled_auc(population.curves, population.weights0, population.weights1),
        gap=gap.value,
        gap_threshold=gap.threshold,
        gap_pair=(columns.names[first], columns.names[second]),
        curve_gap=curve_gap(population.curves),
        epsilon=limit,
        fair=None if limit is None else gap.value <= limit + ROUNDING,
        groups=groups,
    )
