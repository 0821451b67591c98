"""The command `fairroc froc`: draw one step of the paper's algorithm."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fairroc.cli.arguments import add_data, add_options, whole
from fairroc.cli.data import check_output, read_data
from fairroc.cli.next_step import columns, flags, goal, suggest
from fairroc.cli.output import progress_bar, put_result, say
from fairroc.options import EPSILON, QUERIES, check_epsilon


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "froc",
        help="draw one step of the paper's algorithm",
        description="Draws one index of the paper's Algorithm 1: two groups' curves, the norm boundary, its cuts and "
        "the shift. To fit by the paper's method: fairroc fit --method froc.",
    )
    add_data(parser, counts=True)
    add_options(parser, (EPSILON, QUERIES), required=[EPSILON])
    parser.add_argument("--index", type=whole, required=True, metavar="I", help="query to draw; 1 is the strictest")
    parser.add_argument(
        "--upper", metavar="GROUP", help="group whose query moves (default: the one that moves farthest there)"
    )
    parser.add_argument("-o", "--output", required=True, metavar="PICTURE", help="file to write: .png, .pdf or .svg")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.froc.run import froc_index, moving_group, paper_run_on
    from fairroc.plot.froc import geometry_figure
    from fairroc.plot.palette import require_matplotlib
    from fairroc.tables.write import written_together
    from fairroc.text.certificate import index_text

    check_epsilon(arguments.epsilon)
    require_matplotlib()
    check_output(arguments, arguments.output, (".png", ".pdf", ".svg"))
    people = read_data(arguments)
    with progress_bar("running Algorithm 1"):
        done = paper_run_on(people, epsilon=arguments.epsilon, queries=arguments.queries)
    group = moving_group(done, people.names, arguments.index, arguments.upper)
    step = froc_index(done, people.names, group, arguments.index)
    figure, target = geometry_figure(done, group, arguments.index - 1, people.names), Path(arguments.output)
    with written_together() as begin, begin(target) as sink:
        figure.savefig(sink, format=target.suffix[1:].lower(), dpi=120)
    put_result(arguments.format, step.to_dict(), lambda: index_text(step))
    say(f"picture written to {arguments.output}")
    asked = (*goal(arguments), "--method", "froc", *flags(arguments, (QUERIES,)), "-o", "model.json")
    suggest(arguments, "fit by the paper's method", "fit", arguments.data, *columns(arguments), *asked)
    return 0
