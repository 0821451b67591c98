"""What fairness costs at every epsilon: `FrontierDisplay`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fairroc.docstrings import PEOPLE, documented
from fairroc.fitting.frontier import Frontier, frontier
from fairroc.options import FRONTIER, Missing
from fairroc.plot.display import Display, labels, legend, look, new_figure, tidy
from fairroc.plot.palette import ORIGINAL, require_matplotlib
from fairroc.text.frontier import allowed_at
from fairroc.text.words import where_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

TIP_BELOW = 7
"""matplotlib's marker that points down and ends at its place."""


_GAP = ("gap", "ratio")
_AXIS = ("epsilon: the largest gap allowed", "the smallest ratio allowed")
"""Of differences, and of ratios."""


@documented(options=FRONTIER, setup=PEOPLE, raises="DataError, FairrocError")
class FrontierDisplay(Display):
    """AUC against epsilon or ratio: of all people together, of every group, and the bound that no fair score exceeds;
    below it, where anybody is drawn, the share of people whose fair score depends on the draw.

    Parameters
    ----------
    found : what `fairroc.frontier` returned.

    Attributes
    ----------
    ax_, figure_ : the Axes of the AUC, and its figure; ``axes_`` has those of the share drawn too, if they are drawn.
    line_ : list of lines: all people together, then every group.
    drawn_line_ : the same lines of the share drawn; empty without its Axes.
    bound_line_ : the bound, or None where there is none.
    before_ : the point of the original score, at its own gap.

    Examples
    --------
    >>> display = FrontierDisplay.from_predictions(scores, y, sensitive_features=sex, epsilons=[0, 0.1, 0.2])
    >>> [line.get_label() for line in display.line_], display.line_[0].get_xdata().tolist()
    (['all people', 'f', 'm'], [0.0, 0.1, 0.2])
    """

    bound_line_: Line2D | None
    before_: Line2D
    drawn_line_: list[Line2D]

    def __init__(self, found: Frontier) -> None:
        self.found = found

    @classmethod
    def from_frontier(cls, found: Frontier, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a frontier that there is already.

        >>> from fairroc import frontier
        >>> found = frontier(scores, y, sensitive_features=sex, epsilons=[0, 0.1], bound=False)
        >>> len(FrontierDisplay.from_frontier(found).line_)
        3
        """
        return cls(found).plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        scores: Any,
        y: Any,
        *,
        sensitive_features: Any,
        epsilons: Any = None,
        ratios: Any = None,
        constraint: str = "equalized_odds",
        norm: Any = 1,
        method: str = "optimal",
        draw: str = "few",
        where: Any = None,
        promise: str = "new",
        queries: Any = None,
        bound: bool = True,
        sample_weight: Any = None,
        pos_label: Any = None,
        missing: Missing = "error",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the frontier and draw it.

        >>> how = {"epsilons": [0, 0.1], "bound": False}
        >>> FrontierDisplay.from_predictions(scores, y, sensitive_features=sex, **how).bound_line_ is None
        True
        """
        require_matplotlib()
        found = frontier(
            scores,
            y,
            sensitive_features=sensitive_features,
            epsilons=epsilons,
            ratios=ratios,
            constraint=constraint,
            norm=norm,
            method=method,
            draw=draw,
            where=where,
            promise=promise,
            queries=queries,
            bound=bound,
            sample_weight=sample_weight,
            pos_label=pos_label,
            missing=missing,
        )
        return cls(found).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, groups: bool = True, bound: bool = True, **kwargs: Any) -> Self:
        """Draw; nothing is computed.

        Parameters
        ----------
        ax : Axes, two of them, or None
            One is for the AUC alone, two are for the AUC and the share drawn; None makes a new figure.
        groups, bound : whether to draw the groups' lines, and the bound.
        **kwargs : for all lines of AUCs and shares, as in ``Axes.plot``.

        >>> how = {"epsilons": [0, 0.1], "bound": False}
        >>> display = FrontierDisplay.from_predictions(scores, y, sensitive_features=sex, **how)
        >>> len(display.plot(groups=False).line_)
        1
        """
        axes, *below = self._panels(ax)
        before = self.found.before
        self.line_, self.drawn_line_ = self._lines(axes, "auc", groups, kwargs), []
        self.bound_line_ = self._draw_bound(axes) if bound else None
        style: dict[str, Any] = {"marker": "*", "markersize": 11, "color": "black", "linestyle": "none", "zorder": 5}
        ratio, asked = before.ratio is not None, self.found.fairness
        own = [1 - before.gap if ratio else before.gap]
        (self.before_,) = axes.plot(own, [before.auc], label=f"original score, at its own {_GAP[ratio]}", **style)
        for share in below:
            self.drawn_line_ = self._lines(share, "randomised_share", groups, kwargs)
            share.set(ylabel="share of people drawn", ylim=(-0.03, 1.03))
            share.yaxis.set_major_formatter("{x:.0%}")
            share.margins(x=0.03)
            tidy(share)
        what = asked.formula.replace("1 - ratio of the", "smallest over largest") if ratio else asked.formula
        self.axes_[-1].set_xlabel(f"{_AXIS[ratio]}\n({what}{where_words(asked.where)})")
        axes.set_ylabel("AUC")
        axes.margins(x=0.03)
        tidy(axes)
        where: Any = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if self._own else {}
        legend(axes, small=True, **where)
        return self

    def _panels(self, ax: Any) -> tuple[Axes, ...]:
        """Axes of the AUC, and of the share drawn where there is room for it and anybody is."""
        if ax is not None or not any(point.randomised_share for point in self.found.points):
            return self._begin(ax, 1 if ax is None else np.size(ax), (7.8, 4.4))
        figure = new_figure(7.8, 6.6)
        axes = self._begin(figure.subplots(2, 1, sharex=True, height_ratios=(3, 2)), 2, (7.8, 6.6))
        self._own = True
        return axes

    def _lines(self, axes: Axes, name: str, groups: bool, given: dict[str, Any]) -> list[Line2D]:
        """One figure of all people and of every group, at every epsilon."""
        points = self.found.points
        allowed = [allowed_at(point) for point in points]
        how = {"color": "black", "linewidth": 2.4, "label": "all people", "zorder": 3, **self._dots(), **given}
        lines = axes.plot(allowed, [getattr(point, name) for point in points], **how)
        for g, label in enumerate(labels([group.group for group in self.found.before.groups]) if groups else []):
            how = {"label": label, "linewidth": 1.6, **look(g), **self._dots(), **given}
            lines += axes.plot(allowed, [getattr(point.groups[g], name) for point in points], **how)
        return lines

    def _dots(self) -> dict[str, Any]:
        """A single epsilon makes no line."""
        return {"marker": "o", "markersize": 4} if len(self.found.points) == 1 else {}

    def _draw_bound(self, axes: Axes) -> Line2D | None:
        known = [(allowed_at(point), point.auc_bound) for point in self.found.points if point.auc_bound is not None]
        if not known:
            return None
        style: dict[str, Any] = {"color": ORIGINAL, "linestyle": "none", "zorder": 4}
        mark: dict[str, Any] = {"marker": TIP_BELOW, "markersize": 6, "markeredgewidth": 0}
        (line,) = axes.plot(*zip(*known, strict=True), label="bound: no fair score is above", **style, **mark)
        return line
