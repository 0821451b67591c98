"""LinearPost's protocol without the group: people, our fits, and OxonFair with inferred groups; kept once made.

As in `questions.linearpost`, but one model of group and label together, which does not see the group, gives both
the score and the guess of the group, as in LinearPost's notebooks.
"""

from __future__ import annotations

import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fairroc.core.constraint import equalized_odds
from fairroc.core.realised import all_places
from fairroc.model.model import ModelData
from fairroc_studies.harness.curve import Curve
from fairroc_studies.harness.people import Array, Case, Part, save
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.peers.children import Task, run_many
from fairroc_studies.questions.blind_fits import fitted
from fairroc_studies.questions.blind_people import Known, looked_at, spread
from fairroc_studies.questions.linearpost import FIRST_SEED, SAME, TEST, TRAIN, matrix

EPSILONS = (0.02, 0.03, 0.04)
BOUNDS = (0.02, 0.03, 0.04)
"""OxonFair's."""
PUBLISHED = {("adult", "GBDT"): ((0.8677, 0.0347),)}
"""LinearPost's accuracy and gap on test people without the group, a mean over five seeds."""
L_INF = equalized_odds("inf")
LIMIT = 300.0
"""Seconds that OxonFair may take for one fit."""

Decision = tuple[float, float, float, float]
"""Accuracy and gap at the decision, largest gap at any threshold, and AUC: all of test people."""


@cache
def guesses(name: str, model: str) -> tuple[Array, Array, Array, Array]:
    """Scores, labels, groups (0 or 1) and probabilities of group 1 of the people that did not train the model."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    features, label, words = matrix(name)
    group = np.unique(words, return_inverse=True)[1]
    tells = [k for k in range(features.shape[1]) if set(np.unique(features[:, k])) <= {0.0, 1.0}]
    same = [k for k in tells if (features[:, k] == group).all() or (features[:, k] == 1 - group).all()]
    features = np.delete(features, same, axis=1)
    rest, train = train_test_split(np.arange(len(label)), test_size=TRAIN, random_state=FIRST_SEED)
    scale = StandardScaler().fit(features[train])
    if model == "LR":
        classifier: Any = LogisticRegression(max_iter=10_000, random_state=FIRST_SEED)
    else:
        from lightgbm import LGBMClassifier

        classifier = LGBMClassifier(random_state=FIRST_SEED, verbosity=-1, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit(scale.transform(features[train]), (2 * group + label)[train])
        chances = classifier.predict_proba(scale.transform(features[rest]))
    return chances[:, 1] + chances[:, 3], label[rest].astype(bool), group[rest], chances[:, 2] + chances[:, 3]


def parts(name: str, model: str, seed: int) -> tuple[Known, Known]:
    """People for post-processing, and test people."""
    scores, labels, groups, chances = guesses(name, model)
    everyone = np.arange(len(scores))
    test = np.random.default_rng(seed).choice(everyone, int(TEST * len(matrix(name)[1])), replace=False)
    all_ = Known(np.clip(scores, 0, 1), labels, {"group": groups}, {"1": np.clip(chances, 0, 1)})
    return all_.take(np.setdiff1d(everyone, test)), all_.take(test)


def decided(model: ModelData, post: Known, test: Known) -> tuple[float, float]:
    """Accuracy and gap among test people, decided at the place that is most accurate for the others."""
    first, second = (
        [mixture.realised(model.kernels, p) for p in range(3)]
        for mixture in (spread(model, part).mixture() for part in (post, test))
    )
    places = all_places(first[:2])
    places = np.unique(np.concatenate((np.nextafter(places[1:], 0.0), places)))
    known = _accuracy(first[2].at(places), post)
    best = int(np.argmax(known >= known.max() - SAME))
    there = np.stack([roc.at(places[best : best + 1])[0, :2] for roc in second])
    return float(_accuracy(there[2:], test)[0]), float(np.abs(there[0] - there[1]).max())


def _accuracy(points: Array, known: Known) -> Array:
    """From fpr and tpr of everybody."""
    prior = known.labels.mean()
    return np.asarray((1 - prior) * (1 - points[:, 0]) + prior * points[:, 1])


def plain(name: str, model: str, seed: int) -> Decision:
    """The model itself, cut at one half."""
    test = parts(name, model, seed)[1]
    chosen, group = test.scores >= 0.5, test.attributes["group"]
    rates = [[chosen[(group == g) & (test.labels == y)].mean() for y in (False, True)] for g in (0, 1)]
    outcome = looked_at(None, test, L_INF)
    return float((chosen == test.labels).mean()), float(np.abs(np.diff(rates, axis=0)).max()), outcome.gap, outcome.auc


def ours(name: str, model: str, seed: int, epsilon: float) -> Decision:
    """Our score without the group."""
    about = ("blind linearpost", name, model, seed, epsilon, source_digest(__name__))
    found = Store().rows(
        key(*about, package_versions(("sklearn", "lightgbm"))), lambda: _ours(name, model, seed, epsilon)
    )
    return tuple(found)


def _ours(name: str, model: str, seed: int, epsilon: float) -> Decision:
    post, test = parts(name, model, seed)
    fair = fitted(post, epsilon, use_group=False, norm="inf").model_
    outcome = looked_at(fair, test, L_INF)
    return *decided(fair, post, test), outcome.gap, outcome.auc


def oxonfair(name: str, model: str, seeds: range) -> dict[float, list[Decision] | str]:
    """OxonFair with groups inferred by the same guess, by its bound; or why there is nothing."""
    asked, cases = [], []
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            case = Case(*(_part(known) for known in parts(name, model, seed)))
            path = Path(folder) / f"{seed}.npz"
            save(path, case)
            for bound in BOUNDS:
                for many in (False, True):
                    task = {"ask": "both", "many": many, "data": str(path), "method": "Inferred"}
                    asked.append(Task("oxonfair", {**task, "options": {"bound": bound}}))
                    cases.append((bound, case))
        answers = run_many(asked, seconds=LIMIT, workers=1)
    found: dict[float, list[Decision] | str] = {}
    for (bound, case), one, all_ in zip(cases[::2], answers[::2], answers[1::2], strict=True):
        why = one.error or all_.error
        if why:
            found[bound] = why
        elif not isinstance(before := found.setdefault(bound, []), str):
            totals = case.test.totals
            point, curve = (Curve.of(answer.arrays["test"], totals) for answer in (one, all_))
            gaps = [float(np.abs(np.diff(each.rates, axis=1)).max()) for each in (point, curve)]
            before.append((float(point.accuracy[0]), gaps[0], gaps[1], curve.auc))
    return found


def _part(known: Known) -> Part:
    assert known.probabilities is not None
    both = np.column_stack((known.scores, next(iter(known.probabilities.values()))))
    return Part(both, known.labels.astype(np.int64), known.attributes["group"].astype(np.int64))
