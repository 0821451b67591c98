"""A short memory of one group's scores: counts in bins, enough to tell later whether scores moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import FloatArray, IntArray, freeze
from fairroc.core.roc import RocCurve
from fairroc.people.people import Sample
from fairroc.stats.bootstrap import even_steps

PARTS, PEOPLE = 64, 10
"""Even parts that the bins cut each label's scores into, or fewer, so that each holds about so many people or more: the
model file is no list of its people. With large ties by themselves there are at most 4 * PARTS bins."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The scores of one group's fitted people.

    Attributes
    ----------
    edges : (B,) rising. Bin b holds ``edges[b] <= score < edges[b + 1]``, the last one those up to ``highest``;
        ``edges[0]`` is the lowest score.
    highest : the highest score.
    counts : (B, 2) negatives and positives in each bin: rows, or their weight.
    sizes : (2,) effective sample size by label: the number of rows without weights.
    auc, fair_auc : of the original and of the fair score, within the group.
    """

    edges: FloatArray
    highest: float
    counts: FloatArray
    sizes: FloatArray
    auc: float
    fair_auc: float

    def __post_init__(self) -> None:
        freeze(self.edges, self.counts, self.sizes)

    @property
    def borders(self) -> FloatArray:
        """(B + 1,) the edges, and the smallest number above the highest score."""
        return np.append(self.edges, np.nextafter(self.highest, np.inf))

    @property
    def padded(self) -> FloatArray:
        """(B + 2, 2) the fitted counts: nobody below the lowest score, nobody above the highest."""
        return np.pad(self.counts, ((1, 1), (0, 0)))


def reference_of(sample: Sample, sizes: FloatArray | None, fair_auc: float | None) -> Reference:
    """The reference of a group; ``sizes`` where rows are weighted, ``fair_auc`` where the score is changed."""
    curve, totals = sample.thin, np.array(sample.totals)
    index = _cuts(curve, totals if sizes is None else sizes)
    rates = np.stack((curve.fpr[index], curve.tpr[index]), axis=1)
    counts = np.diff(rates, axis=0)[::-1] * totals
    return Reference(
        edges=curve.thresholds[index[:0:-1] - 1].copy(),
        highest=sample.highest,
        counts=np.rint(counts) if sizes is None else counts,
        sizes=totals if sizes is None else sizes,
        auc=curve.auc,
        fair_auc=curve.auc if fair_auc is None else fair_auc,
    )


def _cuts(curve: RocCurve, sizes: FloatArray) -> IntArray:
    """Indices of the curve's points, first and last included, that cut both labels' scores into even parts."""
    parts = np.clip(sizes // PEOPLE, 1, PARTS).astype(int).tolist()
    inner = [even_steps(rate, part) for rate, part in zip((curve.fpr, curve.tpr), parts, strict=True)]
    found = np.unique(np.concatenate((*inner, [len(curve.thresholds)])))
    people = curve.fpr[found] * sizes[0] + curve.tpr[found] * sizes[1]
    kept, before = [0], 0.0
    for index, accepted in zip(found.tolist(), people.tolist(), strict=True):
        if accepted - before >= PEOPLE:
            kept, before = [*kept, index], accepted
    return np.array([*(kept[:-1] if len(kept) > 1 else kept), len(curve.thresholds)])
