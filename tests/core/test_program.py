"""fairroc.core.program: the optimum, by another program; its bound; the closed form where both apply."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fairroc.core.bound import pooled_bound
from fairroc.core.chain import area
from fairroc.core.constraint import ONE_RATE, Difference, EqualizedOdds, Ratio, equalized_odds, own_tolerances
from fairroc.core.mixture import Mixture, Segment
from fairroc.core.one_rate import rate_path
from fairroc.core.program import Cells, Comparison, Line, auc_of, bound_of, envelope, prices_at, refined, solve
from fitted_people import FairROC
from strategies import SEEDS

CONSTRAINTS = [
    equalized_odds(1),
    equalized_odds("inf"),
    own_tolerances(0.2, 0.1),
    *(Difference(rate) for rate in ONE_RATE.values()),
    *(Ratio(rate) for rate in ONE_RATE.values()),
    Difference("tpr", (0.2, 0.6)),
]
each_constraint = pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda one: f"{one.name} {one.formula}")


def random_cells(seed: int, populations: int = 2, sizes: tuple[int, ...] = (4, 3)) -> Cells:
    """People spread over cells at random; some cells lack a label or a group."""
    rng = np.random.default_rng(seed)
    count = sum(sizes)
    people = rng.gamma(0.7, size=(populations, 2, count)) * rng.integers(0, 2, (populations, 2, count))
    people[:, :, rng.integers(count)] += 0.1
    people[:, :, rng.integers(count)] += 0.1
    totals = people.sum(axis=2)
    both = people.sum(axis=0)
    return Cells(
        rates=people / totals[:, :, None],
        priors=totals[:, 1] / totals.sum(axis=1),
        people=both.sum(axis=0) / people.sum(),
        positives=both[1] / both[1].sum(),
        prior=float(both[1].sum() / people.sum()),
        opens=np.cumsum([0, *sizes[:-1]]),
    )


def other_program(cells: Cells, comparison: Comparison, shares: np.ndarray) -> float:
    """The largest AUC by a program of its own: what every level adds, all pairs of groups, all signs."""
    levels, count = len(shares), cells.count
    upto = np.tril(np.ones((levels, levels)))  # level l selects what levels up to it added
    rows, limits = [np.kron(np.ones((1, levels)), np.eye(count))], [np.ones(count)]
    epsilon, constraint = comparison.epsilon, comparison.constraint
    low, high = constraint.where or (0.0, 1.0)
    for level in np.flatnonzero((shares >= low) & (shares <= high)):
        for g, h in combinations(comparison.members, 2):
            for line in _conditions(cells, constraint, epsilon, int(g), int(h)):
                rows.append(np.kron(upto[level], line[:-1])[None])
                limits.append(line[-1:])
    for level, (above, below) in product(range(levels), zip(*cells.neighbours, strict=True)):
        order = np.zeros(count)
        order[above], order[below] = -1.0, 1.0
        rows.append(np.kron(upto[level], order)[None])
        limits.append(np.zeros(1))
    t = np.concatenate(([0.0], shares, [1.0]))
    worth = np.kron(((t[2:] - t[:-2]) / 2) @ upto, cells.positives)
    found = linprog(
        -worth, A_ub=np.vstack(rows), b_ub=np.concatenate(limits), A_eq=np.kron(upto, cells.people), b_eq=shares
    )
    assert found.status == 0
    tpr = np.kron(upto, cells.positives) @ found.x
    return auc_of(shares, tpr, cells.prior)


def _conditions(cells: Cells, constraint, epsilon: float, g: int, h: int) -> list[np.ndarray]:
    """Rows (coefficients, limit) that keep two groups close, from the definition of the constraint."""
    (x, y), (x_, y_) = cells.rates[g], cells.rates[h]
    dx, dy = x - x_, y - y_
    if isinstance(constraint, EqualizedOdds):
        if constraint.norm == 1:
            lines = [a * dx + b * dy for a, b in product((1, -1), repeat=2)]
            return [np.append(line, epsilon) for line in lines]
        return [
            np.append(sign * line, epsilon)
            for line, sign in product((constraint.fpr * dx, constraint.tpr * dy), (1, -1))
        ]
    one, other = (
        {"tpr": b, "fpr": a, "selection": (1 - prior) * a + prior * b}[constraint.rate]
        for (a, b), prior in ((cells.rates[g], cells.priors[g]), (cells.rates[h], cells.priors[h]))
    )
    if isinstance(constraint, Ratio):
        return [np.append((1 - epsilon) * a - b, 0.0) for a, b in ((one, other), (other, one))]
    return [np.append(sign * (one - other), epsilon) for sign in (1, -1)]


@each_constraint
@given(SEEDS, st.sampled_from([0.0, 0.03, 0.1, 0.5]), st.integers(2, 4))
@settings(max_examples=8)
def test_the_optimum_is_that_of_another_program(constraint, seed, epsilon, groups):
    cells = random_cells(seed, groups)
    comparison = Comparison(np.arange(groups), constraint, epsilon)
    shares = np.array([0.1, 0.2, 0.45, 0.6, 0.8])
    found = solve(cells, [comparison], shares)
    assert found.auc(cells) == pytest.approx(other_program(cells, comparison, shares), abs=1e-8)
    assert found.gap(cells, comparison) <= epsilon + 1e-9
    assert found.selected @ cells.people == pytest.approx(shares, abs=1e-8)
    assert (np.diff(found.selected, axis=0) >= 0).all()
    above, below = cells.neighbours
    assert (found.selected[:, above] >= found.selected[:, below]).all()
    assert found.chances.sum(axis=1) == pytest.approx(1.0)


@given(SEEDS)
def test_auc_over_shares_is_the_area_under_the_roc_curve(seed):
    cells = random_cells(seed)
    found = solve(cells, [], np.array([0.2, 0.3, 0.7]))
    negatives = (cells.people - cells.prior * cells.positives) / (1 - cells.prior)
    lines = [np.concatenate(([0.0], found.selected @ part, [1.0])) for part in (negatives, cells.positives)]
    assert found.auc(cells) == pytest.approx(area(*lines), abs=1e-9)


@each_constraint
@given(SEEDS, st.sampled_from([0.0, 0.05, 0.3]))
@settings(max_examples=6)
def test_no_selection_exceeds_the_bound_whatever_its_levels(constraint, seed, epsilon):
    cells = random_cells(seed, 3)
    comparison = Comparison(np.arange(3), constraint, epsilon)
    shares = np.linspace(0.05, 0.95, 13)
    prices = [prices_at(cells, [comparison], share) for share in shares[::3].tolist()]
    lines = [one.line(cells) for one in prices]
    for levels in (shares, shares[1::2]):
        found = solve(cells, [comparison], levels)
        assert found.auc(cells) <= bound_of(lines, cells.prior) + 1e-9
        tpr = found.selected @ cells.positives
        for line in lines:
            inside = (levels >= line.low) & (levels <= line.high)
            assert (tpr <= line.height + line.slope * levels + 1e-9)[inside].all()


def test_prices_bound_finer_cells_too():
    """Prices of coarse cells prove a bound for all cells inside them."""
    fine = random_cells(5, 2, (12, 9))
    halves = [np.arange(0, 12, 3), 12 + np.arange(0, 9, 3)]
    begins = np.concatenate(halves)
    coarse = Cells(
        np.add.reduceat(fine.rates, begins, axis=2),
        fine.priors,
        np.add.reduceat(fine.people, begins),
        np.add.reduceat(fine.positives, begins),
        fine.prior,
        np.array([0, 4]),
    )
    comparison = Comparison(np.arange(2), equalized_odds(1), 0.05)
    shares = np.linspace(0.1, 0.9, 9)
    prices = [prices_at(coarse, [comparison], share) for share in shares.tolist()]
    bound = bound_of([one.line(fine) for one in prices], fine.prior)
    assert solve(coarse, [comparison], shares).auc(coarse) < solve(fine, [comparison], shares).auc(fine) <= bound + 1e-9


def test_the_envelope_is_the_least_of_all_lines():
    lines = [Line(0.1, 3.0), Line(0.5, 0.6), Line(0.4, 0.9)]
    t, height = envelope(lines)
    at = np.linspace(0, 1, 101)
    least = np.min([np.minimum(line.height + line.slope * at, 1.0) for line in lines], axis=0)
    assert np.interp(at, t, height) == pytest.approx(least)


# ---- the closed form -------------------------------------------------------------------------------------------------


def known_groups(seed: int, groups: int, scores: int = 6) -> tuple[Mixture, tuple[np.ndarray, ...]]:
    """Groups that are their own segments, every score a cell; and their rows."""
    rng = np.random.default_rng(seed)
    s, y, g = [], [], []
    for group in range(groups):
        n = int(rng.integers(30, 90))
        score = rng.integers(0, scores, n)
        label = rng.random(n) < (score + 1 + rng.integers(0, 3)) / (scores + 4)
        label[:2] = 0, 1
        s, y, g = [*s, *score.tolist()], [*y, *label.tolist()], [*g, *[group] * n]
    rows = np.array(s, dtype=float), np.array(y, dtype=bool), np.array(g)
    return mixture_of(*rows, rows[2]), rows


def mixture_of(s, y, g, segment) -> Mixture:
    """By definition: shares of every group's negatives and positives at every score of every segment."""
    groups = [g == value for value in np.unique(g)] + [np.ones(len(s), dtype=bool)]
    segments = []
    for value in np.unique(segment):
        scores = np.unique(s[segment == value])[::-1]
        masses = [
            [[np.sum(mine & (y == label) & (segment == value) & (s == score)) / np.sum(mine & (y == label))
              for score in scores] for label in (False, True)]
            for mine in groups
        ]  # fmt: skip
        segments.append(Segment(scores, np.array(masses)))
    return Mixture(tuple(segments), np.array([y[mine].mean() for mine in groups]), 1 / len(s))


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
@pytest.mark.parametrize("constraint", CONSTRAINTS[:2], ids=["sum", "max"])
@given(SEEDS, st.sampled_from([0.0, 0.05, 0.2]), st.integers(2, 3))
@settings(max_examples=4)
def test_equalized_odds_is_that_of_the_closed_form_where_groups_are_known(constraint, seed, epsilon, groups):
    mixture, rows = known_groups(seed, groups)
    cells = mixture.cells(mixture.finest())
    comparison = Comparison(np.arange(groups), constraint, epsilon)
    _, prices = refined(cells, [comparison], np.linspace(0.05, 0.95, 10), tolerance=1e-8, most=64)
    hulls = [mixture.whole(p).hull for p in range(groups)]
    bound = pooled_bound(hulls, *class_weights(rows), epsilon, constraint).auc
    assert bound_of([one.line(cells) for one in prices], cells.prior) == pytest.approx(bound, abs=1e-6)
    closed = FairROC(epsilon, norm=constraint.norm, draw="all").fit(rows[0], rows[1], sensitive_features=rows[2])
    found = solve(cells, [comparison], closed_shares(closed, rows))
    assert found.gap(cells, comparison) <= epsilon + 1e-11
    assert closed.certificate_.auc - 1e-6 <= found.auc(cells) <= bound + 1e-6


def closed_shares(closed: FairROC, rows) -> np.ndarray:
    """Shares of people that the closed form's levels select; of an unchanged score, some."""
    if closed.model_.unchanged:
        return np.linspace(0.01, 0.99, 99)
    levels, (w0, w1), prior = closed.fitted_.solution.levels, class_weights(rows), rows[1].mean()
    shares = (1 - prior) * levels.fpr @ w0 + prior * levels.tpr @ w1
    return np.unique(shares[(shares > 1e-9) & (shares < 1 - 1e-9)].round(12))


def class_weights(rows) -> list[np.ndarray]:
    """Every group's share of all negatives, and of all positives."""
    _, y, g = rows
    return [np.array([np.mean(g[y == label] == p) for p in np.unique(g)]) for label in (False, True)]


@pytest.mark.parametrize("constraint", [one for one in CONSTRAINTS if not isinstance(one, EqualizedOdds)][:6])
@given(SEEDS, st.sampled_from([0.02, 0.1, 0.2]))
@settings(max_examples=4)
def test_one_rate_is_that_of_theorem_c_where_groups_are_known(constraint, seed, epsilon):
    mixture, rows = known_groups(seed, 3)
    cells = mixture.cells(mixture.finest())
    comparison = Comparison(np.arange(3), constraint, epsilon)
    shares, _ = refined(cells, [comparison], np.linspace(0.05, 0.95, 10), tolerance=1e-8, most=64)
    found = solve(cells, [comparison], shares)
    weights = class_weights(rows)
    hulls, priors = [mixture.whole(p).hull for p in range(3)], mixture.priors[:3]
    path = rate_path(hulls, priors, *weights, epsilon, constraint)
    assert found.auc(cells) == pytest.approx(path_auc(path, weights), abs=1e-6)
    assert found.gap(cells, comparison) <= epsilon + 1e-11


def path_auc(path, weights) -> float:
    return area(path.fpr @ weights[0], path.tpr @ weights[1])


def tied_cells(seed: int) -> Cells:
    """Segments that are all alike, groups that hardly differ, few different numbers of people: many best selections."""
    rng = np.random.default_rng(seed)
    groups, bins = 2 + seed % 2, 5 + seed % 4
    one = rng.integers(1, 3, (groups, 2, bins)).astype(float) if seed % 3 else np.ones((groups, 2, bins))
    one[:, 1] = one[0, 1]
    rates = np.tile(one, 3) / (3 * one.sum(axis=2, keepdims=True))
    positives, negatives = rates[:, 1].mean(axis=0), rates[:, 0].mean(axis=0)
    return Cells(rates, np.full(groups, 0.5), (positives + negatives) / 2, positives, 0.5, bins * np.arange(3))


def shuffled_program(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """HiGHS gets the same program with rows and columns in another order, and a different simplex method."""

    def shuffled(c, A_ub, b_ub, A_eq, bounds, **how):
        rng = np.random.default_rng(seed)
        column, row = rng.permutation(len(c)), rng.permutation(A_ub.shape[0])
        found = linprog(
            c[column], A_ub[row][:, column], b_ub[row], A_eq[:, column], bounds=bounds[column],
            **how | {"method": "highs-ipm" if seed % 2 else "highs-ds"},
        )  # fmt: skip
        found.x = found.x[np.argsort(column)]
        found.ineqlin.marginals = found.ineqlin.marginals[np.argsort(row)]
        return found

    monkeypatch.setattr("scipy.optimize.linprog", shuffled)


@pytest.mark.parametrize("seed", range(8))
def test_whatever_way_the_solver_takes_it_ends_at_one_solution(seed, monkeypatch):
    cells, shares = tied_cells(seed), np.linspace(0.0, 1.0, 12)[1:-1]
    asked = [Comparison(np.arange(len(cells.priors)), equalized_odds(1), 0.05)]
    found = solve(cells, asked, shares), *refined(cells, asked, shares, tolerance=1e-6, most=20)
    shuffled_program(monkeypatch, seed)
    again = solve(cells, asked, shares), *refined(cells, asked, shares, tolerance=1e-6, most=20)
    assert np.abs(found[0].selected - again[0].selected).max() < 1e-9
    assert np.abs(found[1] - again[1]).max() < 1e-9
    for one, other in zip(found[2], again[2], strict=True):
        assert one.people == pytest.approx(other.people, abs=1e-9)
    monkeypatch.undo()
    monkeypatch.setattr("fairroc.core.program.PREFERENCE", 0.0)
    plain = solve(cells, asked, shares)
    assert plain.auc(cells) - 2e-7 <= found[0].auc(cells) <= plain.auc(cells) + 1e-9


def test_a_program_without_a_solution_is_no_answer(monkeypatch):
    """Selecting the same share of all cells is always allowed, so that this would be a fault of ours."""
    nothing = type("Nothing", (), {"x": None, "message": "gave up"})
    monkeypatch.setattr("scipy.optimize.linprog", lambda *args, **more: nothing)
    with pytest.raises(RuntimeError, match="gave up"):
        solve(random_cells(0), [], np.array([0.5]))
