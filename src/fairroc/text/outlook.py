"""New people in words: what to expect of them beside the fitted ones, a warning with ways out, and limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairroc.fitting.certificate import Certificate, GroupCertificate
from fairroc.fitting.frontier import FrontierGroup
from fairroc.fitting.limits import FEWEST_ROWS
from fairroc.fitting.one_draw import OneDraw
from fairroc.fitting.outlook import Outlook
from fairroc.text.families import gap_rows, information_lines, own_epsilons, worst
from fairroc.text.words import SELECTED, Allowed, beyond, confidence, flat, short, table

MOST_TIMES = 1000
"""More than so many times the rows is "far more"."""

CHOSEN = {
    "shift": "a shift of each group's scores",
    "equal pace": "thresholds at which all groups have equal FPR + TPR",
    "walk": "thresholds for each group that keep the order of all its scores; nobody is drawn",
    "bands": "thresholds for each group, with neighbouring scores made one; nobody is drawn",
    "estimate": "the exact method on the curves expected in the population",
}
"""What promise="new" chooses; names of `fairroc.fitting.new_people`."""


@dataclass(frozen=True, slots=True)
class Caution:
    """What is wrong with a fit for new people, and what can be done about it."""

    words: str
    ways: tuple[str, ...]

    def lines(self) -> list[str]:
        """As text."""
        return [self.words, *(f"  {number}. {way}" for number, way in enumerate(self.ways, 1))]


def about(value: float, error: float) -> str:
    """An estimate with its standard error."""
    return f"{value:.3f} ± {error:.3f}"


def met(value: float) -> float:
    """The epsilon, in thousandths, that a gap meets.

    >>> met(0.0843), met(0.084)
    (0.085, 0.084)
    """
    return math.ceil(round(1000 * value, 6)) / 1000


def side_by_side(outlook: Outlook, certificate: Certificate, word: str = SELECTED) -> list[str]:
    """Gap and AUC of new and of fitted people, before and after."""
    o, c = outlook, certificate
    gap, auc = about(o.gap_estimate, o.gap_standard_error), about(o.auc_estimate, o.auc_standard_error)
    lines = table(
        ["", "before", "after", "before", "after"],
        [
            [
                "largest gap at any threshold",
                f"{o.gap_before_estimate:.3f}",
                gap,
                f"{c.gap_before:.3f}",
                f"{c.gap:.3f}",
            ],
            *gap_rows(c, o),
            ["overall AUC", f"{o.auc_before:.3f}", auc, f"{c.auc_before:.3f}", f"{c.auc:.3f}"],
        ],
    )
    middle = lines[0].index("after") + len("after")
    head = "new people (expected)".rjust(middle) + "fitted people".rjust(len(lines[0]) - middle)
    whose = "all" if c.promise == "new" else "new"
    few = f" Ratios of {whose} people: where {o.told_from:.0%} or more are {word}." if o.told_from else ""
    return [head, *lines, f"±: standard error of the estimate.{few}", *test_set_lines(o), *information_lines(c)]


def test_set_lines(outlook: Outlook) -> list[str]:
    """What a test set shows, beside what is expected of all new people."""
    if outlook.test_gap_estimate is None:
        return []
    shown = f"{outlook.rows:,} of them is expected to show a gap of about {outlook.test_gap_estimate:.3f}"
    return [f"New people: all of them together. A test set of {shown}: a sample shows more than there is."]


def nobody_drawn(certificate: Certificate) -> bool:
    """Whether no fitted person's fair score depends on a draw."""
    return certificate.unchanged or not any(group.randomised_share for group in certificate.groups)


def most_drawn(groups: Sequence[GroupCertificate | FrontierGroup]) -> tuple[str, float]:
    """The group of which the largest share is drawn, and that share."""
    most = max(groups, key=lambda group: group.randomised_share)
    return most.group, most.randomised_share


def promise_words(certificate: Certificate, outlook: Outlook, *, verbose: bool = True) -> str:
    """For whom epsilon holds."""
    c, o = certificate, outlook
    allowed = allowed_by(c, o)
    if c.promise == "new":
        what = (
            f"{allowed.out_of_reach} with these rows at a price worth paying"
            if o.exceeds
            else f"the gap expected among new people is within {allowed.whole}"
        )
        how = f" {chosen_words(c)}" if verbose or c.unchanged else ""
        return f"Promise for new people: {what}. Nothing is forced onto the fitted people.{how}"
    if c.confidence is not None:
        left = "" if c.allowed is None or c.unchanged else f", so only {c.allowed:.4g} is allowed on the fitted people"
        sure = f"at {confidence(c.confidence)} the gap among all people is within {allowed.whole}"
        return f"Promise for the population: {sure}{left}."
    draw = "" if nobody_drawn(c) else " on average over the draw"
    return f"Promise for the fitted people: {allowed.holds} for them{draw}; what new people get is an estimate."


def allowed_by(certificate: Certificate, outlook: Outlook | None = None) -> Allowed:
    """What a fit was asked to allow; of attributes with an epsilon each, that which new people exceed most."""
    c, one = certificate, None if outlook is None else worst(outlook)
    if one is not None:
        return Allowed(one.epsilon, of=flat(one.title))
    return Allowed(c.epsilon, c.ratio, c.tolerances, of="one" if own_epsilons(c.families) else None)


def chosen_words(certificate: Certificate) -> str:
    """What promise="new" chose."""
    c = certificate
    if c.unchanged:
        return "Chosen: the original score."
    if c.families:
        return f"Chosen: an internal epsilon of {c.inner_epsilon:.4g} for the fitted people."
    name, comma, way = c.curve.partition(", ")
    return f"Chosen: {CHOSEN.get(name, name)}{comma}{way}."


def unchanged_words(certificate: Certificate, outlook: Outlook) -> str:
    """Why the score stays as it is."""
    allowed = allowed_by(certificate, outlook)
    if certificate.promise != "new":
        why = f"The score already meets {allowed.whole} (gap {certificate.gap:.3f})"
    elif outlook.exceeds:
        why = "No other score is expected to be clearly better for new people"
    else:
        why = f"The original score's gap among new people is expected to be within {allowed.whole}"
    return f"{why}: it stays as it is."


def caution(outlook: Outlook, asked: Allowed | None = None) -> Caution | None:
    """Harm, or else a gap of new people above epsilon, with the ways out; None where neither is expected."""
    o, allowed = outlook, Allowed(outlook.epsilon) if asked is None else asked
    if o.harms:
        words = (
            f"Among new people the fair score is expected to have a gap of {o.gap_estimate:.3f}, no smaller than the "
            f"original score's {o.gap_before_estimate:.3f}: it follows what is peculiar to these rows and helps nobody "
            "else. What would help:"
        )
        least = 'promise="new" (--promise new): keeps the original score where nothing is expected to do better'
        follows = "follow" if allowed.tolerances is not None else "follows"
        return Caution(words, (_more_rows(o, allowed), least, f"{allowed.more()}, which {follows} them less closely"))
    if not o.exceeds:
        return None
    one, more = worst(o), allowed.more
    gap = o.gap_estimate if one is None else one.gap_estimate
    by = "" if one is None else f" by {flat(one.title)}"
    expected = f"A gap of {beyond(gap, allowed.epsilon)}{by} is expected among new people, above"
    if o.promise == "new":
        words = f"{expected} {allowed.limit}. Two ways out:"
        return Caution(words, (_more_rows(o, allowed), f"{more(met(gap))} can be met"))
    holds = ", which holds for the fitted people" if o.promise == "fitted" else ""
    be = "is" if allowed.tolerances is None else "are"
    words = f"{expected} {allowed.limit}{holds}. Three ways out:"
    return Caution(
        words,
        (
            _more_rows(o, allowed),
            f'promise="new" (--promise new): brings the gap expected among new people to {allowed.whole}, or as near '
            "as it gets",
            f"{more(met(gap))} {be} what this score is expected to keep",
        ),
    )


def _more_rows(o: Outlook, allowed: Allowed) -> str:
    """Whose rows to collect, and about how many."""
    limit = o.limited_by
    label = "" if limit.label is None else f" with label {limit.label}"
    whose = f"more rows, first of group '{short(limit.group)}'{label}: {limit.rows:,} now"
    if o.promise != "new":
        gain = "would halve what new people's gap is above the fitted people's"
        return f"{whose}; about {limit.rows_to_halve:,}, and all others in proportion, {gain}"
    one = worst(o)
    gap = o.gap_estimate if one is None else one.gap_estimate
    times = (gap / allowed.epsilon) ** 2 if allowed.epsilon > 0 else math.inf
    if times > MOST_TIMES:
        return f"{whose}; far more, and all others in proportion, would bring {allowed.whole} within reach"
    many = math.ceil(times * limit.rows)
    return f"{whose}; roughly {many:,}, and all others in proportion, would bring {allowed.whole} within reach"


def limit_words(outlook: Outlook, *, verbose: bool = True) -> str:
    """Upper limits, the one to rely on first."""
    o = outlook
    first = f"At {confidence(o.level)} the gap among all people like these is at most {o.upper:.3f}"
    if not verbose:
        return f"{first}."
    if o.upper_dkw is None:
        return f"{first} (bootstrap, for this score; no DKW limit: {o.dkw_reason})."
    if o.method == "dkw":
        why = f"DKW, for any sample size: some class has fewer than {FEWEST_ROWS} rows"
        return f"{first} ({why}); the bootstrap, made for larger samples, says {o.upper_bootstrap:.3f}."
    return f"{first} (bootstrap, for this score); DKW, for any sample size and any score, says {o.upper_dkw:.3f}."


def least_certain_words(outlook: Outlook) -> str:
    """Who limits what is known, and how many rows would help."""
    limit = outlook.limited_by
    label = "" if limit.label is None else f", label {limit.label}"
    return (
        f"Least certain is group '{short(limit.group)}'{label}: {limit.rows:,} rows, ±{limit.width:.3f}; "
        f"{limit.rows_to_halve:,} would halve that. {outlook.rows_to_halve:,} rows like these would halve the distance "
        "to both limits."
    )


def auc_words(outlook: Outlook) -> str:
    """What an AUC above the original one is; nothing if it is not above, or if new people can expect it too."""
    o = outlook
    if o.auc <= max(o.auc_before, o.auc_estimate):
        return ""
    pairs = [(f"{o.auc:.{d}f}", f"{o.auc_before:.{d}f}") for d in range(3, 10)]
    fair, told = next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])
    seen = f"On the fitted people the fair score's AUC, {fair}, is above the original one's"
    if o.auc_estimate > o.auc_before:
        return f"{seen}, {told}. Part of that is peculiar to the sample: expect {o.auc_estimate:.3f} of new people."
    return f"{seen}, {told}. That is peculiar to the sample: expect {o.auc_estimate:.3f} of new people."


def one_draw_words(one_draw: OneDraw) -> str:
    """What one draw does to the fitted people, as a sentence; nothing if nobody is drawn."""
    found = one_draw
    if not found.draws:
        return ""
    return (
        f"People are drawn once: among these {found.rows:,} a single draw has a gap of about {found.gap:.3f} "
        f"({found.expected:.3f} on average over all draws); one draw in twenty exceeds {found.upper:.3f}."
    )


def new_people_lines(outlook: Outlook, one_draw: OneDraw, *, verbose: bool = True) -> list[str]:
    """Limits, what an AUC above the original one is, and what one draw does."""
    return [*filter(None, (limit_words(outlook, verbose=verbose), auc_words(outlook), one_draw_words(one_draw)))]
