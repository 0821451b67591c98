"""Models that are told something else than the groups they compare, rows for them, and what numpy makes of these."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from fairroc import FairModel
from fairroc.errors import FairrocWarning
from fairroc.people.small import MERGED
from fitted_people import FairROC


@dataclass(frozen=True, eq=False)
class SpreadCase:
    """A model, and people by what it is told of them: groups, probabilities, strata."""

    model: FairModel
    scores: np.ndarray
    ids: np.ndarray
    groups: dict[str, np.ndarray]
    probabilities: dict[str, np.ndarray]
    controls: dict[str, np.ndarray]

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """All columns of a table."""
        return {"p": self.scores, "id": self.ids, **self.groups, **self.probabilities, **self.controls}

    @property
    def roles(self) -> dict[str, Any]:
        """The names of the columns, as back ends take them."""
        more = {"group": self.groups, "group_probabilities": self.probabilities, "control_features": self.controls}
        return {"score": "p", "id": "id", **{role: list(columns) for role, columns in more.items() if columns}}

    @property
    def told(self) -> dict[str, Any]:
        """What `FairModel.transform` takes."""
        features = {
            "sensitive_features": self.groups,
            "group_probabilities": self.probabilities,
            "control_features": self.controls,
        }
        return {name: columns for name, columns in features.items() if columns}

    @property
    def expected(self) -> np.ndarray:
        """What numpy gives."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairrocWarning)
            return self.model.transform(self.scores, **self.told, ids=self.ids)


def _people(n: int = 600) -> dict[str, np.ndarray]:
    """Scores whose quality and place depend on sex and race, and probabilities of both."""
    rng = np.random.default_rng(21)
    sex, race = rng.integers(0, 2, n), rng.choice(3, n, p=(0.5, 0.3, 0.2))
    y = (rng.random(n) < 0.35 + 0.15 * sex).astype(int)
    sex[:32], y[:32] = np.arange(32) % 2, np.arange(32) // 2 % 2
    raw = y * (0.8 + 0.7 * sex + 0.2 * race) + rng.normal(size=n) + 0.4 * sex
    blur = np.clip(0.5 + 0.3 * (2 * sex - 1) + 0.2 * rng.normal(size=n), 0.01, 0.99)
    kinds = np.exp(1.5 * (race[:, None] == np.arange(3)) + 0.7 * rng.normal(size=(n, 3)))
    kinds /= kinds.sum(axis=1, keepdims=True)
    job, town = rng.choice(["a", "b"], n), rng.integers(0, 2, n)
    few = np.arange(4 * 8)
    job[few], town[few] = "c", few // 4 % 2  # small, with both labels of both sexes in both towns
    return {
        "score": np.round(1 / (1 + np.exp(-raw)), 2),
        "y": y,
        "sex": np.array(["f", "m"])[sex],
        "race": np.array(["u", "v", "w"])[race],
        "r": blur,
        **{f"q{i}": kinds[:, i] for i in range(3)},
        "job": job,
        "town": town,
        "kind": rng.choice(["k", "l", "m"], n, p=(0.6, 0.35, 0.05)),
    }


def _case(people: dict[str, np.ndarray], groups: tuple[str, ...], **how: Any) -> SpreadCase:
    """A fit, and rows to apply it to; some have probabilities exactly at the tree's thresholds, or next to them."""
    probabilities, controls = how.pop("probabilities", ()), how.pop("controls", ())
    told = {"group_probabilities": probabilities, "control_features": controls}
    features = {name: {column: people[column] for column in columns} for name, columns in told.items() if columns}
    post = FairROC(**{"epsilon": 0.05, "salt": 21} | how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = {name: people[name] for name in groups}
        post.fit(people["score"], people["y"], sensitive_features=own, **features)
    model, n = post.model_, len(people["y"])
    given = {name: people[name].copy() for name in probabilities}
    if given and model.proxy is not None:
        inner = np.flatnonzero(model.proxy.column >= 0)
        for node in inner.tolist():
            column = given[probabilities[int(model.proxy.column[node])]]
            at = float(model.proxy.threshold[node])
            rows = slice(30 * node, 30 * node + 30)
            column[rows] = np.resize([at, np.nextafter(at, 0), np.nextafter(at, 1)], 30)
        for column in given.values():
            column[-4:] = [0.0, 1.0, -0.0, 5e-324]
    ids = np.arange(n, dtype=np.int64) * 7 - 40
    used = {name: people[name] for name in groups} if model.use_group else {}
    return SpreadCase(model, people["score"], ids, used, given, {name: people[name] for name in controls})


CASES: dict[str, Any] = {
    "proxy": {"groups": ("race",), "use_group": False, "probabilities": ("q0", "q1", "q2"), "epsilon": 0.1},
    "proxy in strata": {"groups": ("sex",), "use_group": False, "probabilities": ("r",), "controls": ("town", "job")},
    "score alone": {"groups": ("sex",), "use_group": False},
    "each": {"groups": ("sex", "kind"), "combine": "each"},
    "strata": {"groups": ("sex",), "controls": ("town", "job")},
}
"""Small segments are merged in all that have strata or several attributes."""


@cache
def spread_case(name: str) -> SpreadCase:
    """One of `CASES`, made when it is needed."""
    how = dict(CASES[name])
    return _case(_people(), how.pop("groups"), **how)


def with_merged(case: SpreadCase) -> bool:
    """Whether some segments of the model are merged ones."""
    return MERGED in case.model.names
