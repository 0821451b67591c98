"""What a score does in populations: beside exact figures of people who are the population."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.fitting.fit import fit_quietly
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc.stats.bins import bins_of
from fairroc.stats.expected import figures, selected
from fairroc.stats.posterior import Populations, posterior
from strategies import SEEDS


def few_scores(seed: int, distinct: int, groups: int = 2):
    rng = np.random.default_rng(seed)
    g, y = np.arange(240) % groups, rng.random(240) < 0.5
    y[: 2 * groups] = np.arange(2 * groups) < groups
    return np.floor(distinct * rng.beta(1 + y, 2 - y + 0.5 * (g == 1))), y, g


@settings(max_examples=20)
@given(SEEDS, st.integers(2, 40), st.sampled_from(["few", "never", "all"]), st.sampled_from([0.02, 0.1, 0.4]))
def test_in_a_population_that_is_the_people_figures_are_theirs(seed, distinct, draw, epsilon):
    scores, y, g = few_scores(seed, distinct)
    people = read_people(scores, y, sensitive_features=g)
    fitted = fit_quietly(people, Options.checked(epsilon=epsilon, draw=draw, promise="fitted"), salt=1)
    thin = people.thin
    bins = bins_of(thin.curves, thin.shares, people.class_sizes())
    known = posterior(bins, thin, np.random.default_rng(0))
    own = Populations((bins.counts / bins.sizes[..., None])[None], thin.priors[None])
    for kernels, exact in ((fitted.model.kernels, fitted.performance), ((), fitted.before)):
        found = figures(known, own, kernels, fitted.measure)
        assert found.gaps[0] <= exact.gap + 1e-6
        assert found.gaps[0] == pytest.approx(exact.gap, abs=0.03)
        assert found.aucs[0] == pytest.approx(exact.auc, abs=0.02)


def test_people_of_one_score_whose_order_is_kept_stand_at_one_place():
    """A block that keeps the order of scores holds one score here: nobody in it may be taken to be spread out."""
    scores, y, g = few_scores(3, 2)
    people = read_people(scores, y, sensitive_features=g)
    fitted = fit_quietly(people, Options.checked(epsilon=0.01, draw="never", promise="fitted"), salt=1)
    assert fitted.model.kernels
    bins = bins_of(people.thin.curves, people.thin.shares, people.class_sizes())
    for kernel in fitted.model.kernels:
        taken = selected(kernel, bins)
        assert set(np.unique(taken)) <= {0.0, 1.0}
