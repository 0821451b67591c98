"""Tables and numbers as text, and pages of sections between markers, each replaced on its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
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

SECTIONS = ("speed", "goals", "growth", "every-threshold", "one-decision")

HEAD = """# Benchmarks

`make bench` measures the small version in a few minutes; `python -m fairroc_studies bench --full` the large one. Both
write this page, section by section; each section names its own command, date, machine and versions. Everything that is
compared was measured in the same run. Speed is CPU time on one thread. EO is |ΔFPR| + |ΔTPR| of two groups.

Every library gets the same three columns (score, label, group) and nothing else: no features, no retraining. What each
of them sets out to do:

| | returns | fair in the sense of | groups |
| --- | --- | --- | --- |
| fairlearn ThresholdOptimizer | a randomised decision | equal FPR and TPR | any |
| error-parity RelaxedThresholdOptimizer | a randomised decision for given costs | FPR, TPR within a tolerance | any |
| oxonfair | a decision from one offset per group | a bound on one of many measures, here EO | a few |
| aif360 EqOdds, holisticai EqualizedOdds | decisions taken at 0.5, some flipped at random | equal FPR and TPR | two |
| aif360 CalibratedEqOdds | a randomised score | equal weighted cost, calibration kept | two |
| aif360 RejectOption | a decision with a band in which the group decides | average odds difference | two |
| fairroc | a randomised score | EO ≤ ε at every threshold | any |
"""


def updated(text: str, bodies: dict[str, str], sections: Sequence[str] = SECTIONS, head: str = HEAD) -> str:
    """The page with new bodies of some sections; the other sections stay as they are."""
    unknown = set(bodies) - set(sections)
    if unknown:
        raise ValueError(f"sections must be out of {', '.join(sections)}; got {', '.join(sorted(unknown))}.")
    found = re.findall(r"<!-- begin: (\S+) -->\n(.*?)\n<!-- end: \1 -->", text, re.DOTALL)
    kept = dict.fromkeys(sections, "") | dict(reversed(found)) | bodies
    parts = [f"<!-- begin: {name} -->\n{kept[name].strip()}\n<!-- end: {name} -->" for name in sections if kept[name]]
    return "\n\n".join([head.strip(), *parts]) + "\n"


def update(path: Path, bodies: dict[str, str], sections: Sequence[str] = SECTIONS, head: str = HEAD) -> None:
    """Rewrite the file with new bodies of some sections."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        updated(path.read_text(encoding="utf-8") if path.exists() else "", bodies, sections, head), encoding="utf-8"
    )
