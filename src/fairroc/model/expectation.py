"""What a fitted model does to any people, those it was not fitted on included: exact, over the draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.core.kernel import Kernel
from fairroc.core.realised import Walk, all_points, walk
from fairroc.errors import UnknownGroupError
from fairroc.model.model import ModelData
from fairroc.people.counts import ScoreCounts
from fairroc.people.factorise import code_dtype
from fairroc.people.people import People, Population, measure
from fairroc.people.rows import Columns

__all__ = ["expected_columns", "expected_walks", "treated"]


def expected_columns(model: ModelData, columns: Columns, *, on_unknown_group: str | None = None) -> Columns:
    """The fair score of these people in expectation over the draw, as rows with weights.

    ``columns`` holds the original scores. What comes back has the same groups with the expected (fpr, tpr) of the fair
    score at every threshold where some group's curve bends, and the same total weight of each label; its scores are
    ranks. So whatever is measured on rows with weights (a gap, an AUC) is measured exactly, and nothing is drawn.
    """
    if model.unchanged:
        return columns
    people, walks = expected_walks(model, columns, on_unknown_group=on_unknown_group)
    fpr, tpr = all_points(walks)
    mass = np.ones(columns.rows) if columns.weights is None else columns.weights
    negatives = _steps(fpr) * people.weights0 * float(mass[~columns.labels].sum())
    positives = _steps(tpr) * people.weights1 * float(mass[columns.labels].sum())
    return _rows(negatives, positives, columns.names)


def expected_walks(
    model: ModelData, columns: Columns, *, on_unknown_group: str | None = None
) -> tuple[Population, tuple[Walk, ...]]:
    """These people and their way through a model that changes the score: exact rates at every place of its scale."""
    people, kernels = treated(model, columns, on_unknown_group=on_unknown_group)
    exact = people.exact
    return exact, tuple(walk(curve, kernel) for curve, kernel in zip(exact.curves, kernels, strict=True))


def treated(
    model: ModelData, columns: Columns | ScoreCounts, *, on_unknown_group: str | None = None
) -> tuple[People, tuple[Kernel, ...]]:
    """These people as a model that changes the score sees them, and every group's kernel."""
    kernels = tuple(model.kernels[_treated_as(model, name, on_unknown_group)] for name in columns.names)
    return measure(_not_below(columns, kernels)), kernels


def _treated_as(model: ModelData, name: str, on_unknown_group: str | None) -> int:
    """Number of the fitted group whose kernel a group gets."""
    for known in (name, on_unknown_group):
        if known in model.names:
            return model.names.index(known)
    groups = ", ".join(repr(known) for known in model.names[:5])
    raise UnknownGroupError(
        f"the model knows the groups {groups}; {name!r} came. Fit again with it, or say in on_unknown_group= whose "
        "treatment it shall get."
    )


def _not_below(columns: Columns | ScoreCounts, kernels: tuple[Kernel, ...]) -> Columns | ScoreCounts:
    """The same people with scores below all fitted ones of their group at the lowest: they are treated like it."""
    if isinstance(columns, ScoreCounts):
        lowest = [kernel.thresholds[-1] for kernel in kernels]
        return columns.recounted([np.maximum(part, low) for part, low in zip(columns.scores, lowest, strict=True)])
    scores = columns.scores.copy()
    for g, kernel in enumerate(kernels):
        rows = columns.group_rows(g)
        scores[rows] = np.maximum(scores[rows], kernel.thresholds[-1])
    return replace(columns, scores=scores)


def _steps(rates: FloatArray) -> FloatArray:
    """(points, groups) what each point adds to the one before."""
    return np.maximum(np.diff(rates, axis=0, prepend=0.0), 0.0)


def _rows(negatives: FloatArray, positives: FloatArray, names: tuple[str, ...]) -> Columns:
    """One row for each point, group and label that gains weight; the first point has the highest score."""
    parts = [np.nonzero(weights) for weights in (negatives, positives)]
    point = np.concatenate([part[0] for part in parts])
    return Columns(
        scores=-point.astype(np.float64),
        labels=np.repeat([False, True], [len(part[0]) for part in parts]),
        groups=np.concatenate([part[1] for part in parts]).astype(code_dtype(len(names))),
        names=names,
        weights=np.concatenate((negatives[parts[0]], positives[parts[1]])),
    )
