"""A fit in words: certificate beside what to expect of new people, the paper's method, frontiers, chosen thresholds."""

from __future__ import annotations

import numpy as np

from fairroc.core.constraint import FEW_SELECTED, OneRate
from fairroc.fitting.certificate import Certificate, GroupCertificate
from fairroc.fitting.frontier import Frontier, FrontierPoint, left_out_words
from fairroc.fitting.one_draw import OneDraw
from fairroc.fitting.outlook import Outlook
from fairroc.fitting.thresholds import Choice, ThresholdRates
from fairroc.froc.diagnostics import FrocReport
from fairroc.froc.run import FrocIndex
from fairroc.options import CONSTRAINT
from fairroc.text.outlook import (
    allowed_by,
    caution,
    least_certain_words,
    new_people_lines,
    promise_words,
    side_by_side,
    unchanged_words,
)
from fairroc.text.words import (
    MEANINGS,
    RATIO_GAPS,
    asked_words,
    counted_words,
    figure,
    norm_words,
    percent,
    plural,
    short,
    small_lines,
    table,
    where_words,
)


def fit_text(certificate: Certificate, outlook: Outlook, one_draw: OneDraw) -> str:
    """A fit in a few lines: new and fitted people side by side, what to beware of, what was done to whom."""
    c, warned = certificate, caution(outlook, allowed_by(certificate))
    warning = [] if warned is None else warned.lines()
    unchanged = [unchanged_words(c, outlook)] if c.unchanged else []
    groups, notes, *more = _details(c)
    return _joined(
        warning if outlook.harms else [],
        [*_head(c), promise_words(c, outlook), *unchanged],
        side_by_side(outlook, c),
        [] if outlook.harms else warning,
        new_people_lines(outlook, one_draw),
        groups,
        [*notes, least_certain_words(outlook)],
        *more,
    )


def certificate_text(certificate: Certificate) -> str:
    """The fitted people alone: what is possible, what was done to whom."""
    return _joined(_head(certificate), *_details(certificate))


def _joined(*parts: list[str]) -> str:
    return "\n\n".join("\n".join(part) for part in parts if part)


def _head(c: Certificate) -> list[str]:
    asked = asked_words(c.fairness, c.epsilon, c.ratio, c.tolerances)
    how = f", method {c.method}" if c.constraint == CONSTRAINT.default else ""
    ratio = [] if c.ratio is None else [RATIO_GAPS]
    return [f"{c.rows:,} rows, {len(c.groups)} groups, {asked}{how}.", *ratio, *small_lines(c.small_groups)]


def _details(c: Certificate) -> list[list[str]]:
    """The groups, notes, and what the paper's method did."""
    head = ["group", "rows", "AUC before", "after", "best fair", "moved by draw", "tie drawn"]
    allowed = c.epsilon if c.allowed is None else c.allowed
    bound = f"No score with a gap of at most {allowed:.4g} on these rows has an overall AUC above {c.auc_bound:.4f}."
    groups = table(head, [_group_row(g) for g in c.groups])
    return [groups, [bound, *_notes(c)], [] if c.froc is None else froc_lines(c.froc)]


def _group_row(g: GroupCertificate) -> list[str]:
    aucs = [figure(auc) for auc in (g.auc_before, g.auc, g.auc_fair)]
    return [g.group, f"{g.rows:,}", *aucs, percent(g.transport_share), percent(g.tie_share)]


def _notes(c: Certificate) -> list[str]:
    lines = [f"Ties: {tie_words(c)} {c.levels} levels."]
    if c.ties == "order" and not c.unchanged and c.promise != "new" and c.draws != "never" and c.where is None:
        lines.append("--ties draw would come closer to the bound on these rows, but draws for everyone.")
    if c.ties == "order" and c.ties_reason is not None:
        lines.append(f"{c.ties_reason[0].upper()}{c.ties_reason[1:]}.")
    lines += _choice_lines(c)
    lines += [*_rate_lines(c), exact_words(c)]
    if c.count_error:
        off = c.fairness.largest * c.count_error
        lines.append(counted_words(c.count_error, f"so gaps can exceed those stated by up to {off:.2g}"))
    lines += [
        f"Query model, group '{short(g.group)}': its AUC is known to within {g.pla_loss.bound:.4f} (the paper's "
        f"estimate: {g.pla_loss.paper:.4f})."
        for g in c.groups
        if g.pla_loss is not None
    ]
    return lines


def _rate_lines(c: Certificate) -> list[str]:
    """Every rate's largest difference, where a constraint does not hold all of them."""
    if c.rates is None or c.rates_before is None or (c.constraint == CONSTRAINT.default and c.tolerances is None):
        return []
    names = {"tpr": "TPR", "fpr": "FPR", "selection_rate": "selection rate"}
    parts = [f"{word} {getattr(c.rates_before, n):.3f} -> {getattr(c.rates, n):.3f}" for n, word in names.items()]
    return [f"Each rate for itself, largest difference at one threshold, before -> after: {', '.join(parts)}."]


def _choice_lines(c: Certificate) -> list[str]:
    """Which curves were worked on and whose ties are drawn, and why; nothing where there was nothing to choose."""
    if c.unchanged or c.promise == "new":
        return []
    parts = []
    estimated = [g for g in c.groups if g.curve != "raw"]
    if estimated:
        name, _, half = estimated[0].curve.partition(", ")
        name = f"halfway between raw and {name}" if half else name
        whom = _for_whom(estimated, c, ", raw for the others")
        parts.append(f"Curves: {name}{whom}, an estimate of the population's")
    if c.ties == "order":
        dips = [g for g in c.groups if g.ties == "dips"]
        if dips:
            parts.append(f"ties drawn where a curve dips far below its hull{_for_whom(dips, c)}")
        misled = [g for g in c.groups if g.ties == "draw" and g.misled]
        if misled:
            parts.append(f"ties drawn{_for_whom(misled, c)}, whose order misleads")
        drawn = [g for g in c.groups if g.ties == "draw" and not g.misled]
        if drawn:
            parts.append(f"ties drawn{_for_whom(drawn, c)}, whose order would cost the others AUC")
    if not parts:
        return []
    parts.append(f"{allowed_by(c).kept} on these rows")
    words = "; ".join(parts)
    return [f"{words[0].upper()}{words[1:]}."]


def _for_whom(groups: list[GroupCertificate], c: Certificate, others: str = "") -> str:
    """For which groups, unless for all."""
    if len(groups) == len(c.groups):
        return ""
    names = [f"'{short(g.group)}'" for g in groups]
    shown = ", ".join(names) if len(names) <= 4 else f"{len(names)} of {len(c.groups)} groups"
    return f" for {shown}{others}"


def exact_words(certificate: Certificate) -> str:
    """What the figures of the fitted people are."""
    draw = "" if certificate.draws == "never" else " expectations over the draw"
    return f"Figures of the fitted people are exact{draw}."


def tie_words(certificate: Certificate) -> str:
    """How ties were treated, as a sentence."""
    if certificate.unchanged:
        return "as in the original score."
    if certificate.ties == "order":
        return f"raw order kept (internal epsilon {certificate.inner_epsilon:.4g})."
    return "drawn." if certificate.ties_reason is None else f"drawn, since {certificate.ties_reason}."


def froc_lines(report: FrocReport) -> list[str]:
    """What the paper's method did, in two sentences and two tables."""
    changes = report.segments - 1
    order = f"the curves' order changes {plural(changes, 'time')}" if changes else "no curves cross"
    shifts = ["cut", "up", "left", "under", "kept", "clipped", "above hull", "steps back", "4.2 holds"]
    moved, losses = [], []
    for g in report.groups:
        counts = (g.cutshifts, g.upshifts, g.leftshifts, g.hypograph, g.kept, g.clipped, g.above_hull, g.non_monotone)
        moved.append([g.group, *map(str, counts), f"{g.assumption_42} of {g.moved}"])
        figures = (g.auc_queries, g.auc_points, g.auc_curve, g.auc_optimal, g.losses.pla, g.losses.auc)
        losses.append([g.group, *(f"{round(figure, 4) + 0.0:.4f}" for figure in figures)])  # no "-0.0000"
    return [
        f"Algorithm 1 at {report.queries} distinct queries and epsilon {report.epsilon:.4g}; {order}.",
        f"Largest gap of its points at a query: {report.gap:.4f}, {report.unfair} of {report.queries} above epsilon; "
        "the fair score made of them is within epsilon.",
        "",
        *table(["queries moved", *shifts], moved),
        "",
        *table(
            ["AUC", "queries", "moved points", "curve made of them", "optimum", "L_PLA", "L_AUC"],
            losses,
        ),
    ]


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


SCATTER = (
    "Figures are exact expectations over the draw on these rows; a single draw scatters around them, and new people"
)


def frontier_text(found: Frontier) -> str:
    """A frontier as a table, one row for each epsilon."""
    before, asked = found.before, found.fairness
    ratio, plain = before.ratio is not None, found.constraint == CONSTRAINT.default
    ties = {"draw": "ties are drawn", "order": f"raw order is kept{' where that is better' if plain else ''}"}[
        found.ties
    ]
    ties = "raw order is kept, and nothing is drawn" if found.draws == "never" else ties
    ties = f"{'the ratio' if ratio else 'epsilon'} is meant for new people" if found.promise == "new" else ties
    size = f"{found.rows:,} rows, {len(before.groups)} groups"
    how = f", method {found.method}" if plain else where_words(asked.where)
    head = [
        "ratio" if ratio else "epsilon",
        "new: gap",
        "AUC",
        "fitted: gap",
        "AUC",
        "no fair score exceeds",
        "accuracy",
        "balanced",
    ]
    head += ["disparate impact", "drawn"]
    return "\n".join(
        [
            f"{size}, {asked.formula}{how}; {ties}.",
            *([] if plain else [f"{MEANINGS[found.constraint]}."]),
            *([_ratio_words(found)] * ratio),
            *small_lines(found.small_groups),
            f"Original score: gap {before.gap:.4f}, AUC {before.auc:.4f}, best accuracy {before.accuracy:.4f}.",
            "",
            *table(head, [_point_row(point) for point in found.points]),
            "",
            *_frontier_notes(found),
            "Accuracy is the largest over all thresholds; disparate impact is taken at the most accurate threshold.",
            *(EXACT_UNDRAWN if found.draws == "never" else EXACT_DRAWN),
        ]
    )


EXACT_DRAWN = (
    "New people's gap and AUC are what to expect of people like these. Other figures are exact expectations",
    "over the draw on these rows; a single draw scatters around them.",
)
EXACT_UNDRAWN = (
    "New people's gap and AUC are what to expect of people like these. Other figures are exact on these rows.",
)


def _ratio_words(found: Frontier) -> str:
    """What gaps of ratios are, and whose are looked at where enough people are selected."""
    if found.fairness.told().where == found.where:
        return RATIO_GAPS
    whose = "All are" if found.promise == "new" else "New people's is"
    return f"{RATIO_GAPS} {whose} told where {FEW_SELECTED:.0%} of people or more are selected."


def _frontier_notes(found: Frontier) -> list[str]:
    """Where ties are drawn that were to keep their order; where new people's gap is above an epsilon meant for them."""
    left = [*filter(None, [left_out_words(found)])]
    changed = [point for point in found.points if not point.unchanged]
    drawn = [point.epsilon for point in changed if point.ties != found.ties]
    above = [point.epsilon for point in found.points if point.gap_estimate > point.epsilon]
    count = len(found.points)
    if found.promise == "new":
        goal = "epsilon" if found.before.ratio is None else "what the ratio allows"
        allowed = "epsilons" if found.before.ratio is None else "ratios"
        why = "no score reaches it with these rows, and the least that can be had is shown"
        return [
            *left,
            *([f"New people's gap is above {goal} at {len(above)} of {count} {allowed}: {why}."] if above else []),
        ]
    why = "raw order would leave the gap above epsilon, cost AUC, or spare hardly anyone"
    return [*left, *([f"Ties of all groups are drawn at {len(drawn)} of {count} epsilons: {why}."] if drawn else [])]


def _point_row(point: FrontierPoint) -> list[str]:
    figures = (point.gap, point.auc, point.auc_bound, point.accuracy, point.balanced_accuracy, point.disparate_impact)
    new = [figure(x, 3) for x in (point.gap_estimate, point.auc_estimate)]
    allowed = point.epsilon if point.ratio is None else point.ratio
    return [f"{allowed:.4g}", *new, *(figure(x, none="–") for x in figures), percent(point.randomised_share)]


def choice_text(choice: Choice) -> str:
    """A chosen threshold and what it means for each group."""
    head = ["group", "rows", "selected", "TPR", "FPR", "precision", "accuracy"]
    costs = choice.rule == "cost"
    return "\n".join(
        [
            f"Select everyone with a fair score of {choice.threshold!r} or more: {_aim(choice)}.",
            "",
            *table(
                [*head, *(["cost per person"] if costs else [])],
                [_rates_row(rates, costs) for rates in (*choice.groups, choice.overall)],
            ),
            "",
            _gap_words(choice),
            f"{SCATTER} can differ.",
        ]
    )


def _gap_words(choice: Choice) -> str:
    """How far apart the groups are at a chosen threshold, in what the model keeps close."""
    asked = choice.fairness
    if not isinstance(asked, OneRate):
        return f"Largest gap between two groups at this threshold ({asked.formula}): {choice.gap:.4f}."
    rate, ends = asked.WORDS[asked.rate], where_words(asked.where).removeprefix(", where ")
    if not asked.looks(np.array([choice.overall.selection_rate]))[0]:
        return f"The model keeps the {rate} close only where {ends}: this threshold is outside, and no gap is measured."
    if choice.ratio is None:
        return f"Largest difference of two groups' {rate} at this threshold: {choice.gap:.4f}."
    return f"Smallest over largest {rate} of the groups at this threshold: {1 - choice.gap:.4f}."


def _aim(choice: Choice) -> str:
    if choice.rule == "cost":
        return (
            f"the least expected cost where a false positive costs {choice.cost_fp:g} and a false negative "
            f"{choice.cost_fn:g}"
        )
    return {
        "recall": f"the fewest people selected with an expected recall of at least {choice.target:g}",
        "precision": f"the most people selected with an expected precision of at least {choice.target:g}",
        "selection_rate": f"the most people selected with an expected selection rate of at most {choice.target:.1%}",
    }[choice.rule]


def _rates_row(rates: ThresholdRates, costs: bool) -> list[str]:
    figures = (rates.selection_rate, rates.tpr, rates.fpr, rates.precision, rates.accuracy)
    cost = [f"{rates.expected_cost:.6g}"] if costs else []
    return [rates.group, f"{rates.rows:,}", *(figure(x, none="–") for x in figures), *cost]
