"""The paper's figures from rows of results, as SVG: before and after, against epsilon, beside other methods."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup as Html

from fairroc.plot.palette import GROUPS as COLOURS
from fairroc.report.figures import DASHES, Axis, Line, Mark, axis, drawn, picture
from fairroc.report.page import svg, swatch
from fairroc.text.words import short
from fairroc_studies.paper.published import PUBLISHED_EPSILON
from fairroc_studies.paper.study import Measured, RocLines, method_title, model_title, problem_title
from fairroc_studies.paper.summary import Summary, Table
from fairroc_studies.paper.verdicts import MEASURED, Evidence

SIZE = (360, 268)
"""Three of them side by side fill the page."""
BIG = (520, 330)
"""Two of them do."""
LEGEND = 6
"""Groups that a legend names."""
LEVEL_LINE = ((0.0, 0.5), (1.0, 0.5))
"""A sample for a legend."""

DIAGONAL = Line(((0, 0), (1, 1)), "#cccccc", width=1)


@dataclass(frozen=True, slots=True)
class Style:
    """How a method is drawn, the same in every figure."""

    colour: str
    dash: str | None = None
    mark: Mark = "circle"


STYLES = {
    "none": Style("#555555", DASHES[0]),
    "froc": Style("#D55E00"),
    "optimal": Style("#0072B2"),
    "default": Style("#009E73", "8 3"),
    "classifiers": Style("#AA4499", DASHES[1]),
    "fnnc": Style("#B8860B", None, "square"),
    "fairprojection-ce": Style("#AA4499", DASHES[1], "diamond"),
    "fairprojection-kl": Style("#B8860B", DASHES[1], "triangle"),
    "fairlearn": Style("#2AA1D3", None, "square"),
    "error-parity": Style("#333333", DASHES[0], "cross"),
    "aif360-eqodds": Style("#7A7A1F", None, "triangle"),
    "aif360-calibrated": Style("#7A7A1F", None, "square"),
    "aif360-reject": Style("#7A7A1F", None, "diamond"),
}
CURVES = ("none", "froc", "optimal", "default")
"""Methods of the figures against epsilon."""

AGAINST = (
    ("accuracy", "accuracy", "Accuracy"),
    ("disparate_impact", "disparate impact", "Disparate impact"),
    ("auc_loss_upper", "AUC lost, upper group", "AUC loss"),
)
WHO = {"fitted": "fitted people", "test": "test people"}
TRAINED = {"fitted": "fitted people (FNNC: training people)", "test": "test people"}
"""FNNC with a target is fitted by training."""
NEAR_EQUAL = 0.9
"""Where a disparate impact gets so near to 1, or above, the picture shows where 1 is."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its file name and captions."""

    name: str
    caption: str
    svg: Html
    short: str  # the caption where a title says the rest
    wide: bool = False


def _style(method: str) -> Style:
    return STYLES.get(method, Style(COLOURS[6]))


def _title(problem: str, model: str) -> str:
    return f"{problem_title(problem)}, {model_title(model)}"


# -- one problem and model ---------------------------------------------------------------------------------------------


def pair_figures(evidence: Evidence, problem: str, model: str, *, named: bool = False) -> dict[str, list[Figure]]:
    """Rows of figures of a problem and a model: curves before and after, then figures against epsilon.

    ``named``: every figure has its own legend of methods.
    """
    found: dict[str, list[Figure]] = {"roc": list(_rocs(evidence, problem, model, named)), "fitted": [], "test": []}
    for column, words, caption in AGAINST:
        lines = {who: _against(evidence, problem, model, column, who) for who in MEASURED}
        if not any(lines.values()):
            continue
        after = ""
        if column == "disparate_impact" and any(
            y >= NEAR_EQUAL for many in lines.values() for line in many for _, y in line.points
        ):
            after = "; grey: 1"
            end = max(x for many in lines.values() for line in many for x, _ in line.points)
            lines = {who: [Line([(0.0, 1.0), (end, 1.0)], "#999999", width=1), *many] for who, many in lines.items()}
        y = _range(words, (line for many in lines.values() for line in many))
        for who in MEASURED:
            told = f"{caption} against epsilon, {WHO[who]}{after}"
            if lines[who]:
                drawing = picture(
                    _with_names(lines[who], named),
                    _epsilons(lines[who]),
                    y,
                    f"{told}: {_title(problem, model)}",
                    size=SIZE,
                )
                found[who].append(
                    Figure(f"{problem}-{model}-{column}-{who}", told, svg(drawing), f"{caption} against epsilon{after}")
                )
    return found


def _with_names(lines: Sequence[Line], named: bool) -> Sequence[Line]:
    """Lines with their names, for a legend of their own, or without."""
    return lines if named else [replace(line, name="") for line in lines]


def _epsilons(lines: Iterable[Line], title: str = "epsilon") -> Axis:
    return axis(title, 0.0, max((x for line in lines for x, _ in line.points), default=0.1))


def _range(title: str, lines: Iterable[Line], low: float | None = None) -> Axis:
    """An axis that holds all lines and bands, with a little room."""
    heights = [y for line in lines for part in (line.points, *(line.band or ())) for _, y in part]
    least, most = min(heights, default=0.0), max(heights, default=1.0)
    room = (most - least) * 0.06 or 0.01
    return axis(title, least - room if low is None else low, most + room)


def _against(
    evidence: Evidence, problem: str, model: str, column: str, who: Measured, shared: Table | None = None
) -> list[Line]:
    """A line for each method with its band of one standard deviation; the model as it is, level."""
    lines = []
    for method in CURVES[1:]:
        line = _line(evidence.rows(problem, model, method, who, shared), column, method)
        if line is not None:
            lines.append(line)
    before = evidence.rows(problem, model, "none", who, shared)
    level = before[0].mean(column) if before else None
    if level is not None and lines and column != "auc_loss_upper":
        end = max(x for line in lines for x, _ in line.points)
        style = _style("none")
        lines.insert(0, Line([(0.0, level), (end, level)], style.colour, method_title("none"), style.dash, 1.5))
    return lines


def _line(rows: Sequence[Summary], column: str, method: str) -> Line | None:
    points, upper, lower = [], [], []
    for row in rows:
        spread = row.figures[column]
        if row.epsilon is not None and spread is not None:
            points.append((row.epsilon, spread.mean))
            sd = spread.sd or 0.0
            upper.append((row.epsilon, spread.mean + sd))
            lower.append((row.epsilon, spread.mean - sd))
    if not points:
        return None
    style = _style(method)
    band = (upper, lower) if upper != lower else None
    return Line(points, style.colour, method_title(method), style.dash, band=band)


def _rocs(evidence: Evidence, problem: str, model: str, named: bool) -> Iterator[Figure]:
    for method, words in (("none", "Before"), ("froc", "After FROC"), ("optimal", "After the exact method")):
        lines = evidence.lines(problem, model, method, PUBLISHED_EPSILON if method != "none" else None)
        if lines is not None:
            at = "" if lines.epsilon is None else f", epsilon {lines.epsilon:.3g}"
            told = f"ROC curves {words.lower()}{at}".replace("froc", "FROC")
            curves = _roc(lines, f"{told}: {_title(problem, model)}", named)
            yield Figure(f"{problem}-{model}-roc-{method}", told, curves, f"{words}{at}")


def _roc(lines: RocLines, words: str, named: bool) -> Html:
    drawn = [
        replace(_of_group(g), points=line, name=short(name) if named and g < LEGEND else "")
        for g, (name, line) in enumerate(zip(lines.groups, lines.lines, strict=True))
    ]
    x, y = axis("false positive rate", 0, 1), axis("true positive rate", 0, 1)
    return svg(picture([DIAGONAL, *drawn], x, y, words, size=SIZE))


def _of_group(g: int) -> Line:
    """How a group's curve is drawn."""
    return Line(LEVEL_LINE, COLOURS[g % len(COLOURS)], dash=None if g % 2 else DASHES[0])


# -- beside others -----------------------------------------------------------------------------------------------------


def beside_fnnc(evidence: Evidence, problem: str, *, named: bool = False) -> list[Figure]:
    """C1 against C1-FROC: accuracy against epsilon or target; and the gap that each reached."""
    shared = evidence.on_shared(problem, "fnnc", ("fnnc", "froc", "optimal"))
    found = []
    for who in MEASURED:
        reached: list[Line] = []
        for method in ("fnnc", "froc", "optimal"):
            rows = evidence.rows(problem, "fnnc", method, who, shared)
            points = [(r.epsilon, 2 * m) for r in rows if r.epsilon is not None and (m := r.mean("meo")) is not None]
            reached += _marked(points, method, dots=method == "fnnc")
        accuracy = _against(evidence, problem, "fnnc", "accuracy", who, shared)
        rows = evidence.rows(problem, "fnnc", "fnnc", who, shared)
        points = [(r.epsilon, a) for r in rows if r.epsilon is not None and (a := r.mean("accuracy")) is not None]
        if not points or not accuracy:
            continue
        told = f"Accuracy against epsilon, {TRAINED[who]}: FNNC by its target, FROC on plain FNNC"
        lines = [*accuracy, *_marked(points, "fnnc", dots=True)]
        found.append(_picture(f"{problem}-fnnc-accuracy-beside-{who}", told, problem, lines, "accuracy", None, named))
        told = f"Gap reached at the decision, {TRAINED[who]}; dashed: epsilon itself"
        end = max(x for line in reached for x, _ in line.points)
        guide = Line([(0.0, 0.0), (end, end)], "#999999", "epsilon itself", DASHES[0], 1)
        found.append(
            _picture(f"{problem}-fnnc-reached-{who}", told, problem, [guide, *reached], "gap reached", 0.0, named)
        )
    return found


def _picture(
    name: str, told: str, problem: str, lines: list[Line], height: str, low: float | None, named: bool
) -> Figure:
    drawn, x, y = _with_names(lines, named), _epsilons(lines, "epsilon, or FNNC's target"), _range(height, lines, low)
    return Figure(
        name, told, svg(picture(drawn, x, y, f"{told}: {_title(problem, 'fnnc')}", size=BIG)), told, wide=True
    )


def _marked(points: list[tuple[float, float]], method: str, *, dots: bool) -> list[Line]:
    """A line, with marks where it has few points."""
    if not points:
        return []
    style = _style(method)
    line = Line(points, style.colour, "" if dots else method_title(method), style.dash, 1.5 if dots else 2.0)
    marks = Line(points, style.colour, method_title(method), dots=True, mark=style.mark)
    if not dots:
        return [line]
    return [line, marks] if len(points) > 1 else [marks]


PEERS = ("fairprojection-ce", "fairprojection-kl")
OTHERS = ("error-parity", "fairlearn", "aif360-eqodds", "aif360-calibrated", "aif360-reject")


def beside_peers(evidence: Evidence, problem: str, model: str, *, named: bool = False) -> list[Figure]:
    """Accuracy against mean equalized odds: our curves and other methods; empty if no other method was run.

    A method far off all others is named in the caption instead of squeezing them.
    """
    if not any(evidence.rows(problem, model, method, "test") for method in (*PEERS, *OTHERS)):
        return []
    shared = evidence.on_shared(problem, model, (*CURVES[1:], *PEERS, *OTHERS))
    lines = {who: _frontier(evidence, problem, model, who, shared) for who in MEASURED}
    x, y = _near([line for who in MEASURED for line in lines[who]])
    found = []
    for who in MEASURED:
        inside = [line for line in lines[who] if not _outside(line, x, y)]
        out = ((line.name, line.points[0]) for line in lines[who] if line.dots and _outside(line, x, y))
        far = "; ".join(f"{name} ({px:.3f}, {py:.3f})" for name, (px, py) in out)
        told = f"Accuracy against mean equalized odds, {WHO[who]}" + (f". Outside: {far}" if far else "")
        drawing = picture(_with_names(inside, named), x, y, f"{told}: {_title(problem, model)}", size=BIG)
        found.append(Figure(f"{problem}-{model}-peers-{who}", told, svg(drawing), told, wide=True))
    return found


def _near(lines: Sequence[Line]) -> tuple[Axis, Axis]:
    """Axes that hold all lines but those of methods with one point, and these if they are no farther off than all
    others are apart."""
    many = [line for line in lines if len(line.points) > 1 or line.name == method_title("none")] or list(lines)
    (left, right), (low, high) = (
        (min(values), max(values)) for values in zip(*(point for line in many for point in line.points), strict=True)
    )
    width, height = right - left, high - low
    kept = [
        line
        for line in lines
        if all(px <= right + width and low - height <= py <= high + height for px, py in line.points)
    ]
    far = max(px for line in kept for px, _ in line.points)
    return axis("mean equalized odds (0: equal rates)", 0.0, far * 1.04 or 0.1), _range("accuracy", kept)


def _outside(line: Line, x: Axis, y: Axis) -> bool:
    return any(px > x.high or not y.low <= py <= y.high for px, py in line.points)


def _frontier(evidence: Evidence, problem: str, model: str, who: Measured, shared: Table) -> list[Line]:
    found: list[Line] = []
    for method in (*CURVES[1:], *PEERS, *OTHERS, "none"):
        points = [
            (meo, accuracy)
            for row in evidence.rows(problem, model, method, who, shared)
            if (meo := row.mean("meo")) is not None and (accuracy := row.mean("accuracy")) is not None
        ]
        found += _marked(points, method, dots=method not in CURVES[1:])
    return found


# -- legends and files -------------------------------------------------------------------------------------------------


def legend(methods: Iterable[str], *, marked: Collection[str] = ()) -> list[tuple[Html, str]]:
    """What the colours of a row of figures mean; those ``marked`` have dots."""
    items = []
    for method in methods:
        style = _style(method)
        sample = [Line(LEVEL_LINE, style.colour, "", style.dash)]
        if method in marked:
            sample.append(Line([(0.5, 0.5)], style.colour, dots=True, mark=style.mark))
        items.append((_swatch(sample), method_title(method)))
    return items


def group_legend(evidence: Evidence, problem: str, model: str) -> list[tuple[Html, str]] | None:
    """Whose the ROC curves of a row of figures are."""
    lines = evidence.lines(problem, model, "none")
    if lines is None:
        return None
    return [(_swatch([_of_group(g)]), short(name)) for g, name in enumerate(lines.groups[:LEGEND])]


def _swatch(lines: Sequence[Line]) -> Html:
    return swatch([shape for line in lines for shape in drawn(line, lambda at: (2 + 26 * at[0], 14 * at[1]))])


def standalone(picture: Figure) -> str:
    """A figure as a file of its own, in its own size on white ground."""
    width, height = picture.svg.partition('viewBox="0 0 ')[2].partition('"')[0].split()
    start = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" style="background:#fff" '
    return f'{start}font-family="system-ui, sans-serif"{picture.svg.removeprefix("<svg")}\n'
