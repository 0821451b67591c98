"""Fitted post-processors, all alike: a list of operating points, and whom each of them accepts with what chance.

A rule's points are fixed when it is fitted and mean the same on any people, so the point that is most accurate on the
fitted people can be taken to others. Its figures are exact expectations over the draw; nothing is simulated here.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.core.kernel import Kernel
from fairroc.core.realised import RealisedRoc, all_places, all_points, ordered_place
from fairroc.core.roc import RocCurve, rates_at
from fairroc.errors import DataError, FairrocWarning
from fairroc.fairmodel import FairModel
from fairroc.fitting.fit import fit
from fairroc.froc import FrocRun, query_grid, run_froc
from fairroc.model.model import ModelData, expected_rocs
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc_studies.harness.curve import Curve, reached, thresholds_of
from fairroc_studies.harness.people import Part
from fairroc_studies.peers.fairprojection import Divergence, fit_as_authors

FloatArray: TypeAlias = NDArray[np.float64]

QUERIES = 100
"""Thresholds of the paper's classifiers, t_i = i / 100, and of its score, over the range of scores."""

FAIR_SCORES: dict[str, dict[str, Any]] = {
    "froc": {"method": "froc", "draw": "all"},
    "optimal": {"draw": "all"},
    "optimal-100": {"draw": "all", "queries": QUERIES},
    "default": {},
}
"""Options of `FairROC` for each method that gives a fair score. The paper's classifiers randomise between thresholds,
so its score and the optimum beside it draw their ties; the default keeps the raw order where epsilon leaves room.
"optimal-100" is the optimum of those who look at as many thresholds as the paper's method does."""


class Rule(Protocol):
    """A fitted post-processor."""

    def both(self, people: Part) -> tuple[Curve, Curve]:
        """These people at the rule's own operating points, and at every threshold at which anything changes for one."""

    def chances(self, people: Part, point: int) -> FloatArray:
        """(n,) probability that an operating point accepts each row."""

    def curve(self, people: Part) -> Curve:
        """These people at the rule's own operating points."""
        return self.both(people)[0]

    def whole(self, people: Part) -> Curve:
        """These people at every threshold: for the gap and the AUC."""
        return self.both(people)[1]


# -- deterministic scores ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreRule(Rule):
    """Accept whose score, after some transformation, reaches a threshold."""

    names: tuple[str, ...]
    thresholds: FloatArray  # falling; +inf accepts nobody
    transform: Callable[[Part], FloatArray] | None = None

    def scores(self, people: Part) -> FloatArray:
        _check_groups(self.names, people)
        return people.scores if self.transform is None else self.transform(people)

    def both(self, people: Part) -> tuple[Curve, Curve]:
        scores = self.scores(people)
        return reached(scores, people, self.thresholds), reached(scores, people)

    def chances(self, people: Part, point: int) -> FloatArray:
        return np.asarray(self.scores(people) >= self.thresholds[point], dtype=np.float64)


def as_it_is(people: Part) -> ScoreRule:
    """The model's own score, with every distinct score of these people as a threshold."""
    return ScoreRule(people.names, thresholds_of(people.scores))


def at_half(people: Part) -> ScoreRule:
    """The model's own score, cut at one half."""
    return ScoreRule(people.names, np.array([0.5]))


def fairprojection(people: Part, tolerance: float, divergence: Divergence) -> ScoreRule:
    """FairProjection with its authors' regularisation, as a score."""
    post = fit_as_authors(divergence, tolerance, people.scores, people.labels, people.group_names)

    def transform(others: Part) -> FloatArray:
        return post.transform(others.scores, others.group_names)

    return ScoreRule(people.names, thresholds_of(transform(people)), transform)


# -- fair scores -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FairScore(Rule):
    """A randomised fair score, cut at places of its scale (as thresholds do): those up to a place are accepted."""

    model: FairModel
    places: FloatArray  # rising; -1 accepts nobody

    def both(self, people: Part) -> tuple[Curve, Curve]:
        _check_groups(self.model.names, people)
        _, realised = expected_rocs(self.model, counted(people))
        at_places = np.stack([_rates(roc, self.places) for roc in realised], axis=1)
        return _counts(at_places, people), _counts(np.stack(all_points(realised), axis=2), people)

    def chances(self, people: Part, point: int) -> FloatArray:
        _check_groups(self.model.names, people)
        found = np.zeros(people.rows)
        for g, kernel in enumerate(self.model.kernels):
            rows = people.groups == g
            found[rows] = chance_at(kernel, people.scores[rows], float(self.places[point]))
        return found


def fair_score(people: Part, method: str, epsilon: float) -> FairScore | ScoreRule:
    """`FairROC` by one of the methods of ``FAIR_SCORES``; the score as it is where that meets epsilon already.

    The places are all those where some fitted group's rates bend or step, before and after the step: between two of
    them rates are straight in the place, so one of them is most accurate among all thresholds.
    """
    fitted = fit(counted(people), Options.checked(epsilon=epsilon, promise="fitted", **FAIR_SCORES[method]), salt=0)
    if fitted.model.unchanged:
        return as_it_is(people)
    places = all_places(fitted.realised)
    return FairScore(
        FairModel.of(fitted.model), np.unique(np.concatenate(([-1.0], np.nextafter(places[1:], 0.0), places)))
    )


def expected(model: ModelData, people: Part) -> Curve:
    """A fitted model's score of these people at every threshold, in expectation over the draw."""
    if model.unchanged:
        return reached(people.scores, people)
    return _counts(np.stack(all_points(expected_rocs(model, counted(people))[1]), axis=2), people)


def chance_at(kernel: Kernel, scores: FloatArray, place: float) -> FloatArray:
    """(n,) probability that people of a group get a place up to ``place``."""
    if place < 0:
        return np.zeros(len(scores))
    levels = kernel.table.shape[1]
    level = min(int(place), levels - 1)
    inside = place - level
    block = np.searchsorted(-kernel.thresholds, -scores, side="left")
    block = np.minimum(block, len(kernel.thresholds) - 1)
    own = (kernel.first[block] >= 0) & (kernel.first[block] <= level) & (level <= kernel.last[block])
    begin = np.where(own & (level == kernel.first[block]), kernel.start[block], 0.0)
    end = np.where(own & (level == kernel.last[block]), kernel.stop[block], 1.0)
    width = end - begin
    drawn = np.where(width > 0, (inside - begin) / np.where(width > 0, width, 1.0), inside >= begin)
    # added to the level as in a realised curve, so that a person's own place counts as reached whatever the rounding
    kept = level + ordered_place(kernel, block, scores) <= place
    share = np.clip(np.where(own & kernel.ordered[block], kept, drawn), 0.0, 1.0)
    row = kernel.row[block]
    chance: FloatArray = kernel.table[:, :level].sum(axis=1)[row] + share * kernel.table[row, level]
    return np.minimum(chance, 1.0)


def _rates(roc: RealisedRoc, places: FloatArray) -> FloatArray:
    """(points, 2) fpr and tpr up to places; nobody has one below 0."""
    found = roc.at(np.maximum(places, 0.0))[:, :2]
    found[places < 0] = 0.0
    return found


# -- the paper's classifiers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Classifiers(Rule):
    """Algorithm 1 and ConstructClassifier: one randomised classifier for every threshold. They are no score."""

    run: FrocRun

    def both(self, people: Part) -> tuple[Curve, Curve]:
        _check_groups(self.run.names, people)
        curves = counted(people).exact.curves
        found = _counts(np.stack([self._attained(g, curve) for g, curve in enumerate(curves)], axis=1), people)
        return found, found

    def chances(self, people: Part, point: int) -> FloatArray:
        return self.run.acceptance(people.scores, sensitive_features=people.group_names, index=point + 1)

    def _attained(self, group: int, curve: RocCurve) -> FloatArray:
        """(points, 2) fpr and tpr of the mixtures of one group."""
        mixture = self.run.classifiers[group]
        rates = np.stack(rates_at(curve, mixture.thresholds.ravel()), axis=1).reshape(*mixture.thresholds.shape, 2)
        return np.asarray(np.einsum("kc,kcd->kd", mixture.weights, rates))


def classifiers(people: Part, epsilon: float) -> Classifiers:
    """The paper's own objects, with thresholds i / 100."""
    groups, grid = people.group_names, query_grid(QUERIES)
    return Classifiers(run_froc(people.scores, people.labels, sensitive_features=groups, epsilon=epsilon, queries=grid))


# -- what they share ---------------------------------------------------------------------------------------------------


def counted(people: Part) -> People:
    """These people as fairroc reads them."""
    return read_people(people.scores, people.labels, sensitive_features=people.group_names)


def _counts(rates: FloatArray, people: Part) -> Curve:
    totals = people.totals.reshape(-1, 2).astype(np.float64)
    return Curve(rates * totals, totals)


def _check_groups(names: tuple[str, ...], people: Part) -> None:
    if names != people.names:
        raise DataError(
            f"all parts must hold the same groups; {', '.join(names)} were fitted, got {', '.join(people.names)}. "
            "Take more rows, or merge small groups."
        )


@contextmanager
def collected_warnings(found: Counter[str]) -> Iterator[None]:
    """Count fairroc's warnings by their first words instead of giving them; give all others."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if issubclass(warning.category, FairrocWarning):
            found[str(warning.message).partition(":")[0].partition(";")[0]] += 1
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
