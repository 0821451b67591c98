"""What a fitted model does to any people, those it was not fitted on included: exact, over the draw."""

from __future__ import annotations

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.core.kernel import Kernel
from fairroc.core.realised import RealisedRoc, all_points, realise
from fairroc.errors import UnknownGroupError
from fairroc.model.model import ModelData
from fairroc.people.people import People, Population
from fairroc.people.sample import thin_points
from fairroc.people.weighted import WeightedRows

__all__ = ["expected_people", "expected_rocs", "treated"]


def expected_people(model: ModelData, people: People, *, on_unknown_group: str | None = None) -> People:
    """The fair score of these people in expectation over the draw, as people with weights.

    ``people`` have the original scores. What comes back has the same groups with the expected (fpr, tpr) of the fair
    score at every threshold where some group's curve bends, and the same total weight of each label; its scores are
    ranks. So whatever is measured on people with weights (a gap, an AUC) is measured exactly, and nothing is drawn.
    """
    if model.unchanged:
        return people
    seen, realised = expected_rocs(model, people, on_unknown_group=on_unknown_group)
    fpr, tpr = all_points(realised)
    each = np.sum([sample.totals for sample in people.samples], axis=0)
    negatives, positives = _steps(fpr) * seen.weights0 * each[0], _steps(tpr) * seen.weights1 * each[1]
    points = thin_points(len(people.names))
    samples = [_rows(negatives[:, g], positives[:, g], points) for g in range(len(people.names))]
    return People(people.names, tuple(samples), weighted=True)


def expected_rocs(
    model: ModelData, people: People, *, on_unknown_group: str | None = None
) -> tuple[Population, tuple[RealisedRoc, ...]]:
    """These people and their way through a model that changes the score: exact rates at every place of its scale."""
    seen, kernels = treated(model, people, on_unknown_group=on_unknown_group)
    exact = seen.exact
    return exact, tuple(realise(curve, kernel) for curve, kernel in zip(exact.curves, kernels, strict=True))


def treated(
    model: ModelData, people: People, *, on_unknown_group: str | None = None
) -> tuple[People, tuple[Kernel, ...]]:
    """These people as a model that changes the score sees them, and every group's kernel.

    Scores below all fitted ones of their group are treated like the lowest.
    """
    kernels = tuple(model.kernels[_treated_as(model, name, on_unknown_group)] for name in people.names)
    return people.not_below([float(kernel.thresholds[-1]) for kernel in kernels]), kernels


def _treated_as(model: ModelData, name: str, on_unknown_group: str | None) -> int:
    """Number of the fitted group whose kernel a group gets."""
    for known in (name, on_unknown_group):
        if known in model.names:
            return model.names.index(known)
    groups = ", ".join(repr(known) for known in model.names[:5])
    raise UnknownGroupError(
        f"the model knows the groups {groups}, got {name!r}. Fit again with it, or say in on_unknown_group= whose "
        "treatment it shall get."
    )


def _steps(rates: FloatArray) -> FloatArray:
    """(points, groups) what each point adds to the one before."""
    return np.maximum(np.diff(rates, axis=0, prepend=0.0), 0.0)


def _rows(negatives: FloatArray, positives: FloatArray, points: int) -> WeightedRows:
    """One row for each point and label at which a group gains weight; the first point has the highest score."""
    used = [np.flatnonzero(weights) for weights in (negatives, positives)]
    return WeightedRows(
        scores=-np.concatenate(used).astype(np.float64),
        labels=np.repeat([False, True], [len(at) for at in used]),
        weights=np.concatenate((negatives[used[0]], positives[used[1]])),
        points=points,
    )
