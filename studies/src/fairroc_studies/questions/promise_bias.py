"""The second table of the question "promise": what fits state of new people, and what is true.

Samples of families whose population is known exactly, fitted at epsilon 0.1 with promise="fitted" and promise="new".
Both state the gap and the AUC that new people will have, with a standard error; the truth is the fair score's gap and
AUC in the population, exactly. "within 2 s.e.": share of samples in which it is nearer than two stated standard errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairroc.fitting.fit import fit_quietly
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc_studies.harness.outcome import outcome
from fairroc_studies.harness.store import Store, key, source_digest
from fairroc_studies.problems.synthetic import FAMILIES

EPSILON = 0.1
ROWS = (1000, 3000)
PROMISES = ("fitted", "new")
HEAD = (
    *("family", "rows", "samples", "promise", "gap: stated", "true", "off", "within 2 s.e."),
    *("AUC: stated", "true", "off", "within 2 s.e.", "original gap"),
)


def one(name: str, rows: int, seed: int) -> dict[str, Any]:
    """Stated, its standard error and true, for gap and AUC, of both promises; kept once it is made."""
    kept = key("promise bias", name, rows, seed, source_digest(__name__))
    found: dict[str, Any] = Store().rows(kept, lambda: _one(name, rows, seed))
    return found


def _one(name: str, rows: int, seed: int) -> dict[str, Any]:
    family = FAMILIES[name]
    score, label, group = family.draw(rows, np.random.default_rng([seed, rows]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        people = read_people(score, label, sensitive_features=group)
        fitted = fit_quietly(people, Options.checked(epsilon=EPSILON, promise="fitted"), salt=0)
    solver = fitted.solver
    best, auc, before = solver.choice.best(EPSILON), solver.auc_before, solver.figures_before.expected
    found: dict[str, Any] = {"original": outcome((), family.population()).gap}
    stated = {
        "fitted": (fitted.model.kernels, fitted.expected),
        "new": (best.kernels, replace(best.expected, auc=auc + best.expected.auc - before.auc)),
    }
    for promise, (kernels, told) in stated.items():
        true = outcome(kernels, family.population([kernel.thresholds for kernel in kernels]))
        found[promise] = {
            "gap": (told.gap, told.gap_deviation, true.gap),
            "auc": (told.auc, told.auc_deviation, true.auc),
        }
    return found


def lines(name: str, rows: int, found: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Rows of the table: one for each promise."""
    made = []
    for promise in PROMISES:
        line = [name, f"{rows:,}", str(len(found)), promise]
        for which in ("gap", "auc"):
            stated, error, true = np.array([sample[promise][which] for sample in found]).T
            off = stated - true
            by_chance = off.std(ddof=1) / len(off) ** 0.5
            line += [f"{stated.mean():.3f}", f"{true.mean():.3f}", f"{off.mean():+.3f} ± {by_chance:.3f}"]
            line.append(f"{(np.abs(off) <= 2 * error).mean():.0%}")
        made.append([*line, f"{np.mean([sample['original'] for sample in found]):.3f}"])
    return made
