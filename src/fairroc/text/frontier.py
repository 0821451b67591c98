"""A frontier in words: a table with one row for each epsilon, and which of them is recommended."""

from __future__ import annotations

from fairroc.core.constraint import FEW_SELECTED
from fairroc.fitting.frontier import Frontier, FrontierPoint, left_out_words
from fairroc.options import CONSTRAINT
from fairroc.text.certificate import DRAWN
from fairroc.text.outlook import met, most_drawn
from fairroc.text.people import epsilon_words
from fairroc.text.words import (
    RATIO_GAPS,
    SELECTED,
    Allowed,
    meaning,
    percent,
    rounded,
    short,
    small_lines,
    table,
    where_words,
)


def frontier_text(found: Frontier, *, positive_means: str = SELECTED, verbose: bool = False) -> str:
    """A frontier as a table, one row for each epsilon, with the recommended one marked."""
    before, asked, chosen = found.before, found.fairness, found.recommended
    ratio, plain = before.ratio is not None, found.constraint == CONSTRAINT.default
    size = f"{found.rows:,} rows, {len(before.groups)} groups"
    how = f", method {found.method}" if plain else where_words(asked.where, positive_means)
    drawn = any(point.randomised_share for point in found.points)
    head = ["ratio" if ratio else "epsilon", "new people: gap", "AUC", "fitted people: gap", "AUC", *["drawn"] * drawn]
    head += ["AUC at best", "accuracy", *(["balanced"] if verbose else []), "disparate impact"]
    lines = table(head, [_point_row(point, verbose, drawn) for point in found.points])
    marks = [" ", *("*" if chosen is not None and i == chosen.index else " " for i in range(len(found.points)))]
    return "\n".join(
        [
            f"{size}, {asked.formula}{how}{_tie_words(found, verbose)}.",
            f"{meaning(found.constraint, positive_means)}.",
            *([_ratio_words(found, positive_means)] * ratio),
            *small_lines(found.small_groups),
            f"Original score: gap {rounded(before.gap)}, AUC {rounded(before.auc)}, best accuracy "
            f"{rounded(before.accuracy)}.",
            "",
            *(f"{mark} {line}" for mark, line in zip(marks, lines, strict=True)),
            "",
            recommended_words(found, mark=" (*)"),
            *recommended_meaning(found, positive_means),
            "",
            *_frontier_notes(found, verbose),
            "Accuracy is the largest over all thresholds; disparate impact is taken at the most accurate threshold.",
            *([DRAWN] if drawn else []),
            *(EXACT_DRAWN if drawn else EXACT_UNDRAWN),
        ]
    )


def meanings(found: Frontier, positive_means: str = SELECTED) -> list[str]:
    """What the epsilon of every row means in people."""
    return [epsilon_words(found.fairness, point.epsilon, positive_means) for point in found.points]


def recommended_meaning(found: Frontier, positive_means: str = SELECTED) -> list[str]:
    """What the recommended epsilon means in people; nothing where none is."""
    chosen = found.recommended
    return [] if chosen is None else [epsilon_words(found.fairness, chosen.epsilon, positive_means)]


def recommended_words(found: Frontier, *, mark: str = "") -> str:
    """Which row of a frontier is recommended, why, and who is drawn there."""
    chosen, ratio = found.recommended, found.before.ratio is not None
    if chosen is None:
        least = min(point.gap_estimate for point in found.points)
        more = Allowed(least, 1.0 - least if ratio else None).more(met(least))
        return f"No row is recommended: none is expected to be kept among new people. Take more rows, or {more}."
    point = found.points[chosen.index]
    name = f"Recommended{mark}: {f'ratio {1 - point.epsilon:.4g}' if ratio else f'epsilon {point.epsilon:.4g}'}"
    auc = f"AUC {rounded(found.before.auc_estimate)} before, {rounded(point.auc_estimate)} after"
    if chosen.reason == "unchanged":
        return (
            f"{name}. The original score is expected to keep it among new people, and no row does better within budget."
        )
    gap = f"{rounded(point.gap_estimate)} among new people ({rounded(found.before.gap_estimate)} before)"
    draws = ", draws included" if any(each.randomised_share for each in found.points) else ""
    if chosen.reason == "budget":
        cost = f"are expected to be kept and cost at most {chosen.auc_cost:.4g} of AUC{draws} ({auc})"
        why = f"Of all rows that {cost}, it leaves the smallest gap: {gap}."
    else:
        cost = f"costs more than {chosen.auc_cost:.4g} of AUC{draws}; this one costs least ({auc})"
        why = f"Every row that is expected to be kept {cost}, with a gap of {gap}."
    return f"{name}. {why}{_drawn_there(found, point)}"


def _drawn_there(found: Frontier, point: FrontierPoint) -> str:
    """How many people are drawn at the recommended epsilon, beside what would be without."""
    least = found.least_gap_without_draw
    if not any(each.randomised_share for each in found.points):
        return ""
    words = " Nobody is drawn there"
    if point.randomised_share:
        group, share = most_drawn(point.groups)
        whom = f"{percent(share)} of group '{short(group)}'"
        words = f" {percent(point.randomised_share)} of people are drawn there ({whom})"
    if least is not None:
        words += f"; the least gap without a draw, different scores of a group kept apart, is about {least:.3f}"
    return f"{words}."


def _tie_words(found: Frontier, verbose: bool) -> str:
    """For whom epsilon is meant, and how people with equal or close scores are treated."""
    if found.promise == "new":
        return f"; {'epsilon' if found.before.ratio is None else 'the ratio'} is meant for new people"
    if found.draw == "never":
        return "; nobody is drawn"
    if not verbose:
        return ""
    better = " where that is better" if found.constraint == CONSTRAINT.default else ""
    return {"draw": "; ties are drawn", "order": f"; raw order is kept{better}"}[found.ties]


EXACT_DRAWN = (
    "New people's gap and AUC are what to expect of people like these. Other figures are exact expectations",
    "over the draw on these rows; a single draw scatters around them.",
)
EXACT_UNDRAWN = (
    "New people's gap and AUC are what to expect of people like these. Other figures are exact on these rows.",
)


def _ratio_words(found: Frontier, word: str) -> str:
    """What gaps of ratios are, and whose are looked at where enough people are selected."""
    if found.fairness.told().where == found.where:
        return RATIO_GAPS
    whose = "All are" if found.promise == "new" else "New people's is"
    return f"{RATIO_GAPS} {whose} measured where {FEW_SELECTED:.0%} of people or more are {word}."


def _frontier_notes(found: Frontier, verbose: bool) -> list[str]:
    """Where ties are drawn that were to keep their order; where new people's gap is above an epsilon meant for them."""
    left = [*filter(None, [left_out_words(found)])]
    changed = [point for point in found.points if not point.unchanged]
    drawn = [point.epsilon for point in changed if point.ties != found.ties]
    above = [point.epsilon for point in found.points if point.gap_estimate > point.epsilon]
    count = len(found.points)
    if found.promise == "new":
        goal = "epsilon" if found.before.ratio is None else "what the ratio allows"
        allowed = "epsilons" if found.before.ratio is None else "ratios"
        why = "no score that was tried reaches it with these rows at a price worth paying"
        free = any(point.auc_bound is not None and point.auc > point.auc_bound for point in found.points)
        best = f"AUC at best is that of scores that keep to {goal} on these rows, which is not asked for here."
        return [
            *left,
            *([best] * free),
            *([f"New people's gap is above {goal} at {len(above)} of {count} {allowed}: {why}."] if above else []),
        ]
    if not verbose:
        return left
    why = "raw order would leave the gap above epsilon, cost AUC, or spare hardly anyone"
    return [*left, *([f"Ties of all groups are drawn at {len(drawn)} of {count} epsilons: {why}."] if drawn else [])]


def _point_row(point: FrontierPoint, verbose: bool, drawn: bool) -> list[str]:
    figures = [point.gap_estimate, point.auc_estimate, point.gap, point.auc]
    more = [point.auc_bound, point.accuracy, *([point.balanced_accuracy] if verbose else []), point.disparate_impact]
    shares = [percent(point.randomised_share)] if drawn else []
    shown = [*map(rounded, figures), *shares, *(rounded(x, none="–") for x in more)]
    return [f"{allowed_at(point):.4g}", *shown]


def allowed_at(point: FrontierPoint) -> float:
    """What a point of the frontier allows: a ratio, or epsilon."""
    return point.epsilon if point.ratio is None else point.ratio
