"""How scores are distributed in every group and label, before and after, and who maps to what: `ScoreDisplay`."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fairroc.auditing.audit import Settings
from fairroc.core.chain import FloatArray, Frozen
from fairroc.core.constraint import Distance
from fairroc.docstrings import PEOPLE, documented
from fairroc.errors import DataError
from fairroc.model.maps import ScoreMap, corners, score_maps
from fairroc.options import Missing
from fairroc.plot import source
from fairroc.plot.display import ROOMY, Display, labels, legend, look, thin_path, tidy, title_of, titled, which_scores
from fairroc.plot.palette import GROUPS, require_matplotlib
from fairroc.plot.source import BeforeAfter, RateLines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection

BINS = 40
"""Bins of the range of all scores; fewer where there are fewer different scores."""

HALF = 0.45
"""Height of the highest bin: the strips of two groups do not meet."""

SIDES = ((-1.0, GROUPS[0], "negatives, downwards"), (1.0, GROUPS[1], "positives, upwards"))


@dataclass(frozen=True, slots=True, eq=False)
class Histogram(Frozen):
    """Shares of people by score.

    Attributes
    ----------
    edges : (bins + 1,) rising; bin b holds ``edges[b] <= score < edges[b + 1]``, the last one its upper edge as well.
    shares : (groups, 2, bins) share of a group's negatives and positives in each bin; they add up to 1.
    """

    edges: FloatArray
    shares: FloatArray

    @property
    def density(self) -> FloatArray:
        """(groups, 2, bins) share divided by the bin's width."""
        return np.asarray(self.shares / np.diff(self.edges))


@documented(setup=PEOPLE, raises="DataError, FairrocError")
@dataclass(eq=False, repr=False, kw_only=True)
class ScoreDisplay(Display):
    """Distribution of the score in every group: positives upwards, negatives downwards; before and after. For a model
    that draws nobody also the map from the one to the other, a line for each group.

    Make it with `from_predictions` or `from_estimator`; both compute, draw, and return the Display.

    Parameters
    ----------
    names : of the groups.
    before, after : histograms of the original score and of the fair score (None: there is none).
    epsilon, distance : what the fair score was fitted with, for the title.
    maps : of the groups, where nobody is drawn.

    Attributes
    ----------
    ax_, figure_, axes_ : the Axes drawn on (``axes_`` all, ``ax_`` the first) and their figure.
    line_ : list of outlines: for each score and group that of the negatives, then that of the positives; then the maps.
    fill_ : list of filled areas, in the same order.

    Notes
    -----
    Every shape has its own highest bin as height: shapes can be compared, heights cannot.

    Examples
    --------
    >>> marks = (5 * scores).round()
    >>> display = ScoreDisplay.from_predictions(marks, y, sensitive_features=sex)
    >>> display.before.edges.tolist()
    [-0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    """

    names: tuple[str, ...]
    before: Histogram
    after: Histogram | None = None
    epsilon: float | None = None
    distance: Distance | None = None
    maps: tuple[ScoreMap, ...] = ()

    @classmethod
    def from_predictions(
        cls,
        scores: Any,
        y: Any,
        *,
        sensitive_features: Any,
        fair_scores: Any = None,
        bins: int = BINS,
        sample_weight: Any = None,
        pos_label: Any = None,
        missing: Missing = "error",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compute and draw from scores, labels and groups.

        >>> ScoreDisplay.from_predictions(scores, y, sensitive_features=sex, bins=10).names
        ('f', 'm')
        """
        require_matplotlib()
        how = {"sample_weight": sample_weight, "pos_label": pos_label, "missing": missing}
        settings = Settings.checked(bootstrap=0)
        found = source.from_predictions(
            scores, y, sensitive_features=sensitive_features, fair_scores=fair_scores, settings=settings, **how
        )
        return cls._of(found, bins).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        bins: int = BINS,
        sample_weight: Any = None,
        pos_label: Any = None,
        control_features: Any = None,
        group_probabilities: Any = None,
        family: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compute and draw from a fitted model: the score it works on, and its fair score, exact over the draw.

        Parameters
        ----------
        X : rows for a `FairROCClassifier`; for the others the original scores
        control_features, group_probabilities : for models that were fitted with them
        family : which groups to show where the model compares several families, such as "sex" or "sex within stratum"

        >>> from fairroc import FairROC
        >>> post = FairROC(epsilon=0.1, promise="fitted", draw="all").fit(scores, y, sensitive_features=sex)
        >>> ScoreDisplay.from_estimator(post, scores, y, sensitive_features=sex).epsilon
        0.1
        """
        require_matplotlib()
        known = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "pos_label": pos_label}
        told = {"control_features": control_features, "group_probabilities": group_probabilities}
        asked = {"confidence": 0.95, "bootstrap": 0, "random_state": 0}
        found = source.from_estimator(estimator, X, y, **known, told=told, asked=asked, family=family)
        return cls._of(found, bins).plot(ax, **kwargs)

    @classmethod
    def _of(cls, found: BeforeAfter, bins: int) -> Self:
        edges = _edges(found, bins)
        after = None if found.after is None else Histogram(edges, _shares(found.after.rates, edges))
        before = Histogram(edges, _shares(found.before.rates, edges))
        model, names, asked = found.model, found.before.names, found.distance
        maps = score_maps(model) if model is not None and not model.needs_ids and model.use_group else ()
        return cls(names=names, before=before, after=after, epsilon=found.epsilon, distance=asked, maps=maps)

    def plot(self, ax: Any = None, *, which: str | None = None, **kwargs: Any) -> Self:
        """Draw; nothing is computed.

        Parameters
        ----------
        ax : Axes, two or three of them, or None
            None makes a new figure with one panel for each score, and one for the maps of a model that draws nobody. On
            a single Axes the fair score is drawn, if there is one, unless ``which`` says otherwise.
        which : "before", "after", "map" or None
        **kwargs : for all lines, as in ``Axes.plot``.

        >>> len(ScoreDisplay.from_predictions(scores, y, sensitive_features=sex).plot().line_)
        4
        """
        shown = which_scores(ax, which, after=self.after is not None, more=("map",))
        if which == "map" and not self.maps:
            raise DataError(
                "which='map' needs a model that draws nobody, and there is none: fit with draw=\"never\" and use "
                "from_estimator."
            )
        if which is None and self.maps and (ax is None or np.size(ax) == 3):
            shown = (*shown, "map")
        self.fill_: list[PolyCollection] = []
        size = 5.0, 1.2 + 1.0 * max(len(self.names), 3 if "map" in shown else 2)
        for axes, score in zip(self._begin(ax, len(shown), size, same=False), shown, strict=True):
            tidy(axes)
            if score == "map":
                self._draw_maps(axes, kwargs)
                continue
            found = self.before if score == "before" or self.after is None else self.after
            self._draw(axes, found, kwargs)
            titled(axes, title_of(score, self.epsilon, self.distance))
            axes.set(xlabel="score", ylim=(len(self.names) - 0.45, -0.55))
            named = axes is self.ax_ or not self._own
            axes.set_yticks(range(len(self.names)), labels(self.names) if named else [""] * len(self.names))
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
        if self.fill_:
            where: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15)}
            home, how = (self.figure_, {"loc": "outside lower center"}) if self._own else (self.ax_, where)
            legend(home, small=True, handles=self.line_[:2][::-1], ncols=2, **how)
        return self

    def _draw_maps(self, axes: Axes, kwargs: dict[str, Any]) -> None:
        low, high = self.before.edges[[0, -1]].tolist()
        axes.plot([low, high], [low, high], color="0.8", linewidth=1, label="as it was")
        for g, (one, name) in enumerate(zip(self.maps, labels([one.group for one in self.maps]), strict=True)):
            x, y = corners(one, max(low, one.lowest), high if one.lowest == -np.inf else min(high, one.score[-1]))
            some = thin_path(x, y)
            self.line_ += axes.plot(x[some], y[some], **{**look(g), "linewidth": 1.8, "label": name, **kwargs})
        titled(axes, "The map: nobody is drawn")
        axes.set(xlabel="original score", ylabel="fair score")
        legend(axes, small=len(self.maps) > ROOMY, loc="upper left")

    def _draw(self, axes: Axes, found: Histogram, kwargs: dict[str, Any]) -> None:
        x = np.repeat(found.edges, 2)
        for g, both in enumerate(found.density):
            for density, (side, colour, label) in zip(both, SIDES, strict=True):
                height = HALF * density / density.max()
                y = g - side * np.concatenate(([0.0], np.repeat(height, 2), [0.0]))
                how = {"color": colour, "linewidth": 1.1, "label": label, **kwargs}
                (line,) = axes.plot(x, y, **how)
                self.line_.append(line)
                self.fill_.append(axes.fill_between(x, g, y, color=line.get_color(), alpha=0.3, linewidth=0))
            axes.axhline(g, color="0.4", linewidth=0.6)


def _edges(found: BeforeAfter, bins: int) -> FloatArray:
    """Even bins over all scores, or one for each score where there are no more."""
    if not isinstance(bins, Integral) or isinstance(bins, bool) or bins < 2:
        raise DataError(f"bins must be a whole number of at least 2, got {bins!r}. Try 40.")
    spans = [shown.rates.span() for shown in (found.before, found.after) if shown is not None]
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    original = found.before.rates.everywhere()[0][::-1]
    if not 2 <= len(original) <= bins:
        return np.linspace(low, high, int(bins) + 1) if high > low else np.array([low - 0.5, low + 0.5])
    inner = original[:-1] / 2 + original[1:] / 2
    first, last = min(low, original[0] - (inner[0] - original[0])), max(high, original[-1] + (original[-1] - inner[-1]))
    return np.concatenate(([first], inner, [last]))


def _shares(rates: RateLines, edges: FloatArray) -> FloatArray:
    """(groups, 2, bins) shares between neighbouring edges."""
    reached = rates.at(edges[1:-1])
    ends = (*reached.shape[:2], 1)
    line = np.concatenate((np.ones(ends), reached, np.zeros(ends)), axis=2)
    line = np.minimum.accumulate(line, axis=2)  # rates of steps differ in their last digits
    return np.asarray(line[:, :, :-1] - line[:, :, 1:])
