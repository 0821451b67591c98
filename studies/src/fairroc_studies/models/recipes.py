"""The models of the experiments by name, and their scores of a split, trained or taken from what was computed before.

What models need is loaded when they are trained, so none must be installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from fairroc.errors import DataError, DatasetError
from fairroc_studies.harness.people import Part
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.models import ensemble, fnnc, resnet
from fairroc_studies.models.linear import train_forest, train_logistic
from fairroc_studies.problems.problem import FloatArray, Problem, Split


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


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe("lr", "logistic regression", train_logistic, ("sklearn",)),
        Recipe("rf", "random forest", train_forest, ("sklearn",)),
        Recipe("fnnc", "FNNC", fnnc.train, ("torch",), heavy=True),
        Recipe(
            "autogluon",
            "AutoGluon ensemble",
            ensemble.train,
            ("autogluon.tabular",),
            ("lightgbm", "sklearn", "pandas"),
            heavy=True,
        ),
        Recipe("resnet", "ResNet", resnet.train, ("torch", "PIL"), images=True, heavy=True),
    )
}
"""All models by name, in the order of a run."""


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A model's scores of the three parts of a split."""

    problem: str
    model: str
    protected: bool
    seed: int
    privileged: str
    train: Part
    calibration: Part
    test: Part
    digest: str  # SHA-256 of all scores, labels and groups


def scored(
    problem: Problem, recipe: Recipe, split: Split, *, protected: bool, cache: Store | None = None, **options: Any
) -> Scored:
    """The scores of a model trained on ``split.train``, checked: one finite number for each person.

    ``cache``: scores are taken from there if the same people, split, options, sources and versions gave them before,
    and left there otherwise. ``options`` go to the recipe.
    """
    if cache is None:
        scores = _trained(problem, recipe, split, protected, options)
    else:
        name = key(
            *("scores", problem.digest, recipe.name, options, protected, split.seed, split.train.astype(np.int64)),
            *(source_digest(recipe.train.__module__), package_versions((*recipe.needs, *recipe.optional))),
        )
        kept = cache.arrays(name, lambda: {"scores": _trained(problem, recipe, split, protected, options)})
        scores = _checked(kept["scores"], problem, recipe)
    train, calibration, test = parts = [
        Part.named(scores[rows], problem.labels[rows], problem.groups[rows])
        for rows in (split.train, split.calibration, split.test)
    ]
    digest = key("scored", [(part.scores, part.labels, part.groups, part.names) for part in parts])
    about = (problem.name, recipe.name, protected, split.seed, problem.privileged)
    return Scored(*about, train, calibration, test, digest)


def _trained(problem: Problem, recipe: Recipe, split: Split, protected: bool, options: dict[str, Any]) -> FloatArray:
    lack = recipe.missing()
    if lack is not None:
        raise DataError(lack)
    if recipe.images and problem.images is None:
        raise DatasetError(
            f"{recipe.title} learns from pictures, and {problem.title} has none. Choose CelebA with a folder "
            "img_align_celeba beside its attribute file, or another model."
        )
    return _checked(recipe.train(problem, split.train, split.seed, protected=protected, **options), problem, recipe)


def _checked(scores: Any, problem: Problem, recipe: Recipe) -> FloatArray:
    numbers = np.asarray(scores, dtype=np.float64)
    if numbers.shape != (problem.rows,) or not np.isfinite(numbers).all():
        raise DataError(
            f"{recipe.title} must give each of {problem.rows} people one finite score; got scores of shape "
            f"{numbers.shape}, {np.isfinite(numbers).sum()} of them finite. Mend its train function."
        )
    return numbers
