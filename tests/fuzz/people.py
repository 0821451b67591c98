"""Whole fits: hard little populations, every option, and what must hold of every one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairroc import FairModel, FairROC
from fairroc.errors import FairrocError, FairrocWarning

ROUNDING = 1e-9
EPSILONS = (0.0, 1e-13, 1e-6, 0.01, 0.05, 0.1, 0.3, 1.0, 2.0)
POOLS = {
    "two scores": [0.25, 0.75],
    "ties": [0.0, 0.25, 0.5, 0.75, 1.0],
    "fine": np.linspace(0, 1, 97).tolist(),
    "neighbours": [0.5, float(np.nextafter(0.5, 1)), float(np.nextafter(0.5, 0)), 0.25],
    "subnormal": [0.0, -0.0, 5e-324, 1e-323, -5e-324, 1e-300],
    "extreme": [-1e300, -1.0, -1e-300, 0.0, 1e-300, 1.0, 1e300],
    "points": [300.0, 440.0, 512.5, 600.0, 601.0, 700.0, 850.0],
    "logits": [-9.25, -3.5, -1.125, -0.5, 0.0, 0.75, 2.5, 8.0],
}
SLOW = 40
"""One fit in so many takes the way of users, who let it choose among curves and ties; the others ask for the geometry
alone, which takes a hundredth of the time."""


@dataclass(frozen=True)
class People:
    """Rows and options of one fit."""

    family: str
    scores: tuple[float, ...]
    labels: tuple[int, ...]
    groups: tuple[str, ...]
    weights: tuple[float, ...] | None
    options: tuple[tuple[str, Any], ...]

    @property
    def asked(self) -> dict[str, Any]:
        return dict(self.options)

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        """Scores, labels, groups and weights (1 where there are none)."""
        weights = np.ones(len(self.scores)) if self.weights is None else np.array(self.weights)
        return np.array(self.scores), np.array(self.labels), np.array(self.groups), weights

    def take(self, rows: list[int]) -> People:
        def some(column: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(column[i] for i in rows)

        weights = None if self.weights is None else some(self.weights)
        return replace(
            self, scores=some(self.scores), labels=some(self.labels), groups=some(self.groups), weights=weights
        )


class Fits:
    """Gap within epsilon at every threshold, AUC below its bound, order, range, files, counts."""

    def make(self, seed: int) -> People:
        rng = np.random.default_rng([1, seed])
        slow = seed % SLOW == 0
        groups = int(rng.integers(2, 9)) if slow or rng.random() < 0.02 else int(rng.choice([2, 2, 2, 3]))
        sizes = rng.choice([2, 3, 5, 9, 16, 30][: 6 if slow else 4], groups)
        pool = sorted(POOLS)[rng.integers(len(POOLS))]
        return hard_rows(rng, pool, sizes, tuple(sorted(_options(rng, slow).items())))

    def check(self, people: People) -> str | None:
        scores, labels, groups, mass = people.columns
        weights = None if people.weights is None else mass
        post = FairROC(**{"promise": "fitted", "salt": 3} | people.asked)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", FairrocWarning)
            try:
                post.fit(scores, labels, sensitive_features=groups, sample_weight=weights)
            except FairrocError as error:
                return None if _may_refuse(people, str(error)) else f"refused: {error}"
            model, stated = post.model_, post.certificate_
            allowed = people.asked.get("epsilon", 0.05)
            if people.asked.get("promise", "fitted") == "fitted" and stated.gap > allowed + ROUNDING:
                return f"gap beyond epsilon: {stated.gap} > {allowed}"
            if stated.auc > stated.auc_bound + ROUNDING:
                return f"AUC beyond its bound: {stated.auc} > {stated.auc_bound}"
            wrong = _wrong_rates(model, (scores, labels, groups, mass), people.asked, stated.gap)
            return wrong or _wrong_file(model, scores, groups)

    def smaller(self, people: People) -> Iterator[People]:
        yield from fewer_rows(people)
        for name in people.asked:
            yield replace(people, options=tuple(pair for pair in people.options if pair[0] != name))


def hard_rows(rng: np.random.Generator, pool: str, sizes: np.ndarray, options: tuple[tuple[str, Any], ...]) -> People:
    """Groups of these sizes with scores of a pool: noisy, perfect, inverted and useless ones, and all weights."""
    parts = [_group(rng, POOLS[pool], int(size)) for size in sizes]
    scores, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
    groups = np.repeat([f"g{i}" for i in range(len(sizes))], sizes)
    weights = _weights(rng, labels)
    columns = (tuple(column.tolist()) for column in (scores, labels, groups))
    return People(pool, *columns, weights, options)


def fewer_rows(people: People) -> Iterator[People]:
    """The same with a group less, with fewer rows, without weights."""
    rows = range(len(people.scores))
    for name in sorted(set(people.groups)) if len(set(people.groups)) > 2 else ():
        yield people.take([i for i in rows if people.groups[i] != name])
    size = len(rows) // 2
    while size:
        for start in range(0, len(rows), size):
            kept = people.take([i for i in rows if not start <= i < start + size])
            if _both_labels(kept):
                yield kept
        size //= 2
    if people.weights is not None:
        yield replace(people, weights=None)


def _group(rng: np.random.Generator, pool: list[float], rows: int) -> tuple[np.ndarray, np.ndarray]:
    scores = rng.choice(pool, rows)
    place = np.argsort(np.argsort(scores, kind="stable"), kind="stable") / max(1, rows - 1)
    cut, kind = rng.choice(scores), int(rng.integers(4))
    labels = [rng.random(rows) < place, scores >= cut, scores < cut, rng.random(rows) < 0.5][kind].astype(int)
    if labels.min() == labels.max():
        labels[rng.integers(rows)] ^= 1
    return scores, labels


def _weights(rng: np.random.Generator, labels: np.ndarray) -> tuple[float, ...] | None:
    kind = str(rng.choice(["none", "none", "mild", "whole", "wild", "heavy"]))
    if kind == "none":
        return None
    made = {
        "mild": rng.uniform(0.5, 2, len(labels)),
        "whole": rng.integers(1, 5, len(labels)).astype(float),
        "wild": 10 ** rng.uniform(-9, 9, len(labels)),
        "heavy": np.where(labels == 1, 1e9, 1e-9),
    }[kind]
    return tuple(made.tolist())


def _options(rng: np.random.Generator, slow: bool) -> dict[str, Any]:
    epsilon = float(rng.choice(EPSILONS))
    if slow:
        ways = ({"draw": draw} for draw in ("few", "all", "never"))
        more: list[dict[str, Any]] = [{}, {"promise": "new"}, *ways, {"promise": "new"}, {"norm": "inf"}]
        return {"epsilon": epsilon} | more[rng.integers(len(more))]
    if rng.random() < 0.3:
        rates = ("equal_opportunity", "predictive_equality", "demographic_parity")
        return {
            "epsilon": min(epsilon, 1.0),
            "constraint": str(rng.choice(rates)),
            "draw": str(rng.choice(["all", "few"])),
        }
    return {"epsilon": epsilon, "draw": "all", "norm": [1, "inf"][rng.integers(2)]}


def _both_labels(people: People) -> bool:
    pairs = set(zip(people.groups, people.labels, strict=True))
    names = {group for group, _ in pairs}
    return len(names) > 1 and len(pairs) == 2 * len(names)


def _may_refuse(people: People, message: str) -> bool:
    """Inputs that need not be taken: weights that vanish beside others."""
    return people.weights is not None and ("weight" in message or "too small" in message)


def _wrong_file(model: FairModel, scores: np.ndarray, groups: np.ndarray) -> str | None:
    """A saved model is the same model; a person's draw depends on nobody else."""
    text, ids = model.to_json(), np.arange(len(scores))
    again = FairModel.from_json(text)
    if again.to_json() != text:
        return "file: a saved model reads as another"
    fair = model.transform(scores, sensitive_features=groups, ids=ids)
    if not np.isfinite(fair).all():
        return f"range: fair scores {fair}"
    back = again.transform(scores[::-1], sensitive_features=groups[::-1], ids=ids[::-1])[::-1]
    return None if back.tobytes() == fair.tobytes() else "file: a loaded model draws other scores"


def _wrong_rates(model: FairModel, rows: tuple[np.ndarray, ...], asked: dict[str, Any], stated: float) -> str | None:
    """Chances are between 0 and 1, rise with the score, and leave no gap larger than what is stated."""
    scores, labels, groups, mass = rows
    cuts = np.unique(scores)
    for cut in cuts[:: 1 + len(cuts) // 4]:
        chances = model.acceptance_rate(scores, sensitive_features=groups, threshold=float(cut))
        if not ((chances >= 0) & (chances <= 1)).all():
            return f"chances: {chances} at {cut}"
        for name in np.unique(groups):
            own = groups == name
            order = np.argsort(scores[own], kind="stable")
            if (np.diff(chances[own][order]) < -ROUNDING).any():
                return f"order: a higher score is selected less at {cut} in {name}"
        gap = _gap(chances, labels, groups, mass, asked)
        if gap > stated + ROUNDING:
            return f"gap beyond what is stated: {gap} at {cut}, stated {stated}"
    return None


def _gap(chances: np.ndarray, labels: np.ndarray, groups: np.ndarray, mass: np.ndarray, asked: dict[str, Any]) -> float:
    """The largest distance of two groups at one threshold, from the definition."""
    rates = np.array(
        [
            [np.average(chances[rows], weights=mass[rows]) for rows in (own & (labels == 0), own & (labels == 1), own)]
            for own in (groups == name for name in np.unique(groups))
        ]
    )
    apart = np.abs(rates[:, None, :] - rates[None, :, :])
    constraint = asked.get("constraint", "equalized_odds")
    if constraint == "equalized_odds":
        both = apart[..., 0] + apart[..., 1] if asked.get("norm", 1) == 1 else apart[..., :2].max(axis=-1)
        return float(both.max())
    column = {"predictive_equality": 0, "equal_opportunity": 1, "demographic_parity": 2}[constraint]
    return float(apart[..., column].max())
