"""Whose scores the study of draws is about: the score files, and held-out people of the registry by two models."""

from __future__ import annotations

from functools import cache

import numpy as np

from fairroc.datasets import load_compas
from fairroc_studies.harness.people import Array, Part
from fairroc_studies.problems.held_out import NAMES, held_out
from fairroc_studies.problems.registry import load
from fairroc_studies.problems.scores import score_files

MOST_ROWS = 20_000
"""Of larger sets so many people are taken, at random."""
MOST_GROUPS, LEAST_CLASS = 10, 30
"""Of many groups the largest ones are taken, those with enough people of each label."""
BANDS = np.array([25, 35, 45, 55, 65])
"""Ages at which a new group begins."""
LARGE = ("adult", "adult-race", "census", "insurance", "vietnam", "labsup", "happiness", "mortgages")
"""Sets that boosting scores too."""
DECILES = "compas, its own deciles"
MANY: dict[str, tuple[tuple[str, ...], ...]] = {
    "adult": (("race",), ("sex", "race"), ("age",), ("marital_status",), ("occupation",)),
    "census": (("race",), ("sex", "race"), ("age",), ("education",)),
    "compas": (("race",), ("race", "sex"), ("age",)),
    "insurance": ((),),
    "twoyear": ((),),
}
"""Columns whose words, crossed, make three groups and more; none: the groups of the set itself."""


def pairs() -> list[str]:
    """Names of the sets with two groups: files, then "set, model"."""
    scored = [f"{name}, {model}" for model, names in (("logistic", NAMES), ("boosting", LARGE)) for name in names]
    return [*score_files(), *scored, DECILES]


def pair(name: str) -> Part:
    """The people of such a set: of more groups the two largest."""
    files = score_files()
    if name in files:
        return files[name]
    if name == DECILES:
        compas = load_compas(filtered=True)
        race = np.where(np.array(compas["race"].to_pylist()) == "African-American", "African-American", "other")
        return Part.named(compas["decile_score"].to_numpy(), compas["label"].to_numpy(), race)
    problem, model = name.split(", ")
    people = held_out(problem, 0)
    return _part(people[model], people["label"], people["group"], 2)


def crossed(name: str, by: tuple[str, ...]) -> Part:
    """The people of a set with more groups, by columns of `MANY`."""
    people = held_out(name, 0)
    groups = [_words(name, column)[people["row"]] for column in by] or [people["group"]]
    joined = np.array([" & ".join(words) for words in zip(*groups, strict=True)])
    return _part(people["logistic"], people["label"], joined, MOST_GROUPS)


@cache
def _words(name: str, column: str) -> Array:
    """A column of everybody in a problem; ages in bands."""
    values = load("compas-propublica" if name == "compas" else name).features[column].to_pylist()
    if column == "age":
        return np.digitize(values, BANDS).astype(str)
    return np.array([value or "missing" for value in values], dtype=str)


def _part(scores: Array, labels: Array, groups: Array, most: int) -> Part:
    """The largest groups; rows are in random order, so that the first ones are a sample."""
    names, codes = np.unique(groups, return_inverse=True)
    classes = np.bincount(2 * codes + labels, minlength=2 * len(names)).reshape(-1, 2)
    order = np.argsort(-classes.sum(axis=1), kind="stable")
    kept = [at for at in order if classes[at].min() >= LEAST_CLASS][:most]
    rows = np.flatnonzero(np.isin(codes, kept))[:MOST_ROWS]
    return Part.named(scores[rows], labels[rows], groups[rows])
