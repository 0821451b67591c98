"""Operating points and rules, against slow counts: nothing here trusts a cumulated sum."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.errors import DataError, FairrocWarning
from fairroc.people.rows import ScoreColumns
from fairroc_studies.harness.curve import Curve, decided
from fairroc_studies.harness.people import Part
from fairroc_studies.paper.rules import (
    FAIR_SCORES,
    FairScore,
    Rule,
    as_it_is,
    at_half,
    chance_at,
    classifiers,
    collected_warnings,
    fair_score,
    fairprojection,
)

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

RULES: dict[str, Callable[[Part, float], Rule]] = {
    "none": lambda people, _: as_it_is(people),
    "half": lambda people, _: at_half(people),
    **{name: lambda people, e, name=name: fair_score(people, name, e) for name in FAIR_SCORES},
    "classifiers": classifiers,
    "fairprojection-ce": lambda people, e: fairprojection(people, e, "ce"),
    "fairprojection-kl": lambda people, e: fairprojection(people, e, "kl"),
}


def made(seed: int, *, groups: int = 2, rows: int = 60, decimals: int = 2) -> Part:
    """People with probabilities as scores, of different worth in every group; every group has both labels."""
    random = np.random.default_rng(seed)
    group = np.concatenate((np.arange(groups), np.arange(groups), random.integers(0, groups, rows)))
    label = np.concatenate((np.zeros(groups), np.ones(groups), random.integers(0, 2, rows))).astype(bool)
    noise = random.normal(size=len(group)) * (0.6 + 0.7 * group)
    score = 1 / (1 + np.exp(-(label - 0.5 + noise - 0.3 * group)))
    names = np.array(["a", "b", "c", "d"])[group]
    return Part.named(score.round(decimals), label, names)


PEOPLE = st.builds(
    made,
    st.integers(0, 10_000),
    groups=st.integers(2, 3),
    rows=st.integers(10, 80),
    decimals=st.integers(1, 3),
)


def cells(people: Part, g: int, y: int) -> np.ndarray:
    return (people.groups == g) & (people.labels == bool(y))


@given(PEOPLE, st.integers(0, 1000))
@settings(max_examples=25)
def test_figures_of_a_decision(people: Part, seed: int) -> None:
    """All figures of one operating point, person by person."""
    accepted = np.random.default_rng(seed).random(people.rows) < 0.5
    curve, many = decided(accepted, people), len(people.names)
    right = sum(bool(a) == bool(y) for a, y in zip(accepted, people.labels, strict=True))
    assert curve.accuracy[0] == pytest.approx(right / people.rows)
    rate = [[accepted[cells(people, g, y)].mean() for y in (0, 1)] for g in range(many)]
    apart = [abs(rate[g][0] - rate[h][0]) + abs(rate[g][1] - rate[h][1]) for g, h in combinations(range(many), 2)]
    assert curve.meo(0) == pytest.approx(max(apart) / 2)
    assert curve.gap == pytest.approx(max(apart))
    selected = [accepted[people.groups == g].mean() for g in range(many)]
    for privileged in range(many):
        others = min(selected[:privileged] + selected[privileged + 1 :])
        expected = others / selected[privileged] if selected[privileged] else None
        assert curve.disparate_impact(0, privileged) == (None if expected is None else pytest.approx(expected))


@given(PEOPLE)
@settings(max_examples=25)
def test_figures_of_a_score(people: Part) -> None:
    """The AUC is the share of pairs in order, the gap the largest over thresholds tried one by one."""
    curve = as_it_is(people).whole(people)

    def pairs(rows: np.ndarray) -> float:
        low, high = people.scores[rows & ~people.labels], people.scores[rows & people.labels]
        return float(np.mean([(h > w) + 0.5 * (h == w) for h in high for w in low]))

    assert curve.auc == pytest.approx(pairs(np.ones(people.rows, bool)))
    assert curve.group_aucs == pytest.approx([pairs(people.groups == g) for g in range(len(people.names))])
    single = [decided(people.scores >= t, people) for t in np.unique(people.scores)]
    assert curve.gap == pytest.approx(max(one.gap for one in single))
    nobody = decided(np.zeros(people.rows), people)
    assert curve.accuracy.max() == pytest.approx(max(float(one.accuracy[0]) for one in [nobody, *single]))


def test_best_is_the_first_of_equals() -> None:
    totals = np.array([[4.0, 4.0], [4.0, 4.0]])
    points = [[[0, 0], [0, 0]], [[1, 3], [0, 1]], [[0, 2], [0, 1]], [[0, 3], [0, 0]]]
    curve = Curve(np.array(points, dtype=float), totals)
    assert curve.accuracy.tolist() == [0.5, 11 / 16, 11 / 16, 11 / 16]
    assert curve.best() == 1
    nearly = curve.accepted.copy()
    nearly[1, 0, 1] -= 1e-13
    assert Curve(nearly, totals).best() == 1


def test_nobody_privileged_is_accepted() -> None:
    curve = Curve(np.array([[[0.0, 0.0], [1.0, 1.0]]]), np.ones((2, 2)))
    assert curve.disparate_impact(0, 0) is None
    assert curve.disparate_impact(0, 1) == 0.0


def test_points_that_step_back_are_taken_from_left_to_right() -> None:
    points = np.array([[0.5, 0.9], [0.25, 0.5], [0.75, 1.0]])
    curve = Curve(points[:, None, :], np.ones((1, 2)))
    by_hand = 0.25 * 0.25 + 0.25 * 0.7 + 0.25 * 0.95 + 0.25 * 1.0
    assert curve.auc == pytest.approx(by_hand) == curve.group_aucs[0]
    assert curve.gap == 0.0


@pytest.mark.parametrize("method", RULES)
@given(seed=st.integers(0, 1000), epsilon=st.sampled_from([0.0, 0.02, 0.1, 0.5]))
@settings(max_examples=6)
def test_chances_add_up_to_the_curve(method: str, seed: int, epsilon: float) -> None:
    """Row by row chances, summed by group and label, on the fitted people and on others with scores never seen."""
    fitted = made(seed)
    other = made(seed + 1, decimals=4)
    low_and_high = np.concatenate(([0.0, 1.0], other.scores[2:]))
    other = replace(other, scores=low_and_high)
    rule = RULES[method](fitted, epsilon)
    for people in (fitted, other):
        curve = rule.curve(people)
        for point in np.unique(np.linspace(0, len(curve.accepted) - 1, 12).astype(int)):
            chances = rule.chances(people, int(point))
            assert ((chances >= 0) & (chances <= 1)).all()
            np.testing.assert_allclose(decided(chances, people).accepted[0], curve.accepted[point], atol=1e-9)
        assert curve.gap <= rule.whole(people).gap + 1e-9


@pytest.mark.parametrize("method", FAIR_SCORES)
@given(people=PEOPLE, epsilon=st.sampled_from([0.0, 0.01, 0.05, 0.2]))
@settings(max_examples=8)
def test_fair_scores_keep_epsilon_and_miss_no_threshold(method: str, people: Part, epsilon: float) -> None:
    rule = fair_score(people, method, epsilon)
    curve, whole = rule.both(people)
    assert whole.gap <= epsilon + 1e-9
    assert curve.accuracy.max() == pytest.approx(whole.accuracy.max(), abs=1e-9)
    assert curve.auc == pytest.approx(whole.auc, abs=1e-9)
    assert curve.accepted[0].sum() == 0.0
    np.testing.assert_allclose(curve.accepted[-1], curve.totals, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 2])
def test_both_sides_of_a_step_are_operating_points(seed: int) -> None:
    """People in raw order make steps where others make slopes: the point before a step can be best, or farthest off."""
    people = made(seed, rows=300, decimals=3)
    rule = fair_score(people, "default", 0.2)
    assert isinstance(rule, FairScore) and rule.model.ties == "order"
    curve, whole = rule.both(people)
    found, exact = ((c.gap, c.auc, c.accuracy.max()) for c in (curve, whole))
    assert found == pytest.approx(exact, abs=1e-9)


@given(people=PEOPLE, epsilon=st.sampled_from([0.0, 0.01, 0.05, 0.2]))
@settings(max_examples=20)
def test_no_group_is_worse_off_with_the_optimum(people: Part, epsilon: float) -> None:
    """On the fitted people no group's AUC is higher by the paper's algorithm, unless its score stayed as it was."""
    froc, best = (fair_score(people, method, epsilon).whole(people).group_aucs for method in ("froc", "optimal"))
    assert all(b >= f - 1e-9 for f, b in zip(froc, best, strict=True))


@given(seed=st.integers(0, 1000), method=st.sampled_from(list(FAIR_SCORES)))
@settings(max_examples=20)
def test_chances_are_those_of_the_model(seed: int, method: str) -> None:
    """A threshold's place has the acceptance rates that the model itself states for the threshold."""
    people = made(seed, rows=80)
    rule = fair_score(people, method, 0.1)
    if not isinstance(rule, FairScore):
        return
    model, rows = rule.model, ScoreColumns(people.scores, people.groups, 0)
    assert model.scale is not None
    for threshold in np.random.default_rng(seed).uniform(-0.1, 1.1, 8):
        place = float(model.scale.to_place(np.array(threshold)))
        expected = model.rates(rows, threshold)
        for g, kernel in enumerate(model.kernels):
            mine = people.groups == g
            np.testing.assert_allclose(chance_at(kernel, people.scores[mine], place), expected[mine], atol=1e-9)


def test_fairprojection_is_a_plain_score() -> None:
    fitted, other = made(1, rows=200), made(2, rows=100)
    rule = fairprojection(fitted, 0.01, "kl")
    scores, curve = rule.scores(other), rule.curve(other)
    for point, threshold in enumerate(rule.thresholds[:: len(rule.thresholds) // 5]):
        at = point * (len(rule.thresholds) // 5)
        np.testing.assert_array_equal(curve.accepted[at], decided(scores >= threshold, other).accepted[0])
    assert fairprojection(fitted, 0.01, "kl").whole(fitted).gap < as_it_is(fitted).whole(fitted).gap


def test_classifiers_attain_the_moved_points() -> None:
    people = made(3, rows=300, decimals=3)
    rule = classifiers(people, 0.05)
    curve = rule.curve(people)
    for g, mixture in enumerate(rule.run.classifiers):
        attained = mixture.error < 1e-9
        assert attained.mean() > 0.5
        np.testing.assert_allclose(curve.rates[attained, g], rule.run.moved.points[g][attained], atol=1e-9)


@pytest.mark.parametrize("method", [m for m in RULES if m not in ("fairprojection-ce", "fairprojection-kl")])
def test_other_groups_are_refused(method: str) -> None:
    rule = RULES[method](made(0), 0.05)
    with pytest.raises(DataError, match="all parts must hold the same groups; a, b were fitted, got a, b, c"):
        rule.curve(made(0, groups=3))


def test_warnings_are_counted_or_passed_on() -> None:
    found: Counter[str] = Counter()
    with pytest.warns(UserWarning, match="of somebody else") as seen, collected_warnings(found):
        for _ in range(2):
            warnings.warn("ties are drawn: at 0.1.", FairrocWarning, stacklevel=1)
        warnings.warn("of somebody else", UserWarning, stacklevel=1)
    assert found == {"ties are drawn": 2}
    assert len(seen) == 1
