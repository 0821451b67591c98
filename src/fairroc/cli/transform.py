"""The command `fairroc transform`: add fair scores to a table."""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_format, add_model, add_options, add_told, whole
from fairroc.cli.data import load_model, named_files, read_key, told_columns
from fairroc.cli.next_step import columns, suggest
from fairroc.cli.output import progress_bar, put_result
from fairroc.errors import DataError
from fairroc.options import ALLOW_OUT_OF_RANGE, KEY, ON_UNKNOWN_GROUP, same


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("transform", help="add a column of fair scores to a file")
    parser.add_argument("data", metavar="DATA", help="file, folder of files, or pattern in quotes")
    add_model(parser)
    add_told(parser)
    parser.add_argument(
        "--id",
        metavar="ID",
        help="column of ids: the same id always gets the same draw; not needed if the model draws nobody",
    )
    parser.add_argument("--seed", type=whole, metavar="N", help="draw from a seed instead of ids, for simulation")
    add_options(parser, (KEY, ON_UNKNOWN_GROUP, ALLOW_OUT_OF_RANGE))
    parser.add_argument("--column", metavar="NAME", help="name of the new column (default: P_fair)")
    add_format(parser)
    parser.add_argument("--stream", action="store_true", help="read in batches, as all tables are anyway")
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="CSV, Parquet or Arrow file to write; or a folder, OUT/"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.backends.files import check_output, transform_table
    from fairroc.backends.frames import Use
    from fairroc.tables.columns import ColumnNames

    model = load_model(arguments)
    if model.needs_ids and (arguments.id is None) == (arguments.seed is None):
        raise DataError(
            "give either --id (a column: the same person gets the same fair score every time) or --seed N (one "
            "simulated draw); the fair score is drawn at random."
        )
    if model.needs_ids and arguments.key is not None and arguments.id is None:
        raise DataError("--key-file goes with --id; a seeded simulation uses no key.")
    check_output(arguments.output, named_files(arguments))
    use = Use(
        model,
        ColumnNames.of(**told_columns(arguments), id=arguments.id if model.needs_ids else None),
        arguments.column or f"{arguments.score}_fair",
        key=read_key(arguments),
        **same(arguments, "on_unknown_group", "seed", "allow_out_of_range"),
    )
    with progress_bar("transforming, MB") as show:
        rows, unknown = transform_table(use, arguments.data, arguments.output, progress=show)
    put_result(
        arguments.format,
        {"rows": rows, "column": use.column, "output": str(arguments.output), "unknown": unknown},
        lambda: f"{rows:,} rows with fair scores in column '{use.column}' written to {arguments.output}",
    )
    fair = argparse.Namespace(**vars(arguments) | {"score": use.column})
    why = "see how far apart the groups are now (LABEL: the column of true labels)"
    suggest(arguments, why, "audit", arguments.output, *columns(fair))
    return 0
