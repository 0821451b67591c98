"""The three promises side by side: what is stated, and what people who were held out get.

    python -m fairroc_studies promises [--splits N] [-o docs/img/promises.png]

Adult by sex (a logistic regression that does not see sex) and COMPAS (published deciles, African-American people and
all others). 1,000 people are fitted, all others are held out; means over random splits, in expectation over the draw.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from fairroc.cli.demo import adult_scores
from fairroc.core.gap import pooled_auc, threshold_gap
from fairroc.core.realised import performance
from fairroc.datasets import load_compas
from fairroc.errors import DataError
from fairroc.fitting.fit import fit_quietly
from fairroc.fitting.outlook import outlook
from fairroc.model.model import expected_rocs
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc_studies.harness.tables import table

ROWS, SPLITS = 1000, 20
ASKED = (("fitted", 0.1), ("new", 0.1), ("population", 0.3))
"""Promises and their epsilons: a thousand people cannot promise 0.1 for the population."""

HEAD = ("fitted", "expected", "its standard error", "limit, 95 %", "held out", "AUC: fitted", "expected", "held out")


@dataclass(frozen=True, slots=True)
class Told:
    """Gap and AUC of one fit: stated, and measured."""

    gap: float
    gap_estimate: float
    gap_standard_error: float
    upper: float
    gap_held_out: float
    auc: float
    auc_estimate: float
    auc_held_out: float


def sets() -> dict[str, Any]:
    """Scores, labels and groups."""
    return {"Adult by sex": _arrays(adult_scores()), "COMPAS deciles, two groups": deciles()}


def deciles() -> tuple[Any, Any, Any]:
    """The scores that COMPAS published, labels, and African-Americans beside all others."""
    compas = load_compas(filtered=True)
    race = np.where(np.array(compas["race"].to_pylist()) == "African-American", "African-American", "other")
    return compas["decile_score"].to_numpy(), compas["label"].to_numpy(), race


def _arrays(people: Any) -> tuple[Any, Any, Any]:
    return people["score"].to_numpy(), people["label"].to_numpy(), np.array(people["group"].to_pylist())


def told(columns: Any, promise: str, epsilon: float, seed: int) -> Told | None:
    """One fit to a random thousand; None if the promise cannot be made."""
    order = np.random.default_rng(seed).permutation(len(columns[0]))
    scores, y, groups = columns
    parts = order[:ROWS], order[ROWS:]
    known, rest = (read_people(scores[part], y[part], sensitive_features=groups[part]) for part in parts)
    try:
        fitted = fit_quietly(known, Options.checked(epsilon=epsilon, promise=promise), salt=0)
    except DataError:
        return None
    ahead, constraint = outlook(fitted), fitted.model.fairness
    if fitted.model.unchanged:
        raw = rest.exact
        gap, auc = threshold_gap(raw, constraint).value, pooled_auc(raw.curves, raw.weights0, raw.weights1)
    else:
        people, realised = expected_rocs(fitted.model, rest)
        found = performance(realised, people, constraint)
        gap, auc = found.gap, found.auc
    stated = (ahead.gap, ahead.gap_estimate, ahead.gap_standard_error, ahead.upper)
    return Told(*stated, gap, ahead.auc, ahead.auc_estimate, auc)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="promises", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("-o", "--output", help="picture to write")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    means: dict[tuple[str, str], Told] = {}
    lines = []
    for name, columns in sets().items():
        for promise, epsilon in ASKED:
            each = [told(columns, promise, epsilon, seed) for seed in range(arguments.splits)]
            made = [one for one in each if one is not None]
            asked = f"{promise}, epsilon {epsilon:g}"
            if not made:
                lines.append([name, asked, "never made", *[""] * (len(HEAD) - 1)])
                continue
            mean = means[name, promise] = Told(*np.mean([astuple(one) for one in made], axis=0).tolist())
            known = "" if len(made) == len(each) else f" (made in {len(made)} of {len(each)})"
            lines.append([name, asked + known, *(f"{x:.3f}" for x in astuple(mean))])
    print(table(["data", "promise", *HEAD], lines))
    if arguments.output is not None:
        draw(means, arguments.output)


def draw(means: dict[tuple[str, str], Told], path: str) -> None:
    """What each promise states, and what people who were held out get."""
    from matplotlib.figure import Figure

    from fairroc.plot.palette import FAIR, FIT, LIMIT, ORIGINAL

    names = list(dict.fromkeys(name for name, _ in means))
    figure = Figure(figsize=(9.0, 3.9), layout="constrained")
    for axes, name in zip(np.atleast_1d(figure.subplots(1, len(names), sharey=True)), names, strict=True):
        for x, (promise, epsilon) in enumerate(ASKED):
            axes.hlines(epsilon, x - 0.4, x + 0.4, color=LIMIT, linestyles="dotted", label="epsilon" if not x else None)
            one = means.get((name, promise))
            if one is None:
                continue
            first = x == 0
            label = "fitted people" if first else None
            axes.plot(x - 0.27, one.gap, "o", ms=8, mfc="white", mec=FAIR, mew=1.8, label=label)
            axes.errorbar(
                x - 0.09, one.gap_estimate, one.gap_standard_error, fmt="o", ms=8, color=FAIR, capsize=4,
                label="new people, expected ± standard error" if first else None,
            )  # fmt: skip
            label = "new people, held out" if first else None
            axes.plot(x + 0.09, one.gap_held_out, "D", ms=8, color=FIT, label=label)
            label = "upper limit, 95 % confidence" if first else None
            axes.plot(x + 0.27, one.upper, "v", ms=8, mfc="white", mec=ORIGINAL, mew=1.6, label=label)
            words = f"AUC held out\n{one.auc_held_out:.3f}"
            axes.text(x, -0.015, words, ha="center", va="top", fontsize=8.5, color=ORIGINAL)
        axes.set_xticks(range(len(ASKED)), [f'"{promise}"\nε = {epsilon:g}' for promise, epsilon in ASKED])
        axes.set_title(f"{name}, {ROWS:,} rows fitted", fontsize=11)
        axes.set_ylim(-0.08, 0.36)
        axes.set_yticks(np.arange(0, 0.4, 0.05))
        axes.set_xlim(-0.55, len(ASKED) - 0.45)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#e5e5e5")
        axes.set_axisbelow(True)
    figure.axes[0].set_ylabel("largest gap at any threshold")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    style = {"frameon": False, "fontsize": 8.5, "columnspacing": 1.2, "handletextpad": 0.4}
    figure.legend(handles, labels, loc="outside lower center", ncols=5, **style)
    figure.savefig(path, dpi=150)
