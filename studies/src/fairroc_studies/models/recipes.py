"""The models of the experiments by name. What they need is loaded when they are trained, so none must be installed."""

from __future__ import annotations

from fairroc_studies.models import ensemble, fnnc, resnet
from fairroc_studies.models.linear import train_forest, train_logistic
from fairroc_studies.paper.study import Recipe

__all__ = ["RECIPES"]

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
