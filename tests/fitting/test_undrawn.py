"""Equalized odds without a draw: within epsilon at every threshold, by the score and the group alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline import EPSILONS, ROUNDING, Rows, acceptance, all_thresholds, fitted, largest_gap, normal_rows, worlds

from fairroc import FairROC, audit, verify
from fairroc.core.constraint import equalized_odds
from fairroc.core.kernel import walk_kernel
from fairroc.core.realised import realise
from fairroc.core.roc import roc_curve
from fairroc.fitting.certificate import certify
from fairroc.fitting.solving import drawn_share
from fairroc.fitting.undrawn import LARGEST_TIE
from fairroc.fitting.ways import Solver
from fairroc.options import Options
from strategies import NORMS, SEEDS

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
@given(worlds(max_groups=4), EPSILONS | st.sampled_from([0.2, 0.5]), NORMS)
def test_never_draws_nobody_at_any_epsilon(rows, epsilon, norm) -> None:
    done = fitted(rows, epsilon, norm, "never")
    assert done.model.draws_nobody
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
    if done.model.draws_nobody:
        check_that_scores_decide(done, rows, norm)
    else:
        assert stated.least_gap_without_draw > epsilon and stated.drawn > 0
    assert stated.gap <= epsilon + ROUNDING and stated.auc <= stated.auc_bound + 1e-7


@pytest.mark.parametrize("norm", [1, "inf"])
@pytest.mark.parametrize("groups", [2, 3])
def test_from_the_least_gap_on_all_scores_stay_apart(groups, norm) -> None:
    rows = normal_rows(7, n=800, groups=groups)
    least = certify(fitted(rows, 0.0, norm, "few")).least_gap_without_draw
    assert 0 < least < certify(fitted(rows, 2.0, norm)).gap_before
    done = fitted(rows, least + 0.005, norm, "few")
    check_that_scores_decide(done, rows, norm)
    fair = done.model.transform(rows.scores, sensitive_features=rows.groups)
    for group in np.unique(rows.groups):
        mine = rows.groups == group
        assert len(np.unique(fair[mine])) == len(np.unique(rows.scores[mine]))
    below = fitted(rows, least - 0.005, norm, "few").model
    if below.draws_nobody:
        fair = below.transform(rows.scores, sensitive_features=rows.groups)
        assert len(np.unique(fair)) < len(np.unique(rows.scores))


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
    """Between two groups, where scores that draw nobody would have to be tied."""
    done = fitted(normal_rows(seed, n=400), epsilon, 1, "few")
    solver, stated = Solver(done.people, done.options), certify(done)
    goal = solver._goal(epsilon)
    assert solver.undrawn.apart(goal) is None and stated.least_gap_without_draw > epsilon
    drawn, tied = solver._fewest(goal), solver.undrawn.banded(goal, LARGEST_TIE)
    worth = drawn.performance.auc - 0.05 * drawn_share(done.people.thin, drawn.kernels)
    if stated.drawn == 0:
        assert stated.auc == pytest.approx(tied.performance.auc, abs=1e-12) and stated.auc >= worth
    else:
        assert stated.auc == pytest.approx(drawn.performance.auc, abs=1e-12)
        assert tied is None or tied.performance.auc < worth


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
    assert post.model_.draws_nobody and told.drawn == 0.0 and all(g.randomised_share == 0.0 for g in told.groups)
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
def test_few_draws_nobody_from_the_least_gap_on_and_keeps_all_scores_apart(seed, norm, more, groups):
    least = made(seed, 0.0, groups, norm=norm, draw="never")[0].certificate_.least_gap_without_draw
    epsilon = min(least + more, 1.0)
    post, found = made(seed, epsilon, groups, norm=norm)
    if post.model_.unchanged:
        return
    holds(post, found, epsilon)
    scores, _, names, _ = found
    fair = post.transform(scores, sensitive_features=names)
    for name in np.unique(names):
        own = names == name
        assert len(np.unique(fair[own])) == len(np.unique(scores[own]))


def test_groups_that_step_together_get_the_same_fair_score_to_the_last_bit():
    curves = [roc_curve(np.arange(7.0) * size, np.arange(7) % 2 == 1) for size in (1.0, 10.0)]
    stops = np.repeat(np.arange(8), 1)
    kernels = [walk_kernel(curve.thresholds, stops, 4, tied=False) for curve in curves]
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


@pytest.mark.parametrize(
    "asked",
    [{"queries": 20}, {"method": "froc"}, {"promise": "new"}, {"curve": "smooth"}],
    ids=lambda asked: next(iter(asked)),
)
def test_what_cannot_be_had_without_a_draw_is_refused_before_the_fit(asked):
    with pytest.raises(Exception, match=r"draw must be 'few'|curve must be 'auto' or 'raw'"):
        Options.checked(epsilon=0.1, draw="never", **asked)
    assert Options.checked(epsilon=0.1, draw="never").fairness == equalized_odds(1)
