"""Models and rows for the tests of SQL: hard scores, names and ids, and what numpy makes of them."""

from __future__ import annotations

import dataclasses
import uuid
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from fairroc import FairModel
from fairroc.core.kernel import Kernel
from fairroc.core.scale import Scale
from fairroc.errors import FairrocWarning
from fairroc.people.small import Regrouped
from fitted_people import FairROC
from strategies import POOLS

KEY = "sixteen bytes or more"
WILD = ("it's", 'Ω "q" 🙂', "back\\slash \\' `tick`", "two\nlines; --", "$fair$ %s {} :x", "")
"""Names of groups that are quoted in some dialect or another."""

INTEGERS = [0, 1, -1, 42, 2**31, -(2**31) - 1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]
TEXTS = [
    "a",
    "0",
    " ",
    "é",
    "🙂",
    "it's",
    "\\",
    '"',
    "\n",
    str(uuid.UUID(int=2**100)),
    *("xyz🙂"[:k] * k for k in (1, 4)),
]


@dataclass(frozen=True, eq=False)
class Case:
    """A model and rows to apply it to."""

    model: FairModel
    scores: np.ndarray
    groups: dict[str, list[Any]]
    ids: list[Any]
    key: str | None = None

    @property
    def id_type(self) -> str:
        return "integer" if isinstance(self.ids[0], int) else "text"

    @property
    def columns(self) -> dict[str, list[Any]]:
        """All columns, with a number for each row to put them in order again."""
        rows = range(len(self.scores))
        return {"a column": list(rows), "the score": self.scores.tolist(), **self.groups, 'i"d': self.ids}

    @property
    def expected(self) -> np.ndarray:
        """What numpy gives."""
        features = self.groups if len(self.groups) > 1 else next(iter(self.groups.values()))
        ids = np.array(self.ids) if self.id_type == "integer" else self.ids
        with warnings.catch_warnings():  # hard rows lie out of range and share ids
            warnings.simplefilter("ignore", FairrocWarning)
            how = {"sensitive_features": features, "ids": ids, "key": self.key}
            return self.model.transform(self.scores, **how, allow_out_of_range=True)

    def sql(self, dialect: str, **how: Any) -> str:
        roles = {"score": "the score", "group": list(self.groups), "id": 'i"d', "id_type": self.id_type}
        return self.model.to_sql(dialect, **{"table": "people", **roles, "key": self.key, **how})


def hard_scores(model: FairModel, rng: np.random.Generator, n: int) -> np.ndarray:
    """Ends of cells, their neighbouring doubles, scores between and beyond, zeros of both signs, numbers near zero."""
    ends = np.array([0.0]) if model.unchanged else np.concatenate([part[1:] for part in model.tables.cells.starts()])
    near = np.concatenate((ends, np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf)))
    special = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e307, -1e307, 1.0, float(ends.max()) + 1, float(ends.min()) - 1]
    between = rng.uniform(max(ends.min(), -1e300), min(ends.max(), 1e300), n)
    return rng.permutation(np.concatenate((np.resize(special, 40), rng.choice(near, n - 60), between[:20])))


def hard_ids(kind: str, rng: np.random.Generator, n: int) -> list[Any]:
    """Integers at the ends of their types, or texts, of all lengths up to a hundred bytes if there is room."""
    if kind == "integer":
        return [*INTEGERS, *rng.integers(-(2**63), 2**63 - 1, n - len(INTEGERS)).tolist()]
    plain, more = list("abcdefghij0123456789"), list("abc123éß🙂")
    made = ["".join(rng.choice(plain if i < 100 else more, 1 + i % 100)) for i in range(n - len(TEXTS))]
    return [*TEXTS, *made]


def fitted(names: tuple[str, ...], *, seed: int, n: int, pool: str | None = None, **how: Any) -> FairModel:
    """A model of groups that differ in place, width and quality of their scores."""
    rng = np.random.default_rng(seed)
    g, y = rng.integers(0, len(names), n), rng.integers(0, 2, n)
    scores = y * (1 + 0.6 * g) + (1 + 0.3 * g) * rng.normal(size=n) + 0.4 * g
    if pool is not None:
        values = np.sort(POOLS[pool])
        scores = values[np.clip(scores * len(values) / 4, 0, len(values) - 1).astype(int)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FairROC(salt=seed - 5, **how).fit(scores, y, sensitive_features=np.array(names, dtype=object)[g]).model_


def rows_for(model: FairModel, kind: str = "integer", *, seed: int = 0, n: int = 400, key: str | None = None) -> Case:
    """Hard rows of one group column."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(np.array([*model.codes], dtype=object), n).tolist()
    return Case(model, hard_scores(model, rng, n), {"a group": groups}, hard_ids(kind, rng, n), key)


@cache
def case(name: str) -> Case:
    """One of `CASES`, made when it is needed."""
    return CASES[name]()


def _several_columns() -> Case:
    """Two columns whose missing values are a group of their own."""
    rng = np.random.default_rng(3)
    n = 900
    sex, race = rng.choice(["f", "m", None], n), rng.choice(["a'b", "ü", None], n)
    y = rng.integers(0, 2, n)
    scores = y + rng.normal(size=n) * np.where(sex == "f", 1.0, 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FairROC(0.1, salt=3, missing="group").fit(scores, y, sensitive_features={"s": sex, "r": race}).model_
    pairs = [list(column) for column in zip(*(name.split(" & ") for name in model.names), strict=True)]
    which = rng.integers(0, len(model.names), 400)
    groups = {
        what: [None if part[i] == "(missing)" else part[i] for i in which]
        for what, part in zip(("sex", "race"), pairs, strict=True)
    }
    return Case(model, hard_scores(model, rng, 400), groups, hard_ids("text", rng, 400))


def _nobody_drawn() -> Case:
    """Two levels, a block in each, all in raw order: no fit needed, and no draw."""
    kernel = Kernel(
        thresholds=np.array([0.5, 0.0]),
        ceiling=1.0,
        row=np.array([0, 1]),
        table=np.eye(2),
        first=np.array([0, 1]),
        last=np.array([0, 1]),
        start=np.zeros(2),
        stop=np.ones(2),
        ordered=np.ones(2, dtype=bool),
        transported=np.zeros(2, dtype=bool),
    )
    scale = Scale(np.array([0.0, 0.7, 2.0]), np.array([3.0, 1.0, -0.0]))
    model = fitted(AB, seed=1, n=300, epsilon=2.0)
    return rows_for(dataclasses.replace(model, kernels=(kernel, kernel), scale=scale))


def with_small(model: FairModel, treatment: str, *names: str) -> FairModel:
    """The model as if its fit had left small groups out, or merged them into the last one."""
    into = model.names[-1] if treatment == "merge" else None
    return dataclasses.replace(model, small_groups=Regrouped(treatment, 1, names, into))


AB = ("a", "b")
ONE_RATE = {
    "opportunity": {"constraint": "equal_opportunity"},
    "opportunity, draw": {"constraint": "equal_opportunity", "draw": "all"},
    "predictive, where": {"constraint": "predictive_equality", "where": (0.0, 0.3)},
    "parity, tied": {"constraint": "demographic_parity", "pool": "fine"},
    "parity, never": {"constraint": "demographic_parity", "draw": "never"},
    "never, where": {"constraint": "equal_opportunity", "draw": "never", "where": (0.1, 0.4)},
    "ratio": {"constraint": "demographic_parity", "epsilon": 0.05, "ratio": 0.8},
    "ratio, where": {"constraint": "equal_opportunity", "epsilon": 0.05, "ratio": 0.9, "where": (0.05, 0.5)},
}
"""Models of every constraint on one rate, by what their fits ask for."""

CASES = {
    **{
        name: lambda how=how: rows_for(fitted(WILD[:3], **{"seed": 13, "n": 1500, "epsilon": 0.1} | how))
        for name, how in ONE_RATE.items()
    },
    "tolerances": lambda: rows_for(fitted(AB, seed=14, n=1500, epsilon={"fpr": 0.2, "tpr": 0.05}), "text"),
    "order": lambda: rows_for(fitted(AB, seed=1, n=3000, epsilon=0.05, draw="few")),
    "order, text": lambda: rows_for(fitted(WILD[:3], seed=2, n=3000, epsilon=0.03, draw="few"), "text"),
    "apart": lambda: rows_for(fitted(AB, seed=1, n=3000, epsilon=0.2, draw="few")),
    "tied": lambda: rows_for(fitted(AB, seed=1, n=3000, epsilon=0.05, draw="never"), "text"),
    "draw": lambda: rows_for(fitted(WILD, seed=3, n=3000, epsilon=0.05, draw="all")),
    "draw, text": lambda: rows_for(fitted(AB, seed=4, n=900, epsilon=0.0, draw="all"), "text"),
    "inf": lambda: rows_for(fitted(AB, seed=1, n=3000, epsilon=0.02, draw="few", norm="inf")),
    "froc": lambda: rows_for(fitted(AB, seed=6, n=900, epsilon=0.1, method="froc", draw="all", queries=20)),
    "key": lambda: rows_for(fitted(AB, seed=7, n=600, epsilon=0.1, draw="all", key=KEY), "text", key=KEY),
    "unchanged": lambda: rows_for(fitted(WILD[:4], seed=8, n=300, epsilon=2.0), "text"),
    "neighbours": lambda: rows_for(fitted(AB, seed=9, n=300, pool="neighbours", epsilon=0.1, draw="few")),
    "subnormal": lambda: rows_for(fitted(AB, seed=10, n=300, pool="subnormal", epsilon=0.1, draw="few")),
    "extreme": lambda: rows_for(fitted(AB, seed=11, n=300, pool="extreme", epsilon=0.1, draw="all")),
    "columns": _several_columns,
    "merged": lambda: rows_for(with_small(fitted(AB, seed=12, n=900, epsilon=0.1), "merge", *WILD[:3])),
    "nobody drawn": _nobody_drawn,
}
