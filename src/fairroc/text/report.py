"""The sentences of a report: what was asked, what it costs, what is not known, cautions, and the model card's facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairroc.auditing.findings import Audit, GroupAudit
from fairroc.core.constraint import FEW_SELECTED, Constraint, OneRate, Ratio
from fairroc.core.gap import ROUNDING
from fairroc.fitting.certificate import Certificate
from fairroc.fitting.frontier import Frontier
from fairroc.fitting.one_draw import OneDraw
from fairroc.fitting.outlook import Outlook
from fairroc.options import CONSTRAINT
from fairroc.text.certificate import exact_words, many_drawn_words
from fairroc.text.families import bound_words
from fairroc.text.outlook import (
    about,
    allowed_by,
    least_certain_words,
    most_drawn,
    new_people_lines,
    nobody_drawn,
    one_draw_words,
    promise_words,
)
from fairroc.text.people import epsilon_words
from fairroc.text.words import (
    RATES,
    RATIO_GAPS,
    SELECTED,
    beyond,
    confidence,
    flat,
    listed,
    meaning,
    pair,
    percent,
    short,
    small_lines,
    threshold_words,
    where_words,
)

WIDE = 0.1
"""A rate known to within this or less tells groups apart that differ by more than a tenth or two."""

SHOWN = 3
"""Names or pairs that a caution lists."""

NO_FIT = "No epsilon was asked for: there is no fit to certify. Run the report again with --epsilon or --ratio."


def meaning_words(constraint: Constraint, positive_means: str = SELECTED) -> str:
    """What is to be close, in plain words; of ratios also what a gap is."""
    ratio = f" {RATIO_GAPS}" if isinstance(constraint, Ratio) else ""
    return f"{meaning(constraint.name, positive_means)}, {threshold_words(constraint.where, positive_means)}.{ratio}"


def gap_names(constraint: Constraint) -> dict[str, str]:
    """What charts and tables call the gap, what is allowed of it, and the axis on which that is shown."""
    rate = f"{constraint.WORDS[constraint.rate]} " if isinstance(constraint, OneRate) else ""
    if isinstance(constraint, Ratio):
        return {"gap": f"{rate}ratio", "formula": constraint.formula, "allowed": "ratio", "axis": "1 - ratio allowed"}
    return {"gap": f"{rate}gap", "formula": constraint.formula, "allowed": "epsilon", "axis": "epsilon (allowed gap)"}


def band_width(group: GroupAudit) -> float:
    """The larger half width of the narrower band that there is; 1 if there is none."""
    best = None if group.band is None else group.band.best
    return 1.0 if best is None else max(best)


def gap_words(audit: Audit, positive_means: str = SELECTED) -> str:
    """Where the gap in the population lies, if that is known."""
    interval = audit.gap_interval
    if interval is None or interval.best is None:
        return ""
    low, high = interval.best
    few = "" if interval.gap is None else where_words(audit.distance.told().where, positive_means).removeprefix(",")
    where = f"In the population these rows were sampled from, the gap{few} lies between {low:.3f} and {high:.3f}"
    return f"{where} ({confidence(interval.level)})."


def asked_words(audit: Audit, positive_means: str = SELECTED) -> str:
    """What was asked, and whether the original score meets it."""
    epsilon = audit.epsilon
    if epsilon is None:
        return "No epsilon was asked for, so nothing was fitted. The page shows what each would cost."
    words = epsilon_words(audit.distance, epsilon, positive_means)
    verdict, chance = "meets this already" if audit.fair else "does not meet this", ""
    interval = audit.gap_interval
    best = None if interval is None else interval.best
    if best is not None and best[0] > epsilon:
        chance = ", and sampling error does not explain it"
    elif best is not None and best[1] <= epsilon and interval is not None and interval.gap is not None:
        chance = (
            ""
            if audit.fair
            else f", but where {FEW_SELECTED:.0%} of people or more are {positive_means} all of the interval does"
        )
    elif best is not None and best[1] > epsilon:
        chance = " on these rows, but the interval leaves room for the opposite"
    elif best is not None:
        chance = ", and so does the whole interval"
    return f"{words} The original score {verdict}{chance}."


def verdict_words(certificate: Certificate | None, outlook: Outlook | None) -> str:
    """Whether new people, and whether the fitted ones, are within epsilon; nothing where none was asked for."""
    c, o = certificate, outlook
    if c is None or o is None:
        return ""
    new = f"{beyond(o.gap_estimate, o.epsilon) if o.exceeds else f'{o.gap_estimate:.3f}'} for new people"
    fair = c.gap <= c.epsilon + ROUNDING
    old = f"{f'{c.gap:.3f}' if fair else beyond(c.gap, c.epsilon)} for the fitted people"
    sides = ("above" if o.exceeds else "within", "within" if fair else "above")
    whole = allowed_by(c).whole
    return f"The fair score: a gap of about {new}, {sides[0]} {whole}; {old}, {sides[1]} {whole}."


def cost_words(
    certificate: Certificate | None,
    outlook: Outlook | None,
    frontier: Frontier,
    positive_means: str = SELECTED,
) -> str:
    """What the fit costs, or what epsilon 0 would."""
    c, o = certificate, outlook
    if c is None or o is None:
        first = frontier.points[0]
        what = "Equal rates" if first.epsilon == 0 else "Close rates without draws"
        return (
            f"{what} {threshold_words(frontier.where, positive_means)} (epsilon {first.epsilon:.4g}) would take the "
            f"overall AUC of these people from {frontier.before.auc:.3f} to {first.auc:.3f}; a larger epsilon costs "
            "less."
        )
    if c.unchanged:
        return "Nothing: the score stays as it is."
    draws = "Nobody is drawn: the score decides alone."
    if not nobody_drawn(c):
        group, share = most_drawn(c.groups)
        whom = "hardly anyone" if c.drawn < 0.0005 else f"{percent(c.drawn)} of people"
        draws = f"For {whom} the fair score depends on a random draw, for {percent(share)} of group '{short(group)}'."
    return (
        f"New people can expect an overall AUC of {about(o.auc_estimate, o.auc_standard_error)} where the original "
        f"score has {o.auc_before:.3f}. On the fitted people it goes from {c.auc_before:.3f} to {c.auc:.3f}. "
        f"{' '.join(bound_words(c))} {draws}"
    )


def unknowns(audit: Audit, outlook: Outlook | None) -> Iterator[str]:
    """What the report cannot know."""
    if outlook is not None:
        gap = about(outlook.gap_estimate, outlook.gap_standard_error)
        yield (
            f"How fair the fair score is on new people: a gap of {gap} is an estimate with its standard error; at "
            f"{confidence(outlook.level)} the gap is no more than {outlook.upper:.3f}. Check new rows with fairroc "
            "monitor."
        )
    yield "Whether the labels are right. A label that is itself biased makes every rate here wrong."
    aims = {
        "equalized_odds": "calibration and equal selection rates are others, and conflict",
        "demographic_parity": "calibration and equal error rates are others, and conflict",
    }
    other = aims.get(audit.constraint, "the other rates may be far apart, and calibration conflicts")
    rates = "error rates" if audit.constraint == CONSTRAINT.default else RATES[audit.constraint]
    yield f"Whether equal {rates} are the right aim: {other}."
    widest = max(map(band_width, audit.groups))
    if widest < 1:
        yield f"The rates themselves, exactly: in the least certain group they may be off by {widest:.3f}."


def cautions(audit: Audit, crossing: Sequence[tuple[int, int]], certificate: Certificate | None) -> Iterator[str]:
    """What a reader should know beside the warnings: draws that were asked for, wide bands, crossing curves."""
    if certificate is not None:
        yield from many_drawn_words(certificate)
    wide = [(group.group, width) for group in audit.groups if (width := band_width(group)) > WIDE]
    if wide:
        known = listed([f"'{short(name)}' (±{width:.2f})" for name, width in wide], SHOWN)
        yield f"Few rows: rates are known only roughly for {known}. More rows would tell."
    if crossing:
        names = [group.group for group in audit.groups]
        pairs = listed([pair((names[g], names[h])) for g, h in crossing], SHOWN)
        yield f"Crossing curves: {pairs}. Which group is better served depends on the threshold."


def certificate_notes(certificate: Certificate | None, one_draw: OneDraw | None, outlook: Outlook | None) -> list[str]:
    """What the tables of a certificate leave unsaid, one paragraph each."""
    if certificate is None:
        return [NO_FIT]
    if one_draw is None or outlook is None:
        return []
    if certificate.unchanged:
        ties = "The score stays as it is, ties included."
    elif certificate.ties == "order":
        ties = "People of one group whom fairness does not tell apart keep the order of their original scores."
    else:
        ties = "Among people of one group whom fairness does not tell apart, a random draw decides who comes first."
    promise = promise_words(certificate, outlook)
    exact = f"{ties} {exact_words(certificate)}"
    return [promise, *new_people_lines(outlook, one_draw), exact, least_certain_words(outlook)]


def card_facts(
    audit: Audit, constraint: Constraint, *, weighted: bool, missing: str, positive_means: str = SELECTED
) -> list[tuple[str, str]]:
    """The facts of the model card, each with its title."""
    counts = [(group.positives or 0, group.rows) for group in audit.groups]
    positives, smallest = sum(hits for hits, _ in counts), min(min(hits, rows - hits) for hits, rows in counts)
    between = "–" if audit.auc_interval is None else "{:.3f} to {:.3f}".format(*audit.auc_interval)
    return [
        ("Rows", f"{audit.rows:,}, of which {positives:,} positive ({percent(positives / audit.rows)})"),
        ("Weights", "rows are weighted" if weighted else "every row counts once"),
        ("Groups", f"{len(audit.groups)}; smallest class {smallest:,} rows"),
        ("Missing groups", "a group of their own" if missing == "group" else "none"),
        *(("Small groups", words) for words in small_lines(audit.small_groups)),
        ("Overall AUC", f"{audit.auc:.3f} ({between})"),
        ("Constraint", meaning_words(constraint, positive_means)),
        ("Distance", f"{constraint.formula}{where_words(constraint.where, positive_means)}"),
        ("Intended use", "assess a score, and choose epsilon and threshold, before a decision uses either"),
        ("Not intended to", "show that a decision is lawful, or that labels are right"),
        (
            "At decision time",
            "the fair score uses the person's group; the law may restrict that. Ask before you deploy",
        ),
    ]


# -- fits whose score is not told the groups that it compares ----------------------------------------------------------

PROXY = (
    "This score is not told anybody's group. It is told probabilities of the groups instead, a proxy. The law may "
    "treat a proxy of a protected attribute as the attribute itself: ask a lawyer before you deploy it, and show them "
    "this page."
)
ALONE = (
    "This score is told nobody's group, and no proxy of it: the original score alone decides, on another scale. It was "
    "fitted with the groups of the people in this report; ask a lawyer whether that is allowed."
)
TOLD = (
    "This score needs everybody's group ({}) when a decision is made. The law may forbid that for a protected "
    "attribute: ask a lawyer before you deploy it. A fit without the group (use_group=False, --use-group never) does "
    "not need it."
)


def legal_caution(use_group: bool, columns: Sequence[str], attributes: Sequence[str]) -> str:
    """What must be asked before a score is used that is not told the groups it compares: the law comes first."""
    if use_group:
        return TOLD.format(", ".join(map(flat, attributes)))
    return PROXY if columns else ALONE


def family_limits(certificate: Certificate, ahead: Outlook, drawn: OneDraw, columns: Sequence[str]) -> Iterator[str]:
    """What the page of such a fit does not show."""
    yield (
        f"Among new people the largest gap is expected to be about {ahead.gap_estimate:.3f} (± "
        f"{ahead.gap_standard_error:.3f}), not {certificate.gap:.3f}: that is on average over the draw, on these rows."
    )
    yield from filter(None, [one_draw_words(drawn)])
    if any(not family.compared for family in certificate.families):
        yield "Every attribute is kept close for itself. Their intersections are not, and are shown for information."
    if columns:
        yield (
            "The promise holds for the true groups of the fitted people. It drifts with the probabilities: watch them "
            "with fairroc monitor, and measure the gap again where groups and labels are known."
        )
    yield (
        "There is no slider here, and no frontier over epsilon: each epsilon is another linear program. Fit again with "
        "another one to compare."
    )
    yield "Fair here is about the rates compared, nothing else. None of this is legal advice."
