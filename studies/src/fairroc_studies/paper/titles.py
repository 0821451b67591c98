"""Words for the names of problems, models and methods."""

from __future__ import annotations

from fairroc_studies.problems.registry import PROBLEMS

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
