"""From a model's scores to rows of results: every method at every epsilon, on the fitted people and on others."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairroc.froc.algorithm import algorithm_1
from fairroc_studies.harness.curve import Curve, FloatArray, decided
from fairroc_studies.harness.people import Part
from fairroc_studies.harness.store import key
from fairroc_studies.models.recipes import Scored
from fairroc_studies.paper.rules import Rule, as_it_is, at_half, classifiers, fair_score, fairprojection
from fairroc_studies.paper.study import Measured, Result, RocLines
from fairroc_studies.peers.fairprojection import TOLERANCES

DEFAULT_EPSILONS = 5
"""So many epsilons, evenly among all, for the default fit, which takes ten times as long as a fit that draws ties."""
ROC_EPSILON = 0.01
"""The epsilon at which the paper draws ROC curves."""
DRAWN_POINTS = 80
"""Points of a drawn ROC curve."""
METHODS = ("froc", "optimal", "classifiers")
"""What is run at every epsilon, in expectation and by draws."""
SAME_THRESHOLDS = "optimal-100"
"""What the paper's method is compared with at every epsilon, in expectation, for two groups as in its theorems."""


@dataclass(frozen=True)
class Baseline:
    """People with the model's own AUCs on them, which losses are counted from."""

    people: Part
    privileged: int
    measured: Measured

    @cached_property
    def whole(self) -> Curve:
        """The model as it is, at all thresholds."""
        return as_it_is(self.people).whole(self.people)

    def figures(self, curve: Curve, point: int, whole: Curve | None) -> dict[str, Any]:
        """What a row says of an operating point, and with ``whole`` of all of them."""
        found = {
            "measured": self.measured,
            "accuracy": float(curve.accuracy[point]),
            "disparate_impact": curve.disparate_impact(point, self.privileged),
            "meo": curve.meo(point),
        }
        if whole is not None:
            upper = int(np.argmax(self.whole.group_aucs))
            found |= {
                "gap": whole.gap,
                "auc": whole.auc,
                "auc_loss": self.whole.auc - whole.auc,
                "auc_loss_upper": self.whole.group_aucs[upper] - whole.group_aucs[upper],
            }
        return found


def baseline(scored: Scored, people: Part, measured: Measured) -> Baseline:
    """A part of the people of a model's scores."""
    return Baseline(people, people.names.index(scored.privileged), measured)


def parts_of(scored: Scored) -> tuple[Baseline, Baseline]:
    """The fitted and the test people of a model's scores."""
    return baseline(scored, scored.calibration, "fitted"), baseline(scored, scored.test, "test")


def named(scored: Scored, kind: str, repetition: int, method: str, epsilon: float | None) -> dict[str, Any]:
    """Whom and what a row is about."""
    own = {name: getattr(scored, name) for name in ("problem", "model", "protected")}
    return own | {"kind": kind, "repetition": repetition, "method": method, "epsilon": epsilon}


# -- kind "splits" -----------------------------------------------------------------------------------------------------


def split_rows(scored: Scored, epsilons: Sequence[float]) -> list[Result]:
    """Exact expectations of the model as it is, of the paper's score and classifiers and the optimum at every epsilon,
    and of the default fit at some."""
    return _expected(scored, _fair_rules(scored.calibration, epsilons))


def projected(scored: Scored) -> list[Result]:
    """FairProjection at its tolerances."""
    people = scored.calibration
    return _expected(
        scored,
        (
            (f"fairprojection-{divergence}", tolerance, fairprojection(people, tolerance, divergence))
            for divergence in ("ce", "kl")
            for tolerance in TOLERANCES
        ),
    )


def constrained(scored: Scored, target: float) -> list[Result]:
    """A model trained to meet a target, which decides at one half; it was fitted to the training part.

    Its losses of AUC are left open: they are counted from another model, the one trained without a target.
    """
    rows = []
    for people, measured in ((scored.train, "fitted"), (scored.test, "test")):
        rule, part = at_half(people), baseline(scored, people, measured)  # type: ignore[arg-type]
        found = part.figures(rule.curve(people), 0, rule.whole(people)) | {"auc_loss": None, "auc_loss_upper": None}
        rows.append(Result(**named(scored, "splits", scored.seed, scored.model, target), **found))
    return rows


def _fair_rules(people: Part, epsilons: Sequence[float]) -> Iterator[tuple[str, float | None, Rule]]:
    yield "none", None, as_it_is(people)
    some = {epsilons[k] for k in np.linspace(0, len(epsilons) - 1, DEFAULT_EPSILONS).round().astype(int)}
    for epsilon in epsilons:
        beside = (SAME_THRESHOLDS,) if len(people.names) == 2 else ()
        for method in (*METHODS, *beside, *(("default",) if epsilon in some else ())):
            yield method, epsilon, _rule(people, method, epsilon)


def _expected(scored: Scored, rules: Iterable[tuple[str, float | None, Rule]]) -> list[Result]:
    parts, rows = parts_of(scored), []
    for method, epsilon, rule in rules:
        seen = [rule.both(part.people) for part in parts]
        point = seen[0][0].best()
        names = named(scored, "splits", scored.seed, method, epsilon)
        found = [part.figures(curve, point, whole) for part, (curve, whole) in zip(parts, seen, strict=True)]
        rows += [Result(**names, **figures) for figures in found]
    return rows


# -- kind "draws" ------------------------------------------------------------------------------------------------------


def drawn(scored: Scored, epsilons: Sequence[float], draws: int) -> list[Result]:
    """Simulated decisions of the paper's score, the optimum and the paper's classifiers at the point chosen."""
    return [
        row
        for method in METHODS
        for epsilon in epsilons
        for row in _drawn(scored, method, epsilon, _rule(scored.calibration, method, epsilon), draws)
    ]


def _rule(people: Part, method: str, epsilon: float) -> Rule:
    return classifiers(people, epsilon) if method == "classifiers" else fair_score(people, method, epsilon)


def _drawn(scored: Scored, method: str, epsilon: float, rule: Rule, draws: int) -> Iterator[Result]:
    point = rule.curve(scored.calibration).best()
    for part in parts_of(scored):
        chances = rule.chances(part.people, point)
        for draw in range(draws):
            source = generator(scored, method, epsilon, part.measured, draw)
            found = part.figures(decided(source.random(len(chances)) < chances, part.people), 0, None)
            yield Result(**named(scored, "draws", draw, method, epsilon), **found)


def generator(scored: Scored, *names: Any) -> np.random.Generator:
    """Numbers that depend on names alone, so neither on the order of the work nor on who does it."""
    seed = key(scored.problem, scored.model, scored.protected, scored.seed, *names)
    return np.random.default_rng(np.random.SeedSequence(int(seed, 16)))


# -- ROC curves --------------------------------------------------------------------------------------------------------


def roc_lines(scored: Scored) -> list[RocLines]:
    """Every group's ROC curve on the fitted people: before, by the paper's score and by the optimum."""
    people = scored.calibration
    rules: dict[str, Rule] = {"none": as_it_is(people)}
    rules |= {method: fair_score(people, method, ROC_EPSILON) for method in ("froc", "optimal")}
    about = (scored.problem, scored.model, scored.protected)
    found = []
    for method, rule in rules.items():
        lines = tuple(thinned(points) for points in rule.whole(people).rates.swapaxes(0, 1))
        found.append(RocLines(*about, method, None if method == "none" else ROC_EPSILON, people.names, lines))
    return found


def thinned(points: FloatArray, most: int = DRAWN_POINTS) -> tuple[tuple[float, float], ...]:
    """At most so many of a rising line's points, evenly along fpr + tpr, from (0, 0) to (1, 1)."""
    line = np.unique(np.concatenate(([[0.0, 0.0]], points, [[1.0, 1.0]])).round(6), axis=0)
    wanted = np.linspace(0.0, 2.0, most)
    chosen = np.unique(np.searchsorted(line.sum(axis=1), wanted - 1e-9).clip(0, len(line) - 1))
    kept = line if len(line) <= most else line[chosen]
    return tuple((float(fpr), float(tpr)) for fpr, tpr in kept)


SIZES = (1_000, 10_000, 100_000)
"""Numbers of thresholds."""

EPSILON = 0.05
ROUNDS = 3
"""The best of so many rounds counts: other work on the machine only adds."""


def froc_seconds(sizes: tuple[int, ...] = SIZES) -> list[tuple[int, float]]:
    """Seconds of Algorithm 1 with each number of thresholds, on two smooth ROC curves."""
    return [(k, min(_seconds(k) for _ in range(ROUNDS))) for k in sizes]


def exponent(times: list[tuple[int, float]]) -> float:
    """Of the growth between the two largest sizes: 1 is linear, 2 is quadratic.

    >>> exponent([(10, 1.0), (100, 10.0), (1000, 1000.0)])
    2.0
    """
    (small, before), (large, after) = times[-2:]
    return float(np.log(after / before) / np.log(large / small))


def _seconds(k: int) -> float:
    fpr = np.arange(1, k + 1) / (k + 1)
    up, down = (np.column_stack((fpr, fpr**power)) for power in (0.2, 0.5))
    begin = time.perf_counter()
    algorithm_1(up, down, EPSILON)
    return time.perf_counter() - begin
