"""Models to MLflow and back: what is stored, its signature, its example, and what is told of it."""

from __future__ import annotations

import inspect
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from fairroc._version import __version__
from fairroc.auditing.audit import audit
from fairroc.docstrings import FITTED, documented
from fairroc.errors import DataError, FairrocError
from fairroc.estimators.classifier import FairROCClassifier
from fairroc.estimators.fair_roc import FairROC
from fairroc.estimators.saving import asked_of
from fairroc.fairmodel import FairModel
from fairroc.mlflow.scoring import CLASSIFIER, ID_TYPES, MODEL, Scored, Scorer, Use, features, restore
from fairroc.model.explanation import told_examples
from fairroc.options import Missing
from fairroc.people.factorise import group_codes, sensitive_columns
from fairroc.report.page import write_report
from fairroc.tables.columns import names_of

FLAVOR = "fairroc"
EXAMPLES = 5
"""Rows of an example that is made up."""

KINDS = {"f": "double", "i": "long", "u": "long", "b": "boolean", "M": "datetime"}
"""Types of columns in a signature by numpy's kind; others are text."""

NAMED: dict[str, Callable[[str], Any]] = {"i": int, "u": int, "f": float, "b": "True".__eq__}
"""Values of groups that are no text, by numpy's kind, from their names."""

SETUP = f"""{FITTED}
>>> import tempfile
>>> from fairroc.mlflow import load_model, save_model"""


@documented(setup=SETUP, raises="DataError, FairrocError")
def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    score: str = "score",
    group: Any = "group",
    id: str | None = "id",
    id_type: str = "integer",
    data: Any = None,
    label: str = "label",
    input_example: Any = None,
    signature: Any = None,
    trusted: Sequence[str] | None = None,
    pip_requirements: Any = None,
    mlflow_model: Any = None,
    group_probabilities: Any = None,
    control_features: Any = None,
) -> None:
    """Write a fair score as an MLflow model to a new folder.

    Parameters
    ----------
    model : FairModel, or a fitted FairROC or FairROCClassifier
        What is stored is JSON, and a classifier's base models by skops. The key is not stored: give it to `load_model`,
        or name its file in the environment variable ``FAIRROC_KEY_FILE`` where MLflow loads the model.
    path : str or path-like
        The folder, which must not be there.
    score : str
        Column of the scores that will come in. A classifier takes its features instead, by their names.
    group : str, list of str, or None
        Column or columns of the groups; None for a classifier that has ``sensitive_features`` of its own. A model with
        ``use_group=False`` takes none.
    id : str or None
        Column of the ids; None only where the model draws nobody. There the column may be left out of a call, and is
        ignored.
    id_type : {"integer", "text"}
        How ids are hashed; other ids are refused.
    data : pandas frame
        People with labels, for ``report.html``, ``audit.json`` (of the original score) and ``audit_fair.json`` (of one
        simulated draw of the fair score, seed 0) beside the model. Of a `FairROC` take the people fitted. If it was
        fitted here and not loaded, ``certificate.json`` is there too, for ``fairroc verify``.
    label : str
        Column of the labels in ``data``.
    input_example : pandas frame
        A few rows as they will come in. It is stored: use made-up people. A classifier needs it, for the types of its
        features; for scores one is made up.
    signature : mlflow.models.ModelSignature
        In place of the one that columns and example give: scores double, groups as in the example, and else as in
        ``data`` or text, ids by their type.
    trusted : list of str
        Types of a classifier's base models that skops does not trust by itself. They are stored, and loaded unasked.
    pip_requirements : list of str
        What MLflow installs for the model; by default this fairroc and scikit-learn.
    mlflow_model : mlflow.models.Model
        Description that MLflow's own calls hand over.
    group_probabilities : str or list of str
        Columns of the groups' probabilities that a model with ``use_group=False`` was fitted with, by default those of
        the fit. A classifier finds them itself.
    control_features : str or list of str
        Columns of strata, in the order of the fit, of a model that was fitted with them.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(post, f"{folder}/model", group="sex")
    ...     load_model(f"{folder}/model").model_.names
    ('f', 'm')
    """
    asked = {name: value for name, value in locals().items() if name in USUAL}
    target = Path(path)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"path must be a new folder, but '{path}' is there already; name another.")
    with _ready(model, asked) as write:
        write(target, mlflow_model)


OWN = inspect.signature(save_model).parameters
USUAL = {name: one.default for name, one in OWN.items() if one.kind is one.KEYWORD_ONLY and name != "mlflow_model"}
"""How a model is stored, as `save_model` takes it, and its defaults."""


@documented(setup=SETUP, raises="DataError, FairrocError")
def log_model(model: Any, name: str = "model", *, registered_model_name: str | None = None, **how: Any) -> Any:
    """Log a fair score as an MLflow model: in the active run if there is one, and to the registry where it is named.

    Parameters
    ----------
    model : FairModel, or a fitted FairROC or FairROCClassifier
        Whose fair score is meant. The key is not stored.
    name : str
        Of the logged model.
    registered_model_name : str
        Makes a version of a registered model of this name.
    **how : as for `save_model` (``score``, ``group``, ``id``, ``data``, ...)
        And what MLflow takes for every logged model: ``metadata``, ``tags``, ``params``, ``run_id``, ``step``,
        ``model_id``, ``await_registration_for``.

    Returns: mlflow.models.model.ModelInfo: where it is (``model_uri``) and what it is.
    >>> import mlflow
    >>> from fairroc.mlflow import log_model
    >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    ...     print(log_model(post, group="sex").model_uri)
    """
    log = _mlflow("mlflow.models").Model.log
    its = set(inspect.signature(log).parameters)
    if unknown := sorted(set(how) - set(USUAL) - (its - {"artifact_path", "flavor", "kwargs"})):
        raise TypeError(f"log_model() got an unexpected keyword argument '{unknown[0]}'")
    shared = {key: value for key, value in how.items() if key not in USUAL}
    shared["params"] = {**asked_of(_fair_part(model)), **(shared.get("params") or {})}
    with _ready(model, {key: how.get(key, value) for key, value in USUAL.items()}) as write:

        def save(*, path: str, mlflow_model: Any, validate_serving_input: bool) -> None:
            write(Path(path), mlflow_model)

        return log(
            artifact_path=None,
            name=name,
            flavor=SimpleNamespace(save_model=save, __name__="fairroc.mlflow"),
            registered_model_name=registered_model_name,
            validate_serving_input=False,  # it would load the model without its key; the example was tried before
            **shared,
        )


@documented(setup=SETUP, raises="DataError, ModelFileError, FairrocError")
def load_model(
    model_uri: str | os.PathLike[str],
    *,
    key: bytes | str | None = None,
    key_file: str | os.PathLike[str] | None = None,
    trusted: Sequence[str] | None = None,
) -> Any:
    """What was logged, as it was: a FairModel, or a fitted FairROC or FairROCClassifier.

    ``mlflow.pyfunc.load_model`` gives the same fair scores from a frame of columns.

    Parameters
    ----------
    model_uri : str or path-like
        ``models:/NAME/VERSION``, ``runs:/RUN/model``, the ``model_uri`` that `log_model` returned, or a folder.
    key : bytes or str
        The model's secret key. Else it is read from ``key_file``, or from the file that the environment variable
        ``FAIRROC_KEY_FILE`` names; without any of them an estimator asks for it when it draws. A FairModel keeps
        none: pass the key to its `transform`.
    key_file : str or path-like
        File that holds the key, as for ``--key-file``.
    trusted : list of str
        More types of a classifier's base models that skops may load.

    Returns: FairModel, FairROC or FairROCClassifier: as it was logged.
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(post.model_, f"{folder}/model", group="sex")
    ...     load_model(f"{folder}/model").epsilon
    0.1
    """
    artifacts, entities = _mlflow("mlflow.artifacts"), _mlflow("mlflow.models")
    local = Path(model_uri)
    if not local.is_dir():
        local = Path(artifacts.download_artifacts(artifact_uri=str(model_uri)))
    about = entities.Model.load(str(local)).flavors.get(FLAVOR)
    if about is None:
        raise DataError(f"model_uri must be a model that fairroc.mlflow logged, got {str(model_uri)!r}, which is not.")
    folder = local / about["data"]
    use = Use.read(folder)
    found = restore(folder, use, key=key, key_file=key_file, trusted=trusted or ())
    return found.model_ if use.kind == FairModel.__name__ else found


# ---- what is stored --------------------------------------------------------------------------------------------------


@contextmanager
def _ready(model: Any, asked: Mapping[str, Any]) -> Iterator[Callable[[Path, Any], None]]:
    """All that is stored, in a folder that goes away: what is wrong is said before MLflow hears of the model. What is
    given writes it to the folder of an MLflow model; ``asked`` are the parameters of `save_model`."""
    pyfunc, entities = _mlflow("mlflow.pyfunc"), _mlflow("mlflow.models")
    use, data = _use(model, asked), asked["data"]
    if data is not None and _fair_part(model).compared:
        raise DataError(
            "data must be left out for models with use_group=False, combine='each' or control_features: what is stored "
            "of it compares the groups that a model is told. Write a report with fairroc.write_report, and log it."
        )
    scorer = Scorer(_estimator(model), use)
    example = _example(scorer, data) if asked["input_example"] is None else asked["input_example"]
    columns = _columns(scorer, example)
    _try(scorer, example)
    with TemporaryDirectory() as temporary:
        folder, beside = Path(temporary, FLAVOR), Path(temporary, "beside")
        folder.mkdir()
        beside.mkdir()
        use.write(folder)
        if isinstance(model, FairROCClassifier):
            model.save(folder / CLASSIFIER)
            restore(folder, use)  # says now which types must be trusted
        else:
            scorer.estimator.save(folder / MODEL)
        if data is not None:
            _tell(scorer, data, asked["label"], beside)

        def write(path: Path, about: Any) -> None:
            found = entities.Model() if about is None else about
            found.add_flavor(FLAVOR, fairroc_version=__version__, kind=use.kind, data=f"data/{FLAVOR}")
            pyfunc.save_model(
                path,
                loader_module="fairroc.mlflow",
                data_path=str(folder),
                mlflow_model=found,
                signature=_signature(columns, scorer) if asked["signature"] is None else asked["signature"],
                input_example=example,
                pip_requirements=_requirements(use) if asked["pip_requirements"] is None else asked["pip_requirements"],
                model_config={"key_file": ""} if _fair_part(model).key_fingerprint else None,  # it may be given later
            )
            for file in sorted(beside.iterdir()):
                shutil.copy(file, path)

        yield write


def _mlflow(module: str) -> Any:
    if find_spec("mlflow") is None:
        raise FairrocError("this needs MLflow; install it with: pip install 'fairroc[mlflow]'.")
    return import_module(module)


def _fair_part(model: Any) -> FairModel:
    if isinstance(model, FairModel):
        return model
    if isinstance(model, FairROC | FairROCClassifier):
        check_is_fitted(model, "model_")
        return model.model_
    raise DataError(f"model must be a FairModel, a FairROC or a FairROCClassifier, got {type(model).__name__}.")


def _estimator(model: Any) -> Scored:
    return FairROC(**asked_of(model))._restored(model) if isinstance(model, FairModel) else model


def _use(model: Any, asked: Mapping[str, Any]) -> Use:
    """How the model will be used, checked."""
    id, id_type, group, chances = (asked[name] for name in ("id", "id_type", "group", "group_probabilities"))
    fair, is_classifier = _fair_part(model), isinstance(model, FairROCClassifier)
    if id_type not in ID_TYPES:
        raise DataError(f"id_type must be 'integer' or 'text', got {id_type!r}.")
    if id is None and fair.needs_ids:
        raise DataError(
            "id must name the column of ids, got None: the fair score is drawn, and without ids the same person would "
            "get another draw in every call."
        )
    names = names_of(None if group == "group" and not fair.use_group else group)
    if fair.use_group and not names and not (is_classifier and model.sensitive_features is not None):
        raise DataError("group must name the column of the groups, or several, got none.")
    own = fair.probability_columns
    told, strata = names_of(chances), names_of(asked["control_features"])
    if is_classifier:
        if told:
            raise DataError("group_probabilities must be None for a classifier, which finds them from its features.")
        fair.told_columns(names or (("group",) if fair.use_group else ()), own, strata)
    else:
        told = fair.told_columns(names, own if chances is None else told, strata)[1]
    used = Use(
        type(model).__name__,
        None if is_classifier else asked["score"],
        names,
        id,
        id_type,
        trusted=tuple(asked["trusted"] or ()),
        group_probabilities=told,
        control_features=strata,
    )
    if not isinstance(model, FairROC):
        return used
    return replace(used, on_unknown_group=model.on_unknown_group, allow_out_of_range=bool(model.allow_out_of_range))


def _example(scorer: Scorer, data: Any) -> Any:
    """A few made-up rows of scores in the fitted range; nobody's data. Groups have the type that they have there."""
    import pandas as pd

    model, use = scorer.estimator.model_, scorer.use
    if use.score is None:
        raise DataError(
            "input_example must be given for a classifier: a frame of a few made-up rows with its features, the group "
            "and the id, whose types become the signature."
        )
    low, high = model.score_range
    middle = (low + high) / 2 if np.isfinite(low + high) else 0.5
    rows = [
        {
            use.score: middle,
            **dict(zip(use.group, one.groups if len(use.group) != 1 else (" & ".join(one.groups),), strict=True)),
            **dict(zip(use.group_probabilities, one.probabilities.values(), strict=True)),
            **dict(zip(use.control_features, one.controls, strict=True)),
        }
        for one in told_examples(model)[:EXAMPLES]
        if len(use.group) in (1, len(one.groups))
    ]
    if not rows:
        raise DataError(
            f"group must name as many columns as the fit had: the groups are called {model.names[0]!r} and so on, got "
            f"{', '.join(use.group)}."
        )
    frame = pd.DataFrame(rows)
    types = getattr(data, "dtypes", None)
    for name in use.group:
        kind = types[name].kind if isinstance(types, pd.Series) and name in types else "O"
        if kind in NAMED:
            with suppress(ValueError):  # a name that stands for several groups: text
                frame[name] = [NAMED[kind](value) for value in frame[name]]
    if use.id is not None and model.needs_ids:
        numbers = range(1, len(rows) + 1)
        frame[use.id] = list(numbers) if use.id_type == "integer" else [f"person-{number}" for number in numbers]
    return frame


def _columns(scorer: Scorer, example: Any) -> dict[str, str]:
    """Type of every column in the signature."""
    use = scorer.use
    if not hasattr(example, "dtypes") or not hasattr(example, "columns"):
        raise DataError(f"input_example must be a pandas frame, got {type(example).__name__}.")
    kinds = {name: KINDS.get(np.dtype(kind).kind if isinstance(kind, np.dtype) else "O", "string")
             for name, kind in example.dtypes.items()}  # fmt: skip
    texts = (*use.group, *use.control_features)
    own = {name: kinds.get(name) if kinds.get(name) in ("long", "double", "boolean") else "string" for name in texts}
    own |= dict.fromkeys(use.group_probabilities, "double")
    ids = {} if use.id is None else {use.id: ID_TYPES[use.id_type]}
    if isinstance(scorer.estimator, FairROC):
        assert use.score is not None
        return {use.score: "double", **{name: str(kind) for name, kind in own.items()}, **ids}
    needed = features(scorer.estimator, example, use)
    names = list(getattr(needed, "columns", [name for name in kinds if name not in own and name not in ids]))
    return {**{str(name): kinds[name] for name in names}, **{name: str(kind) for name, kind in own.items()}, **ids}


def _signature(columns: dict[str, str], scorer: Scorer) -> Any:
    models, types = _mlflow("mlflow.models"), _mlflow("mlflow.types")
    optional = None if scorer.needs_ids else scorer.use.id
    inputs = types.Schema([types.ColSpec(kind, name, name != optional) for name, kind in columns.items()])
    return models.ModelSignature(inputs, types.Schema([types.TensorSpec(np.dtype("float64"), (-1,))]))


def _try(scorer: Scorer, example: Any) -> None:
    """Raise if the example cannot be scored; a key that is not at hand is none of its faults."""
    model, key = scorer.estimator.model_, scorer.estimator.key
    if model.key_fingerprint is None or not (key is None or getattr(key, "is_lost", False)):
        scorer.fair_scores(example)


def _requirements(use: Use) -> list[str]:
    found = [f"fairroc=={__version__}", f"scikit-learn=={sklearn.__version__}"]
    return [*found, f"skops=={import_module('skops').__version__}"] if use.score is None else found


# ---- what is told of it ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _People:
    """Labelled people, with the original score."""

    scores: Any
    y: Any
    groups: Any
    pos_label: Any

    def without(self, names: Sequence[str], missing: Missing) -> _People:
        """All but those of some groups."""
        if not names:
            return self
        codes, found = group_codes(sensitive_columns(self.groups), missing)
        rows = np.flatnonzero(~np.isin(codes, [code for code, name in enumerate(found) if name in names]))
        return _People(self.scores[rows], np.asarray(self.y)[rows], np.array(found)[codes[rows]], self.pos_label)


def _tell(scorer: Scorer, data: Any, label: str, folder: Path) -> None:
    """Report, audits and, where the fit is at hand, its certificate, into a folder."""
    people, model = _people(scorer, data, label), scorer.estimator.model_
    post: Any = getattr(scorer.estimator, "postprocessor_", scorer.estimator)
    asked = asked_of(model)
    measured = {
        name: asked[name] for name in ("constraint", "ratio", "norm", "where", "min_class_rows", "small_groups")
    }
    measured["epsilon"] = asked["epsilon"] if model.ratio is None else None
    if model.tolerances is not None:
        del measured["norm"]
    how = {**measured, "pos_label": people.pos_label, "missing": asked["missing"]}
    known = people.without(model.left_out, asked["missing"])
    drawn = model.transform(
        known.scores,
        sensitive_features=known.groups,
        random_state=0,
        on_unknown_group=scorer.estimator.on_unknown_group,
        allow_out_of_range=True,
    )
    before = audit(people.scores, people.y, sensitive_features=people.groups, **how)
    after = audit(drawn, known.y, sensitive_features=known.groups, **how)
    for name, found in (("audit.json", before), ("audit_fair.json", after)):
        (folder / name).write_text(f"{json.dumps(found.to_dict(), indent=1)}\n", encoding="utf-8")
    if hasattr(post, "fitted_"):
        (folder / "certificate.json").write_text(post.proof_, encoding="utf-8")
    how |= {name: asked[name] for name in ("draw", "promise")}
    write_report(folder / "report.html", people.scores, people.y, sensitive_features=people.groups, **how)


def _people(scorer: Scorer, data: Any, label: str) -> _People:
    use, estimator = scorer.use, scorer.estimator
    wanted = [label, *use.group, *([] if use.score is None else [use.score])]
    if lacking := [name for name in wanted if name not in getattr(data, "columns", ())]:
        raise DataError(f"data must be a frame with the columns {', '.join(wanted)}, got none called {lacking[0]}.")
    groups = data[use.group[0]] if len(use.group) == 1 else data[list(use.group)] if use.group else None
    if isinstance(estimator, FairROC):
        return _People(data[use.score].to_numpy(), data[label], groups, estimator.pos_label)
    X = features(estimator, data.drop(columns=label), use)
    hits = np.asarray(data[label] == estimator.pos_label_)
    return _People(estimator.base_score(X), hits, estimator._groups(X, groups), None)
