"""What an experiment is made of: a problem, a split of its people, a model's scores, and rows of results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.people.rows import Columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Kind", "Measured", "Problem", "Recipe", "Result", "RocLines", "Scored", "Split"]

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.signedinteger[Any]]

Kind: TypeAlias = Literal["draws", "splits"]
"""What was repeated: the draw at one split, or the split (then figures are expectations over the draw)."""

Measured: TypeAlias = Literal["fitted", "test"]
"""Whom a figure is about: the people a post-processor was fitted on, as in the paper, or people nobody has seen."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """People with features, a label and a group."""

    name: str  # "adult"
    title: str  # "Adult, income above 50K by sex"
    features: pa.Table  # (n rows) numbers and words, nulls allowed, protected columns included, the label not
    protected: tuple[str, ...]  # columns of features that tell the group
    labels: NDArray[np.bool_]  # (n,)
    groups: NDArray[np.str_]  # (n,)
    privileged: str  # the group below the line of the disparate impact
    digest: str  # SHA-256 of all of the above
    images: Path | None = None  # folder of the pictures that the column "image" of features names
    partition: NDArray[np.str_] | None = None  # (n,) "train", "valid" or "test" where the authors' own split is known

    @property
    def rows(self) -> int:
        return len(self.labels)

    @property
    def unprivileged(self) -> tuple[str, ...]:
        """All other groups."""
        return tuple(str(name) for name in np.unique(self.groups) if name != self.privileged)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Row numbers of three parts that share nobody."""

    seed: int
    train: IntArray
    calibration: IntArray
    test: IntArray


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is trained. ``train(problem, rows, seed, protected=..., **options)`` gives a score for every row of
    the problem, having looked at the labels of ``rows`` only; ``protected``: whether the protected columns are among
    the features."""

    name: str  # "lr"
    title: str  # "logistic regression"
    train: Callable[..., FloatArray]
    needs: tuple[str, ...] = ()  # modules that must be installed
    optional: tuple[str, ...] = ()  # modules that change what comes out, if they are installed
    images: bool = False  # works on pictures, not on tables
    heavy: bool = False  # takes seconds to minutes for each training, and packages beyond fairroc's own

    def missing(self) -> str | None:
        """Why this model cannot be trained here, in one line; None if it can."""
        absent = [name for name in self.needs if not _installed(name)]
        if not absent:
            return None
        return f"{self.title}: {', '.join(absent)} not installed; run: pip install './studies[models]'"


def _installed(module: str) -> bool:
    """Whether a module is there, without loading it. What holds it is loaded: nothing, for a package of parts."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even what holds it
        return False


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A model's scores of the three parts of a split."""

    problem: str
    model: str
    protected: bool
    seed: int
    privileged: str
    train: Columns
    calibration: Columns
    test: Columns
    digest: str  # SHA-256 of all scores, labels and groups


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
