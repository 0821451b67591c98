"""One index of the paper's Algorithm 1 on given data: which query moves where, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.errors import DataError
from fairroc.froc.algorithm import Froc, Shift, paper_run
from fairroc.froc.geometry import cut_shift, join
from fairroc.options import Options
from fairroc.people.people import People

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
