"""The exact curve equals an evaluation person by person, and the drawn one keeps every promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_kernel import fitted

from fairroc.core.constraint import Difference, Ratio, equalized_odds
from fairroc.core.kernel import drawn_kernel, ordered_kernel
from fairroc.core.realised import (
    all_places,
    all_points,
    chances,
    drawn_shares,
    gap_of,
    ordered_place,
    original_points,
    performance,
    pooled_points,
    rate_gaps,
    realise,
)
from fairroc.core.roc import Population
from oracles import pair_gap, place_chance, population_of, trapezia, walk_at
from strategies import EPSILONS, NORMS, class_shares, populations

BUILDS = st.sampled_from([drawn_kernel, ordered_kernel])


def places(realised) -> np.ndarray:
    """Every level's border, every knot of a realised curve, their middles and their neighbouring numbers."""
    knots = np.unique(np.concatenate([np.arange(len(realised[0].even), dtype=np.float64), *(w.y for w in realised)]))
    near = np.concatenate((np.nextafter(knots, -1.0), np.nextafter(knots, np.inf)))
    every = np.concatenate((knots, (knots[1:] + knots[:-1]) / 2, near))
    return np.unique(every[(every >= 0) & (every <= knots[-1])])


def thinned(y: np.ndarray, most: int = 120) -> np.ndarray:
    """At most so many of the places, the first and last included."""
    return y[np.unique(np.linspace(0, len(y) - 1, min(most, len(y))).astype(int))]


@settings(max_examples=25)
@given(populations(max_groups=4, max_rows=40), EPSILONS, NORMS, BUILDS)
def test_a_walk_equals_its_people(population, epsilon, norm, build):
    """Accepted shares at any place, from either side of a step, are the sum of all people's chances."""
    curves, levels = fitted(population, epsilon, norm)
    for g, curve in enumerate(curves):
        kernel = build(curve, levels.u[:, g], levels.v[:, g])
        path = realise(curve, kernel)
        y = thinned(places([path]))
        for closed in (True, False):
            assert np.abs(path.at(y, closed=closed) - walk_at(curve, kernel, y, closed)).max() <= 1e-11


@settings(max_examples=25)
@given(populations(max_groups=4), EPSILONS, NORMS, BUILDS)
def test_a_walk_rises_from_nobody_to_everybody(population, epsilon, norm, build):
    """Shares never fall with the place, the closed side is never below the open one, and the ends are 0 and 1."""
    curves, levels = fitted(population, epsilon, norm)
    for g, curve in enumerate(curves):
        path = realise(curve, build(curve, levels.u[:, g], levels.v[:, g]))
        y = places([path])
        sides = np.stack((path.at(y, closed=False), path.at(y)), axis=1).reshape(-1, 3)
        assert (np.diff(sides, axis=0) >= -1e-12).all()
        assert np.abs(sides[0]).max() <= 1e-15
        assert np.abs(sides[-1] - 1).max() <= 1e-12


@settings(max_examples=25)
@given(populations(), EPSILONS, NORMS)
def test_drawn_performance_is_the_levels_performance(population, epsilon, norm):
    """Drawn kernels: gap within epsilon, group and pooled AUC those of the levels."""
    curves, levels = fitted(population, epsilon, norm)
    weights0, weights1, _ = class_shares(population)
    realised = [realise(c, drawn_kernel(c, levels.u[:, g], levels.v[:, g])) for g, c in enumerate(curves)]
    found = performance(realised, population_of(curves, population), equalized_odds(norm))
    assert found.gap <= epsilon + 1e-12
    assert found.gap == pytest.approx(levels.gap(equalized_odds(norm)), abs=1e-12)
    assert np.abs(np.array(found.group_aucs) - levels.group_aucs()).max() <= 1e-12
    assert found.auc == pytest.approx(levels.pooled_auc(weights0, weights1), abs=1e-12)


@settings(max_examples=25)
@given(populations(max_groups=3, max_rows=25), EPSILONS, NORMS, BUILDS)
def test_performance_is_the_worst_over_all_places(population, epsilon, norm, build):
    """The gap and AUCs equal brute force over both sides of every step, people counted one by one."""
    curves, levels = fitted(population, epsilon, norm)
    weights0, weights1, _ = class_shares(population)
    kernels = [build(curve, levels.u[:, g], levels.v[:, g]) for g, curve in enumerate(curves)]
    realised = [realise(curve, kernel) for curve, kernel in zip(curves, kernels, strict=True)]
    y = np.unique(np.concatenate([np.arange(len(levels.u), dtype=np.float64), *(w.y for w in realised)]))
    sides = [
        np.stack([walk_at(c, k, y, closed) for closed in (False, True)], axis=1).reshape(-1, 3)
        for c, k in zip(curves, kernels, strict=True)
    ]
    fpr, tpr = (np.stack([side[:, column] for side in sides], axis=1) for column in (0, 1))
    found = performance(realised, population_of(curves, population), equalized_odds(norm))
    assert found.gap == pytest.approx(pair_gap(fpr + tpr, tpr - fpr, norm), abs=1e-11)
    for g, auc in enumerate(found.group_aucs):
        assert auc == pytest.approx(trapezia(np.stack((fpr[:, g], tpr[:, g]), axis=1)), abs=1e-11)
    pooled = np.stack((fpr @ weights0, tpr @ weights1), axis=1)
    assert found.auc == pytest.approx(trapezia(pooled), abs=1e-11)


@settings(max_examples=25)
@given(populations(max_groups=6), EPSILONS, NORMS, BUILDS)
def test_many_places_are_judged_as_few_are(population, epsilon, norm, build):
    """Gap, AUCs and single rates, without a look at all groups at all places, are those of such a look."""
    curves, levels = fitted(population, epsilon, norm)
    people = Population(tuple(curves), *class_shares(population))
    paths = [realise(c, build(c, levels.u[:, g], levels.v[:, g])) for g, c in enumerate(curves)]
    for constraint in (equalized_odds(norm), Difference("selection"), Ratio("tpr")):
        few = performance(paths, people, constraint)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("fairroc.core.realised.MOST", 0)
            many = performance(paths, people, constraint)
            assert gap_of(paths, people, constraint) == pytest.approx(many.gap, abs=1e-15)
            pooled = pooled_points(paths, all_places(paths), people)
        assert gap_of(paths, people, constraint) == few.gap
        for rate, weights, line in zip(all_points(paths), (people.weights0, people.weights1), pooled, strict=True):
            assert np.abs(rate @ weights - line).max() <= 1e-13
        assert many.gap == pytest.approx(few.gap, abs=1e-13)
        assert many.auc == pytest.approx(few.auc, abs=1e-13)
        assert many.group_aucs == pytest.approx(few.group_aucs, abs=1e-13)
    fpr, tpr = all_points(paths)
    selection = fpr + people.priors * (tpr - fpr)
    widest = [np.ptp(line, axis=1).max() for line in (fpr, tpr, selection)]
    found = rate_gaps(paths)
    assert [found.fpr, found.tpr, found.selection_rate] == pytest.approx(widest, abs=1e-12)


@settings(max_examples=25)
@given(populations(max_groups=3), EPSILONS, NORMS)
def test_people_in_raw_order_keep_it(population, epsilon, norm):
    """Inside ordered blocks a higher score never has a later place."""
    curves, levels = fitted(population, epsilon, norm)
    for g, curve in enumerate(curves):
        kernel = ordered_kernel(curve, levels.u[:, g], levels.v[:, g])
        block = np.searchsorted(-kernel.thresholds, -curve.thresholds, side="left")
        ordered = kernel.ordered[block]
        place = kernel.first[block[ordered]] + ordered_place(kernel, block[ordered], curve.thresholds[ordered])
        assert (np.diff(place) >= 0).all()


@settings(max_examples=25)
@given(populations(max_groups=3, max_rows=40), EPSILONS, NORMS, BUILDS)
def test_a_higher_score_is_never_placed_later(population, epsilon, norm, build):
    """At every place, not at the levels' borders only, a higher score has at least the chance of a lower one."""
    curves, levels = fitted(population, epsilon, norm)
    for g, curve in enumerate(curves):
        kernel = build(curve, levels.u[:, g], levels.v[:, g])
        for y in thinned(places([realise(curve, kernel)]), 60):
            chances = [place_chance(kernel, score, y, closed=True) for score in curve.thresholds]
            assert (np.diff(chances) <= 1e-12).all()


@settings(max_examples=25)
@given(populations(max_groups=2, max_rows=30), EPSILONS, NORMS, BUILDS)
def test_chances_are_those_of_single_people(population, epsilon, norm, build):
    """Of every score and place at once as of one at a time."""
    curves, levels = fitted(population, epsilon, norm)
    kernel = build(curves[0], levels.u[:, 0], levels.v[:, 0])
    y = thinned(places([realise(curves[0], kernel)]), 40)
    scores = thinned(curves[0].thresholds, 10)
    found = chances(kernel, scores, y)
    single = [[place_chance(kernel, score, place, True) for place in y] for score in scores]
    assert np.abs(found - single).max() <= 1e-11


@settings(max_examples=25)
@given(populations(max_groups=4, weights=("none", "mild")))
def test_original_points_of_many_groups_are_those_of_few(population):
    """All people's rates at every threshold, whichever way they are summed."""
    people = Population(tuple(sample.curve for sample in population), *class_shares(population))
    few = original_points(people)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairroc.core.realised.MOST", 0)
        many = original_points(people)
    for one, other in zip(few, many, strict=True):
        assert np.abs(one - other).max() <= 1e-12
    scores, labels, mass = (
        np.concatenate([getattr(s, name) for s in population]) for name in ("scores", "labels", "mass")
    )
    for rate, part in zip(few[1:], (~labels, labels), strict=True):
        counted = [mass[part & (scores >= t)].sum() / mass[part].sum() for t in few[0][::-1]]
        assert np.abs(rate - [0.0, *counted]).max() <= 1e-12


@settings(max_examples=25)
@given(populations(max_groups=3, max_rows=25), EPSILONS, BUILDS, st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_in_a_window_the_gap_is_that_of_all_thresholds_inside(population, epsilon, build, ends):
    """Between two places all rates are straight, and both ends of the window count."""
    curves, levels = fitted(population, epsilon, 1)
    people = population_of(curves, population)
    paths = [realise(c, build(c, levels.u[:, g], levels.v[:, g])) for g, c in enumerate(curves)]
    low, high = sorted(ends)
    fpr, tpr = all_points(paths)
    share = np.linspace(0, 1, 9)[:, None, None]
    fpr, tpr = ((line[:-1] + share * np.diff(line, axis=0)).reshape(-1, len(curves)) for line in (fpr, tpr))
    jump = np.tile(np.arange(len(fpr) // 9) % 2 == 0, 9)  # the two sides of one place
    selected = (fpr + people.priors * (tpr - fpr)) @ people.shares
    inside = (selected >= low) & (selected <= high) & (~jump | np.repeat([True, *[False] * 7, True], len(fpr) // 9))
    found = performance(paths, people, Difference("tpr", (low, high))).gap
    assert found >= np.ptp(tpr[inside], axis=1).max(initial=0.0) - 1e-12
    wide = performance(paths, people, Difference("tpr", (low - 1e-9, high + 1e-9))).gap
    assert found <= wide + 1e-12
    assert found <= performance(paths, people, Difference("tpr")).gap + 1e-12
    assert performance(paths, people, Difference("tpr", (-1.0, 2.0))).gap == pytest.approx(np.ptp(tpr, axis=1).max())


@settings(max_examples=25)
@given(populations(max_groups=3, max_rows=40), EPSILONS, NORMS, BUILDS)
def test_shares_drawn_are_those_of_single_people(population, epsilon, norm, build):
    assume(all((sample.mass > 0).all() for sample in population))
    curves, levels = fitted(population, epsilon, norm)
    for g, (curve, sample) in enumerate(zip(curves, population, strict=True)):
        kernel = build(curve, levels.u[:, g], levels.v[:, g])
        block = np.searchsorted(-kernel.thresholds, -sample.scores, side="left")
        moved, kept = kernel.transported[block], kernel.ordered[block]
        expected = [sample.mass[part].sum() / sample.mass.sum() for part in (moved, ~moved & ~kept)]
        assert drawn_shares(curve, kernel) == pytest.approx(expected, abs=1e-9)
