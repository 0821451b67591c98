"""The command `fairroc onnx`: a model as an ONNX graph, for runtimes without Python."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fairroc.cli.arguments import add_format, add_model, add_options, add_probabilities, number
from fairroc.cli.data import check_output, load_model, told_columns
from fairroc.cli.next_step import NEW, known, suggest
from fairroc.cli.output import as_json, put, say
from fairroc.options import ON_UNKNOWN_GROUP, same


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "onnx",
        help="write a model's transform as an ONNX graph",
        description="In ONNX Runtime, on a CPU, the graph gives the same fair scores as 'fairroc transform', bit for "
        "bit. Its inputs: the score, the group or what else the model is told, and a uniform number or, with --ids, an "
        "integer id.",
    )
    add_model(parser)
    parser.add_argument("--score", required=True, metavar="P", help="name of the graph's input of scores")
    never = "not for a model of --use-group never"
    parser.add_argument("--group", action="append", metavar="G", help=f"that of groups; may repeat; {never}")
    add_probabilities(parser, "those of the groups' probabilities (default: as in the fit)")
    parser.add_argument("--control", action="append", metavar="COL", help="those of strata, in the order of the fit")
    parser.add_argument("--ids", metavar="int64", help="hash integer ids in the graph; not for models with a key")
    parser.add_argument("--threshold", type=number, metavar="T", help="add an output: the probability of reaching it")
    add_options(parser, (ON_UNKNOWN_GROUP,))
    add_format(parser)
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="file to write, .onnx")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.tables.write import written_together

    check_output(arguments, arguments.output, (".onnx",))
    asked = same(arguments, "ids", "threshold", "on_unknown_group")
    graph = load_model(arguments).to_onnx(**told_columns(arguments), **asked)
    with written_together() as begin, begin(Path(arguments.output)) as sink:
        sink.write(graph.SerializeToString())
    inputs, outputs = ([one.name for one in part] for part in (graph.graph.input, graph.graph.output))
    if arguments.format == "json":
        put(as_json({"output": str(arguments.output), "inputs": inputs, "outputs": outputs}))
    say(f"ONNX graph written to {arguments.output} (inputs: {', '.join(inputs)}; outputs: {', '.join(outputs)})")
    watched = ("--model", arguments.model, *known(arguments))
    suggest(arguments, "watch whether people are still like those of the fit", "monitor", NEW, *watched)
    return 0
