"""A model's scores of a split: trained, or taken from what was computed before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairroc.errors import DataError, DatasetError
from fairroc_studies.harness.people import Part
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.models.recipes import Recipe
from fairroc_studies.problems.problem import FloatArray, Problem, Split


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
