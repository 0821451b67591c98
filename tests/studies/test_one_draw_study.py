"""Draws spread along the score: every one uniform, runs of neighbours even, and no better than labels allow."""

from __future__ import annotations

import numpy as np
import pytest

from fairroc_studies.harness.people import Part
from fairroc_studies.questions.one_draw import KINDS, independent, possible, spread, spread_by_label


def people(rows: int, seed: int = 3) -> Part:
    """Two groups, scores with ties, labels that go with the score."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random(rows), 2)
    return Part(scores, rng.random(rows) < scores, rng.integers(0, 2, rows), ("a", "b"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_is_uniform(kind: str) -> None:
    world, rng = people(12), np.random.default_rng(11)
    numbers = np.stack([KINDS[kind](world, np.ones(12, dtype=bool), rng) for _ in range(4000)])
    assert numbers.min() >= 0 and numbers.max() < 1
    grid = np.linspace(0, 1, 21)
    shares = (numbers[:, :, None] < grid).mean(axis=0)
    assert np.abs(shares - grid).max() < 4.5 * 0.5 / np.sqrt(4000)


@pytest.mark.parametrize("draw", [spread, spread_by_label])
def test_neighbours_cover_the_interval_evenly(draw: object) -> None:
    world, drawn = people(600), np.ones(600, dtype=bool)
    numbers = draw(world, drawn, np.random.default_rng(1))  # type: ignore[operator]
    cells = world.groups if draw is spread else world.cells
    for cell in np.unique(cells):
        rows = np.flatnonzero(cells == cell)
        values = np.unique(world.scores[rows])
        for low, high in zip(values[::9], values[9::9], strict=False):
            run = numbers[rows[(world.scores[rows] >= low) & (world.scores[rows] < high)]]
            for limit in (0.25, 0.5, 0.9):
                assert abs((run < limit).sum() - limit * len(run)) <= 2.5  # whatever the length of the run


def test_labels_limit_what_can_be_cut() -> None:
    """People accepted with one chance: the noise that stays is the labels', as the formula says."""
    world, drawn, rng = people(4000), np.ones(4000, dtype=bool), np.random.default_rng(2)

    def noise(draw: object) -> float:
        found = []
        for _ in range(300):
            accepted = world.summed(draw(world, drawn, rng) < 0.3) / world.totals  # type: ignore[operator]
            found.append(np.abs(accepted - 0.3).reshape(-1, 2).sum(axis=1).mean())
        return float(np.mean(found))

    alone = noise(independent)
    assert 1 - noise(spread) / alone == pytest.approx(possible(world, drawn), abs=0.06)
    assert 1 - noise(spread_by_label) / alone > 0.8
