"""The command `fairroc table`: a model that draws nobody as a table, old score to fair score and points to add."""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_data, whole
from fairroc.cli.data import check_output, load_model, read_data
from fairroc.cli.next_step import NEW, suggest
from fairroc.cli.output import put_result, say
from fairroc.errors import DataError


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "table",
        help="a model that draws nobody as a table: points to add to a score",
        description="One row for each straight piece of each group's map: from which score on, the fair score there, "
        "its slope, and the points to add. With --points few rows; DATA, if given, tells what these cost.",
    )
    parser.add_argument("model", metavar="MODEL", help="model file that 'fairroc fit' wrote")
    add_data(parser, counts=True, required=False)
    parser.add_argument(
        "--points",
        type=whole,
        metavar="N",
        help="round down to at most N fair scores, the same in all groups, and cut-offs to few digits",
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write: CSV, Parquet or Arrow")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.model.maps import points_table
    from fairroc.tables.write import write_columns
    from fairroc.text.maps import points_text

    _check_people(arguments)
    check_output(arguments, arguments.output)
    model = load_model(arguments)
    people = None
    if arguments.data is not None:
        people = read_data(arguments, missing="group" if model.missing == "group" else None, small=model.small_rule)
        model.judge_people(people, allowed=False)
    found = points_table(model, arguments.points, people)
    if arguments.output is not None:
        write_columns(found.to_columns(), arguments.output)
    put_result(arguments.format, found.to_dict(), lambda: points_text(found))
    if arguments.output is not None:
        say(f"table written to {arguments.output}")
    _suggest(arguments)
    return 0


def _check_people(arguments: argparse.Namespace) -> None:
    """Raise unless people are given whole, or not at all."""
    given = [arguments.data, arguments.score, arguments.group]
    labels = [arguments.label, arguments.positives, arguments.negatives, arguments.weight, arguments.pos_label]
    if None in given and any(part is not None for part in (*given, *labels)):
        raise DataError(
            "people must be given as DATA with --score, --group and --label (what do --points cost them?), or not at "
            "all; got some of these."
        )


def _suggest(arguments: argparse.Namespace) -> None:
    """What few rows cost, or one person."""
    if arguments.data is None:
        few = ("--label", "LABEL", "--group", "GROUP", "--points", arguments.points or 20)
        suggest(arguments, "measure what few rows cost", "table", arguments.model, NEW, "--score", "SCORE", *few)
    else:
        person = ("--score", "SCORE", *(word for _ in arguments.group for word in ("--group", "GROUP")))
        suggest(arguments, "explain a score to one person", "explain", "--model", arguments.model, *person)
