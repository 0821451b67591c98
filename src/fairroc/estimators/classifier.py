"""Any scikit-learn classifier with a fair score: `FairROCClassifier`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from fairroc.core.chain import FloatArray
from fairroc.docstrings import PEOPLE, documented
from fairroc.errors import DataError, ModelFileError
from fairroc.estimators.crossfit import (
    Folds,
    TrainingRows,
    base_score,
    check_prefit,
    check_response,
    crossfit,
    folds,
    params_to,
    positives,
    read_training_rows,
    response_name,
    splitter,
    taken,
)
from fairroc.estimators.fair_roc import FairROC, SecretParameter, ShowsFit, keep_parameters
from fairroc.estimators.groups import (
    GroupModel,
    crossfit_groups,
    group_estimators,
    hidden_columns,
    probability_columns,
    warn_seen,
    without,
)
from fairroc.estimators.saving import SavedClassifier, read_classifier, write_classifier
from fairroc.fairmodel import FairModel
from fairroc.fitting.certificate import Certificate
from fairroc.options import CLASSIFIER, POS_LABEL, Missing, SmallTreatment
from fairroc.people.door import sensitive_rows

POST_PARAMETERS = tuple(option.name for option in CLASSIFIER if option is not POS_LABEL)
"""Parameters that the classifier hands to its post-processor; labels are 0 and 1 by then."""

ROUTED: dict[str, Any] = {"sensitive_features": True, "control_features": True, "ids": True}
"""Requested from pipelines and searches as they come, by every method that uses the fair score."""

FROM_ESTIMATOR = ("n_features_in_", "feature_names_in_")
FITTED = ("estimator_", "estimators_", "group_models_", "hidden_columns_", *FROM_ESTIMATOR)
"""Attributes that a fit sets if they are there."""


def _scores_are(name: str) -> Any:
    """Whether the scores come from a method of that name."""

    def check(self: FairROCClassifier) -> bool:
        fitted = getattr(self, "estimators_", None) or [getattr(self, "estimator_", self.estimator)]
        try:
            found = response_name(fitted[0], self.response_method)
        except DataError as error:  # fit says it; here it must not disturb hasattr
            raise AttributeError(str(error)) from None
        return found == name

    return check


EXAMPLE = f"""{PEOPLE}
>>> X = scores[:, None]
>>> from sklearn.linear_model import LogisticRegression
>>> clf = FairROCClassifier(LogisticRegression(), epsilon=0.1, promise="fitted", draw="all", cv=3)
>>> clf = clf.fit(X, y, sensitive_features=sex)"""


@documented(setup=EXAMPLE, raises="NotFittedError, DataError, UnknownGroupError")
class FairROCClassifier(ShowsFit, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose score is fair at every threshold, within epsilon.

    The estimator is fitted on folds, every row is scored by the model that has not seen it, and these scores are what
    the fair score is fitted to: a model's scores of its own training rows are too good, and what is fair for them is
    not fair for new people.

    With ``use_group=False`` nobody's group is needed once it is fitted: models of the group are fitted beside the
    score, on the same folds, and their probabilities take the place of the group.

    Parameters
    ----------
    estimator : classifier
        Has ``predict_proba`` or ``decision_function``.
    epsilon : float in [0, 2], {"fpr": a, "tpr": b}, or one for each attribute
        At every threshold any two groups' points (fpr, tpr) lie within epsilon of each other, in expectation over the
        draw. What else can be close, ``constraint`` says; for whom, ``promise``: the fitted people are those with their
        out-of-fold scores.
    cv : int, "prefit", splitter or iterable of splits
        An integer makes that many folds, stratified by group and label and shuffled with a fixed seed. "prefit": the
        estimator is fitted already, and all rows given to `fit` (which should be new to it) fit the fair score. A
        splitter must test no row twice; rows that it never tests do not fit the fair score.
    ensemble : bool
        True: new people are scored by the mean of the fold models, whose scores are closest to those the fair score was
        fitted to. False: by one model, fitted again on all rows; smaller and faster (docs/results/crossfit.md).
        "prefit" has one model.
    response_method : "auto", "predict_proba" or "decision_function"
        Where the scores come from; "auto": the first that the estimator has.
    pos_label : label or None
        The positive label; None: the second of ``classes_``, as in scikit-learn.
    sensitive_features : str, int, list of them, or None
        Columns of X (names, or positions in a matrix) that hold the groups where a call does not give any; several mean
        their intersection, unless ``combine`` says otherwise. X goes to the estimator whole, with these columns.
    control_features : str, int, list of them, or None
        Columns of X that hold the strata where a call does not give any.
    use_group : bool
        False: the fair score is made without the group, from probabilities of the groups. `fit` needs the groups,
        nothing else does; they are ignored where they are given.
    group_estimator : classifier with ``predict_proba``, dict of them by attribute, or None
        With ``use_group=False``: what learns the group from X, on the same folds; None: a clone of ``estimator``. It
        never sees columns of X that hold the groups, and is fitted to numbers of the groups. With ``cv="prefit"`` it
        must be fitted already, to the groups' own values.
    combine : "intersection" or "each"
        As for `FairROC`; with "each" and ``use_group=False`` every attribute has a model of its own.
    random_state : int, RandomState, Generator or None
        Draws of rows without ``ids``. An integer: the same call gives the same draws. None: new draws in each call.
    n_jobs : int or None
        Folds that are fitted at the same time.
    constraint, ratio, method, norm, queries, draw, where, promise, confidence, key, hash, missing, salt
        As for `FairROC`. A promise for the population (``promise="population"``, ``confidence``) needs
        ``cv="prefit"``: it is about scores of the model that will score new people. ``promise="new"``, the default,
        takes out-of-fold scores too: it is an estimate, and fold models scatter like the final one.
    on_unknown_group
        As for `FairROC`.
    min_class_rows, small_groups
        As for `FairROC`, but folds that are stratified by group need a row of each class in every fold: groups with
        fewer are small too. The estimator learns from all rows, also from those that "drop" leaves out of the fair
        score's fit.

    Attributes
    ----------
    classes_ : (2,) labels, sorted
    pos_label_ : the positive label
    estimators_ : list of fold models (only for ``ensemble=True``)
    estimator_ : the one model that scores new people (else)
    postprocessor_ : FairROC, fitted to the out-of-fold scores
    group_estimators_ : dict of attribute to list of models of the group (only for ``use_group=False``)
    hidden_columns_ : columns of X that hold the groups, and that these models do not see (likewise)
    model_ : FairModel of the postprocessor
    certificate_ : Certificate of the postprocessor, computed on first access
    n_features_in_, feature_names_in_ : as the estimator has them

    Notes
    -----
    ``predict_proba``, ``decision_function`` and ``predict`` give one draw of the fair score for each row. Pass ``ids``
    for decisions about people: the same id always gets the same draw. `acceptance_rate` draws nothing.

    Examples
    --------
    >>> clf.certificate_.gap <= 0.1
    True
    >>> clf.predict_proba(X, sensitive_features=sex, ids=range(1000)).shape
    (1000, 2)
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sensitive_features": True, "control_features": True}
    __metadata_request__predict: ClassVar[dict[str, Any]] = {**ROUTED, "threshold": True}
    __metadata_request__predict_proba: ClassVar[dict[str, Any]] = ROUTED
    __metadata_request__decision_function: ClassVar[dict[str, Any]] = ROUTED
    __metadata_request__score: ClassVar[dict[str, Any]] = ROUTED

    key = SecretParameter()

    def __init__(
        self,
        estimator: Any,
        epsilon: float | Mapping[str, float] = 0.05,
        *,
        cv: Any = 5,
        ensemble: bool = True,
        response_method: str = "auto",
        constraint: str = "equalized_odds",
        ratio: float | None = None,
        method: str = "optimal",
        norm: Any = 1,
        queries: int | None = None,
        draw: str = "few",
        where: tuple[float, float] | None = None,
        promise: str = "new",
        confidence: float | None = None,
        use_group: bool = True,
        group_estimator: Any = None,
        combine: str = "intersection",
        key: bytes | str | None = None,
        hash: str = "xxh64",
        pos_label: Any = None,
        missing: Missing = "error",
        min_class_rows: int = 1,
        small_groups: SmallTreatment = "error",
        on_unknown_group: str | None = None,
        salt: int | None = None,
        sensitive_features: Any = None,
        control_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        keep_parameters(self, locals())

    # -- fit -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        control_features: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the estimator on folds, the fair score to the out-of-fold scores, and the model that is kept.

        Parameters
        ----------
        X : rows, in any form the estimator takes
        y : two labels
        sensitive_features : one column or several (intersection), as array or frame, or the name of a column of X
        sample_weight : weights of the rows, for the fair score and for an estimator that takes them
        control_features : one column or several, or the name of a column of X
            Groups are compared inside each of their strata; `predict` and all others need them too.
        **fit_params : for the estimator's fit; what has a value for each row is cut to the rows of each fold

        Returns: FairROCClassifier: the object itself, fitted.
        Raises: DataError
        >>> clf.fit(X, y, sensitive_features=sex).classes_.tolist()
        [0, 1]
        """
        post = FairROC(**{name: getattr(self, name) for name in POST_PARAMETERS})
        options = post.checked_options()
        check_response(self.response_method)
        if options.promise == "population" and not self._is_prefit:
            raise DataError(
                f"promise must be 'new' or 'fitted', and confidence None, with cv={self.cv!r}, got "
                f"{options.promise!r} at {options.confidence:g}. The promise would be about "
                "out-of-fold scores, and new people are scored by other models: take cv='prefit' with people the "
                "estimator has not seen."
            )
        if post.small_groups != "error":
            post.min_class_rows = max(post.min_class_rows, 1 if self._is_prefit else folds(self.cv))
        given, strata = self._groups(X, sensitive_features), self._strata(X, control_features)
        rows = read_training_rows(
            X,
            y,
            sensitive_features=given,
            sample_weight=sample_weight,
            pos_label=self.pos_label,
            options=post.checked_options(),
            control_features=strata,
        )
        if not self.use_group:
            rows = replace(rows, hidden=hidden_columns(X, sensitive_features, self.sensitive_features))
        if self._is_prefit:
            kept = self._fit_prefit(rows, post, fit_params)
        else:
            weights = None if rows.weights is None else rows.weights.copy()  # checked weights cannot be written to
            metadata = {**fit_params, "sensitive_features": given, "sample_weight": weights}
            if strata is not None:
                metadata["control_features"] = strata
            kept = self._fit_on_folds(rows, post, metadata)
        for name in FITTED:
            self.__dict__.pop(name, None)
        return self._keep(kept, post, rows.classes, rows.positive)

    def _keep(self, kept: dict[str, Any], post: FairROC, classes: NDArray[Any], positive: Any) -> Self:
        self.__dict__.update(kept)
        self.postprocessor_: FairROC = post
        self.classes_: NDArray[Any] = classes
        self.pos_label_: Any = positive
        for name in FROM_ESTIMATOR:
            if hasattr(self._models()[0], name):
                setattr(self, name, getattr(self._models()[0], name))
        return self

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _fit_prefit(self, rows: TrainingRows, post: FairROC, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Fit the post-processor to the scores of a fitted estimator; give back the model to keep."""
        check_prefit(self.estimator)
        if fit_params:
            raise DataError(
                f"cv='prefit' fits no estimator, so nothing can take {', '.join(fit_params)}; leave it out."
            )
        response = response_name(self.estimator, self.response_method)
        scores = base_score(self.estimator, rows.X, response, rows.positive)
        kept: dict[str, Any] = {"estimator_": self.estimator}
        known = None
        if not self.use_group:
            found = group_estimators(self.group_estimator, None, rows.targets, prefit=True)
            models = tuple(GroupModel(t.name, t.groups, False, (found[t.name],)) for t in rows.targets)
            seen = without(rows.X, rows.hidden)
            known = probability_columns(models, [model.probabilities(seen) for model in models])
            kept |= {"group_models_": models, "hidden_columns_": rows.hidden}
            warn_seen(self.estimator, rows.X, rows.hidden, response, rows.positive)
        post.fit(scores, **rows.of(np.arange(len(scores))), group_probabilities=known)
        return kept

    def _fit_on_folds(self, rows: TrainingRows, post: FairROC, metadata: dict[str, Any]) -> dict[str, Any]:
        """Fit the post-processor to out-of-fold scores; give back the models to keep."""
        cv = check_cv(splitter(self.cv, self.missing, self.combine), rows.y, classifier=True)
        learns = None if self.use_group else self._learns_groups
        to_estimator, to_splitter, to_groups = params_to(self, cv, self.estimator, metadata, learns)
        if rows.strata is not None and to_splitter.get("sensitive_features") is not None:
            to_splitter["sensitive_features"] = rows.strata
        folded = Folds(rows, list(cv.split(rows.X, rows.y, **to_splitter)), self.n_jobs)
        groups = {}
        if not self.use_group:
            groups = group_estimators(self.group_estimator, self.estimator, rows.targets, prefit=False)
        fitted, scored, scores = crossfit(self.estimator, folded, self.response_method, to_estimator)
        kept: dict[str, Any] = {}
        known = None
        if not self.use_group:
            models, known = crossfit_groups(groups, folded, to_groups, self.ensemble)
            kept = {"group_models_": models, "hidden_columns_": rows.hidden}
            warn_seen(fitted[0], rows.X, rows.hidden, self.response_method, rows.positive)
        post.fit(scores, **rows.of(scored), group_probabilities=taken(known, scored))
        if self.ensemble:
            return kept | {"estimators_": list(fitted)}
        return kept | {"estimator_": clone(self.estimator).fit(rows.X, rows.y, **to_estimator)}

    @property
    def _learns_groups(self) -> Any:
        """The estimator of the group, if it is one."""
        if isinstance(self.group_estimator, Mapping):
            return None
        return self.estimator if self.group_estimator is None else self.group_estimator

    # -- use -----------------------------------------------------------------------------------------------------

    def base_score(self, X: Any) -> FloatArray:
        """(n,) score of the positive label before fairness: by the kept model, or the mean over the fold models.

        Returns: ndarray of shape (n,): scores.
        Raises: NotFittedError
        >>> clf.base_score(X).shape
        (1000,)
        """
        check_is_fitted(self, "postprocessor_")
        models = self._models()
        response = response_name(models[0], self.response_method)
        return np.asarray(np.mean([base_score(model, X, response, self.pos_label_) for model in models], axis=0))

    def group_probabilities(self, X: Any) -> dict[str, FloatArray]:
        """Probabilities of the groups that take the place of the group, with ``use_group=False``: by column, as
        `FairModel.transform` takes them. A column for each group; of two groups, the second one's.

        Returns: dict of str to ndarray of shape (n,): probabilities.
        Raises: NotFittedError, DataError
        >>> blind = FairROCClassifier(LogisticRegression(), 0.2, use_group=False, cv=3)
        >>> list(blind.fit(X, y, sensitive_features=sex).group_probabilities(X))
        ['m']
        """
        check_is_fitted(self, "postprocessor_")
        if "group_models_" not in vars(self):
            raise DataError("there are no models of the group with use_group=True; fit with use_group=False.")
        seen = without(X, self.hidden_columns_)
        return probability_columns(self.group_models_, [model.probabilities(seen) for model in self.group_models_])

    def fair_score(
        self, X: Any, *, sensitive_features: Any = None, ids: Any = None, control_features: Any = None
    ) -> FloatArray:
        """(n,) fair score of the positive label, one draw for each row, on the scale of the estimator's score.

        >>> clf.fair_score(X[:3], sensitive_features=sex[:3], ids=[11, 12, 13]).shape
        (3,)
        """
        scores = self.base_score(X)
        return self.model_.transform(scores, **self._how(X, sensitive_features, ids, control_features))

    @available_if(_scores_are("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(
        self, X: Any, *, sensitive_features: Any = None, ids: Any = None, control_features: Any = None
    ) -> FloatArray:
        """(n, 2) one draw h of the fair score for each row as [1 - h, h], in the order of ``classes_``.

        A draw of a score that ranks fairly, not a calibrated probability.

        Returns: ndarray of shape (n, 2): a column for each of ``classes_``.
        >>> clf.predict_proba(X[:3], sensitive_features=sex[:3], ids=[11, 12, 13]).sum(axis=1).tolist()
        [1.0, 1.0, 1.0]
        """
        fair = self.fair_score(X, sensitive_features=sensitive_features, ids=ids, control_features=control_features)
        pair = (1.0 - fair, fair) if self._positive_is_last() else (fair, 1.0 - fair)
        return np.stack(pair, axis=1)

    @available_if(_scores_are("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(
        self, X: Any, *, sensitive_features: Any = None, ids: Any = None, control_features: Any = None
    ) -> FloatArray:
        """(n,) one draw of the fair score for each row; high for the second of ``classes_``.

        >>> from sklearn.svm import LinearSVC
        >>> svm = FairROCClassifier(LinearSVC(), epsilon=0.1, cv=2).fit(X, y, sensitive_features=sex)
        >>> svm.decision_function(X[:3], sensitive_features=sex[:3], ids=[11, 12, 13]).shape
        (3,)
        """
        fair = self.fair_score(X, sensitive_features=sensitive_features, ids=ids, control_features=control_features)
        return fair if self._positive_is_last() else -fair

    def predict(
        self,
        X: Any,
        *,
        sensitive_features: Any = None,
        threshold: float | None = None,
        ids: Any = None,
        control_features: Any = None,
    ) -> NDArray[Any]:
        """(n,) the positive label where the drawn fair score reaches the threshold, else the other.

        Without a threshold: 0.5 for scores from ``predict_proba``, 0 for those from ``decision_function``.

        Returns: ndarray of shape (n,): labels.
        >>> clf.predict(X[:3], sensitive_features=sex[:3], ids=[11, 12, 13]).shape
        (3,)
        """
        scores = self.base_score(X)
        limit = self._threshold(threshold)
        how = self._how(X, sensitive_features, ids, control_features)
        reached = self.model_.predict(scores, threshold=limit, **how) == 1
        return np.asarray(self.classes_[(reached == self._positive_is_last()).astype(np.intp)])

    def acceptance_rate(
        self,
        X: Any,
        *,
        sensitive_features: Any = None,
        threshold: float | None = None,
        control_features: Any = None,
    ) -> FloatArray:
        """(n,) probability, over the draw, that `predict` gives the positive label; nothing is drawn.

        Returns: ndarray of shape (n,): probabilities.
        >>> clf.acceptance_rate([[9.0], [-9.0]], sensitive_features=["f", "m"]).round(3).tolist()
        [1.0, 0.0]
        """
        scores = self.base_score(X)
        return self.model_.acceptance_rate(
            scores,
            **self._told(X, sensitive_features, control_features),
            threshold=self._threshold(threshold),
            on_unknown_group=self.on_unknown_group,
            allow_out_of_range=True,
        )

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        sensitive_features: Any = None,
        ids: Any = None,
        control_features: Any = None,
    ) -> float:
        """Accuracy of `predict`: in expectation over the draw, or of the draws that these ``ids`` get.

        Returns: float: from 0 to 1.
        >>> 0.6 < clf.score(X, y, sensitive_features=sex) < 0.8
        True
        """
        told = {"sensitive_features": sensitive_features, "control_features": control_features}
        accepted = (
            self.acceptance_rate(X, **told) if ids is None else self.predict(X, ids=ids, **told) == self.pos_label_
        )
        hits = positives(y, self.classes_, self.pos_label_)
        check_consistent_length(accepted, hits, sample_weight)
        return float(np.average(np.where(hits, accepted, 1.0 - accepted), weights=sample_weight))

    @property
    def group_estimators_(self) -> dict[str, list[Any]]:
        """Models of the group by attribute, with ``use_group=False``: those of the folds, or one."""
        check_is_fitted(self, "postprocessor_")
        if "group_models_" not in vars(self):
            raise AttributeError("there are no models of the group with use_group=True")
        return {model.name: list(model.models) for model in self.group_models_}

    @property
    def model_(self) -> FairModel:
        """The fitted fair score: plain data, to save and load."""
        check_is_fitted(self, "postprocessor_")
        return self.postprocessor_.model_

    @property
    def certificate_(self) -> Certificate:
        """What the fair score costs on the out-of-fold scores; computed on first access."""
        check_is_fitted(self, "postprocessor_")
        return self.postprocessor_.certificate_

    # -- files -------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path, *, base: bool = True) -> None:
        """Write the fitted classifier to one file (.zip), whole or not at all, without a pickle and without the key.

        In it: ``model.json``, the model file that every other tool here reads; ``base.skops``, the fitted base models
        (``pip install 'fairroc[skops]'``); and ``manifest.json``, the parameters.

        Parameters
        ----------
        base : bool
            False leaves the base models out: keep ``estimator_`` or ``estimators_`` yourself and hand them to `load`;
            likewise ``group_estimators_``, with ``use_group=False``.

        Raises: NotFittedError, DataError, FairrocError
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clf.save(f"{folder}/classifier.zip", base=False)
        """
        check_is_fitted(self, "postprocessor_")
        params = self.get_params(deep=False)
        del params["estimator"], params["key"], params["group_estimator"]
        positive = 1 if self._positive_is_last() else 0
        post = {"min_class_rows": self.postprocessor_.min_class_rows}
        ensemble, models = "estimators_" in vars(self), tuple(self._models())
        learner = "each" if isinstance(self.group_estimator, Mapping) else "one"
        saved = SavedClassifier(
            self.model_,
            params,
            self.classes_,
            positive,
            ensemble,
            models,
            post,
            vars(self).get("group_models_", ()),
            vars(self).get("hidden_columns_", ()),
            "default" if self.group_estimator is None else learner,
        )
        write_classifier(path, saved, base=base)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        base: Any = None,
        trusted: Sequence[Any] | None = None,
        key: bytes | str | None = None,
        group_estimators: Mapping[str, Sequence[Any]] | None = None,
    ) -> Self:
        """A fitted classifier from its file, with the same scores, bit for bit.

        Parameters
        ----------
        base : estimator, or list of them
            For a file saved with ``base=False``: the fitted base model, or those of all folds in their order.
        trusted : list of str or types
            Types of the base models that may be loaded besides those that skops trusts by itself, most of
            scikit-learn's. Loading a type can run its code: name what you know. The error of a call without it lists
            what the file holds.
        key : bytes or str
            The model's secret key, if it was fitted with one. Without it, nothing is drawn by ids until
            ``set_params(key=...)`` gives it.
        group_estimators : dict of str to list of estimators
            For a file saved with ``base=False`` and ``use_group=False``: the ``group_estimators_``.

        Returns: FairROCClassifier: fitted.
        Raises: ModelFileError, DataError, FairrocError
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clf.save(f"{folder}/classifier.zip", base=False)
        ...     again = FairROCClassifier.load(f"{folder}/classifier.zip", base=clf.estimators_)
        >>> how = {"sensitive_features": sex, "ids": range(1000)}
        >>> bool((again.fair_score(X, **how) == clf.fair_score(X, **how)).all())
        True
        """
        saved = read_classifier(path, base=base, trusted=trusted, groups=group_estimators)
        window = saved.params.get("where")
        params = {**saved.params, "where": window if window is None else tuple(window), "key": key}
        first, names = saved.models[0], {"estimator", *cls._get_param_names()}
        if unknown := sorted(set(params) - names):
            raise ModelFileError(f"'{path}' has parameters of a newer fairroc ({', '.join(unknown)}); update fairroc.")
        fresh = (lambda model: model) if params.get("cv") == "prefit" else clone
        if saved.groups and saved.learner != "default":
            learns = {model.name: fresh(model.models[0]) for model in saved.groups}
            params["group_estimator"] = learns if saved.learner == "each" else next(iter(learns.values()))
        found = cls(fresh(first), **params)
        shared = {name: getattr(found, name) for name in POST_PARAMETERS}
        post = FairROC(**shared | dict(saved.post))._restored(saved.model)
        found.key = post.key
        kept: dict[str, Any] = {"estimators_": list(saved.models)} if saved.ensemble else {"estimator_": first}
        if saved.groups:
            kept |= {"group_models_": saved.groups, "hidden_columns_": saved.hidden}
        return found._keep(kept, post, saved.classes, saved.classes[saved.positive])

    # -- among scikit-learn's estimators ---------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Who takes what: this object, the estimator's fit, and the splitter.

        >>> "sensitive_features" in clf.get_metadata_routing().consumes("predict", ["sensitive_features"])
        True
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        if self._is_prefit:
            return router
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        cv = check_cv(splitter(self.cv, self.missing, self.combine))
        router.add(estimator=self.estimator, method_mapping=to_fit).add(splitter=cv, method_mapping=to_split)
        if not self.use_group and self._learns_groups is not None:
            to_groups = MethodMapping().add(caller="fit", callee="fit")
            router.add(group_estimator=self._learns_groups, method_mapping=to_groups)
        return router

    def __sklearn_tags__(self) -> Any:
        """Two classes; else what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _models(self) -> list[Any]:
        """The fitted models whose mean score is the base score."""
        return self.estimators_ if "estimators_" in vars(self) else [self.estimator_]

    def _groups(self, X: Any, sensitive_features: Any) -> Any:
        return sensitive_rows(X, sensitive_features, self.sensitive_features)

    def _strata(self, X: Any, control_features: Any) -> Any:
        if control_features is None and self.control_features is None:
            return None
        return sensitive_rows(X, control_features, self.control_features, "control_features")

    def _told(self, X: Any, sensitive_features: Any, control_features: Any) -> dict[str, Any]:
        """What the model is told of rows beside the score."""
        if "group_models_" in vars(self):
            told: dict[str, Any] = {"group_probabilities": self.group_probabilities(X)}
        else:
            told = {"sensitive_features": self._groups(X, sensitive_features)}
        return told | {"control_features": self._strata(X, control_features)}

    def _how(self, X: Any, sensitive_features: Any, ids: Any, control_features: Any) -> dict[str, Any]:
        """How rows are drawn: by their ids, else from the random state."""
        state = np.random.default_rng() if self.random_state is None else self.random_state
        return {
            **self._told(X, sensitive_features, control_features),
            "ids": ids,
            "random_state": state if ids is None else None,
            "key": self.key if ids is not None else None,
            "on_unknown_group": self.on_unknown_group,
            "allow_out_of_range": True,  # the scores are the estimator's own: folds may scatter, scales do not change
        }

    def _positive_is_last(self) -> bool:
        return bool(self.classes_[1] == self.pos_label_)

    def _threshold(self, threshold: float | None) -> float:
        if threshold is not None:
            return threshold
        return 0.5 if response_name(self._models()[0], self.response_method) == "predict_proba" else 0.0
