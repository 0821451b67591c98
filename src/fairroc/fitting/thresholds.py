"""Choose a threshold of the fair score, by costs or by a target, and say what it means for each group.

A `Ladder` holds everything that thresholds can do to some people; the choice is one of its rungs, or between two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, IntArray
from fairroc.core.constraint import Constraint, Norm, Rates
from fairroc.core.portable import dot
from fairroc.core.realised import all_places, all_points, original_points, pooled_points
from fairroc.core.roc import Population, roc_curve
from fairroc.docstrings import FITTED, documented
from fairroc.errors import DataError
from fairroc.model.families import Treated, treated_rows
from fairroc.model.model import ModelData, expected_rocs, warn_unknown
from fairroc.options import AIM, CONSTRAINT, KEPT, checked, fairness_of, same
from fairroc.people.cells import cells_of
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc.people.rows import ScoreColumns, known_groups, unknown_groups
from fairroc.summary import Part, Result, Summary, figure, percent, window

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
    """Everything that thresholds can do, from selecting nobody to selecting all.

    ``false`` and ``true`` are the shares of all people who are selected wrongly and rightly at each rung; ``slope``
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
        scores, *pooled = original_points(people)
        above = np.concatenate(([np.nextafter(scores[-1], np.inf)], scores[::-1]))
        return Ladder(*_of_all(people, *pooled), np.zeros(len(above), dtype=np.bool_), lambda i, _: float(above[i]))
    people, realised = expected_rocs(model, everyone, on_unknown_group=on_unknown_group)
    y = all_places(realised)
    return _of_places(model, y, *_of_all(people, *pooled_points(realised, y, people)))


def _of_places(model: ModelData, y: FloatArray, false: FloatArray, true: FloatArray) -> Ladder:
    """The ladder over places, before and after the step at each."""
    gains = np.append(np.diff(false + true) > 0, False)
    slope = gains & (np.arange(len(gains)) % 2 == 1)  # the others lead from before a step to after it
    return Ladder(false, true, slope, _places(model, y, gains))


def spread_ladder(treated: Treated) -> Ladder:
    """The ladder of a model that is told something else than the groups."""
    model = treated.model
    if model.unchanged:
        whole = roc_curve(treated.columns.scores, treated.labels, treated.weights)
        above = np.concatenate(([np.nextafter(whole.thresholds[0], np.inf)], whole.thresholds))
        shares = (1 - whole.prior) * whole.fpr, whole.prior * whole.tpr
        return Ladder(*shares, np.zeros(len(above), dtype=np.bool_), lambda i, _: float(above[i]))
    mixture, kernels = treated.mixture()
    everybody, prior = mixture.realised(kernels, mixture.everybody), float(mixture.priors[-1])
    y = all_places([everybody])
    fpr, tpr = (line[:, 0] for line in all_points([everybody], y))
    return _of_places(model, y, (1 - prior) * fpr, prior * tpr)


def _of_all(people: Population, fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares of all people selected wrongly and rightly."""
    positives = dot(people.shares, people.priors)
    return (1 - positives) * fpr, positives * tpr


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
    """How far a target is surpassed (below 0: missed), as a straight function of what is selected."""
    assert aim.target is not None  # an aim that is no cost
    if aim.rule == "recall":
        return true - aim.target * positives
    if aim.rule == "selection_rate":
        return aim.target - (false + true)
    return true - aim.target * (false + true)


def unit(aim: Aim, positives: float) -> float:
    """In what a target is missed or met: a recall in its own unit, however little the positives weigh."""
    return positives if aim.rule == "recall" else 1.0


def crossing(steps: Ladder, aim: Aim) -> tuple[int, int, float | None]:
    """The best rung that meets the target, its neighbour that does not, and where between them the target is met (as a
    share of the way from the stricter one), if people in between are drawn."""
    positives, first = float(steps.true[-1]), aim.rule == "recall"
    spare = room(aim, steps.false, steps.true, positives)
    accepted = steps.false + steps.true
    good = np.flatnonzero((spare >= -SAME * unit(aim, positives)) & (accepted > 0))
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
            f"no threshold selects anyone and at most {aim.target:g} of people: the strictest that selects anyone "
            f"selects {math.ceil(accepted[some[0]] * 1e6) / 1e6:g}. Allow that much."
        )
    precision = steps.true[some] / accepted[some]
    at = int(np.argmax(precision))
    best, threshold = math.floor(precision[at] * 1e6) / 1e6, steps.threshold(int(some[at]), 0.0)
    return DataError(
        f"a precision of {aim.target:g} cannot be had: the highest that any threshold of the fair score is expected to "
        f"have on these people is {best:g}, at {threshold:.6g}, where {accepted[some[at]]:.3g} of people are selected. "
        "Ask for no more than that."
    )


MET = 1e-9
"""A target missed by no more than this is met: thresholds are doubles, and rates sums of very many numbers."""


@dataclass(frozen=True, slots=True, repr=False)
class ThresholdRates(Part):
    """What a threshold means for one group, or for all people: exact expectations over the draw.

    ``precision`` is None where nobody is selected, ``expected_cost`` (for one person) where no costs are given.
    ``drawn_share`` of the people, ``drawn_rows`` of the rows (None with weights) may be selected or not: their decision
    at this threshold hangs on the draw.
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
    drawn_share: float
    drawn_rows: int | None

    def rates(self) -> tuple[float | None, ...]:
        """All rates and the cost, in order."""
        return self.selection_rate, self.tpr, self.fpr, self.precision, self.accuracy, self.expected_cost


@documented(
    setup=f"""{FITTED}
>>> from fairroc import choose_threshold
>>> best = choose_threshold(post, scores, y, sensitive_features=sex, recall=0.8)"""
)
@dataclass(frozen=True, slots=True, repr=False)
class Choice(Result):
    """A threshold of the fair score (select ``fair score >= threshold``) and what it does to the people given.

    ``gap`` is the largest distance of two groups at this threshold, in what the model keeps close: its norm of (fpr,
    tpr), the difference of one rate, or what the ratio of two groups' rates lacks of 1. Outside the model's window it
    is 0. Of a model that keeps the groups of several attributes close, or of strata, ``groups`` are all of them, and
    the gap is the largest inside one attribute and stratum. ``constraint``, ``norm``, ``ratio``, ``tolerances``,
    ``where`` and ``draws_nobody`` are the model's.

    >>> best.rule, best.target, best.overall.tpr >= 0.8 - 1e-9
    ('recall', 0.8, True)
    """

    rule: str
    target: float | None
    cost_fp: float | None
    cost_fn: float | None
    threshold: float
    gap: float
    overall: ThresholdRates
    groups: tuple[ThresholdRates, ...]
    constraint: str = CONSTRAINT.default
    norm: Norm = 1
    ratio: float | None = None
    tolerances: tuple[float, float] | None = None
    where: tuple[float, float] | None = None
    draws_nobody: bool = False

    def _summary(self) -> Summary:
        costs = self.rule == "cost"
        aim = f"{self.cost_fp:g} a false positive, {self.cost_fn:g} a false negative" if costs else f"{self.target:g}"
        looks = self.where is None or self.fairness.looks(np.array([self.overall.selection_rate]))[0]
        gap = f"{self.gap:.4f} ({self.fairness.formula})" if looks else "not measured at this threshold"
        facts = [(self.rule.replace("_", " "), aim), ("gap there", gap), *window(self.where)]
        if not self.draws_nobody:
            facts.append(("decided by a draw", f"{percent(self.overall.drawn_share)} of people"))
        head = ["group", "rows", "selected", "TPR", "FPR", "precision", "accuracy", *["cost per person"] * costs]
        rows = [
            [r.group, f"{r.rows:,}", *(figure(x, none="–") for x in r.rates()[: len(head) - 2])]
            for r in (self.overall, *self.groups)
        ]
        return Summary(f"Choice: select everyone with a fair score >= {self.threshold:.4g}", facts, head, rows)

    @property
    def fairness(self) -> Constraint:
        """What the model keeps close, as geometry."""
        return fairness_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON.

        >>> best.to_dict()["rule"]
        'recall'
        """
        return asdict(self)


@documented(setup=FITTED)
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
    allow_out_of_range: bool | None = None,
    control_features: Any = None,
    group_probabilities: Any = None,
) -> Choice:
    """The best threshold of a fair score on labelled people, in expectation over the draw: nothing is drawn.

    Give exactly one aim. With ``cost_fp`` and ``cost_fn`` the expected cost is the least of all thresholds. A
    ``recall`` is reached by selecting as few people as possible, a ``precision`` by selecting as many as possible; a
    ``selection_rate`` is not exceeded, and as many as possible are selected.

    Parameters
    ----------
    scores, y, sensitive_features
        Original scores, labels and groups of people, fitted or new. Groups are needed to say what the threshold means
        for them, also of a model that does without.
    control_features, group_probabilities
        As `FairROC.transform` takes them, for a model that was fitted with them.

    Returns: Choice: the threshold and every group's rates there; printed, it is a table.
    Raises: DataError, UnknownGroupError
    >>> best = choose_threshold(post, scores, y, sensitive_features=sex, recall=0.8)
    >>> 0.8 - 1e-12 <= best.overall.tpr < 0.81, best.gap <= 0.1 + 1e-12
    (True, True)
    """
    aim = Aim.checked(
        cost_fp=cost_fp, cost_fn=cost_fn, selection_rate=selection_rate, precision=precision, recall=recall
    )
    model = model_of(model_or_estimator)
    if on_unknown_group is None:
        on_unknown_group = getattr(model_or_estimator, "on_unknown_group", None)
    known = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "pos_label": pos_label}
    if model.compared:
        told = {"control_features": control_features, "group_probabilities": group_probabilities}
        treated = treated_rows(model, scores, y, **known, **told, on_unknown_group=on_unknown_group)
        return choose_spread_threshold(treated, aim)
    model.told(sensitive_features, group_probabilities, control_features)  # raises where it is told too much
    people = read_people(scores, y, **known, missing=model.missing, small=model.small_rule, in_order=True)
    if allow_out_of_range is None:
        allow_out_of_range = getattr(model_or_estimator, "allow_out_of_range", False)
    how: dict[str, Any] = {"on_unknown_group": on_unknown_group, "allow_out_of_range": allow_out_of_range}
    return choose_threshold_of(model, people, aim, **how)


def choose_threshold_of(
    model: ModelData,
    people: People,
    aim: Aim,
    *,
    on_unknown_group: str | None = None,
    allow_out_of_range: bool = False,
) -> Choice:
    """Choose for people."""
    if model.compared:
        raise DataError(
            "people counted by group do not say what this model is told of a person: it was fitted with "
            "use_group=False, combine='each' or control_features. Pass the rows to choose_threshold."
        )
    known = known_groups(model.names, on_unknown_group, model.small_groups)
    rows_of = dict(zip(people.names, people.group_counts()[0].tolist(), strict=True))
    strange = {name: rows for name, rows in rows_of.items() if name not in known}
    if strange and on_unknown_group is None:
        raise unknown_groups(model.names, sum(strange.values()), people.rows, list(strange), model.small_groups)
    warn_unknown(sum(strange.values()), people.rows, on_unknown_group)
    model.judge_people(people, allow_out_of_range)
    codes = [known[on_unknown_group or ""] if name in strange else known[name] for name in people.names]
    cells = [cells_of(sample) for sample in people.samples]
    scores, labels, weights = (np.concatenate(column) for column in zip(*cells, strict=True))
    sizes = [len(part[0]) for part in cells]
    rows = ScoreColumns(scores, np.repeat(codes, sizes), 0)
    cell = 2 * np.repeat(np.arange(len(cells)), sizes) + labels

    def by_group(mass: FloatArray) -> FloatArray:
        """(groups, 2) weight of negatives and positives of each group."""
        return np.bincount(cell, mass, 2 * len(cells)).astype(np.float64).reshape(-1, 2)

    def rates(threshold: float) -> FloatArray:
        return by_group(model.rates(rows, threshold) * weights)

    everyone = by_group(weights)
    threshold, accepted = _best(ladder(model, people, on_unknown_group), aim, rates, everyone)
    masses = accepted, everyone, by_group(hanging(model.rates(rows, threshold)) * weights)
    counts = zip(people.names, *people.group_counts(), *masses, strict=True)
    weighted = people.weighted
    groups = tuple(_rates(aim, name, int(n), int(p), weighted, *own) for name, n, p, *own in counts)
    size, positives = (int(part.sum()) for part in people.group_counts())
    overall = _rates(aim, "all people", size, positives, weighted, *(mass.sum(axis=0) for mass in masses))
    return _chosen(model, aim, threshold, _gap_there(model, accepted, everyone), overall, groups)


def hanging(chance: FloatArray) -> BoolArray:
    """Whose decision hangs on the draw, from the probabilities to be selected."""
    return (chance > 0) & (chance < 1)


def choose_spread_threshold(treated: Treated, aim: Aim) -> Choice:
    """Choose for people of a model that is told something else than the groups."""
    model, families, labels = treated.model, treated.families, treated.labels.astype(np.intp)
    treated.before()  # raises where a group lacks a label
    mass = np.ones(len(labels)) if treated.weights is None else treated.weights

    def by_label(weights: FloatArray, codes: IntArray, size: int) -> FloatArray:
        """(size, 2) weight by group and label."""
        used = np.flatnonzero(codes >= 0)
        return np.bincount(2 * codes[used] + labels[used], weights[used], 2 * size).astype(np.float64).reshape(-1, 2)

    everybody = np.zeros(len(labels), dtype=np.intp)
    everyone = by_label(mass, everybody, 1)

    def rates(threshold: float) -> FloatArray:
        return by_label(model.rates(treated.columns, threshold) * mass, everybody, 1)

    threshold = _best(spread_ladder(treated), aim, rates, everyone)[0]
    chance, ones, gap, groups = model.rates(treated.columns, threshold), np.ones(len(labels)), 0.0, []
    masses, weighted = (chance * mass, mass, hanging(chance) * mass), treated.weights is not None
    for family in families:
        size = len(family.groups)
        taken, all_of_it, hang, rows = (by_label(part, family.codes, size) for part in (*masses, ones))
        gap = max(gap, _gap_there(model, taken, all_of_it))
        called = [f"{family.title}: {name}" if len(families) > 1 else name for name in family.groups]
        counts = zip(called, rows.sum(axis=1).tolist(), rows[:, 1].tolist(), taken, all_of_it, hang, strict=True)
        groups += [_rates(aim, name, int(n), int(p), weighted, *own) for name, n, p, *own in counts]
    whole = (by_label(part, everybody, 1)[0] for part in masses)
    overall = _rates(aim, "all people", len(labels), int(labels.sum()), weighted, *whole)
    return _chosen(model, aim, threshold, gap, overall, groups)


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
    """The threshold, and the weight of negatives and positives that it selects in each group."""
    if aim.cost_fp is not None and aim.cost_fn is not None:
        rung = int(np.argmin(aim.cost_fp * steps.false - aim.cost_fn * steps.true))
        threshold = steps.threshold(rung, 0.0)
        return threshold, rates(threshold)
    rung, other, share = crossing(steps, aim)
    meets = steps.threshold(rung, 0.0)
    tries = [meets] if share is None else [steps.threshold(min(rung, other), share), meets]
    positives = float(everyone[:, 1].sum() / everyone.sum())
    towards = np.inf if other > rung else -np.inf
    for threshold in (t for at in tries for t in (at, float(np.nextafter(at, towards)))):
        accepted = rates(threshold)
        false, true = accepted.sum(axis=0) / everyone.sum()
        if room(aim, false, true, positives) >= -MET * unit(aim, positives):
            break
    return threshold, accepted


def _gap_there(model: ModelData, accepted: FloatArray, everyone: FloatArray) -> float:
    """The gap of groups, given the weight of negatives and positives selected, and of all."""
    fpr, tpr = (accepted / everyone).T
    priors, shares = everyone[:, 1] / everyone.sum(axis=1), everyone.sum(axis=1) / everyone.sum()
    return float(model.fairness.measured(Rates(fpr[None], tpr[None], priors, shares))[0])


def _chosen(
    model: ModelData,
    aim: Aim,
    threshold: float,
    gap: float,
    overall: ThresholdRates,
    groups: Iterable[ThresholdRates],
) -> Choice:
    kept = same(model, *KEPT) | {"draws_nobody": not model.needs_ids}
    return Choice(aim.rule, aim.target, aim.cost_fp, aim.cost_fn, threshold, gap, overall, tuple(groups), **kept)


def _rates(aim: Aim, group: str, rows: int, positives: int, weighted: bool, *masses: FloatArray) -> ThresholdRates:
    """From the weight of negatives and positives: of those selected, of all, and of those who hang on the draw."""
    (false, true), (negative, positive), hang = (mass.tolist() for mass in masses)
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
        drawn_share=sum(hang) / total,
        drawn_rows=None if weighted else round(sum(hang)),
    )
