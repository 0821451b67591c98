"""A fit in words: certificate beside what to expect of new people, the paper's method, chosen thresholds."""

from __future__ import annotations

import numpy as np

from fairroc.core.constraint import OneRate
from fairroc.fitting.certificate import Certificate, GroupCertificate
from fairroc.fitting.fit import MANY_DRAWN, drawn_words, ways_without_draw
from fairroc.fitting.one_draw import OneDraw
from fairroc.fitting.outlook import Outlook
from fairroc.fitting.thresholds import Choice, ThresholdRates
from fairroc.froc.diagnostics import FrocReport
from fairroc.froc.run import FrocIndex
from fairroc.options import CONSTRAINT
from fairroc.text.families import bound_words, cell_words, head_lines
from fairroc.text.outlook import (
    allowed_by,
    caution,
    least_certain_words,
    most_drawn,
    new_people_lines,
    nobody_drawn,
    promise_words,
    side_by_side,
    unchanged_words,
)
from fairroc.text.people import epsilon_words
from fairroc.text.words import (
    RATIO_GAPS,
    SELECTED,
    asked_words,
    counted_words,
    norm_words,
    percent,
    plural,
    rounded,
    short,
    small_lines,
    table,
    where_words,
)


def fit_text(
    certificate: Certificate,
    outlook: Outlook,
    one_draw: OneDraw,
    *,
    positive_means: str = SELECTED,
    verbose: bool = False,
) -> str:
    """A fit in a few lines: new and fitted people side by side, what to beware of, what was done to whom."""
    c, warned = certificate, caution(outlook, allowed_by(certificate, outlook))
    warning = [] if warned is None else warned.lines()
    unchanged = [unchanged_words(c, outlook)] if c.unchanged else []
    groups, notes, *more = _details(c, verbose)
    return _joined(
        warning if outlook.harms else [],
        [*_head(c, positive_means), promise_words(c, outlook, verbose=verbose), *unchanged],
        side_by_side(outlook, c, positive_means),
        [] if outlook.harms else warning,
        new_people_lines(outlook, one_draw, verbose=verbose),
        groups,
        [*notes, *([least_certain_words(outlook)] if verbose else [])],
        *more,
    )


def certificate_text(certificate: Certificate) -> str:
    """The fitted people alone: what is possible, what was done to whom."""
    return _joined(_head(certificate), *_details(certificate, True))


def _joined(*parts: list[str]) -> str:
    return "\n\n".join("\n".join(part) for part in parts if part)


def _head(c: Certificate, word: str = SELECTED) -> list[str]:
    if c.families:
        return head_lines(c, word)
    asked = asked_words(c.fairness, c.epsilon, c.ratio, c.tolerances, word)
    how = f", method {c.method}" if c.constraint == CONSTRAINT.default else ""
    ratio = [] if c.ratio is None else [RATIO_GAPS]
    return [
        f"{c.rows:,} rows, {len(c.groups)} groups, {asked}{how}.",
        epsilon_words(c.fairness, c.epsilon, word),
        *ratio,
        *small_lines(c.small_groups),
    ]


DRAWN = "Drawn: share of people whose fair score depends on a random draw."


def _details(c: Certificate, verbose: bool) -> list[list[str]]:
    """The groups, notes, and what the paper's method did."""
    best = [] if c.families else ["at best"]  # by cells it is not known group by group
    shares = [] if nobody_drawn(c) else ["drawn", *(["to be fair", "ties only"] if verbose else [])]
    head = ["group", "rows", "AUC before", "after", *best, *shares]
    groups = table(head, [_group_row(g, len(shares), best=bool(best)) for g in c.groups])
    return [
        [*groups, *drawn_lines(c)],
        [*bound_words(c), *(_notes(c) if verbose else []), *_rate_lines(c), *_caveats(c)],
        [] if c.froc is None else froc_lines(c.froc),
    ]


def drawn_lines(c: Certificate) -> list[str]:
    """Who is drawn, or what was done instead."""
    if c.unchanged:
        return []
    if nobody_drawn(c):
        why = "nobody is drawn: the score decides alone" if c.ties_reason is None else c.ties_reason
        return [f"{why[0].upper()}{why[1:]}."]
    return [DRAWN, *many_drawn_words(c)]


def many_drawn_words(c: Certificate) -> list[str]:
    """For whom a draw decides, if many, and what would be without; nothing where the fit has warned of it."""
    (group, share), least = most_drawn(c.groups), c.least_gap_without_draw
    if share <= MANY_DRAWN or (c.draw == "few" and least is not None):
        return []
    queried = c.method == "froc" or c.groups[0].pla_loss is not None
    known = None if queried or c.tolerances else least
    ways = ways_without_draw(known, queried=queried, more=" with draw='few'")
    return [drawn_words(c.drawn, group, share, None if least is None else ways)]


def _group_row(g: GroupCertificate, shares: int, *, best: bool) -> list[str]:
    aucs = [rounded(auc) for auc in (g.auc_before, g.auc, *([g.auc_fair] if best else []))]
    drawn = (g.randomised_share, g.transport_share, g.tie_share)
    return [g.group, f"{g.rows:,}", *aucs, *map(percent, drawn[:shares])]


def _notes(c: Certificate) -> list[str]:
    lines = [f"Ties: {tie_words(c)} {c.levels} levels."]
    if c.ties == "order" and not nobody_drawn(c) and c.promise != "new" and c.where is None:
        lines.append("--draw all would come closer to the bound on these rows, but draws for everyone.")
    if c.ties == "order" and c.ties_reason is not None and not nobody_drawn(c):
        lines.append(f"{c.ties_reason[0].upper()}{c.ties_reason[1:]}.")
    return [
        *lines,
        *cell_words(c),
        exact_words(c),
        *(
            f"Query model, group '{short(g.group)}': its AUC is known to within {rounded(g.pla_loss.bound)} (the "
            f"paper's estimate: {rounded(g.pla_loss.paper)})."
            for g in c.groups
            if g.pla_loss is not None
        ),
    ]


def _caveats(c: Certificate) -> list[str]:
    """What counting in bins leaves open of all figures."""
    if not c.count_error:
        return []
    off = c.fairness.largest * c.count_error
    return [counted_words(c.count_error, f"so gaps can exceed those stated by up to {off:.2g}")]


def _rate_lines(c: Certificate) -> list[str]:
    """Every rate's largest difference, where a constraint does not hold all of them."""
    parts = [f"{word} {before:.3f} -> {after:.3f}" for word, before, after in each_rate(c)]
    if not parts or (c.constraint == CONSTRAINT.default and c.tolerances is None):
        return []
    return [f"Each rate for itself, largest difference at one threshold, before -> after: {', '.join(parts)}."]


def each_rate(c: Certificate) -> list[tuple[str, float, float]]:
    """Every rate's name, and its largest difference before and after; nothing where that is not known."""
    if c.rates is None or c.rates_before is None:
        return []
    names = {"tpr": "TPR", "fpr": "FPR", "selection_rate": "selection rate"}
    return [(word, getattr(c.rates_before, name), getattr(c.rates, name)) for name, word in names.items()]


def exact_words(certificate: Certificate) -> str:
    """What the figures of the fitted people are."""
    draw = "" if nobody_drawn(certificate) else " expectations over the draw"
    return f"Figures of the fitted people are exact{draw}."


def tie_words(certificate: Certificate) -> str:
    """How ties were treated, as a sentence."""
    if certificate.unchanged:
        return "as in the original score."
    if nobody_drawn(certificate):
        return "nobody is drawn."
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
        losses.append([g.group, *map(rounded, figures)])
    return [
        f"Algorithm 1 at {report.queries} distinct queries and epsilon {report.epsilon:.4g}; {order}.",
        f"Largest gap of its points at a query: {rounded(report.gap)}, {report.unfair} of {report.queries} above "
        "epsilon; the fair score made of them is within epsilon.",
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
        ["distance before", rounded(step.gap_before)],
        ["distance after", rounded(step.gap)],
    ]
    width = max(len(name) for name, _ in rows)
    at = f"score >= {step.threshold:.6g}, epsilon {step.epsilon:.4g} ({norm_words(1)})"
    head = f"Query {step.index} of {step.queries}: {at}"
    return "\n".join(
        [head, "; ".join([step.shift, *notes]), "", *(f"{name:<{width}}  {value}" for name, value in rows)]
    )


def _point(point: tuple[float, float]) -> str:
    return f"({rounded(point[0])}, {rounded(point[1])})"


def choice_text(choice: Choice, *, positive_means: str = SELECTED) -> str:
    """A chosen threshold and what it means for each group."""
    head, costs = ["group", "rows", positive_means, "TPR", "FPR", "precision", "accuracy"], choice.rule == "cost"
    drawn = choice.overall.drawn_share > 0
    head += [*(["cost per person"] if costs else []), *(["by a draw"] if drawn else [])]
    exact = f"{choice.threshold:.6g}"
    exact = exact if float(exact) == choice.threshold else f"{choice.threshold:.4g} (exactly: {choice.threshold!r})"
    return "\n".join(
        [
            f"Threshold of the fair score: {exact}. Whoever reaches it is {positive_means}.",
            f"This is {_aim(choice, positive_means)}.",
            "",
            *table(head, [_rates_row(rates, costs, drawn) for rates in (*choice.groups, choice.overall)]),
            "",
            *_decided_words(choice),
            _gap_words(choice, positive_means),
            "Figures are exact expectations over the draw on these rows; a single draw scatters around them, and new "
            "people can differ."
            if drawn
            else "Figures are exact on these rows; new people can differ.",
        ]
    )


def _decided_words(choice: Choice) -> list[str]:
    """How many decisions hang on a draw; nothing of a model that draws nobody."""
    found = choice.overall
    if choice.draws_nobody:
        return []
    if not found.drawn_share:
        return ["At this threshold nobody's decision hangs on a draw."]
    most = max(choice.groups, key=lambda rates: rates.drawn_share)
    people = "" if found.drawn_rows is None else f" ({found.drawn_rows:,} of {found.rows:,})"
    return [
        f"At this threshold a draw decides for {percent(found.drawn_share)} of people{people}, for "
        f"{percent(most.drawn_share)} of group '{short(most.group)}'."
    ]


def _gap_words(choice: Choice, word: str) -> str:
    """How far apart the groups are at a chosen threshold, in what the model keeps close."""
    asked = choice.fairness
    if not isinstance(asked, OneRate):
        return f"Largest gap between two groups at this threshold ({asked.formula}): {rounded(choice.gap)}."
    rate, ends = asked.WORDS[asked.rate], where_words(asked.where, word).removeprefix(", where ")
    if not asked.looks(np.array([choice.overall.selection_rate]))[0]:
        return f"The model keeps the {rate} close only where {ends}: this threshold is outside, and no gap is measured."
    if choice.ratio is None:
        return f"Largest difference of two groups' {rate} at this threshold: {rounded(choice.gap)}."
    return f"Smallest over largest {rate} of the groups at this threshold: {rounded(1 - choice.gap)}."


def _aim(choice: Choice, word: str) -> str:
    if choice.rule == "cost":
        return (
            f"the threshold of least expected cost where a false positive costs {choice.cost_fp:g} and a false "
            f"negative {choice.cost_fn:g}"
        )
    return {
        "recall": f"the fewest people {word} with an expected recall of at least {choice.target:g}",
        "precision": f"the most people {word} with an expected precision of at least {choice.target:g}",
        "selection_rate": f"the most people {word} with an expected selection rate of at most {choice.target:.1%}",
    }[choice.rule]


def _rates_row(rates: ThresholdRates, costs: bool, drawn: bool) -> list[str]:
    figures = (rates.selection_rate, rates.tpr, rates.fpr, rates.precision, rates.accuracy)
    more = [*([f"{rates.expected_cost:.4g}"] if costs else []), *([percent(rates.drawn_share)] if drawn else [])]
    return [rates.group, f"{rates.rows:,}", *(rounded(x, none="–") for x in figures), *more]
