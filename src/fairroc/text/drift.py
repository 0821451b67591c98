"""A check of new people as plain text."""

from __future__ import annotations

from fairroc.monitoring.drift import Drift, GapCheck, GroupDrift
from fairroc.text.certificate import norm_words, short, table


def drift_text(found: Drift) -> str:
    """The verdict, what was found, what could not be told, and one table for each question."""
    parts = [
        [_verdict(found)],
        [f"  - {reason}." for reason in found.reasons],
        ["Not certain:", *(f"  - {doubt}." for doubt in found.doubts)] if found.doubts else [],
        [] if found.gap is None else _gap_lines(found.gap),
        _score_lines(found),
        _label_lines(found),
        [_tests(found)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _verdict(found: Drift) -> str:
    people = f"{found.rows:,} rows"
    if found.drifted:
        count = len(found.reasons)
        return f"DRIFT: {count} finding{'s' if count > 1 else ''} in {people}."
    return f"No drift found in {people}{', but not everything could be told' if found.doubts else ''}."


def _gap_lines(gap: GapCheck) -> list[str]:
    words = {
        "within": "within epsilon = {:g}, and so is the whole interval",
        "unclear": "not shown to be within epsilon = {:g}, nor outside",
        "outside": "NOT within epsilon = {:g}: the whole interval is outside",
    }
    first, second = gap.pair
    lines = [
        f"Largest gap of the fair score at one threshold ({norm_words(gap.norm)}): {gap.gap:.4f}",
        f"  on average over the draw, between '{short(first)}' and '{short(second)}', on {gap.rows:,} rows",
        f"  {words[gap.answer].format(gap.epsilon)}",
    ]
    for name, interval in (("bootstrap", gap.interval.bootstrap), ("DKW, for any number of rows", gap.interval.dkw)):
        if interval is not None:
            lines.append(
                f"  among all people between {interval[0]:.4f} and {interval[1]:.4f} "
                f"({100 * gap.interval.level:g} % confidence, {name})"
            )
    return [*lines, f"AUC of these people: {gap.auc_before:.4f} before, {gap.auc:.4f} for the fair score"]


def _score_lines(found: Drift) -> list[str]:
    rows = [
        [
            g.group,
            f"{g.rows:,}",
            f"{g.fitted_rows:,}",
            _percent(g.share),
            _percent(g.fitted_share),
            "" if g.scores is None else f"{g.scores.distance:.3f}",
            _figure(g.psi, 3),
            _figure(g.psi_limit, 3),
            "" if g.below is None else f"{g.below:,}",
            "" if g.above is None else f"{g.above:,}",
            g.status,
        ]
        for g in found.groups
    ]
    head = ["group", "rows", "fitted", "share", "was", "shift", "PSI", "by chance", "below", "above", "verdict"]
    lines = table(head, rows)
    if any(g.scores is not None for g in found.groups):
        lines += [
            "Shift: largest change of the share of the group's people who reach a score.",
            "PSI: by custom small below 0.1 and large from 0.25 on; by chance alone it stays below the figure beside "
            f"it ({100 * found.confidence:g} %).",
            "Below, above: rows outside the scores that the model was fitted to.",
        ]
    return lines


def _label_lines(found: Drift) -> list[str]:
    groups = [g for g in found.groups if g.auc is not None or g.positive_share is not None]
    if not groups:
        return []
    head = ["group", "positives", "was", "shift of negatives", "of positives", "AUC", "was", "fair AUC", "was"]
    return table(head, [_label_row(g) for g in groups])


def _label_row(g: GroupDrift) -> list[str]:
    shifts = ["" if shift is None else f"{shift.distance:.3f}" for shift in (g.negatives, g.positives)]
    aucs = [_figure(auc, 4) for auc in (g.auc, g.fitted_auc, g.fair_auc, g.fitted_fair_auc)]
    return [g.group, _percent(g.positive_share), _percent(g.fitted_positive_share), *shifts, *aucs]


def _tests(found: Drift) -> str:
    level = f"{100 * (1 - found.confidence):g} %"
    return f"{len(found.tests)} tests; if nothing moved, they find anything at all with probability {level} at most."


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def _figure(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
