"""The command `fairroc audit`: how far apart the groups are at every threshold."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fairroc.cli.arguments import add_data, add_families, add_options, add_tolerances, asked_for
from fairroc.cli.data import read_data, read_in_memory
from fairroc.cli.next_step import columns, flags, goal, named, suggest
from fairroc.cli.output import progress_bar, put_result
from fairroc.errors import DataError
from fairroc.options import (
    AUDIT,
    COMBINE,
    CONSTRAINT,
    MIN_CLASS_ROWS,
    NORM,
    POSITIVE_MEANS,
    SMALL_GROUPS,
    WHERE,
    check_epsilon,
)

if TYPE_CHECKING:
    from fairroc.auditing.findings import Audits


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "audit",
        help="how far apart the groups are at every threshold",
        description="Exit 1 if the gap exceeds epsilon, or a ratio is too small. Demographic parity needs no --label.",
    )
    add_data(parser, counts=True)
    add_options(parser, (*AUDIT, COMBINE, POSITIVE_MEANS))
    add_tolerances(parser)
    add_families(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.auditing.audit import UNLABELLED, Settings, audit_people
    from fairroc.text.audit import audit_text, audits_text

    word = POSITIVE_MEANS.checked(arguments.positive_means)
    if COMBINE.checked(arguments.combine) == "each" or arguments.control is not None:
        all_ = _each(arguments)
        form, more = arguments.format, arguments.verbose
        put_result(form, all_.to_dict(), lambda: audits_text(all_, positive_means=word, verbose=more))
        _suggest(arguments, all_.fair)
        return 1 if all_.fair is False else 0
    settings = Settings.checked(**asked_for(arguments, AUDIT, required=False))
    unlabelled = settings.constraint == UNLABELLED
    people = read_data(arguments, small=settings.small_rule, unlabelled=unlabelled)
    with progress_bar("auditing") as show:
        found = audit_people(people, settings, progress=show)
    data = found.to_dict() if arguments.format == "json" else {}
    put_result(arguments.format, data, lambda: audit_text(found, positive_means=word, verbose=arguments.verbose))
    _suggest(arguments, found.fair)
    return 1 if found.fair is False else 0


def _each(arguments: argparse.Namespace) -> Audits:
    """Every attribute for itself, or groups within strata."""
    from fairroc.auditing.audit import Settings, audit_each
    from fairroc.people.spread import Family, read_spread

    asked = asked_for(arguments, AUDIT, required=False)
    own = asked.pop("epsilon") if arguments.epsilon_of else None
    rule, why = Settings.checked(**asked).small_rule, "--combine each and --control"
    if rule.treatment == "drop":
        raise DataError(f"--small-groups must be error or merge with {why}, got drop.")
    asked.pop(MIN_CLASS_ROWS.name)  # the door has looked at it

    def settings(family: Family) -> Settings:
        limit: Any = asked.get("epsilon") if own is None else check_epsilon(own.get(family.name, 0.0))
        return Settings.checked(**asked | {"epsilon": limit if family.compared else None})

    scores, y, how = read_in_memory(arguments, why)
    with progress_bar("checking"):
        rows = read_spread(scores, y, each=arguments.combine == "each", missing=arguments.missing, small=rule, **how)
    with progress_bar("auditing"):
        return audit_each(rows, settings)


def _suggest(arguments: argparse.Namespace, fair: bool | None) -> None:
    """A frontier, a fit, or a page, of what can be fitted: not of any norm, nor of both rates in a window."""
    people, both = (arguments.data, *columns(arguments)), arguments.constraint == CONSTRAINT.default
    each = arguments.combine != COMBINE.default or arguments.control is not None
    known = ([NORM] if str(arguments.norm) in NORM.values else []) if both else [WHERE]
    how = flags(arguments, (CONSTRAINT, *known, MIN_CLASS_ROWS, SMALL_GROUPS))
    if each:
        goals = goal(arguments) if fair is not None else ["--epsilon", "EPSILON"]
        how += [*flags(arguments, (COMBINE,)), *named("--control", arguments.control)]
        if not fair:
            suggest(arguments, "fit a score that keeps to it", "fit", *people, *goals, *how, "-o", "model.json")
    elif fair is None:
        suggest(arguments, "see what each epsilon would cost", "frontier", *people, *how, "-o", "frontier.csv")
    elif fair:
        suggest(arguments, "keep this as a page", "report", *people, *goal(arguments), *how, "-o", "report.html")
    else:
        suggest(arguments, "fit a score that keeps to it", "fit", *people, *goal(arguments), *how, "-o", "model.json")
