"""The gap at every threshold, before and after, with a simultaneous band: `GapDisplay`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, Frozen
from fairroc.core.constraint import Distance
from fairroc.docstrings import PEOPLE, documented
from fairroc.plot.display import STYLES, AuditedDisplay, allowed_words, legend, thin_peaks, tidy
from fairroc.plot.palette import GROUPS
from fairroc.plot.source import BeforeAfter, Shown, Widths, compared, selected_at
from fairroc.text.words import distance_words, where_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D


@dataclass(frozen=True, slots=True, eq=False)
class GapCurve(Frozen):
    """The largest distance of two groups at every threshold: of their (fpr, tpr), or of one rate.

    Attributes
    ----------
    thresholds : (k,) falling; people with ``score >= threshold`` are selected.
    gap : (k,) the distance there.
    low, high : (k,) a band that holds at all thresholds at once; None without one.
    steps : whether the gap between two thresholds is that of the higher one; else it runs straight.
    interval : of the largest gap, from the audit; None for the fair score of a model.
    counts : (k,) whether a threshold counts; None: all do.
    """

    thresholds: FloatArray
    gap: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    steps: bool
    interval: tuple[float, float] | None = None
    counts: BoolArray | None = None

    @property
    def largest(self) -> float:
        """The gap of an audit: the largest over all thresholds that count."""
        return float((self.gap if self.counts is None else self.gap[self.counts]).max(initial=0.0))

    @property
    def outside(self) -> list[tuple[float, float]]:
        """Stretches of thresholds that do not count."""
        if self.counts is None or self.counts.all():
            return []
        edges = np.flatnonzero(np.diff(np.concatenate(([True], self.counts, [True])).astype(np.int8)))
        ends = np.append(self.thresholds, self.thresholds[-1])
        return [(float(ends[last]), float(ends[max(first - 1, 0)])) for first, last in edges.reshape(-1, 2).tolist()]


@documented(setup=PEOPLE, raises="DataError, FairrocError")
@dataclass(eq=False, repr=False, kw_only=True)
class GapDisplay(AuditedDisplay):
    """How far apart the groups are at every threshold, before and after, with the allowed epsilon.

    Make it with `from_predictions` or `from_estimator`; both compute, draw, and return the Display.

    Parameters
    ----------
    before, after : the gap of the original score and of the fair score (None: there is none).
    epsilon : the allowed gap, drawn as a line; None: no line.
    distance : what is compared, for the words.
    confidence : level of the bands.

    Attributes
    ----------
    ax_, figure_ : the Axes drawn on, and its figure.
    line_ : list of one line for each score.
    band_ : list of bands, in the same order; empty where none are drawn.
    epsilon_line_ : the line at epsilon, or None.

    Notes
    -----
    Band: what groups inside their ROC bands (docs/guides/auditing.md) can have, threshold by threshold. It is wider
    than the audit's interval of the largest gap, which the legend gives in brackets, because it holds everywhere at
    once. With many groups the largest of many distances is seen.

    Examples
    --------
    >>> display = GapDisplay.from_predictions(scores, y, sensitive_features=sex, epsilon=0.1)
    >>> round(display.before.largest, 3), display.epsilon_line_.get_ydata()[0]
    (0.382, 0.1)
    """

    before: GapCurve
    after: GapCurve | None = None

    @staticmethod
    def _seen(shown: Shown, found: BeforeAfter) -> GapCurve:
        """The gap at all thresholds."""
        distance = found.distance
        thresholds, rates = shown.rates.everywhere()
        if shown.drawn and distance.where is not None:
            thresholds, rates = _with_ends(thresholds, rates, selected_at(rates, shown.people), distance.where)
        told = compared(rates, shown.people, distance)
        gap, (low, high) = largest_distances(told, distance), (None, None)
        if shown.reach is not None:
            low, high = gap_band(told, shown.reach, distance)
        sure = None if shown.drawn else shown.audit.gap_interval
        interval = None if sure is None or sure.gap is not None else sure.best  # of other thresholds than these
        counts = None if distance.where is None else distance.looks(selected_at(rates, shown.people))
        return GapCurve(thresholds, gap, low, high, steps=not shown.drawn, interval=interval, counts=counts)

    def plot(self, ax: Any = None, *, band: bool = True, **kwargs: Any) -> Self:
        """Draw; nothing is computed.

        Parameters
        ----------
        ax : Axes or None
            None makes a new figure.
        band : whether to draw the bands.
        **kwargs : for both gap lines, as in ``Axes.plot``.

        >>> GapDisplay.from_predictions(scores, y, sensitive_features=sex, bootstrap=0).plot(band=False).band_
        []
        """
        (axes,) = self._begin(ax, 1, (7, 4.4))
        self.band_: list[PolyCollection] = []
        self.epsilon_line_: Line2D | None = None
        self._draw(axes, "before", self.before, 1, band, kwargs)
        if self.after is not None:
            self._draw(axes, "after", self.after, 0, band, kwargs)
        if self.epsilon is not None:
            how = {"color": "black", "linewidth": 1, "linestyle": STYLES[2]}
            allowed = f"allowed: {allowed_words(self.epsilon, self.distance)}"
            self.epsilon_line_ = axes.axhline(self.epsilon, label=allowed, **how)
        for stretch in self.before.outside:
            axes.axvspan(*stretch, color="0.5", alpha=0.15, linewidth=0, zorder=0)
        what = "" if self.distance is None else f"\n({distance_words(self.distance)})"
        axes.set(xlabel="threshold (selected: score at least this)", ylabel=f"gap between groups{what}")
        axes.set_ylim(bottom=0)
        axes.margins(x=0.01)
        tidy(axes)
        where: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)} if self._own else {}
        titles = [f"shaded: {100 * self.confidence:g}% band, at all thresholds at once"] if self.band_ else []
        if self.before.outside and self.distance is not None:
            titles.append(f"grey: does not count (only{where_words(self.distance.where).removeprefix(',')})")
        legend(axes, small=not self._own, title="\n".join(titles) or None, **where)
        return self

    def _draw(self, axes: Axes, score: str, curve: GapCurve, colour: int, band: bool, kwargs: dict[str, Any]) -> None:
        drawn = [line for line in (curve.gap, curve.low, curve.high) if line is not None]
        kept = thin_peaks(drawn)[::-1]
        style = {"color": GROUPS[colour], "linestyle": STYLES[colour], "linewidth": 1.8}
        steps = {"drawstyle": "steps-pre"} if curve.steps else {}
        label = f"{score}: largest gap {curve.largest:.3f}"
        if curve.interval is not None:
            label += " ({:.3f} to {:.3f})".format(*curve.interval)
        how = {**style, **steps, "label": label, **kwargs}
        (line,) = axes.plot(curve.thresholds[kept], curve.gap[kept], **how)
        self.line_.append(line)
        if band and curve.low is not None and curve.high is not None:
            fill: dict[str, Any] = {"alpha": 0.15, "linewidth": 0, "zorder": 1, "step": "pre" if curve.steps else None}
            x, low, high = curve.thresholds[kept], curve.low[kept], curve.high[kept]
            self.band_.append(axes.fill_between(x, low, high, color=line.get_color(), **fill))


def _with_ends(
    thresholds: FloatArray, rates: FloatArray, selected: FloatArray, window: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """The lines of a fair score with points at the ends of a window, from after one step straight to the next."""
    for end in reversed(window):
        at = int(np.searchsorted(selected, end))
        if at % 2 == 0 and 0 < at < len(selected) and selected[at - 1] < end:
            share = (end - selected[at - 1]) / (selected[at] - selected[at - 1])
            score, rate = (x[..., at - 1] + share * (x[..., at] - x[..., at - 1]) for x in (thresholds, rates))
            thresholds, rates = np.insert(thresholds, at, score), np.insert(rates, at, rate, axis=2)
    return thresholds, rates


def largest_distances(rates: FloatArray, distance: Distance) -> FloatArray:
    """(k,) largest distance of two groups' points, from (groups, 2, k) rates that are compared."""
    found = np.zeros(rates.shape[2])
    for g, h in combinations(range(len(rates)), 2):
        np.maximum(found, distance.between(rates[g], rates[h]), out=found)
    return found


def gap_band(rates: FloatArray, widths: tuple[Widths, ...], distance: Distance) -> tuple[FloatArray, FloatArray]:
    """(k,) smallest and largest gap, threshold by threshold, of groups inside their ROC bands.

    ``rates`` is (groups, 2, k). The largest of each is the audit's interval of the gap for the same widths.

    >>> from fairroc.core.constraint import equalized_odds
    >>> low, high = gap_band(np.array([[[0.5], [0.9]], [[0.2], [0.9]]]), ((0.1, 0.1), (0.1, 0.1)), equalized_odds(1))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.1], [0.7])
    """
    half = np.array(widths)[:, :, None]
    ends = np.maximum(rates - half, 0.0), np.minimum(rates + half, 1.0)
    low, high = np.zeros(rates.shape[2]), np.zeros(rates.shape[2])
    for pair in combinations(range(len(rates)), 2):
        bounds = [end[g] for g in pair for end in ends]
        low, high = np.maximum(low, distance.nearest(*bounds)), np.maximum(high, distance.farthest(*bounds))
    return low, high
