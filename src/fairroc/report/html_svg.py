"""The figures of a report as inline SVG, for paper and for readers without JavaScript."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairroc.report.data import ReportData
from fairroc.report.html_tags import Html, join, tag
from fairroc.report.text import short

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#B8860B", "#2AA1D3", "#333333", "#7A7A1F")
"""After Okabe and Ito: told apart by colour-blind readers too."""

DASHES = ("5 3", "2 3")
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 460, 380, 66, 44, 12, 18
NEAR = 1e-9
"""A tick that rounding carries over an end by this share of a step still belongs to the axis."""

LEGEND = 8
"""Groups in the legend of a figure; tables name them all."""

Points = Sequence[tuple[float, float]]


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
    """A line of a figure, or dots where ``dots``."""

    points: Points
    colour: str
    name: str = ""
    dash: str | None = None
    width: float = 2.0
    dots: bool = False


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


def figure(lines: Sequence[Line], x: Axis, y: Axis, words: str) -> Html:
    """A picture of lines with axes and a legend below."""
    inner_w, inner_h = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return LEFT + inner_w * x.share(point[0]), TOP + inner_h * (1 - y.share(point[1]))

    named = [line for line in lines if line.name]
    height = HEIGHT + 20 * len(named)
    legend = [_legend(line, HEIGHT + 12 + 20 * i) for i, line in enumerate(named)]
    parts = [tag("title", words), *_frame(x, y, at), *(_draw(line, at) for line in lines), *legend]
    return tag("svg", *parts, viewBox=f"0 0 {WIDTH} {height}", role="img", class_="static", font_size="12")


def _frame(x: Axis, y: Axis, at: Callable[[tuple[float, float]], tuple[float, float]]) -> list[Html]:
    found = []
    for tick in x.ticks:
        px, py = at((tick, y.low))
        found.append(tag("line", x1=f"{px:.1f}", x2=f"{px:.1f}", y1=TOP, y2=f"{py:.1f}", stroke="#e5e5e5"))
        found.append(tag("text", f"{tick:.6g}", x=f"{px:.1f}", y=f"{py + 16:.1f}", text_anchor="middle"))
    for tick in y.ticks:
        px, py = at((x.low, tick))
        found.append(tag("line", x1=f"{px:.1f}", x2=WIDTH - RIGHT, y1=f"{py:.1f}", y2=f"{py:.1f}", stroke="#e5e5e5"))
        found.append(tag("text", f"{tick:.6g}", x=f"{px - 6:.1f}", y=f"{py + 4:.1f}", text_anchor="end"))
    middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
    found.append(tag("text", x.title, x=LEFT + (WIDTH - LEFT - RIGHT) / 2, y=HEIGHT - 8, text_anchor="middle"))
    turned = f"rotate(-90 12 {middle})"
    found.append(tag("text", y.title, x=12, y=middle, text_anchor="middle", transform=turned))
    return found


def _draw(line: Line, at: Callable[[tuple[float, float]], tuple[float, float]]) -> Html:
    places = [at(point) for point in line.points]
    if line.dots:
        return join(tag("circle", cx=f"{px:.1f}", cy=f"{py:.1f}", r="4.5", fill=line.colour) for px, py in places)
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
    return tag(
        "polyline", points=path, fill="none", stroke=line.colour, stroke_width=line.width, stroke_dasharray=line.dash
    )


def _legend(line: Line, y: float) -> Html:
    ends = {"x1": LEFT, "x2": LEFT + 26, "y1": y - 4, "y2": y - 4}
    mark = (
        tag("circle", cx=LEFT + 13, cy=y - 4, r="4.5", fill=line.colour)
        if line.dots
        else tag("line", **ends, stroke=line.colour, stroke_width=line.width, stroke_dasharray=line.dash)
    )
    return join([mark, tag("text", line.name, x=LEFT + 34, y=y)])


def roc_figure(data: ReportData) -> Html:
    """Every group's curve before and after, and its points at the report's threshold."""
    lines = [Line(((0, 0), (1, 1)), "#cccccc", width=1)]
    dots = []
    for g, name in enumerate(data.names):
        colour, known = COLOURS[g % len(COLOURS)], short(name) if g < LEGEND else ""
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
        Line([*zip(at, data.before.gap, strict=True)], "#555555", "original score", dash=DASHES[0], width=1.5),
        Line([*zip(at, fair, strict=True)], "#0072B2", f"fair score, ε = {_epsilon(data)}"),
        Line([(at[0], epsilon), (at[-1], epsilon)], "#B00020", "epsilon", dash=DASHES[1], width=1.5),
        Line([(at[data.start], 0.0), (at[data.start], top)], "#aaaaaa", width=1),
    ]
    return figure(lines, axis("threshold", at[0], at[-1]), axis("gap", 0, top), "Gap at every threshold")


def frontier_figure(data: ReportData) -> Html:
    """AUC of all people at every epsilon, the bound, and the fit."""
    points, before = data.frontier.points, data.frontier.before
    auc = [(point.epsilon, point.auc) for point in points]
    bound = [(point.epsilon, point.auc_bound) for point in points if point.auc_bound is not None]
    sparse = len(bound) < len(points)  # a line between them would say more than is known
    lines = [
        Line(bound, "#555555", "no fair score exceeds", dash=DASHES[1], width=1.5, dots=sparse),
        Line(auc, "#0072B2", "fair score, ties drawn"),
        Line(
            [(points[0].epsilon, before.auc), (points[-1].epsilon, before.auc)], "#999999", "original score", "5 3", 1
        ),
    ]
    if data.certificate is not None:
        lines.append(Line([(data.certificate.epsilon, data.certificate.auc)], "#D55E00", "the fit", dots=True))
    heights = [y for line in lines for _, y in line.points]
    low, high = min(heights), max(heights)
    room = (high - low) * 0.08 or 0.01
    x = axis("epsilon (allowed gap)", 0.0, points[-1].epsilon)
    return figure(lines, x, axis("AUC of all people", low - room, high + room), "AUC at every epsilon")


def _epsilon(data: ReportData) -> str:
    return f"{data.frontier.points[data.chosen].epsilon:.4g}"
