"""Ranks of doubles: whole numbers in the same order, and back again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fairroc.core.doubles import positive_ranks, ranks, with_ranks

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
