"""A model's scores of a split: trained, or taken from what was computed before."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairroc.errors import DataError, DatasetError
from fairroc.people.rows import Columns, read_columns
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.paper.study import FloatArray, IntArray, Problem, Recipe, Scored, Split

__all__ = ["scored"]


def scored(
    problem: Problem, recipe: Recipe, split: Split, *, protected: bool, cache: Store | None = None, **options: Any
) -> Scored:
    """The scores of a model trained on ``split.train``, checked: one finite number for each person.

    ``cache``: scores are taken from there if the same people, split, options, sources and versions gave them before,
    and left there otherwise. ``options`` go to the recipe.
    """
    scores = _cached(problem, recipe, split, protected, options, cache)
    train, calibration, test = (
        _columns(problem, scores, rows) for rows in (split.train, split.calibration, split.test)
    )
    return Scored(
        problem=problem.name,
        model=recipe.name,
        protected=protected,
        seed=split.seed,
        privileged=problem.privileged,
        train=train,
        calibration=calibration,
        test=test,
        digest=_digest(train, calibration, test),
    )


def _digest(*parts: Columns) -> str:
    return key("scored", [(part.scores, part.labels, part.groups, part.names) for part in parts])


def _cached(
    problem: Problem, recipe: Recipe, split: Split, protected: bool, options: dict[str, Any], cache: Store | None
) -> FloatArray:
    if cache is None:
        return _trained(problem, recipe, split, protected, options)
    name = key(
        *("scores", problem.digest, recipe.name, options, protected, split.seed, split.train.astype(np.int64)),
        *(source_digest(recipe.train.__module__), package_versions((*recipe.needs, *recipe.optional))),
    )
    found = cache.get(name)
    if found is not None:
        return _checked(found["scores"], problem, recipe)
    scores = _trained(problem, recipe, split, protected, options)
    cache.put(name, {"scores": scores})
    return scores


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


def _columns(problem: Problem, scores: FloatArray, rows: IntArray) -> Columns:
    return read_columns(scores[rows], problem.labels[rows], sensitive_features=problem.groups[rows])
