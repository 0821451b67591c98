"""The command `fairroc explain`: what can happen to one person, and why."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fairroc.cli.arguments import add_format, add_model, add_options, number
from fairroc.cli.data import load_model, read_key
from fairroc.cli.next_step import NEW, flags, named, suggest
from fairroc.cli.output import put_result
from fairroc.errors import DataError
from fairroc.options import KEY, ON_UNKNOWN_GROUP, POSITIVE_MEANS, same

if TYPE_CHECKING:
    from fairroc.fairmodel import FairModel


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("explain", help="what can happen to one person, and why")
    add_model(parser)
    parser.add_argument("--score", required=True, type=number, metavar="S", help="the person's original score")
    parser.add_argument(
        "--group",
        action="append",
        metavar="G",
        help="the person's group; may repeat; not for a model of --use-group never",
    )
    parser.add_argument(
        "--group-probability",
        action="extend",
        nargs="+",
        type=number,
        metavar="R",
        help="for a model of --use-group never: the person's probabilities of the groups, in the order of the fit. The "
        "text reveals none of it, but with --verbose, which is for auditors",
    )
    parser.add_argument("--control", action="append", metavar="VALUE", help="the person's strata, in order; may repeat")
    parser.add_argument("--threshold", type=number, metavar="T", help="add the probability of reaching it")
    parser.add_argument(
        "--id", metavar="ID", help="add the draw of this id; a whole number counts as an integer, as in CSV files"
    )
    add_options(parser, (KEY, ON_UNKNOWN_GROUP, POSITIVE_MEANS))
    add_format(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    if arguments.key is not None and arguments.id is None:
        raise DataError("--key-file goes with --id; without an id nothing is drawn.")
    if arguments.id == "":  # transform, too, takes an empty field for a missing id
        raise DataError("--id must not be empty; give the person's id, or leave --id out for an answer without a draw.")
    model = load_model(arguments)
    _check_told(arguments, model)
    groups = tuple(group or None for group in arguments.group or ())  # an empty field is a missing one, as in CSV files
    controls = None if arguments.control is None else tuple(value or None for value in arguments.control)
    told = arguments.group_probability
    found = model.explain(
        arguments.score,
        None if not groups else groups if len(groups) > 1 else groups[0],
        **same(arguments, "threshold", "on_unknown_group", "positive_means", "verbose"),
        id=None if arguments.id is None else _id(arguments.id),
        key=read_key(arguments),
        control_features=controls,
        group_probabilities=None if told is None else tuple(told),
    )
    put_result(arguments.format, found.to_dict(), lambda: found.text)
    _suggest(arguments)
    return 0


def _check_told(arguments: argparse.Namespace, model: FairModel) -> None:
    """Raise unless the model's own flags are there, and no others."""
    columns = model.probability_columns
    for flag, given, wanted in (
        ("--group", arguments.group, model.use_group),
        ("--group-probability", arguments.group_probability, len(columns) > 0),
        ("--control", arguments.control, model.controls > 0),
    ):
        if (given is not None) != wanted:
            rest = "got none" if wanted else "leave it out"
            raise DataError(f"{flag} {'must be given with' if wanted else 'is not used by'} this model; {rest}.")


def _suggest(arguments: argparse.Namespace) -> None:
    """The decision, the draw, or people to come."""
    groups = named("--group", arguments.group)
    groups += ["--group-probability", "PROBABILITY"] * len(arguments.group_probability or ())  # not told again
    groups += named("--control", arguments.control)
    same = flags(arguments, (KEY, ON_UNKNOWN_GROUP, POSITIVE_MEANS))
    person = ("--model", arguments.model, "--score", f"{arguments.score:.15g}", *groups, *same)
    if arguments.threshold is None:
        suggest(arguments, "see the chance to reach a threshold", "explain", *person, "--threshold", "THRESHOLD")
    elif arguments.id is None:
        drawn = ("--threshold", f"{arguments.threshold:.15g}", "--id", "ID")
        suggest(arguments, "see what the draw of this person's id gives", "explain", *person, *drawn)
    else:
        columns = {"--group": "GROUP", "--group-probability": "PROBABILITY", "--control": "STRATUM"}
        told = [arguments.group, arguments.group_probability, arguments.control]
        each = [pair for pair, given in zip(columns.items(), told, strict=True) for _ in given or ()]
        known = ("--model", arguments.model, "--score", "SCORE", *(word for pair in each for word in pair))
        suggest(arguments, "watch new people", "monitor", NEW, *known)


def _id(text: str) -> int | str:
    """An id as it would be read from a CSV file."""
    from fairroc.tables.columns import ids_from_text, text_array

    value = ids_from_text(text_array([text]))[0]
    return value if isinstance(value, int | str) else value.as_py()
