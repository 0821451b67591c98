"""The door: whatever holds scores, labels and groups becomes `People`. What is kept is copied or sorted, so that
callers may use their arrays again."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairroc.options import Missing
from fairroc.people.counts import ScoreCounts
from fairroc.people.factorise import as_column
from fairroc.people.people import People, both_labels
from fairroc.people.rows import Columns, read_columns
from fairroc.people.sample import CountedSample, thin_points
from fairroc.people.sorting import packing, sorted_rows
from fairroc.people.tally_sample import tally_rows
from fairroc.people.tensors import is_tensor
from fairroc.people.weighted import WeightedRows

__all__ = ["people_of", "read_people"]


def read_people(
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
    missing: Missing = "error",
    whole: bool = True,
    in_order: bool = False,
) -> People:
    """Check the columns to fit on or to audit, and sort them. O(n) for most scores, O(n log n) at worst.

    Rows that are not the ``whole`` of a table may lack a label or a group; without any labels (``y=None``) all count
    as negatives. With ``in_order`` rows without weights keep their order too, for sums that are taken row by row.

    >>> people = read_people([0.1, 0.9, 0.4, 0.2], [0, 1, 1, 0], sensitive_features=["b", "a", "b", "a"])
    >>> people.names, people.class_rows().tolist()
    (('a', 'b'), [[1, 1], [1, 1]])
    """
    if y is None and not whole:
        y, pos_label = np.zeros(len(as_column(scores, "scores")), dtype=np.int8), None
    how = {"sample_weight": sample_weight, "pos_label": pos_label, "missing": missing}
    if is_tensor(scores):
        counts = ScoreCounts.from_rows(scores, y, sensitive_features=sensitive_features, **how)
        return counts.people(whole=whole)
    columns = read_columns(scores, y, sensitive_features=sensitive_features, **how, whole=whole)
    people = people_of(columns, in_order=in_order)
    return both_labels(people) if whole else people


def people_of(columns: Columns, *, in_order: bool = False) -> People:
    """People from checked columns."""
    count, points, weights = len(columns.names), thin_points(len(columns.names)), columns.weights
    if in_order and weights is None:
        weights = np.ones(len(columns.scores))
    pack = None if weights is not None else packing(columns.scores)
    if pack is not None:
        rows = sorted_rows(columns.scores, columns.labels, columns.groups, count, pack)
        samples = [CountedSample(part, pack, points=points) for part in rows]
        return People(columns.names, tuple(samples))
    each = [np.flatnonzero(columns.groups == g) for g in range(count)]
    if weights is None:
        tallies = [tally_rows(columns.scores[rows], columns.labels[rows], points) for rows in each]
        return People(columns.names, tuple(tallies))
    parts = [(columns.scores[rows], columns.labels[rows], weights[rows]) for rows in each]
    kept = tuple(WeightedRows(*part, points=points) for part in parts)
    return People(columns.names, kept, weighted=columns.weights is not None)
