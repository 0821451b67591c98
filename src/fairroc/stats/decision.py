"""What one threshold does to every group: rates, and how far apart they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import FloatArray, freeze

FOUR_FIFTHS = 0.8
"""Ratio of selection rates below which US practice speaks of adverse impact (29 CFR 1607.4 D)."""

ROUNDING = 1e-12
"""A ratio that misses four fifths by no more than this meets it: 0.24 / 0.3 is 0.8 and a rounding error."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupRates:
    """(groups,) rates of ``score >= threshold``; ``prior`` is the share of positives in each group."""

    fpr: FloatArray
    tpr: FloatArray
    prior: FloatArray

    def __post_init__(self) -> None:
        freeze(self.fpr, self.tpr, self.prior)

    @property
    def selection(self) -> FloatArray:
        """Share of the group selected."""
        return np.asarray(self.prior * self.tpr + (1.0 - self.prior) * self.fpr)

    @property
    def accuracy(self) -> FloatArray:
        """Share of the group decided as its label says."""
        return np.asarray(self.prior * self.tpr + (1.0 - self.prior) * (1.0 - self.fpr))

    @property
    def precision(self) -> list[float | None]:
        """Share of positives among those selected; None where nobody is."""
        hits = zip((self.prior * self.tpr).tolist(), self.selection.tolist(), strict=True)
        return [hit / selected if selected > 0 else None for hit, selected in hits]


@dataclass(frozen=True, slots=True)
class Disparity:
    """How far apart the groups are at one threshold; see :func:`disparity`."""

    disparate_impact: float | None
    four_fifths: bool | None
    demographic_parity_difference: float
    equal_opportunity_difference: float
    equalized_odds_l1: float
    equalized_odds_max: float
    equalized_odds_mean: float


def disparity(rates: GroupRates) -> Disparity:
    """Comparisons across groups. The ratio of selection rates is None where nobody is selected."""
    selection = rates.selection
    most, least = float(selection.max()), float(selection.min())
    impact = least / most if most > 0 else None
    fpr, tpr = float(np.ptp(rates.fpr)), float(np.ptp(rates.tpr))
    return Disparity(
        disparate_impact=impact,
        four_fifths=None if impact is None else impact >= FOUR_FIFTHS - ROUNDING,
        demographic_parity_difference=most - least,
        equal_opportunity_difference=tpr,
        # over pairs, max of |dF| + |dT| is the larger range of F + T and T - F
        equalized_odds_l1=float(max(np.ptp(rates.fpr + rates.tpr), np.ptp(rates.tpr - rates.fpr))),
        equalized_odds_max=max(fpr, tpr),
        equalized_odds_mean=(fpr + tpr) / 2,
    )
