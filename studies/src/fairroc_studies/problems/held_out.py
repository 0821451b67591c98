"""Honest scores of many data sets, one part each: people that the model was not trained on; kept once they are made.

A module of its own, with few imports: what is kept is made anew only when something that matters has changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairroc_studies.harness.people import Array
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.problems.packaged import PACKAGED
from fairroc_studies.problems.registry import load

TRAIN_ROWS = 20_000
"""At most so many people train a model."""
RARE = 30
"""A word that fewer people have gets no column of its own."""
MODELS = ("logistic", "boosting")
"""What is trained."""
NAMES = ("adult", "adult-race", "compas", *PACKAGED)
"""The data sets; "adult-race" has all five races, two of them with fewer than 500 people."""
COMPAS = (
    "age",
    "priors_count",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "sex",
    "race",
    "c_charge_degree",
    "age_cat",
)
"""Columns of COMPAS that the models see."""


def held_out(name: str, seed: int) -> dict[str, Array]:
    """Scores of two models for people they were not trained on: "logistic", "boosting", "label", "group".

    A third of the people, at most `TRAIN_ROWS`, train; the other two thirds come back, in a seeded order. "row" is
    their place in the whole set, "people" the number of people there.
    """
    kept = key("held out", name, seed, source_digest(__name__), package_versions(("sklearn",)))
    return dict(Store().arrays(kept, lambda: _held_out(*matrix(name), seed)))


def _held_out(features: Array, y: Array, group: Array, seed: int) -> dict[str, Array]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    order = np.random.default_rng(seed).permutation(len(y))
    third = len(y) // 3
    train, rest = order[: min(third, TRAIN_ROWS)], order[third:]
    fill = SimpleImputer(strategy="median", add_indicator=True)
    models = {
        "logistic": make_pipeline(fill, StandardScaler(), LogisticRegression(C=0.1, max_iter=1000)),
        "boosting": HistGradientBoostingClassifier(random_state=seed, early_stopping=True, learning_rate=0.06),
    }
    found = {"label": y[rest], "group": group[rest], "row": rest, "people": np.array(len(y))}
    for name in MODELS:
        classifier = models[name].fit(features[train], y[train])
        found[name] = classifier.predict_proba(features[rest])[:, 1].astype(np.float64)
    return found


def matrix(name: str) -> tuple[Array, Array, Array]:
    """Features as a float matrix (words one-hot, missing numbers NaN), target, group as text."""
    from fairroc.datasets import load_compas

    if name not in NAMES:
        raise ValueError(f"the data set must be one of {', '.join(NAMES)}; got {name!r}.")
    problem = load({"adult-race": "adult", "compas": "compas-race"}.get(name, name))
    features, groups = problem.features, problem.groups
    if name == "compas":
        features = load_compas(filtered=True).select(list(COMPAS))
    elif name not in PACKAGED:
        groups = np.array(features["race"].to_pylist()) if name == "adult-race" else groups
        features = features.drop_columns(["fnlwgt", "education"])
    return one_hot(features.to_pandas()), problem.labels, groups


def one_hot(frame: Any) -> Array:
    """Columns of numbers as they are, and one for each word that is not rare."""
    from pandas.api.types import is_numeric_dtype

    columns = []
    for name in frame.columns:
        column = frame[name]
        if is_numeric_dtype(column.dtype):
            columns.append(column.to_numpy(dtype=np.float32, na_value=np.nan))
            continue
        known = column.astype(object).fillna("missing").astype(str).to_numpy()
        words, counts = np.unique(known, return_counts=True)
        columns += [(known == word).astype(np.float32) for word in words[counts >= RARE]]
    return np.column_stack(columns)
