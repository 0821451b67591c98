"""scikit-learn's way in: `FairROC`, a post-processor of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from fairroc.core.chain import FloatArray
from fairroc.docstrings import FITTED, PEOPLE, documented
from fairroc.errors import DataError, warn_user
from fairroc.estimators.saving import asked_of, key_for
from fairroc.fairmodel import FairModel
from fairroc.fitting.certificate import Certificate, certificate_text, certify
from fairroc.fitting.fit import Fitted, fit
from fairroc.fitting.one_draw import OneDraw, one_draw
from fairroc.fitting.outlook import Outlook, outlook
from fairroc.fitting.spread import SpreadFit, fit_spread, spread_rows
from fairroc.fitting.spread_results import certify_spread, spread_model, spread_one_draw, spread_outlook
from fairroc.model.draw import Secret, effective_salt
from fairroc.options import ESTIMATOR, FIT, LEVEL, Missing, Options, SmallTreatment
from fairroc.people.counts import ScoreCounts
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc.people.small import SmallRule
from fairroc.people.spread import SpreadRows
from fairroc.people.tensors import is_tensor
from fairroc.summary import Result, Summary, as_html, as_text, size


class SecretParameter:
    """Class attribute for such a parameter: whatever way the value is set, what shows it shows "(hidden)".

    A model inside a pipeline or a search is shown by the outer object, from the values of its parameters; so the value
    itself, a `Secret`, has to keep it. Values that are neither text nor bytes stay as they are.

    >>> class Model:
    ...     key = SecretParameter()
    >>> model = Model()
    >>> model.key = "a secret"
    >>> model.key == "a secret", model.key
    (True, '(hidden)')
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        try:
            return vars(instance)[self.name]
        except KeyError:
            raise AttributeError(f"'{type(instance).__name__}' object has no attribute '{self.name}'") from None

    def __set__(self, instance: Any, value: Any) -> None:
        hidden = isinstance(value, str | bytes | bytearray | memoryview)
        vars(instance)[self.name] = Secret(value) if hidden else value


def _between_processes(secret: Secret) -> tuple[Any, ...]:
    """How a key travels to a worker and back: it never reaches a disk on that way."""
    return secret.__reduce_ex__(None) if secret.is_lost else (Secret, (secret.reveal(),))


ForkingPickler.register(Secret, _between_processes)  # of multiprocessing and concurrent.futures
with suppress(ImportError):  # of joblib, if it still has it there: else workers ask for the key
    import_module("joblib.externals.loky.backend.reduction").register(Secret, _between_processes)


def keep_parameters(estimator: Any, given: Mapping[str, Any]) -> None:
    """Set the parameters of a constructor, by name as ``locals()`` has them there, as scikit-learn wants it."""
    for name, value in given.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


class ShowsFit:
    """Mixin of the estimators: below scikit-learn's parameters, a printed or displayed one shows what was fitted.

    ``repr`` stays scikit-learn's, which pipelines and searches print in theirs.
    """

    def _fit_summary(self) -> Summary | None:
        """What to show of the fit, without computing anything for it; None before the fit."""
        post: Any = getattr(self, "postprocessor_", self)
        if "model_" not in vars(post):
            return None
        known: Result = vars(post).get("certificate_", post.model_)
        title = f"Fitted to {size(post.model_.record.rows, len(post.model_.names))}"
        return replace(known._summary(), title=title)

    def __str__(self) -> str:
        found = self._fit_summary()
        return repr(self) if found is None else f"{self!r}\n{as_text(found)}"

    def _get_fitted_attr_html(self, doc_link: str = "") -> dict[str, Any]:
        """None in scikit-learn's own list: it would compute every attribute that waits for its first access."""
        return {}

    def _repr_html_inner(self) -> str:
        inner, found = super()._repr_html_inner(), self._fit_summary()  # type: ignore[misc]
        return str(inner) if found is None else f"{inner}{as_html(found)}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] = self._repr_html_inner()
        return shown | {"text/plain": str(self)}


ROUTED: dict[str, Any] = {
    "scores": UNUSED,
    **dict.fromkeys(("sensitive_features", "control_features", "group_probabilities"), True),
}
"""Requested from pipelines and searches as they come; scores are what a method is about and no metadata."""


@documented(options=ESTIMATOR, setup=FITTED, raises="NotFittedError, DataError, UnknownGroupError")
class FairROC(ShowsFit, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a classifier's scores into one fair score, within epsilon at every threshold.

    Parameters
    ----------
    epsilon : float in [0, 2], or {"fpr": a, "tpr": b}
        At every threshold any two groups' points (fpr, tpr) lie within epsilon of each other, in expectation over the
        draw; for whom, ``promise`` says. With two numbers |dFPR| <= a and |dTPR| <= b.
    constraint : "equalized_odds", "equal_opportunity", "predictive_equality" or "demographic_parity"
        What must be close at every threshold: both rates; or one alone: TPR, FPR, or the share of people selected. For
        one rate the optimum is exact, groups keep their own AUC, hardly anybody is drawn (docs/guides/constraints.md).
    ratio : float in (0, 1] or None
        For one rate, instead of epsilon: the smallest group's rate over the largest's is at least this at every
        threshold (0.8: four-fifths rule).
    method : "optimal" or "froc"
        The exact optimum, or the algorithm of the paper that fairroc starts from, made a score: within epsilon too, for
        all pairs of groups, never with a higher group AUC (docs/explanation/froc.md). ``"froc"`` takes ``norm=1`` only.
        It is for the fitted people: with it, and with ``queries``, ``promise="new"`` becomes ``"fitted"``.
    draw : "few", "never" or "all"
        Who is decided by a draw. "few": nobody where epsilon can be kept without, with all scores kept apart; else as
        few as it takes, or scores that are tied, whichever has more AUC at a price for each person drawn. "never": a
        person's fair score depends on score and group alone; for both rates neighbouring scores are tied where epsilon
        asks for it, for one rate it raises where ties leave a gap above epsilon. "all": everybody inside a block of
        neighbouring scores that the concave hull merges, which has the largest AUC on the fitted people. With
        ``promise="new"`` it limits what is chosen from, and never raises.
    where : (low, high) or None
        For one rate: it must be close only at thresholds that select this share of all people; before and after, the
        original order of people is kept.
    promise : "new", "fitted" or "population"
        For whom epsilon holds. "new": the estimate of new people's gap is at most epsilon, and the estimate of their
        AUC is the best that does; where nothing reaches epsilon, about the least gap that can be had, with a warning.
        "fitted": exactly, for the fitted people; new people see a larger gap. "population": at some ``confidence``,
        for everybody; raises if there are too few rows (docs/explanation/unseen.md).
    use_group : bool
        False: the fair score is made without anybody's group, from ``group_probabilities`` that a model of the group
        gives (or, without them, from the score alone). Groups are needed to fit, and to measure (docs/guides/blind.md).
    combine : "intersection" or "each"
        Several sensitive columns: compare their intersections, or every column's groups for themselves. "each" takes an
        epsilon for every column too: ``{"sex": 0.05, "race": 0.1}``.
    key : bytes, str or None
        Secret that the draws of `ids` depend on, at least 16 random bytes. Without it anyone who has the model can
        compute a draw. It is shown nowhere, and pickles hold none: give it again with ``set_params(key=...)``.
    min_class_rows, small_groups
        Groups with fewer rows of a class are small: "error" refuses them; "merge" makes them one group, "other
        (merged)", whose treatment their people get ever after; "drop" leaves their rows out of the fit, and the model
        does not know them. Both warn with the groups' names and rows.

    Attributes
    ----------
    model_ : FairModel
    outlook_ : Outlook
        Computed on first access, in about 50 ms: gap and AUC to expect among new people with their standard errors,
        upper confidence limits of the gap, and whether it is above epsilon (``exceeds``) or no smaller than with the
        original score (``harms``).
    certificate_ : Certificate
        Computed on first access. ``certificate_.froc`` has the diagnostics of the paper's method.
    proof_ : str
        The certificate's file, with the prices that prove its bound, for `fairroc.verify`; computed on first access.
    one_draw_ : OneDraw
        Computed on first access: the gap among the fitted people once the fair score is drawn, by simulation.
    n_features_in_, feature_names_in_
        1, and the name of the column if the scores came as a frame of one column.

    Notes
    -----
    Scores are one column. Given as 1-d they come back as 1-d, given as a table of one column (a frame, or an array of
    shape (n, 1), as in scikit-learn's pipelines and column transformers) as an array of shape (n, 1), and after
    ``set_output(transform="pandas")`` or ``"polars"`` as a frame whose column is called like that of the scores with
    "_fair" behind it, or "fair_score".

    Examples
    --------
    >>> fair = post.transform(scores, sensitive_features=sex, ids=range(1000))
    >>> post.certificate_.gap_before > 0.2, post.certificate_.gap <= 0.1
    (True, True)
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = ROUTED
    __metadata_request__transform: ClassVar[dict[str, Any]] = {**ROUTED, "ids": True, "random_state": True}
    __metadata_request__predict: ClassVar[dict[str, Any]] = {
        **ROUTED,
        "ids": True,
        "random_state": True,
        "threshold": True,
    }

    key = SecretParameter()

    def __init__(
        self,
        epsilon: float | Mapping[str, float] = 0.05,
        *,
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
        combine: str = "intersection",
        key: bytes | str | None = None,
        hash: str = "xxh64",
        pos_label: Any = None,
        missing: Missing = "error",
        min_class_rows: int = 1,
        small_groups: SmallTreatment = "error",
        on_unknown_group: str | None = None,
        allow_out_of_range: bool = False,
        salt: int | None = None,
    ) -> None:
        keep_parameters(self, locals())

    def fit(
        self,
        scores: Any,
        y: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        control_features: Any = None,
        group_probabilities: Any = None,
    ) -> Self:
        """Fit to scores, labels and groups.

        Parameters
        ----------
        control_features : one column or several, optional
            The constraint holds within each of their strata; `transform` needs them too.
        group_probabilities : one column or several, optional
            With ``use_group=False``, what `transform` gets in place of the group: the probability of each group, by a
            model that does without it. Of two groups, the second one's will do.

        Returns: FairROC: the object itself, fitted.
        Raises: DataError
        >>> FairROC(epsilon=0.1).fit(scores, y, sensitive_features=sex).model_.names
        ('f', 'm')

        Without the group, once it is fitted; ``p`` stands for what a model of the group gives:

        >>> p = [0.8 if each == "m" else 0.3 for each in sex]
        >>> blind = FairROC(epsilon=0.1, use_group=False).fit(scores, y, sensitive_features=sex, group_probabilities=p)
        >>> blind.transform(scores[:3], group_probabilities=p[:3], ids=[11, 12, 13]).shape
        (3,)

        Two attributes, each for itself, with an epsilon for each:

        >>> age = ["old" if i % 4 > 1 else "young" for i in range(1000)]
        >>> both = FairROC({"sex": 0.1, "age": 0.2}, combine="each")
        >>> both = both.fit(scores, y, sensitive_features={"sex": sex, "age": age})
        >>> [family.attribute for family in both.certificate_.families if family.compared]
        ['sex', 'age']

        Within strata:

        >>> inside = FairROC(epsilon=0.2).fit(scores, y, sensitive_features=sex, control_features=age)
        >>> inside.transform(scores[:3], sensitive_features=sex[:3], control_features=age[:3], ids=[11, 12, 13]).shape
        (3,)
        """
        if y is None:
            raise DataError("fit requires y to be passed, but the target y is None; pass the labels.")
        options = self.checked_options()
        how = {
            "sensitive_features": sensitive_features,
            "sample_weight": sample_weight,
            "pos_label": self.pos_label,
        }
        if control_features is not None or group_probabilities is not None or options.is_spread:
            more = {"control_features": control_features, "group_probabilities": group_probabilities}
            return self._fit_spread(spread_rows(scores, y, options, **how, **more), options, scores)
        people = read_people(scores, y, **how, missing=self.missing, small=SmallRule.of(options))
        return self._fit(people, options, None if is_tensor(scores) else scores)

    def fit_counts(self, counts: ScoreCounts) -> Self:
        """Fit to people who were counted by group, label and score: the same model as from their rows.

        ``pos_label`` plays no part; ``missing`` says what `transform` will do. Counts know one group of each person and
        nothing else, so ``use_group`` and ``combine`` must be as they are.

        Returns: FairROC: the object itself, fitted.
        Raises: DataError
        >>> from fairroc import ScoreCounts
        >>> counts = ScoreCounts.from_table([1, 2] * 2, [60, 90] * 2, [90, 60, 75, 75], sensitive_features=[*"aabb"])
        >>> FairROC(epsilon=0.05, promise="fitted", draw="all").fit_counts(counts).certificate_.gap
        0.05
        """
        if not isinstance(counts, ScoreCounts):
            raise DataError(
                f"counts must be a fairroc.ScoreCounts, got {type(counts).__name__}; make one with "
                "ScoreCounts.from_table (an aggregated table) or from_rows."
            )
        options = self.checked_options()
        return self._fit(counts.people(small=SmallRule.of(options)), options, None)

    def _fit(self, people: People, options: Options, scores: Any) -> Self:
        """Fit to people; ``scores`` as they came, for their name."""
        self._check_unknown(people.names)
        self._begin(scores)
        fitted = fit(people, options, key=self.key, salt=self.salt)
        self._keep(FairModel.of(fitted.model))
        self.fitted_: Fitted | SpreadFit = replace(fitted, model=self.model_)
        return self

    def _fit_spread(self, rows: SpreadRows, options: Options, scores: Any) -> Self:
        """Fit where the groups are not what the model is told."""
        self._begin(scores)
        found = fit_spread(rows, options)
        self._check_unknown(found.rows.names)
        self._keep(FairModel.of(spread_model(found, key=self.key, salt=self.salt)))
        self.fitted_ = found
        return self

    def _keep(self, model: FairModel) -> None:
        """Take the model of a fit. Only a refit that asks for ids anew breaks calls, so it alone is warned of."""
        before = getattr(self, "model_", None)
        self.model_ = model
        if before is not None and model.needs_ids and not before.needs_ids:
            warn_user(
                "the fit before drew nobody, this one draws some people: transform and predict now need ids= (or "
                'random_state=). Pass them, or refit with draw="never".'
            )

    def _begin(self, scores: Any) -> None:
        """Note the scores' name, and forget what was computed of the last fit."""
        self._note_features(scores, reset=True)
        for of_last_fit in ("certificate_", "proof_", "one_draw_", "outlook_"):
            self.__dict__.pop(of_last_fit, None)

    def _check_unknown(self, names: Sequence[str]) -> None:
        if self.on_unknown_group is not None and not self.use_group:
            raise DataError("on_unknown_group must be None with use_group=False: nobody's group is looked at.")
        if self.on_unknown_group is not None and self.on_unknown_group not in names:
            known = ", ".join(repr(name) for name in names[:5])
            raise DataError(f"on_unknown_group must be a fitted group ({known}), got {self.on_unknown_group!r}.")

    def checked_options(self) -> Options:
        """The parameters as the fit takes them, or an error that says what must hold.

        Returns: Options: frozen data.
        Raises: DataError
        >>> post.checked_options().norm
        1
        """
        effective_salt(0 if self.salt is None else self.salt, self.key)  # raises if one of them cannot be used
        return Options.checked(**{option.name: getattr(self, option.name) for option in FIT})

    @cached_property
    def outlook_(self) -> Outlook:
        """What to expect of new people like the fitted ones; computed on first access."""
        known, level = self._known("outlook"), LEVEL.default if self.confidence is None else float(self.confidence)
        return spread_outlook(known, level) if isinstance(known, SpreadFit) else outlook(known, level)

    def _known(self, what: str) -> Fitted | SpreadFit:
        """The fit with its data."""
        check_is_fitted(self, "model_")
        if "fitted_" not in vars(self):
            raise DataError(f"the {what} needs the training data, which no file carries; ask for it before.")
        return self.fitted_

    @cached_property
    def certificate_(self) -> Certificate:
        """What the fit cost and the bound for every fair randomised score; computed on first access."""
        known = self._known("certificate")
        return certify_spread(known, self.model_) if isinstance(known, SpreadFit) else certify(known)

    @cached_property
    def proof_(self) -> str:
        """The certificate as the text of a file, with the prices that prove its bound: `fairroc.verify` checks it."""
        known = self._known("proof")
        if isinstance(known, SpreadFit):
            raise DataError(
                "there is no file of a proof for use_group=False, combine='each' and control_features; certificate_ "
                "has the bound."
            )
        return certificate_text(known, self.certificate_)

    @cached_property
    def one_draw_(self) -> OneDraw:
        """How much larger the gap of one draw is than the gap in expectation; computed on first access."""
        known = self._known("gap of one draw")
        return spread_one_draw(known, self.model_) if isinstance(known, SpreadFit) else one_draw(known)

    def transform(
        self,
        scores: Any,
        /,
        *,
        sensitive_features: Any = None,
        ids: Any = None,
        random_state: Any = None,
        control_features: Any = None,
        group_probabilities: Any = None,
    ) -> FloatArray:
        """Fair scores, one draw for each row; give ``ids`` or ``random_state``, unless the model draws nobody.

        A model that was fitted with ``use_group=False`` takes ``group_probabilities`` in place of the groups.

        Returns: ndarray of shape (n,): the fair scores; of shape (n, 1) where the scores came as a table.
        >>> post.transform(scores[:3], sensitive_features=sex[:3], ids=[11, 12, 13]).shape
        (3,)
        """
        check_is_fitted(self, "model_")
        self._note_features(scores, reset=False)
        how = self._how(sensitive_features, ids, random_state, control_features, group_probabilities)
        fair = self.model_.transform(scores, **how)
        return fair[:, None] if _is_table(scores) else fair

    def fit_transform(
        self,
        scores: Any,
        y: Any,
        /,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        ids: Any = None,
        random_state: Any = None,
        control_features: Any = None,
        group_probabilities: Any = None,
    ) -> FloatArray:
        """Fit, and give the fair scores of the same rows; give ``ids`` or ``random_state``.

        Returns: ndarray of shape (n,): the fair scores; of shape (n, 1) where the scores came as a table.
        Raises: DataError
        >>> FairROC(epsilon=0.1).fit_transform(scores, y, sensitive_features=sex, random_state=0).shape
        (1000,)
        """
        more = {"control_features": control_features, "group_probabilities": group_probabilities}
        self.fit(scores, y, sensitive_features=sensitive_features, sample_weight=sample_weight, **more)
        groups = sensitive_features if self.use_group else None
        return self.transform(scores, sensitive_features=groups, ids=ids, random_state=random_state, **more)

    def predict(
        self,
        scores: Any,
        *,
        sensitive_features: Any = None,
        threshold: float = 0.5,
        ids: Any = None,
        random_state: Any = None,
        control_features: Any = None,
        group_probabilities: Any = None,
    ) -> NDArray[np.int64]:
        """1 where the fair score reaches the threshold, else 0.

        Returns: ndarray of shape (n,): 0 or 1.
        >>> post.predict([0.05, 0.99], sensitive_features=["f", "m"], ids=[1, 2]).tolist()
        [0, 1]
        """
        check_is_fitted(self, "model_")
        how = self._how(sensitive_features, ids, random_state, control_features, group_probabilities)
        return self.model_.predict(scores, threshold=threshold, **how)

    def acceptance_rate(
        self,
        scores: Any,
        *,
        sensitive_features: Any = None,
        threshold: float = 0.5,
        control_features: Any = None,
        group_probabilities: Any = None,
    ) -> FloatArray:
        """Probability of being selected for each row over the draw; nothing is drawn.

        Returns: ndarray of shape (n,): probabilities.
        >>> post.acceptance_rate([0.05, 0.99], sensitive_features=["f", "m"]).round(2).tolist()
        [0.0, 1.0]
        """
        check_is_fitted(self, "model_")
        return self.model_.acceptance_rate(
            scores,
            sensitive_features=sensitive_features,
            threshold=threshold,
            control_features=control_features,
            group_probabilities=group_probabilities,
            on_unknown_group=self.on_unknown_group,
            allow_out_of_range=self.allow_out_of_range,
        )

    def save(self, path: str | Path) -> None:
        """Write the fitted model to its file, as ``model_.save`` does: JSON, whole or not at all, without the key.

        The commands, SQL and every back end read the same file. What a call of `transform` decides is not in it: the
        key, ``on_unknown_group`` and ``allow_out_of_range`` are given again to `load`.

        Raises: NotFittedError, DataError
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     post.save(f"{folder}/model.json")
        """
        check_is_fitted(self, "model_")
        self.model_.save(path)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        key: bytes | str | None = None,
        on_unknown_group: str | None = None,
        allow_out_of_range: bool = False,
    ) -> Self:
        """A fitted estimator from a model file, with the same fair scores, bit for bit.

        Its parameters are what the model tells of its fit. A model with a key refuses to draw until the key is given,
        here or by ``set_params(key=...)``. The certificate and the outlook need the fitted people, and are not there.

        Returns: FairROC: fitted.
        Raises: ModelFileError, DataError
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     post.save(f"{folder}/model.json")
        ...     again = FairROC.load(f"{folder}/model.json")
        >>> how = {"sensitive_features": sex, "ids": range(1000)}
        >>> bool((again.transform(scores, **how) == post.transform(scores, **how)).all())
        True
        """
        model = FairModel.load(path)
        asked = asked_of(model)
        found = cls(**asked, key=key, on_unknown_group=on_unknown_group, allow_out_of_range=allow_out_of_range)
        return found._restored(model)

    def _restored(self, model: FairModel) -> Self:
        """Fitted with this model, as if it had been fitted here."""
        self._check_unknown(model.names)
        self.key = key_for(model, self.key)
        self._note_features(None, reset=True)
        self.model_ = model
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """(1,) name of the fair score: that of the scores' column with "_fair" behind it, or "fair_score".

        Returns: ndarray of one str: the name.
        Raises: NotFittedError
        >>> post.get_feature_names_out(["p"]).tolist()
        ['p_fair']
        """
        check_is_fitted(self, "model_")
        names = _check_feature_names_in(self, input_features, generate_names=False)
        return np.array(["fair_score" if names is None else f"{names[0]}_fair"], dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Scores are one column, given as such or as a table; labels are needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.one_d_array = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Pickles carry the model (and the certificate once it was computed), not the training scores."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "fitted_"}

    def _note_features(self, scores: Any, *, reset: bool) -> None:
        """Remember the column's name, or check it against the one remembered, where the scores have one."""
        if _is_table(scores) and (reset or hasattr(self, "feature_names_in_")):
            validate_data(self, scores, reset=reset, skip_check_array=True)
        elif reset:
            self.n_features_in_ = 1
            self.__dict__.pop("feature_names_in_", None)

    def _how(
        self, sensitive_features: Any, ids: Any, random_state: Any, control_features: Any, group_probabilities: Any
    ) -> dict[str, Any]:
        return {
            "sensitive_features": sensitive_features,
            "control_features": control_features,
            "group_probabilities": group_probabilities,
            "ids": ids,
            "random_state": random_state,
            "key": self.key if ids is not None else None,
            "on_unknown_group": self.on_unknown_group,
            "allow_out_of_range": self.allow_out_of_range,
        }


@documented(setup=PEOPLE)
def fit_counts(counts: ScoreCounts, epsilon: float = 0.05, **params: Any) -> FairROC:
    """A fitted `FairROC` from counts; the parameters are its own.

    Raises: DataError
    >>> from fairroc import ScoreCounts
    >>> fit_counts(ScoreCounts.from_rows(scores, y, sensitive_features=sex), 0.1).model_.names
    ('f', 'm')
    """
    return FairROC(epsilon, **params).fit_counts(counts)


def _is_table(scores: Any) -> bool:
    return len(getattr(scores, "shape", ())) == 2
