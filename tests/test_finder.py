"""Looking numbers up in a sorted list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc import FairROC
from fairroc.core.finder import MOST, Finder

FINITE = st.floats(min_value=-1e307, max_value=1e307)
CLOSE = st.integers(-200, 200).map(lambda n: n / 64)
SIZES = st.sampled_from([5e-324, 1e-310, 1e-300, 1e-154, 1.0, 1e154, 1e300, 3e304])


@given(st.lists(FINITE | CLOSE, min_size=1, max_size=60), st.lists(FINITE | CLOSE, max_size=60))
def test_it_counts_as_a_binary_search_does(entries: list[float], others: list[float]) -> None:
    """On entries, beside them by one ulp, and anywhere else."""
    rising = np.unique(np.array(entries))
    x = np.concatenate((rising, np.nextafter(rising, np.inf), np.nextafter(rising, -np.inf), np.array(others)))
    assert np.array_equal(Finder(rising).count(x), np.searchsorted(rising, x, side="right"))


@given(st.lists(CLOSE, min_size=1, max_size=60), SIZES, st.lists(CLOSE | FINITE, max_size=60), SIZES)
def test_lists_and_numbers_of_any_size(entries: list[float], size: float, others: list[float], other: float) -> None:
    """Numbers far outside the list, or all in one of its buckets; no warning, which would be an error here."""
    rising = np.unique(np.array(entries) * size)
    far = np.clip(np.array(others) * min(other, 1.0), -1e307, 1e307)
    wide = np.array([-1e307, -1e300, -1.0, -1e-300, -0.0, 0.0, 5e-324, 1e-300, 1.0, 1e300, 1e307])
    near = np.concatenate((rising, np.nextafter(rising, np.inf), np.nextafter(rising, -np.inf)))
    x = np.concatenate((near, far, np.clip(np.array(others), -300, 300) * other, wide))
    assert np.array_equal(Finder(rising).count(x), np.searchsorted(rising, x, side="right"))


def test_a_list_wider_than_all_numbers() -> None:
    """Its width is infinite, and buckets would have none."""
    rising = np.array([-1.7e308, 0.0, 1.7e308])
    x = np.array([-1.75e308, -1.7e308, -1.0, 0.0, 1.0, 1.7e308, 1.75e308])
    assert Finder(rising).count(x).tolist() == [0, 1, 1, 2, 2, 3, 3]


def test_even_lists_use_buckets_and_crowded_ones_do_not() -> None:
    """Both ways are taken, and give the same."""
    even = np.linspace(0.0, 1.0, 1000)
    crowded = np.append(np.linspace(0.0, 1e-9, 1000), 1.0)
    x = np.random.default_rng(0).random(5000)
    for rising, bucketed in ((even, True), (crowded, False)):
        finder = Finder(rising)
        assert (finder.compared <= MOST) is bucketed
        assert np.array_equal(finder.count(x), np.searchsorted(rising, x, side="right"))


@pytest.mark.parametrize("ties", ["draw", "order"])
@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_extreme_scores_are_treated_as_the_highest_and_the_lowest(size: float, ties: str) -> None:
    """By a model of any scale, without a warning, which would be an error here."""
    rng = np.random.default_rng(1)
    labels, groups = rng.random(600) < 0.5, np.repeat(["a", "b"], 300)
    scores = labels * np.where(groups == "a", 1.5, 0.7) + rng.normal(size=600)
    model = FairROC(epsilon=0.1, ties=ties, salt=1).fit(scores * size, labels, sensitive_features=groups)
    for name in ("a", "b"):
        ends = scores[groups == name].max() * size, scores[groups == name].min() * size
        for end, beyond in zip(ends, (1.0, -1.0), strict=True):
            far = np.array([end, *(beyond * np.array([1e302, 1e306, 1e307]))])
            got = model.transform(far, sensitive_features=[name] * 4, ids=["same"] * 4)
            assert np.isfinite(got).all() and (got == got[0]).all()
