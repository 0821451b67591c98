"""Everything that the thresholds of a fair score can do to some people, and which of them meets an aim."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray
from fairroc.core.realised import all_places, all_points
from fairroc.core.roc import all_thresholds, rates_at
from fairroc.errors import DataError
from fairroc.model.model import ModelData, expected_rocs
from fairroc.options import AIM, checked
from fairroc.people.people import People, Population

__all__ = ["Aim", "Ladder", "crossing", "ladder", "room"]

SAME = 1e-12
"""Shares of people nearer than this are equal: sums of about 1 in different order."""

BESIDE = 1e-12
"""Share of the score range by which a threshold keeps away from people who must be on one side of it."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What a threshold shall do: cost least (``rule="cost"``), or meet a target."""

    rule: str
    cost_fp: float | None = None
    cost_fn: float | None = None
    target: float | None = None

    @classmethod
    def checked(cls, **given: Any) -> Aim:
        """The one aim that is given (parameters of `fairroc.options.AIM`), or an error that says what must hold."""
        named = {name: value for name, value in checked(AIM, given).items() if value is not None}
        costs = [named.pop(name, None) for name in ("cost_fp", "cost_fn")]
        with_costs = costs != [None, None]
        if len(named) + with_costs != 1:
            got = " and ".join([*(["costs"] if with_costs else []), *named]) or "nothing"
            raise DataError(
                "give exactly one aim: cost_fp and cost_fn together, selection_rate, precision or recall; got "
                f"{got} (on the command line: --cost-fp with --cost-fn, --selection-rate, --precision, --recall)."
            )
        if with_costs:
            if None in costs:
                raise DataError("give both cost_fp and cost_fn: what one false positive and one false negative cost.")
            if costs == [0, 0]:
                raise DataError(
                    "one of cost_fp and cost_fn must be above 0; both are 0, and every threshold is as good."
                )
            return cls("cost", *costs)
        ((rule, target),) = named.items()
        return cls(rule, target=target)


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """Everything that thresholds can do, from accepting nobody to accepting all.

    ``false`` and ``true`` are the shares of all people who are accepted wrongly and rightly at each rung; ``slope``
    tells from which rungs people who are drawn lead to the next one, so that all in between can be had.
    ``threshold(i, f)`` is that of rung i, or of the share f of the way from it to the next.
    """

    false: FloatArray
    true: FloatArray
    slope: BoolArray
    threshold: Callable[[int, float], float]


def ladder(model: ModelData, everyone: People, on_unknown_group: str | None) -> Ladder:
    """The ladder of a model on these people. O(k log k) for k distinct scores."""
    if model.unchanged:
        people = everyone.exact
        scores = all_thresholds(people.curves)[::-1]
        rates = [rates_at(curve, scores) for curve in people.curves]
        fpr, tpr = (np.pad(np.stack([rate[i] for rate in rates], axis=1), ((1, 0), (0, 0))) for i in (0, 1))
        above = np.concatenate(([np.nextafter(scores[0], np.inf)], scores))
        return Ladder(*_pooled(people, fpr, tpr), np.zeros(len(fpr), dtype=np.bool_), lambda i, _: float(above[i]))
    people, realised = expected_rocs(model, everyone, on_unknown_group=on_unknown_group)
    false, true = _pooled(people, *all_points(realised))
    gains = np.append(np.diff(false + true) > 0, False)
    slope = gains & (np.arange(len(gains)) % 2 == 1)  # the others lead from before a step to after it
    return Ladder(false, true, slope, _places(model, all_places(realised), gains))


def _pooled(people: Population, fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares of all people accepted wrongly and rightly."""
    positives = float(people.shares @ np.array([curve.prior for curve in people.curves]))
    return (1 - positives) * (fpr @ people.weights0), positives * (tpr @ people.weights1)


def _places(model: ModelData, y: FloatArray, gains: BoolArray) -> Callable[[int, float], float]:
    """Thresholds of the rungs before (even) and after (odd) the step at each place; ``gains`` tells from which of them
    people are won on the way to the next."""
    assert model.scale is not None  # the score is changed
    scale = model.scale
    score = scale.to_score(y)
    away = BESIDE * float(score[0] - score[-1])

    def threshold(i: int, share: float) -> float:
        if i == 0:
            return float(np.nextafter(score[0], np.inf))
        after = (i - 1) // 2  # the step that people are on the upper side of
        if after == len(y) - 1:
            return float(score[-1])
        high, low = float(score[after]), float(score[after + 1])
        if share > 0:
            inside = scale.to_score(np.array([y[after] + share * (y[after + 1] - y[after])]))
            return float(inside[0])
        between = high / 2 + low / 2
        if not gains[2 * after + 1]:
            return between if low < between else high
        if i % 2:
            return max(high - away, between) if gains[2 * after] else high
        return min(low + away, between) if gains[i] else low

    return threshold


def room(aim: Aim, false: FloatArray, true: FloatArray, positives: float) -> FloatArray:
    """How far a target is surpassed (below 0: missed), as a straight function of what is accepted."""
    assert aim.target is not None  # an aim that is no cost
    if aim.rule == "recall":
        return true - aim.target * positives
    if aim.rule == "selection_rate":
        return aim.target - (false + true)
    return true - aim.target * (false + true)


def crossing(steps: Ladder, aim: Aim) -> tuple[int, int, float | None]:
    """The best rung that meets the target, its neighbour that does not, and where between them the target is met (as a
    share of the way from the stricter one), if people in between are drawn."""
    spare = room(aim, steps.false, steps.true, float(steps.true[-1]))
    accepted = steps.false + steps.true
    good = np.flatnonzero((spare >= -SAME) & (accepted > 0))
    first = aim.rule == "recall"
    if not len(good) and aim.rule == "selection_rate":  # some of those who are drawn first
        last = int(np.argmax(accepted > 0)) - 1
        good = np.array([last] * bool(steps.slope[last]), dtype=np.intp)
    if not len(good):
        raise _unreachable(steps, aim)
    rung = int(good[0] if first else good[-1])
    other = rung - 1 if first else rung + 1
    strict = min(rung, other)
    if other < 0 or other >= len(spare) or not steps.slope[strict] or spare[other] >= 0:
        return rung, other, None
    part = float(spare[strict] / (spare[strict] - spare[strict + 1]))
    return rung, other, part if 0 < part < 1 else None


def _unreachable(steps: Ladder, aim: Aim) -> DataError:
    """What can be had instead."""
    accepted = steps.false + steps.true
    some = np.flatnonzero(accepted > 0)
    if aim.rule == "selection_rate":
        return DataError(
            f"no threshold accepts anyone and at most {aim.target:g} of people: the strictest that accepts anyone "
            f"accepts {math.ceil(accepted[some[0]] * 1e6) / 1e6:g}. Allow that much."
        )
    precision = steps.true[some] / accepted[some]
    at = int(np.argmax(precision))
    best, threshold = math.floor(precision[at] * 1e6) / 1e6, steps.threshold(int(some[at]), 0.0)
    return DataError(
        f"a precision of {aim.target:g} cannot be had: the highest that any threshold of the fair score is expected to "
        f"have on these people is {best:g}, at {threshold:.6g}, where {accepted[some[at]]:.3g} of people are accepted. "
        "Ask for no more than that."
    )
