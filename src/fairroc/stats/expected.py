"""What a fair score does in populations that people may come from: gap and AUC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.core.constraint import Constraint, Rates
from fairroc.core.kernel import Kernel
from fairroc.core.portable import share_product, weighted
from fairroc.core.realised import chances
from fairroc.stats.bins import Bins
from fairroc.stats.posterior import Populations, Posterior

PLACES, ALL_PLACES = 2, 128
"""Places inside every level at which groups are compared, and in all levels together; at least so many."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Gap and AUC of a score over populations: means and standard deviations."""

    gap: float
    gap_deviation: float
    auc: float
    auc_deviation: float


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """(draws,) gap and AUC of a score in every population."""

    gaps: FloatArray
    aucs: FloatArray

    @property
    def expected(self) -> Expected:
        """Means and deviations."""
        numbers = [float(f) for x in (self.gaps, self.aucs) for f in (x.mean(), x.std(ddof=1))]
        return Expected(*numbers)


def figures(known: Posterior, among: Populations, kernels: Sequence[Kernel], constraint: Constraint) -> Figures:
    """What a fair score does in some populations; without kernels, the original score."""
    constraint = constraint.told()
    if kernels:
        rates = [share_product(among.masses[:, g], selected(kernel, known.bins)) for g, kernel in enumerate(kernels)]
    else:
        rates = list(np.cumsum(among.masses[..., ::-1], axis=-1).transpose(1, 0, 2, 3))
    fpr, tpr = np.stack(rates, axis=-1).transpose(1, 0, 2, 3)  # (draws, places, groups)
    gaps = constraint.measured(Rates(fpr, tpr, among.priors[:, None], known.shares)).max(axis=-1)
    zero = np.zeros((len(fpr), 1))
    x, y = (
        np.concatenate((zero, part), axis=1) for part in (weighted(fpr, known.weights0), weighted(tpr, known.weights1))
    )
    return Figures(gaps, (np.diff(x, axis=1) * (y[:, 1:] + y[:, :-1]) / 2).sum(axis=1))


def selected(kernel: Kernel, bins: Bins) -> FloatArray:
    """(k, places) probability that people of each bin are placed at or before each place: those of one score stand at
    one place where the kernel keeps their order."""
    levels = kernel.table.shape[1]
    each = max(PLACES, ALL_PLACES // levels)
    places = np.arange(1, each * levels + 1) / each
    parts = [chances(kernel, scores, places) for scores in bins.inside]
    return np.asarray(sum(parts) / len(parts))
