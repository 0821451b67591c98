"""The command `fairroc transform`: add fair scores to a table."""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_columns, add_format, add_model, add_options, whole
from fairroc.cli.data import read_key, streamed_parts
from fairroc.cli.output import as_json, progress_bar, put
from fairroc.errors import DataError
from fairroc.options import KEY, ON_UNKNOWN_GROUP


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("transform", help="add a column of fair scores to a file")
    parser.add_argument("data", metavar="DATA", help="file, folder of files, or pattern in quotes")
    add_model(parser)
    add_columns(parser)
    parser.add_argument("--id", metavar="ID", help="column of ids: the same id always gets the same draw")
    parser.add_argument("--seed", type=whole, metavar="N", help="draw from a seed instead of ids, for simulation")
    add_options(parser, (KEY, ON_UNKNOWN_GROUP))
    parser.add_argument("--column", metavar="NAME", help="name of the new column (default: P_fair)")
    add_format(parser)
    parser.add_argument("--stream", action="store_true", help="in batches, as large files are anyway")
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="CSV, Parquet or Arrow file to write; or a folder, OUT/"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.backends.files import Rewriting, check_output, is_folder, transform_table
    from fairroc.fairmodel import FairModel
    from fairroc.tables.files import ids_from_text, is_csv, numbers_from_text, read_table, write_table

    if (arguments.id is None) == (arguments.seed is None):
        raise DataError(
            "give either --id (a column: the same person gets the same fair score every time) or --seed N (one "
            "simulated draw); the fair score is drawn at random."
        )
    if arguments.key is not None and arguments.id is None:
        raise DataError("--key-file goes with --id; a seeded simulation uses no key.")
    check_output(arguments.output)
    model = FairModel.load(arguments.model)
    key = read_key(arguments)
    column = arguments.column or f"{arguments.score}_fair"
    parts = streamed_parts(arguments.data, asked=arguments.stream or is_folder(arguments.output))
    if parts is not None:
        how = Rewriting(
            score=arguments.score,
            groups=tuple(arguments.group),
            column=column,
            id=arguments.id,
            seed=arguments.seed,
            key=key,
            on_unknown_group=arguments.on_unknown_group,
        )
        with progress_bar("transforming, MB") as show:
            rows, unknown = transform_table(model, parts, arguments.output, how, data=arguments.data, progress=show)
        return _put_transformed(arguments, rows, unknown, column)
    table = read_table(arguments.data, text_columns=None)
    _require(arguments, table.column_names, column)
    groups, score = table.select(arguments.group), table.column(arguments.score)
    ids = None if arguments.id is None else table.column(arguments.id)
    if is_csv(arguments.data):  # files with types keep them: there, ids that are text are hashed as text
        score, ids = numbers_from_text(score, arguments.score), None if ids is None else ids_from_text(ids)
    scores = model.read(
        score,
        groups if len(arguments.group) > 1 else groups.column(0),
        arguments.on_unknown_group,
    )
    uniforms = model.uniforms(table.num_rows, ids=ids, random_state=arguments.seed, key=key)
    fair = model.fair_scores(scores, uniforms)
    write_table(table.append_column(column, [fair]), arguments.output)
    return _put_transformed(arguments, table.num_rows, scores.unknown, column)


def _put_transformed(arguments: argparse.Namespace, rows: int, unknown: int, column: str) -> int:
    summary = {"rows": rows, "column": column, "output": str(arguments.output), "unknown": unknown}
    words = f"{rows:,} rows with fair scores in column '{column}' written to {arguments.output}"
    put(as_json(summary) if arguments.format == "json" else words)
    return 0


def _require(arguments: argparse.Namespace, present: list[str], column: str) -> None:
    from fairroc.people.rows import require_columns

    require_columns([arguments.score, *arguments.group, *([arguments.id] if arguments.id else [])], present)
    if column in present:
        raise DataError(f"'{arguments.data}' already has a column '{column}'; name another with --column.")
