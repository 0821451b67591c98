"""How often does `FairModel.check` find drift where there is none, and where there is some?

    python -m fairroc_studies drift --repeats 400      # about four minutes on one idle core

Three groups with normal scores, continuous or cut to ten values. A model is fitted to ``fitted`` rows; ``new`` rows
come from the same population, or with the scores of one group moved by some standard deviations. Shown is the share of
checks that find anything, without and with labels (their gap left aside), and what the customary rule "PSI of some
group above 0.1" would have said.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from fairroc import FairModel, FairROC
from fairroc.errors import FairrocWarning
from fairroc.text.words import table

SIZES = ((200, 5000), (600, 300), (3000, 1000), (20_000, 5000))
SHIFTS = (0.0, 0.1, 0.2, 0.4)


def people(rng: np.random.Generator, n: int, shift: float, ten: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, labels and groups; the scores of group 0 are moved by ``shift`` standard deviations."""
    group, label = rng.choice(3, n, p=(0.5, 0.3, 0.2)), rng.integers(0, 2, n)
    score = rng.normal(size=n) + label * (1 + 0.5 * group) + shift * (group == 0)
    return (np.clip(np.floor(2 * score + 4), 0, 9) if ten else score), label, group


def found(model: FairModel, rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[bool, bool, bool]:
    """Whether a check finds anything without labels, with labels, and by the customary rule."""
    score, label, group = rows
    plain = model.check(score, sensitive_features=group)
    labelled = model.check(score, sensitive_features=group, y=label, bootstrap=0)
    psi = max(g.psi or 0.0 for g in plain.groups)
    return plain.drifted, any(test.found for test in labelled.tests), psi > 0.1


def share(repeats: int, fitted: int, new: int, shift: float, ten: bool) -> list[str]:
    """Shares of checks that find something."""
    hits = []
    for seed in range(repeats):
        rng = np.random.default_rng([seed, fitted, new])
        score, label, group = people(rng, fitted, 0.0, ten)
        model = FairROC(epsilon=2.0, promise="fitted", salt=1).fit(score, label, sensitive_features=group).model_
        hits.append(found(model, people(rng, new, shift, ten)))
    return [f"{rate:.1%}" for rate in np.mean(hits, axis=0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=400)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore", FairrocWarning)
    rows = [
        [f"{fitted:,}", f"{new:,}", "10" if ten else "all", f"{shift:g}", *share(repeats, fitted, new, shift, ten)]
        for fitted, new in SIZES
        for ten in (False, True)
        for shift in SHIFTS
    ]
    head = ["fitted", "new", "scores", "shift", "found", "with labels", "PSI > 0.1"]
    print("\n".join(table(head, rows)))
