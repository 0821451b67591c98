"""The command `fairroc threshold`: choose a threshold of the fair score."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fairroc.cli.arguments import add_data, add_model, add_options, add_told_columns, values
from fairroc.cli.data import SPREAD, load_model, read_data, read_in_memory
from fairroc.cli.next_step import flags, suggest
from fairroc.cli.output import progress_bar, put_result
from fairroc.options import AIM, ALLOW_OUT_OF_RANGE, ON_UNKNOWN_GROUP, POSITIVE_MEANS, Missing

USE = (ON_UNKNOWN_GROUP, ALLOW_OUT_OF_RANGE)

if TYPE_CHECKING:
    from fairroc.fairmodel import FairModel
    from fairroc.fitting.thresholds import Aim, Choice


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "threshold",
        help="choose a threshold of the fair score",
        description="Give --cost-fp with --cost-fn, or one of --selection-rate, --precision and --recall. --group is "
        "needed for every model: to say what the threshold means for each group, whatever the score is told.",
    )
    add_data(parser)
    add_model(parser)
    add_told_columns(parser)
    add_options(parser, (*AIM, *USE, POSITIVE_MEANS))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.fitting.thresholds import Aim
    from fairroc.text.certificate import choice_text

    word = POSITIVE_MEANS.checked(arguments.positive_means)
    aim = Aim.checked(**values(arguments, AIM))
    model = load_model(arguments)
    told = (arguments.group if model.use_group else (), arguments.group_probability or (), arguments.control or ())
    model.told_columns(*told)
    choice = (_among_rows if model.compared else _among_people)(arguments, model, aim)
    put_result(arguments.format, choice.to_dict(), lambda: choice_text(choice, positive_means=word))
    named = zip(("--group", "--group-probability", "--control"), ("GROUP", "PROBABILITY", "STRATUM"), told, strict=True)
    known = [part for flag, value, columns in named for _ in columns for part in (flag, value)]
    person = ("--score", "SCORE", *known, "--threshold", repr(choice.threshold), *flags(arguments, (POSITIVE_MEANS,)))
    suggest(arguments, "explain a decision to one person", "explain", "--model", arguments.model, *person)
    return 0


def _among_people(arguments: argparse.Namespace, model: FairModel, aim: Aim) -> Choice:
    """For a model that is told the groups that it compares."""
    from fairroc.fitting.thresholds import choose_threshold_of

    missing: Missing | None = "group" if model.missing == "group" else None
    people = read_data(arguments, missing=missing, small=model.small_rule, in_order=True)
    with progress_bar("choosing a threshold"):
        return choose_threshold_of(model, people, aim, **values(arguments, USE))


def _among_rows(arguments: argparse.Namespace, model: FairModel, aim: Aim) -> Choice:
    """For a model that is told something else."""
    from fairroc.fitting.thresholds import choose_threshold

    scores, y, how = read_in_memory(arguments, SPREAD)
    with progress_bar("choosing a threshold"):
        return choose_threshold(model, scores, y, **how, **values(arguments, USE), **values(arguments, AIM))
