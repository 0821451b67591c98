"""One number for how far apart groups are, and one for what a score is worth once they are close; with scorers.

>>> from sklearn.metrics import make_scorer
>>> plain = make_scorer(threshold_gap_score, greater_is_better=False, response_method="predict_proba")
>>> ready = threshold_gap_scorer(sensitive_features="sex")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from fairroc.core.constraint import distance_of, equalized_odds
from fairroc.core.gap import ROUNDING, is_fair, pooled_auc, threshold_gap
from fairroc.docstrings import PEOPLE, documented
from fairroc.errors import DataError, warn_user
from fairroc.estimators.classifier import FairROCClassifier
from fairroc.estimators.crossfit import base_score, positives, response_name
from fairroc.fitting.solving import Goal, solve_drawn
from fairroc.model.families import families_of, people_in, treated_rows
from fairroc.model.model import ModelData, expected_people
from fairroc.options import AUDIT, COMBINE, Missing, check_audit_norm, check_epsilon, check_norm
from fairroc.people.door import read_people, sensitive_rows
from fairroc.people.people import People
from fairroc.people.rows import read_columns
from fairroc.people.spread import Family

LARGEST_GAP = 2.0
"""No two points of a ROC plane are farther apart."""


@documented()
def threshold_gap_score(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    norm: Any = 1,
    sample_weight: Any = None,
    pos_label: Any = None,
    combine: str = "intersection",
    control_features: Any = None,
) -> float:
    """Largest distance between two groups' (fpr, tpr) at the same threshold, over all thresholds; 0 is best.

    Parameters
    ----------
    norm : number of at least 1, or "inf"
        Distance of two points: 1 is |dFPR| + |dTPR|, "inf" the larger of the two.
    combine : "intersection" or "each"
        Several sensitive columns: compare their intersections, or every column's groups for themselves; then the figure
        is the largest of all columns.
    control_features
        Strata: groups are compared inside each, and the figure is the largest of all.

    Returns: float: 0 for equal rates at every threshold, at most 2.
    Raises: DataError
    >>> threshold_gap_score([0, 1, 0, 1], [0.1, 0.8, 0.4, 0.6], sensitive_features=["a", "a", "b", "b"])
    1.0
    """
    groups = _Groups(sensitive_features, control_features, COMBINE.checked(combine))
    return _gap(_compared(y_true, y_score, groups, sample_weight, pos_label), norm=norm)


@documented()
def auc_at_gap_score(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    max_gap: float = 0.05,
    norm: Any = 1,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """AUC of all people that the score keeps when its threshold gap is brought to ``max_gap`` by the exact method.

    The score's own AUC where its gap is no larger. So scores of different fairness, from whatever model, can be
    compared by one number. The largest ``max_gap``, 2, gives the AUC itself.

    Returns: float: the AUC.
    Raises: DataError
    >>> y, score, groups = [0, 1, 0, 1], [0.1, 0.8, 0.4, 0.6], ["a", "a", "b", "b"]
    >>> auc_at_gap_score(y, score, sensitive_features=groups, max_gap=0)
    1.0
    """
    people = _compared(y_true, y_score, _Groups(sensitive_features), sample_weight, pos_label)
    return _auc_at_gap(people, max_gap=max_gap, norm=norm)


@documented(setup=f"{PEOPLE}\n>>> from fairroc.estimators import threshold_gap_scorer")
@dataclass(frozen=True)
class FairScorer:
    """A scorer for searches and cross-validation that knows the groups.

    Of a `FairROCClassifier`, also as the last step of a pipeline or inside a finished search, it measures the fair
    score in expectation over the draw, exactly: nothing is drawn, and two calls agree. Given ``ids``, it measures the
    draws that these get. Of any other classifier it measures the score that ``predict_proba`` or ``decision_function``
    gives.

    The groups are routed to it (it requests ``sensitive_features``, ``control_features`` and ``ids``), or taken from
    the columns of X that ``sensitive_features`` and ``control_features`` name when the scorer is made, or a
    `FairROCClassifier` when that was made. A classifier that does without the group is measured by the groups all the
    same.

    Parameters
    ----------
    name : name that it shows.
    sign : 1, or -1 for a figure of which less is better.
    figure : from the people measured to the number.
    sensitive_features, control_features : str, int, list of them, or None
        Columns of X that hold the groups and the strata where a call does not give any.
    combine : "intersection", "each" or None
        How several sensitive columns are compared; None: as a `FairROCClassifier` does, else their intersections.
    sample_weight_request : whether weights are requested, or under which name.

    >>> from sklearn.linear_model import LogisticRegression
    >>> clf = LogisticRegression().fit(scores[:, None], y)
    >>> round(threshold_gap_scorer()(clf, scores[:, None], y, sensitive_features=sex), 3)
    -0.382
    """

    name: str
    sign: float
    figure: Callable[[_Measured], float]
    sensitive_features: Any = None
    sample_weight_request: bool | str | None = None
    control_features: Any = None
    combine: str | None = None

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        ids: Any = None,
        control_features: Any = None,
    ) -> float:
        """The figure, with the sign that makes greater better."""
        groups, strata = sensitive_features, control_features
        if groups is not None or self.sensitive_features is not None:
            groups = sensitive_rows(X, groups, self.sensitive_features)
        if strata is not None or self.control_features is not None:
            strata = sensitive_rows(X, strata, self.control_features, "control_features")
        known = _Groups(groups, strata, self.combine)
        return self.sign * self.figure(_response_people(estimator, X, y, known, sample_weight, ids))

    def set_score_request(self, *, sample_weight: bool | str | None) -> FairScorer:
        """A scorer that takes weights too (True), does not (False), or takes them under another name.

        >>> threshold_gap_scorer().set_score_request(sample_weight=True).sample_weight_request
        True
        """
        return replace(self, sample_weight_request=sample_weight)

    def get_metadata_routing(self) -> MetadataRequest:
        """What scikit-learn's searches pass on to this scorer.

        >>> sorted(threshold_gap_scorer().get_metadata_routing().score.requests)
        ['control_features', 'ids', 'sample_weight', 'sensitive_features']
        """
        request = MetadataRequest(owner=self)
        for name in ("sensitive_features", "control_features", "ids"):
            request.score.add_request(param=name, alias=True)
        request.score.add_request(param="sample_weight", alias=self.sample_weight_request)
        return request

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self._parameters().items())})"

    def _parameters(self) -> dict[str, Any]:
        own = dict(self.figure.keywords) if isinstance(self.figure, partial) else {}
        for name in ("sensitive_features", "control_features", "combine"):
            if getattr(self, name) is not None:
                own[name] = getattr(self, name)
        return own


@documented(options=AUDIT[:1])
def threshold_gap_scorer(
    *, norm: Any = 1, sensitive_features: Any = None, control_features: Any = None, combine: str | None = None
) -> FairScorer:
    """Scorer of the threshold gap, negated so that greater is better.

    Parameters
    ----------
    sensitive_features, control_features : str, int, list of them, or None
        Columns of X that hold the groups and the strata where none are routed to the scorer.
    combine : "intersection", "each" or None
        How several sensitive columns are compared; None: as a `FairROCClassifier` does, else their intersections.

    Returns: FairScorer: for ``scoring=``.
    Raises: DataError
    >>> threshold_gap_scorer(norm="inf")
    threshold_gap_scorer(norm='inf')
    """
    check_audit_norm(norm)
    if combine is not None:
        COMBINE.checked(combine)
    figure = partial(_gap, norm=norm)
    return FairScorer(
        "threshold_gap_scorer", -1.0, figure, sensitive_features, control_features=control_features, combine=combine
    )


@documented()
def auc_at_gap_scorer(*, max_gap: float = 0.05, norm: Any = 1, sensitive_features: Any = None) -> FairScorer:
    """Scorer of the AUC at a gap; ``max_gap=2``: of the plain AUC, also for a `FairROCClassifier` that compares each
    attribute for itself or inside strata.

    Parameters
    ----------
    sensitive_features : str, int, list of them, or None
        Columns of X that hold the groups where none are routed to the scorer.

    Returns: FairScorer: for ``scoring=``.
    Raises: DataError
    >>> auc_at_gap_scorer(max_gap=0.1)
    auc_at_gap_scorer(max_gap=0.1, norm=1)
    """
    check_epsilon(max_gap)
    check_norm(norm)
    figure = partial(_auc_at_gap, max_gap=max_gap, norm=norm)
    return FairScorer("auc_at_gap_scorer", 1.0, figure, sensitive_features)


@dataclass(frozen=True)
class _BestWithinGap:
    """What `best_within_gap` makes: from a search's results to the index of the candidate to refit."""

    gap: float
    auc_name: str = "auc"
    gap_name: str = "gap"

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        keys = [f"mean_test_{name}" for name in (self.auc_name, self.gap_name)]
        if missing := [key for key in keys if key not in cv_results]:
            raise DataError(
                f"the search's scoring must have scorers named {self.auc_name!r} and {self.gap_name!r}, but its "
                f"results have no {' and no '.join(missing)}. Pass scoring={{{self.auc_name!r}: "
                f"auc_at_gap_scorer(max_gap=2), {self.gap_name!r}: threshold_gap_scorer()}}, or "
                "name the scorers: auc_name=..., gap_name=...."
            )
        aucs, gaps = (np.asarray(cv_results[key], dtype=np.float64) for key in keys)
        gaps = np.abs(gaps)  # scorers negate the gap, so that greater is better
        known = np.flatnonzero(np.isfinite(aucs) & np.isfinite(gaps))
        if not len(known):
            raise DataError(
                "no candidate of the search has both scores: every fit or scorer failed. Pass error_score='raise' to "
                "the search to see why."
            )
        good = known[gaps[known] <= self.gap + ROUNDING]
        if len(good):
            return int(min(good, key=lambda i: (-aucs[i], gaps[i])))
        best = int(min(known, key=lambda i: (gaps[i], -aucs[i])))
        params = cv_results["params"][best] if "params" in cv_results else best
        warn_user(
            f"no candidate has a mean test gap within {self.gap:g}: the smallest, {gaps[best]:.3g} ({params}), is "
            "taken. Try smaller epsilons, promise='new', or more rows in each test fold."
        )
        return best

    def __repr__(self) -> str:
        return f"best_within_gap({self.gap:g}, auc_name={self.auc_name!r}, gap_name={self.gap_name!r})"


@documented()
def best_within_gap(gap: float = 0.05, *, auc_name: str = "auc", gap_name: str = "gap") -> Callable[[Any], int]:
    """How a search chooses epsilon: the best mean AUC among candidates whose mean test gap is within a target.

    For ``refit=`` of ``GridSearchCV`` or ``RandomizedSearchCV`` with two scorers. Where no candidate is within the
    target, the one with the smallest gap is taken, with a warning.

    Parameters
    ----------
    gap : float in [0, 2]
        Largest mean test gap that a candidate may have.
    auc_name, gap_name : str
        Names, in the search's ``scoring``, of the scorer whose mean is to be largest and of the gap's (negated or not).

    Returns: callable: takes ``cv_results_`` and gives back the index of the chosen candidate.
    Raises: DataError
    >>> choose = best_within_gap(0.1)
    >>> choose({"mean_test_auc": [0.70, 0.74, 0.79], "mean_test_gap": [-0.05, -0.09, -0.21]})
    1
    """
    return _BestWithinGap(check_epsilon(gap), auc_name, gap_name)


@dataclass(frozen=True, eq=False)
class _Measured:
    """People by their groups, for each attribute and stratum that is looked at; and all people, by some groups."""

    families: Sequence[People]
    everyone: People


def _gap(measured: _Measured, *, norm: Any) -> float:
    distance = distance_of(check_audit_norm(norm))
    return max(threshold_gap(people.exact, distance).value for people in measured.families)


def _auc_at_gap(measured: _Measured, *, max_gap: float, norm: Any) -> float:
    goal = Goal(check_epsilon(max_gap), equalized_odds(check_norm(norm)), "draw")
    several = len(measured.families) > 1
    if several and goal.epsilon < LARGEST_GAP:
        raise DataError(
            f"max_gap must be {LARGEST_GAP:g} (the plain AUC) where several attributes are compared each for itself, "
            f"or groups inside strata, got {max_gap:g}: what is left of an AUC at a gap is known for one comparison "
            "alone. Take threshold_gap_scorer() beside it."
        )
    people = measured.everyone
    own = people.exact
    if several or is_fair(own, goal.constraint, goal.epsilon):
        return pooled_auc(own.curves, own.weights0, own.weights1)
    return solve_drawn(people.thin, people.thin, goal).performance.auc


@dataclass(frozen=True, eq=False)
class _Groups:
    """Whom to compare: groups, strata, and how several attributes are combined (None: as an estimator does)."""

    sensitive: Any
    control: Any = None
    combine: str | None = None
    missing: Missing = "error"


def _compared(y_true: Any, y_score: Any, groups: _Groups, sample_weight: Any, pos_label: Any) -> _Measured:
    """People with a score of their own."""
    each = groups.combine == "each"
    how = {
        "sensitive_features": groups.sensitive,
        "sample_weight": sample_weight,
        "pos_label": pos_label,
        "missing": groups.missing,
    }
    if not each and groups.control is None:
        people = read_people(y_score, y_true, **how)
        return _Measured([people], people)
    columns = read_columns(y_score, y_true, **how)
    families = _with_everyone(groups, each)
    found = [people_in(family, columns.scores, columns.labels, columns.weights) for family in families]
    return _Measured(found[:-1], found[-1])


def _with_everyone(groups: _Groups, each: bool, model: ModelData | None = None) -> tuple[Family, ...]:
    """Whom to compare, and at the end all people by the groups of the first attribute."""
    how: dict[str, Any] = {"missing": groups.missing, "compared": () if model is None else model.compared}
    found = families_of(groups.sensitive, groups.control, each=each, **how)
    return *found, (found if groups.control is None else families_of(groups.sensitive, each=True, **how))[0]


def _response_people(estimator: Any, X: Any, y: Any, groups: _Groups, weights: Any, ids: Any) -> _Measured:
    """The score of the rows as the estimator gives it, or its expectation where it is drawn."""
    if hasattr(estimator, "best_estimator_"):
        return _response_people(estimator.best_estimator_, X, y, groups, weights, ids)
    if isinstance(estimator, Pipeline):
        before = estimator[:-1].transform(X) if len(estimator) > 1 else X
        return _response_people(estimator[-1], before, y, groups, weights, ids)
    if isinstance(estimator, FairROCClassifier):
        return _fair_people(estimator, X, y, groups, weights, ids)
    positive = estimator.classes_[1]
    scores = base_score(estimator, X, response_name(estimator), positive)
    groups = replace(groups, sensitive=sensitive_rows(X, groups.sensitive))
    return _compared(positives(y, estimator.classes_, positive), scores, groups, weights, None)


def _fair_people(clf: FairROCClassifier, X: Any, y: Any, groups: _Groups, weights: Any, ids: Any) -> _Measured:
    """The fair score in expectation over the draw, or as it is drawn for these ids."""
    known, hits = (
        sensitive_rows(X, groups.sensitive, clf.sensitive_features),
        positives(y, clf.classes_, clf.pos_label_),
    )
    strata = groups.control
    if strata is not None or clf.control_features is not None:
        strata = sensitive_rows(X, strata, clf.control_features, "control_features")
    combine = clf.combine if groups.combine is None else groups.combine
    if not clf.model_.compared and combine == COMBINE.default and strata is None:
        people = _plain_people(clf, X, hits, known, weights, ids)
        return _Measured([people], people)
    told = strata if clf.model_.controls else None
    if ids is not None:
        fair = clf.fair_score(X, sensitive_features=known, control_features=told, ids=ids)
        return _compared(hits, fair, _Groups(known, strata, combine, clf.missing), weights, None)
    treated = treated_rows(
        clf.model_,
        clf.base_score(X),
        hits,
        sensitive_features=known,
        control_features=strata,
        group_probabilities=clf.group_probabilities(X) if clf.model_.proxy is not None else None,
        sample_weight=weights,
        on_unknown_group=clf.on_unknown_group,
    )
    families = _with_everyone(_Groups(known, strata, combine, clf.missing), combine == "each", clf.model_)
    found = replace(treated, families=families).expected()
    return _Measured(found[:-1], found[-1])


def _plain_people(clf: FairROCClassifier, X: Any, hits: Any, groups: Any, weights: Any, ids: Any) -> People:
    """The same for a model that is told the very groups that are compared."""
    people = read_people(
        clf.base_score(X) if ids is None else clf.fair_score(X, sensitive_features=groups, ids=ids),
        hits,
        sensitive_features=groups,
        sample_weight=weights,
        missing=clf.missing,
        small=clf.model_.small_rule,
    )
    return people if ids is not None else expected_people(clf.model_, people, on_unknown_group=clf.on_unknown_group)
