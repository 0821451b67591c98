"""The command `fairroc frontier`: what fairness costs at every epsilon."""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_data, add_options, values
from fairroc.cli.data import check_output, read_data
from fairroc.cli.next_step import columns, flags, recommended, suggest
from fairroc.cli.output import progress_bar, put_result, say
from fairroc.options import FRONTIER, MISSING, POSITIVE_MEANS


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "frontier",
        help="what fairness costs at every epsilon",
        description="Writes a table with one row for each epsilon: AUC, its bound, accuracy, disparate impact, groups.",
    )
    add_data(parser, counts=True)
    add_options(parser, [option for option in (*FRONTIER, POSITIVE_MEANS) if option is not MISSING])
    parser.add_argument("--no-bound", action="store_true", help="leave out the bound for every fair score")
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write: CSV, Parquet or Arrow")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.fitting.frontier import frontier_of, frontier_options
    from fairroc.people.small import SmallRule
    from fairroc.tables.write import write_columns
    from fairroc.text.frontier import frontier_text, meanings

    word = POSITIVE_MEANS.checked(arguments.positive_means)
    options, epsilons = frontier_options(**values(arguments, FRONTIER))
    check_output(arguments, arguments.output)
    people = read_data(arguments, small=SmallRule.of(options))
    with progress_bar("frontier") as show:
        found = frontier_of(people, options, epsilons=epsilons, bound=not arguments.no_bound, progress=show)
    if arguments.output is not None:
        best = found.recommended
        chosen = [best is not None and i == best.index for i in range(len(found.points))]
        told = found.to_columns() | {"recommended": chosen, "meaning": meanings(found, word)}
        write_columns(told, arguments.output)
    put_result(
        arguments.format,
        found.to_dict(),
        lambda: frontier_text(found, positive_means=word, verbose=arguments.verbose),
    )
    if arguments.output is not None:
        say(f"frontier written to {arguments.output}")
    allowed = recommended(found)
    if not allowed:
        return 0
    how = flags(arguments, [option for option in FRONTIER[2:] if option is not MISSING])
    goal = (*allowed, *how, "-o", "model.json")
    suggest(arguments, f"fit at the recommended {allowed[0][2:]}", "fit", arguments.data, *columns(arguments), *goal)
    return 0
