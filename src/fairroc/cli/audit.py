"""The command `fairroc audit`: how far apart the groups are at every threshold."""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_data, add_options, add_tolerances, asked_for
from fairroc.cli.data import read_data
from fairroc.cli.next_step import columns, flags, goal, suggest
from fairroc.cli.output import progress_bar, put_result
from fairroc.options import AUDIT, CONSTRAINT, MIN_CLASS_ROWS, NORM, POSITIVE_MEANS, SMALL_GROUPS, WHERE


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "audit",
        help="how far apart the groups are at every threshold",
        description="Exit 1 if the gap exceeds epsilon, or a ratio is too small. Demographic parity needs no --label.",
    )
    add_data(parser, counts=True)
    add_options(parser, (*AUDIT, POSITIVE_MEANS))
    add_tolerances(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.auditing.audit import UNLABELLED, Settings, audit_people
    from fairroc.text.audit import audit_text

    word = POSITIVE_MEANS.checked(arguments.positive_means)
    settings = Settings.checked(**asked_for(arguments, AUDIT, required=False))
    unlabelled = settings.constraint == UNLABELLED
    people = read_data(arguments, small=settings.small_rule, unlabelled=unlabelled)
    with progress_bar("auditing") as show:
        found = audit_people(people, settings, progress=show)
    data = found.to_dict() if arguments.format == "json" else {}
    put_result(arguments.format, data, lambda: audit_text(found, positive_means=word, verbose=arguments.verbose))
    _suggest(arguments, found.fair)
    return 1 if found.fair is False else 0


def _suggest(arguments: argparse.Namespace, fair: bool | None) -> None:
    """A frontier, a fit, or a page, of what can be fitted: not of any norm, nor of both rates in a window."""
    people, both = (arguments.data, *columns(arguments)), arguments.constraint == CONSTRAINT.default
    known = ([NORM] if str(arguments.norm) in NORM.values else []) if both else [WHERE]
    how = flags(arguments, (CONSTRAINT, *known, MIN_CLASS_ROWS, SMALL_GROUPS))
    if fair is None:
        suggest(arguments, "see what each epsilon would cost", "frontier", *people, *how, "-o", "frontier.csv")
    elif fair:
        suggest(arguments, "keep this as a page", "report", *people, *goal(arguments), *how, "-o", "report.html")
    else:
        suggest(arguments, "fit a score that keeps to it", "fit", *people, *goal(arguments), *how, "-o", "model.json")
