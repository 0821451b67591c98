"""An audit in words that can be read aloud."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from fairroc.auditing.findings import (
    Audit,
    Audits,
    Decision,
    FamilyAudit,
    GapInterval,
    GroupAudit,
    GroupDecision,
    Interval,
)
from fairroc.core.constraint import OneRate
from fairroc.core.gap import RateGaps
from fairroc.options import fairness
from fairroc.text.people import epsilon_words, people_words
from fairroc.text.words import (
    SELECTED,
    beyond,
    confidence,
    counted_words,
    flat,
    norm_words,
    pair,
    rounded,
    short,
    small_lines,
    span_words,
    table,
    threshold_words,
    where_words,
)

MATRIX = 6
"""Up to so many groups the AUCs across groups are shown as a square table."""

LISTED, EXTREMES = 30, 5
"""Up to so many groups are all listed; of more, so many at every end."""


def audit_text(audit: Audit, *, positive_means: str = SELECTED, verbose: bool = False) -> str:
    """What was measured, how sure it is, and one table for each question."""
    word = positive_means
    sure = ""
    if audit.auc_interval is not None and audit.gap_interval is not None:
        sure = f" (between {_words(audit.auc_interval)}, {confidence(audit.gap_interval.level)})"
    parts = [
        [
            f"{audit.rows:,} rows, {len(audit.groups)} groups"
            + (", no labels." if audit.auc is None else f". Overall AUC {rounded(audit.auc)}{sure}."),
            *small_lines(audit.small_groups),
        ],
        _gap_lines(audit, word, verbose),
        _verdict_lines(audit, word),
        _group_lines(audit, verbose),
        _cross_lines(audit) if verbose else [],
        [] if audit.decision is None else _decision_lines(audit.decision, word),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def audits_text(audits: Audits, *, positive_means: str = SELECTED, verbose: bool = False) -> str:
    """Audits by several attributes and strata: one table, whether what was asked for holds, and, if ``verbose``, each
    audit in its own words."""
    first, word = audits.compared[0].audit, positive_means
    sure = first.gap_interval
    head = ["by", "groups", "rows", "largest gap" if first.ratio is None else "smallest ratio"]
    if sure is not None:
        head.append(confidence(sure.level).replace(" confidence", ""))
    lines = table([*head, "between", "and", "at score >="], [_family_row(family) for family in audits.families])
    measured = f"At one threshold ({_compared(first, word)}), {audits.rows:,} rows:"
    notes = [
        f"{flat(family.title)} *: intersections, for information." for family in audits.families if not family.compared
    ]
    verdicts = [
        f"By {flat(family.title)} the {_verdict(family.audit)}{_doubt(family.audit, word)}"
        for family in audits.compared
        if family.audit.epsilon is not None
    ]
    parts = [[measured, *lines, *notes], verdicts]
    if verbose:
        each = [
            (family.title, audit_text(family.audit, positive_means=word, verbose=True)) for family in audits.families
        ]
        parts += [[f"By {flat(title)}:", text] for title, text in each]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _family_row(family: FamilyAudit) -> list[str]:
    found = family.audit
    name = family.title if family.compared else f"{family.title} *"
    row = [name, str(len(found.groups)), f"{found.rows:,}", _gap(found)]
    if found.gap_interval is not None:
        best = found.gap_interval.best
        row.append(_span(best if best is None or found.ratio is None else (1.0 - best[1], 1.0 - best[0])))
    return [*row, *map(short, found.gap_pair), f"{found.gap_threshold:.4g}"]


def _gap_lines(audit: Audit, word: str, verbose: bool) -> list[str]:
    """How large the gap is, where, and what that means in people."""
    if audit.ratio is None:
        head = f"Largest gap at one threshold ({_compared(audit, word)}): {_gap(audit)}"
    else:
        head = f"Smallest ratio at one threshold ({_compared(audit, word)}): {_gap(audit)}"
    lines = [
        head,
        f"  at score >= {audit.gap_threshold:.6g}, between {pair(audit.gap_pair)}",
        f"  There, {people_words(audit.distance, audit.gap, word, measured=True)}.",
        *([] if audit.gap_interval is None else _interval_lines(audit.gap_interval, audit, word, verbose)),
    ]
    if audit.curve_gap is not None and verbose:
        lines.append(f"Largest difference in TPR at equal FPR: {rounded(audit.curve_gap)}")
    if audit.rates is not None and audit.rates.fpr is not None:
        lines.append(_rates_line(audit.rates))
    if audit.count_error:
        lines.append(counted_words(audit.count_error, f"and the gap is at most {rounded(audit.gap_limit)}"))
    return lines


def _gap(audit: Audit) -> str:
    """The gap, or the ratio, so that it reads as on the side of what is allowed on which it is."""
    if audit.ratio is not None:
        told = rounded(1.0 - audit.gap)
        return f"{1.0 - audit.gap:.9g}" if audit.fair is False and float(told) >= audit.ratio else told
    return rounded(audit.gap) if audit.fair is not False or audit.epsilon is None else beyond(audit.gap, audit.epsilon)


def _verdict_lines(audit: Audit, word: str) -> list[str]:
    """What was asked for, in people, and whether it holds."""
    if audit.epsilon is None:
        return []
    asked = epsilon_words(audit.distance, audit.epsilon, word)
    if audit.gap <= audit.epsilon and not audit.fair:
        return [asked, f"The bins leave open whether the gap is within epsilon = {audit.epsilon:.4g}."]
    return [asked, f"The {_verdict(audit)} {threshold_words(audit.where, word)}{_doubt(audit, word)}"]


def _compared(audit: Audit, word: str) -> str:
    """What is compared, as a formula, and where."""
    one = audit.distance
    if isinstance(one, OneRate):
        words = f"smallest over largest {one.WORDS[one.rate]}" if audit.ratio is not None else one.formula
    elif audit.tolerances is not None:
        words = fairness(audit.constraint, "inf", audit.tolerances).formula
    else:
        words = norm_words(audit.norm)
    return f"{words}{where_words(audit.where, word)}"


def _verdict(audit: Audit) -> str:
    """Whether what was asked for holds."""
    no = "" if audit.fair else "NOT "
    if audit.ratio is not None:
        return f"ratio is {no}at least {audit.ratio:.4g}"
    if audit.tolerances is not None:
        return "gaps are {}within {:.4g} (FPR) and {:.4g} (TPR)".format(no, *audit.tolerances)
    return f"gap is {no}within epsilon = {audit.epsilon:.4g}"


def _rates_line(rates: RateGaps) -> str:
    """Every rate for itself, and where the choice between them is explained."""
    apart = f"TPR {rounded(rates.tpr)}, FPR {rounded(rates.fpr)}, selection rate {rounded(rates.selection_rate)}"
    choice = "Which should be close is a choice (https://fairroc.github.io/fairroc/guides/constraints.html)."
    return f"Of one rate alone: {apart} apart at most. {choice}"


def _interval_lines(interval: GapInterval, audit: Audit, word: str, verbose: bool) -> list[str]:
    """Where the gap, or the ratio, in the population lies."""

    def words(of: Interval) -> str:
        return _words(of if audit.ratio is None else (1.0 - of[1], 1.0 - of[0]))

    best = interval.best
    if best is None:
        reasons = dict.fromkeys((interval.dkw_reason, interval.bootstrap_reason))
        return [f"  No interval: {'; '.join(filter(None, reasons))}."]
    sure, method = confidence(interval.level), "DKW" if interval.bootstrap is None else "bootstrap"
    few, it = [], "it"
    if interval.gap is not None:
        few = [f"  Where {span_words(interval.where)} are {word} it is {rounded(1.0 - interval.gap)}; fewer say little"]
        it = "that"
    first = f"  In the population these rows were sampled from, {it} lies between {words(best)} ({sure}, {method})"
    if interval.bootstrap is None or not verbose:
        return [*few, first]
    if interval.dkw is None:
        return [*few, first, f"  (no safe limits: {interval.dkw_reason})"]
    return [*few, first, f"  (safe limits for any sample size, DKW: between {words(interval.dkw)})"]


def _doubt(audit: Audit, word: str) -> str:
    """Whether the interval allows another verdict."""
    interval = audit.gap_interval
    best = None if interval is None else interval.best
    if interval is None or best is None or audit.epsilon is None:
        return "."
    low, high = best
    if low > audit.epsilon:
        return ", and neither is any of the interval: chance does not explain it."
    if high <= audit.epsilon and interval.gap is not None and not audit.fair:
        return f", but the whole interval is where {span_words(interval.where)} are {word}."
    if high <= audit.epsilon:
        return ", and so is the whole interval."
    if audit.fair:
        return " on these rows, but the interval extends beyond it: it takes more rows to be sure."
    return " on these rows, but the interval extends down to it: it may be chance."


def _group_lines(audit: Audit, verbose: bool) -> list[str]:
    """One row for each group, with the columns that the audit has; of many groups, those that tell most."""
    groups, level = _telling(audit), "" if audit.gap_interval is None else f"{100 * audit.gap_interval.level:g}%"
    columns = {
        "rows": [f"{g.rows:,}" for g in groups],
        "positives": ["" if g.positives is None else f"{g.positives:,}" for g in groups],
        "AUC": [rounded(g.auc) for g in groups],
        level: [_span(g.auc_interval) for g in groups],
        "BNSP": [rounded(g.bnsp_auc) for g in groups],
        "BPSN": [rounded(g.bpsn_auc) for g in groups],
        "calibration error": [rounded(None if g.calibration is None else g.calibration.error) for g in groups],
        "FPR ±": [rounded(_width(g, 0)) if verbose else "" for g in groups],
        "TPR ±": [rounded(_width(g, 1)) if verbose else "" for g in groups],
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
    auc = "AUC" if audit.auc is None else "interval for an AUC"
    reasons = [
        f"No {auc}: {audit.auc_reason}." if audit.auc_reason else "",
        f"No AUCs across groups: {audit.cross_aucs_reason}." if audit.cross_aucs_reason else "",
        f"No calibration: {audit.calibration_reason}." if audit.calibration_reason else "",
    ]
    some = []
    if len(groups) < len(audit.groups):
        lowest = "fewest rows" if audit.auc is None else "lowest BNSP and BPSN"
        some = [f"Of {len(audit.groups)} groups, the two farthest apart and those of {lowest} (all: --format json):"]
    return [*some, *table(["group", *shown], rows), *told, *filter(None, reasons)]


def _telling(audit: Audit) -> Sequence[GroupAudit]:
    """All groups; of many, the two that are farthest apart and those with the lowest BNSP and BPSN (without labels, the
    fewest rows)."""
    groups, chosen = audit.groups, set(audit.gap_pair)
    if len(groups) <= LISTED:
        return groups
    for lowest in [("bnsp_auc", "bpsn_auc"), ("rows",)][audit.auc is None]:
        chosen |= {g.group for g in sorted(groups, key=attrgetter(lowest))[:EXTREMES]}
    return [g for g in groups if g.group in chosen]


def _cross_lines(audit: Audit) -> list[str]:
    """AUCs across groups: all of them, or the lowest and the highest."""
    if not audit.cross_aucs:
        return []
    head = "Chance that a positive of one group (row) scores above a negative of another (column):"
    if len(audit.groups) > MATRIX:
        low, high = min(audit.cross_aucs, key=lambda c: c.auc), max(audit.cross_aucs, key=lambda c: c.auc)
        pairs = [f"{rounded(c.auc)} for '{short(c.positives)}' above '{short(c.negatives)}'" for c in (low, high)]
        return [
            "Chance that a positive of one group scores above a negative of another:",
            f"  lowest {pairs[0]}, highest {pairs[1]}",
        ]
    known = {(c.positives, c.negatives): c.auc for c in audit.cross_aucs}
    own = {(g.group, g.group): g.auc for g in audit.groups}
    names = [g.group for g in audit.groups]
    rows = [[one, *(rounded((own | known)[one, other]) for other in names)] for one in names]
    return [head, *table(["", *map(short, names)], rows)]


def _decision_lines(decision: Decision, word: str) -> list[str]:
    """One threshold: a table of rates and the usual comparisons."""
    labelled = decision.equal_opportunity_difference is not None
    head = ["group", word, *(("TPR", "FPR", "precision", "accuracy") if labelled else ())]
    rows = [
        [g.group, *(rounded(x, none="none") for x in (g.selection_rate, g.tpr, g.fpr, g.precision, g.accuracy))]
        for g in _ends(decision.groups)
    ]
    if decision.disparate_impact is None:
        impact = f"Disparate impact: undefined, nobody is {word}"
    else:
        rule = "meets" if decision.four_fifths else "does NOT meet"
        impact = f"Disparate impact (smallest over largest selection rate): {rounded(decision.disparate_impact)}"
        impact += f", {rule} the four-fifths rule"
    ends = "" if len(decision.groups) <= LISTED else f" (of {len(decision.groups)} groups, both ends)"
    lines = [
        f"If everyone with score >= {decision.threshold:.6g} is {word}{ends}:",
        *table(head, [row[: len(head)] for row in rows]),
        impact,
        f"Demographic parity difference (selection rates): {rounded(decision.demographic_parity_difference)}",
    ]
    if not labelled:
        return lines
    return [
        *lines,
        f"Equal opportunity difference (TPR): {rounded(decision.equal_opportunity_difference)}",
        f"Equalized odds: |dFPR| + |dTPR| {rounded(decision.equalized_odds_l1)}, larger of the two ranges "
        f"{rounded(decision.equalized_odds_max)}, their mean {rounded(decision.equalized_odds_mean)}",
    ]


def _ends(groups: Sequence[GroupDecision]) -> Sequence[GroupDecision]:
    """All groups; of many, those with the lowest and the highest selection rates."""
    order = sorted(groups, key=lambda g: g.selection_rate)
    return groups if len(groups) <= LISTED else [*order[:EXTREMES], *order[-EXTREMES:]]


def _width(group: GroupAudit, rate: int) -> float | None:
    """Half width of the narrower band that there is."""
    best = None if group.band is None else group.band.best
    return None if best is None else best[rate]


def _words(interval: Interval) -> str:
    return f"{rounded(interval[0])} and {rounded(interval[1])}"


def _span(interval: Interval | None) -> str:
    return "" if interval is None else f"{rounded(interval[0])} to {rounded(interval[1])}"
