"""The command `fairroc monitor`: are new people still like those a model was fitted to?"""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_format, number, whole
from fairroc.cli.data import with_numbers
from fairroc.cli.output import as_json, put
from fairroc.errors import DataError


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "monitor",
        help="have scores or groups moved since the fit, is the gap still within epsilon",
        description="Compares new people with those a model was fitted to. Exit 1 if something moved, a group is "
        "unknown, or (with --label) the gap is shown to exceed the model's epsilon.",
    )
    parser.add_argument("data", metavar="DATA", help="CSV (also .gz), Parquet or Arrow file")
    parser.add_argument("--model", required=True, metavar="MODEL", help="model file that 'fairroc fit' wrote")
    parser.add_argument("--score", required=True, metavar="P", help="column of original scores")
    parser.add_argument("--group", required=True, action="append", metavar="G", help="column of groups; may repeat")
    parser.add_argument("--label", metavar="Y", help="column of true labels, where known: the gap is checked too")
    parser.add_argument("--weight", metavar="W", help="column of row weights")
    parser.add_argument("--pos-label", metavar="VALUE", help="the label that counts as positive")
    parser.add_argument(
        "--confidence",
        type=number,
        default=0.95,
        metavar="C",
        help="of intervals; false alarms of all tests together are at most 1 - C (default: 0.95)",
    )
    parser.add_argument(
        "--bootstrap", type=whole, default=1000, metavar="N", help="number of draws (default: 1000; 0: none)"
    )
    parser.add_argument("--seed", type=whole, default=0, metavar="S", help="of the bootstrap (default: 0)")
    parser.add_argument("--on-unknown-group", metavar="GROUP", help="fitted group that unknown groups are treated as")
    add_format(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.fairmodel import FairModel
    from fairroc.people.rows import take_columns
    from fairroc.tables.files import read_table
    from fairroc.text.drift import drift_text

    if arguments.pos_label is not None and arguments.label is None:
        raise DataError("--pos-label goes with --label; without labels there is no positive one.")
    model, groups = FairModel.load(arguments.model), arguments.group
    numbers = [arguments.score, *([arguments.weight] if arguments.weight else [])]
    wanted = [*numbers, *groups, *([arguments.label] if arguments.label else [])]
    texts = groups if arguments.pos_label is None else [*groups, arguments.label]  # '1' and 'TRUE' as they stand
    table = with_numbers(arguments, read_table(arguments.data, columns=wanted, text_columns=texts), numbers)
    taken = take_columns(
        table,
        score=arguments.score,
        label=arguments.label,
        group=groups if len(groups) > 1 else groups[0],
        weight=arguments.weight,
    )
    found = model.check(
        taken.score,
        sensitive_features=taken.group,
        y=taken.label,
        sample_weight=taken.weight,
        pos_label=arguments.pos_label,
        confidence=arguments.confidence,
        bootstrap=arguments.bootstrap,
        random_state=arguments.seed,
        on_unknown_group=arguments.on_unknown_group,
    )
    put(as_json(found.to_dict()) if arguments.format == "json" else drift_text(found))
    return 1 if found.drifted else 0
