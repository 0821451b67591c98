"""What was published, as data: figures of the FROC paper with their place in it, and of others' stored results."""

from __future__ import annotations

from dataclasses import dataclass

PUBLISHED_EPSILON = 0.01
"""The epsilon of the paper's ROC curves after FROC (appendix, plots)."""
MAX_DIFFERENCE = 0.08
"""Largest difference of the two groups' ROC curves before FROC, Adult, logistic regression (section 5, results)."""
LR_EPSILON, LR_LOSS = 0.05, 0.001
"""At this epsilon the accuracy lost on Adult by logistic regression is below this (section 5, results)."""
FAIRNESS_GAIN, ACCURACY_DROP = 0.07, 0.02
"""Across all experiments: this much fairness (7 to 8 %) for at most this much accuracy (section 5, results)."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """Maxima over epsilon of ten runs, and the slope, of one experiment of the appendix. None: not published."""

    problem: str
    model: str
    title: str
    place: str
    people: int  # in the data: the most that decisions can have been drawn for, the paper does not say for how many
    accuracy_variance: float
    accuracy_cov: float  # a share, not percent
    impact_variance: float | None = None
    impact_cov: float | None = None
    slope: float | None = None  # points of disparate impact for one point of accuracy
    auc_loss: bool = True  # whether the paper says that the AUC loss decays to 0


ADULT, COMPAS, CELEBA = 48_842, 6_172, 202_599

EXPERIMENTS = (
    Experiment(
        *("adult", "autogluon", "Adult, weighted ensemble", "appendix, Adult – weighted ensemble L2", ADULT),
        *(1.88e-6, 0.0015, 2.25e-5, 0.0055, 5.0),
    ),
    Experiment(
        *("adult", "rf", "Adult, random forest", "appendix, Adult – random forest gini", ADULT),
        *(8.3e-7, 0.001, 7.59e-6, 0.0075, 7.0),
    ),
    Experiment(
        *("adult", "fnnc", "Adult, FNNC", "appendix, Adult – FNNC", ADULT), *(6.6e-7, 0.0009, 1e-4, 0.0126, 5.0)
    ),
    Experiment(
        *("compas", "autogluon", "COMPAS, weighted ensemble", "appendix, COMPAS – weighted ensemble L2", COMPAS),
        *(1.44e-5, 0.0054, 1.6e-4, 0.0169, 7.0),
    ),
    Experiment(
        *("compas", "rf", "COMPAS, random forest", "appendix, COMPAS – random forest gini", COMPAS),
        *(9.63e-6, 0.0044, 2e-4, 0.0156, 7.0),
    ),
    Experiment(
        *("compas", "fnnc", "COMPAS, FNNC", "appendix, COMPAS – FNNC", COMPAS), *(4.83e-6, 0.0043, 2.48e-5, 0.005, 3.0)
    ),
    Experiment("celeba", "resnet", "CelebA, ResNet", "appendix, CelebA", CELEBA, 1.9e-7, 0.0007, auc_loss=False),
)


def experiment(problem: str, model: str) -> Experiment | None:
    """What was published of a problem and a model."""
    return next((e for e in EXPERIMENTS if (e.problem, e.model) == (problem, model)), None)


@dataclass(frozen=True, slots=True)
class Projected:
    """A stored result of Alghamdi et al. (2022): mean of ten splits, threshold 0.5; no standard errors are stored."""

    data: str
    model: str
    method: str
    points: tuple[tuple[float | None, float, float], ...]  # (tolerance, accuracy, mean equalized odds)


TOLERANCES = (0.0, 0.01, 0.05, 0.1, 1.0)


def _swept(accuracies: tuple[float, ...], meos: tuple[float, ...]) -> tuple[tuple[float | None, float, float], ...]:
    return tuple(zip(TOLERANCES, accuracies, meos, strict=True))


COMPAS_GROUPS = "COMPAS, African-American against Caucasian"
ADULT_GROUPS = "Adult, Black against White"

PROJECTIONS = (
    Projected(
        *(COMPAS_GROUPS, "random forest", "FairProjection-CE"),
        _swept((0.6663, 0.6676, 0.6710, 0.6761, 0.6760), (0.0468, 0.0551, 0.1084, 0.1694, 0.2222)),
    ),
    Projected(
        *(COMPAS_GROUPS, "random forest", "FairProjection-KL"),
        _swept((0.6663, 0.6674, 0.6711, 0.6752, 0.6760), (0.0454, 0.0515, 0.1021, 0.1609, 0.2222)),
    ),
    Projected(
        *(COMPAS_GROUPS, "logistic regression", "FairProjection-CE"),
        _swept((0.6612, 0.6641, 0.6706, 0.6723, 0.6741), (0.0770, 0.0605, 0.0606, 0.1616, 0.2710)),
    ),
    Projected(
        *(COMPAS_GROUPS, "logistic regression", "FairProjection-KL"),
        _swept((0.6601, 0.6629, 0.6705, 0.6722, 0.6741), (0.0869, 0.0640, 0.0533, 0.1519, 0.2710)),
    ),
    Projected(COMPAS_GROUPS, "logistic regression", "EqOdds", ((None, 0.6229, 0.0479),)),
    Projected(COMPAS_GROUPS, "random forest", "EqOdds", ((None, 0.6285, 0.0614),)),
    Projected(COMPAS_GROUPS, "logistic regression", "LevEqOpp", ((None, 0.6684, 0.0498),)),
    Projected(COMPAS_GROUPS, "random forest", "LevEqOpp", ((None, 0.6614, 0.0317),)),
    Projected(COMPAS_GROUPS, "random forest", "Reduction", ((None, 0.6624, 0.0296), (None, 0.6746, 0.2199))),
    Projected(
        *(ADULT_GROUPS, "random forest", "FairProjection-CE"),
        _swept((0.8560, 0.8559, 0.8560, 0.8563, 0.8563), (0.0363, 0.0325, 0.0369, 0.0540, 0.0545)),
    ),
    Projected(ADULT_GROUPS, "logistic regression", "original", ((None, 0.8425, 0.1048),)),
    Projected(ADULT_GROUPS, "random forest", "original", ((None, 0.8563, 0.0636),)),
    Projected(ADULT_GROUPS, "logistic regression", "EqOdds", ((None, 0.8151, 0.0231),)),
    Projected(ADULT_GROUPS, "logistic regression", "LevEqOpp", ((None, 0.8420, 0.0335),)),
    Projected(ADULT_GROUPS, "random forest", "LevEqOpp", ((None, 0.8551, 0.0310),)),
    Projected(
        *(ADULT_GROUPS, "logistic regression", "Reduction"),
        tuple((None, a, m) for a, m in ((0.8282, 0.0117), (0.8327, 0.0178), (0.8383, 0.0267), (0.8425, 0.0648))),
    ),
)
