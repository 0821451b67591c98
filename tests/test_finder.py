"""Looking numbers up in a sorted list."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairroc.core.finder import MOST, Finder

FINITE = st.floats(min_value=-1e307, max_value=1e307)
CLOSE = st.integers(-200, 200).map(lambda n: n / 64)


@given(st.lists(FINITE | CLOSE, min_size=1, max_size=60), st.lists(FINITE | CLOSE, max_size=60))
def test_it_counts_as_a_binary_search_does(entries: list[float], others: list[float]) -> None:
    """On entries, beside them by one ulp, and anywhere else."""
    rising = np.unique(np.array(entries))
    x = np.concatenate((rising, np.nextafter(rising, np.inf), np.nextafter(rising, -np.inf), np.array(others)))
    assert np.array_equal(Finder(rising).count(x), np.searchsorted(rising, x, side="right"))


def test_even_lists_use_buckets_and_crowded_ones_do_not() -> None:
    """Both ways are taken, and give the same."""
    even = np.linspace(0.0, 1.0, 1000)
    crowded = np.append(np.linspace(0.0, 1e-9, 1000), 1.0)
    x = np.random.default_rng(0).random(5000)
    for rising, bucketed in ((even, True), (crowded, False)):
        finder = Finder(rising)
        assert (finder.compared <= MOST) is bucketed
        assert np.array_equal(finder.count(x), np.searchsorted(rising, x, side="right"))
