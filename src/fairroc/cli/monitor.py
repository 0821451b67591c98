"""The command `fairroc monitor`: are new people still like those a model was fitted to?"""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_columns, add_format, add_model, add_options, values
from fairroc.cli.data import read_rows
from fairroc.cli.output import progress_bar, put_result
from fairroc.errors import DataError
from fairroc.options import MONITOR, POS_LABEL


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "monitor",
        help="have scores or groups moved since the fit, is the gap still within epsilon",
        description="Compares new people with those a model was fitted to. Exit 1 if something moved, a group is "
        "unknown, or (with --label; demographic parity needs none) the gap is shown to exceed the model's epsilon.",
    )
    parser.add_argument("data", metavar="DATA", help="CSV (also .gz), Parquet or Arrow file")
    add_model(parser)
    add_columns(parser)
    parser.add_argument("--label", metavar="Y", help="column of true labels, where known: any gap is checked then")
    parser.add_argument("--weight", metavar="W", help="column of row weights")
    add_options(parser, (POS_LABEL, *MONITOR))
    add_format(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.fairmodel import FairModel
    from fairroc.text.drift import drift_text

    if arguments.pos_label is not None and arguments.label is None:
        raise DataError("--pos-label goes with --label; without labels there is no positive one.")
    model, taken = FairModel.load(arguments.model), read_rows(arguments)
    with progress_bar("comparing"):
        found = model.check(
            taken.score,
            sensitive_features=taken.group,
            y=taken.label,
            sample_weight=taken.weight,
            pos_label=arguments.pos_label,
            **values(arguments, MONITOR),
        )
    put_result(arguments.format, found.to_dict(), lambda: drift_text(found))
    return 1 if found.drifted else 0
