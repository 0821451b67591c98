"""Adult and COMPAS on LinearPost's protocol: one decision, accuracy and gap among test people, beside its figures.

    python -m fairroc_studies linearpost                 # some minutes; needs lightgbm for GBDT
    python -m fairroc_studies linearpost --seeds 5 --models LR

Xian and Zhao's protocol (the notebooks adult.ipynb and compas.ipynb of github.com/uiuctml/fair-classification): 35 % of
the people train a model (seed 33), 30 % test, drawn anew for each seed from 33 on, and the others are for
post-processing; the group is known. The gap is max(|dFPR|, |dTPR|). Our score is fitted with norm="inf" to the
post-processing people, its threshold is the most accurate one there, and all figures are exact expectations over the
draw. LinearPost's figures are the published means over seeds 33 to 37; ours, over these seeds and over all, at the same
gap lie on straight lines between the means over seeds for several epsilons, with a standard error by a jackknife over
seeds.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from fairroc.core.kernel import Kernel
from fairroc.core.realised import all_places, realise
from fairroc.core.roc import rates_at
from fairroc.fitting.solver import Solver
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc_studies.harness.people import Array
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.harness.tables import table

TRAIN, TEST = 0.35, 0.3
FIRST_SEED = 33
EPSILONS = (0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2)
PROMISES = ("fitted", "new")
SAME = 1e-12
"""Accuracies nearer than this are equal: sums in different order. Of equal ones the strictest decision is taken."""

PUBLISHED = {
    ("adult", "GBDT"): ((0.8694, 0.0416, 0.04), (0.8644, 0.0402, 0.02), (0.8609, 0.0300, 0.01)),
    ("adult", "LR"): ((0.8446, 0.0394, 0.02), (0.8382, 0.0285, 0.001)),
    ("compas", "LR"): ((0.6830, 0.0846, 0.08),),
    ("compas", "GBDT"): ((0.6469, 0.0928, 0.02),),
}
"""LinearPost's accuracy and gap on test people, and its alpha: means over five seeds in the notebooks named above."""
THEIRS = 5
"""Seeds of the published figures, from the same one on."""


# -- people ------------------------------------------------------------------------------------------------------------


@cache
def matrix(name: str) -> tuple[Array, Array, Array]:
    """Features (words one-hot, null is none of them), label, group as text."""
    import pandas as pd

    from fairroc.datasets import load_adult, load_compas

    if name == "adult":
        people = load_adult().drop_columns(["fnlwgt", "income", "split"]).to_pandas()
        group = people["sex"].to_numpy(dtype=str)
    else:
        people = load_compas(filtered=True).to_pandas()
        people = people[people["race"].isin(["African-American", "Caucasian"])].reset_index(drop=True)
        stay = pd.to_datetime(people["c_jail_out"]) - pd.to_datetime(people["c_jail_in"])
        wanted = ["age", "c_charge_degree", "race", "sex", "priors_count"]
        group, label = people["race"].to_numpy(dtype=str), people["is_recid"]
        people = people[wanted].assign(length_of_stay=stay.dt.days, label=label)
    features = pd.get_dummies(people.drop(columns=["label"])).to_numpy(dtype=np.float32)
    return features, people["label"].to_numpy().astype(int), group


@cache
def scored(name: str, model: str) -> tuple[Array, Array, Array]:
    """Scores, labels and groups of the people that did not train the model."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    rest, train = train_test_split(np.arange(len(matrix(name)[1])), test_size=TRAIN, random_state=FIRST_SEED)
    features, label, group = matrix(name)
    scale = StandardScaler().fit(features[train])
    if model == "LR":
        classifier: Any = LogisticRegression(max_iter=10_000, random_state=FIRST_SEED)
    else:
        from lightgbm import LGBMClassifier

        classifier = LGBMClassifier(random_state=FIRST_SEED, verbosity=-1, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit(scale.transform(features[train]), label[train])
        return classifier.predict_proba(scale.transform(features[rest]))[:, 1], label[rest], group[rest]


def split(name: str, model: str, seed: int) -> tuple[People, People]:
    """People for post-processing, and test people."""
    columns = scored(name, model)
    everyone = np.arange(len(columns[0]))
    test = np.random.default_rng(seed).choice(everyone, int(TEST * len(matrix(name)[1])), replace=False)
    post = np.setdiff1d(everyone, test)
    first, second = ([column[rows] for column in columns] for rows in (post, test))
    return tuple(read_people(s, y, sensitive_features=g) for s, y, g in (first, second))  # type: ignore[return-value]


# -- decisions ---------------------------------------------------------------------------------------------------------


def decision(kernels: Sequence[Kernel], post: People, test: People) -> tuple[float, float]:
    """Accuracy and gap among test people, decided at the place that is most accurate for the others."""
    if not kernels:
        cuts = np.append(np.inf, np.unique(np.concatenate([curve.thresholds for curve in post.exact.curves]))[::-1])
        here, there = (
            np.stack([np.stack(rates_at(curve, cuts), axis=1) for curve in part.exact.curves], axis=1)
            for part in (post, test)
        )
    else:
        lowest = [float(kernel.thresholds[-1]) for kernel in kernels]
        first, second = (
            [realise(curve, kernel) for curve, kernel in zip(part.not_below(lowest).exact.curves, kernels, strict=True)]
            for part in (post, test)
        )
        places = all_places(first)
        places = np.unique(np.concatenate((np.nextafter(places[1:], 0.0), places)))
        here, there = (np.stack([roc.at(places)[:, :2] for roc in part], axis=1) for part in (first, second))
    known = accuracy(here, post)
    best = int(np.argmax(known >= known.max() - SAME))
    return float(accuracy(there, test)[best]), float(np.ptp(there[best], axis=0).max())


def accuracy(rates: Array, people: People) -> Array:
    """(points,) share of people decided as their label says, from (points, groups, 2) fpr and tpr."""
    all_, positives = people.group_counts()
    right = (1.0 - rates[..., 0]) * (all_ - positives) + rates[..., 1] * positives
    return np.asarray(right.sum(axis=1) / all_.sum())


def at_half(name: str, model: str, seed: int) -> tuple[float, float]:
    """Accuracy and gap of the model itself, cut at one half."""
    test = split(name, model, seed)[1]
    rates = np.stack([np.stack(rates_at(c, np.array([0.5])), axis=1) for c in test.exact.curves], axis=1)
    return float(accuracy(rates, test)[0]), float(np.ptp(rates[0], axis=0).max())


def one(name: str, model: str, seed: int) -> dict[str, list[tuple[float, float]]]:
    """(accuracy, gap) for every epsilon, by promise; kept once it is made."""
    kept = key("linearpost", name, model, seed, source_digest(__name__), package_versions(("sklearn", "lightgbm")))
    return Store().rows(kept, lambda: _one(name, model, seed))


def _one(name: str, model: str, seed: int) -> dict[str, list[tuple[float, float]]]:
    post, test = split(name, model, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solvers = {p: Solver(post, Options.checked(epsilon=0.0, norm="inf", promise=p)) for p in PROMISES}
        solutions = {p: [solver.at(epsilon) for epsilon in EPSILONS] for p, solver in solvers.items()}
    return {
        promise: [decision(() if each is None else each.kernels, post, test) for each in found]
        for promise, found in solutions.items()
    }


# -- tables ------------------------------------------------------------------------------------------------------------


def at_gap(points: Array, gap: float) -> float:
    """Accuracy at a gap from (seeds, epsilons, 2) accuracies and gaps: means over seeds, then straight lines."""
    mean = points.mean(axis=0)
    order = np.argsort(mean[:, 1])
    return float(np.interp(gap, mean[order, 1], np.maximum.accumulate(mean[order, 0]), left=np.nan, right=np.nan))


def with_error(points: Array, gap: float) -> tuple[float, float]:
    """The same and its standard error by a jackknife over seeds; NaN for gaps that are not reached."""
    whole = at_gap(points, gap)
    if np.isnan(whole):
        return whole, whole
    each = np.array([at_gap(np.delete(points, k, 0), gap) for k in range(len(points))])
    return whole, float(np.sqrt((len(points) - 1) * np.nanmean((each - np.nanmean(each)) ** 2)))


def row(name: str, model: str, published: tuple[float, float, float], found: dict[str, Array]) -> list[str]:
    """One published figure, and ours at its gap."""
    accuracy, gap, alpha = published
    line = [f"{name} {model}", f"{alpha:g}", f"{gap:.4f}", f"{accuracy:.4f}"]
    for points in (found[promise][:seeds] for seeds in (THEIRS, None) for promise in PROMISES):
        mine, error = with_error(points, gap)
        known = f"{mine:.4f} ± {error:.4f} ({1000 * (mine - accuracy):+.1f})"
        line.append(known if np.isfinite(mine) else f"least gap {points.mean(axis=0)[:, 1].min():.4f}")
    return line


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--data", nargs="+", choices=["adult", "compas"], default=["adult", "compas"])
    parser.add_argument("--models", nargs="+", choices=["LR", "GBDT"], default=["GBDT", "LR"])
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    seeds = range(FIRST_SEED, FIRST_SEED + chosen.seeds)
    beside, every = [], []
    for (name, model), figures in PUBLISHED.items():
        if name not in chosen.data or model not in chosen.models:
            continue
        runs = [one(name, model, seed) for seed in seeds]
        found = {promise: np.array([run[promise] for run in runs]) for promise in PROMISES}
        beside += [row(name, model, figure, found) for figure in figures]
        plain = np.array([at_half(name, model, seed) for seed in seeds]).mean(axis=0)
        every.append([f"{name} {model}", "model at 0.5", "", f"{plain[0]:.4f}", f"{plain[1]:.4f}"])
        for promise in PROMISES:
            mean, error = found[promise].mean(axis=0), found[promise].std(axis=0, ddof=1) / len(seeds) ** 0.5
            every += [
                [f"{name} {model}", promise, f"{e:g}", f"{m[0]:.4f} ± {s[0]:.4f}", f"{m[1]:.4f} ± {s[1]:.4f}"]
                for e, m, s in zip(EPSILONS, mean, error, strict=True)
            ]
    head = ["data, model", "alpha", "gap", "LinearPost"]
    head += [f"{p}, {n} seeds" for n in (min(THEIRS, len(seeds)), len(seeds)) for p in PROMISES]
    print(f"Accuracy at equal gap; seeds {seeds[0]} to {seeds[-1]} (in brackets: less LinearPost's, in thousandths).\n")
    print(table(head, beside))
    print("\n" + table(["data, model", "promise", "epsilon", "accuracy", "gap"], every))
