"""The command `fairroc fit`: fit the fair score and write a model file."""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_data, add_streaming, number, whole
from fairroc.cli.data import read_data
from fairroc.cli.output import as_json, progress_bar, put, say


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("fit", help="fit the fair score and write a model file")
    add_data(parser, counts=True)
    add_streaming(parser)
    parser.add_argument("--epsilon", type=number, required=True, metavar="E", help="allowed gap, 0 to 2")
    parser.add_argument("--norm", default="1", metavar="1|inf", help="|dFPR| + |dTPR|, or the larger (default: 1)")
    parser.add_argument(
        "--method", default="optimal", metavar="optimal|froc", help="the optimum (default), or the paper's"
    )
    parser.add_argument(
        "--queries", type=whole, metavar="K", help="look at K equidistant thresholds only (froc: 100 by default)"
    )
    parser.add_argument(
        "--ties", default=None, metavar="draw|order", help="inside hull blocks: draw, or keep raw order"
    )
    parser.add_argument(
        "--curve",
        default="auto",
        metavar="NAME",
        help="ROC curves to work on: raw, smooth, binormal, calibrated, shrunk (default: smooth for small samples)",
    )
    parser.add_argument(
        "--confidence", type=number, metavar="C", help="promise epsilon for the population, at this level such as 0.95"
    )
    parser.add_argument(
        "--folds", type=whole, default=5, metavar="K", help="of the estimate for new people; 0: none (default: 5)"
    )
    parser.add_argument("--hash", default="xxh64", metavar="H", help="of ids: xxh64 (default) or blake2b (slower)")
    parser.add_argument(
        "--key-file", metavar="FILE", help="secret key the draws will depend on; its fingerprint is kept"
    )
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="model file to write, .json")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.fitting.certificate import certify
    from fairroc.fitting.fit import Options, fit
    from fairroc.fitting.outlook import LEVEL, check_folds, outlook
    from fairroc.model.draw import read_key_file
    from fairroc.model.file import save
    from fairroc.tables.files import check_writable
    from fairroc.text.certificate import certificate_text, outlook_text

    options = Options.checked(
        epsilon=arguments.epsilon,
        norm=arguments.norm,
        method=arguments.method,
        queries=arguments.queries,
        hash=arguments.hash,
        missing=arguments.missing,
        curve=arguments.curve,
        confidence=arguments.confidence,
        **({} if arguments.ties is None else {"ties": arguments.ties}),
    )
    check_folds(arguments.folds)
    key = None if arguments.key_file is None else read_key_file(arguments.key_file)
    check_writable(arguments.output, (".json",))
    fitted = fit(read_data(arguments), options, key=key)
    save(fitted.model, arguments.output)  # what follows only describes it: who stops that keeps the model
    say(f"model written to {arguments.output}")
    certificate = certify(fitted)
    if arguments.format == "text":
        put(f"{certificate_text(certificate)}\n")
    with progress_bar("looking ahead, folds") as show:
        ahead = outlook(fitted, arguments.confidence or LEVEL, folds=arguments.folds, progress=show)
    if arguments.format == "json":
        put(as_json(certificate.to_dict() | {"new_people": ahead.to_dict()}))
    else:
        put(outlook_text(ahead))
    return 0
