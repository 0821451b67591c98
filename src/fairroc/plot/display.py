"""What all pictures share: the ways in, axes without pyplot, legends, and lines of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fairroc.auditing.audit import Settings
from fairroc.core.chain import FloatArray, IntArray
from fairroc.core.constraint import Distance, OneRate, Ratio
from fairroc.docstrings import FITTED, documented
from fairroc.errors import DataError
from fairroc.options import AUDIT, Missing
from fairroc.plot import source
from fairroc.plot.palette import GROUPS, require_matplotlib
from fairroc.plot.source import BeforeAfter, Shown
from fairroc.text.words import flat

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

STYLES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)))
"""Line styles beside the colours, for print."""

MOST_POINTS = 4000
"""Points of a line that is drawn: more than any picture has pixels, and few enough for a vector file."""

ROOMY = 4
"""Longer legends are set in small letters."""

CROWD = 8
"""Longer legends are set beside the axes."""

WIDTH, TAIL = 23, 9
"""Letters of a name that are shown, and how many of them are its last ones."""


class Display:
    """Base of the Displays: what `plot` leaves behind.

    Attributes
    ----------
    ax_, figure_ : the (first) Axes drawn on, and its figure.
    axes_ : all Axes drawn on.
    line_ : the lines of the data, in the order of the scores and groups.
    """

    ax_: Axes
    figure_: Figure
    axes_: tuple[Axes, ...]
    line_: list[Line2D]
    _own: bool

    def _begin(self, ax: Any, count: int, size: tuple[float, float], *, same: bool = True) -> tuple[Axes, ...]:
        """``count`` Axes side by side: those given, or those of a new figure that pyplot knows nothing of, with the
        ``same`` scale upwards or their own."""
        require_matplotlib()
        from matplotlib.axes import Axes

        self._own = ax is None
        if self._own:
            figure = new_figure(size[0] * count, size[1])
            found = tuple(figure.subplots(1, count, squeeze=False, sharex=True, sharey=same)[0])
        else:
            found = (ax,) if isinstance(ax, Axes) else tuple(np.ravel(np.asarray(ax, dtype=object)))
            if len(found) != count or not all(isinstance(one, Axes) for one in found):
                raise DataError(f"ax must be {count} matplotlib Axes, or None for a new figure, got {ax!r}.")
        self.axes_, self.ax_ = found, found[0]
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        self.line_ = []
        return self.axes_

    def _repr_png_(self) -> bytes | None:
        """What a notebook shows; a figure that was given is left to its owner."""
        if not getattr(self, "_own", False):
            return None
        picture = BytesIO()
        self.figure_.savefig(picture, format="png", dpi=100)
        return picture.getvalue()


@documented(options=AUDIT, setup=FITTED, raises="DataError, FairrocError")
@dataclass(eq=False, repr=False, kw_only=True)
class AuditedDisplay(Display):
    """A Display made from scores, labels and groups, or from a fitted model: of the original score and, if there is
    one, of the fair score."""

    before: Any
    after: Any = None
    epsilon: float | None = None
    distance: Distance | None = None
    confidence: float = 0.95

    @classmethod
    def from_source(cls, found: BeforeAfter) -> Self:
        """Compute what `plot` draws."""
        before, after = (None if one is None else cls._seen(one, found) for one in (found.before, found.after))
        asked: dict[str, Any] = {"epsilon": found.epsilon, "distance": found.distance, "confidence": found.confidence}
        return cls(before=before, after=after, **asked)

    @staticmethod
    def _seen(shown: Shown, found: BeforeAfter) -> Any:
        """What is drawn of one score."""
        raise NotImplementedError

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw."""
        raise NotImplementedError

    @classmethod
    def from_predictions(
        cls,
        scores: Any,
        y: Any,
        *,
        sensitive_features: Any,
        fair_scores: Any = None,
        epsilon: Any = None,
        norm: Any = 1,
        constraint: str = "equalized_odds",
        ratio: float | None = None,
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        missing: Missing = "error",
        confidence: float = 0.95,
        bootstrap: int = 1000,
        random_state: Any = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compute and draw from scores, labels and groups.

        Returns: Display: drawn; its ``figure_`` can be saved.
        >>> from fairroc.plot import GapDisplay
        >>> GapDisplay.from_predictions(scores, y, sensitive_features=sex, epsilon=0.1, bootstrap=0).epsilon
        0.1
        """
        require_matplotlib()
        settings = Settings.checked(
            norm=norm,
            epsilon=epsilon,
            constraint=constraint,
            ratio=ratio,
            where=where,
            confidence=confidence,
            bootstrap=bootstrap,
            random_state=random_state,
        )
        known = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "pos_label": pos_label}
        found = source.from_predictions(scores, y, fair_scores=fair_scores, settings=settings, **known, missing=missing)
        return cls.from_source(found).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        confidence: float = 0.95,
        bootstrap: int = 1000,
        random_state: Any = 0,
        control_features: Any = None,
        group_probabilities: Any = None,
        family: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compute and draw from a fitted model: the score it works on, and its fair score. Nothing is drawn at random.

        Parameters
        ----------
        estimator : fitted `FairROC`, `FairROCClassifier` or `FairModel`
        X : rows for a `FairROCClassifier`; for the others the original scores
        control_features, group_probabilities : for models that were fitted with them
        family : which groups to show where the model compares several families, such as "sex" or "sex within stratum"

        Returns: Display: drawn; its ``figure_`` can be saved.
        >>> from fairroc.plot import GapDisplay
        >>> display = GapDisplay.from_estimator(post, scores, y, sensitive_features=sex, bootstrap=0)
        >>> display.after.largest <= 0.1 + 1e-9
        True
        """
        require_matplotlib()
        known = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "pos_label": pos_label}
        told = {"control_features": control_features, "group_probabilities": group_probabilities}
        asked = {"confidence": confidence, "bootstrap": bootstrap, "random_state": random_state}
        found = source.from_estimator(estimator, X, y, **known, told=told, asked=asked, family=family)
        return cls.from_source(found).plot(ax, **kwargs)


def which_scores(ax: Any, which: str | None, *, after: bool, more: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The scores to draw, each on Axes of its own: on one given Axes the last one there is, else all; or ``more`` that
    is asked for by name."""
    if which not in (None, "before", "after", *more):
        names = ", ".join(map(repr, ("before", "after", *more)))
        raise DataError(f"which must be {names} or None, got {which!r}.")
    if which == "after" and not after:
        raise DataError(
            "which='after' needs a fair score, and there is none: pass fair_scores=, or use from_estimator."
        )
    if which is not None:
        return (which,)
    if not after:
        return ("before",)
    return ("after",) if ax is not None and np.size(ax) == 1 else ("before", "after")


def title_of(score: str, epsilon: float | None, distance: Distance | None = None) -> str:
    """What a panel shows."""
    if score == "before":
        return "Before: the original score"
    rate = f"{distance.WORDS[distance.rate]} " if isinstance(distance, OneRate) else ""
    return "After: the fair score" + ("" if epsilon is None else f", {rate}{allowed_words(epsilon, distance)}")


def allowed_words(epsilon: float, distance: Distance | None) -> str:
    """How far apart the groups may be.

    >>> allowed_words(0.05, None), allowed_words(0.25, Ratio("tpr"))
    ('ε = 0.05', 'ratio 0.75')
    """
    return f"ratio {1 - epsilon:g}" if isinstance(distance, Ratio) else f"ε = {epsilon:g}"


def look(g: int) -> dict[str, Any]:
    """Colour and line style of group number ``g``; 32 pairs before one comes again."""
    turn = g // len(GROUPS)
    return {"color": GROUPS[g % len(GROUPS)], "linestyle": STYLES[(g + turn) % len(STYLES)]}


def new_figure(width: float, height: float) -> Figure:
    """A figure that pyplot knows nothing of."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def titled(axes: Axes, words: str) -> None:
    """A title in bold, above the left end."""
    axes.set_title(words, loc="left", fontsize="medium", fontweight="bold")


def square(axes: Axes) -> None:
    """The unit square of rates."""
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="false positive rate")
    axes.set_box_aspect(1)
    tidy(axes)


def tidy(axes: Axes) -> None:
    """No box around the data."""
    axes.spines[["top", "right"]].set_visible(False)


def legend(home: Axes | Figure, *, small: bool, **how: Any) -> None:
    """A legend without a box."""
    size = {"fontsize": "small", "title_fontsize": "small"} if small else {}
    home.legend(**{"frameon": False, "alignment": "left", **size, **how})


def labels(names: Sequence[str]) -> list[str]:
    """Names of groups as matplotlib can show them: short, told apart, read as they are.

    >>> labels(["a $50 note", "_", "a very long name of a group, the first", "a very long name of a group, the second"])
    ['a \\\\$50 note', ' _', 'a very long n…the first', 'a very long n…he second']
    """
    cut = [name if len(name) <= WIDTH else f"{name[: WIDTH - TAIL - 1]}…{name[-TAIL:]}" for name in map(flat, names)]
    told = [f"{name} #{i + 1}" if cut.count(name) > 1 else name for i, name in enumerate(cut)]
    return [(" " if name.startswith("_") else "") + name.replace("$", r"\$") for name in told]


def thin_path(x: FloatArray, y: FloatArray) -> IntArray:
    """Indices of at most about MOST_POINTS points of a path on which x + y rises, both ends included."""
    if len(x) <= MOST_POINTS:
        return np.arange(len(x))
    u = x + y
    found = np.searchsorted(u, np.linspace(u[0], u[-1], MOST_POINTS))
    return np.unique(np.concatenate(([0], found, [len(x) - 1])).clip(0, len(x) - 1))


def thin_peaks(lines: Sequence[FloatArray]) -> IntArray:
    """Indices of at most about MOST_POINTS points among which are every line's lowest and highest of each stretch."""
    size = len(lines[0])
    if size <= MOST_POINTS:
        return np.arange(size)
    ends = np.linspace(0, size, max(MOST_POINTS // (2 * len(lines)), 1) + 1).astype(np.intp)
    kept = [np.array([0, size - 1])]
    for begin, end in pairwise(ends.tolist()):
        kept.extend(np.array([begin + line[begin:end].argmin(), begin + line[begin:end].argmax()]) for line in lines)
    return np.unique(np.concatenate(kept))
