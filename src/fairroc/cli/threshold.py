"""The command `fairroc threshold`: choose a threshold of the fair score."""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_data, add_model, add_options, values
from fairroc.cli.data import read_data
from fairroc.cli.next_step import flags, suggest
from fairroc.cli.output import progress_bar, put_result
from fairroc.options import AIM, ALLOW_OUT_OF_RANGE, ON_UNKNOWN_GROUP, POSITIVE_MEANS, Missing

USE = (ON_UNKNOWN_GROUP, ALLOW_OUT_OF_RANGE)


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "threshold",
        help="choose a threshold of the fair score",
        description="Give --cost-fp with --cost-fn, or one of --selection-rate, --precision and --recall.",
    )
    add_data(parser)
    add_model(parser)
    add_options(parser, (*AIM, *USE, POSITIVE_MEANS))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.fairmodel import FairModel
    from fairroc.fitting.thresholds import Aim, choose_threshold_of
    from fairroc.text.certificate import choice_text

    word = POSITIVE_MEANS.checked(arguments.positive_means)
    aim = Aim.checked(**values(arguments, AIM))
    model = FairModel.load(arguments.model)
    missing: Missing | None = "group" if model.missing == "group" else None
    people = read_data(arguments, missing=missing, small=model.small_rule, in_order=True)
    with progress_bar("choosing a threshold"):
        choice = choose_threshold_of(model, people, aim, **values(arguments, USE))
    put_result(arguments.format, choice.to_dict(), lambda: choice_text(choice, positive_means=word))
    groups = [part for _ in arguments.group for part in ("--group", "GROUP")]
    person = ("--score", "SCORE", *groups, "--threshold", repr(choice.threshold), *flags(arguments, (POSITIVE_MEANS,)))
    suggest(arguments, "explain a decision to one person", "explain", "--model", arguments.model, *person)
    return 0
