"""Made-up studies with realistic numbers from simple formulas, for tests of what is written about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from fairroc_studies.paper.study import Measured, Plan, Result, RocLines, Study, epsilons_of

WILD = '</svg><b>"A" & B</b>'
"""A group's name that would break a page."""

SKIPPED = ("ResNet: torch, PIL not installed; run: pip install", f"autogluon: {WILD}")
PAPER = (("adult", "lr", False), *product(("adult", "compas"), ("lr", "rf", "fnnc"), (True,)))


def study(runs: Sequence[tuple[str, str, bool]] = PAPER, *, splits: int = 2, draws: int = 5, count: int = 20) -> Study:
    """A study in which every claim about these runs can be judged."""
    results = [row for run in runs for row in rows(*run, splits=splits, draws=draws, count=count)]
    rocs = [lines for run in runs for lines in curves(*run)]
    plan = Plan(tuple(dict.fromkeys(r[0] for r in runs)), tuple(dict.fromkeys(r[1] for r in runs)), splits, draws)
    facts = {
        "problems": {
            name: {
                **{"title": name, "rows": 1000, "train": 600, "calibration": 200, "test": 200, "privileged": "Male"},
                "groups": {"Male": {"rows": 700, "positives": 210}, WILD: {"rows": 300, "positives": 30}},
            }
            for name in plan.problems
        },
        "versions": {"python": "3.11.0", "numpy": "2.0.0"},
        "warnings": {f"a warning about {WILD}": 3},
        **{"jobs": 40, "stored": 2, "seconds": 12.3},
    }
    return Study(plan, tuple(results), tuple(rocs), SKIPPED, facts)


def rows(problem: str, model: str, protected: bool, *, splits: int, draws: int, count: int) -> Iterator[Result]:
    """Accuracy rises and disparate impact falls with epsilon; test people are further apart than fitted ones."""
    rng = np.random.default_rng(len(problem) * 7 + len(model))
    base = {"adult": 0.85, "compas": 0.68}.get(problem, 0.8)
    who: tuple[Measured, ...] = ("fitted", "test")
    for split, measured in product(range(splits), who):
        noise = float(rng.normal() * 2e-3)

        def row(method: str, epsilon: float | None, gap: float, loss: float, **more: float | None) -> Result:
            far = gap + (0.05 if measured == "test" else 0.0)  # noqa: B023
            return Result(
                *(problem, model, protected, "splits", split, method, epsilon, measured),  # noqa: B023
                accuracy=base - loss + noise,  # noqa: B023
                disparate_impact=0.3 + 5 * loss,
                meo=far / 2,
                gap=far,
                auc=0.88 - loss,
                auc_loss=loss,
                auc_loss_upper=2 * loss,
            )

        yield row("none", None, 0.4, 0.0)
        for epsilon in epsilons_of(problem, model, count):
            loss = 0.02 * (1 - epsilon / 0.11) if epsilon < 0.11 else 0.0
            yield row("froc", epsilon, epsilon, loss)
            yield row("optimal", epsilon, epsilon, 0.8 * loss)
            if model == "fnnc":
                yield row("fnnc", epsilon, 0.7 * epsilon, loss + 0.004)
        for epsilon in (0.0, 0.05, 1.0):
            yield row("fairprojection-ce", epsilon, 0.05 + 0.1 * epsilon, 0.012)
            yield row("fairprojection-kl", epsilon, 0.06 + 0.1 * epsilon, 0.012)
        if split == 0:
            yield row("fairlearn", None, 0.01, 0.02)
            yield row("error-parity", 0.01, 0.02, 0.02)
    for method, epsilon, measured, draw in product(
        ("froc", "optimal", "classifiers"), epsilons_of(problem, model, count), who, range(draws)
    ):
        accuracy, impact = base + 5e-4 * float(rng.normal()), 0.4 + 2e-3 * float(rng.normal())
        yield Result(problem, model, protected, "draws", draw, method, epsilon, measured, accuracy, impact, epsilon / 2)


def curves(problem: str, model: str, protected: bool) -> Iterator[RocLines]:
    """Power curves; those of COMPAS cross, and a problem named after race has three groups."""
    fpr = np.linspace(0, 1, 21)
    names, powers = ("Female", "Male"), (0.3, 0.4)
    if problem != "adult":
        names = (WILD, "Other")
    if "race" in problem:
        names, powers = ("a", "b", "c"), (0.3, 0.4, 0.5)
    for method, epsilon in (("none", None), ("froc", 0.01), ("optimal", 0.01)):
        lines = [np.stack((fpr, fpr ** (p if method == "none" else max(powers))), axis=1) for p in powers]
        if problem.startswith("compas") and method == "none":
            lines[1] = np.stack((fpr, 1 - (1 - fpr) ** 3.0), axis=1)
        drawn = tuple(tuple((float(x), float(y)) for x, y in line) for line in lines)
        yield RocLines(problem, model, protected, method, epsilon, names, drawn)
