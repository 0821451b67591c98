"""Looking numbers up in a sorted list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.core.finder import Finder
from fitted_people import FairROC

FINITE = st.floats(min_value=-1e307, max_value=1e307)
CLOSE = st.integers(-200, 200).map(lambda n: n / 64)
SIZES = st.sampled_from([5e-324, 1e-310, 1e-300, 1e-154, 1.0, 1e154, 1e300, 3e304])


def searched(lists: list[np.ndarray], which: np.ndarray, x: np.ndarray) -> list[int]:
    """One binary search for each number."""
    first = np.cumsum([0, *map(len, lists)])
    return [
        int(first[i] + np.searchsorted(lists[i], value, side="right") - 1) for i, value in zip(which, x, strict=True)
    ]


def check(lists: list[np.ndarray], others: list[float]) -> Finder:
    """On entries, beside them by one ulp, and anywhere else; in every list."""
    lists = [np.concatenate(([-np.inf], np.unique(entries))) for entries in lists]
    known = np.concatenate([entries[1:] for entries in lists])
    near = np.concatenate((known, np.nextafter(known, np.inf), np.nextafter(known, -np.inf), others))
    x = np.tile(near, len(lists))
    which = np.repeat(np.arange(len(lists), dtype=np.int8), len(near))
    finder = Finder(lists)
    assert finder.find(which, x).tolist() == searched(lists, which, x)
    return finder


@given(st.lists(st.lists(FINITE | CLOSE, max_size=40), min_size=1, max_size=4), st.lists(FINITE | CLOSE, max_size=60))
def test_it_finds_what_a_binary_search_does(lists: list[list[float]], others: list[float]) -> None:
    check([np.array(entries) for entries in lists], others)


@given(st.lists(CLOSE, min_size=1, max_size=60), SIZES, st.lists(CLOSE | FINITE, max_size=60), SIZES)
def test_lists_and_numbers_of_any_size(entries: list[float], size: float, others: list[float], other: float) -> None:
    """Numbers far outside the list, or all in one of its buckets; no warning, which would be an error here."""
    wide = [-1e307, -1e300, -1.0, -1e-300, -0.0, 0.0, 5e-324, 1e-300, 1.0, 1e300, 1e307]
    far = np.clip(np.array(others) * min(other, 1.0), -1e307, 1e307)
    check([np.array(entries) * size], [*far, *(np.clip(np.array(others), -300, 300) * other), *wide])


EVEN, MANY = np.linspace(0.0, 1.0, 1000), np.linspace(0.0, 1.0, 4000)


@pytest.mark.parametrize(
    ("entries", "by_bits", "rounds", "rare"),
    [
        (EVEN, False, 0, True),
        (MANY, False, 1, False),
        (np.exp(-30 * MANY), True, 1, False),
        (np.append(EVEN[:990] * 1e-9, EVEN[990:]), False, 2, True),
        ((MANY - 0.5) ** 3, False, 2, True),
    ],
    ids=["few", "even", "crowded towards zero", "crowded at zero", "crowded inside"],
)
def test_every_way_is_taken(entries: np.ndarray, by_bits: bool, rounds: int, rare: bool) -> None:
    """Few entries need a comparison in their buckets, even lists one of all rows, others buckets by the bits of the
    doubles, two comparisons or a search."""
    finder = check([entries, entries[::3]], np.random.default_rng(0).random(2000).tolist())
    assert (finder.shift >= 0, finder.table.rounds, finder.table.rare) == (by_bits, rounds, rare)


@pytest.mark.parametrize("draw", ["all", "few", "never"])
@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_extreme_scores_are_treated_as_the_highest_and_the_lowest(size: float, draw: str) -> None:
    """By a model of any scale, without a warning, which would be an error here."""
    rng = np.random.default_rng(1)
    labels, groups = rng.random(600) < 0.5, np.repeat(["a", "b"], 300)
    scores = labels * np.where(groups == "a", 1.5, 0.7) + rng.normal(size=600)
    model = FairROC(epsilon=0.1, draw=draw, salt=1).fit(scores * size, labels, sensitive_features=groups)
    for name in ("a", "b"):
        ends = scores[groups == name].max() * size, scores[groups == name].min() * size
        for end, beyond in zip(ends, (1.0, -1.0), strict=True):
            far = np.array([end, *(beyond * np.array([1e302, 1e306, 1e307]))])
            got = model.transform(far, sensitive_features=[name] * 4, ids=["same"] * 4)
            assert np.isfinite(got).all() and (got == got[0]).all()
