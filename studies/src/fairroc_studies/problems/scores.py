"""Honest scores, of people that the model was not trained on; kept once they are made.

    python -m fairroc_studies people [NAME ...]

lists the people of `held_out` with rows, groups, AUC and the raw gap by group.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fairroc_studies.harness.people import Array, Case, Part
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.problems.held_out import MODELS, NAMES, held_out
from fairroc_studies.problems.synthetic import synthetic

ADULT = (
    ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week"),
    ("workclass", "marital_status", "occupation", "relationship", "race", "sex", "native_country"),
)
COMPAS = (
    ("age", "priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count"),
    ("sex", "race", "c_charge_degree", "age_cat"),
)
"""Columns of numbers and of words."""
FILES = ("adult_lr", "adult_rf10", "compas_lr", "compas_rf10")
"""Files of scores that may be at hand."""


def _kept(*about: Any) -> str:
    return key(*about, source_digest(__name__), package_versions(("sklearn",)))


def synthetic_file(rows: int, *, groups: int = 2, distinct: int | None = None, seed: int = 0) -> Path:
    """The file of `synthetic` people; calibration and test part are the same."""

    def made() -> dict[str, Array]:
        part = synthetic(rows, groups=groups, distinct=distinct, seed=seed)
        return Case(part, part).arrays()

    return Store().file(_kept("synthetic", rows, groups, distinct, seed), made)


# -- Adult and COMPAS, two groups, three parts -------------------------------------------------------------------------


def encoded(table: Any, numbers: tuple[str, ...], words: tuple[str, ...], *, scaled: bool = True) -> Array:
    """A plain matrix: numbers, scaled unless told otherwise, then words one-hot, null a word of its own."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    number = np.column_stack([np.array(table[c].to_pylist(), dtype=np.float64) for c in numbers])
    word = np.column_stack([np.array([v or "missing" for v in table[c].to_pylist()], dtype=object) for c in words])
    encode = make_column_transformer(
        (StandardScaler() if scaled else "passthrough", slice(0, len(numbers))),
        (OneHotEncoder(sparse_output=False), slice(len(numbers), len(numbers) + len(words))),
    )
    found: Array = encode.fit_transform(np.column_stack((number.astype(object), word))).astype(np.float64)
    return found


@cache
def two_groups(name: str) -> tuple[Array, Array, Array]:
    """Features as a matrix, labels, groups: "adult" by sex, "compas" by African-American or not (6,172 rows)."""
    from fairroc.datasets import load_adult, load_compas

    if name not in ("adult", "compas"):
        raise ValueError(f"the data must be 'adult' or 'compas', got {name!r}.")
    table = load_adult() if name == "adult" else load_compas(filtered=True)
    group, value = ("sex", "Female") if name == "adult" else ("race", "African-American")
    groups = (np.array(table[group].to_pylist()) == value).astype(np.int64)
    features = encoded(table, *(ADULT if name == "adult" else COMPAS))
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


def forest(trees: int, seed: int, leaf: int = 20) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees, min_samples_leaf=leaf, random_state=seed)


def trained_file(name: str, model: str, seed: int) -> Path:
    """A file of a "logistic" or "forest" model's scores, trained on 70 % of the data, on the other two parts."""

    def made() -> dict[str, Array]:
        features, labels, groups = two_groups(name)
        train, calibration, test = three_parts(len(labels), seed)
        classifier = logistic() if model == "logistic" else forest(100, seed)
        scores = classifier.fit(features[train], labels[train]).predict_proba(features)[:, 1]
        everyone = Part(scores, labels, groups)
        return Case(everyone.take(calibration), everyone.take(test)).arrays()

    return Store().file(_kept("trained", name, model, seed), made)


def score_files() -> dict[str, Part]:
    """The files scores/NAME.csv.gz in the folder FAIRROC_DATA (default: data) that are there."""
    from pyarrow import csv

    folder = Path(os.environ.get("FAIRROC_DATA", "data")).expanduser() / "scores"
    tables = {name: csv.read_csv(path) for name in FILES if (path := folder / f"{name}.csv.gz").is_file()}
    return {
        name: Part.named(*(table[column].to_pylist() for column in ("score", "label", "group")))
        for name, table in tables.items()
    }


def main() -> None:
    """Print a table of the data sets."""
    from fairroc import audit
    from fairroc.errors import SmallGroupWarning

    warnings.simplefilter("ignore", SmallGroupWarning)
    print(f"{'set':<11}{'people':>8}{'scored':>8}{'positive':>10} {'model':<9}{'AUC':>7}{'gap':>7}", end="  ")
    print("groups: scored people, AUC")
    for name in sys.argv[1:] or NAMES:
        people = held_out(name, 0)
        rows = len(people["label"])
        for model in MODELS:
            found = audit(people[model], people["label"], sensitive_features=people["group"])
            groups = ", ".join(f"{g.group} {g.rows} {g.auc:.3f}" for g in found.groups)
            print(
                f"{name:<11}{people['people']:>8}{rows:>8}{people['label'].mean():>10.3f} {model:<9}"
                f"{found.auc:>7.4f}{found.gap:>7.3f}  {groups}",
                flush=True,
            )
