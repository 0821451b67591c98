"""Choose a threshold of the fair score, by costs or by a target, and say what it means for each group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.errors import DataError
from fairroc.fitting.ladder import Aim, Ladder, crossing, ladder, room
from fairroc.model.model import ModelData, warn_unknown
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc.people.rows import ScoreColumns, known_groups, unknown_groups

__all__ = ["Choice", "ThresholdRates", "choose_threshold", "choose_threshold_of", "model_of"]

MET = 1e-9
"""A target missed by no more than this is met: thresholds are doubles, and rates sums of very many numbers."""


@dataclass(frozen=True, slots=True)
class ThresholdRates:
    """What a threshold means for one group, or for all people: exact expectations over the draw.

    ``precision`` is None where nobody is accepted, ``expected_cost`` (for one person) where no costs are given.
    """

    group: str
    rows: int
    positives: int
    selection_rate: float
    tpr: float
    fpr: float
    precision: float | None
    accuracy: float
    expected_cost: float | None


@dataclass(frozen=True, slots=True)
class Choice:
    """A threshold of the fair score (accept ``fair score >= threshold``) and what it does to the people given.

    ``gap`` is the largest distance of two groups' (fpr, tpr) at this threshold, in the model's norm.
    """

    rule: str
    target: float | None
    cost_fp: float | None
    cost_fn: float | None
    threshold: float
    gap: float
    overall: ThresholdRates
    groups: tuple[ThresholdRates, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def choose_threshold(
    model_or_estimator: Any,
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    cost_fp: Any = None,
    cost_fn: Any = None,
    selection_rate: Any = None,
    precision: Any = None,
    recall: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    on_unknown_group: str | None = None,
) -> Choice:
    """The best threshold of a fair score on labelled people, in expectation over the draw: nothing is drawn.

    Give exactly one aim. With ``cost_fp`` and ``cost_fn`` the expected cost is the least of all thresholds. A
    ``recall`` is reached by accepting as few people as possible, a ``precision`` by accepting as many as possible; a
    ``selection_rate`` is not exceeded, and as many as possible are accepted.

    Parameters
    ----------
    model_or_estimator : FairModel, or a fitted FairROC or FairROCClassifier
    scores, y, sensitive_features, sample_weight, pos_label
        Original scores, labels and groups of people, fitted or new.
    on_unknown_group : str, optional
        Fitted group that unknown groups are treated as.

    Examples
    --------
    >>> from fairroc import FairROC
    >>> rng = np.random.default_rng(0)
    >>> sex, y = np.repeat(["f", "m"], 2000), rng.integers(0, 2, 4000)
    >>> score = y + np.where(sex == "f", 1.0, 2.0) * rng.normal(size=4000)
    >>> post = FairROC(epsilon=0.1, salt=1).fit(score, y, sensitive_features=sex)
    >>> best = choose_threshold(post, score, y, sensitive_features=sex, recall=0.8)
    >>> 0.8 <= best.overall.tpr < 0.81, best.gap <= 0.1 + 1e-12
    (True, True)
    """
    aim = Aim.checked(
        cost_fp=cost_fp, cost_fn=cost_fn, selection_rate=selection_rate, precision=precision, recall=recall
    )
    model = model_of(model_or_estimator)
    people = read_people(
        scores,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        pos_label=pos_label,
        missing=model.missing,
        in_order=True,
    )
    if on_unknown_group is None:
        on_unknown_group = getattr(model_or_estimator, "on_unknown_group", None)
    return choose_threshold_of(model, people, aim, on_unknown_group=on_unknown_group)


def choose_threshold_of(model: ModelData, people: People, aim: Aim, *, on_unknown_group: str | None = None) -> Choice:
    """Choose for people."""
    known = known_groups(model.names, on_unknown_group)
    rows_of = dict(zip(people.names, people.group_counts()[0].tolist(), strict=True))
    strange = {name: rows for name, rows in rows_of.items() if name not in known}
    if strange and on_unknown_group is None:
        raise unknown_groups(model.names, sum(strange.values()), people.rows, list(strange))
    warn_unknown(sum(strange.values()), people.rows, on_unknown_group)
    codes = [known[on_unknown_group or ""] if name in strange else known[name] for name in people.names]
    cells = [sample.cells() for sample in people.samples]
    scores, labels, weights = (np.concatenate(column) for column in zip(*cells, strict=True))
    sizes = [len(part[0]) for part in cells]
    rows = ScoreColumns(scores, np.repeat(codes, sizes), 0)
    cell = 2 * np.repeat(np.arange(len(cells)), sizes) + labels

    def rates(threshold: float) -> FloatArray:
        """(groups, 2) weight of accepted negatives and positives of each group."""
        chance = model.rates(rows, threshold)
        return np.bincount(cell, chance * weights, 2 * len(cells)).astype(np.float64).reshape(-1, 2)

    everyone = np.bincount(cell, weights, 2 * len(cells)).astype(np.float64).reshape(-1, 2)
    threshold, accepted = _best(ladder(model, people, on_unknown_group), aim, rates, everyone)
    return _choice(model, people, aim, threshold, accepted, everyone)


def model_of(model_or_estimator: Any) -> ModelData:
    """The model of a model, or of a fitted estimator."""
    inner = getattr(model_or_estimator, "postprocessor_", model_or_estimator)
    model = getattr(inner, "model_", inner)
    if not isinstance(model, ModelData):
        raise DataError(
            "a FairModel or a fitted FairROC or FairROCClassifier is needed, "
            f"got {type(model_or_estimator).__name__}. Fit it first, or load a model with FairModel.load(path)."
        )
    return model


def _best(
    steps: Ladder, aim: Aim, rates: Callable[[float], FloatArray], everyone: FloatArray
) -> tuple[float, FloatArray]:
    """The threshold, and the weight of negatives and positives that it accepts in each group."""
    if aim.cost_fp is not None and aim.cost_fn is not None:
        rung = int(np.argmin(aim.cost_fp * steps.false - aim.cost_fn * steps.true))
        threshold = steps.threshold(rung, 0.0)
        return threshold, rates(threshold)
    rung, other, share = crossing(steps, aim)
    meets = steps.threshold(rung, 0.0)
    tries = [meets] if share is None else [steps.threshold(min(rung, other), share), meets]
    towards = np.inf if other > rung else -np.inf
    for threshold in (t for at in tries for t in (at, float(np.nextafter(at, towards)))):
        accepted = rates(threshold)
        if _is_met(aim, accepted, everyone):
            break
    return threshold, accepted


def _is_met(aim: Aim, accepted: FloatArray, everyone: FloatArray) -> bool:
    false, true = accepted.sum(axis=0) / everyone.sum()
    return bool(room(aim, false, true, float(everyone[:, 1].sum() / everyone.sum())) >= -MET)


def _choice(
    model: ModelData, people: People, aim: Aim, threshold: float, accepted: FloatArray, everyone: FloatArray
) -> Choice:
    counts = zip(people.names, *people.group_counts(), accepted, everyone, strict=True)
    groups = tuple(_rates(aim, name, int(n), int(p), *masses) for name, n, p, *masses in counts)
    rows, positives = (int(part.sum()) for part in people.group_counts())
    overall = _rates(aim, "all people", rows, positives, accepted.sum(axis=0), everyone.sum(axis=0))
    fpr, tpr = (accepted / everyone).T
    gap = float(model.constraint.gap((fpr + tpr)[None], (tpr - fpr)[None])[0])
    return Choice(aim.rule, aim.target, aim.cost_fp, aim.cost_fn, threshold, gap, overall, groups)


def _rates(
    aim: Aim, group: str, rows: int, positives: int, accepted: FloatArray, everyone: FloatArray
) -> ThresholdRates:
    (false, true), (negative, positive) = accepted.tolist(), everyone.tolist()
    total, missed = negative + positive, positive - true
    cost = None
    if aim.cost_fp is not None and aim.cost_fn is not None:
        cost = (aim.cost_fp * false + aim.cost_fn * missed) / total
    return ThresholdRates(
        group=group,
        rows=rows,
        positives=positives,
        selection_rate=(false + true) / total,
        tpr=true / positive,
        fpr=false / negative,
        precision=true / (false + true) if false + true > 0 else None,
        accuracy=(true + negative - false) / total,
        expected_cost=cost,
    )
