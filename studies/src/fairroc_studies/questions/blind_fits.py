"""Fits of the question "blind", one set of people and one seed each; kept once they are made.

A module of its own: what is kept is made anew only when the library, the people or these fits have changed, not the
tables about them.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fairroc import FairROC
from fairroc_studies.harness.people import Array
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.models.linear import matrix
from fairroc_studies.problems.problem import Problem
from fairroc_studies.questions.blind_people import Known, guessed, looked_at, problem_of, thirds, trained

EPSILON = 0.05
WAYS = ("original", "known", "proxy", "score")
COMBINED = ("original", "intersection", "each")
RACES = {
    "adult": {"Amer-Indian-Eskimo": "Other"},
    "compas": {"Asian": "Other", "Native American": "Other"},
}
"""Races of very few people are one with "Other"."""


@dataclass(frozen=True)
class Figures:
    """Of the people fitted and of new ones: gaps by attribute, and AUC; and what the fit says about new people.

    ``least`` is the number of people of the smallest class (group and label) that was compared.
    """

    fitted: dict[str, float]
    fitted_auc: float
    new: dict[str, float]
    new_auc: float
    gap_estimate: float | None = None
    gap_error: float | None = None
    auc_estimate: float | None = None
    auc_error: float | None = None
    upper: float | None = None
    cells: int = 0
    rows: int = 0
    least: int = 0


def fitted(known: Known, epsilon: Any = EPSILON, **options: Any) -> FairROC:
    """A fair score of these people; their guesses are given only where the group is not used."""
    guesses = known.probabilities if options.get("use_group") is False else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options.setdefault("promise", "fitted")
        post = FairROC(epsilon, salt=1, **options)
        return post.fit(known.scores, known.labels, sensitive_features=known.features, group_probabilities=guesses)


def figures(post: FairROC | None, known: Known, new: Known) -> Figures:
    """What a fair score (None: the original one) does, and what it says it does."""
    model = None if post is None else post.model_
    here, there = looked_at(model, known), looked_at(model, new)
    found = Figures(dict(here.gaps), here.auc, dict(there.gaps), there.auc, rows=known.rows, least=known.least())
    if post is None:
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ahead = post.outlook_
    return replace(
        found,
        gap_estimate=ahead.gap_estimate,
        gap_error=ahead.gap_standard_error,
        auc_estimate=ahead.auc_estimate,
        auc_error=ahead.auc_standard_error,
        upper=ahead.upper,
        cells=len(post.model_.groups),
        least=ahead.limited_by.rows,
    )


def kept(*about: Any) -> str:
    return key("blind", *about, source_digest(__name__), package_versions(("sklearn",)))


def blind(name: str, seed: int) -> dict[str, Figures]:
    """The original score, and fair ones with the group known, by a proxy, and from the score alone."""
    found = Store().rows(kept("ways", name, seed), lambda: plain(_blind(*guessed_people(name, seed))))
    return {way: Figures(**one) for way, one in found.items()}


def guessed_people(name: str, seed: int) -> tuple[Known, Known]:
    problem = problem_of(name)
    return guessed(problem, problem.groups, seed)


def _blind(known: Known, new: Known) -> dict[str, Figures]:
    nothing = Known(known.scores, known.labels, known.attributes)
    return {
        "original": figures(None, known, new),
        "known": figures(fitted(known), known, new),
        "proxy": figures(fitted(known, use_group=False), known, new),
        "score": figures(fitted(nothing, use_group=False), nothing, new),
    }


def attributes(name: str, seed: int) -> dict[str, Figures]:
    """The original score, and fair ones by the intersections of sex and race, and by each for itself."""
    found = Store().rows(kept("each", name, seed), lambda: plain(_attributes(*crossed_people(name, seed))))
    return {way: Figures(**one) for way, one in found.items()}


def crossed_people(name: str, seed: int) -> tuple[Known, Known]:
    """People of Adult or COMPAS with sex and race; the score knows neither."""
    problem, sex, race = sexes_and_races(name)
    words = np.stack([sex, race, problem.labels.astype(str)])
    train, fit, new = thirds(np.unique(words, axis=1, return_inverse=True)[1].ravel(), seed)
    scores = trained(matrix(problem, train, protected=False), problem.labels, train)[:, 1]
    everyone = Known(scores, problem.labels, {"sex": sex, "race": race})
    return everyone.take(fit), everyone.take(new)


def sexes_and_races(name: str) -> tuple[Problem, Array, Array]:
    from fairroc.datasets import load_adult, load_compas

    problem = problem_of({"adult": "adult-sex-race", "compas": "compas-race-sex"}[name])
    table = load_adult() if name == "adult" else load_compas(filtered=True)
    sex, race = (np.array(table[column].to_pylist(), dtype=np.str_) for column in ("sex", "race"))
    few = np.isin(race, list(RACES[name]))
    return problem, sex, np.where(few, "Other", race)


def _attributes(known: Known, new: Known) -> dict[str, Figures]:
    return {
        "original": figures(None, known, new),
        "intersection": figures(fitted(known), known, new),
        "each": figures(fitted(known, combine="each"), known, new),
    }


def plain(found: dict[str, Figures]) -> dict[str, Any]:
    """For the store."""
    return {way: asdict(one) for way, one in found.items()}
