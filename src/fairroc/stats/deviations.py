"""How far the gap of any score made from these people can be from the population's gap, whatever the score.

A kernel that is monotone in the score accepts, at any level, a mixture of events "score >= t". So a rate of the fair
score is off by no more than the rate of the original score is somewhere, and that holds for all such kernels at once:
for one that was fitted to these very people too, and for whichever of several was chosen. With D_g(t) the error of
group g's (fpr, tpr), the gap between g and h is off by at most

    max over d of  sup_t d.D_g(t) + sup_t -d.D_h(t),

where d runs over the corners of the dual norm's unit ball: (+-1, +-1) for norm 1, (+-1, 0) and (0, +-1) for norm inf.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.core.constraint import Constraint
from fairroc.stats.bands import Noise, group_pairs
from fairroc.stats.bootstrap import OVERSHOOT, errors, grid_of


def safe_reach(widths: FloatArray, constraint: Constraint) -> FloatArray:
    """(pairs,) from (groups, 2) half widths of bands that hold for all thresholds, groups and classes at once."""
    pairs = group_pairs(len(widths))
    both = widths[pairs[:, 0]] + widths[pairs[:, 1]]
    return constraint.length(both[:, 0], both[:, 1])


def sharp_reach(
    noises: Sequence[Noise], constraint: Constraint, *, draws: int, rng: np.random.Generator, confidence: float
) -> float:
    """The largest error of any two groups' distance that is exceeded with probability 1 - confidence, by multiplier
    bootstrap. O(draws m k)."""
    grid, pairs = grid_of(noises), group_pairs(len(noises))
    found = np.empty(draws)
    for part, error in errors(grid, draws, rng):
        lines = np.stack(constraint.corners(error[:, :, 0], error[:, :, 1]), axis=2)
        up, down = np.maximum(lines.max(axis=-1), 0.0), np.maximum(-lines.min(axis=-1), 0.0)
        g, h = pairs.T
        found[part] = np.maximum(up[:, g] + down[:, h], down[:, g] + up[:, h]).max(axis=(1, 2))
    steps = constraint.length(grid.hidden[:, 0], grid.hidden[:, 1])
    missed = OVERSHOOT * np.sqrt(steps.max(axis=-1))
    return float(np.quantile(found, confidence, method="higher") + np.sort(missed)[-2:].sum())
