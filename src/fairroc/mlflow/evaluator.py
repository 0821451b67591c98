"""MLflow's evaluator: ``mlflow.models.evaluate(..., evaluators="fairroc", evaluator_config={"group": "sex"})``.

MLflow finds it by its entry point. Its metrics are the figures of `fairroc.audit`, and it logs the whole audit as JSON.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from mlflow import MlflowClient
from mlflow.entities import Metric
from mlflow.models import EvaluationResult
from mlflow.models.evaluation import ModelEvaluator
from mlflow.models.evaluation.artifacts import ImageEvaluationArtifact, JsonEvaluationArtifact

from fairroc.errors import DataError

PREFIX = "fairroc/"
FILES = ("fairroc_audit.json", "fairroc_roc.png")
UNNAMED = ("band", "tolerances")
"""Pairs of the audit that are no interval: they are in the JSON alone."""


class FairrocEvaluator(ModelEvaluator):  # type: ignore[misc]
    """How far apart the groups are at every threshold of a score.

    ``evaluator_config`` names the ``group`` column, or several, and may hold ``weight`` (a column) and the other
    parameters of `fairroc.audit`. Without a group it stays out, so that evaluations that do not ask for it are as ever.
    """

    @classmethod
    def can_evaluate(cls, *, model_type: Any, evaluator_config: Any, **kwargs: Any) -> bool:
        """Whether a group is named."""
        return bool((evaluator_config or {}).get("group"))

    def evaluate(
        self,
        *,
        model_type: Any,
        dataset: Any,
        run_id: str,
        evaluator_config: Any,
        model: Any = None,
        predictions: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Audit the scores, and log figures, JSON and a picture of the ROC curves in the run."""
        from fairroc.auditing.audit import audit

        config = dict(evaluator_config)
        frame, y = dataset.features_data, dataset.labels_data
        groups = _column(frame, config.pop("group"), "group")
        weight = config.pop("weight", None)
        weights = None if weight is None else _column(frame, weight, "weight")
        scores = _scores(dataset.predictions_data if model is None else model.predict(frame), predictions)
        try:
            found = audit(scores, y, sensitive_features=groups, sample_weight=weights, **config)
        except TypeError as error:
            raise DataError(f"evaluator_config must hold 'group', 'weight' and parameters of audit: {error}.") from None
        metrics = {f"{PREFIX}{name}": value for name, value in figures(found.to_dict())}
        client, now = MlflowClient(), int(time.time() * 1000)
        client.log_batch(run_id, metrics=[Metric(name, value, now, 0) for name, value in metrics.items()])
        with TemporaryDirectory() as folder:
            (Path(folder) / FILES[0]).write_text(json.dumps(found.to_dict(), indent=1), encoding="utf-8")
            image = _picture(Path(folder) / FILES[1], scores, y, groups, weights, config) if y is not None else None
            client.log_artifacts(run_id, folder)
        home = client.get_run(run_id).info.artifact_uri
        artifacts = {"fairroc_audit": JsonEvaluationArtifact(f"{home}/{FILES[0]}", found.to_dict())}
        if image is not None:
            artifacts["fairroc_roc"] = ImageEvaluationArtifact(f"{home}/{FILES[1]}", image)
        return EvaluationResult(metrics, artifacts, run_id)


def figures(data: Mapping[str, Any], below: str = "") -> Iterator[tuple[str, float]]:
    """All finite numbers of an audit by their path: of intervals both ends, of groups by their names.

    >>> dict(figures({"gap": 0.2, "gap_pair": ["a", "b"], "groups": [{"group": "a", "auc_interval": [0.5, 0.7]}]}))
    {'gap': 0.2, 'group/a/auc_interval_low': 0.5, 'group/a/auc_interval_high': 0.7}
    """
    for name, value in data.items():
        if isinstance(value, Mapping) and name not in UNNAMED:
            yield from figures(value, f"{below}{name}/")
        elif name == "groups":
            for part, called in zip(value, _names([part["group"] for part in value]), strict=True):
                yield from figures(part, f"{below}group/{called}/")
        elif _is_pair(value) and name not in UNNAMED:
            yield from ((f"{below}{name}_{end}", float(each)) for end, each in zip(("low", "high"), value, strict=True))
        elif isinstance(value, int | float) and np.isfinite(value):
            yield f"{below}{name}", float(value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(each, int | float) for each in value)


def _names(groups: list[str]) -> list[str]:
    """Names of groups as MLflow takes them in names of metrics, no two the same."""
    found: list[str] = []
    for group in groups:
        plain = re.sub(r"[^\w\-. ]", "_", group, flags=re.ASCII)[:100].strip(". ") or "_"
        again = sum(re.fullmatch(rf"{re.escape(plain)}(_\d+)?", name) is not None for name in found)
        found.append(f"{plain}_{again + 1}" if plain in found else plain)
    return found


def _column(frame: Any, name: Any, what: str) -> Any:
    """One column of the features, or several."""
    names = [name] if isinstance(name, str) else list(name)
    known = [str(each) for each in getattr(frame, "columns", ())]
    if lacking := [each for each in names if each not in known]:
        raise DataError(
            f"evaluator_config must name the {what} by a column of the data that is neither target nor prediction, got "
            f"{lacking[0]!r}; there are {', '.join(known) or 'no named columns'}."
        )
    return frame[names[0]] if len(names) == 1 else frame[names]


def _scores(output: Any, name: Any) -> Any:
    """The scores in what a model gave: a column, or of two probabilities the second."""
    if output is None:
        raise DataError("there must be scores to evaluate: pass a model, or predictions= with the column of scores.")
    if name is not None and hasattr(output, "columns"):
        output = output[name]
    values = np.asarray(output)
    return values[:, 1] if values.ndim == 2 and values.shape[1] == 2 else values


def _picture(path: Path, scores: Any, y: Any, groups: Any, weights: Any, config: Mapping[str, Any]) -> Any:
    """The ROC curves as an image, where matplotlib is there."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        return None
    from PIL import Image

    from fairroc.plot.roc import FairROCDisplay

    known = {name: config[name] for name in ("pos_label", "missing", "confidence", "bootstrap") if name in config}
    shown = FairROCDisplay.from_predictions(scores, y, sensitive_features=groups, sample_weight=weights, **known)
    shown.ax_.set_title("ROC curves of the score evaluated", loc="left", fontsize="medium", fontweight="bold")
    shown.figure_.savefig(path, dpi=150)
    with Image.open(path) as image:
        image.load()
        return image
