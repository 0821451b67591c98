"""Equalized odds with few draws or none: within epsilon at every threshold, by the score and the group alone."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline import EPSILONS, ROUNDING, Rows, acceptance, all_thresholds, fitted, largest_gap, normal_rows, worlds

from fairroc import audit, verify
from fairroc.core.constraint import equalized_odds
from fairroc.core.kernel import walk_kernel
from fairroc.core.realised import realise
from fairroc.core.roc import in_parts, roc_curve
from fairroc.fitting.certificate import certify
from fairroc.fitting.solver import Solver
from fairroc.fitting.solving import drawn_share
from fairroc.fitting.walking import LARGEST_TIE, MERGE_PRICE
from fairroc.people.door import read_people
from fitted_people import FairROC, fitted_options
from oracles import fair_support, fewest_lowered, pooled_sandwich
from strategies import NORMS, SEEDS
from walk_cases import even_steps

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


def check_that_scores_decide(done, rows: Rows, norm) -> None:
    """Everybody is accepted or not, at every threshold; nobody with a higher score of the same group ranks below."""
    thresholds = all_thresholds(done, rows)
    accepted = acceptance(done.model, rows, thresholds)
    assert np.isin(accepted, (0.0, 1.0)).all()
    assert largest_gap(accepted, rows, norm) <= done.options.epsilon + ROUNDING
    fair = done.model.transform(rows.scores, sensitive_features=rows.groups)
    assert ((fair >= thresholds[:, None]) == (accepted == 1.0)).all()
    for group in np.unique(rows.groups):
        mine = rows.groups == group
        by_score = np.argsort(rows.scores[mine], kind="stable")
        assert (np.diff(fair[mine][by_score]) >= 0).all()


@settings(max_examples=15)
@given(worlds(), EPSILONS | st.sampled_from([0.2, 0.5]), NORMS)
def test_never_draws_nobody_at_any_epsilon(rows, epsilon, norm) -> None:
    done = fitted(rows, epsilon, norm, "never")
    assert not done.model.needs_ids
    check_that_scores_decide(done, rows, norm)
    stated = certify(done)
    assert stated.gap <= epsilon + ROUNDING and stated.auc <= stated.auc_bound + 1e-7
    assert stated.drawn == 0


@settings(max_examples=15)
@given(worlds(max_groups=4), EPSILONS | st.sampled_from([0.2, 0.5]), NORMS)
def test_few_draws_nobody_where_that_can_be(rows, epsilon, norm) -> None:
    """Whoever is drawn, it is below the least gap that scores without a draw have where all are kept apart."""
    done = fitted(rows, epsilon, norm, "few")
    stated = certify(done)
    if not done.model.needs_ids:
        check_that_scores_decide(done, rows, norm)
    else:
        assert stated.least_gap_without_draw > epsilon and stated.drawn > 0
    assert stated.gap <= epsilon + ROUNDING and stated.auc <= stated.auc_bound + 1e-7


@pytest.mark.parametrize("norm", [1, "inf"])
@pytest.mark.parametrize("groups", [2, 3])
def test_from_the_least_gap_on_nobody_is_drawn(groups, norm) -> None:
    """And all scores stay apart, unless bands bring much more AUC."""
    rows = normal_rows(7, n=800, groups=groups)
    least = certify(fitted(rows, 0.0, norm, "few")).least_gap_without_draw
    assert 0 < least < certify(fitted(rows, 2.0, norm)).gap_before
    done = fitted(rows, least + 0.005, norm, "few")
    check_that_scores_decide(done, rows, norm)
    fair = done.model.transform(rows.scores, sensitive_features=rows.groups)
    walks, goal = done.solver.walks, done.solver._goal(least + 0.005)
    apart = walks.apart(goal)
    if done.solution.performance.auc <= apart.performance.auc + MERGE_PRICE:
        for group in np.unique(rows.groups):
            mine = rows.groups == group
            assert len(np.unique(fair[mine])) == len(np.unique(rows.scores[mine]))
    else:
        assert len(np.unique(fair)) < len(np.unique(rows.scores))
        assert done.solution.performance.auc == walks.banded(goal, LARGEST_TIE).performance.auc
    assert walks.apart(done.solver._goal(least - 0.005)) is None
    below = fitted(rows, least - 0.005, norm, "few").model
    if not below.needs_ids:
        fair = below.transform(rows.scores, sensitive_features=rows.groups)
        assert len(np.unique(fair)) < len(np.unique(rows.scores))


@settings(max_examples=15)
@given(worlds(max_rows=12, max_groups=3), st.sampled_from([0.0, 0.1, 0.3]), NORMS, st.sampled_from(["few", "never"]))
def test_no_auc_is_above_that_of_linear_programs(rows, epsilon, norm, draw) -> None:
    """Of all scores with draws, by one program for each direction."""
    done = fitted(rows, epsilon, norm, draw)
    best = partial(fair_support, [curve.hull for curve in done.raw.curves], epsilon, norm)
    _, outer = pooled_sandwich(best, done.raw.weights0, done.raw.weights1, directions=12)
    assert certify(done).auc <= outer + 1e-9


@pytest.mark.parametrize("draw", ["few", "never"])
@pytest.mark.parametrize("seed", range(4))
def test_more_epsilon_costs_no_auc_at_an_equal_share_drawn(seed, draw) -> None:
    """Up to the epsilon at which the original score is fair: then it stays as it is, whatever another one attains."""
    rows = normal_rows(seed, n=500, groups=2 + seed % 2)
    every = [certify(fitted(rows, epsilon, (1, "inf")[seed // 2], draw)) for epsilon in np.linspace(0.0, 0.3, 13)]
    for one, other in combinations([each for each in every if not each.unchanged], 2):
        assert abs(one.drawn - other.drawn) > 1e-9 or other.auc >= one.auc - 0.002


def test_no_fewer_people_are_drawn_than_a_program_needs() -> None:
    """Two groups of eight and ten scores, all of one size, below their least gap. Mostly the fewest are drawn; with
    steps so large, lowered curves often serve no walk."""
    ratios = []
    for seed in range(16):
        groups = even_steps(seed, 8 if seed % 2 else 10)
        cells = [(-k, y, g, own[y]) for g, each in enumerate(groups) for k, own in enumerate(each) for y in (0, 1)]
        scores, y, names, weights = np.array([cell for cell in cells if cell[3]]).T
        people = read_people(scores, y, sensitive_features=names, sample_weight=weights)
        solver, thin = Solver(people, fitted_options(epsilon=0.1)), people.thin
        epsilon = (0.9, 0.7)[seed // 2 % 2] * solver.walks.least.gap
        found = solver.walks.lowered(solver._goal(epsilon))
        if found is not None:
            shares = [np.diff(curve.share) * own for curve, own in zip(thin.curves, thin.shares, strict=True)]
            ratios.append(drawn_share(thin, found.kernels) / fewest_lowered(thin.curves, shares, epsilon))
    assert len(ratios) >= 8 and min(ratios) >= 1.0 - 1e-9 and max(ratios) <= 1.5 + 1e-9
    assert np.mean(np.array(ratios) <= 1.0 + 1e-9) >= 0.6


@pytest.mark.parametrize("draw", ["few", "never"])
def test_neither_ids_nor_seeds_are_needed(draw) -> None:
    rows = normal_rows(7, n=500)
    post = FairROC(0.3, draw=draw, salt=1).fit(rows.scores, rows.y, sensitive_features=rows.groups)
    plain = post.transform(rows.scores, sensitive_features=rows.groups)
    for how in ({"ids": np.arange(500)}, {"random_state": 3}):
        assert np.array_equal(post.transform(rows.scores, sensitive_features=rows.groups, **how), plain)
    assert post.one_draw_.draws == 0 and post.one_draw_.gap == post.certificate_.gap


@pytest.mark.parametrize(("seed", "epsilon"), [(0, 0.0), (0, 0.05), (1, 0.02), (2, 0.08)])
def test_a_draw_has_to_bring_more_than_its_price(seed, epsilon) -> None:
    """Where scores that draw nobody would have to be tied: against everything that could be taken."""
    done = fitted(normal_rows(seed, n=400), epsilon, 1, "few")
    solver, stated = Solver(done.people, done.options), certify(done)
    goal, walks = solver._goal(epsilon), solver.walks
    assert walks.apart(goal) is None and stated.least_gap_without_draw > epsilon
    every = [walks.banded(goal, LARGEST_TIE), walks.lowered(goal), *solver._with_draws(goal)]
    worth = [one.performance.auc - 0.05 * drawn_share(done.people.thin, one.kernels) for one in every if one]
    assert stated.auc - 0.05 * stated.drawn >= max(worth) - 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_only_those_in_the_way_are_drawn(seed) -> None:
    """On lowered curves people keep their order outside of a few intervals; with parts, many who share a score."""
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, 4000), rng.choice(["a", "b"], 4000)
    scores = y * np.where(group == "a", 2.2, 0.9) + rng.normal(size=4000)
    for digits, epsilon in ((6, 0.05), (2, 0.02)):
        rows = Rows(np.round(scores, digits), y, group, None)
        done = fitted(rows, epsilon, 1, "few")
        assert 0.02 < certify(done).drawn < 0.9
        assert certify(done).gap <= epsilon + ROUNDING
        rate = done.model.acceptance_rate(rows.scores, sensitive_features=group, threshold=float(np.median(scores)))
        assert set(np.unique(rate)) - {0.0, 1.0}
        for name in ("a", "b"):  # whoever has the higher score is selected no less often
            mine = group == name
            assert (np.diff(rate[mine][np.argsort(rows.scores[mine], kind="stable")]) >= -1e-12).all()


def people(seed: int, groups: int = 2, rows: int = 60, *, ties: bool = False) -> tuple[Any, Any, Any, Any]:
    """Scores, labels, groups and weights of groups that are served differently."""
    rng = np.random.default_rng(seed)
    code, y = rng.integers(0, groups, rows * groups), rng.integers(0, 2, rows * groups)
    code[: 2 * groups], y[: 2 * groups] = np.repeat(np.arange(groups), 2), np.tile([0, 1], groups)
    scores = rng.normal(size=len(y)) + y * (0.5 + code / groups) + 0.3 * code
    weights = rng.integers(1, 4, len(y)).astype(float) if seed % 3 == 0 else None
    return np.round(scores, 0 if ties else 3), y, np.array([f"g{i}" for i in code]), weights


def made(seed: int, epsilon: Any, groups: int = 2, *, rows: int = 60, ties: bool = False, **how: Any) -> Any:
    """A fit with its people."""
    scores, y, names, weights = found = people(seed, groups, rows, ties=ties)
    post = FairROC(epsilon, salt=1, **how).fit(scores, y, sensitive_features=names, sample_weight=weights)
    return post, found


def holds(post: Any, found: Any, epsilon: float) -> None:
    """Whatever was taken draws nobody, keeps the order of every group, and has the gap that it states."""
    scores, y, names, weights = found
    fair = post.transform(scores, sensitive_features=names)  # neither ids nor a seed
    told = post.certificate_
    assert not post.model_.needs_ids and told.drawn == 0.0 and all(g.randomised_share == 0.0 for g in told.groups)
    assert told.gap <= epsilon + 1e-12
    for name in np.unique(names):
        own = names == name
        order = np.argsort(scores[own], kind="stable")
        assert (np.diff(fair[own][order]) >= 0).all()
    for threshold in (*np.unique(fair)[:: max(1, len(np.unique(fair)) // 7)], np.median(scores)):
        rate = post.acceptance_rate(scores, sensitive_features=names, threshold=float(threshold))
        assert set(rate.tolist()) <= {0.0, 1.0}
    seen = audit(fair, y, sensitive_features=names, sample_weight=weights, norm=post.norm, bootstrap=0)
    assert seen.gap <= epsilon + 1e-9
    assert told.auc <= told.auc_bound + 1e-9


@settings(max_examples=10)
@given(SEEDS, NORMS, st.sampled_from([0.0, 0.1, 0.3]), st.integers(2, 4), st.booleans())
def test_an_independent_check_signs_off_what_draws_nobody(seed, norm, epsilon, groups, ties) -> None:
    post, found = made(seed, epsilon, groups, ties=ties, norm=norm, draw="never")
    if not post.model_.unchanged:
        holds(post, found, epsilon)
        assert verify(post.model_, *found[:2], sensitive_features=found[2], sample_weight=found[3]).passed


@settings(max_examples=15)
@given(SEEDS, NORMS, st.floats(0.0, 0.3), st.integers(2, 3))
def test_few_draws_nobody_from_the_least_gap_on(seed, norm, more, groups):
    least = made(seed, 0.0, groups, norm=norm, draw="never")[0].certificate_.least_gap_without_draw
    epsilon = min(least + more, 1.0)
    post, found = made(seed, epsilon, groups, norm=norm)
    if not post.model_.unchanged:
        holds(post, found, epsilon)


def test_groups_that_step_together_get_the_same_fair_score_to_the_last_bit():
    curves = [roc_curve(np.arange(7.0) * size, np.arange(7) % 2 == 1) for size in (1.0, 10.0)]
    stops, ends = np.arange(8), np.array([0, 4, 7])
    kernels = [
        walk_kernel(curve.thresholds, in_parts(curve), stops, ends, (curve.tpr - curve.fpr)[ends]) for curve in curves
    ]
    one, other = (realise(curve, kernel).y for curve, kernel in zip(curves, kernels, strict=True))
    assert one.tolist() == other.tolist() and kernels[0].table.shape == (2, 2)


def test_many_people_are_walked_at_few_points_and_keep_epsilon():
    post, found = made(5, 0.3, rows=40_000)
    holds(post, found, 0.3)
    assert len(post.model_.kernels[0].thresholds) < 5000


def test_own_tolerances_are_kept_without_a_draw():
    post, found = made(1, {"fpr": 0.1, "tpr": 0.2}, draw="never")
    scores, y, names, _ = found
    fair = post.transform(scores, sensitive_features=names)
    for threshold in np.unique(fair):
        rates = [[(fair[(names == g) & (y == c)] >= threshold).mean() for c in (0, 1)] for g in ("g0", "g1")]
        assert abs(rates[0][0] - rates[1][0]) <= 0.1 + 1e-9 and abs(rates[0][1] - rates[1][1]) <= 0.2 + 1e-9


@pytest.mark.parametrize("asked", [{"queries": 20}, {"method": "froc"}], ids=lambda asked: next(iter(asked)))
def test_what_cannot_be_had_without_a_draw_is_refused_before_the_fit(asked):
    with pytest.raises(Exception, match=r"draw must be 'few'"):
        fitted_options(epsilon=0.1, draw="never", **asked)
    assert fitted_options(epsilon=0.1, draw="never").fairness == equalized_odds(1)
