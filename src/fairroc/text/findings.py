"""What a check found, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from fairroc.monitoring.drift import Drift, DriftTest, GapCheck, GroupDrift, Shift
from fairroc.text.explanation import _name

__all__ = ["doubts", "reasons"]

NO_REFERENCE = (
    "scores were not compared: the model holds no fitted scores, as it comes from a file written before fairroc kept "
    "them; fit again to have them"
)


def reasons(found: Drift, on_unknown_group: str | None) -> tuple[str, ...]:
    """Every finding."""
    groups = {group.group: group for group in found.groups}
    told = [_finding(test, None if test.group is None else groups[test.group]) for test in found.tests if test.found]
    if found.unknown and on_unknown_group is None:
        told.append(
            f"the model does not know {_unknown(found)}; fit again with them, or say in on_unknown_group= (on the "
            "command line: --on-unknown-group) whose treatment they get"
        )
    if found.gap is not None and found.gap.answer == "outside":
        low, _ = _interval(found.gap)
        told.append(
            f"the gap of the fair score is {found.gap.gap:.4f} between {_pair(found.gap)}, and {low:.4f} at least "
            f"among all people whom these rows stand for ({_sure(found.gap)}): outside epsilon = {found.gap.epsilon:g}"
        )
    return tuple(told)


def doubts(found: Drift, on_unknown_group: str | None, telling: float, labelled: bool) -> tuple[str, ...]:
    """What could not be checked or told."""
    return tuple(_doubts(found, on_unknown_group, telling, labelled))


def _doubts(found: Drift, on_unknown_group: str | None, telling: float, labelled: bool) -> Iterator[str]:
    if any(group.status == "not checked" for group in found.groups):
        yield NO_REFERENCE
    if not any(test.what == "shares" for test in found.tests):
        yield "the groups' shares were not compared: there are no rows of fitted groups, or no fitted weights"
    yield from _group_doubts(found, telling)
    if found.unknown and on_unknown_group is not None:
        yield f"the model does not know {_unknown(found)}; they are treated as group {_name(on_unknown_group)}"
    if found.gap is not None:
        yield from _gap_doubts(found.gap, found.groups)
    elif labelled:
        yield f"the gap was not checked: {found.gap_reason}"


def _group_doubts(found: Drift, telling: float) -> Iterator[str]:
    absent = {test.group: test.p_value for test in found.tests if test.what == "missing" and not test.found}
    for group in found.groups:
        if group.status == "too few rows" and group.scores is not None:
            yield (
                f"group {_name(group.group)} has too few rows to tell ({group.rows:,} new, {group.fitted_rows:,} "
                f"fitted): a shift would show from {group.scores.visible:.2f} on; {_needed(group, telling)}"
            )
        if group.group in absent:
            chance = absent[group.group]
            yield f"group {_name(group.group)} has no rows; by chance that happens with probability {chance:.2g}"


def _gap_doubts(gap: GapCheck, groups: tuple[GroupDrift, ...]) -> Iterator[str]:
    if gap.answer == "unclear":
        low, high = _interval(gap)
        more = "" if gap.rows_needed is None else f"; about {gap.rows_needed:,} rows would show a gap of half that"
        yield (
            f"the gap of the fair score is not shown to be within epsilon = {gap.epsilon:g}, nor outside: "
            f"{gap.gap:.4f} on these rows, between {low:.4f} and {high:.4f} among all people ({_sure(gap)}){more}"
        )
    for group in groups:
        if group.rows and group.group not in gap.groups:
            yield f"group {_name(group.group)} is left out of the gap: its {group.rows:,} rows have one label only"


def _finding(test: DriftTest, group: GroupDrift | None) -> str:
    p = f"p = {test.adjusted:.2g}"
    if group is None:
        return f"the groups' shares of all people moved ({p})"
    name = _name(group.group)
    if test.what == "missing":
        return f"group {name} has no rows; at the fit it had {group.fitted_rows:,} ({p})"
    if test.what == "range":
        return (
            f"scores of group {name} leave the fitted range {group.lowest:g} to {group.highest:g}: {group.below:,} "
            f"rows below and {group.above:,} above, where about {group.outside_expected:.2g} in all were to be "
            f"expected ({p})"
        )
    if test.what == "labels":
        return (
            f"the share of positives in group {name} moved: {group.positive_share:.1%}, at the fit "
            f"{group.fitted_positive_share:.1%} ({p})"
        )
    shift: Shift = getattr(group, test.what)
    who = f"the scores of group {name} moved" if test.what == "scores" else f"the {test.what}' scores of {name} moved"
    size = f", PSI {group.psi:.3f}" if test.what == "scores" else ""
    return (
        f"{who}: at score {'>' if shift.above else '>='} {shift.score:g} {shift.share:.1%} of them, at the fit "
        f"{shift.fitted_share:.1%} ({p}{size})"
    )


def _needed(group: GroupDrift, telling: float) -> str:
    if group.rows_needed is None:
        return f"the fit itself has too few rows to see one of {telling:g}, whatever comes"
    return f"about {group.rows_needed:,} rows are needed to see one of {telling:g}"


def _unknown(found: Drift) -> str:
    shown = [f"{_name(group.group)} ({group.rows:,} row{'s' if group.rows > 1 else ''})" for group in found.unknown[:5]]
    more = len(found.unknown) - len(shown)
    plural = "s" if len(found.unknown) > 1 else ""
    return f"the group{plural} {', '.join(shown)}{f' and {more} more' if more else ''}"


def _interval(gap: GapCheck) -> tuple[float, float]:
    low, high = getattr(gap.interval, gap.method)
    return low, high


def _sure(gap: GapCheck) -> str:
    return f"{100 * gap.interval.level:g} % confidence, {'DKW' if gap.method == 'dkw' else 'bootstrap'}"


def _pair(gap: GapCheck) -> str:
    return f"{_name(gap.pair[0])} and {_name(gap.pair[1])}"
