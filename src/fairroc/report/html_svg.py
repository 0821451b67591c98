"""The figures of a report as inline SVG, for paper and for readers without JavaScript."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from fairroc.plot.palette import CHANCE, FAIR, FIT, GRID, GROUPS, LEVEL, LIMIT, ORIGINAL, THRESHOLD
from fairroc.report.data import ReportData
from fairroc.report.html_tags import Html, join, tag
from fairroc.text.words import short

DASHES = ("5 3", "2 3")
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 460, 380, 66, 44, 12, 18
UNSEEN = 0.2
"""Nobody sees a line that is off by so many pixels."""

MIDDLE = {"text_anchor": "middle"}
NEAR = 1e-9
"""A tick that rounding carries over an end by this share of a step still belongs to the axis."""

LEGEND = 8
"""Groups in the legend of a figure; tables name them all."""

Points = Sequence[tuple[float, float]]
Place: TypeAlias = tuple[float, float]
Mark: TypeAlias = Literal["circle", "square", "diamond", "triangle", "cross"]
"""Shapes of dots, so that colour is not all that tells them apart."""


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


def axis(title: str, low: float, high: float) -> Axis:
    """Three to eight round ticks.

    >>> axis("x", 0.0, 0.388).ticks
    (0.0, 0.1, 0.2, 0.3)
    """
    width = high - low
    if not 0 < width < math.inf:
        return Axis(title, low, high, (low,))
    power = 10.0 ** math.floor(math.log10(width / 3))
    step = power * next(part for part in (5, 2.5, 2, 1) if part * power <= width / 3)
    first, last = math.ceil(low / step - NEAR), math.floor(high / step + NEAR)
    return Axis(title, low, high, tuple(float(f"{i * step:.10g}") for i in range(first, last + 1)))


def figure(lines: Sequence[Line], x: Axis, y: Axis, words: str, *, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Html:
    """A picture of lines with axes and a legend below; ``size`` is that of the picture without its legend."""
    inner_w, inner_h = size[0] - LEFT - RIGHT, size[1] - TOP - BOTTOM

    def at(point: Place) -> Place:
        return LEFT + inner_w * x.share(point[0]), TOP + inner_h * (1 - y.share(point[1]))

    named = [line for line in lines if line.name]
    height = size[1] + 20 * len(named)
    legend = [_legend(line, size[1] + 12 + 20 * i) for i, line in enumerate(named)]
    bands = [_band(line, at) for line in lines if line.band is not None]
    parts = [tag("title", words), *_frame(x, y, at, size), *bands, *(draw(line, at) for line in lines), *legend]
    return tag("svg", *parts, viewBox=f"0 0 {size[0]} {height}", role="img", class_="static", font_size="12")


def _frame(x: Axis, y: Axis, at: Callable[[Place], Place], size: tuple[int, int]) -> list[Html]:
    width, height = size
    low, right = f"{height - BOTTOM:.1f}", f"{width - RIGHT:.1f}"
    across = [(tick, at((tick, y.low))[0]) for tick in x.ticks]
    up = [(tick, at((x.low, tick))[1]) for tick in y.ticks]
    lines = [f"M{px:.1f} {TOP}V{low}" for _, px in across] + [f"M{LEFT} {py:.1f}H{right}" for _, py in up]
    middle = TOP + (height - TOP - BOTTOM) / 2
    turned = f"rotate(-90 12 {middle})"
    return [
        tag("path", d="".join(lines), stroke=GRID, fill="none"),
        tag("g", *(tag("text", f"{t:.6g}", x=f"{px:.1f}", y=height - BOTTOM + 16) for t, px in across), **MIDDLE),
        tag("g", *(tag("text", f"{t:.6g}", x=LEFT - 6, y=f"{py + 4:.1f}") for t, py in up), text_anchor="end"),
        tag("text", x.title, x=LEFT + (width - LEFT - RIGHT) / 2, y=height - 8, **MIDDLE),
        tag("text", y.title, x=12, y=middle, transform=turned, **MIDDLE),
    ]


def draw(line: Line, at: Callable[[Place], Place]) -> Html:
    """A line, or its dots, where ``at`` puts them."""
    places = [at(point) for point in line.points]
    if line.dots:
        return join(_dot(line, *place) for place in places)
    return tag(
        "path",
        d=_path(thinned(places)),
        fill="none",
        stroke=line.colour,
        stroke_width=line.width,
        stroke_dasharray=line.dash,
    )


def _band(line: Line, at: Callable[[Place], Place]) -> Html:
    upper, lower = line.band or ((), ())
    edge = [*thinned([at(point) for point in upper]), *thinned([at(point) for point in reversed(lower)])]
    return tag("path", d=_path(edge), fill=line.colour, fill_opacity="0.15")


def _path(places: Sequence[Place]) -> str:
    """The way through places, to a tenth of a pixel, in steps: shorter than places are.

    >>> _path([(1, 2), (3.04, 1.5), (3, 9)])
    'M1 2l2-.5l0 7.5'
    """
    tenths = [(round(10 * px), round(10 * py)) for px, py in places]
    start = " ".join(map(_tenths, tenths[0])) if tenths else "0 0"
    return f"M{start}" + "".join(_step(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(tenths) if a != b)


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


def _step(dx: int, dy: int) -> str:
    return f"l{_tenths(dx)}{'' if dy < 0 else ' '}{_tenths(dy)}"


def _tenths(value: int) -> str:
    """A number of tenths, as short as it can be."""
    whole, part = divmod(abs(value), 10)
    sign = "-" if value < 0 else ""
    return f"{sign}{whole or ('' if part else '0')}{f'.{part}' if part else ''}"


def _dot(line: Line, px: float, py: float) -> Html:
    """A mark of about the same area whatever its shape."""
    if line.mark == "circle":
        return tag("circle", cx=f"{px:.1f}", cy=f"{py:.1f}", r="4.5", fill=line.colour)
    if line.mark == "cross":
        d = f"M{px - 4:.1f} {py - 4:.1f}l8 8m0 -8l-8 8"
        return tag("path", d=d, stroke=line.colour, stroke_width="2.5", fill="none")
    steps = {
        "square": "m-4 -4h8v8h-8z",
        "diamond": "m0 -5.8l5.8 5.8l-5.8 5.8l-5.8 -5.8z",
        "triangle": "m0 -5l5.4 9h-10.8z",
    }
    return tag("path", d=f"M{px:.1f} {py:.1f}{steps[line.mark]}", fill=line.colour)


def _legend(line: Line, y: float) -> Html:
    ends = {"x1": LEFT, "x2": LEFT + 26, "y1": y - 4, "y2": y - 4}
    mark = (
        _dot(line, LEFT + 13, y - 4)
        if line.dots
        else tag("line", **ends, stroke=line.colour, stroke_width=line.width, stroke_dasharray=line.dash)
    )
    return join([mark, tag("text", line.name, x=LEFT + 34, y=y)])


def roc_figure(data: ReportData) -> Html:
    """Every group's curve before and after, and its points at the report's threshold."""
    lines = [Line(((0, 0), (1, 1)), CHANCE, width=1)]
    dots = []
    for g, name in enumerate(data.names):
        colour, known = GROUPS[g % len(GROUPS)], short(name) if g < LEGEND else ""
        before, after = data.before.groups[g], data.fair[data.chosen].groups[g]
        old = [*zip(before.fpr, before.tpr, strict=True), (0.0, 0.0)]
        new = [*zip(after.fpr, after.tpr, strict=True), (0.0, 0.0)]
        lines.append(Line(old, colour, dash=DASHES[0], width=1.5))
        lines.append(Line(new, colour, known))
        dots.append(Line([old[data.start], new[data.start]], colour, dots=True))
    at = f"score ≥ {data.thresholds[data.start]:.4g}"
    words = f"ROC curves of {len(data.names)} groups, fair at epsilon {_epsilon(data)}; dots at {at}"
    return figure([*lines, *dots], axis("false positive rate", 0, 1), axis("true positive rate", 0, 1), words)


def gap_figure(data: ReportData) -> Html:
    """Largest distance of two groups at every threshold."""
    at = data.thresholds
    fair = data.fair[data.chosen].gap
    top = max(*data.before.gap, *fair, data.frontier.points[data.chosen].epsilon) * 1.05 or 1.0
    epsilon = data.frontier.points[data.chosen].epsilon
    lines = [
        Line([*zip(at, data.before.gap, strict=True)], ORIGINAL, "original score", dash=DASHES[0], width=1.5),
        Line([*zip(at, fair, strict=True)], FAIR, f"fair score, ε = {_epsilon(data)}"),
        Line([(at[0], epsilon), (at[-1], epsilon)], LIMIT, "epsilon", dash=DASHES[1], width=1.5),
        Line([(at[data.start], 0.0), (at[data.start], top)], THRESHOLD, width=1),
    ]
    return figure(lines, axis("threshold", at[0], at[-1]), axis("gap", 0, top), "Gap at every threshold")


def frontier_figure(data: ReportData) -> Html:
    """AUC of all people at every epsilon, the bound, and the fit."""
    points, before = data.frontier.points, data.frontier.before
    auc = [(point.epsilon, point.auc) for point in points]
    bound = [(point.epsilon, point.auc_bound) for point in points if point.auc_bound is not None]
    sparse = len(bound) < len(points)  # a line between them would say more than is known
    lines = [
        Line(bound, ORIGINAL, "no fair score exceeds", dash=DASHES[1], width=1.5, dots=sparse),
        Line(auc, FAIR, "fair score, ties drawn"),
        Line([(points[0].epsilon, before.auc), (points[-1].epsilon, before.auc)], LEVEL, "original score", "5 3", 1),
    ]
    if data.certificate is not None:
        lines.append(Line([(data.certificate.epsilon, data.certificate.auc)], FIT, "the fit", dots=True))
    heights = [y for line in lines for _, y in line.points]
    low, high = min(heights), max(heights)
    room = (high - low) * 0.08 or 0.01
    x = axis("epsilon (allowed gap)", 0.0, points[-1].epsilon)
    return figure(lines, x, axis("AUC of all people", low - room, high + room), "AUC at every epsilon")


def _epsilon(data: ReportData) -> str:
    return f"{data.frontier.points[data.chosen].epsilon:.4g}"
