"""Tables and numbers as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def mean_se(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error (NaN for a single value)."""
    sample = np.asarray(values, dtype=np.float64)
    se = float(sample.std(ddof=1) / np.sqrt(len(sample))) if len(sample) > 1 else float("nan")
    return float(sample.mean()), se


def shown(values: Sequence[float], digits: int = 3, *, sign: bool = False) -> str:
    mean, se = mean_se(values)
    return f"{mean:{'+' if sign else ''}.{digits}f} ± {se:.{digits}f}"


def seconds(value: float) -> str:
    """Three figures, without an exponent."""
    return f"{value:.{max(0, 2 - int(np.floor(np.log10(value))))}f}" if value > 0 else "0"


def million(value: float) -> str:
    return f"{value / 1e6:.{1 if value < 1e8 else 0}f} M"


def megabytes(value: float) -> str:
    return f"{value / 1e6:.{1 if value < 1e8 else 0}f}"


def rows_name(count: float) -> str:
    return f"{int(count):,}"
