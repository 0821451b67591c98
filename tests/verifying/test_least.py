"""The least gap without a draw in whole numbers: beside pairs of points one by one, all walks, and the fit."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core.walk import least_walk
from fairroc.fitting import walking
from fairroc.verifying import least
from fairroc.verifying.files import Measure
from fairroc.verifying.law import Everybody, GroupPeople, original
from fairroc_studies.questions.verify import Rows, fitted, sealed
from oracles import all_walks, judged_walks
from walk_cases import CONSTRAINTS, STEP, scale_of, stepped, strands

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.FairrocWarning")

SCALES = [None, (Fraction(1), Fraction(1)), (Fraction(1), Fraction(0.05) / Fraction(0.1))]
BOTH = st.sampled_from(
    [(one, Measure(None, False, scale, None)) for one, scale in zip(CONSTRAINTS, SCALES, strict=True)]
)


def steps(most: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Whole numbers of negatives and positives at each score of a group."""
    return st.lists(STEP, min_size=1, max_size=most).filter(lambda own: all(map(sum, zip(*own, strict=True))))


def lines_of(groups: list[list[tuple[int, int]]], weight: float = 1.0) -> list:
    """The original score of such groups."""
    cells = [[(float(-k), bool(y), weight * own[y]) for k, own in enumerate(each) for y in (0, 1)] for each in groups]
    return original(Everybody.of([GroupPeople(str(g), 0, 0, tuple(own)) for g, own in enumerate(cells)]))


@settings(max_examples=60, deadline=None)
@given(st.lists(steps(12), min_size=2, max_size=2), BOTH, st.sampled_from([1.0, 0.3]))
def test_of_two_groups_it_is_the_bottleneck_of_all_pairs_and_what_the_fit_finds(groups, both, weight) -> None:
    constraint, measure = both
    lines = lines_of(groups, weight)
    one, other = ([line.before[0], *line.after] for line in lines)
    best: dict[tuple[int, int], Fraction] = {}
    for i, j in product(range(len(one)), range(len(other))):
        before = [best[at] for at in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if at in best]
        best[i, j] = max(measure.gap([one[i], other[j]], [Fraction(0)] * 2), min(before, default=Fraction(0)))
    exact = best[len(one) - 1, len(other) - 1]
    found = least.least_gap(lines, measure)
    assert found.lower <= exact <= found.upper <= found.lower + Fraction(1, 1 << 33) and found.passed == 0
    half = (np.full(2, 0.5), np.full(2, 0.5))
    assert abs(least_walk(strands([stepped(own) for own in groups], half, constraint)).gap - exact) < 1e-12
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(least, "CELLS", 0)
        by_hand = least.least_gap(lines, measure)
    longest = max(sum(b) - sum(a) for line in lines for a, b in zip(line.before, line.after, strict=True))
    assert by_hand.lower <= exact <= by_hand.upper <= 2 * by_hand.lower + longest


@settings(max_examples=40, deadline=None)
@given(st.lists(steps(3), min_size=3, max_size=3), BOTH)
def test_of_more_groups_all_walks_are_between_the_bounds(groups, both) -> None:
    constraint, measure = both
    curves, third = [stepped(own) for own in groups], (np.full(3, 1 / 3), np.full(3, 1 / 3))
    every = all_walks(tuple(len(own) for own in groups), False)
    gap = judged_walks(every, curves, third, scale_of(constraint))[0].min()
    found = least.least_gap(lines_of(groups), measure)
    assert found.lower - 1e-12 <= gap <= found.upper + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_what_fewer_points_pass_is_within_what_is_told(seed, monkeypatch) -> None:
    """Also where curves are rough, and steps long; what is off by more is wrong."""
    rng = np.random.default_rng(seed)
    n, groups = 900, 2 + seed % 2
    y, code = rng.integers(0, 2, n), rng.integers(0, groups, n)
    scores = (rng.normal(size=n) + y * (0.3 + code)).round(2 if seed % 3 else 9)
    for room, name in ((walking, "POINTS"), (walking, "FEWEST_POINTS"), (least, "POINTS"), (least, "FEWEST")):
        monkeypatch.setattr(room, name, 90)
    rows = fitted(scores, y, code, epsilon=0.1, norm=(1, "inf")[seed % 2])
    told = check(rows)
    assert told.passed is True and "(at fewer points than scores: off by 0." in told.note
    assert check(rows, 1.0).passed is False


def check(rows: Rows, least_gap: float | None = None):
    """What is said of the least gap; where another one is stated, of that."""
    stated = json.loads(rows.certificate)
    stated["figures"]["least_gap_without_draw"] = least_gap or stated["figures"]["least_gap_without_draw"]
    found = rows._replace(certificate=sealed(stated)).verified()
    return next(one for one in found.checks if one.name == "least gap without a draw")


def test_a_model_that_draws_nobody_and_keeps_scores_apart_is_a_bound_too(monkeypatch) -> None:
    """Of three groups, where its gap is less than that at equal pace."""
    monkeypatch.setattr(walking, "MERGE_PRICE", 1.0)
    rng = np.random.default_rng(2)
    y, code = rng.integers(0, 2, 150), rng.integers(0, 3, 150)
    scores = rng.normal(size=150) + y * (0.5 + code)
    told = json.loads(fitted(scores, y, code, epsilon=0.0).certificate)["figures"]["least_gap_without_draw"]
    rows = fitted(scores, y, code, epsilon=told + 1e-3)
    gap = json.loads(rows.certificate)["figures"]["gap"]
    assert check(rows).passed is True and f"and one keeps {gap:.6f}" in check(rows).note
    assert check(rows, gap + 1e-6).note.startswith("off by 1e-06: no walk keeps less than ")


def test_certificates_that_state_none_are_not_judged_by_it() -> None:
    rows = fitted(np.arange(80) % 17, np.arange(80) % 2, np.arange(80) // 40, epsilon=0.1)
    stated = json.loads(rows.certificate)
    for name in ("least_gap_without_draw", "drawn"):
        del stated["figures"][name]
    found = rows._replace(certificate=sealed(stated)).verified()
    assert found.passed
    assert [one.note for one in found.checks if one.passed is None] == ["the certificate states none"]
