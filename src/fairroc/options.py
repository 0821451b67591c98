"""Checks of the parameters that users pass beside the data."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fairroc.errors import DataError

if TYPE_CHECKING:  # numpy need not be loaded for the command line's help
    from fairroc.core.constraint import Norm

__all__ = [
    "Missing",
    "check_audit_norm",
    "check_bootstrap",
    "check_confidence",
    "check_cut",
    "check_epsilon",
    "check_missing",
    "check_norm",
]

Missing: TypeAlias = Literal["error", "group"]

MIN_DRAWS = 100
"""Fewer bootstrap draws leave the 95 % limit to two or three of them."""


def check_epsilon(epsilon: Any) -> float:
    """Return the allowed distance between ROC curves as a float in [0, 2]."""
    if isinstance(epsilon, Real) and not isinstance(epsilon, bool) and 0 <= float(epsilon) <= 2:
        return float(epsilon)
    raise DataError(
        "epsilon must lie in [0, 2], the range of the distance between two points of a ROC plane, "
        f"got {epsilon!r}; 0 asks for equal curves."
    )


def check_norm(norm: Any) -> Norm:
    """Return the norm to fit with: 1 or "inf"."""
    if not isinstance(norm, bool) and isinstance(norm, str | Real):
        if norm in (1, "1"):
            return 1
        if norm in ("inf", math.inf):
            return "inf"
    raise DataError(
        f"norm must be 1 or 'inf' to fit, got {norm!r}: the exact method takes these two; "
        "the audit measures any p >= 1."
    )


def check_audit_norm(norm: Any) -> float:
    """Return the norm to measure with as a float, 1 <= p <= inf."""
    try:
        p = float(norm) if isinstance(norm, str | Real) and not isinstance(norm, bool) else math.nan
    except ValueError:
        p = math.nan
    if p >= 1:
        return p
    raise DataError(f"norm must be a number p >= 1 or 'inf', got {norm!r}.")


def check_missing(missing: Any) -> None:
    """Raise unless rows without a group are told to be an "error" or a "group"."""
    if missing not in ("error", "group"):
        raise DataError(f"missing must be 'error' or 'group', got {missing!r}.")


def check_confidence(confidence: Any) -> float:
    """Return the level of confidence intervals as a float inside (0, 1)."""
    if isinstance(confidence, Real) and not isinstance(confidence, bool) and 0 < float(confidence) < 1:
        return float(confidence)
    raise DataError(f"confidence must lie between 0 and 1, both excluded, got {confidence!r}; pass for example 0.95.")


def check_cut(threshold: Any) -> float:
    """Return the threshold of a decision ``score >= threshold`` as a finite float."""
    if isinstance(threshold, Real) and not isinstance(threshold, bool) and math.isfinite(threshold):
        return float(threshold)
    raise DataError(
        f"threshold must be a finite number on the score's scale, got {threshold!r}; pass for example threshold=0.5."
    )


def check_bootstrap(draws: Any) -> int:
    """Return the number of bootstrap draws: 0 (none) or at least MIN_DRAWS."""
    whole = isinstance(draws, Integral) and not isinstance(draws, bool)
    if whole and (draws == 0 or draws >= MIN_DRAWS):
        return int(draws)
    raise DataError(
        f"bootstrap must be a whole number of draws, at least {MIN_DRAWS}, or 0 for none, got {draws!r}; "
        "1000 is the default."
    )
