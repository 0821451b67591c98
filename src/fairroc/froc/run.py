"""The paper's own objects on data: Algorithm 1, its diagnostics, and a randomised classifier for every threshold.

`FairROC(method="froc")` makes one fair score out of Algorithm 1. This module is for readers of the paper, who want the
moved points and ConstructClassifier as printed, with any thresholds, both mixtures and both ways to chain several
groups. The classifiers of the k thresholds are in general no score (docs/froc.md shows why). `algorithm_1`,
`triangle_mixture` and `neighbour_mixture` are the same steps on bare arrays of queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray
from fairroc.core.roc import all_thresholds
from fairroc.errors import DataError
from fairroc.froc.algorithm import Crossing, Froc, Pairs, Shift, algorithm_1, froc, query_grid
from fairroc.froc.diagnostics import Diagnostics, diagnose
from fairroc.froc.index import check_index
from fairroc.froc.mixture import Mixture, neighbour_mixture, triangle_mixture
from fairroc.model import draw
from fairroc.options import FROC_QUERIES, Missing, Options
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc.people.rows import read_scores

__all__ = [
    "Diagnostics",
    "Froc",
    "FrocRun",
    "Mixture",
    "Shift",
    "algorithm_1",
    "neighbour_mixture",
    "query_grid",
    "run_froc",
    "triangle_mixture",
]

Construction: TypeAlias = Literal["triangle", "neighbours"]


@dataclass(frozen=True, slots=True, eq=False)
class FrocRun:
    """Algorithm 1 on data. Thresholds count from 1, the strictest first; groups are in the order of ``names``.

    ``moved`` has queries, moved points and shifts, ``diagnostics`` what they are worth, ``classifiers`` one mixture for
    each group that attains its moved points: row i - 1 is the classifier of threshold i.
    """

    names: tuple[str, ...]
    moved: Froc
    diagnostics: Diagnostics
    classifiers: tuple[Mixture, ...]
    missing: Missing = "error"

    def acceptance(self, scores: Any, *, sensitive_features: Any, index: int) -> FloatArray:
        """(n,) probability that the classifier of a threshold accepts each row; nothing is drawn."""
        rows = read_scores(scores, sensitive_features=sensitive_features, names=self.names, missing=self.missing)
        check_index(index, len(self.moved.thresholds))
        accepted = np.zeros(len(rows.scores))
        for g, classifier in enumerate(self.classifiers):
            mine = rows.groups == g
            accepted[mine] = classifier.acceptance_at(rows.scores[mine], index - 1)
        return accepted

    def decide(self, scores: Any, *, sensitive_features: Any, index: int, random_state: Any) -> BoolArray:
        """(n,) one simulated decision of the classifier of a threshold for each row."""
        chance = self.acceptance(scores, sensitive_features=sensitive_features, index=index)
        accepted: BoolArray = draw.uniforms_from_state(random_state, len(chance)) < chance
        return accepted


def run_froc(
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    epsilon: float,
    queries: Any = FROC_QUERIES,
    pairs: Pairs = "neighbours",
    crossing: Crossing = "segments",
    construction: Construction = "triangle",
    sample_weight: Any = None,
    pos_label: Any = None,
    missing: Missing = "error",
) -> FrocRun:
    """Algorithm 1 and ConstructClassifier on rows with a score, a label and a group.

    Parameters
    ----------
    epsilon : L1 radius of the norm sets.
    queries : how many equidistant thresholds over the range of the scores (those that decide alike count once), or the
        thresholds themselves: ``query_grid(k)`` has the paper's t_i = i / k.
    pairs : ``"neighbours"`` keeps neighbouring curves within epsilon, as the paper does; ``"all"`` gives each of them
        epsilon / (m - 1), so that all pairs of m groups are within epsilon wherever Algorithm 1's points are fair.
    crossing : ``"segments"`` cuts crossing curves where they cross, ``"area"`` moves those of larger area throughout.
    construction : ``"triangle"`` (section 3.3 and C2) or ``"neighbours"`` (the appendix).

    >>> run = run_froc([0.9, 0.8, 0.3, 0.1, 0.9, 0.6, 0.4, 0.2], [1, 1, 0, 0, 1, 0, 1, 0],
    ...                sensitive_features=list("aaaabbbb"), epsilon=0.2, queries=[0.8, 0.5, 0.2])
    >>> run.moved.points[0].round(2).tolist()
    [[0.0, 0.7], [0.5, 0.7], [0.8, 1.0]]
    >>> run.acceptance([0.9, 0.3], sensitive_features=["a", "a"], index=2).round(2).tolist()
    [0.7, 0.5]
    """
    people = read_people(
        scores,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        pos_label=pos_label,
        missing=missing,
    )
    for name, value, words in (
        ("pairs", pairs, get_args(Pairs)),
        ("crossing", crossing, get_args(Crossing)),
        ("construction", construction, get_args(Construction)),
    ):
        if value not in words:
            raise DataError(f"{name} must be {' or '.join(map(repr, words))}, got {value!r}.")
    listed = None if queries is None or isinstance(queries, Real) else queries
    options = Options.checked(epsilon=epsilon, method="froc", queries=queries if listed is None else None)
    curves = people.exact.curves
    grid = _thresholds(people, options, listed)
    moved = froc(curves, grid, options.epsilon, pairs=pairs, crossing=crossing)
    build = triangle_mixture if construction == "triangle" else neighbour_mixture
    return FrocRun(
        names=people.names,
        moved=moved,
        diagnostics=diagnose(moved, curves, options.queries if listed is None else None),
        classifiers=tuple(build(p, q, grid) for p, q in zip(moved.points, moved.queries, strict=True)),
        missing=missing,
    )


def _thresholds(people: People, options: Options, asked: Any) -> FloatArray:
    """Falling distinct thresholds: those asked for, or equidistant ones like a fit's."""
    if asked is None:
        assert options.queries is not None  # the paper's method always has some
        return all_thresholds(people.queried(options.queries).curves)[::-1].copy()
    try:
        grid = np.asarray(asked, dtype=np.float64)
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.ndim != 1 or not len(grid) or not np.isfinite(grid).all():
        raise DataError(
            "queries must be a whole number or a list of finite thresholds; pass for example queries=100 or "
            "queries=query_grid(100)."
        )
    return np.unique(grid)[::-1].copy()
