"""ROC curves by group, before and after, with bands: `FairROCDisplay`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fairroc.core.chain import FloatArray, area
from fairroc.core.constraint import Distance, OneRate, Ratio
from fairroc.core.roc import Population, all_thresholds, pooled_share
from fairroc.docstrings import FITTED, PEOPLE, documented
from fairroc.errors import DataError
from fairroc.fitting.fit import Fitted
from fairroc.plot.display import (
    CROWD,
    ROOMY,
    AuditedDisplay,
    labels,
    legend,
    look,
    new_figure,
    square,
    thin_path,
    title_of,
    titled,
    which_scores,
)
from fairroc.plot.gap import largest_distances
from fairroc.plot.palette import CHANCE, require_matplotlib
from fairroc.plot.source import BeforeAfter, FairRates, RateLines, ScoreRates, Shown, Widths, compared, selected_at
from fairroc.stats.bands import group_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Polygon

MARKED_SHARES = (0.03, 0.07, 0.12, 0.2, 0.3, 0.4, 0.55, 0.7)
"""Thresholds that `before_after` marks: those that select these shares of all people."""

BANDED = 3
"""Bands of more groups hide each other and are drawn only where asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupCurve:
    """ROC curve of one group: points from (0, 0) to (1, 1), AUC, half widths (fpr, tpr) of the band."""

    group: str
    fpr: FloatArray
    tpr: FloatArray
    auc: float
    band: Widths | None = None


@documented(setup=PEOPLE, raises="DataError, FairrocError")
@dataclass(eq=False, repr=False, kw_only=True)
class FairROCDisplay(AuditedDisplay):
    """ROC curves of all groups, before and after, with simultaneous confidence bands.

    Make it with `from_predictions` or `from_estimator`; both compute, draw, and return the Display.

    Parameters
    ----------
    before, after : curves of the original score and of the fair score (None: there is none), one for each group.
    epsilon, distance : what the fair score was fitted with, for the title.
    confidence : level of the bands.

    Attributes
    ----------
    ax_, figure_, axes_ : the Axes drawn on (``axes_`` all, ``ax_`` the first) and their figure.
    line_ : list of lines, one for each score and group.
    band_ : list of bands, in the same order; empty where none are drawn.

    Notes
    -----
    At every threshold, in all groups and for both rates at once, the true point lies in its band at the level
    ``confidence``: docs/guides/auditing.md. The half widths of the original score hold for the expected curve of any
    score made from it by a draw in which a higher score never fares worse, and so for the fair score of a model. Where
    a group's people are treated by several rules (``use_group=False``, ``combine="each"``) the fair score has no bands.

    Examples
    --------
    >>> display = FairROCDisplay.from_predictions(scores, y, sensitive_features=sex)
    >>> [line.get_label() for line in display.line_]
    ['f (0.667)', 'm (0.768)']
    """

    before: Sequence[GroupCurve]
    after: Sequence[GroupCurve] | None = None

    def __post_init__(self) -> None:
        self.before = tuple(self.before)
        self.after = None if self.after is None else tuple(self.after)

    @staticmethod
    def _seen(shown: Shown, found: BeforeAfter) -> tuple[GroupCurve, ...]:
        """Every group's curve, AUC and band."""
        curves = []
        for g, name in enumerate(shown.names):
            fpr, tpr = shown.rates.curve(g)
            curves.append(GroupCurve(name, fpr, tpr, area(fpr, tpr), None if shown.widths is None else shown.widths[g]))
        return tuple(curves)

    def plot(
        self, ax: Any = None, *, which: str | None = None, band: bool | None = None, chance: bool = True, **kwargs: Any
    ) -> Self:
        """Draw; nothing is computed.

        Parameters
        ----------
        ax : Axes, two of them, or None
            None makes a new figure with one panel for each score. On a single Axes the fair score is drawn, if there
            is one, unless ``which`` says otherwise.
        which : "before", "after" or None
        band : whether to draw the bands; None: for up to three groups.
        chance : whether to draw the diagonal.
        **kwargs : for all curves, as in ``Axes.plot``.

        >>> FairROCDisplay.from_predictions(scores, y, sensitive_features=sex, bootstrap=0).plot(band=False).band_
        []
        """
        scores = which_scores(ax, which, after=self.after is not None)
        self.band_: list[Polygon] = []
        groups = len(self.before)
        banded = groups <= BANDED if band is None else band
        size = (5.0, 5.4) if groups <= CROWD else (5.0 + 2.9 / len(scores), 5.4)
        for axes, score in zip(self._begin(ax, len(scores), size), scores, strict=True):
            if chance:
                axes.plot([0, 1], [0, 1], color=CHANCE, linewidth=1, zorder=0, label="_chance")
            self._draw(axes, self._curves(score), banded, kwargs)
            square(axes)
            titled(axes, title_of(score, self.epsilon, self.distance))
        self.ax_.set_ylabel("true positive rate")
        self._explain(scores)
        return self

    def _curves(self, score: str) -> Sequence[GroupCurve]:
        return self.before if score == "before" or self.after is None else self.after

    def _explain(self, scores: Sequence[str]) -> None:
        """Legends: one in each panel, or one beside a crowd of groups."""
        groups = len(self.before)
        title = "group (AUC)" + (f", {100 * self.confidence:g}% bands" if self.band_ else "")
        if groups <= CROWD:
            for axes in self.axes_:
                banded = any(band.axes is axes for band in self.band_)
                own = title if banded else "group (AUC)"
                legend(axes, small=groups > ROOMY or not self._own, loc="lower right", title=own)
            return
        names = labels([curve.group for curve in self.before])
        aucs = zip(*([f"{curve.auc:.3f}" for curve in self._curves(score)] for score in scores), strict=True)
        words = [f"{name} ({' → '.join(each)})" for name, each in zip(names, aucs, strict=True)]
        beside: dict[str, Any] = {"handles": self.line_[:groups], "labels": words, "title": title}
        if self._own:
            legend(self.figure_, small=True, loc="outside right center", **beside)
        else:
            legend(self.axes_[-1], small=True, loc="upper left", bbox_to_anchor=(1.0, 1.0), **beside)

    def _draw(self, axes: Axes, curves: Sequence[GroupCurve], band: bool, kwargs: dict[str, Any]) -> None:
        names = labels([curve.group for curve in curves])
        for g, (curve, name) in enumerate(zip(curves, names, strict=True)):
            kept = thin_path(curve.fpr, curve.tpr)
            fpr, tpr = curve.fpr[kept], curve.tpr[kept]
            how = {"linewidth": 1.8, "label": f"{name} ({curve.auc:.3f})", **look(g), **kwargs}
            (line,) = axes.plot(fpr, tpr, **how)
            self.line_.append(line)
            if band and curve.band is not None:
                outline = band_outline(fpr, tpr, curve.band)
                self.band_ += axes.fill(*outline.T, color=line.get_color(), alpha=0.15, linewidth=0, zorder=1)


def band_outline(fpr: FloatArray, tpr: FloatArray, widths: Widths) -> FloatArray:
    """(n, 2) outline of all boxes of the given half widths around the points of a curve, inside the unit square.

    >>> band_outline(np.array([0.0, 1.0]), np.array([0.0, 1.0]), (0.25, 0.5)).tolist()
    [[0.0, 0.0], [0.0, 0.5], [0.75, 1.0], [1.0, 1.0], [1.0, 0.5], [0.25, 0.0]]
    """
    upper, lower = np.stack((fpr - widths[0], tpr + widths[1])), np.stack((fpr + widths[0], tpr - widths[1]))
    parts = ([[0.0, 0.0]], upper.T, [[1.0, 1.0]], lower.T[::-1])
    return np.clip(np.concatenate(parts), 0.0, 1.0)


# -- a fit in two panels -----------------------------------------------------------------------------------------------


@documented(setup=FITTED)
def before_after(fitted: Fitted) -> Figure:
    """ROC curves of all groups before and after; dots joined by a line share one threshold.

    The curves after are exact expectations over the draw on the fitted people. The same thresholds are marked in both
    panels (they select the same shares of all people), and the widest gap over all thresholds in black.

    Returns: matplotlib Figure: with two panels.
    Raises: FairrocError
    >>> len(before_after(post.fitted_).axes)
    2
    """
    require_matplotlib()
    if not isinstance(fitted, Fitted):
        raise DataError(
            "before_after draws fits whose model is told the groups that it compares. For use_group=False, "
            "combine='each' and control_features take FairROCDisplay.from_estimator."
        )
    figure = new_figure(10, 5.9)
    model, raw = fitted.model, fitted.raw
    scores = all_thresholds(raw.curves)[::-1]
    selected = pooled_share(raw.curves, raw.shares, scores)
    marked = scores[np.minimum(np.searchsorted(selected, MARKED_SHARES), len(scores) - 1)]
    before = ScoreRates(raw.curves)
    after = before if model.scale is None else FairRates(fitted.realised, model.scale)
    panels = zip(figure.subplots(1, 2, sharex=True, sharey=True), ("before", "after"), (before, after), strict=True)
    for axes, score, rates in panels:
        _panel(axes, model.names, rates, marked, raw, model.fairness)
        axes.set_title(title_of(score, model.epsilon, model.fairness), loc="left", fontweight="bold")
    figure.axes[0].set_ylabel("true positive rate")
    figure.supxlabel("Dots joined by a line share one threshold.", fontsize=10, color="0.35")
    return figure


def _panel(
    axes: Axes, names: Sequence[str], rates: RateLines, marked: FloatArray, people: Population, distance: Distance
) -> None:
    """One panel: curves, dots at the marked thresholds joined across groups, the widest gap with its size."""
    axes.plot([0, 1], [0, 1], color=CHANCE, linewidth=1, zorder=0)
    for points in rates.at(marked).transpose(2, 1, 0):
        axes.plot(*points, color="0.55", linewidth=1, marker=".", markersize=5, zorder=3)
    for g, name in enumerate(labels(names)):
        fpr, tpr = rates.curve(g)
        axes.plot(fpr, tpr, linewidth=1.8, label=f"{name} ({area(fpr, tpr):.3f})", **look(g))
    everywhere = rates.everywhere()[1]
    told = compared(everywhere, people, distance)
    apart = np.where(distance.looks(selected_at(everywhere, people)), largest_distances(told, distance), 0.0)
    at = [int(apart.argmax())]
    pairs = group_pairs(len(names)).tolist()
    ends = everywhere[:, :, at][max(pairs, key=lambda two: float(largest_distances(told[two][:, :, at], distance)[0]))]
    words = f"widest gap at\none threshold: {apart.max():.2f}"
    if isinstance(distance, OneRate):
        words = f"widest gap of the\n{distance.WORDS[distance.rate]}: {apart.max():.2f}"
    if isinstance(distance, Ratio):
        words = f"smallest ratio of the\n{distance.WORDS[distance.rate]}: {1 - apart.max():.2f}"
    axes.plot(*ends[:, :, 0].T, color="black", linewidth=1.5, marker="o", markersize=5, zorder=5)
    axes.annotate(
        words,
        xy=tuple(ends[:, :, 0].mean(axis=0)),
        xytext=(0.42, 0.42),
        arrowprops={"arrowstyle": "-", "color": "0.5", "linewidth": 0.8},
        fontsize=10,
    )
    square(axes)
    legend(axes, small=False, loc="lower right", title="group (AUC)")
