"""The paper's method in words: what Algorithm 1 did to all queries, and to one."""

from __future__ import annotations

from fairroc.froc.index import FrocIndex
from fairroc.froc.report import FrocGroup, FrocReport
from fairroc.text.words import norm_words, plural, short, table


def froc_lines(report: FrocReport) -> list[str]:
    """What the paper's method did, in two sentences and two tables."""
    changes = report.segments - 1
    order = f"the curves' order changes {plural(changes, 'time')}" if changes else "no curves cross"
    shifts = ["cut", "up", "left", "under", "kept", "clipped", "above hull", "steps back", "4.2 holds"]
    return [
        f"Algorithm 1 at {report.queries} distinct queries and epsilon {report.epsilon:.4g}; {order}.",
        f"Largest gap of its points at a query: {report.gap:.4f}, {report.unfair} of {report.queries} above epsilon; "
        "the fair score made of them is within epsilon.",
        "",
        *table(["queries moved", *shifts], [_shift_row(g) for g in report.groups]),
        "",
        *table(
            ["AUC", "queries", "moved points", "curve made of them", "optimum", "L_PLA", "L_AUC"],
            [_loss_row(g) for g in report.groups],
        ),
    ]


def _shift_row(g: FrocGroup) -> list[str]:
    counts = (g.cutshifts, g.upshifts, g.leftshifts, g.hypograph, g.kept, g.clipped, g.above_hull, g.non_monotone)
    return [g.group, *(str(count) for count in counts), f"{g.assumption_42} of {g.moved}"]


def _loss_row(g: FrocGroup) -> list[str]:
    figures = (g.auc_queries, g.auc_points, g.auc_curve, g.auc_optimal, g.losses.pla, g.losses.auc)
    return [g.group, *(f"{round(figure, 4) + 0.0:.4f}" for figure in figures)]  # no "-0.0000"


def index_text(step: FrocIndex) -> str:
    """One index of Algorithm 1 in a few lines."""
    notes = ["clipped to the unit square"] * step.clipped + ["moved onto the hull"] * step.projected
    rows = [
        [f"query of '{short(step.upper)}' (upper)", _point(step.query)],
        [f"query of '{short(step.lower)}' (lower)", _point(step.partner)],
        ["moves to", _point(step.point)],
        ["cuts", ", ".join(_point(cut) for cut in step.cuts) or "none"],
        ["distance before", f"{step.gap_before:.4f}"],
        ["distance after", f"{step.gap:.4f}"],
    ]
    width = max(len(name) for name, _ in rows)
    head = (
        f"Query {step.index} of {step.queries}: score >= {step.threshold:g}, epsilon {step.epsilon:g} ({norm_words(1)})"
    )
    return "\n".join(
        [head, "; ".join([step.shift, *notes]), "", *(f"{name:<{width}}  {value}" for name, value in rows)]
    )


def _point(point: tuple[float, float]) -> str:
    return f"({point[0]:.4f}, {point[1]:.4f})"
