"""A logged model at work: frames of columns in, fair scores out, in `mlflow.pyfunc` and in MLflow's server."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from fairroc.core.chain import FloatArray
from fairroc.errors import DataError, FairrocError, ModelFileError
from fairroc.estimators.classifier import FairROCClassifier
from fairroc.estimators.fair_roc import FairROC
from fairroc.fairmodel import FairModel
from fairroc.model.draw import read_key_file

Scored: TypeAlias = FairROC | FairROCClassifier

KEY_FILE = "FAIRROC_KEY_FILE"
"""Environment variable: the file that holds the key of the model that is loaded."""

USE, MODEL, CLASSIFIER = "use.json", "model.json", "classifier.zip"
ID_TYPES = {"integer": "long", "text": "string"}
"""How ids are hashed, and their type in a signature."""


@dataclass(frozen=True, slots=True)
class Use:
    """How a logged model is used: what it is, its columns, and what a call of `transform` decides.

    ``score`` is None for a classifier, which has its features from all other columns; ``group`` is empty where the
    classifier finds the groups among them.
    """

    kind: str
    score: str | None
    group: tuple[str, ...]
    id: str | None
    id_type: str
    on_unknown_group: str | None = None
    allow_out_of_range: bool = False
    trusted: tuple[str, ...] = ()
    group_probabilities: tuple[str, ...] = ()
    control_features: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """Columns of what the model is told beside the score."""
        return (*self.group, *self.group_probabilities, *self.control_features)

    @classmethod
    def read(cls, folder: Path) -> Use:
        """From the folder of a logged model."""
        try:
            data = json.loads((folder / USE).read_text(encoding="utf-8"))
            several = ("group", "trusted", "group_probabilities", "control_features")
            return cls(**data | {name: tuple(data.get(name, ())) for name in several})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ModelFileError(
                f"'{folder}' must hold what fairroc.mlflow.log_model wrote, but its {USE} cannot be used ({error!r})."
            ) from None

    def write(self, folder: Path) -> None:
        """Into the folder of a logged model."""
        (folder / USE).write_text(f"{json.dumps(asdict(self), indent=1)}\n", encoding="utf-8")


def key_from(key: bytes | str | None, key_file: str | os.PathLike[str] | None, model: FairModel) -> Any:
    """The key given, or that of the file given, or else of the file that KEY_FILE names; None for a model without."""
    if key is not None and key_file is not None:
        raise DataError("give either key or key_file, got both. Leave one out.")
    if key_file is None and key is None and model.key_fingerprint is not None:
        key_file = os.environ.get(KEY_FILE) or None
    return read_key_file(key_file) if key_file is not None else key


def restore(
    folder: Path,
    use: Use,
    *,
    key: bytes | str | None = None,
    key_file: str | os.PathLike[str] | None = None,
    trusted: Sequence[Any] = (),
) -> Scored:
    """The estimator in the folder of a logged model, with its key if there is one."""
    if use.kind == FairROCClassifier.__name__:
        found = FairROCClassifier.load(folder / CLASSIFIER, trusted=[*use.trusted, *trusted])
        given = key_from(key, key_file, found.model_)
        if given is not None:
            found.model_.check_key(given)
            found.key = given
        return found
    given = key_from(key, key_file, FairModel.load(folder / MODEL))
    how = {"on_unknown_group": use.on_unknown_group, "allow_out_of_range": use.allow_out_of_range}
    return FairROC.load(folder / MODEL, key=given, **how)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """What MLflow holds: a fitted estimator and the columns that it reads."""

    estimator: Scored
    use: Use

    @property
    def needs_ids(self) -> bool:
        return self.estimator.model_.needs_ids

    def predict(self, model_input: Any, params: Any = None) -> FloatArray:
        """Fair scores of a frame's rows. An error of ours keeps its words in MLflow's, and in its server's answer."""
        from mlflow.exceptions import MlflowException
        from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE

        try:
            return self.fair_scores(model_input)
        except FairrocError as error:
            name = type(error).__name__
            raise MlflowException(f"{name}: {error}", error_code=INVALID_PARAMETER_VALUE) from error

    def fair_scores(self, frame: Any) -> FloatArray:
        """One fair score for each row."""
        use, model = self.use, self.estimator
        id = use.id if self.needs_ids else None
        named = [*([] if use.score is None else [use.score]), *use.told, *([] if id is None else [id])]
        if lacking := [name for name in named if name not in getattr(frame, "columns", ())]:
            raise DataError(f"the rows must have the columns {', '.join(named)}, got none called {', '.join(lacking)}.")
        groups = frame[use.group[0]] if len(use.group) == 1 else frame[list(use.group)] if use.group else None
        ids = None if id is None else checked_ids(frame[id], use.id_type)
        more: dict[str, Any] = {
            name: frame[list(columns)]
            for name in ("group_probabilities", "control_features")
            if (columns := getattr(use, name))
        }
        if isinstance(model, FairROC):
            return model.transform(frame[use.score].to_numpy(), sensitive_features=groups, ids=ids, **more)
        return model.fair_score(features(model, frame, use), sensitive_features=groups, ids=ids, **more)


def checked_ids(ids: Any, id_type: str) -> Any:
    """Ids as they are hashed: numbers as numbers and text as text, or the same person would get another draw."""
    if id_type == "integer":
        found = ids.to_numpy()
        if found.dtype.kind not in "iu":
            raise DataError(f"ids must be integers, as the model was logged with id_type='integer', got {ids.dtype}.")
        return found
    texts = ids.tolist()
    if strange := [each for each in texts if not isinstance(each, str)]:
        raise DataError(
            f"ids must be text, as the model was logged with id_type='text', got {len(strange)} that are not (first: "
            f"{type(strange[0]).__name__}). Send them in quotes."
        )
    return texts


def features(model: FairROCClassifier, frame: Any, use: Use) -> Any:
    """The columns that the classifier's estimator was fitted to."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:  # fitted to a matrix
        return frame.drop(columns=[*use.told, *([] if use.id is None else [use.id])], errors="ignore").to_numpy()
    if lacking := [name for name in names if name not in frame.columns]:
        raise DataError(f"the rows must have the features of the fit, got none called {', '.join(lacking)}.")
    return frame[list(names)]


def load_scorer(path: str, model_config: Mapping[str, Any] | None = None) -> Scorer:
    """What MLflow calls to load a model; ``model_config`` may name a ``key_file``.

    A model with a key is refused without it: a service that starts and then refuses everybody helps nobody.
    """
    config = dict(model_config or {})
    key_file = config.pop("key_file", None) or None
    if config:
        raise DataError(f"model_config may hold 'key_file' alone, got {', '.join(map(repr, config))}.")
    folder = Path(path)
    use = Use.read(folder)
    found = restore(folder, use, key_file=key_file)
    model = found.model_
    if model.needs_ids and model.key_fingerprint is not None and found.key.is_lost:
        raise DataError(
            f"this model was fitted with a key (fingerprint {model.key_fingerprint}), which MLflow does not store. "
            f"Name the file that holds it in the environment variable {KEY_FILE}, or in model_config as 'key_file'."
        )
    return Scorer(found, use)
