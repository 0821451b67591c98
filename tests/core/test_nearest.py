"""Best points near a centre: those of a linear program, and prices that bound what any other centre is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fairroc.core.chain import Chain, Chains
from fairroc.core.constraint import NORMS, EqualizedOdds, own_tolerances
from strategies import SEEDS, families

CONSTRAINTS = (*NORMS.values(), own_tolerances(0.1, 0.04))


def best_value(
    hull: Chain, x: float, y: float, centre: np.ndarray, radius: float, constraint: EqualizedOdds
) -> float | None:
    """The most that ``x`` and ``y`` of a point under the hull and near the centre are worth; None: there is none."""
    along = np.array(constraint.axes(*np.eye(2)))  # (axes, u and v)
    edges = np.stack((-hull.slopes, np.ones(len(hull.slopes))), axis=1)
    heights = hull.v[:-1] - hull.slopes * hull.u[:-1]
    found = linprog(
        -(np.array([x, y]) @ along),
        A_ub=np.concatenate((edges, along, -along)),
        b_ub=np.concatenate((heights, centre + radius, radius - centre)),
        bounds=[(0, 2), (None, None)],
    )
    return None if found.status == 2 else -float(found.fun)


@settings(max_examples=25)
@given(families(3), st.sampled_from([0.01, 0.1, 0.4]), st.sampled_from(CONSTRAINTS), SEEDS)
def test_best_points_near_centres_and_what_they_pay(hulls, radius, constraint, seed):
    """Each is near its centre, under its hull and worth what the program says; its prices hold for all centres."""
    rng, count = np.random.default_rng(seed), 4
    chains = Chains(hulls)
    x, y = constraint.direction(*rng.random((2, len(hulls) * count)) + 0.01).T.reshape(2, len(hulls), count)
    starts = rng.integers(0, len(hulls), count)
    u = rng.random(count) * 2
    v = np.array([float(hulls[g].at(at)) for g, at in zip(starts, u, strict=True)])
    centres = np.stack(constraint.axes(u, v)) + rng.uniform(-1, 1, (2, count)) * radius
    vertex = chains.support(*constraint.prices(x, y))
    best = constraint.best_near(hulls, chains)(x, y, vertex, centres, np.full(count, radius))
    along = np.stack(constraint.axes(best.u, best.v))
    value = along[0] * x + along[1] * y
    for g, i in np.ndindex(x.shape):
        own, *others = (
            best_value(hulls[g], x[g, i], y[g, i], centres[:, (i + j) % count], radius, constraint)
            for j in range(count)
        )
        if own is None:
            continue
        assert value[g, i] == pytest.approx(own, abs=1e-7)
        assert np.abs(along[:, g, i] - centres[:, i]).max() <= radius + 1e-9
        assert best.v[g, i] <= hulls[g].at(best.u[g, i]) + 1e-9
        for j, there in enumerate(others, 1):
            moved = centres[:, (i + j) % count] - centres[:, i]
            more = best.price_x[g, i] * moved[0] + best.price_y[g, i] * moved[1]
            assert there is None or there <= own + more + 1e-7
