"""Frontiers and chosen thresholds in words."""

from __future__ import annotations

from fairroc.fitting.frontier import Frontier, FrontierPoint
from fairroc.fitting.thresholds import Choice, ThresholdRates
from fairroc.text.words import figure, norm_words, percent, table

SCATTER = (
    "Figures are exact expectations over the draw on these rows; a single draw scatters around them, and new people"
)


def frontier_text(found: Frontier) -> str:
    """A frontier as a table, one row for each epsilon."""
    before = found.before
    ties = {"draw": "ties are drawn", "order": "raw order is kept where epsilon leaves room"}[found.ties]
    size = f"{found.rows:,} rows, {len(before.groups)} groups"
    head = ["epsilon", "gap", "AUC", "no fair score exceeds", "accuracy", "balanced", "disparate impact", "drawn"]
    return "\n".join(
        [
            f"{size}, {norm_words(found.norm)}, method {found.method}; {ties}.",
            f"Original score: gap {before.gap:.4f}, AUC {before.auc:.4f}, best accuracy {before.accuracy:.4f}.",
            "",
            *table(head, [_point_row(point) for point in found.points]),
            "",
            "Accuracy is the largest over all thresholds; disparate impact is taken at the most accurate threshold.",
            f"{SCATTER} will show a larger gap.",
        ]
    )


def _point_row(point: FrontierPoint) -> list[str]:
    figures = (point.gap, point.auc, point.auc_bound, point.accuracy, point.balanced_accuracy, point.disparate_impact)
    return [f"{point.epsilon:.4g}", *(figure(x, none="–") for x in figures), percent(point.randomised_share)]


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
            f"Largest distance between two groups' (FPR, TPR) at this threshold: {choice.gap:.4f}.",
            f"{SCATTER} can differ.",
        ]
    )


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
