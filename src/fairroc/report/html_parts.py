"""The sections of a report."""

from __future__ import annotations

from collections.abc import Iterable

from fairroc.auditing.findings import GapInterval, GroupAudit, Interval
from fairroc.core.gap import ROUNDING
from fairroc.fitting.certificate import Certificate
from fairroc.fitting.outlook import Outlook
from fairroc.report.data import ReportData, band_width
from fairroc.report.html_tags import Html, join, name_of, table, tag
from fairroc.text.certificate import outlook_text, tie_words
from fairroc.text.words import METHODS, norm_words, short

FRONTIER_HEAD = ("epsilon", "gap", "AUC", "no fair score exceeds", "best accuracy", "disparate impact", "people drawn")


def number(value: float | None, digits: int = 4) -> str:
    """A figure, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float) -> str:
    """A share of people."""
    return f"{100 * value:.1f}\u00a0%"


def span(interval: Interval | None) -> str:
    """An interval, or a dash."""
    return "–" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"


def subtitle(data: ReportData) -> Html:
    """Whose scores these are."""
    groups = f"{data.audit.rows:,} rows, {len(data.names)} groups"
    if data.source is None:
        return join([groups, f"; {data.made}, {data.package}"])
    by = join((tag("code", name_of(name)) for name in data.source.groups), " and ")
    told = [tag("code", name_of(data.source.data)), ": score ", tag("code", name_of(data.source.score))]
    return join([*told, ", groups by ", by, f"; {groups}; {data.made}, {data.package}"])


def summary(data: ReportData) -> Html:
    """Four answers in plain words."""
    return tag(
        "div",
        tag("div", tag("h3", "What was found"), *_found(data)),
        tag("div", tag("h3", "What was asked"), _asked(data), tag("h3", "What it costs"), _costs(data)),
        tag("div", tag("h3", "What is not known"), tag("ul", *(tag("li", words) for words in _unknown(data)))),
        class_="answers",
    )


def _found(data: ReportData) -> list[Html]:
    audit = data.audit
    first, second = (name_of(short(name)) for name in audit.gap_pair)
    at = data.thresholds.index(audit.gap_threshold)
    rates = {name: data.before.groups[g] for g, name in enumerate(data.names)}
    one, other = (rates[name] for name in audit.gap_pair)
    gap = join(
        [
            f"The groups' error rates are furthest apart at score ≥ {audit.gap_threshold:.4g}, between ",
            join([first, " and ", second]),
            f": a gap of {audit.gap:.3f} ({norm_words(data.norm)}). There, of the people with a positive label, ",
            join([f"{percent(one.tpr[at])} of ", first, f" and {percent(other.tpr[at])} of ", second]),
            " are accepted; of those with a negative label, ",
            join([f"{percent(one.fpr[at])} of ", first, f" and {percent(other.fpr[at])} of ", second, "."]),
        ]
    )
    found = [tag("p", gap)]
    interval = audit.gap_interval
    if interval is not None and interval.best is not None:
        low, high = interval.best
        sure = f"Among all people whom these rows stand for, the gap lies between {low:.3f} and {high:.3f}"
        found.append(tag("p", f"{sure} ({100 * interval.level:g}\u00a0% confidence)."))
    return found


def _asked(data: ReportData) -> Html:
    epsilon = data.audit.epsilon
    if epsilon is None:
        return tag("p", "No epsilon was asked for, so nothing was fitted. The page shows what each would cost.")
    words = f"Epsilon {epsilon:g}: at every threshold, no two groups may be further apart than {epsilon:g}."
    verdict = "meets this already" if data.audit.fair else "does not meet this"
    return tag("p", f"{words} The original score {verdict}{_chance(data.audit.gap_interval, epsilon, data)}.")


def _chance(interval: GapInterval | None, epsilon: float, data: ReportData) -> str:
    best = None if interval is None else interval.best
    if best is None:
        return ""
    low, high = best
    if low > epsilon:
        return ", and chance does not explain it"
    if high > epsilon:
        return " on these rows, but the interval leaves room for the opposite"
    return ", and so does the whole interval"


def _costs(data: ReportData) -> Html:
    found = data.certificate
    if found is None:
        least, before = data.frontier.points[0], data.frontier.before
        words = (
            f"Equal rates at every threshold (epsilon 0) would take the AUC of all people from {before.auc:.4f} to "
            f"{least.auc:.4f}; a larger epsilon costs less."
        )
        return tag("p", words)
    if found.unchanged:
        return tag("p", "Nothing: the score stays as it is.")
    drawn = sum(share * group.randomised_share for share, group in zip(data.shares, found.groups, strict=True))
    return tag(
        "p",
        f"The AUC of all people goes from {found.auc_before:.4f} to {found.auc:.4f}; no fair score can have more than "
        f"{found.auc_bound:.4f} on these people. The largest gap goes from {found.gap_before:.3f} to {found.gap:.3f}. "
        f"For {percent(drawn)} of people the fair score depends on a draw.",
    )


def _unknown(data: ReportData) -> Iterable[str]:
    if data.outlook is not None:
        yield _ahead(data.outlook)
    yield "Whether the labels are right. A label that is itself biased makes every rate here wrong."
    yield "Whether equal error rates are the right aim: calibration and equal shares accepted are others, and conflict."
    widest = max(data.audit.groups, key=band_width)
    if band_width(widest) < 1:
        yield f"The rates themselves, exactly: in the least certain group they may be off by {band_width(widest):.3f}."


def _ahead(found: Outlook) -> str:
    """How fair the score will be on new people, as far as one can tell."""
    about = "" if found.gap_estimate is None else f"expect a gap of about {found.gap_estimate:.2f}, and "
    return (
        f"How fair the fair score is on people not seen yet: {about}at {100 * found.level:.4g} % confidence no more "
        f"than {found.upper:.3f} ({METHODS[found.method]}). Check new rows with fairroc monitor."
    )


def cards(data: ReportData) -> Html:
    """The few numbers to take away."""
    found, audit = data.certificate, data.audit
    shown = [("Largest gap", number(audit.gap, 3), "original score")]
    if found is None:
        shown.append(("AUC", number(audit.auc), "original score"))
    else:
        fair = "meets epsilon" if found.gap <= found.epsilon + ROUNDING else "above epsilon"
        shown.append(("Epsilon asked", f"{found.epsilon:g}", "allowed gap"))
        shown.append(("Gap after", number(found.gap, 3), f"fair score: {fair}"))
        shown.append(
            ("AUC", f"{found.auc_before:.4f} → {found.auc:.4f}", f"no fair score exceeds {found.auc_bound:.4f}")
        )
    cells = [
        tag("div", tag("dt", name), tag("dd", value, class_="figure"), tag("dd", note, class_="note"))
        for name, value, note in shown
    ]
    return tag("dl", *cells, class_="cards")


def rates_table(data: ReportData) -> Html:
    """What one threshold does to every group, before and after; the script keeps it up to date."""
    at, chosen = data.start, data.fair[data.chosen]
    rows = []
    for g, name in enumerate(data.names):
        before, after, prior = data.before.groups[g], chosen.groups[g], data.priors[g]
        numbers = [percent(prior * x.tpr[at] + (1 - prior) * x.fpr[at]) for x in (before, after)]
        numbers += [number(x.tpr[at]) for x in (before, after)] + [number(x.fpr[at]) for x in (before, after)]
        rows.append([name_of(name), *numbers])
    rows.append(["gap (both rates)", "", "", number(data.before.gap[at]), number(chosen.gap[at]), "", ""])
    heads = [tag("th", words, scope="colgroup", colspan=2) for words in ("accepted", "TPR", "FPR")]
    above = tag("tr", tag("td"), *heads, class_="level")
    where = tag("span", f"{data.thresholds[at]:.4g}", id="rates-threshold")
    epsilon = tag("span", f"{data.frontier.points[data.chosen].epsilon:.4g}", id="rates-epsilon")
    caption = join(["Rates at score ≥ ", where, ", of the original score and of the fair score at epsilon ", epsilon])
    return table(
        caption, ["group", *(["original", "fair"] * 3)], rows, above=above, spoken="Rates at the threshold", id="rates"
    )


def group_table(data: ReportData) -> Html:
    """Who is in the data, and how well the score ranks them."""
    level = "" if data.audit.gap_interval is None else f" ({100 * data.audit.gap_interval.level:g} %)"
    at = data.start
    rows = []
    for g, found in enumerate(data.audit.groups):
        rates = data.before.groups[g]
        cells = [f"{found.rows:,}", f"{found.positives:,}", number(found.auc), span(found.auc_interval), _band(found)]
        rows.append([name_of(found.group), *cells, number(rates.tpr[at]), number(rates.fpr[at])])
    head = ["group", "rows", "positives", "AUC", f"AUC between{level}", "rates known to", "TPR", "FPR"]
    caption = f"Groups: original score; TPR and FPR at score ≥ {data.thresholds[at]:.4g}"
    return table(caption, head, rows, id="groups")


def _band(group: GroupAudit) -> str:
    width = band_width(group)
    return "–" if width >= 1 else f"±{width:.3f}"


def frontier_table(data: ReportData) -> Html:
    """The frontier in numbers."""
    rows = [
        [
            f"{p.epsilon:.4g}",
            *(number(x) for x in (p.gap, p.auc, p.auc_bound, p.accuracy, p.disparate_impact)),
            percent(p.randomised_share),
        ]
        for p in data.frontier.points
    ]
    return table("Fair scores at every epsilon, ties drawn", FRONTIER_HEAD, rows, id="frontier")


def certificate_part(data: ReportData) -> Html:
    """What was lost, what could not have been kept, who is drawn."""
    found = data.certificate
    if found is None:
        return tag("p", "No epsilon was asked for: there is no fit to certify. Run the report again with --epsilon.")
    head = ["", "original", "fair", "limit"]
    rows = [
        ["largest gap at any threshold", number(found.gap_before), number(found.gap), f"{found.epsilon:g} allowed"],
        ["AUC of all people", number(found.auc_before), number(found.auc), f"{found.auc_bound:.4f} possible"],
    ]
    groups = [
        [
            name_of(g.group),
            *(number(x) for x in (g.auc_before, g.auc, g.auc_fair)),
            *_drawn(g.transport_share, g.tie_share),
        ]
        for g in found.groups
    ]
    columns = ["group", "AUC, original", "AUC, fair", "best fair AUC", "moved by draw", "tie drawn"]
    return join(
        [
            table("Certificate of the fit", head, rows, id="certificate"),
            table("Certificate by group", columns, groups),
            tag("p", f"Ties: {tie_words(found)} {_levels(found)}Exact expectations over the draw on these rows."),
            *([] if data.outlook is None else [tag("p", words) for words in outlook_text(data.outlook).splitlines()]),
        ]
    )


def _levels(found: Certificate) -> str:
    return "" if found.unchanged else f"{found.levels} levels. "


def _drawn(transport: float, tie: float) -> tuple[str, str]:
    return percent(transport), percent(tie)


def card(data: ReportData) -> Html:
    """Model card: data, settings, uses, warnings."""
    audit = data.audit
    positives = sum(group.positives for group in audit.groups)
    facts = [
        ("Rows", f"{audit.rows:,}, of which {positives:,} positive ({percent(positives / audit.rows)})"),
        ("Weights", "rows are weighted" if data.weighted else "every row counts once"),
        ("Groups", f"{len(audit.groups)}; smallest class {_smallest(data):,} rows"),
        ("Missing groups", "a group of their own" if data.missing == "group" else "none"),
        ("AUC of all people", f"{audit.auc:.4f} ({span(audit.auc_interval)})"),
        ("Distance", norm_words(data.norm)),
        ("Made to", "assess a score, and choose epsilon and threshold, before a decision uses either"),
        ("Not made to", "show that a decision is lawful, or that labels are right"),
        (
            "At decision time",
            "the fair score uses the person's group; the law may restrict that. Ask before you deploy",
        ),
    ]
    listed = tag("dl", *(tag("div", tag("dt", a), tag("dd", b)) for a, b in facts), class_="facts")
    notes = [tag("li", note) for note in data.warnings]
    told = tag("ul", *notes, class_="warnings") if notes else tag("p", "None: no small group, wide band or crossing.")
    return join([listed, tag("h3", "Warnings"), told])


def _smallest(data: ReportData) -> int:
    return min(min(group.positives, group.rows - group.positives) for group in data.audit.groups)
