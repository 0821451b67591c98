"""A fit in words: its certificate, and what to expect of new people."""

from __future__ import annotations

from fairroc.core.constraint import equalized_odds
from fairroc.fitting.certificate import Certificate, GroupCertificate
from fairroc.fitting.outlook import Outlook
from fairroc.text.froc import froc_lines
from fairroc.text.words import METHODS, confidence, counted_words, figure, norm_words, percent, short, table

EXACT = "Figures are exact expectations over the draw on these rows."


def certificate_text(certificate: Certificate) -> str:
    """A fit in a few lines: what it cost, what is possible, who is drawn."""
    c = certificate
    lines = [
        f"{c.rows:,} rows, {len(c.groups)} groups, epsilon {c.epsilon:g} ({norm_words(c.norm)}), method {c.method}.",
    ]
    if c.confidence is not None:
        lines.append(
            f"Epsilon is promised for the population at {confidence(c.confidence)}, so less is allowed on these rows."
        )
    lines.append("")
    if c.unchanged:
        lines.append(f"The score already meets epsilon (gap {c.gap:.4f}): it stays as it is, and nothing is drawn.")
    allowed = c.epsilon if c.allowed is None else c.allowed
    lines += table(
        ["", "before", "after", ""],
        [
            ["largest gap at any threshold", figure(c.gap_before), figure(c.gap), f"allowed {allowed:.4g}"],
            ["overall AUC", figure(c.auc_before), figure(c.auc), f"no fair score exceeds {c.auc_bound:.4f}"],
        ],
    )
    head = ["group", "rows", "AUC before", "after", "best fair", "moved by draw", "tie drawn"]
    lines += ["", *table(head, [_group_row(g) for g in c.groups]), "", *_notes(c)]
    return "\n".join(lines if c.froc is None else [*lines, "", *froc_lines(c.froc)])


def _group_row(g: GroupCertificate) -> list[str]:
    aucs = [figure(auc) for auc in (g.auc_before, g.auc, g.auc_fair)]
    return [g.group, f"{g.rows:,}", *aucs, percent(g.transport_share), percent(g.tie_share)]


def _notes(c: Certificate) -> list[str]:
    lines = [f"Ties: {tie_words(c)} {c.levels} levels."]
    if c.ties == "order" and not c.unchanged:
        lines.append("--ties draw would come closer to the bound on these rows, but draws for everyone.")
    if c.curve != "raw":
        name, _, half = c.curve.partition(", ")
        curves = f"halfway between raw and {name}" if half else name
        lines.append(f"Curves: {curves}, an estimate of the population's; epsilon is kept on these rows.")
    lines.append(EXACT)
    if c.count_error:
        off = equalized_odds(c.norm).largest * c.count_error
        lines.append(counted_words(c.count_error, f"so gaps can exceed those stated by up to {off:.2g}"))
    lines += [
        f"Query model, group '{short(g.group)}': its AUC is known to within {g.pla_loss.bound:.4f} (the paper's "
        f"estimate: {g.pla_loss.paper:.4f})."
        for g in c.groups
        if g.pla_loss is not None
    ]
    return lines


def tie_words(certificate: Certificate) -> str:
    """How ties were treated, as a sentence."""
    if certificate.unchanged:
        return "as in the original score."
    if certificate.ties == "order":
        return f"raw order kept (internal epsilon {certificate.inner_epsilon:.4g})."
    return "drawn."


def outlook_text(outlook: Outlook) -> str:
    """What to expect of new people, in three sentences."""
    o, limit = outlook, outlook.limited_by
    estimate = (
        f"no estimate of the gap: {o.estimate_reason}"
        if o.gap_estimate is None
        else f"the gap will be about {o.gap_estimate:.2f} ({o.folds}-fold cross-fitting, less the folds' own noise)"
    )
    safe = "" if o.upper_dkw is None else f", {o.upper_dkw:.3f} ({METHODS['dkw']})"
    return "\n".join(
        [
            f"New people from the same population: {estimate}.",
            f"At {confidence(o.level)} it is at most {o.upper_bootstrap:.3f} ({METHODS['bootstrap']}){safe}.",
            f"Least certain is group '{short(limit.group)}', label {limit.label}: {limit.rows:,} rows, "
            f"±{limit.width:.3f}; {limit.rows_to_halve:,} would halve that. {o.rows_to_halve:,} rows like these would "
            "halve the distance to both limits.",
        ]
    )
