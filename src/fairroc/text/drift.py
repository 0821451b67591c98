"""A check of new people in words: the whole as text, and every finding and doubt as a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairroc.core.constraint import FEW_SELECTED
from fairroc.monitoring.drift import Drift, DriftTest, GapCheck, GroupDrift, ScoreShift
from fairroc.options import CONSTRAINT
from fairroc.text.people import people_words
from fairroc.text.words import (
    METHODS,
    SELECTED,
    confidence,
    listed,
    pair,
    percent,
    plural,
    quoted,
    rounded,
    small_lines,
    table,
    where_words,
)

NO_REFERENCE = (
    "scores were not compared: the model holds no fitted scores, as it comes from a file written before fairroc kept "
    "them; fit again to have them"
)

FROM = f"ratios are measured where {FEW_SELECTED:.0%} of people or more are {{}}, as a few people make any ratio"

SHOWN = 5
"""Unknown groups that a sentence names."""


def drift_text(found: Drift, *, positive_means: str = SELECTED, verbose: bool = False) -> str:
    """The verdict, what was found, what could not be told, and one table for each question."""
    parts = [
        [_verdict(found), *(f"As at the fit: {line}" for line in small_lines(found.small_groups))],
        [f"  - {reason}." for reason in found.reasons],
        ["Not certain:", *(f"  - {doubt}." for doubt in found.doubts)] if found.doubts else [],
        *([*([f"By {of}:"] if of else []), *_gap_lines(gap, positive_means, verbose)] for of, gap in _measured(found)),
        _score_lines(found),
        _label_lines(found),
        [_tests(found)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _verdict(found: Drift) -> str:
    if found.drifted:
        return f"DRIFT: {plural(len(found.reasons), 'finding')} in {plural(found.rows, 'row')}."
    doubt = ", but some checks were inconclusive" if found.doubts else ""
    return f"No drift found in {plural(found.rows, 'row')}{doubt}."


def _gap_lines(gap: GapCheck, word: str, verbose: bool) -> list[str]:
    allowed = _allowed(gap)
    answers = {
        "within": f"within {allowed}, and so is the whole interval",
        "unclear": f"shown neither to be within {allowed} nor outside it",
        "outside": f"NOT within {allowed}: the whole interval is outside",
    }
    what = f"{gap.fairness.formula}{where_words(gap.where, word)}"
    lines = [
        f"Largest gap of the fair score at one threshold ({what}): {rounded(gap.gap)}",
        f"  There, {people_words(gap.fairness, gap.gap, word, measured=True)}.",
        *(
            []
            if gap.smallest_ratio is None
            else [f"  smallest ratio {rounded(gap.smallest_ratio)}; {FROM.format(word)}"]
        ),
        f"  on average over the draw, between {pair(gap.pair)}, on {gap.rows:,} rows",
        f"  {answers[gap.answer]}",
    ]
    for method, words in METHODS.items():
        interval = getattr(gap.interval, method)
        if interval is not None and (verbose or method == gap.method):
            lines.append(
                f"  in the population between {rounded(interval[0])} and {rounded(interval[1])} "
                f"({confidence(gap.interval.level)}, {words})"
            )
    if gap.auc is None:
        return lines
    return [*lines, f"AUC of these people: {rounded(gap.auc_before)} before, {rounded(gap.auc)} for the fair score"]


def _allowed(gap: GapCheck) -> str:
    own = "" if gap.tolerances is None else " (FPR {:.4g}, TPR {:.4g})".format(*gap.tolerances)
    return f"epsilon = {gap.epsilon:.4g}{own}" + ("" if gap.ratio is None else f" (ratio {gap.ratio:.4g})")


def _what(gap: GapCheck) -> str:
    plain = gap.constraint == CONSTRAINT.default and gap.tolerances is None
    return "the gap of the fair score" + ("" if plain else f" ({gap.fairness.formula}{where_words(gap.where)})")


def _score_lines(found: Drift) -> list[str]:
    rows = [
        [
            g.group,
            f"{g.rows:,}",
            f"{g.fitted_rows:,}",
            percent(g.share),
            percent(g.fitted_share),
            "" if g.scores is None else f"{g.scores.distance:.3f}",
            rounded(g.psi),
            rounded(g.psi_limit),
            "" if g.below is None else f"{g.below:,}",
            "" if g.above is None else f"{g.above:,}",
            g.status,
        ]
        for g in found.groups
    ]
    head = [found.segments, "rows", "fitted", "share", "was", "shift", "PSI", "by chance", "below", "above", "verdict"]
    lines = table(head, rows)
    if any(g.scores is not None for g in found.groups):
        lines += [
            f"Shift: largest change, over all scores, of the share of the {found.segments} at or above a score.",
            "PSI: by convention small below 0.1 and large from 0.25; by chance alone it stays below the number beside "
            f"it ({100 * found.confidence:g}%).",
            "Below, above: rows outside the scores that the model was fitted to.",
        ]
    return lines


def _label_lines(found: Drift) -> list[str]:
    groups = [g for g in found.groups if g.auc is not None or g.positive_share is not None]
    if not groups:
        return []
    head = [found.segments, "positives", "was", "shift of negatives", "of positives", "AUC", "was", "fair AUC", "was"]
    return table(head, [_label_row(g) for g in groups])


def _label_row(g: GroupDrift) -> list[str]:
    shifts = ["" if shift is None else f"{shift.distance:.3f}" for shift in (g.negatives, g.positives)]
    aucs = [rounded(auc) for auc in (g.auc, g.fitted_auc, g.fair_auc, g.fitted_fair_auc)]
    return [g.group, percent(g.positive_share), percent(g.fitted_positive_share), *shifts, *aucs]


def _tests(found: Drift) -> str:
    level = f"{100 * (1 - found.confidence):g}%"
    return (
        f"{plural(len(found.tests), 'test')}; if nothing moved, at most {level} chance that any of them reports drift."
    )


# -- findings and doubts ----------------------------------------------------------------------------------------------


def reasons(found: Drift, on_unknown_group: str | None, left_out: Sequence[str] = ()) -> tuple[str, ...]:
    """Every finding; groups of which the fit ``left_out`` all rows are told from those it has not seen."""
    groups = {group.group: group for group in found.groups}
    told = [
        _finding(test, None if test.group is None else groups.get(test.group), found.segments)
        for test in found.tests
        if test.found
    ]
    if found.unknown and on_unknown_group is None:
        told.append(
            f"the model does not know {_unknown(found)}{_left_out(found, left_out)}; fit again with them, or say in "
            "on_unknown_group= (on the command line: --on-unknown-group) whose treatment they get"
        )
    for of, gap in _measured(found):
        if gap.answer == "outside":
            (low, _), (first, second), by = _interval(gap), gap.pair, f" by {of}" if of else ""
            told.append(
                f"{_what(gap)}{by} is {rounded(gap.gap)} between {quoted(first)} and {quoted(second)}, and at least "
                f"{rounded(low)} in the population these rows were sampled from ({_sure(gap)}): outside {_allowed(gap)}"
            )
    return tuple(told)


def _measured(found: Drift) -> Iterator[tuple[str, GapCheck]]:
    """All gaps, each with whose it is where that must be said."""
    if not found.families and found.gap is not None:
        yield "", found.gap
    for family in found.families:
        if family.gap is not None:
            yield (family.title if len(found.families) > 1 else ""), family.gap


def doubts(found: Drift, on_unknown_group: str | None, telling: float, measured: bool) -> Iterator[str]:
    """What could not be checked or told; ``measured``: the gap was to be."""
    if any(group.status == "not checked" for group in found.groups):
        yield NO_REFERENCE
    if not any(test.what == "shares" for test in found.tests):
        yield (
            f"the {found.segments}s' shares were not compared: there are no rows of fitted {found.segments}s, or no "
            "fitted weights"
        )
    yield from _group_doubts(found, telling)
    if found.unknown and on_unknown_group is not None:
        treated = _named(found.segments, on_unknown_group)
        yield f"the model does not know {_unknown(found)}; they are treated as {treated}"
    if found.families:
        yield from _family_doubts(found, measured)
    elif found.gap is not None:
        yield from _gap_doubts(found.gap)
        for group in found.groups:
            if group.rows and group.group not in found.gap.groups:
                yield f"group {quoted(group.group)} is left out of the gap: its {group.rows:,} rows have one label only"
    elif measured:
        yield f"the gap was not checked: {found.gap_reason}"


def _family_doubts(found: Drift, measured: bool) -> Iterator[str]:
    """What was not measured of the groups that a model compares without being told them."""
    if measured and len({family.reason for family in found.families}) == 1 and found.gap is None:
        yield f"the gap was not checked: {found.gap_reason}"
        return
    for family in found.families:
        by = f" by {family.title}" if len(found.families) > 1 else ""
        if family.gap is not None:
            yield from _gap_doubts(family.gap, by)
        elif measured:
            yield f"the gap{by} was not checked: {family.reason}"
        for name in family.one_label:
            yield f"group {quoted(name)} is left out of the gap{by}: its rows have one label only"
        for name in family.absent:
            yield f"group {quoted(name)} has no rows{by}, and the gap is that of the others"
        for name, rows in family.unknown.items():
            yield f"group {quoted(name)} ({plural(rows, 'row')}) was not compared at the fit{by}; the gap leaves it out"


def _group_doubts(found: Drift, telling: float) -> Iterator[str]:
    absent = {test.group: test.p_value for test in found.tests if test.what == "missing" and not test.found}
    for group in found.groups:
        who = _named(found.segments, group.group)
        if group.status == "too few rows" and group.scores is not None:
            yield (
                f"{who} has too few rows to judge ({group.rows:,} new, {group.fitted_rows:,} "
                f"fitted): only a shift of {group.scores.visible:.2f} or more would show; {_needed(group, telling)}"
            )
        if group.group in absent:
            chance = absent[group.group]
            yield f"{who} has no rows; by chance that happens with probability {chance:.2g}"


def _gap_doubts(gap: GapCheck, by: str = "") -> Iterator[str]:
    if gap.answer == "unclear":
        low, high = _interval(gap)
        more = "" if gap.rows_needed is None else f"; about {gap.rows_needed:,} rows would show a gap of half that"
        yield (
            f"{_what(gap)}{by} is shown neither to be within {_allowed(gap)} nor outside it: "
            f"{rounded(gap.gap)} on these rows, between {rounded(low)} and {rounded(high)} in the population "
            f"({_sure(gap)}){more}"
        )


def _finding(test: DriftTest, group: GroupDrift | None, segment: str) -> str:
    p = f"p = {test.adjusted:.2g}"
    if test.what == "groups" or group is None:
        return _shares_moved(test.group if test.what == "groups" else None, segment, p)
    name, who = quoted(group.group), _named(segment, group.group)
    if test.what == "missing":
        return f"{who} has no rows; at the fit it had {group.fitted_rows:,} ({p})"
    if test.what == "range":
        return (
            f"scores of {who} leave the fitted range {group.lowest:g} to {group.highest:g}: {group.below:,} "
            f"rows below and {group.above:,} above, where about {group.outside_expected:.2g} in all were "
            f"expected ({p})"
        )
    if test.what == "labels":
        return (
            f"the share of positives in {who} moved from {group.fitted_positive_share:.1%} at the fit to "
            f"{group.positive_share:.1%} ({p})"
        )
    shift: ScoreShift = getattr(group, test.what)
    moved = f"the scores of {who} moved" if test.what == "scores" else f"the {test.what}' scores of {name} moved"
    size = f", PSI {group.psi:.3f}" if test.what == "scores" else ""
    return (
        f"{moved}: {shift.share:.1%} of them lie {'above' if shift.above else 'at or above'} {shift.score:g}, against "
        f"{shift.fitted_share:.1%} at the fit ({p}{size})"
    )


def _shares_moved(family: str | None, segment: str, p: str) -> str:
    """Shares of the groups of a family, or of all that the model tells apart."""
    if family is not None:
        return (
            f"the groups' shares of all people moved, by {family} ({p}): the model is not told the group, so its cells "
            "may no longer stand for the groups that they did"
        )
    proxy = ": the proxy, the probabilities that the model is told in place of the group, is not what it was at the fit"
    return f"the {segment}s' shares of all people moved ({p}){proxy if segment == 'cell' else ''}"


def _named(segment: str, name: str) -> str:
    """A group, or a cell, whose name says that it is one."""
    return quoted(name) if segment == "cell" else f"{segment} {quoted(name)}"


def _needed(group: GroupDrift, telling: float) -> str:
    if group.rows_needed is None:
        return f"the fit itself has too few rows to see one of {telling:g}, however many new rows there are"
    return f"about {group.rows_needed:,} rows are needed to see one of {telling:g}"


def _unknown(found: Drift) -> str:
    names = [f"{quoted(group.group)} ({plural(group.rows, 'row')})" for group in found.unknown]
    return f"the {found.segments}{'s' if len(names) > 1 else ''} {listed(names, SHOWN)}"


def _left_out(found: Drift, names: Sequence[str]) -> str:
    out = [quoted(group.group) for group in found.unknown if group.group in names]
    return f" ({listed(out, SHOWN)} left out of the fit as too small)" if out else ""


def _interval(gap: GapCheck) -> tuple[float, float]:
    low, high = getattr(gap.interval, gap.method)
    return low, high


def _sure(gap: GapCheck) -> str:
    return f"{confidence(gap.interval.level)}, {'DKW' if gap.method == 'dkw' else 'bootstrap'}"
