"""The command `fairroc threshold`: choose a threshold of the fair score."""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_data, number
from fairroc.cli.data import read_data
from fairroc.cli.output import as_json, put


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "threshold",
        help="choose a threshold of the fair score",
        description="Give --cost-fp with --cost-fn, or one of --selection-rate, --precision and --recall.",
    )
    add_data(parser)
    parser.add_argument("--model", required=True, metavar="MODEL", help="model file that 'fairroc fit' wrote")
    parser.add_argument("--cost-fp", type=number, metavar="A", help="cost of a false positive")
    parser.add_argument("--cost-fn", type=number, metavar="B", help="cost of a false negative")
    parser.add_argument("--selection-rate", type=number, metavar="R", help="accept at most this share of people")
    parser.add_argument("--precision", type=number, metavar="Q", help="have at least this precision")
    parser.add_argument("--recall", type=number, metavar="Q", help="have at least this true positive rate")
    parser.add_argument("--on-unknown-group", metavar="GROUP", help="fitted group that unknown groups are treated as")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.fairmodel import FairModel
    from fairroc.fitting.ladder import Aim
    from fairroc.fitting.thresholds import choose_threshold_of
    from fairroc.text.frontier import choice_text

    aim = Aim.checked(
        cost_fp=arguments.cost_fp,
        cost_fn=arguments.cost_fn,
        selection_rate=arguments.selection_rate,
        precision=arguments.precision,
        recall=arguments.recall,
    )
    model = FairModel.load(arguments.model)
    people = read_data(arguments, missing="group" if model.missing == "group" else None)
    choice = choose_threshold_of(model, people, aim, on_unknown_group=arguments.on_unknown_group)
    put(as_json(choice.to_dict()) if arguments.format == "json" else choice_text(choice))
    return 0
