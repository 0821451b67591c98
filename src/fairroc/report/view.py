"""What the templates of a report show: numbers as words, tables as rows of cells."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fairroc.core.constraint import OneRate
from fairroc.core.gap import ROUNDING
from fairroc.fitting.certificate import Certificate
from fairroc.fitting.frontier import left_out_words
from fairroc.fitting.outlook import Outlook
from fairroc.options import (
    CONFIDENCE,
    CONSTRAINT,
    DRAW,
    MIN_CLASS_ROWS,
    MISSING,
    NORM,
    PROMISE,
    SMALL_GROUPS,
    WHERE,
    Option,
)
from fairroc.report.data import Lines, ReportData, Source
from fairroc.report.figures import drawn_figure, frontier_figure, gap_figure, roc_figures
from fairroc.summary import span
from fairroc.text.certificate import each_rate
from fairroc.text.frontier import allowed_at, recommended_meaning, recommended_words
from fairroc.text.outlook import Caution, about, allowed_by, caution, most_drawn, nobody_drawn
from fairroc.text.people import epsilon_words
from fairroc.text.report import (
    asked_words,
    band_width,
    card_facts,
    certificate_notes,
    cost_words,
    gap_names,
    gap_words,
    meaning_words,
    unknowns,
    verdict_words,
)
from fairroc.text.words import RATES, confidence, figure, percent, short

BOTH = (
    "measure",
    "new people: original",
    "new people: fair",
    "fitted: original",
    "fitted: fair",
    "limit, fitted people",
)
PEOPLE_DRAWN = "people drawn"
FRONTIER_HEAD = (
    *("new people: gap", "new people: AUC", "fitted: gap", "fitted: AUC", PEOPLE_DRAWN, "no fair score exceeds"),
    *("best accuracy", "disparate impact"),
)
SHOWN_WARNINGS = 4
"""Of more warnings the rest is folded away."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column heads its rows: names from the data where ``named``."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    id: str | None = None
    named: bool = False


class Card(NamedTuple):
    """One number to take away; ``tone`` is "good", "bad" or neither."""

    title: str
    value: str
    note: str
    tone: str = ""


def words(data: ReportData) -> dict[str, Any]:
    """All sentences of the page, ready for JSON."""
    asked, means, warned = data.options.fairness, data.positive_means, _caution(data)
    return {
        "meaning": meaning_words(asked, means),
        "tiles": [card._asdict() for card in cards(data)],
        "caution": None if warned is None else {"words": warned.words, "ways": list(warned.ways)},
        "found": found_words(data),
        "sure": gap_words(data.audit, means),
        "asked": asked_words(data.audit, means),
        "verdict": verdict_words(data.certificate, data.outlook),
        "costs": " ".join([cost_words(data.certificate, data.outlook, data.frontier, means), *_decided_words(data)]),
        "recommended": [recommended_words(data.frontier), *recommended_meaning(data.frontier, means)],
        "unknown": list(unknowns(data.audit, data.outlook)),
        "left_out": left_out_words(data.frontier),
        "certificate": certificate_notes(data.certificate, data.one_draw, data.outlook),
        "card": [{"title": title, "words": told} for title, told in _facts(data)],
        "deploy": [{"words": step.words, "command": step.command(_goal(data))} for step in deploy_steps(data)],
    }


def _facts(data: ReportData) -> list[tuple[str, str]]:
    """The model card."""
    count = len(data.warnings) + (_caution(data) is not None)
    told = f"{count}, at the top of the page" if count else "none: no small group, wide band or crossing"
    facts = card_facts(
        data.audit,
        data.options.fairness,
        weighted=data.weighted,
        missing=data.options.missing,
        positive_means=data.positive_means,
    )
    return [*facts, ("Warnings", told)]


def _goal(data: ReportData) -> str:
    """What the commands allow: as asked for, else what the page starts with."""
    return f"{allowed_at(data.frontier.points[data.chosen]):.4g}" if data.audit.epsilon is None else asked_value(data)


def view(data: ReportData) -> dict[str, Any]:
    """All that the page of a report shows, by the names its template uses."""
    threshold = data.thresholds[data.start]
    return words(data) | {
        "title": data.title,
        "selected": data.positive_means,
        "names": gap_names(data.options.fairness),
        "tolerances": data.options.tolerances is not None,
        "windowed": data.window is not None,
        "fitted": data.certificate is not None,
        "promise": data.options.promise,
        "source": data.source,
        "size": f"{data.audit.rows:,} rows, {len(data.names)} groups",
        "made": f"{data.made}, {data.package}",
        "cards": cards(data),
        "warnings": [data.warnings[:SHOWN_WARNINGS], data.warnings[SHOWN_WARNINGS:]],
        "threshold": f"{threshold:.4g}",
        "thresholds": len(data.thresholds),
        "start": data.start,
        "epsilon": f"{allowed_at(data.frontier.points[data.chosen]):.4g}",
        "meant": epsilon_words(data.options.fairness, data.frontier.points[data.chosen].epsilon, data.positive_means),
        "epsilons": len(data.frontier.points),
        "chosen": data.chosen,
        "roc": roc_figures(data),
        "gap": gap_figure(data),
        "frontier": frontier_figure(data),
        "drawn": drawn_figure(data) if data.draws else None,
        "draws": data.draws,
        "rates": [rates_row(data, g) for g in range(len(data.names))],
        "gaps": gap_row(data),
        "apart": apart_row(data),
        "curves": curve_table(data),
        "prices": price_table(data),
        "groups": group_table(data),
        "tables": certificate_tables(data.certificate, data.outlook),
        "facts": _facts(data),
        "steps": deploy_steps(data),
        "asked_epsilon": None if data.audit.epsilon is None else asked_value(data),
    }


def cards(data: ReportData) -> list[Card]:
    """The few numbers to take away, new people first."""
    found, ahead, audit, before = data.certificate, data.outlook, data.audit, data.frontier.before
    ratio, gap = data.options.ratio is not None, gap_names(data.options.fairness)["gap"]

    def told(value: float) -> float:
        return 1 - value if ratio else value

    if found is None or ahead is None:
        sure = audit.gap_interval
        ends = None if sure is None or sure.best is None else sorted(map(told, sure.best))
        level = "" if sure is None else f" ({confidence(sure.level)})"
        return [
            Card(f"New people: {gap} expected", figure(told(before.gap_estimate), 3), _between(ends, level)),
            Card("New people: AUC expected", figure(before.auc_estimate, 3), _between(audit.auc_interval, level)),
            Card(f"These people: largest {gap}", figure(told(audit.gap), 3), "original score"),
            Card("These people: AUC", figure(audit.auc, 3), "original score"),
        ]
    fair = found.gap <= found.epsilon + ROUNDING
    kept, missed = f"within epsilon {found.epsilon:g}", f"above epsilon {found.epsilon:g}"
    if found.ratio is not None:
        kept, missed = f"at least ratio {found.ratio:g}", f"below ratio {found.ratio:g}"
    elif found.tolerances is not None:
        kept, missed = f"within {allowed_by(found).whole}", f"above {allowed_by(found).limit}"
    few = f", from {ahead.told_from:.0%} {data.positive_means} on" if ahead.told_from else ""
    average = "" if nobody_drawn(found) else ", on average over the draw"
    most = f"{'at least' if ratio else 'at most'} {max(told(ahead.upper), 0):.3f} at {confidence(ahead.level)}"
    old = f"original score {told(ahead.gap_before_estimate):.3f}"
    return [
        Card(
            f"New people: {gap} expected",
            about(told(ahead.gap_estimate), ahead.gap_standard_error),
            f"{missed if ahead.exceeds else kept}{few}; {most}; {old}{_test_set(ahead, told)}",
            "bad" if ahead.exceeds or ahead.harms else "good",
        ),
        Card(
            "New people: AUC expected",
            about(ahead.auc_estimate, ahead.auc_standard_error),
            f"± standard error; original score {ahead.auc_before:.3f}",
        ),
        Card(
            f"Fitted people: {gap}",
            f"{told(found.gap_before):.3f} → {told(found.gap):.3f}",
            f"{kept if fair else missed}{few if found.promise == 'new' else ''}{average}",
            "" if fair else "bad",
        ),
        Card(
            "Fitted people: AUC",
            f"{found.auc_before:.3f} → {found.auc:.3f}",
            "above the original, in this sample only"
            if found.auc > max(found.auc_before, ahead.auc_estimate)
            else f"no fair score exceeds {_possible(found)}",
        ),
        Card("Fitted people: drawn", *_drawn(data, found)),
    ]


def _possible(found: Certificate) -> str:
    """Both bounds of the AUC, the second one where a score without a draw can have so small a gap."""
    without = found.auc_bound_without_draw
    return f"{found.auc_bound:.3f}{'' if without is None else f', none without a draw {without:.3f}'}"


def _drawn(data: ReportData, found: Certificate) -> tuple[str, str]:
    """Who is drawn, how many decisions hang on it at the threshold that the page starts with, and what would be
    without."""
    if nobody_drawn(found):
        return "nobody", "the score decides alone"
    (group, share), least, (at, whole, _, _) = most_drawn(found.groups), found.least_gap_without_draw, _decided(data)
    note = f"{percent(share)} of '{short(group)}'; {percent(whole)} of decisions at score ≥ {at:.4g}"
    note += "" if least is None else f"; least gap without a draw: about {least:.3f}"
    return percent(found.drawn), note


def _decided(data: ReportData) -> tuple[float, float, float, str]:
    """The threshold that the page starts with; how many decisions of the fit hang on a draw there: of all people, and
    of the group of which most do."""
    shares = [group.drawn[data.start] for group in data.fair[data.chosen].groups]
    return data.thresholds[data.start], _of_all(data, shares), *max(zip(shares, data.names, strict=True))


def _decided_words(data: ReportData) -> list[str]:
    """The same as a sentence; nothing where nobody is drawn."""
    if data.certificate is None or nobody_drawn(data.certificate):
        return []
    at, whole, most, group = _decided(data)
    words = f"At score ≥ {at:.4g} a draw decides for {percent(whole)} of people, for {percent(most)} of group"
    return [f"{words} '{short(group)}'."]


def _of_all(data: ReportData, shares: Sequence[float]) -> float:
    """Share of all people, from the groups'."""
    return sum(whole * share for whole, share in zip(data.shares, shares, strict=True))


def _between(ends: Sequence[float] | None, level: str) -> str:
    return "original score" if ends is None else f"original score; between {ends[0]:.3f} and {ends[1]:.3f}{level}"


def _test_set(ahead: Outlook, told: Callable[[float], float]) -> str:
    """What a test set shows, chance included."""
    if ahead.test_gap_estimate is None:
        return ""
    return f"; a test set of {ahead.rows:,} people shows about {told(ahead.test_gap_estimate):.3f}: more than there is"


def _caution(data: ReportData) -> Caution | None:
    """What is wrong with the fit for new people."""
    found, ahead = data.certificate, data.outlook
    return None if found is None or ahead is None else caution(ahead, allowed_by(found))


def found_words(data: ReportData) -> str:
    """The largest gap of the original score: where, between whom, and both groups' rates there."""
    audit, selected = data.audit, data.positive_means
    at = data.thresholds.index(audit.gap_threshold)
    numbers = [data.names.index(name) for name in audit.gap_pair]
    one, two = (data.before.groups[g] for g in numbers)
    first, second = (f"'{short(name)}'" for name in audit.gap_pair)
    rates = "error rates" if audit.constraint == CONSTRAINT.default else RATES[audit.constraint]
    of_all = " and ".join(percent(_selected(data, g, data.before, at)) for g in numbers)
    return (
        f"With the original score the groups' {rates} are furthest apart at score ≥ {audit.gap_threshold:.4g}, between "
        f"{first} and {second}: a gap of {audit.gap:.3f} ({data.options.fairness.formula}). There, of people with a "
        f"positive label, {percent(one.tpr[at])} of {first} and {percent(two.tpr[at])} of {second} are {selected}; of "
        f"people with a negative label, {percent(one.fpr[at])} and {percent(two.fpr[at])}; of all people, {of_all}."
    )


def _both(data: ReportData) -> tuple[Any, Any]:
    """Lines of the original score and of the fair score that the page starts with."""
    return data.before, data.fair[data.chosen]


def rates_row(data: ReportData, g: int) -> list[str]:
    """What the threshold does to a group, before and after; the script keeps it up to date."""
    at, both = data.start, [lines.groups[g] for lines in _both(data)]
    selected = [percent(_selected(data, g, lines, at)) for lines in _both(data)]
    drawn = [percent(both[1].drawn[at])] if data.draws else []
    rates = (figure(getattr(x, rate)[at], 3) for rate in ("tpr", "fpr") for x in both)
    return [data.names[g], *selected, *rates, *drawn]


def _selected(data: ReportData, g: int, lines: Lines, at: int) -> float:
    """Share of a group's people selected."""
    group, prior = lines.groups[g], data.priors[g]
    return prior * group.tpr[at] + (1 - prior) * group.fpr[at]


def gap_row(data: ReportData) -> list[str]:
    """The gap at the threshold, below the rate that it is measured in."""
    asked, at, cells = data.options.fairness, data.column, [""] * (6 + data.draws)
    cells[at : at + 2] = [figure(lines.gap[data.start], 3) for lines in _both(data)]
    return [f"gap ({asked.formula if isinstance(asked, OneRate) else 'both rates'})", *cells]


def apart_row(data: ReportData) -> list[str]:
    """How far apart the groups are in every rate for itself."""
    at, cells = data.start, []
    for rate in ("selection", "tpr", "fpr"):
        for lines in _both(data):
            shares = [_selected(data, g, lines, at) for g in range(len(data.names))]
            rates = shares if rate == "selection" else [getattr(group, rate)[at] for group in lines.groups]
            cells.append(figure(max(rates) - min(rates), 3))
    return ["largest difference of each rate", *cells, *([""] if data.draws else [])]


def group_table(data: ReportData) -> Table:
    """Who is in the data, and how well the score ranks them."""
    level = "" if data.audit.gap_interval is None else f" ({100 * data.audit.gap_interval.level:g}%)"
    at, rows = data.start, []
    for found, rates in zip(data.audit.groups, data.before.groups, strict=True):
        width = band_width(found)
        known = "–" if width >= 1 else f"±{width:.3f}"
        cells = [
            f"{found.rows:,}",
            f"{found.positives:,}",
            figure(found.auc, 3),
            span(found.auc_interval) or "–",
            known,
        ]
        rows.append([found.group, *cells, figure(rates.tpr[at], 3), figure(rates.fpr[at], 3)])
    head = ["group", "rows", "positives", "AUC", f"AUC between{level}", "rates known to", "TPR", "FPR"]
    caption = f"Groups: original score; TPR and FPR at score ≥ {data.thresholds[at]:.4g}"
    return Table(caption, head, rows, "groups", named=True)


def curve_table(data: ReportData) -> Table:
    """The curves and the gap in numbers, at a few thresholds."""
    (old, new), groups = _both(data), range(len(data.names))
    rows = [
        [
            f"{data.thresholds[i]:.4g}",
            *(percent(_of_all(data, [_selected(data, g, lines, i) for g in groups])) for lines in (old, new)),
            *(_ends([getattr(g, rate)[i] for g in lines.groups]) for rate in ("tpr", "fpr") for lines in (old, new)),
            *(figure(lines.gap[i], 3) for lines in (old, new)),
        ]
        for i in data.rows
    ]
    kinds = (data.positive_means, "TPR", "FPR", "gap")
    head = ["score ≥", *(f"{kind}, {score}" for kind in kinds for score in ("original", "fair"))]
    return Table("Lowest and highest rate of the groups, and the gap, at some thresholds", head, rows, "curves")


def _ends(rates: Sequence[float]) -> str:
    return f"{min(rates):.3f} to {max(rates):.3f}"


def price_table(data: ReportData) -> Table:
    """The frontier in numbers."""
    rows = [
        [
            f"{allowed_at(p):.4g}",
            *(figure(x, 3) for x in (p.gap_estimate, p.auc_estimate, p.gap, p.auc)),
            *([percent(p.randomised_share)] if data.draws else []),
            *(figure(x, 3, none="–") for x in (p.auc_bound, p.accuracy, p.disparate_impact)),
        ]
        for p in data.frontier.points
    ]
    allowed = gap_names(data.options.fairness)["allowed"]
    caption = f"Fair scores at every {allowed}: expected of new people, exact for the fitted ones"
    head = [title for title in FRONTIER_HEAD if data.draws or title != PEOPLE_DRAWN]
    return Table(caption, (allowed, *head), rows, "frontier")


def certificate_tables(found: Certificate | None, ahead: Outlook | None) -> list[Table]:
    """New and fitted people side by side; what was lost, what could not have been kept, who is drawn."""
    if found is None or ahead is None:
        return []
    allowed = found.epsilon if found.allowed is None else found.allowed
    whole = [
        [
            "largest gap at any threshold",
            figure(ahead.gap_before_estimate, 3),
            about(ahead.gap_estimate, ahead.gap_standard_error),
            *(figure(x, 3) for x in (found.gap_before, found.gap)),
            "nothing forced" if found.promise == "new" else f"{allowed:.4g} allowed",
        ],
        [
            "overall AUC",
            figure(ahead.auc_before, 3),
            about(ahead.auc_estimate, ahead.auc_standard_error),
            *(figure(x, 3) for x in (found.auc_before, found.auc)),
            f"at most {_possible(found)}",
        ],
        *(
            [f"largest difference of the {word}", "–", "–", figure(before, 3), figure(after, 3), ""]
            for word, before, after in each_rate(found)
        ),
    ]
    head = ["group", "AUC, original", "AUC, fair", "best fair AUC", PEOPLE_DRAWN][: 4 if nobody_drawn(found) else 5]
    rows = [(g.group, g.auc_before, g.auc, g.auc_fair, g.randomised_share) for g in found.groups]
    groups = [[name, *(figure(auc, 3) for auc in aucs), percent(drawn)][: len(head)] for name, *aucs, drawn in rows]
    return [
        Table("New people (expected ± standard error) and fitted people (exact)", BOTH, whole, "certificate"),
        Table("Certificate by group", head, groups, named=True),
    ]


# -- how to deploy: the exact commands, or the same in Python ----------------------------------------------------------

HOW = (CONSTRAINT, NORM, DRAW, WHERE, PROMISE, CONFIDENCE)
"""Options of a fit that a report takes, beside what is allowed."""

LATER = "Apply it to new rows. The same id always gets the same draw:"
LATER_UNDRAWN = "Apply it to new rows. The same score and group always get the same fair score:"


@dataclass(frozen=True, slots=True)
class Step:
    """One command or piece of Python; epsilon stands between ``before`` and ``after`` where there is an ``after``."""

    words: str
    before: str
    after: str | None = None

    def command(self, epsilon: str) -> str:
        """The whole of it."""
        return self.before if self.after is None else f"{self.before}{epsilon}{self.after}"


def deploy_steps(data: ReportData) -> list[Step]:
    """Fit and apply the score of this report, watch new people, and look again."""
    return _python(data) if data.source is None else _shell(data, data.source)


def _undrawn(data: ReportData) -> bool:
    """Whether no fit that the steps make draws anybody."""
    return data.options.draw == "never" or (data.model is not None and not data.model.needs_ids)


def _shell(data: ReportData, source: Source) -> list[Step]:
    roles, label = ["--score", source.score], ["--label", source.label or "LABEL"]
    counted = label if source.counts is None else ["--positives", source.counts[0], "--negatives", source.counts[1]]
    groups = [word for name in source.groups for word in ("--group", name)]
    known = [] if source.weight is None else ["--weight", source.weight]
    known += [] if source.pos_label is None else ["--pos-label", source.pos_label]
    small = [word for option, value in _small(data) for word in (str(option.flag), str(value))]
    more = [*groups, *known, *(["--missing", "group"] if data.options.missing == "group" else []), *small]
    goal = "--ratio" if data.options.ratio is not None else "--epsilon"
    goal = goal if data.options.tolerances is None else "--epsilon-fpr"
    undrawn = _undrawn(data)
    fit = [["fairroc", "fit", source.data], [*roles, *counted], more]
    transform = [["fairroc", "transform", "NEW.csv"], ["--model", "model.json"], [*roles, *groups]]
    watch = [["fairroc", "monitor", "NEW.csv"], ["--model", "model.json"], [*roles, *groups], known]
    audit = [["fairroc", "audit", "FAIR.csv"], ["--score", f"{source.score}_fair", *label], more]
    return [
        Step(
            f"Fit the fair score on rows like these{'' if undrawn else '; add --key-file to make draws secret'}:",
            _lines(*fit, [goal, ""]),
            f" {shlex.join([*_flags(data, *HOW), '-o', 'model.json'])}",
        ),
        Step(LATER_UNDRAWN, _lines(*transform, ["-o", "FAIR.csv"]))
        if undrawn
        else Step(LATER, _lines(*transform, ["--id", "ID", "-o", "FAIR.csv"])),
        Step(
            f"Watch whether new people are like these; once labels are known, add {shlex.join(label)}:",
            _lines(*watch),
        ),
        Step(
            "When their labels are known, look again:",
            _lines(*audit, [goal, ""]),
            f" {shlex.join(again)}" if (again := _flags(data, CONSTRAINT, NORM, WHERE)) else "",
        ),
    ]


def asked_value(data: ReportData) -> str:
    """What was allowed, as the commands and Python take it."""
    options = data.options
    if options.ratio is not None:
        return f"{options.ratio:.15g}"
    if options.tolerances is None:
        return f"{options.epsilon:.15g}"
    form = "{:.15g} --epsilon-tpr {:.15g}" if data.source is not None else '{{"fpr": {:.15g}, "tpr": {:.15g}}}'
    return form.format(*options.tolerances)


def _asked(data: ReportData, *options: Option) -> list[tuple[Option, Any]]:
    """What was asked for, where that is not the default; tolerances say which norm."""
    both = [(option, getattr(data.options, option.name)) for option in options]
    own = data.options.tolerances is not None
    return [(option, value) for option, value in both if value != option.default and not (own and option is NORM)]


def _flags(data: ReportData, *options: Option) -> list[str]:
    asked = _asked(data, *options)
    words = [(option, ":".join(f"{end:.15g}" for end in x) if option is WHERE else str(x)) for option, x in asked]
    return [word for option, value in words for word in (str(option.flag), value)]


def _small(data: ReportData) -> list[tuple[Option, str | int]]:
    """What was asked for small groups, where that is not the default."""
    both = ((SMALL_GROUPS, data.small.treatment), (MIN_CLASS_ROWS, data.small.minimum))
    return [(option, value) for option, value in both if value != option.default]


def _lines(*parts: list[str]) -> str:
    """One command on several lines; an empty last word is left open."""
    return " \\\n  ".join(shlex.join(part).removesuffix("''") for part in parts if part)


def _python(data: ReportData) -> list[Step]:
    asked = _asked(data, *HOW, MISSING)
    how = "".join(f", {o.name}={value if o is WHERE else json.dumps(value)}" for o, value in asked)
    goal = "epsilon" if data.options.ratio is None else "ratio"
    undrawn = _undrawn(data)
    weight = ", sample_weight=weight" if data.weighted else ""
    small = "".join(f", {option.name}={json.dumps(value)}" for option, value in _small(data))
    return [
        Step(
            "Fit the fair score on rows like these, and keep it:",
            f"from fairroc import FairROC\n\npost = FairROC({goal}=",
            f'{how}{small})\npost.fit(scores, y, sensitive_features=groups{weight})\npost.model_.save("model.json")',
        ),
        Step(
            LATER_UNDRAWN if undrawn else LATER,
            'from fairroc import FairModel\n\nmodel = FairModel.load("model.json")\n'
            f"fair = model.transform(new_scores, sensitive_features=new_groups{'' if undrawn else ', ids=new_ids'})",
        ),
    ]
