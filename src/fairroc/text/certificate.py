"""Results as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from unicodedata import category

if TYPE_CHECKING:  # an audit is shown without loading what a fit needs
    from fairroc.fitting.certificate import Certificate, GroupCertificate
    from fairroc.fitting.outlook import Outlook
    from fairroc.froc.index import FrocIndex
    from fairroc.froc.report import FrocGroup, FrocReport

METHOD_WORDS = {"bootstrap": "bootstrap", "dkw": "DKW, for any sample size"}
"""How an upper limit came about."""

NAME_WIDTH = 28
"""Longer group names are shortened in tables (the JSON output keeps them whole)."""


def certificate_text(certificate: Certificate) -> str:
    """A fit in a few lines: what it cost, what is possible, who is drawn."""
    c = certificate
    lines = [
        f"{c.rows:,} rows, {len(c.groups)} groups, epsilon {c.epsilon:g} ({norm_words(c.norm)}), method {c.method}.",
    ]
    allowed = c.epsilon if c.allowed is None else c.allowed
    if c.confidence is not None:
        lines.append(
            f"Epsilon is promised for the population, at {100 * c.confidence:.4g} % confidence: so much less is "
            "allowed here."
        )
    lines.append("")
    if c.unchanged:
        lines.append(f"The score already meets epsilon (gap {c.gap:.4f}): it stays as it is, nothing is drawn.")
    lines += table(
        ["", "before", "after", ""],
        [
            ["largest gap at any threshold", f"{c.gap_before:.4f}", f"{c.gap:.4f}", f"allowed {allowed:.4g}"],
            ["AUC of all people", f"{c.auc_before:.4f}", f"{c.auc:.4f}", f"no fair score exceeds {c.auc_bound:.4f}"],
        ],
    )
    lines += [
        "",
        *table(
            ["group", "rows", "AUC before", "after", "best fair", "moved by draw", "tie drawn"],
            [_group_row(g) for g in c.groups],
        ),
    ]
    lines += ["", f"Ties: {tie_words(c)} {c.levels} levels."]
    if c.ties == "order" and not c.unchanged:
        lines.append("--ties draw would come nearer to the bound on these rows, and draw everyone.")
    if c.curve != "raw":
        lines.append(f"Curves: {curve_words(c.curve)}, an estimate of the population's; epsilon is kept on these rows.")
    lines.append("Figures are exact expectations over the draw on these rows.")
    if c.count_error:
        lines.append(
            f"People were counted in bins of scores: rates can be too low by up to {c.count_error:.2g}, so that gaps "
            f"may exceed those stated by up to {(2 if c.norm == 1 else 1) * c.count_error:.2g}. More bits make it less."
        )
    for g in c.groups:
        if g.pla_loss is not None:
            lines.append(
                f"Query model, group '{short(g.group)}': its AUC is known to within {g.pla_loss.bound:.4f} "
                f"(the paper's estimate: {g.pla_loss.paper:.4f})."
            )
    return "\n".join(lines if c.froc is None else [*lines, "", *froc_lines(c.froc)])


def froc_lines(report: FrocReport) -> list[str]:
    """What the paper's method did, in two sentences and two tables."""
    changes = report.segments - 1
    order = f"the curves' order changes {changes} time{'s' if changes > 1 else ''}" if changes else "no curves cross"
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


def index_text(step: FrocIndex) -> str:
    """One index of Algorithm 1 in a few lines."""
    notes = ["clipped to the unit square"] * step.clipped + ["moved onto the hull"] * step.projected
    cuts = ", ".join(_place(cut) for cut in step.cuts) or "none"
    rows = [
        [f"query of '{short(step.upper)}' (upper)", _place(step.query)],
        [f"query of '{short(step.lower)}' (lower)", _place(step.partner)],
        ["moves to", _place(step.point)],
        ["cuts", cuts],
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


def _place(point: tuple[float, float]) -> str:
    return f"({point[0]:.4f}, {point[1]:.4f})"


def _shift_row(g: FrocGroup) -> list[str]:
    counts = (g.cutshifts, g.upshifts, g.leftshifts, g.hypograph, g.kept, g.clipped, g.above_hull, g.non_monotone)
    return [g.group, *(str(count) for count in counts), f"{g.assumption_42} of {g.moved}"]


def _loss_row(g: FrocGroup) -> list[str]:
    figures = (g.auc_queries, g.auc_points, g.auc_curve, g.auc_optimal, g.losses.pla, g.losses.auc)
    return [g.group, *(f"{round(figure, 4) + 0.0:.4f}" for figure in figures)]  # no "-0.0000"


def _group_row(g: GroupCertificate) -> list[str]:
    aucs = [f"{auc:.4f}" for auc in (g.auc_before, g.auc, g.auc_fair)]
    return [g.group, f"{g.rows:,}", *aucs, f"{g.transport_share:.1%}", f"{g.tie_share:.1%}"]


def tie_words(certificate: Certificate) -> str:
    """How ties were treated, as a sentence."""
    if certificate.unchanged:
        return "as in the original score."
    if certificate.ties == "order":
        return f"raw order kept (internal epsilon {certificate.inner_epsilon:.4g})."
    return "drawn."


def curve_words(curve: str) -> str:
    """The curves that were worked on, in words."""
    name, _, half = curve.partition(", ")
    return f"halfway between raw and {name}" if half else name


def outlook_text(outlook: Outlook) -> str:
    """What to expect of new people, in three sentences."""
    o, limit = outlook, outlook.limited_by
    estimate = (
        f"no estimate of the gap: {o.estimate_reason}"
        if o.gap_estimate is None
        else f"the gap will be about {o.gap_estimate:.2f} ({o.folds}-fold cross-fitting, less the folds' own noise)"
    )
    safe = "" if o.upper_dkw is None else f", {o.upper_dkw:.3f} ({METHOD_WORDS['dkw']})"
    return "\n".join(
        [
            f"People not seen yet, of the same population: {estimate}.",
            f"At {100 * o.level:.4g} % confidence it is at most {o.upper_bootstrap:.3f} (bootstrap){safe}.",
            f"Least known is group '{short(limit.group)}', label {limit.label}: {limit.rows:,} rows, "
            f"±{limit.width:.3f}; {limit.rows_to_halve:,} would halve that. {o.rows_to_halve:,} rows like these would "
            "halve the distance to both limits.",
        ]
    )


def norm_words(norm: float | int | str) -> str:
    """A norm as a formula of the two rates."""
    if norm == 1:
        return "|dFPR| + |dTPR|"
    if norm in ("inf", float("inf")):
        return "larger of |dFPR| and |dTPR|"
    return f"L-{norm:g} distance of (FPR, TPR)" if not isinstance(norm, str) else norm


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: first column to the left, the others to the right."""
    cells = [[short(row[0]), *row[1:]] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in cells
    ]


def short(name: str) -> str:
    """A group name that fits a table: no line breaks, no control characters, not too long."""
    flat = " ".join("".join(" " if category(letter) in ("Cc", "Cs") else letter for letter in name).split())
    return flat if len(flat) <= NAME_WIDTH else flat[: NAME_WIDTH - 1] + "…"
