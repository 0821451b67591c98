"""Models that are not told the groups they compare, of small data: without the group, each attribute, within strata."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from fairroc import FairModel
from fitted_people import FairROC

KINDS = ("cells", "each", "strata", "both")
"""Without the group; two attributes each for itself; within strata; without the group within strata."""


class People(NamedTuple):
    """Columns of people whose scores mean different things by sex and race; ``r`` tells the sex, not for certain."""

    scores: np.ndarray
    y: np.ndarray
    sex: np.ndarray
    race: np.ndarray
    r: np.ndarray

    def told(self, kind: str) -> dict[str, Any]:
        """What a model of a kind is told."""
        return {
            "cells": {"group_probabilities": self.r},
            "each": {"sensitive_features": {"sex": self.sex, "race": self.race}},
            "strata": {"sensitive_features": self.sex, "control_features": self.race},
            "both": {"group_probabilities": {"male": self.r}, "control_features": self.race},
        }[kind]

    def known(self, kind: str) -> dict[str, Any]:
        """The same with the groups that are compared."""
        groups = {"sex": self.sex, "race": self.race} if kind == "each" else self.sex
        return self.told(kind) | {"sensitive_features": groups}

    def taken(self, rows: Any) -> People:
        return People(*(column[rows] for column in self))


def people(seed: int, n: int = 500, digits: int = 2) -> People:
    rng = np.random.default_rng([seed, 21])
    sex, race, y = (rng.integers(0, 2, n) for _ in range(3))
    scores = rng.normal(size=n) * (1 + 0.4 * race) + 1.5 * y + 1.5 * sex + 0.4 * race
    r = 1 / (1 + np.exp(-5.0 * (sex - 0.5) - 1.5 * rng.normal(size=n)))
    return People(scores.round(digits), y, np.array(["f", "m"])[sex], np.array(["a", "b"])[race], r.round(3))


@cache
def fitted(kind: str, draw: str = "few", constraint: str = "equalized_odds", epsilon: float = 0.1) -> FairROC:
    """A fit to ``people(0)``."""
    here = people(0)
    asked: Any = {"sex": epsilon, "race": epsilon / 2} if kind == "each" else epsilon
    how = {"combine": "each"} if kind == "each" else {"use_group": kind == "strata"}
    post = FairROC(asked, salt=1, draw=draw, constraint=constraint, **how)
    return post.fit(here.scores, here.y, **here.known(kind))


def model_of(kind: str, **how: Any) -> FairModel:
    return fitted(kind, **how).model_


def group_masks(kind: str, here: People) -> dict[str, dict[str, np.ndarray]]:
    """Who is in which group, by the title of the family."""
    if kind == "each":
        columns = {"sex": here.sex, "race": here.race}
        return {name: {g: column == g for g in np.unique(column)} for name, column in columns.items()}
    if kind == "cells":
        return {"group": {g: here.sex == g for g in "fm"}}
    return {f"group within {s}": {g: (here.sex == g) & (here.race == s) for g in "fm"} for s in "ab"}
