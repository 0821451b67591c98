"""An audit as plain text that can be read aloud."""

from __future__ import annotations

from fairroc.auditing.findings import Audit, Decision, GapInterval, GroupAudit, Interval
from fairroc.text.certificate import norm_words, short, table

MATRIX = 6
"""Up to so many groups the AUCs across groups are shown as a square table."""


def audit_text(audit: Audit) -> str:
    """What was measured, how sure it is, and one table for each question."""
    sure = "" if audit.auc_interval is None or audit.gap_interval is None else f" {_between(audit, audit.auc_interval)}"
    parts = [
        [f"{audit.rows:,} rows, {len(audit.groups)} groups. AUC of all people {audit.auc:.4f}{sure}."],
        _gap_lines(audit),
        _group_lines(audit),
        _cross_lines(audit),
        [] if audit.decision is None else _decision_lines(audit.decision),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _gap_lines(audit: Audit) -> list[str]:
    first, second = audit.gap_pair
    lines = [
        f"Largest gap at one threshold ({norm_words(audit.norm)}): {audit.gap:.4f}",
        f"  at score >= {audit.gap_threshold:g}, between '{short(first)}' and '{short(second)}'",
        *([] if audit.gap_interval is None else _interval_lines(audit.gap_interval)),
        f"Largest difference of TPR at equal FPR: {audit.curve_gap:.4f}",
    ]
    if audit.count_error:
        lines.append(
            f"People were counted in bins of scores: rates can be too low by up to {audit.count_error:.2g}, "
            f"and the gap is at most {audit.gap_limit:.4f}. More bits make it less."
        )
    if audit.epsilon is not None and audit.gap <= audit.epsilon and not audit.fair:
        lines.append(f"The bins leave open whether the gap is within epsilon = {audit.epsilon:g}.")
    elif audit.epsilon is not None:
        verdict = "within" if audit.fair else "NOT within"
        lines.append(f"The gap is {verdict} epsilon = {audit.epsilon:g} at every threshold{_doubt(audit)}")
    return lines


def _interval_lines(interval: GapInterval) -> list[str]:
    """Where the gap of the people that the rows stand for lies."""
    best, level = interval.best, f"{100 * interval.level:g} %"
    if best is None:
        return [f"  No interval: {interval.dkw_reason}; {interval.bootstrap_reason}."]
    lines = [f"  Among all people whom these rows stand for it lies between {_words(best)} ({level} confidence"]
    if interval.bootstrap is None:
        return [f"{lines[0]}, DKW)"]
    safe = "no safe limits: " + str(interval.dkw_reason)
    if interval.dkw is not None:
        safe = f"safe limits for any number of rows, DKW: between {_words(interval.dkw)}"
    return [f"{lines[0]}, bootstrap)", f"  ({safe})"]


def _doubt(audit: Audit) -> str:
    """Whether the interval allows another verdict."""
    best = None if audit.gap_interval is None else audit.gap_interval.best
    if best is None or audit.epsilon is None:
        return "."
    low, high = best
    if low > audit.epsilon:
        return ", nor is the whole interval: chance does not explain it."
    if high <= audit.epsilon:
        return ", and so is the whole interval."
    if audit.fair:
        return " on these rows, but the interval goes beyond it: more rows are needed to be sure."
    return " on these rows, but the interval reaches down to it: it may be chance."


def _group_lines(audit: Audit) -> list[str]:
    """One line for each group, with the columns that the audit has."""
    groups, level = audit.groups, "" if audit.gap_interval is None else f"{100 * audit.gap_interval.level:g} %"
    columns = {
        "rows": [f"{g.rows:,}" for g in groups],
        "positives": [f"{g.positives:,}" for g in groups],
        "AUC": [f"{g.auc:.4f}" for g in groups],
        level: [_span(g.auc_interval) for g in groups],
        "BNSP": [_figure(g.bnsp_auc) for g in groups],
        "BPSN": [_figure(g.bpsn_auc) for g in groups],
        "calibration error": [_figure(None if g.calibration is None else g.calibration.error) for g in groups],
        "FPR ±": [_figure(_width(g, 0)) for g in groups],
        "TPR ±": [_figure(_width(g, 1)) for g in groups],
    }
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    rows = [[g.group, *cells] for g, *cells in zip(groups, *shown.values(), strict=True)]
    notes = {
        "BNSP": "BNSP: chance that a positive of the group scores above a negative of the other groups; if low, its "
        "positives are overlooked.",
        "BPSN": "BPSN: chance that a positive of the other groups scores above a negative of the group; if low, its "
        "negatives are taken for positives.",
        "calibration error": "Calibration error: how far scores are from the share of positives, on average.",
        "FPR ±": "±: how far true rates can be from the measured ones, at all thresholds and in all groups at once.",
    }
    told = [words for name, words in notes.items() if name in shown]
    reasons = [
        f"No interval for an AUC: {audit.auc_reason}." if audit.auc_reason else "",
        f"No calibration: {audit.calibration_reason}." if audit.calibration_reason else "",
    ]
    return [*table(["group", *shown], rows), *told, *filter(None, reasons)]


def _cross_lines(audit: Audit) -> list[str]:
    """AUCs across groups: all of them, or the lowest and the highest."""
    if not audit.cross_aucs:
        return []
    head = "Chance that a positive of one group (line) scores above a negative of another (column):"
    if len(audit.groups) > MATRIX:
        low, high = min(audit.cross_aucs, key=lambda c: c.auc), max(audit.cross_aucs, key=lambda c: c.auc)
        pairs = [f"{c.auc:.4f} for '{short(c.positives)}' above '{short(c.negatives)}'" for c in (low, high)]
        return [
            "Chance that a positive of one group scores above a negative of another:",
            f"  lowest {pairs[0]}, highest {pairs[1]}",
        ]
    known = {(c.positives, c.negatives): c.auc for c in audit.cross_aucs}
    known |= {(g.group, g.group): g.auc for g in audit.groups}
    names = [g.group for g in audit.groups]
    rows = [[one, *(f"{known[one, other]:.4f}" for other in names)] for one in names]
    return [head, *table(["", *map(short, names)], rows)]


def _decision_lines(decision: Decision) -> list[str]:
    """One threshold: a table of rates and the usual comparisons."""
    rows = [
        [g.group, *(_figure(x) or "none" for x in (g.selection_rate, g.tpr, g.fpr, g.precision, g.accuracy))]
        for g in decision.groups
    ]
    if decision.disparate_impact is None:
        impact = "Disparate impact: undefined, nobody is accepted"
    else:
        rule = "meets" if decision.four_fifths else "does NOT meet"
        impact = f"Disparate impact (smallest over largest share accepted): {decision.disparate_impact:.4f}"
        impact += f", {rule} the 80 % rule"
    return [
        f"If everyone with score >= {decision.threshold:g} is accepted:",
        *table(["group", "accepted", "TPR", "FPR", "precision", "accuracy"], rows),
        impact,
        f"Demographic parity difference (shares accepted): {decision.demographic_parity_difference:.4f}",
        f"Equal opportunity difference (TPR): {decision.equal_opportunity_difference:.4f}",
        f"Equalized odds: |dFPR| + |dTPR| {decision.equalized_odds_l1:.4f}, larger of the two ranges "
        f"{decision.equalized_odds_max:.4f}, their mean {decision.equalized_odds_mean:.4f}",
    ]


def _width(group: GroupAudit, rate: int) -> float | None:
    """Half width of the narrower band that there is."""
    if group.band is None:
        return None
    best = group.band.dkw if group.band.bootstrap is None else group.band.bootstrap
    return None if best is None else best[rate]


def _between(audit: Audit, interval: Interval) -> str:
    level = 0.0 if audit.gap_interval is None else audit.gap_interval.level
    return f"(between {_words(interval)}, {100 * level:g} % confidence)"


def _words(interval: Interval) -> str:
    return f"{interval[0]:.4f} and {interval[1]:.4f}"


def _span(interval: Interval | None) -> str:
    return "" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
