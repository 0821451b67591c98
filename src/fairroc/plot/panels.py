"""A fit in two panels: ROC curves of all groups before and after, on the people fitted."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from fairroc.core.chain import FloatArray, area
from fairroc.core.constraint import lp_norm
from fairroc.core.gap import threshold_gap
from fairroc.core.realised import all_points
from fairroc.core.roc import all_thresholds, pooled_share, rates_at
from fairroc.fitting.fit import Fitted
from fairroc.plot import require_matplotlib
from fairroc.plot.palette import CHANCE
from fairroc.plot.style import labels, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKED_SHARES = (0.03, 0.07, 0.12, 0.2, 0.3, 0.4, 0.55, 0.7)
"""Thresholds to mark: those that select these shares of all people."""


def before_after(fitted: Fitted) -> Figure:
    """ROC curves of all groups before and after; dots joined by a line share one threshold.

    The curves after are exact expectations over the draw on the fitted people. The same thresholds are marked in both
    panels (they select the same shares of all people), and the widest gap over all thresholds in black.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.9), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    p = fitted.model.constraint.p
    thresholds = _marked_thresholds(fitted)
    raw = fitted.raw.curves
    gap = threshold_gap(raw, p)
    marked = [np.stack(rates_at(curve, thresholds), axis=1) for curve in raw]
    widest = [np.stack(rates_at(raw[g], np.array([gap.threshold])), axis=1) for g in gap.pair]
    before = [np.stack((c.fpr, c.tpr), axis=1) for c in raw], marked, widest, gap.value
    _panel(left, fitted, *before)
    left.set_title("Before: the original score", loc="left", fontweight="bold")
    left.set_ylabel("true positive rate")
    _panel(right, fitted, *(before if fitted.model.unchanged else _after(fitted, thresholds, p)))
    right.set_title(f"After: the fair score, ε = {fitted.model.epsilon:g}", loc="left", fontweight="bold")
    figure.supxlabel("Dots joined by a line share one threshold.", fontsize=10, color="0.35")
    return figure


def _marked_thresholds(fitted: Fitted) -> FloatArray:
    """Thresholds that select given shares of all people."""
    raw = fitted.raw
    scores = all_thresholds(raw.curves)[::-1]
    selected = pooled_share(raw.curves, raw.shares, scores)
    return np.array(scores[np.minimum(np.searchsorted(selected, MARKED_SHARES), len(scores) - 1)])


def _after(
    fitted: Fitted, thresholds: FloatArray, p: float
) -> tuple[list[FloatArray], list[FloatArray], list[FloatArray], float]:
    """The fair score's curves, its points at the thresholds, the two points of its widest gap, and that gap."""
    scale = fitted.model.scale
    assert scale is not None  # an unchanged score has no such picture
    walks = fitted.walks
    fpr, tpr = all_points(walks)
    curves = [np.stack((fpr[:, g], tpr[:, g]), axis=1) for g in range(len(walks))]
    pairs = list(combinations(range(len(curves)), 2))
    between = [curves[g] - curves[h] for g, h in pairs]
    distances = [lp_norm(d[:, 0], d[:, 1], p) for d in between]
    best = int(np.argmax([distance.max() for distance in distances]))
    place = int(distances[best].argmax())
    at = np.maximum(scale.to_place(np.asarray(thresholds)), 0.0)
    widest = [curves[g][place : place + 1] for g in pairs[best]]
    return curves, [w.at(at)[:, :2] for w in walks], widest, float(distances[best][place])


def _panel(
    axes: Axes,
    fitted: Fitted,
    curves: list[FloatArray],
    marked: list[FloatArray],
    widest: list[FloatArray],
    gap: float,
) -> None:
    """One panel: curves, dots at the marked thresholds joined across groups, the widest gap with its size."""
    axes.plot([0, 1], [0, 1], color=CHANCE, linewidth=1, zorder=0)
    for points in np.stack(marked, axis=1):
        axes.plot(points[:, 0], points[:, 1], color="0.55", linewidth=1, marker=".", markersize=5, zorder=3)
    for g, (points, name) in enumerate(zip(curves, labels(fitted.model.names), strict=True)):
        fpr, tpr = points.T
        axes.plot(fpr, tpr, linewidth=1.8, label=f"{name} ({area(fpr, tpr):.3f})", **look(g))
    ends = np.concatenate(widest)
    axes.plot(ends[:, 0], ends[:, 1], color="black", linewidth=1.5, marker="o", markersize=5, zorder=5)
    axes.annotate(
        f"widest gap at\none threshold: {gap:.2f}",
        xy=tuple(ends.mean(axis=0)),
        xytext=(0.42, 0.42),
        arrowprops={"arrowstyle": "-", "color": "0.5", "linewidth": 0.8},
        fontsize=10,
    )
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="false positive rate")
    axes.set_box_aspect(1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False, title="group (AUC)")
