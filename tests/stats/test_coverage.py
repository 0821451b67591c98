"""Intervals and bands hold the population's values as often as they say."""

from __future__ import annotations

import pytest

from fairroc_studies.questions.coverage import SCENARIOS, Scenario, coverage

NAMES = [scenario.name for scenario in SCENARIOS]
PROMISED = ("gap, dkw", "gap, bootstrap", "bands, dkw", "bands, bootstrap", "auc")


def assert_covered(scenario: Scenario, repetitions: int, least: float) -> None:
    found = coverage(scenario, repetitions, naive=False)
    told = {name: share for name, share in found.items() if name in PROMISED}
    assert len(told) >= 2
    assert min(told.values()) >= least, found
    if "width, dkw" in found:
        assert found["width, bootstrap"] < 0.7 * found["width, dkw"]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
def test_a_thousand_repetitions(scenario: Scenario) -> None:
    assert_covered(scenario, 1000, 0.93)


@pytest.mark.parametrize("number", [0, 5, 8])
def test_a_hundred_repetitions(number: int) -> None:
    """At 95 %, fewer than 89 of 100 repetitions hold less than once in a hundred times."""
    assert_covered(SCENARIOS[number], 100, 0.89)


def test_the_textbook_percentile_interval_does_not_cover() -> None:
    """Why the bootstrap is made otherwise: where the curves are the same, the gap of resampled rows is never 0."""
    assert coverage(SCENARIOS[0], 20)["gap, percentile"] == 0.0
