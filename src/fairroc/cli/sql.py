"""The command `fairroc sql`: a model as SQL, for the engine that holds the scores."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairroc.cli.arguments import add_format, add_model, add_options, add_told
from fairroc.cli.data import check_output, load_model, read_key, told_columns
from fairroc.cli.next_step import NEW, known, suggest
from fairroc.cli.output import as_json, put, say
from fairroc.errors import DataError
from fairroc.options import KEY, ON_UNKNOWN_GROUP, same

if TYPE_CHECKING:
    from fairroc.fairmodel import FairModel

SAME = ("form", "table", "id", "id_type", "column", "function", "on_unknown_group")
"""Arguments that `FairModel.to_sql` takes by the same names, beside columns."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "sql",
        help="write a model's transform as SQL for DuckDB, Spark, PostgreSQL, BigQuery or Snowflake",
        description="The SQL gives the same fair scores as 'fairroc transform', bit for bit, hash of the ids included.",
    )
    add_model(parser)
    parser.add_argument("--dialect", required=True, metavar="D", help="duckdb, spark, postgres, bigquery or snowflake")
    parser.add_argument(
        "--form",
        metavar="F",
        help="query (default; not postgres), function (duckdb, postgres) or dbt, a macro (not postgres)",
    )
    parser.add_argument("--table", default="people", metavar="T", help="what a query reads (default: people)")
    add_told(parser)
    parser.add_argument("--id", metavar="ID", help="column of ids; not needed if the model draws nobody")
    parser.add_argument(
        "--id-type", default="integer", metavar="integer|text", help="how ids are hashed (default: integer)"
    )
    add_options(parser, (replace(KEY, help="the model's secret key; the SQL is then a secret too"), ON_UNKNOWN_GROUP))
    parser.add_argument("--column", metavar="NAME", help="name of the new column (default: P_fair)")
    parser.add_argument("--function", default="fair_score", metavar="NAME", help="its name (default: fair_score)")
    parser.add_argument(
        "--tables",
        metavar="DIR",
        help="put the model's numbers there, as NAME_cells.csv, ..., tables that the SQL reads",
    )
    add_format(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write, .sql (default: standard output)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    check_output(arguments, arguments.output, (".sql",))
    model = load_model(arguments)
    text = model.to_sql(
        arguments.dialect,
        **told_columns(arguments),
        **same(arguments, *SAME),
        tables=None if arguments.tables is None else arguments.function,
        key=read_key(arguments),
    )
    if arguments.output is None and arguments.format == "text":
        _check_printable(text)
    _write(arguments, text, {} if arguments.tables is None else _tables(model, arguments))
    if arguments.output is not None:
        if arguments.format == "json":
            put(as_json({"dialect": arguments.dialect, "output": str(arguments.output)}))
        say(f"SQL written to {arguments.output}")
    elif arguments.format == "json":
        put(as_json({"dialect": arguments.dialect, "sql": text}))
    else:
        put(text, end="")
    watched = ("--model", arguments.model, *known(arguments))
    suggest(arguments, "watch whether people are still like those of the fit", "monitor", NEW, *watched)
    return 0


def _tables(model: FairModel, arguments: argparse.Namespace) -> dict[Path, str]:
    """The tables as CSV files, for dbt with their columns' types; none where the model leaves scores as they are."""
    from fairroc.backends.sql.dbt import seed_properties
    from fairroc.backends.sql.lists import csv_files

    if model.tables is None:
        return {}
    name, folder = arguments.function, Path(arguments.tables)
    texts = {folder / f"{name}_{table}.csv": text for table, text in csv_files(model.tables).items()}
    if arguments.form == "dbt":
        texts[folder / f"{name}.yml"] = seed_properties(model.tables, name, arguments.dialect)
    return texts


def _write(arguments: argparse.Namespace, text: str, tables: dict[Path, str]) -> None:
    """All files that are asked for, or none. The SQL of a model with a key is for its owner alone."""
    from fairroc.tables.write import written_together

    for file in tables:
        check_output(arguments, file, None)
    with written_together() as begin, written_together(private=arguments.key is not None) as begin_sql:
        for file, content in tables.items():
            with begin(file) as sink:
                sink.write(content.encode())
        if arguments.output is not None:
            with begin_sql(Path(arguments.output)) as sink:
                sink.write(text.encode())
    if tables:
        say(f"{', '.join(file.name for file in tables)} written to {arguments.tables}")
    elif arguments.tables is not None:
        say("the model leaves scores as they are: no tables are needed")


def _check_printable(text: str) -> None:
    """Raise where a letter would have to be replaced."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        raise DataError(
            f"the SQL holds letters that the standard output's encoding ({sys.stdout.encoding}) lacks; write it to a "
            "file with -o, or set PYTHONIOENCODING=utf-8."
        ) from None
