"""Outlooks and draws with figures of one's choice, for tests of what is said about them."""

from __future__ import annotations

from typing import Any

from fairroc.fitting.limits import Limit
from fairroc.fitting.one_draw import OneDraw
from fairroc.fitting.outlook import Outlook

CALM: dict[str, Any] = {
    "epsilon": 0.05,
    "promise": "fitted",
    "level": 0.95,
    "gap_estimate": 0.04321,
    "gap_standard_error": 0.01234,
    "gap_before_estimate": 0.32109,
    "helps": True,
    "test_gap_estimate": 0.05678,
    "auc_estimate": 0.84876,
    "auc_standard_error": 0.00876,
    "auc_before": 0.87654,
    "gap": 0.04999,
    "auc": 0.85432,
    "upper": 0.09876,
    "method": "bootstrap",
    "upper_dkw": 0.18765,
    "upper_bootstrap": 0.09876,
    "dkw_reason": None,
    "limited_by": Limit("a", 1, 60, 0.125, 240),
    "rows": 6913,
    "rows_to_halve": 27652,
    "told_from": 0.0,
}
"""Nothing to warn of."""


def an_outlook(**changes: Any) -> Outlook:
    """An outlook without anything to warn of, but for the changes."""
    return Outlook(**{**CALM, **changes})


def a_draw(draws: int = 50) -> OneDraw:
    """One draw of several, or of nobody."""
    return OneDraw(6913, 0.04999, 0.06789, 0.01, 0.08901, draws)
