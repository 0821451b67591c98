"""What the Displays draw: exact rates of a score, and of the fair score a model makes of it."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from fairroc.auditing.audit import UNLABELLED, Settings, audit_people
from fairroc.auditing.findings import Audit
from fairroc.core.chain import FloatArray, merged
from fairroc.core.constraint import Distance, OneRate, Rates
from fairroc.core.realised import RealisedRoc, all_places, all_points, two_sided
from fairroc.core.roc import Population, RocCurve, all_thresholds, rates_at
from fairroc.core.scale import Scale
from fairroc.errors import DataError, several
from fairroc.fitting.fit import Fitted
from fairroc.model.families import family_people
from fairroc.model.model import ModelData, expected_rocs, row_count
from fairroc.people.door import read_people, sensitive_rows
from fairroc.people.people import People, both_labels
from fairroc.stats.bands import dkw_reach

Widths = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRates:
    """Rates of scores as they are."""

    curves: tuple[RocCurve, ...]

    def curve(self, g: int) -> tuple[FloatArray, FloatArray]:
        """fpr and tpr along the ROC curve of group number ``g``."""
        return self.curves[g].fpr, self.curves[g].tpr

    def at(self, thresholds: FloatArray) -> FloatArray:
        """(groups, 2, k) rates of ``score >= t``."""
        return np.stack([np.stack(rates_at(curve, thresholds)) for curve in self.curves])

    def everywhere(self) -> tuple[FloatArray, FloatArray]:
        """(k,) falling thresholds, and (groups, 2, k) rates there; between two thresholds those of the higher one."""
        thresholds = all_thresholds(self.curves)[::-1]
        return thresholds, self.at(thresholds)

    def span(self) -> tuple[float, float]:
        """Lowest and highest score."""
        return min(c.thresholds[-1] for c in self.curves).item(), max(c.thresholds[0] for c in self.curves).item()


@dataclass(frozen=True, slots=True, eq=False)
class FairRates:
    """The same of a fair score, exact expectations over the draw."""

    realised: tuple[RealisedRoc, ...]
    scale: Scale

    def curve(self, g: int) -> tuple[FloatArray, FloatArray]:
        fpr, tpr = all_points(self.realised[g : g + 1])
        rises = np.diff(fpr[:, 0] + tpr[:, 0], prepend=-1.0) > 0
        return fpr[rises, 0], tpr[rises, 0]

    def at(self, thresholds: FloatArray) -> FloatArray:
        places = self.scale.to_place(thresholds)
        found = np.stack([w.at(np.maximum(places, 0.0))[:, :2].T for w in self.realised])
        return np.where(places < 0, 0.0, found)

    def everywhere(self) -> tuple[FloatArray, FloatArray]:
        """Between two thresholds the rates run straight; a step is two points at one threshold."""
        places = merged(all_places(self.realised), self.scale.y[self.scale.y <= len(self.realised[0].even) - 1])
        rates = np.stack([np.stack(two_sided(w, places, (0, 1))) for w in self.realised])
        return np.repeat(self.scale.to_score(places), 2), rates

    def span(self) -> tuple[float, float]:
        return float(self.scale.score[-1]), float(self.scale.score[0])


RateLines: TypeAlias = ScoreRates | FairRates
"""A score's (fpr, tpr) in every group."""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """One score: its rates, and what an audit says of it (of the original score, for the fair score of a model).

    ``people`` tell how many of whom there are; ``reach`` are half widths of the rates that are compared.
    """

    rates: RateLines
    audit: Audit
    drawn: bool
    people: Population
    reach: tuple[Widths, ...] | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(group.group for group in self.audit.groups)

    @property
    def widths(self) -> tuple[Widths, ...] | None:
        """Half widths (fpr, tpr) of every group's band."""
        return _bands(self.audit)


def _bands(audit: Audit) -> tuple[Widths, ...] | None:
    """Half widths (fpr, tpr) of every group's band: the bootstrap's if there are any, else those of DKW."""
    found = [None if group.band is None else group.band.best for group in audit.groups]
    known = tuple(widths for widths in found if widths is not None)
    return known if len(known) == len(found) else None


def compared(rates: FloatArray, people: Population, distance: Distance) -> FloatArray:
    """(groups, 2, k) rates that a distance compares, from fpr and tpr: one rate alone stands for both."""
    if not isinstance(distance, OneRate):
        return rates
    one = distance.of(rates[:, 0], rates[:, 1], people.priors[:, None])
    return np.stack((one, one), axis=1)


def selected_at(rates: FloatArray, people: Population) -> FloatArray:
    """(k,) share of all people selected at thresholds with these (groups, 2, k) rates."""
    fpr, tpr = rates.transpose(1, 2, 0)
    return Rates(fpr, tpr, people.priors, people.shares).selected


@dataclass(frozen=True, slots=True, eq=False)
class BeforeAfter:
    """A score before and, where there is a fair one, after; ``model`` makes the one of the other by these groups."""

    before: Shown
    after: Shown | None
    epsilon: float | None
    distance: Distance
    confidence: float
    model: ModelData | None = None


def from_predictions(scores: Any, y: Any, *, fair_scores: Any, settings: Settings, **how: Any) -> BeforeAfter:
    """Scores and, if given, other scores of the same people."""
    before, after = _audited(read_people(scores, y, **how), settings), None
    if fair_scores is not None:
        after = _audited(read_people(fair_scores, y, **how), settings)
    return BeforeAfter(before, after, settings.epsilon, settings.distance, settings.confidence)


def from_estimator(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    family: str | None,
    sensitive_features: Any,
    pos_label: Any,
    told: dict[str, Any],
    asked: dict[str, Any],
    **how: Any,
) -> BeforeAfter:
    """The scores a fitted model works on, and its fair score in expectation over the draw, ``asked`` for as audits.
    ``told`` are control features and probabilities of the groups."""
    found = opened(estimator, X, sensitive_features)
    model = found.model
    if family is not None and not model.compared:
        raise DataError(
            f"family goes with models that compare several families of groups, got {family!r}. Leave it out."
        )
    settings = Settings.of(model, **asked)
    how["pos_label"] = found.pos_label if pos_label is None else pos_label
    if model.compared:
        return _of_family(found, y, settings, family, told, how)
    model.told(found.groups, **told)
    how |= {"sensitive_features": found.groups, "missing": model.missing, "small": model.small_rule}
    people = read_people(found.scores, y, **how)
    model.judge_people(people, found.allow_out_of_range)
    before = _audited(people, settings)
    after = before
    if model.scale is not None:
        seen, realised = expected_rocs(model, people, on_unknown_group=found.on_unknown_group)
        after = replace(before, rates=FairRates(realised, model.scale), drawn=True, people=seen)
    return BeforeAfter(before, after, model.epsilon, settings.distance, settings.confidence, model)


def _of_family(
    found: Opened, y: Any, settings: Settings, title: str | None, told: dict[str, Any], how: dict[str, Any]
) -> BeforeAfter:
    """The same for groups that the model compares without being told them; of several families, one."""
    model, scores, other = found.model, found.scores, found.on_unknown_group
    one = _chosen(model, title)
    model.read(scores, model.told(found.groups if model.use_group else None, **told, rows=row_count(scores)), other)
    how = {"sensitive_features": found.groups, "on_unknown_group": other, "whole": True} | told | how
    family = family_people(model, scores, y, **how)[one]
    if family.others:
        raise DataError(
            f"the model compares the groups {several([group.name for group in family.compared.groups], ', ')}, got "
            f"{several(list(family.others), ', ')} too. Leave their rows out, or fit again with them."
        )
    epsilon = family.compared.epsilon
    if model.ratio is None and model.tolerances is None:
        settings = replace(settings, epsilon=epsilon)
    people = both_labels(family.people)
    before = _audited(people, settings)
    after = before
    if model.scale is not None:
        rates = FairRates(family.realised()[:-1], model.scale)
        bare = tuple(replace(group, band=None) for group in before.audit.groups)  # bands are of one rule for a group
        audit = replace(before.audit, groups=bare)
        after = Shown(rates, audit, drawn=True, people=people.exact, reach=None)
    return BeforeAfter(before, after, epsilon, settings.distance, settings.confidence)


def _chosen(model: ModelData, title: str | None) -> int:
    """Which family of groups to show."""
    titles = [one.title for one in model.compared]
    if title is None and len(titles) == 1:
        return 0
    if title not in titles:
        raise DataError(
            f"family must name one of the families of groups that the model compares, "
            f"{several([repr(each) for each in titles], ', ')}, got {title!r}."
        )
    return titles.index(title)


def _audited(people: People, settings: Settings) -> Shown:
    """An audit with draws of its own: the same as that of this score alone."""
    found = audit_people(people, replace(settings, rng=deepcopy(settings.rng)))
    reach = _bands(found)
    if settings.constraint == UNLABELLED:  # all people of a group are one sample
        widths = dkw_reach(settings.distance, people.class_rows(), settings.confidence)
        reach = None if people.weighted else tuple((float(fpr), float(tpr)) for fpr, tpr in widths)
    return Shown(ScoreRates(people.exact.curves), found, drawn=False, people=people.exact, reach=reach)


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """What an estimator says of its rows."""

    model: ModelData
    scores: Any
    groups: Any
    pos_label: Any = None
    on_unknown_group: str | None = None
    allow_out_of_range: bool = False


def opened(estimator: Any, X: Any, sensitive_features: Any) -> Opened:
    """Model, original scores and groups; ``X`` holds the scores unless the estimator makes them."""
    from sklearn.utils.validation import check_is_fitted

    from fairroc.estimators.classifier import FairROCClassifier
    from fairroc.estimators.fair_roc import FairROC

    if isinstance(estimator, FairROCClassifier):
        scores = estimator.base_score(X)
        groups = sensitive_rows(X, sensitive_features, estimator.sensitive_features)
        return Opened(estimator.model_, scores, groups, estimator.pos_label_, estimator.on_unknown_group, True)
    if sensitive_features is None:
        raise DataError("sensitive_features must be given, one value for each row, got none.")
    if isinstance(estimator, FairROC):
        check_is_fitted(estimator, "model_")
        how = (estimator.pos_label, estimator.on_unknown_group, estimator.allow_out_of_range)
        return Opened(estimator.model_, X, sensitive_features, *how)
    if isinstance(estimator, ModelData | Fitted):
        model = estimator if isinstance(estimator, ModelData) else estimator.model
        return Opened(model, X, sensitive_features)
    raise DataError(
        f"estimator must be a fitted FairROC, FairROCClassifier or FairModel, got {type(estimator).__name__}. For "
        "scores of anything else use from_predictions."
    )
