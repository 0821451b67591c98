"""FairProjection against scipy on tiny sets, its constraint, its optimality conditions and its path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fairroc.core.chain import FloatArray
from fairroc.errors import DataError, FairrocError, UnknownGroupError
from fairroc_studies.peers.fairprojection import FairProjection
from strategies import SEEDS

KINDS = st.sampled_from(["ce", "kl"])
TOLERANCES = st.sampled_from([0.0, 1e-3, 0.01, 0.1, 0.5])
CLOSE = 1e-7  # of rates; the solver stops at 1e-9 in rows scaled by one over a cell's share


class People:
    """Scores in [0, 1], labels and groups; every group has both labels."""

    def __init__(self, seed: int, rows: int, groups: int, pool: str) -> None:
        rng = np.random.default_rng(seed)
        self.y = np.tile([0, 1], groups + rows // 2)
        self.group = np.concatenate((np.repeat(np.arange(groups), 2), rng.integers(0, groups, 2 * (rows // 2))))
        signal = rng.normal(size=len(self.y)) + 1.2 * self.y - 0.8 + 0.5 * self.group
        self.scores = 1.0 / (1.0 + np.exp(-signal))
        if pool == "two":
            self.scores = np.where(signal > 0, 0.75, 0.25)
        if pool == "ties":
            self.scores = np.round(self.scores, 1).clip(0.1, 0.9)
        if pool == "edges":
            self.scores = np.round(self.scores * 1.2 - 0.1, 1).clip(0.0, 1.0)

    def fitted(self, *args: Any, **options: Any) -> FairProjection:
        return FairProjection(*args, **options).fit(self.scores, self.y, self.group)


PEOPLE = st.builds(
    People, SEEDS, st.integers(0, 120), st.integers(2, 8), st.sampled_from(["fine", "ties", "two", "edges"])
)


def rates(people: People, projected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(2, groups) estimated P(Yhat=y | Y=y, group), and the same of all people."""
    h = np.stack((1.0 - projected, projected))
    q1 = inside(people.scores)
    q = np.stack((1.0 - q1, q1))
    groups = range(int(people.group.max()) + 1)
    own = [[(q * h)[y][people.group == a].sum() / q[y][people.group == a].sum() for a in groups] for y in range(2)]
    return np.array(own), (q * h).sum(axis=1) / q.sum(axis=1)


def someone_in_every_cell(people: People) -> bool:
    """Scores that leave a group almost no estimated positives, or negatives, are beyond the method."""
    means = [people.scores[people.group == a].mean() for a in np.unique(people.group)]
    return 0.01 < min(means) <= max(means) < 0.99


def inside(scores: FloatArray) -> FloatArray:
    return 1e-6 + (1 - 2e-6) * scores


@settings(max_examples=60, deadline=None)
@given(PEOPLE, KINDS, TOLERANCES)
def test_the_constraint_holds_on_the_fitted_people(people: People, kind: Any, tolerance: float) -> None:
    assume(someone_in_every_cell(people))
    post = people.fitted(kind, tolerance)
    projected = post.transform(people.scores, people.group)
    assert np.all((projected >= 0) & (projected <= 1))
    own, everyone = rates(people, projected)
    assert np.all(np.abs(own - everyone[:, None]) <= tolerance * everyone[:, None] + CLOSE)


@settings(max_examples=60, deadline=None)
@given(PEOPLE, KINDS, TOLERANCES)
def test_optimality_conditions(people: People, kind: Any, tolerance: float) -> None:
    """Prices >= 0, complementary to the slack, and every person's probability is stationary."""
    assume(someone_in_every_cell(people))
    post = people.fitted(kind, tolerance)
    found = post.projection_
    assert np.all(found.prices >= 0)
    assert np.max(found.slack) <= 1e-8
    assert np.max(np.minimum(found.prices, -found.slack)) <= 1e-8
    b1, h1 = inside(people.scores), post.transform(people.scores, people.group)
    q = np.stack((1 - b1, b1))
    v0, v1 = q * found.tilt[:, people.group]
    d = v1 - v0
    slope = np.log(h1 / b1) - np.log((1 - h1) / (1 - b1)) if kind == "kl" else (1 - b1) / (1 - h1) - b1 / h1
    scale = 1.0 / np.minimum(h1, 1 - h1) ** 2
    assert np.all(np.abs(slope + d) <= 1e-9 * (1 + np.abs(d)) * scale)


@pytest.mark.parametrize("kind", ["ce", "kl"])
@pytest.mark.parametrize(("groups", "tolerance"), [(2, 0.0), (2, 0.05), (3, 0.02)])
def test_scipy_finds_the_same(kind: Any, groups: int, tolerance: float) -> None:
    """The primal problem, solved over the people's probabilities themselves."""
    optimize = pytest.importorskip("scipy.optimize")
    people = People(5, 12, groups, "fine")
    post = people.fitted(kind, tolerance)
    b1 = inside(people.scores)

    def distance(h1: FloatArray) -> float:
        if kind == "kl":
            return float(np.mean(h1 * np.log(h1 / b1) + (1 - h1) * np.log((1 - h1) / (1 - b1))))
        return float(np.mean(b1 * np.log(b1 / h1) + (1 - b1) * np.log((1 - b1) / (1 - h1))))

    def room(h1: FloatArray) -> FloatArray:
        own, everyone = rates(people, h1)
        return np.ravel(tolerance * everyone[:, None] + 1e-9 - np.abs(own - everyone[:, None]))

    def signed(h1: FloatArray) -> FloatArray:
        own, everyone = rates(people, h1)
        off, allowed = own - everyone[:, None], tolerance * everyone[:, None]
        return np.concatenate((np.ravel(allowed - off), np.ravel(allowed + off)))

    start = np.full(len(b1), b1.mean())
    limits = [(1e-6, 1 - 1e-6)] * len(b1)
    options = {"maxiter": 2000, "ftol": 1e-14}
    truth = optimize.minimize(
        distance, start, bounds=limits, constraints={"type": "ineq", "fun": signed}, method="SLSQP", options=options
    )
    found = post.transform(people.scores, people.group)
    assert np.min(room(found)) >= -CLOSE
    assert distance(found) == pytest.approx(post.projection_.distance, abs=1e-12)
    assert post.projection_.distance == pytest.approx(truth.fun, abs=1e-7)
    np.testing.assert_allclose(found, truth.x, atol=1e-3)


@settings(max_examples=30, deadline=None)
@given(PEOPLE, KINDS)
def test_a_large_tolerance_changes_nothing(people: People, kind: Any) -> None:
    post = people.fitted(kind, 1e6)
    assert not post.projection_.prices.any()
    np.testing.assert_allclose(post.transform(people.scores, people.group), people.scores, rtol=0, atol=1.1e-6)


@settings(max_examples=30, deadline=None)
@given(PEOPLE, KINDS)
def test_the_distance_falls_with_the_tolerance(people: People, kind: Any) -> None:
    assume(someone_in_every_cell(people))
    path = [people.fitted(kind, t).projection_.distance for t in (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)]
    assert np.all(np.diff(path) <= 1e-9)
    assert path[-1] >= -1e-12


@pytest.mark.parametrize("kind", ["ce", "kl"])
@pytest.mark.parametrize(("tolerance", "smooth"), [(0.0, 0.05), (0.02, 0.05), (0.02, 0.0)])
def test_regularised_dual(kind: Any, tolerance: float, smooth: float) -> None:
    """scipy's minimum of the dual, written out person by person, has the same tilt."""
    optimize = pytest.importorskip("scipy.optimize")
    people, zeta = People(3, 60, 2, "fine"), 0.05
    found = people.fitted(kind, tolerance, regularisation=zeta, smoothing=smooth).projection_
    b = np.stack((1 - inside(people.scores), inside(people.scores)))
    own = np.stack([people.group == a for a in range(2)])
    rows = []  # of C, as a weight of every h
    for y in range(2):
        everyone = b[y] / b[y].sum()
        for a in range(2):
            alone = b[y] * own[a] / (b[y] * own[a]).sum()
            rows += [(y, alone - (1 + tolerance) * everyone), (y, (1 - tolerance) * everyone - alone)]
    weights = np.zeros((8, 2, b.shape[1]))
    for k, (y, row) in enumerate(rows):
        weights[k, y] = row * b.shape[1]

    def dual(prices: FloatArray) -> float:
        v = np.tensordot(prices, weights, axes=1)
        if kind == "kl":
            best = -np.log((b * np.exp(-v)).sum(axis=0))
        else:
            grid = np.full(b.shape[1], 0.5)
            for halving in range(2, 55):  # bisection by the sign of the derivative
                grid = grid - 0.5**halving * np.sign(b[0] / (1 - grid) - b[1] / grid + v[1] - v[0])
            h = np.stack((1 - grid, grid))
            best = (b * np.log(b / h) + v * h).sum(axis=0)
        return float(zeta / 2 * prices @ prices + smooth / 2 * np.mean((v**2).sum(axis=0)) - best.mean())

    truth = optimize.minimize(dual, np.full(8, 0.01), bounds=[(0, None)] * 8, method="L-BFGS-B", tol=1e-14)
    assert dual(reordered(found.prices)) <= truth.fun + 1e-9
    np.testing.assert_allclose(reordered(found.prices), truth.x, atol=2e-4)
    assert np.max(found.slack) > 1e-4


def reordered(prices: FloatArray) -> FloatArray:
    """From all upper, then all lower bounds to upper and lower bound of each cell."""
    return prices.reshape(2, -1).T.ravel()


def test_new_people_one_by_one() -> None:
    people = People(4, 100, 2, "fine")
    post = people.fitted("kl", 0.01)
    together = post.transform(people.scores, people.group)
    alone = [post.transform([s], [g])[0] for s, g in zip(people.scores, people.group, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"divergence": "l2"}, r"divergence must be one of \('ce', 'kl'\), got 'l2'"),
        ({"tolerance": -0.1}, "tolerance must be a number >= 0, got -0.1"),
        ({"regularisation": "1"}, "regularisation must be a number >= 0, got '1'"),
    ],
)
def test_parameters_are_checked(options: dict[str, Any], text: str) -> None:
    with pytest.raises(DataError, match=text):
        FairProjection(**options).fit([0.1, 0.9, 0.2, 0.8], [0, 1, 0, 1], list("aabb"))


def test_scores_must_be_probabilities() -> None:
    with pytest.raises(DataError, match=r"probabilities in \[0, 1\]; 1 of 4 are not"):
        FairProjection().fit([0.1, 1.9, 0.2, 0.8], [0, 1, 0, 1], list("aabb"))


def test_transform_needs_a_fit_and_known_groups() -> None:
    with pytest.raises(FairrocError, match="call fit"):
        FairProjection().transform([0.5], ["a"])
    post = FairProjection().fit([0.1, 0.9, 0.2, 0.8], [0, 1, 0, 1], list("aabb"))
    with pytest.raises(UnknownGroupError):
        post.transform([0.5], ["c"])
