"""fairroc.core.mixture: kernels of a selection, against every single person's chances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core.constraint import Difference, equalized_odds
from fairroc.core.mixture import Mixture, Segment, drawn_kernels, ordered_kernels
from fairroc.core.program import Comparison, solve
from oracles import place_chance
from strategies import SEEDS

GROUPS = 2


def random_mixture(seed: int, scores: int, segments: int = 2) -> Mixture:
    """People of two groups over segments: few or many different scores, heavy ties, groups that some scores lack."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, (segments, GROUPS, 2, scores)) * rng.integers(0, 2, (segments, GROUPS, 2, scores))
    counts[:, :, :, rng.integers(scores)] += 1
    totals = counts.sum(axis=(0, 3))
    parts = []
    for own in counts:
        used = own.sum(axis=(0, 1)) > 0
        every = np.concatenate((own / totals[:, :, None], (own.sum(axis=0) / totals.sum(axis=0)[:, None])[None]))
        thresholds = np.linspace(1.0, 0.0, scores) ** 2
        parts.append(Segment(thresholds[used], every[:, :, used]))
    both = np.concatenate((totals, totals.sum(axis=0)[None]))
    return Mixture(tuple(parts), both[:, 1] / both.sum(axis=1), 1.0 / counts.sum())


def kernels_of(mixture: Mixture, bins: int, epsilon: float, ordered: bool, constraint=None):
    cuts = mixture.cuts(bins, 1e-9)
    cells = mixture.cells(cuts)
    comparison = Comparison(np.arange(GROUPS), constraint or equalized_odds(1), epsilon)
    found = solve(cells, [comparison], np.array([0.1, 0.25, 0.5, 0.7, 0.9]))
    nothing = np.zeros(found.chances.shape[1], dtype=bool)
    make = (
        ordered_kernels(mixture, cuts, found.chances, nothing)
        if ordered
        else drawn_kernels(mixture, cuts, found.chances)
    )
    return make, found, cells, comparison


@given(SEEDS, st.sampled_from([2, 5, 40]), st.sampled_from([2, 8]), st.sampled_from([0.0, 0.1]), st.booleans())
@settings(max_examples=25)
def test_what_kernels_do_is_the_sum_over_people(seed, scores, bins, epsilon, ordered):
    mixture = random_mixture(seed, scores)
    kernels, *_ = kernels_of(mixture, bins, epsilon, ordered)
    places = np.array([0.0, 0.3, 1.0, 1.5, 2.0, 3.25, 4.0, 4.9, 5.0, 6.0])
    for population in range(GROUPS + 1):
        done = mixture.realised(kernels, population).at(places)
        truth = np.zeros((len(places), 2))
        for own, kernel in zip(mixture.segments, kernels, strict=True):
            chance = np.array([[place_chance(kernel, float(s), y, True) for s in own.thresholds] for y in places])
            truth += chance @ own.masses[population].T
        assert done[:, :2] == pytest.approx(truth, abs=1e-12)
        assert done[:, 2] == pytest.approx(
            truth @ [1 - mixture.priors[population], mixture.priors[population]], abs=1e-12
        )


@given(SEEDS, st.sampled_from([2, 7, 40]), st.booleans())
@settings(max_examples=25)
def test_a_higher_score_never_hurts_and_rows_are_probabilities(seed, scores, ordered):
    mixture = random_mixture(seed, scores)
    kernels, *_ = kernels_of(mixture, 6, 0.05, ordered)
    for own, kernel in zip(mixture.segments, kernels, strict=True):
        assert kernel.table.sum(axis=1) == pytest.approx(1.0)
        for y in np.linspace(0.05, 5.95, 40):
            chance = [place_chance(kernel, float(s), float(y), True) for s in own.thresholds]
            assert (np.diff(chance) <= 1e-9).all()


@given(SEEDS, st.sampled_from([3, 20]), st.sampled_from([0.0, 0.05, 0.3]))
@settings(max_examples=25)
def test_drawn_people_have_the_rates_of_the_program(seed, scores, epsilon):
    mixture = random_mixture(seed, scores)
    kernels, found, cells, _ = kernels_of(mixture, 8, epsilon, ordered=False)
    ends = np.arange(1.0, 6.0)
    for population in range(GROUPS):
        done = mixture.realised(kernels, population).at(ends)
        assert done[:, 0] == pytest.approx(found.selected @ cells.rates[population, 0], abs=1e-9)
        assert done[:, 1] == pytest.approx(found.selected @ cells.rates[population, 1], abs=1e-9)
    assert mixture.realised(kernels, GROUPS).at(ends)[:, 2] == pytest.approx(found.shares, abs=1e-9)
    assert mixture.drawn(kernels, GROUPS) == pytest.approx((1.0, 0.0))


@given(SEEDS)
@settings(max_examples=10)
def test_raw_order_gives_every_level_as_many_people_and_draws_few_for_one_rate(seed):
    mixture = random_mixture(seed, 60, segments=3)
    kernels, found, *_ = kernels_of(mixture, 20, 0.02, True, Difference("tpr"))
    done = mixture.realised(kernels, GROUPS).at(np.arange(1.0, 6.0))
    assert done[:, 2] == pytest.approx(found.shares, abs=1e-9)
    drawn, _, *_ = kernels_of(mixture, 20, 0.02, False, Difference("tpr"))
    assert sum(mixture.drawn(kernels, GROUPS)) < sum(mixture.drawn(drawn, GROUPS))


def test_levels_that_are_to_be_drawn_are_drawn():
    mixture = random_mixture(3, 40)
    cuts = mixture.cuts(10, 1e-9)
    table = kernels_of(mixture, 10, 0.3, True)[1].chances
    every = np.ones(table.shape[1], dtype=bool)
    for one, other in zip(
        ordered_kernels(mixture, cuts, table, every), drawn_kernels(mixture, cuts, table), strict=True
    ):
        assert not one.ordered.any() and one.thresholds.tolist() == other.thresholds.tolist()
        assert (one.table[one.row] == other.table[other.row]).all()


@given(SEEDS, st.integers(2, 30))
def test_thinned_people_keep_cells_masses_and_real_scores(seed, most):
    mixture = random_mixture(seed, 50)
    cuts = mixture.cuts(7, 1e-9)
    thin, ends = mixture.thinned(cuts, most)
    one, other = mixture.cells(cuts), thin.cells(ends)
    assert one.rates == pytest.approx(other.rates) and one.opens.tolist() == other.opens.tolist()
    for own, few in zip(mixture.segments, thin.segments, strict=True):
        assert set(few.thresholds) <= set(own.thresholds) and len(few.thresholds) <= len(own.thresholds)
        assert few.masses.sum(axis=2) == pytest.approx(own.masses.sum(axis=2))


def test_the_original_curve_of_a_population_is_the_sum_of_its_parts():
    mixture = random_mixture(1, 12, segments=3)
    for population in range(GROUPS + 1):
        whole = mixture.whole(population)
        parts = [mixture.part(population, s) for s in range(3)]
        for threshold in np.linspace(-0.1, 1.1, 25):
            at = np.array([threshold])
            fpr = sum(float(part.fpr[part.index_at(at)][0]) for part in parts)
            assert float(whole.fpr[whole.index_at(at)][0]) == pytest.approx(fpr, abs=1e-12)
        assert (whole.fpr[-1], whole.tpr[-1]) == (1.0, 1.0)


def test_few_scores_are_not_thinned_and_everybody_is_the_last_population():
    mixture = random_mixture(2, 9)
    cuts = mixture.cuts(4, 1e-9)
    thin, ends = mixture.thinned(cuts, 9)
    assert thin is mixture and [end.tolist() for end in ends] == [cut.tolist() for cut in cuts]
    assert mixture.everybody == GROUPS and mixture.whole(mixture.everybody).prior == mixture.priors[-1]
