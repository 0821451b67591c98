"""Pictures of the paper's method. Nothing is shown or saved here: the caller gets a matplotlib figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairroc.froc.algorithm import Froc, Shift
from fairroc.froc.geometry import NormBoundary, cut_shift, join, norm_boundary, with_ends
from fairroc.froc.run import WORDS
from fairroc.plot.display import new_figure, tidy
from fairroc.plot.palette import GROUPS
from fairroc.text.words import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UP, DOWN, MOVE = GROUPS[0], GROUPS[1], GROUPS[2]


def geometry_figure(done: Froc, group: int, index: int, names: Sequence[str] | None = None) -> Figure:
    """One index of Algorithm 1: both curves, the norm boundary with its vertices, the cuts, and the shift chosen.

    Left the whole ROC square, right the surroundings of the norm boundary. ``group`` is the one that moves, ``index``
    counts from 0, ``names`` are those of all groups.
    """
    figure = new_figure(10, 5.4)
    whole, near = figure.subplots(1, 2)
    below = int(done.below[group, index])
    centre = done.points[below, index]
    boundary = norm_boundary(centre[None], done.step)
    for axes in (whole, near):
        _geometry(axes, done, group, below, index, boundary, close=axes is near)
    if names is not None:
        for line, g in zip(whole.get_lines(), (group, below), strict=False):
            line.set_label(f"{line.get_label()}: {short(names[g])}")
    whole.set(
        xlim=(-0.02, 1.02), ylim=(-0.02, min(max(1.02, centre[1] + done.step + 0.02), 1.2)), ylabel="true positive rate"
    )
    whole.set_title(f"Query {index + 1} of {len(done.thresholds)}, threshold {done.thresholds[index]:.3g}", loc="left")
    span = 1.25 * max(done.step, float(np.abs(done.points[group, index] - centre).max()), 1e-3)
    near.set(xlim=(centre[0] - span, centre[0] + span), ylim=(centre[1] - span, centre[1] + span))
    near.set_title(WORDS[Shift(int(done.shift[group, index]))], loc="left")
    whole.legend(loc="lower right", frameon=False)
    for axes in (whole, near):
        axes.set_xlabel("false positive rate")
        axes.set_box_aspect(1)
        tidy(axes)
    return figure


def _geometry(
    axes: Axes, done: Froc, group: int, below: int, index: int, boundary: NormBoundary, *, close: bool
) -> None:
    for points, colour, name, line in (
        (done.queries[group], UP, "upper curve", "-"),
        (done.lower_curve(group, index), DOWN, "lower curve", "--"),
    ):
        axes.plot(*with_ends(points).T, line, color=colour, linewidth=1.5, marker=".", markersize=4, label=name)
    rim = np.concatenate([boundary.up, boundary.right, boundary.down, boundary.left, boundary.up])
    axes.fill(*rim.T, color="0.9", zorder=0)
    axes.plot(*rim.T, color="0.4", linewidth=1.2, label="norm boundary")
    start, end, centre = done.queries[group, index], done.points[group, index], done.points[below, index]
    axes.plot(*centre, "s", color=DOWN, markersize=7, label="query of the lower curve", zorder=5)
    axes.plot(*start, "o", color=UP, markersize=8, label="query of the upper curve", zorder=5)
    ring: Any = {"color": MOVE, "markersize": 13, "markerfacecolor": "none", "markeredgewidth": 2.2}
    axes.plot(*end, "D", label="where it moves", zorder=7, **ring)
    cuts = cut_shift(join(done.queries[group]), centre[None], done.step).points
    label = "cuts" if len(cuts) else "_no cuts"
    axes.plot(*cuts.T, "x", color="black", markersize=7, markeredgewidth=2, label=label, zorder=8)
    if not close:
        arrow: Any = {"arrowstyle": "->", "color": MOVE, "linewidth": 1.8, "shrinkA": 5, "shrinkB": 8}
        axes.annotate("", xy=tuple(end), xytext=tuple(start), arrowprops=arrow, zorder=6)
    else:  # the start may lie outside this panel: a line is cut off there, an arrow is not
        axes.plot(*np.stack((start, end)).T, color=MOVE, linewidth=1.8, zorder=4)
        corners = boundary.up, boundary.right, boundary.down, boundary.left
        for name, corner, offset in zip("URDL", corners, ((0, 11), (16, -4), (0, -20), (-16, -4)), strict=True):
            axes.annotate(name, corner[0].tolist(), offset, textcoords="offset points", ha="center", fontweight="bold")
