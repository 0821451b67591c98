"""The models of the experiments by name. Heavy ones are loaded when they are trained, so none must be installed."""

from __future__ import annotations

from typing import Any

from fairroc.experiments.linear import train_forest, train_logistic
from fairroc.experiments.study import FloatArray, IntArray, Problem, Recipe

__all__ = ["RECIPES"]

_HOME = "fairroc.experiments"
_TABLES = (f"{_HOME}.problems", f"{_HOME}.linear")


def _fnnc(problem: Problem, rows: IntArray, seed: int, **options: Any) -> FloatArray:
    from fairroc.experiments import fnnc

    return fnnc.train(problem, rows, seed, **options)


def _ensemble(problem: Problem, rows: IntArray, seed: int, **options: Any) -> FloatArray:
    from fairroc.experiments import ensemble

    return ensemble.train(problem, rows, seed, **options)


def _resnet(problem: Problem, rows: IntArray, seed: int, **options: Any) -> FloatArray:
    from fairroc.experiments import resnet

    return resnet.train(problem, rows, seed, **options)


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe("lr", "logistic regression", train_logistic, ("sklearn",), source=_TABLES),
        Recipe("rf", "random forest", train_forest, ("sklearn",), source=_TABLES),
        Recipe("fnnc", "FNNC", _fnnc, ("torch",), source=(*_TABLES, f"{_HOME}.fnnc", f"{_HOME}.neural"), heavy=True),
        Recipe(
            "autogluon",
            "AutoGluon ensemble",
            _ensemble,
            ("autogluon.tabular",),
            ("lightgbm", "sklearn", "pandas"),
            (*_TABLES, f"{_HOME}.ensemble"),
            heavy=True,
        ),
        Recipe(
            "resnet",
            "ResNet",
            _resnet,
            ("torch", "PIL"),
            source=(f"{_HOME}.problems", f"{_HOME}.resnet", f"{_HOME}.neural"),
            images=True,
            heavy=True,
        ),
    )
}
"""All models by name, in the order of a run."""
