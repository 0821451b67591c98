"""Packed rows come out sorted, group by group, whatever the scores, and give back every score and label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.people import sorting
from fairroc.people.sorting import Packing, packing, sorted_rows
from strategies import POOLS, SEEDS

KINDS = ("pool", "even", "normal", "clustered", "skewed", "one", "huge")


def some_scores(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Scores of a kind that is hard for some part of the sort."""
    return {
        "pool": rng.choice(POOLS[sorted(POOLS)[rng.integers(len(POOLS))]], n),
        "even": rng.random(n),
        "normal": 5 * rng.normal(size=n),
        "clustered": rng.choice([0.0, 0.1, 1e6], n) + 1e-9 * rng.random(n),
        "skewed": rng.random(n) ** 40,
        "one": np.full(n, rng.normal()),
        "huge": 1e300 * rng.normal(size=n),
    }[kind]


@pytest.fixture(params=[{}, {"BLOCK": 64}, {"BLOCK": 7, "FEW_GROUPS": 3}], ids=["as it is", "small", "tiny"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that a few hundred rows need many of them."""
    for name, value in request.param.items():
        monkeypatch.setattr(sorting, name, value)


@pytest.mark.usefixtures("sizes")
@given(st.sampled_from(KINDS), st.integers(1, 600), st.integers(1, 9), SEEDS)
def test_every_group_comes_out_sorted(kind, n, count, seed):
    """By group: the same scores, each with its label, rising."""
    rng = np.random.default_rng(seed)
    scores, labels = some_scores(kind, n, rng), rng.random(n) < 0.4
    groups = rng.integers(0, count, n).astype(np.int8)
    pack = packing(scores)
    if pack is None:
        assert kind == "pool"
        return
    found = sorted_rows(scores, labels, groups, count, pack)
    assert len(found) == count
    for g, rows in enumerate(found):
        mine = groups == g
        values, positive = pack.scores(rows >> 1), (rows & 1) == 1
        assert (values == np.sort(scores[mine])).all()
        for part, label in ((values[positive], True), (values[~positive], False)):
            assert (part == np.sort(scores[mine & (labels == label)])).all()


@given(st.sampled_from(KINDS), SEEDS)
def test_keys_rise_with_the_score_and_lead_back_to_it(kind, seed):
    rng = np.random.default_rng(seed)
    scores = np.unique(some_scores(kind, 50, rng))
    pack = packing(scores)
    if pack is not None:
        keys = pack.keys(scores)
        assert (np.diff(keys) > 0).all()
        assert np.abs(keys).max() < 2**62
        assert (pack.scores(keys) == scores).all()


def test_minus_zero_is_zero():
    assert packing(np.array([-0.0, 1.0])).keys(np.array([-0.0, 0.0])).tolist() == [0, 0]


def test_scores_beyond_the_room_are_not_packed():
    """1e300 leaves no room for 1e-300; a threshold that small still parts the scores around it rightly."""
    assert packing(np.array([1e300, 1e-300])) is None
    scores = np.array([-1e300, -1e-5, 0.0, 1e-5, 1e300])
    pack = packing(scores)
    assert isinstance(pack, Packing)
    for threshold in (1e-320, -1e-320, 1e-5, -1e-5, 0.0, 0.5, -0.5):
        at = np.searchsorted(pack.keys(scores), pack.keys(np.array([threshold])))[0]
        assert at == np.searchsorted(scores, threshold)


def test_more_groups_than_16_bits_tell_apart():
    rng = np.random.default_rng(0)
    count = (1 << 16) + 100
    groups, scores = rng.permutation(np.arange(2 * count, dtype=np.int32) % count), rng.random(2 * count)
    pack = packing(scores)
    found = np.concatenate(sorted_rows(scores, np.ones(len(scores), dtype=np.bool_), groups, count, pack))
    assert (pack.scores(found >> 1) == scores[np.lexsort((scores, groups))]).all()
