"""Thresholds of the fair score, against trying them all."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from test_pipeline import DRAW, EPSILONS, Rows, acceptance, all_thresholds, fitted, normal_rows, worlds
from test_proxy import FITS, SCORES, SEX, Y, spread

from fairroc import Choice, choose_threshold
from fairroc.errors import DataError, FairrocWarning, UnknownGroupError
from fairroc.fitting.thresholds import Aim, choose_threshold_of
from fairroc.model.families import families_of
from fairroc.people.door import read_people
from fairroc.text.certificate import choice_text
from fitted_people import FairROC, FairROCClassifier
from strategies import NORMS

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

COSTS = st.sampled_from([(1, 1), (1, 5), (7.5, 1), (0, 1), (1, 0), (1, 0.3)])
TARGETS = st.sampled_from(["selection_rate", "precision", "recall"])
NEAR = 1e-8


def choose(model, rows: Rows, **aim) -> Choice:
    return choose_threshold(
        model, rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=rows.weights, **aim
    )


def tried(done, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of all people who are accepted wrongly and rightly at every threshold there is, and all positives."""
    accepted = acceptance(done.model, rows, all_thresholds(done, rows))
    accepted = np.vstack((np.zeros(len(rows.y)), accepted))
    mass = rows.mass / rows.mass.sum()
    return accepted @ (mass * (1 - rows.y)), accepted @ (mass * rows.y), (mass * rows.y).sum()


def check_rates(choice: Choice, model, rows: Rows) -> None:
    """Every figure from its definition, by the public door."""
    rate = model.acceptance_rate(rows.scores, sensitive_features=rows.groups, threshold=choice.threshold)
    parts = [(choice.overall, np.ones(len(rate), dtype=bool))]
    parts += [(found, rows.groups == found.group) for found in choice.groups]
    for found, part in parts:
        y, accepted, mass = rows.y[part], rate[part], rows.mass[part]
        hang = (accepted > 0) & (accepted < 1)
        assert found.drawn_share == pytest.approx(np.average(hang, weights=mass), abs=1e-12)
        assert found.drawn_rows == (hang.sum() if rows.weights is None else None)
        assert (found.rows, found.positives) == (part.sum(), y.sum())
        assert found.tpr == pytest.approx(np.average(accepted[y == 1], weights=mass[y == 1]), abs=1e-9)
        assert found.fpr == pytest.approx(np.average(accepted[y == 0], weights=mass[y == 0]), abs=1e-9)
        assert found.selection_rate == pytest.approx(np.average(accepted, weights=mass), abs=1e-9)
        assert found.accuracy == pytest.approx(np.average(np.where(y, accepted, 1 - accepted), weights=mass), abs=1e-9)
        if accepted @ mass > 0:
            assert found.precision == pytest.approx((accepted * y) @ mass / (accepted @ mass), rel=1e-9)
        else:
            assert found.precision is None
        if choice.rule == "cost":
            cost = np.where(y, choice.cost_fn * (1 - accepted), choice.cost_fp * accepted)
            assert found.expected_cost == pytest.approx(np.average(cost, weights=mass), abs=1e-9)
        else:
            assert found.expected_cost is None


def useless_rows() -> Rows:
    """Five scores that say little about the labels."""
    rng = np.random.default_rng(0)
    scores, groups = rng.integers(0, 5, 500).astype(float), rng.choice(["a", "b"], 500)
    return Rows(scores, (rng.random(500) < 0.4 + 0.05 * scores * (groups == "a")).astype(int), groups)


# ---- the best of all thresholds ----------------------------------------------------------------------------


@settings(max_examples=12)
@given(worlds(max_groups=4), EPSILONS, NORMS, DRAW, COSTS)
def test_no_threshold_costs_less(rows, epsilon, norm, draw, costs) -> None:
    done = fitted(rows, epsilon, norm, draw)
    choice = choose(done.model, rows, cost_fp=costs[0], cost_fn=costs[1])
    false, true, positives = tried(done, rows)
    least = (costs[0] * false + costs[1] * (positives - true)).min()
    assert choice.overall.expected_cost == pytest.approx(least, abs=NEAR)
    assert choice.gap <= epsilon + 1e-9
    check_rates(choice, done.model, rows)


@settings(max_examples=15)
@given(worlds(max_groups=4), EPSILONS, DRAW, TARGETS, st.sampled_from([0.05, 0.3, 0.5, 0.77, 0.95, 1.0]))
def test_a_target_is_met_and_no_threshold_meets_it_better(rows, epsilon, draw, rule, target) -> None:
    """The fewest people for a recall, the most for a precision and for a selection rate."""
    done = fitted(rows, epsilon, draw=draw)
    false, true, positives = tried(done, rows)
    accepted = false + true
    some = accepted > 1e-9  # a threshold can cut off the tiniest part of a draw
    if rule == "recall":
        meets = true >= target * positives * (1 - 1e-12)
    elif rule == "precision":
        meets = some & (true >= target * accepted - 1e-12)
    else:
        meets = some & (accepted <= target + 1e-12)
    try:
        choice = choose(done.model, rows, **{rule: target})
    except DataError as error:
        assert not meets.any()
        assert ("cannot be had" if rule == "precision" else "no threshold selects anyone") in str(error)
        return
    found = choice.overall
    reached = {"recall": found.tpr, "precision": found.precision, "selection_rate": -found.selection_rate}[rule]
    assert reached >= (-target if rule == "selection_rate" else target) - NEAR
    if rule == "recall":
        assert found.selection_rate <= accepted[meets].min() + NEAR
    elif meets.any():
        assert found.selection_rate >= accepted[meets].max() - NEAR
    check_rates(choice, done.model, rows)


@pytest.mark.parametrize("draw", ["all", "few"])
def test_where_people_are_drawn_a_target_is_met_exactly(draw) -> None:
    rows = normal_rows(0, n=4000)
    model = fitted(rows, 0.1, draw=draw).model
    assert choose(model, rows, recall=0.8).overall.tpr == pytest.approx(0.8, abs=1e-3 if draw == "few" else 1e-9)
    assert choose(model, rows, selection_rate=0.3).overall.selection_rate == pytest.approx(0.3, abs=1e-3)
    assert choose(model, rows, precision=0.8).overall.precision == pytest.approx(0.8, abs=1e-3)


def test_people_not_in_the_fit() -> None:
    """Scores above and below all fitted ones, other weights and other groups' sizes."""
    done = fitted(normal_rows(0, n=900), 0.2, draw="few")
    new = normal_rows(9, n=200)
    new.scores[:9] -= 100.0
    new.scores[9:20] += 100.0
    new = Rows(new.scores, new.y, new.groups, np.random.default_rng(0).uniform(0.1, 3, 200))
    choice = choose(done.model, new, cost_fp=2, cost_fn=1)
    false, true, positives = tried(done, new)
    assert choice.overall.expected_cost <= (2 * false + positives - true).min() + NEAR
    check_rates(choice, done.model, new)


# ---- doors -------------------------------------------------------------------------------------------------


def test_models_and_estimators_alike() -> None:
    rows = normal_rows(0, n=600)
    post = FairROC(epsilon=0.1, salt=1).fit(rows.scores, rows.y, sensitive_features=rows.groups)
    assert choose(post, rows, recall=0.7) == choose(post.model_, rows, recall=0.7)
    features = rows.scores[:, None]
    classifier = FairROCClassifier(LogisticRegression(), epsilon=0.1, cv=3, salt=1)
    classifier.fit(features, rows.y, sensitive_features=rows.groups)
    inner, own = classifier.postprocessor_.model_, replace(rows, scores=classifier.base_score(features))
    assert choose(classifier, own, recall=0.7) == choose(inner, own, recall=0.7)
    assert json.loads(json.dumps(choose(post, rows, recall=0.7).to_dict()))["rule"] == "recall"


@pytest.mark.parametrize("weights", [None, 0.5 + np.arange(1000) % 3])
def test_scores_on_another_scale(weights) -> None:
    """As `transform` judges them: warned of from 1 % of people on, refused beyond half unless that is allowed."""
    rows = replace(normal_rows(0, n=1000), weights=weights)
    post = FairROC(epsilon=0.1, salt=1).fit(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=weights)
    low, high = post.model_.score_range

    def found(outside: int, model=post, **how) -> Choice:
        beyond = np.where(np.arange(1000) % 2, high + 10, low - 10)
        return choose(model, replace(rows, scores=np.where(np.arange(1000) < outside, beyond, rows.scores)), **how)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found(9, recall=0.5)
    for number in (10, 500):
        with pytest.warns(FairrocWarning, match=f"^{number} of 1,000 scores .* Is this the score that was fitted"):
            found(number, recall=0.5)
    for model in (post, post.model_):
        with pytest.raises(DataError, match=r"501 of 1,000 scores \(50.1%\) lie outside .* --allow-out-of-range"):
            found(501, model, recall=0.5)
    with pytest.warns(FairrocWarning, match="501 of 1,000"):
        allowed = found(501, recall=0.5, allow_out_of_range=True)
    with pytest.warns(FairrocWarning, match="501 of 1,000"):
        assert (
            found(
                501,
                clone(post)
                .set_params(allow_out_of_range=True)
                .fit(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=weights),
                recall=0.5,
            )
            == allowed
        )


@pytest.mark.parametrize("other", [FairROC(), "model.json", None])
def test_what_is_no_model_is_said(other) -> None:
    with pytest.raises(DataError, match="a FairModel or a fitted FairROC"):
        choose(other, normal_rows(0, n=100), recall=0.5)


@pytest.mark.parametrize(
    ("aim", "words"),
    [
        ({}, "exactly one aim.*got nothing"),
        ({"recall": 0.5, "precision": 0.5}, "exactly one aim.*got precision and recall"),
        ({"cost_fp": 1, "cost_fn": 1, "recall": 0.5}, "got costs and recall"),
        ({"cost_fp": 1}, "give both cost_fp and cost_fn"),
        ({"cost_fp": -1, "cost_fn": 1}, "cost_fp must be a number of at least 0.*got -1"),
        ({"cost_fp": 0, "cost_fn": 0}, "both are 0"),
        ({"cost_fp": float("nan"), "cost_fn": 1}, "cost_fp must be"),
        ({"recall": 0}, "recall must lie above 0"),
        ({"selection_rate": 1.5}, "selection_rate must lie above 0 and be at most 1, got 1.5"),
        ({"precision": "high"}, "precision must lie"),
        ({"recall": True}, "recall must lie"),
    ],
)
def test_aims_that_are_none(aim, words) -> None:
    rows = normal_rows(0, n=200)
    with pytest.raises(DataError, match=words):
        choose(fitted(rows, 0.1).model, rows, **aim)


def test_what_can_be_had_is_said_and_can_be_had() -> None:
    rows = useless_rows()
    model = fitted(rows, 0.0).model
    with pytest.raises(DataError, match=r"a precision of 1 cannot be had: the highest .* is 0\.\d+") as caught:
        choose(model, rows, precision=1)
    best = float(str(caught.value).split(" is ")[2].split(",")[0])
    assert choose(model, rows, precision=best).overall.precision >= best - 1e-9
    unchanged = fitted(rows, 2.0).model
    highest = (rows.scores == rows.scores.max()).mean()
    with pytest.raises(DataError, match="no threshold selects anyone and at most 1e-05") as caught:
        choose(unchanged, rows, selection_rate=1e-5)
    least = float(str(caught.value).split("selects ")[-1].split(". ")[0])
    assert least == pytest.approx(highest, abs=1e-6)
    assert choose(unchanged, rows, selection_rate=least).overall.selection_rate == pytest.approx(highest)


def test_unknown_groups() -> None:
    rows, model = normal_rows(0, n=300, groups=3), fitted(normal_rows(0, n=300), 0.1).model
    with pytest.raises(UnknownGroupError, match="'c'"):
        choose(model, rows, recall=0.5)
    with pytest.warns(FairrocWarning, match="treated as group 'a'"):
        choice = choose(model, rows, recall=0.5, on_unknown_group="a")
    as_a = Rows(rows.scores, rows.y, np.where(rows.groups == "c", "a", rows.groups))
    assert choice.threshold == pytest.approx(choose(model, as_a, recall=0.5).threshold)
    assert [group.group for group in choice.groups] == ["a", "b", "c"]


def test_nobody_may_be_the_cheapest() -> None:
    """Where false positives cost everything nobody is accepted, and there is no precision."""
    rows = useless_rows()
    for epsilon in (0.0, 2.0):
        model = fitted(rows, epsilon).model
        nobody = choose(model, rows, cost_fp=1e6, cost_fn=1e-3)
        assert (nobody.overall.selection_rate, nobody.overall.precision) == (0.0, None)
        assert choose(model, rows, cost_fp=0, cost_fn=1).overall.tpr == 1


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"epsilon": 0.1}, "Largest gap between two groups at this threshold (|dFPR| + |dTPR|): "),
        (
            {"constraint": "equal_opportunity", "epsilon": 0.1},
            "Largest difference of two groups' TPR at this threshold: ",
        ),
        (
            {"constraint": "predictive_equality", "ratio": 0.8},
            "Smallest over largest FPR of the groups at this threshold: ",
        ),
        (
            {"constraint": "demographic_parity", "epsilon": 0.1, "where": (0.8, 0.9)},
            "The model keeps the selection rate close only where 80% to 90% of people are selected: this threshold is "
            "outside",
        ),
    ],
)
def test_the_gap_of_a_choice_is_named_and_that_of_the_constraint(how, words) -> None:
    rows = normal_rows(1, n=600)
    model = FairROC(salt=1, **how).fit(rows.scores, rows.y, sensitive_features=rows.groups).model_
    choice = choose(model, rows, selection_rate=0.4)
    a, b = choice.groups
    rates = {"equal_opportunity": (a.tpr, b.tpr), "predictive_equality": (a.fpr, b.fpr)}.get(model.constraint)
    gap = abs(a.tpr - b.tpr) + abs(a.fpr - b.fpr) if rates is None else max(rates) - min(rates)
    gap = gap if model.ratio is None else gap / max(rates)
    assert choice.gap == pytest.approx(0.0 if model.where else gap, abs=1e-12)
    shown = choice_text(choice)
    assert words in shown
    if not model.where:
        assert f"{words}{1 - gap if model.ratio else gap:.3f}." in shown


# ---- models that are told something else than the groups -----------------------------------------------------------


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize(
    "aim", [{"recall": 0.7}, {"selection_rate": 0.2}, {"precision": 0.6}, {"cost_fp": 1, "cost_fn": 2}]
)
def test_compared_groups_get_exact_rates(name, aim) -> None:
    """Every figure from the rows' own chances, and no threshold of many is better."""
    post, (asked, people) = spread(name), FITS[name]
    told = {key: value for key, value in people.items() if asked.get("use_group", True) or key != "sensitive_features"}
    weights = np.random.default_rng(1).uniform(0.5, 2, len(Y))
    found = choose_threshold(post, SCORES, Y, sample_weight=weights, **people, **aim)

    def rates(threshold: float) -> np.ndarray:
        return post.acceptance_rate(SCORES, threshold=threshold, **told)

    def aimed(chance: np.ndarray) -> tuple[float, ...]:
        """Wrongly and rightly selected, and the cost."""
        false, true = (float((chance * weights)[label == Y].sum() / weights.sum()) for label in (0, 1))
        return false, true, false - 2 * true

    chance = rates(found.threshold)
    families = families_of(people["sensitive_features"], people.get("control_features"), each="combine" in asked)
    named = {
        f"{family.title}: {group}" if len(families) > 1 else group: family.codes == code
        for family in families
        for code, group in enumerate(family.groups)
    }
    assert [one.group for one in found.groups] == list(named)
    apart = {}
    for one in (found.overall, *found.groups):
        mine = named.get(one.group, np.ones(len(Y), dtype=bool))
        tpr, fpr = (np.average(chance[mine & (label == Y)], weights=weights[mine & (label == Y)]) for label in (1, 0))
        assert (one.tpr, one.fpr) == pytest.approx((tpr, fpr), abs=1e-9)
        assert (one.rows, one.positives) == (mine.sum(), Y[mine].sum())
        apart.setdefault(one.group.rpartition(": ")[0], []).append((fpr, tpr))
    points = [np.array(part) for title, part in apart.items() if title or len(families) == 1]
    if len(families) == 1:
        points = [points[0][1:]]  # without all people
    gap = max(np.abs(part[:, None] - part[None]).sum(axis=2).max() for part in points)
    assert found.gap == pytest.approx(gap, abs=1e-9)
    false, true, cost = aimed(chance)
    positives = weights[Y == 1].sum() / weights.sum()
    others = [aimed(rates(t)) for t in np.linspace(SCORES.min() - 0.1, SCORES.max() + 0.1, 60)]
    if "recall" in aim:
        assert true / positives >= 0.7 - 1e-9
        assert all(f + t >= false + true - 1e-9 for f, t, _ in others if t >= 0.7 * positives)
    elif "selection_rate" in aim:
        assert false + true <= 0.2 + 1e-9
        assert all(f + t <= false + true + 1e-9 for f, t, _ in others if f + t <= 0.2)
    elif "precision" in aim:
        assert true >= 0.6 * (false + true) - 1e-9
        assert all(f + t <= false + true + 1e-9 for f, t, _ in others if t >= 0.6 * (f + t))
    else:
        assert all(other >= cost - 1e-9 for *_, other in others)


def test_models_say_what_they_must_be_told() -> None:
    with pytest.raises(DataError, match="group_probabilities must be given"):
        choose_threshold(spread("blind"), SCORES, Y, sensitive_features=SEX, recall=0.5)
    with pytest.raises(DataError, match="control_features must be given"):
        choose_threshold(spread("strata"), SCORES, Y, sensitive_features=SEX, recall=0.5)
    plain = FairROC(0.1, draw="all", salt=1).fit(SCORES, Y, sensitive_features=SEX)
    with pytest.raises(DataError, match="this model does not use control_features, got some"):
        choose_threshold(plain, SCORES, Y, sensitive_features=SEX, control_features=SEX, recall=0.5)
    people = read_people(SCORES, Y, sensitive_features=SEX)
    with pytest.raises(DataError, match=r"people counted by group do not say what .* Pass the rows to choose_thresh"):
        choose_threshold_of(spread("blind").model_, people, Aim.checked(recall=0.5))
