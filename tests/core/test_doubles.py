"""Ranks of doubles: whole numbers in the same order, and back again."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fairroc.core.doubles import first_true, positive_ranks, ranks, with_ranks

FINITE = hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e308, 1e308))


@given(FINITE)
def test_ranks_are_in_order_and_lead_back(values):
    found = ranks(values)
    assert (np.sign(found[:, None] - found.astype(object)) == np.sign(values[:, None] - values.astype(object))).all()
    assert with_ranks(found).tobytes() == (values + 0.0).tobytes()


@given(FINITE)
def test_neighbours_have_neighbouring_ranks(values):
    """From -5e-324 to 0.0 over the place of -0.0."""
    below = np.nextafter(values, -np.inf)
    assert (ranks(values) - ranks(below) == np.where(values == 0, 2, 1)).all()


def test_zeros_and_signs():
    values = np.array([-np.inf, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, np.inf])
    assert (np.diff(ranks(values)) >= 0).all()
    assert ranks(np.array([-0.0])).tolist() == ranks(np.array([-0.0, -1.0]))[:1].tolist() == [0]
    assert (ranks(-values[4:]) == -1 - ranks(values[4:]))[1:].all()
    assert positive_ranks(values[4:]).tolist() == ranks(values[4:]).tolist()
    assert with_ranks(np.array([-2, 0, 1])).tolist() == [-5e-324, 0.0, 5e-324]
    assert with_ranks(np.zeros(0, dtype=np.int64)).size == ranks(np.zeros(0)).size == 0


AWAY = [0, 1, -1, 2, 16, -16, 17, 4096, -4096, 4097, 10**9, -(10**15)]


@example([(1.0, 0)])
@example([(-3.5, 9), (2.0, -9)])
@example([(1e300, -4000), (-1e-300, 4000)])
@given(st.lists(st.tuples(st.floats(-1e300, 1e300), st.sampled_from(AWAY)), min_size=1, max_size=9))
def test_the_first_double_at_which_a_test_holds(asked):
    """Whatever the guess, each for itself; a guess a few doubles away takes few tests."""
    goal, looks = np.array([value for value, _ in asked]) + 0.0, []
    guess = with_ranks(ranks(goal) + np.array([away for _, away in asked]))

    def reached(values: np.ndarray, which: np.ndarray) -> np.ndarray:
        looks.append(len(which))
        return values >= goal[which]

    found = first_true(reached, np.full(len(goal), -1.5e308), guess, np.full(len(goal), 1.5e308))
    assert found.tolist() == goal.tolist()
    if np.abs(goal).min() > 1e-300:  # -0.0 has a rank of its own, and no double
        worst = max(abs(away) for _, away in asked)
        assert len(looks) <= 6 + (1 if worst == 0 else 4 if worst < 16 else 12 if worst < 4096 else 64)


def test_low_and_top_are_never_asked_for_again():
    """The first double after low, and top itself."""
    low, top = np.array([1.0, 1.0]), np.array([2.0, 2.0])
    goal = np.array([np.nextafter(1.0, 2.0), 2.0])
    for guess in (low, top, np.array([5.0, -5.0])):
        found = first_true(lambda values, which: values >= goal[which], low, guess, top)
        assert found.tolist() == goal.tolist()
