"""The models of the experiments by name. What they need is loaded when they are trained, so none must be installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from fairroc_studies.models import ensemble, fnnc, resnet
from fairroc_studies.models.linear import train_forest, train_logistic
from fairroc_studies.problems.problem import FloatArray


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
