"""Count tensors by group, label and score on their device; only distinct scores or bins come to the host."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.doubles import BELOW
from fairroc.people.tensors import Tensor, TensorRows, load_torch

__all__ = ["binned_cells", "exact_cells"]

MOST_BINS = 1 << 24
"""Bins of one group and label within this range are counted in a table, others sorted."""

Cells = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


def exact_cells(rows: TensorRows) -> list[Cells]:
    """For every group: rising distinct scores, negatives and positives at each. One sort for each group and label."""
    torch = load_torch()
    found = []
    for group in range(len(rows.names)):
        parts = [torch.unique(part, return_counts=True) for part in _classes(rows, group)]
        scores, (negatives, positives) = _together(parts)
        found.append((_host(scores), _host(negatives), _host(positives)))
    return found


def binned_cells(rows: TensorRows, bits: int) -> list[tuple[Cells, NDArray[np.bool_]]]:
    """For every group: lower edges of bins, negatives and positives in each, and whether a bin holds other scores than
    its edge. See :func:`fairroc.people.counts.bin_edges`; nothing is sorted but bins far apart."""
    torch, drop = load_torch(), 64 - bits
    found = []
    for group in range(len(rows.names)):
        both, others = [], []
        for part in _classes(rows, group):
            rank = _rank(part)
            both.append(_distinct(rank >> drop))
            others.append(_distinct((rank >> drop)[(rank & ((1 << drop) - 1)) != 0])[0])
        bins, (negatives, positives) = _together(both)
        spread = torch.isin(bins, torch.cat(others))
        cells = (_host(_with_rank(bins << drop)), _host(negatives), _host(positives))
        found.append((cells, _host(spread)))
    return found


def _classes(rows: TensorRows, group: int) -> list[Tensor]:
    """Scores of a group's negatives and positives; -0.0 is 0.0."""
    mine = rows.groups == group
    return [rows.scores[mine & ~rows.labels] + 0.0, rows.scores[mine & rows.labels] + 0.0]


def _together(parts: list[Any]) -> tuple[Tensor, list[Tensor]]:
    """Distinct values of both classes, and each class's count of each."""
    torch = load_torch()
    values = torch.unique(torch.cat([value for value, _ in parts]))
    counts = []
    for value, count in parts:
        whole = torch.zeros(len(values), dtype=torch.int64, device=values.device)
        whole[torch.searchsorted(values, value)] = count
        counts.append(whole)
    return values, counts


def _distinct(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Distinct whole numbers, rising, with the count of each."""
    torch = load_torch()
    if not len(numbers):
        return numbers, numbers
    low, high = (int(end) for end in torch.aminmax(numbers))
    if high - low >= MOST_BINS:
        values, counts = torch.unique(numbers, return_counts=True)
        return values, counts
    table = torch.bincount(numbers - low)
    used = torch.nonzero(table)[:, 0]
    return used + low, table[used]


def _rank(scores: Tensor) -> Tensor:
    """As :func:`fairroc.core.doubles.ranks`, without -0.0."""
    torch = load_torch()
    word = scores.view(torch.int64)
    return torch.where(word < 0, word ^ int(BELOW), word)


def _with_rank(rank: Tensor) -> Tensor:
    """As :func:`fairroc.core.doubles.with_ranks`."""
    torch = load_torch()
    return torch.where(rank < 0, rank ^ int(BELOW), rank).view(torch.float64) + 0.0


def _host(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.cpu().numpy()
    return array
