"""The figures of a report as plain data that a template draws as SVG: for readers without JavaScript.

With it, ``templates/page.js`` draws the same figures, which follow the sliders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from fairroc.plot.palette import GRID, GROUPS
from fairroc.report.data import ReportData
from fairroc.text.report import gap_names
from fairroc.text.words import short

DASHES = ("5 3", "2 3")
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 460, 380, 66, 44, 12, 18
UNSEEN = 0.2
"""Nobody sees a line that is off by so many pixels."""

NEAR = 1e-9
"""A tick that rounding carries over an end by this share of a step still belongs to the axis."""

LEGEND = 8
"""Groups in the legend of a figure; tables name them all."""

Place: TypeAlias = tuple[float, float]
Points: TypeAlias = Sequence[Place]
Mark: TypeAlias = Literal["circle", "square", "diamond", "triangle", "cross"]
"""Shapes of dots, so that colour is not all that tells them apart."""

MARKS: dict[Mark, str] = {
    "circle": "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0",
    "square": "m-4 -4h8v8h-8z",
    "diamond": "m0 -5.8l5.8 5.8l-5.8 5.8l-5.8 -5.8z",
    "triangle": "m0 -5l5.4 9h-10.8z",
    "cross": "m-4 -4l8 8m0 -8l-8 8",
}
"""From the middle of a dot: of about the same area whatever the shape."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of numbers with its ticks and title."""

    title: str
    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a figure, or dots where ``dots``; ``band`` is an area around it, its upper edge first."""

    points: Points
    colour: str
    name: str = ""
    dash: str | None = None
    width: float = 2.0
    dots: bool = False
    mark: Mark = "circle"
    band: tuple[Points, Points] | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """A path of SVG, drawn or filled."""

    d: str
    fill: str = "none"
    opacity: float | None = None
    stroke: str | None = None
    width: float = 1.0
    dash: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Words of a picture, turned upwards where ``turned``."""

    words: str
    x: float
    y: float
    anchor: Literal["start", "middle", "end"]
    turned: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """All that a template draws."""

    title: str
    width: int
    height: int
    grid: Shape
    texts: tuple[Text, ...]
    shapes: tuple[Shape, ...]


def axis(title: str, low: float, high: float) -> Axis:
    """Three to eight round ticks.

    >>> axis("x", 0.0, 0.388).ticks
    (0.0, 0.1, 0.2, 0.3)
    >>> axis("x", 0.0, 0.3).ticks  # a third of it is below 0.1, by rounding
    (0.0, 0.1, 0.2, 0.3)
    """
    width = high - low
    if not 0 < width / 3 < math.inf:
        return Axis(title, low, high, (low,))
    power = 10.0 ** math.floor(math.log10(width / 3))
    step = power * next((part for part in (5, 2.5, 2) if part * power <= width / 3), 1)
    first, last = math.ceil(low / step - NEAR), math.floor(high / step + NEAR)
    return Axis(title, low, high, tuple(float(f"{i * step:.10g}") for i in range(first, last + 1)))


def picture(lines: Sequence[Line], x: Axis, y: Axis, title: str, *, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Picture:
    """Lines with axes and a legend below; ``size`` is that of the picture without its legend."""
    inner_w, inner_h = size[0] - LEFT - RIGHT, size[1] - TOP - BOTTOM

    def at(point: Place) -> Place:
        return LEFT + inner_w * x.share(point[0]), TOP + inner_h * (1 - y.share(point[1]))

    across = [(tick, round(at((tick, y.low))[0], 1)) for tick in x.ticks]
    up = [(tick, round(at((x.low, tick))[1], 1)) for tick in y.ticks]
    grid = [f"M{px} {TOP}V{size[1] - BOTTOM}" for _, px in across] + [f"M{LEFT} {py}H{size[0] - RIGHT}" for _, py in up]
    named = [(line, size[1] + 12 + 20 * i) for i, line in enumerate(line for line in lines if line.name)]
    texts = [
        *(Text(f"{tick:.6g}", px, size[1] - BOTTOM + 16, "middle") for tick, px in across),
        *(Text(f"{tick:.6g}", LEFT - 6, round(py + 4, 1), "end") for tick, py in up),
        Text(x.title, LEFT + inner_w / 2, size[1] - 8, "middle"),
        Text(y.title, 12, TOP + inner_h / 2, "middle", turned=True),
        *(Text(line.name, LEFT + 34, low, "start") for line, low in named),
    ]
    shapes = [
        *(_band(line, at) for line in lines if line.band is not None),
        *(shape for line in lines for shape in drawn(line, at)),
        *(_sample(line, low - 4) for line, low in named),
    ]
    frame = Shape("".join(grid), stroke=f"var(--grid, {GRID})")  # a picture may stand outside a page
    return Picture(title, size[0], size[1] + 20 * len(named), frame, tuple(texts), tuple(shapes))


def drawn(line: Line, at: Callable[[Place], Place]) -> Iterator[Shape]:
    """A line, or its dots, where ``at`` puts them."""
    places = [at(point) for point in line.points]
    if line.dots:
        yield from (_dot(line, *place) for place in places)
    else:
        yield Shape(path(thinned(places)), stroke=line.colour, width=line.width, dash=line.dash)


def _dot(line: Line, px: float, py: float) -> Shape:
    d = f"M{px:.1f} {py:.1f}{MARKS[line.mark]}"
    return Shape(d, stroke=line.colour, width=2.5) if line.mark == "cross" else Shape(d, fill=line.colour)


def _band(line: Line, at: Callable[[Place], Place]) -> Shape:
    upper, lower = line.band or ((), ())
    edge = [*thinned([at(point) for point in upper]), *thinned([at(point) for point in reversed(lower)])]
    return Shape(path(edge), fill=line.colour, opacity=0.15)


def _sample(line: Line, y: float) -> Shape:
    """A sample of a line, or a dot, for the legend."""
    if line.dots:
        return _dot(line, LEFT + 13, y)
    return Shape(f"M{LEFT} {y}h26", stroke=line.colour, width=line.width, dash=line.dash)


def path(places: Sequence[Place]) -> str:
    """The way through places, to a tenth of a pixel, in steps: shorter than places are.

    >>> path([(1, 2), (3.04, 1.5), (3, 9)])
    'M1 2l2-.5l0 7.5'
    """
    tenths = [(round(10 * px), round(10 * py)) for px, py in places]
    start = " ".join(map(_tenths, tenths[0])) if tenths else "0 0"
    return f"M{start}" + "".join(_step(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(tenths) if a != b)


def _step(dx: int, dy: int) -> str:
    return f"l{_tenths(dx)}{'' if dy < 0 else ' '}{_tenths(dy)}"


def _tenths(value: int) -> str:
    """A number of tenths, as short as it can be."""
    whole, part = divmod(abs(value), 10)
    sign = "-" if value < 0 else ""
    return f"{sign}{whole or ('' if part else '0')}{f'.{part}' if part else ''}"


def thinned(places: Sequence[Place], off: float = UNSEEN) -> list[Place]:
    """Some of the places, both ends among them: the way through them is nowhere farther than ``off`` from the others.

    Douglas and Peucker's way, O(n log n) for most curves.

    >>> thinned([(0, 0), (1, 0.1), (2, 0), (3, 1)])
    [(0, 0), (2, 0), (3, 1)]
    """
    keep, todo = {0, len(places) - 1}, [(0, len(places) - 1)]
    while todo:
        first, last = todo.pop()
        if last - first < 2:
            continue
        far, at = max((_distance(places[i], places[first], places[last]), i) for i in range(first + 1, last))
        if far > off:
            keep.add(at)
            todo += [(first, at), (at, last)]
    return [place for i, place in enumerate(places) if i in keep]


def _distance(place: Place, start: Place, end: Place) -> float:
    """From a place to the nearest point of a straight way."""
    wx, wy = end[0] - start[0], end[1] - start[1]
    dx, dy = place[0] - start[0], place[1] - start[1]
    length = wx * wx + wy * wy
    along = min(1.0, max(0.0, (dx * wx + dy * wy) / length)) if length > 0 else 0.0
    return math.hypot(dx - along * wx, dy - along * wy)


# -- the figures of a report -------------------------------------------------------------------------------------------

GROUP_DASHES = (None, "8 3", "2 2.5", "9 3 2 3", "14 4")
"""Dashes of groups, in turn, so that colour is not all that tells them apart; the script has the same."""


def roc_figures(data: ReportData) -> list[Picture]:
    """Every group's curve with its point at the report's threshold: of the original score, and of the fair one."""
    found = []
    for drawn, score in ((data.before, "original score"), (data.fair[data.chosen], f"fair score, {_allowed(data)}")):
        title = f"ROC curves of {len(data.names)} groups, {score}; dots at score ≥ {data.thresholds[data.start]:.4g}"
        curves = [((*group.fpr, 0.0), (*group.tpr, 0.0)) for group in drawn.groups]
        found.append(roc_picture(data.names, curves, title, dot=data.start))
    return found


def roc_picture(
    names: Sequence[str], curves: Sequence[tuple[Sequence[float], ...]], title: str, dot: int | None = None
) -> Picture:
    """ROC curves of some groups, each with a mark at one of its points."""
    lines, dots = [Line(((0, 0), (1, 1)), "var(--chance)", width=1)], []
    for g, (name, (fpr, tpr)) in enumerate(zip(names, curves, strict=True)):
        places, look = [*zip(fpr, tpr, strict=True)], _look(g, name)
        lines.append(Line(places, *look))
        if dot is not None:
            dots.append(Line([places[dot]], look[0], dots=True, mark=[*MARKS][g % len(MARKS)]))
    return picture([*lines, *dots], axis("false positive rate", 0, 1), axis("true positive rate", 0, 1), title)


def _look(g: int, name: str) -> tuple[str, str, str | None]:
    """Colour, name in the legend and dashes of a group's line."""
    return f"var(--g{g % len(GROUPS)})", short(name) if g < LEGEND else "", GROUP_DASHES[g % len(GROUP_DASHES)]


def gap_figure(data: ReportData) -> Picture:
    """Largest distance of two groups at every threshold."""
    at, fair, epsilon = data.thresholds, data.fair[data.chosen].gap, data.frontier.points[data.chosen].epsilon
    top, names = max(*data.before.gap, *fair, epsilon) * 1.05 or 1.0, gap_names(data.options.fairness)
    lines = [
        *_outside(data, top),
        Line([*zip(at, data.before.gap, strict=True)], "var(--original)", "original score", dash=DASHES[0], width=1.5),
        Line([*zip(at, fair, strict=True)], "var(--fair)", f"fair score, {_allowed(data)}"),
        Line([(at[0], epsilon), (at[-1], epsilon)], "var(--limit)", names["allowed"], dash=DASHES[1], width=1.5),
        Line([(at[data.start], 0.0), (at[data.start], top)], "var(--threshold)", width=1),
    ]
    return picture(lines, axis("threshold", at[0], at[-1]), axis("gap", 0, top), "Gap at every threshold")


def _allowed(data: ReportData) -> str:
    """What the fair score of the page's first look allows."""
    point = data.frontier.points[data.chosen]
    return f"epsilon {point.epsilon:.4g}" if point.ratio is None else f"ratio {point.ratio:.4g}"


def _outside(data: ReportData, top: float) -> Iterator[Line]:
    """Thresholds that do not count, as areas."""
    if data.window is None:
        return
    name = "does not count"
    for low, high in ((data.thresholds[0], data.window[0]), (data.window[1], data.thresholds[-1])):
        if low < high:
            band = ((low, top), (high, top)), ((low, 0.0), (high, 0.0))
            yield Line(band[1], "var(--rule)", name, width=0.5, band=band)
            name = ""


def frontier_figure(data: ReportData) -> Picture:
    """Overall AUC at every epsilon, the bound, and the fit: on the fitted people, and expected of new ones."""
    points, before = data.frontier.points, data.frontier.before
    auc = [(point.epsilon, point.auc) for point in points]
    bound = [(point.epsilon, point.auc_bound) for point in points if point.auc_bound is not None]
    sparse = len(bound) < len(points)  # a line between them would say more than is known
    level = [(points[0].epsilon, before.auc), (points[-1].epsilon, before.auc)]
    lines = [
        Line(bound, "var(--original)", "no fair score exceeds", dash=DASHES[1], width=1.5, dots=sparse),
        Line(auc, "var(--fair)", "fair score, fitted people"),
        Line(level, "var(--rule)", "original score", DASHES[0], 1),
    ]
    if data.certificate is not None:
        lines.append(Line([(data.certificate.epsilon, data.certificate.auc)], "var(--fit)", "the fit", dots=True))
    if data.outlook is not None:
        at, error = data.outlook.epsilon, data.outlook.auc_standard_error
        low, high = data.outlook.auc_estimate - error, data.outlook.auc_estimate + error
        lines.append(Line([(at, low), (at, high)], "var(--fit)", width=1.5))
        new = [(at, data.outlook.auc_estimate)]
        lines.append(Line(new, "var(--fit)", "the fit, new people (± standard error)", dots=True, mark="diamond"))
    heights = [y for line in lines for _, y in line.points]
    low, high = min(heights), max(heights)
    room = (high - low) * 0.08 or 0.01
    names = gap_names(data.options.fairness)
    x = axis(names["axis"], 0.0, points[-1].epsilon)
    return picture(lines, x, axis("overall AUC", low - room, high + room), f"AUC at every {names['allowed']}")


def drawn_figure(data: ReportData) -> Picture:
    """Share of all people, and of every group, whose fair score depends on the draw, at every epsilon."""
    points, names, lines = data.frontier.points, gap_names(data.options.fairness), []
    for g, name in enumerate(data.names):
        shares = [(point.epsilon, point.groups[g].randomised_share) for point in points]
        lines.append(Line(shares, *_look(g, name), width=1.5))
    lines.append(Line([(point.epsilon, point.randomised_share) for point in points], "var(--ink)", "all people"))
    x = axis(names["axis"], 0.0, points[-1].epsilon)
    return picture(lines, x, axis("share of people drawn", 0.0, 1.0), f"Share drawn at every {names['allowed']}")
