"""Tables and numbers as text, and pages of sections between markers, each replaced on its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

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


DOCS = Path(__file__).resolve().parents[4] / "docs"
"""The documents of the checkout that these studies were installed from."""

MARKS = "<!-- begin: {0} -->\n", "\n<!-- end: {0} -->"


def updated(text: str, bodies: Mapping[str, str]) -> str:
    """A page with new bodies of some sections; words around them, and other sections, stay as they are."""
    for name, body in bodies.items():
        begin, end = (mark.format(name) for mark in MARKS)
        before, begun, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not (begun and ended):
            raise ValueError(f"the page must have the lines {begin.strip()} and {end.strip()}; add both.")
        text = "".join((before, begin, body.strip(), end, after))
    return text


def update(path: Path, bodies: Mapping[str, str], page: str) -> None:
    """Rewrite a file with new bodies of some sections. One that is not there begins as the document ``page`` of that
    name under results, without its sections' bodies."""
    if path.exists():
        text = path.read_text(encoding="utf-8")
    else:
        text = (DOCS / "results" / page).read_text(encoding="utf-8")
        text = updated(text, dict.fromkeys(re.findall(r"<!-- begin: (\S+) -->", text), ""))
        path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(updated(text, bodies), encoding="utf-8")
