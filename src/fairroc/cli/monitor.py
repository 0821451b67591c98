"""The command `fairroc monitor`: are new people still like those a model was fitted to?"""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import DATA, add_columns, add_format, add_model, add_options, add_streaming, values
from fairroc.cli.data import read_data
from fairroc.cli.output import progress_bar, put_result
from fairroc.options import MONITOR, POS_LABEL


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "monitor",
        help="have scores or groups moved since the fit, is the gap still within epsilon",
        description="Compares new people with those a model was fitted to. Exit 1 if something moved, a group is "
        "unknown, or (with --label; demographic parity needs none) the gap is shown to exceed the model's epsilon.",
    )
    parser.add_argument("data", metavar="DATA", help=DATA)
    add_model(parser)
    add_columns(parser)
    parser.add_argument("--label", metavar="Y", help="column of true labels, where known: any gap is checked then")
    parser.add_argument("--weight", metavar="W", help="column of row weights")
    add_streaming(parser)
    add_options(parser, (POS_LABEL, *MONITOR))
    add_format(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.fairmodel import FairModel, check_people
    from fairroc.monitoring.check import Watch
    from fairroc.people.rows import known_groups
    from fairroc.text.drift import drift_text

    model, watch = FairModel.load(arguments.model), Watch.checked(**values(arguments, MONITOR))
    known_groups(model.names, watch.on_unknown_group)
    people = read_data(arguments, missing="group", small=model.small_rule, unlabelled=True, whole=False, exact=True)
    with progress_bar("comparing"):
        found = check_people(model, people, watch, labelled=arguments.label is not None)
    put_result(arguments.format, found.to_dict(), lambda: drift_text(found))
    return 1 if found.drifted else 0
