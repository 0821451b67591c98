"""Data: seeded synthetic scores of any size, and scores of models trained on Adult and COMPAS, cached on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

ROOT = Path(__file__).resolve().parents[4]
FOLDER = ROOT / ".bench"
"""Everything the harness makes (data, environments, results) lies here; git ignores it."""

VERSION = 1
"""Part of every cached file's name; raise it when the data change."""

SOURCES = ("adult", "compas")
MODELS = ("logistic", "forest")
TITLES = {"adult": "Adult", "compas": "COMPAS", "logistic": "LR", "forest": "RF"}


@dataclass(frozen=True)
class Part:
    """Scores, labels (0 or 1) and groups (0, 1, ...) of some people."""

    scores: Array
    labels: Array
    groups: Array

    def take(self, rows: Array | slice) -> Part:
        return Part(self.scores[rows], self.labels[rows], self.groups[rows])

    def then(self, other: Part) -> Part:
        """These people, then the others."""
        pairs = ((self.scores, other.scores), (self.labels, other.labels), (self.groups, other.groups))
        return Part(*map(np.concatenate, pairs))

    @property
    def cells(self) -> Array:
        """2 * group + label."""
        return 2 * self.groups.astype(np.int64) + self.labels

    @property
    def totals(self) -> Array:
        """Number of people in each cell."""
        return np.bincount(self.cells)


@dataclass(frozen=True)
class Case:
    """What a method sees: people to fit on and people to apply it to."""

    calibration: Part
    test: Part


# -- synthetic ---------------------------------------------------------------------------------------------------------


def synthetic(rows: int, *, groups: int = 2, distinct: int | None = None, seed: int = 0) -> Part:
    """Scores in (0, 1) that separate the labels better in some groups than in others.

    ``distinct`` bounds the number of different scores, and with it the size of the ROC hulls; None leaves them all
    different.
    """
    rng = np.random.default_rng([seed, rows, groups, distinct or 0])
    group = rng.integers(0, groups, rows, dtype=np.int8)
    base_rate = np.linspace(0.5, 0.3, groups)
    label = (rng.random(rows) < base_rate[group]).astype(np.int8)
    distance = np.linspace(1.8, 1.0, groups)
    signal = rng.standard_normal(rows) + label * distance[group] - 1.0
    score = 1.0 / (1.0 + np.exp(-signal))
    if distinct is not None:
        score = (np.floor(score * distinct) + 0.5) / distinct
    return Part(score, label, group)


def synthetic_file(rows: int, *, groups: int = 2, distinct: int | None = None, seed: int = 0) -> Path:
    """The cached file of `synthetic`; calibration and test part are the same people."""
    name = f"synthetic-{rows}-{groups}-{distinct or 'all'}-{seed}"

    def made() -> Case:
        part = synthetic(rows, groups=groups, distinct=distinct, seed=seed)
        return Case(part, part)

    return _cached(name, made)


# -- real data ---------------------------------------------------------------------------------------------------------

ADULT_NUMBERS = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
ADULT_WORDS = ("workclass", "marital_status", "occupation", "relationship", "race", "sex", "native_country")
COMPAS_NUMBERS = ("age", "priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count")
COMPAS_WORDS = ("sex", "race", "c_charge_degree", "age_cat")


def real_data(name: str) -> tuple[Array, Array, Array]:
    """Features as a plain matrix, labels, groups: Adult by sex, COMPAS by African-American or not (6,172 rows)."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from fairroc.datasets import load_adult, load_compas

    if name == "adult":
        table, numbers, words, group, value = load_adult(), ADULT_NUMBERS, ADULT_WORDS, "sex", "Female"
    else:
        table, numbers, words = load_compas(filtered=True), COMPAS_NUMBERS, COMPAS_WORDS
        group, value = "race", "African-American"
    number = np.column_stack([np.array(table[c].to_pylist(), dtype=np.float64) for c in numbers])
    word = np.column_stack([np.array([v or "missing" for v in table[c].to_pylist()], dtype=object) for c in words])
    encode = make_column_transformer(
        (StandardScaler(), slice(0, len(numbers))),
        (OneHotEncoder(sparse_output=False), slice(len(numbers), len(numbers) + len(words))),
    )
    features = encode.fit_transform(np.column_stack((number.astype(object), word))).astype(np.float64)
    groups = (np.array(table[group].to_pylist()) == value).astype(np.int64)
    return features, table["label"].to_numpy().astype(np.int64), groups


def three_parts(rows: int, seed: int) -> tuple[Array, Array, Array]:
    """Row numbers of a seeded split 70 / 15 / 15: train, calibration, test."""
    order = np.random.default_rng(seed).permutation(rows)
    train, calibration, test = np.split(order, [int(0.7 * rows), int(0.85 * rows)])
    return train, calibration, test


def logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


def forest(trees: int, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees, min_samples_leaf=20, random_state=seed)


def trained(source: str, model: str, seed: int) -> Case:
    """A model trained on 70 % of the data, its scores on the other two parts."""
    if source not in SOURCES or model not in MODELS:
        raise ValueError(f"data must be one of {SOURCES} and model one of {MODELS}; {source!r} and {model!r} came.")
    features, labels, groups = real_data(source)
    train, calibration, test = three_parts(len(labels), seed)
    classifier = logistic() if model == "logistic" else forest(100, seed)
    classifier.fit(features[train], labels[train])
    scores = classifier.predict_proba(features)[:, 1]
    everyone = Part(scores, labels, groups)
    return Case(everyone.take(calibration), everyone.take(test))


def trained_file(source: str, model: str, seed: int) -> Path:
    """The cached file of `trained`."""
    return _cached(f"{source}-{model}-{seed}", lambda: trained(source, model, seed))


# -- files -------------------------------------------------------------------------------------------------------------


def save(path: Path, case: Case) -> None:
    """Write a case, whole or not at all; a test part that is the calibration part is written once."""
    arrays = _fields("calibration", case.calibration)
    if case.test is not case.calibration:
        arrays |= _fields("test", case.test)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.stem}.{os.getpid()}.partial.npz")
    np.savez(partial, **arrays)
    partial.replace(path)


def load(path: Path | str) -> Case:
    """Read a case back."""
    with np.load(path) as file:
        parts = {name: file[name] for name in file.files}
    calibration = _part("calibration", parts)
    return Case(calibration, _part("test", parts) if "test_scores" in parts else calibration)


def _cached(name: str, make: Callable[[], Case]) -> Path:
    path = FOLDER / "data" / f"{name}-v{VERSION}.npz"
    if not path.exists():
        save(path, make())
    return path


def _fields(name: str, part: Part) -> dict[str, Array]:
    return {f"{name}_scores": part.scores, f"{name}_labels": part.labels, f"{name}_groups": part.groups}


def _part(name: str, arrays: dict[str, Array]) -> Part:
    return Part(*(arrays[f"{name}_{field}"] for field in ("scores", "labels", "groups")))
