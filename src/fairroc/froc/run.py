"""The paper's own objects on data: Algorithm 1, its diagnostics, and a randomised classifier for every threshold.

`FairROC(method="froc")` makes one fair score out of Algorithm 1. This module is for readers of the paper, who want the
moved points and ConstructClassifier as printed, with any thresholds, both mixtures and both ways to chain several
groups. The classifiers of the k thresholds are in general no score (docs/explanation/froc.md shows why). `algorithm_1`,
`triangle_mixture` and `neighbour_mixture` are the same steps on bare arrays of queries.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray
from fairroc.core.roc import all_thresholds
from fairroc.docstrings import RUN, documented
from fairroc.errors import DataError
from fairroc.froc.algorithm import Crossing, Froc, Pairs, Shift, froc, paper_run
from fairroc.froc.diagnostics import Diagnostics, diagnose
from fairroc.froc.geometry import cut_shift, join
from fairroc.froc.mixture import Mixture, neighbour_mixture, triangle_mixture
from fairroc.model import draw
from fairroc.options import FROC_QUERIES, Missing, Options
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc.people.rows import read_scores
from fairroc.summary import Result

WORDS = {
    Shift.FIXED: "not moved: the lowest curve here",
    Shift.END: "end point, fair already: kept",
    Shift.CUT_LEFT: "CutShift to the left cut",
    Shift.CUT_RIGHT: "CutShift to the right cut",
    Shift.CUT_ONLY: "CutShift to the only cut",
    Shift.CUT_NEAREST: "CutShift to the nearest of several cuts",
    Shift.HYPOGRAPH: "under the lower curve: kept",
    Shift.INSIDE: "upper curve inside the norm set: kept",
    Shift.UP: "UpShift to U",
    Shift.LEFT: "LeftShift to L",
}

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class FrocIndex:
    """One query of Algorithm 1. Points are (fpr, tpr); ``index`` counts from 1, the strictest threshold first.

    ``query`` of the upper group moves to ``point``, towards ``partner``: the lower group's query, moved before if the
    lower group is not the lowest of all. ``cuts`` are those of the upper curve with the norm boundary, ``gap_before``
    and ``gap`` the distance to the partner.
    """

    index: int
    queries: int
    threshold: float
    epsilon: float
    upper: str
    lower: str
    query: Point
    partner: Point
    point: Point
    cuts: tuple[Point, ...]
    shift: str
    clipped: bool
    projected: bool
    gap_before: float
    gap: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def paper_run_on(people: People, *, epsilon: float, queries: int | None = None) -> Froc:
    """Algorithm 1 on people, at equidistant thresholds over the range of the scores."""
    options = Options.checked(epsilon=epsilon, method="froc", queries=queries)
    assert options.queries is not None  # the paper's method always has some
    return paper_run(people.queried(options.queries).curves, options.epsilon)


def check_index(index: Any, count: int) -> None:
    """Raise unless an index is one of ``count`` thresholds, counted from 1."""
    if isinstance(index, bool) or not isinstance(index, Integral) or not 1 <= int(index) <= count:
        raise DataError(
            f"index must lie from 1 (the strictest threshold) to {count}, the number of distinct queries, "
            f"got {index!r}. Take another index, or more queries."
        )


def moving_group(done: Froc, names: tuple[str, ...], index: int, upper: str | None = None) -> int:
    """The group whose move to look at: the one named, or the one that moves farthest at an index (from 1)."""
    check_index(index, len(done.thresholds))
    lowest = int(done.order[index - 1, 0])
    if upper is None:
        way = np.abs(done.points[:, index - 1] - done.queries[:, index - 1]).sum(axis=1)
        way[lowest] = -1.0
        return int(way.argmax())
    if upper not in names:
        known = ", ".join(repr(name) for name in names[:5])
        raise DataError(f"upper must be a group of the data, got {upper!r}. Name one of {known}.")
    if names.index(upper) == lowest:
        raise DataError(
            f"upper must be a group that moves, but '{upper}' has the lowest curve at query {index} and stays. Name "
            "another group or another index."
        )
    return names.index(upper)


def froc_index(done: Froc, names: tuple[str, ...], group: int, index: int) -> FrocIndex:
    """What happens to a group's query at an index (from 1)."""
    i = index - 1
    below = int(done.below[group, i])
    query, partner, point = done.queries[group, i], done.points[below, i], done.points[group, i]
    cuts = cut_shift(join(done.queries[group]), partner[None], done.step).points
    return FrocIndex(
        index=index,
        queries=len(done.thresholds),
        threshold=float(done.thresholds[i]),
        epsilon=done.epsilon,
        upper=names[group],
        lower=names[below],
        query=_point(query),
        partner=_point(partner),
        point=_point(point),
        cuts=tuple(_point(cut) for cut in cuts),
        shift=WORDS[Shift(int(done.shift[group, i]))],
        clipped=bool(done.clipped[group, i]),
        projected=bool(done.projected[group, i]),
        gap_before=float(np.abs(query - partner).sum()),
        gap=float(np.abs(point - partner).sum()),
    )


def _point(rates: FloatArray) -> Point:
    return float(rates[0]), float(rates[1])


Construction: TypeAlias = Literal["triangle", "neighbours"]


@documented(setup=RUN, raises="DataError, UnknownGroupError")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrocRun(Result):
    """Algorithm 1 on data. Thresholds count from 1, the strictest first; groups are in the order of ``names``.

    ``moved`` has queries, moved points and shifts, ``diagnostics`` what they are worth, ``classifiers`` one mixture for
    each group that attains its moved points: row i - 1 is the classifier of threshold i.

    >>> run.names, len(run.classifiers)
    (('f', 'm'), 2)
    """

    names: tuple[str, ...]
    moved: Froc
    diagnostics: Diagnostics
    classifiers: tuple[Mixture, ...]
    missing: Missing = "error"

    def acceptance(self, scores: Any, *, sensitive_features: Any, index: int) -> FloatArray:
        """(n,) probability that the classifier of a threshold selects each row; nothing is drawn.

        >>> run.acceptance(scores[:2], sensitive_features=sex[:2], index=40).shape
        (2,)
        """
        rows = read_scores(scores, sensitive_features=sensitive_features, names=self.names, missing=self.missing)
        check_index(index, len(self.moved.thresholds))
        accepted = np.zeros(len(rows.scores))
        for g, classifier in enumerate(self.classifiers):
            mine = rows.groups == g
            accepted[mine] = classifier.acceptance_at(rows.scores[mine], index - 1)
        return accepted

    def decide(self, scores: Any, *, sensitive_features: Any, index: int, random_state: Any) -> BoolArray:
        """(n,) one simulated decision of the classifier of a threshold for each row.

        >>> run.decide(scores[:2], sensitive_features=sex[:2], index=40, random_state=0).shape
        (2,)
        """
        chance = self.acceptance(scores, sensitive_features=sensitive_features, index=index)
        accepted: BoolArray = draw.uniforms_from_state(random_state, len(chance)) < chance
        return accepted


@documented()
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

    Returns: FrocRun: the moved points, what they are worth, and classifiers that attain them.
    Raises: DataError

    >>> run = run_froc([0.9, 0.8, 0.3, 0.1, 0.9, 0.6, 0.4, 0.2], [1, 1, 0, 0, 1, 0, 1, 0],
    ...                sensitive_features=list("aaaabbbb"), epsilon=0.2, queries=[0.8, 0.5, 0.2])
    >>> run.moved.points[0].round(2).tolist()
    [[0.0, 0.7], [0.5, 0.7], [0.8, 1.0]]
    >>> run.acceptance([0.9, 0.3], sensitive_features=["a", "a"], index=2).round(2).tolist()
    [0.7, 0.5]
    """
    known = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "pos_label": pos_label}
    people = read_people(scores, y, **known, missing=missing)
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
