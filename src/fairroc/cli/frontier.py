"""The command `fairroc frontier`: what fairness costs at every epsilon."""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_data, numbers, whole
from fairroc.cli.data import read_data
from fairroc.cli.output import as_json, progress_bar, put, say


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "frontier",
        help="what fairness costs at every epsilon",
        description="Writes a table with one row for each epsilon: AUC, its bound, accuracy, disparate impact, groups.",
    )
    add_data(parser, counts=True)
    parser.add_argument(
        "--epsilons", type=numbers, metavar="E,E,...", help="allowed gaps (default: 21, from 0 to the score's own gap)"
    )
    parser.add_argument("--norm", default="1", metavar="1|inf", help="|dFPR| + |dTPR|, or the larger (default: 1)")
    parser.add_argument("--method", default="optimal", metavar="optimal|froc", help="as in fit (default: optimal)")
    parser.add_argument("--queries", type=whole, metavar="K", help="look at K equidistant thresholds only")
    parser.add_argument(
        "--ties", default=None, metavar="draw|order", help="draw (default: what is possible), or order, fit's default"
    )
    parser.add_argument("--no-bound", action="store_true", help="leave out the bound for every fair score")
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write: CSV, Parquet or Arrow")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.fitting.fit import Options
    from fairroc.fitting.frontier import FRONTIER_TIES, checked_epsilons, frontier_of
    from fairroc.tables.files import check_writable, write_table
    from fairroc.text.frontier import frontier_text

    options = Options.checked(
        epsilon=0.0,
        norm=arguments.norm,
        method=arguments.method,
        queries=arguments.queries,
        ties=FRONTIER_TIES if arguments.ties is None else arguments.ties,
        missing=arguments.missing,
    )
    epsilons = None if arguments.epsilons is None else checked_epsilons(arguments.epsilons)
    if arguments.output is not None:
        check_writable(arguments.output)
    columns = read_data(arguments)
    with progress_bar("epsilons") as show:
        found = frontier_of(columns, options, epsilons=epsilons, bound=not arguments.no_bound, progress=show)
    if arguments.output is not None:
        write_table(_arrow_table(found.to_columns()), arguments.output)
    put(as_json(found.to_dict()) if arguments.format == "json" else frontier_text(found))
    if arguments.output is not None:
        say(f"frontier written to {arguments.output}")
    return 0


def _arrow_table(columns: dict[str, list[Any]]) -> Any:
    """A pyarrow table; columns that are empty throughout count as numbers."""
    import pyarrow as pa

    arrays = {name: pa.array(values) for name, values in columns.items()}
    return pa.table(
        {name: array.cast(pa.float64()) if pa.types.is_null(array.type) else array for name, array in arrays.items()}
    )
