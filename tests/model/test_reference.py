"""The documented reference numbers: AUC of the exact optimum on the shared test scores of plain models."""

from __future__ import annotations

import numpy as np
import pytest

from fairroc.core.constraint import equalized_odds
from fairroc.core.optimal import optimal
from fairroc.core.roc import RocCurve, roc_curve
from oracles import query_curve
from real_scores import by_group

EPSILONS = (0.001, 0.01, 0.02, 0.05, 0.1)
UPPER_ALL_SCORES = {
    ("adult_lr", "Female"): (0.8693, 0.8783, 0.8865, 0.9048, 0.9234),
    ("adult_rf10", "Female"): (0.8897, 0.8980, 0.9055, 0.9213, 0.9379),
    ("compas_lr", "Other"): (0.7125, 0.7174, 0.7189, 0.7189, 0.7189),
    ("compas_lr", "African-American"): (0.7123, 0.7156, 0.7183, 0.7207, 0.7207),
    ("compas_rf10", "Other"): (0.7125, 0.7186, 0.7227, 0.7252, 0.7252),
    ("compas_rf10", "African-American"): (0.7121, 0.7156, 0.7191, 0.7265, 0.7285),
}
UPPER_100_QUERIES = {
    ("adult_lr", "Female"): (0.8683, 0.8774, 0.8854, 0.9032, 0.9216),
    ("adult_rf10", "Female"): (0.8891, 0.8975, 0.9048, 0.9201, 0.9363),
}
RAW_AUC = {("adult_lr", "Female"): (0.9367, 0.9358), ("adult_rf10", "Female"): (None, 0.9457)}
"""The plain models' AUC, exact and at 100 queries, where documented."""

ROUNDED = 0.5e-4 + 1e-9
"""The references have four decimals."""


def fair_aucs(curves: dict[str, RocCurve], group: str) -> list[float]:
    """The group's exact optimum in L1, for all epsilons."""
    at = list(curves).index(group)
    return [
        optimal([c.hull for c in curves.values()], epsilon, equalized_odds(1)).curves[at].auc for epsilon in EPSILONS
    ]


@pytest.mark.parametrize(("name", "group"), sorted(UPPER_ALL_SCORES))
def test_exact_optimum_with_all_scores(name, group):
    """Hulls of all scores, epsilon .001 to .1: the AUC of the upper group to four decimals."""
    curves = {g: roc_curve(*rows) for g, rows in by_group(name).items()}
    assert fair_aucs(curves, group) == pytest.approx(UPPER_ALL_SCORES[name, group], abs=ROUNDED)


@pytest.mark.parametrize(("name", "group"), sorted(UPPER_100_QUERIES))
def test_exact_optimum_with_100_queries(name, group):
    """The same at the paper's k = 100 thresholds, linspace(0, 1, 100)."""
    thresholds = np.linspace(0, 1, 100)
    curves = {g: query_curve(*rows, None, thresholds) for g, rows in by_group(name).items()}
    assert fair_aucs(curves, group) == pytest.approx(UPPER_100_QUERIES[name, group], abs=ROUNDED)


@pytest.mark.parametrize(("name", "group"), sorted(RAW_AUC))
def test_raw_auc(name, group):
    """The plain models' own AUC in the upper group, from all scores and from 100 queries."""
    rows = by_group(name)[group]
    exact, queried = RAW_AUC[name, group]
    if exact is not None:
        assert roc_curve(*rows).auc == pytest.approx(exact, abs=ROUNDED)
    assert query_curve(*rows, None, np.linspace(0, 1, 100)).auc == pytest.approx(queried, abs=ROUNDED)
