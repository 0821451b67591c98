"""What a run is asked for and what it gives back: plans, jobs, rows of results, and all of them as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

import numpy as np

from fairroc_studies.harness.store import Store
from fairroc_studies.problems.registry import PROBLEMS, QUICK

Kind: TypeAlias = Literal["draws", "splits"]
"""What was repeated: the draw at one split, or the split (then figures are expectations over the draw)."""

Measured: TypeAlias = Literal["fitted", "test"]
"""Whom a figure is about: the people a post-processor was fitted on, as in the paper, or people nobody has seen."""


LEAST, MOST = 0.001, 0.1
"""The paper's smallest and largest epsilon; ``FARTHER`` has the largest where it goes on."""
FARTHER = {("adult", "rf"): 0.2}


@dataclass(frozen=True, slots=True)
class Result:
    """One figure row: a method at one epsilon, on some people. None: does not apply.

    ``accuracy``, ``disparate_impact``, ``meo`` are at the operating point that is most accurate on the people the
    method was fitted on (a model trained to a target decides at one half); the others regard all operating points.
    ``meo`` is (|dFPR| + |dTPR|) / 2, the largest over pairs of groups; ``disparate_impact`` the smallest unprivileged
    group's selection rate over the privileged one's.
    """

    problem: str
    model: str
    protected: bool
    kind: Kind
    repetition: int  # number of the draw or of the split
    method: str  # "none", "froc", "optimal", "default", "fnnc", "fairprojection-ce", "error-parity", ...
    epsilon: float | None  # its own parameter: epsilon, tolerance or target
    measured: Measured
    accuracy: float
    disparate_impact: float | None
    meo: float
    gap: float | None = None  # largest L1 distance of two groups at any operating point
    auc: float | None = None  # of all people
    auc_loss: float | None = None  # lost from the model's own AUC, all people
    auc_loss_upper: float | None = None  # lost by the group with the larger AUC, as the paper counts it

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls))


@dataclass(frozen=True, slots=True)
class RocLines:
    """Every group's ROC curve of one method on the fitted people, thinned for drawing; ``method`` "none": before."""

    problem: str
    model: str
    protected: bool
    method: str
    epsilon: float | None
    groups: tuple[str, ...]
    lines: tuple[tuple[tuple[float, float], ...], ...]  # one for each group: (fpr, tpr) from (0, 0) to (1, 1)


@dataclass(frozen=True)
class Plan:
    """What to run. ``splits`` counts the fixed split, number 0. ``cache`` None: nothing is kept between runs.

    ``heavy``: the problems on which models that take long are trained; None: all of them.
    """

    problems: tuple[str, ...] = QUICK
    models: tuple[str, ...] = ("lr", "rf")
    splits: int = 10
    draws: int = 10
    epsilons: int = 20
    rows: int | None = None
    celeba: str | None = None
    target: str = "Attractive"
    peers: bool = False
    jobs: int | None = None  # processes at a time; None: one for each core
    cache: str | None = field(default_factory=lambda: str(Store().folder))
    heavy: tuple[str, ...] | None = None
    stored: bool = False  # also repeat the results that FairProjection's authors stored
    protected: tuple[bool, ...] = (True, False)  # with the protected columns among the features, and without


@dataclass(frozen=True)
class Study:
    """All that was measured. ``skipped``: a line for each thing that could not be; ``facts``: rows of every problem and
    part, epsilons, versions, seconds, warnings counted."""

    plan: Plan
    results: tuple[Result, ...]
    rocs: tuple[RocLines, ...]
    skipped: tuple[str, ...]
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """One model to train and to post-process; with ``target`` it is trained to meet that itself."""

    problem: str
    model: str
    protected: bool
    seed: int
    target: float | None = None

    @property
    def words(self) -> str:
        """The job but for its split: jobs that fail alike on every split share a line."""
        features = "with" if self.protected else "without"
        target = "" if self.target is None else f", target {self.target:g}"
        return f"{self.problem}, {self.model}, {features} the protected features{target}"


def epsilons_of(problem: str, model: str, count: int) -> tuple[float, ...]:
    """The paper's epsilons, from .001 to .1, for random forests on Adult to .2."""
    return tuple(np.linspace(LEAST, FARTHER.get((problem, model), MOST), count).tolist())


def row_of(result: Result) -> list[Any]:
    """Values in the order of ``Result.columns()``; `result_of` gives the result back."""
    return [getattr(result, name) for name in Result.columns()]


def result_of(row: Sequence[Any]) -> Result:
    """The result of a row of values."""
    return Result(*row)


def lines_of(data: dict[str, Any]) -> RocLines:
    """ROC lines from plain data, whose tuples JSON has made lists."""
    lines = tuple(tuple((fpr, tpr) for fpr, tpr in line) for line in data["lines"])
    return RocLines(**(data | {"groups": tuple(data["groups"]), "lines": lines}))


# -- words for names ---------------------------------------------------------------------------------------------------

MODELS = {
    "lr": "logistic regression",
    "rf": "random forest",
    "fnnc": "FNNC, plain",
    "autogluon": "AutoGluon's weighted ensemble",
    "resnet": "ResNet",
}
METHODS = {
    "none": "model as it is",
    "froc": "FROC, as one score",
    "classifiers": "FROC, the paper's classifiers",
    "optimal": "exact optimum",
    "optimal-100": "exact optimum, 100 thresholds",
    "default": "FairROC's default",
    "fnnc": "FNNC with a target",
    "fairprojection-ce": "FairProjection-CE",
    "fairprojection-kl": "FairProjection-KL",
    "fairlearn": "fairlearn",
    "error-parity": "error-parity",
    "aif360-eqodds": "aif360, equalized odds",
    "aif360-calibrated": "aif360, calibrated odds",
    "aif360-reject": "aif360, reject option",
}


def problem_title(name: str) -> str:
    """Words for a problem; a name nobody knows stands for itself."""
    return PROBLEMS[name].short if name in PROBLEMS else name


def model_title(name: str) -> str:
    return MODELS.get(name, name)


def method_title(name: str) -> str:
    return METHODS.get(name, name)
