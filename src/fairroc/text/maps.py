"""A model's maps as a table, in words."""

from __future__ import annotations

from fairroc.model.maps import HEAD, PointsTable, shown
from fairroc.summary import Summary, as_text


def points_text(found: PointsTable) -> str:
    """What the table is, what rounding costs, and its first rows."""
    rows, scores = shown(found), {fair for one in found.maps for fair in one.fair.tolist()}
    rounded = f"down to {len(scores)} fair scores, the same in all groups, by {found.most:.2g} at most"
    if not found.most:
        rounded = "no: the fair score is (score - from score) * slope + fair score"
    facts = [("drawn", "nobody"), ("rounded", rounded)]
    if found.rounded is not None and found.exact is not None:
        among = f"among these {found.people:,} people"
        facts.append(("gap", f"{found.rounded.gap:.4f} {among}, {found.exact.gap:.4f} without rounding"))
        facts.append(("AUC", f"{found.rounded.auc:.4f} {among}, {found.exact.auc:.4f} without rounding"))
    elif found.crossing is not None and found.most:
        lifted = f"about {found.crossing:.2%} of a group's positives or negatives at most"
        facts.append(("gap", f"the model's, but short cut-offs lift {lifted}"))
    title = f"Points table: {len(found.maps)} groups, {len(rows):,} rows"
    return as_text(Summary(title, facts, HEAD, rows, noun="rows: the file (-o) has all"))
