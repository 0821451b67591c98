"""The command `fairroc reproduce`: finds the studies, which are a distribution of their own, and lets them run."""

from __future__ import annotations

import argparse
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fairroc.cli.output import as_json, progress_bar, put, say
from fairroc.errors import FairrocError


def add_parser(commands: Any) -> None:
    """Add the command. Every word after it is taken as it is: the studies know their options, this module does not."""
    parser = commands.add_parser(
        "reproduce",
        help="run the FROC paper's experiments again, and say what was reproduced",
        add_help=False,
        prefix_chars="\0",
    )
    parser.add_argument("options", nargs="*")
    parser.set_defaults(run=run, parser=type(parser))


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    if find_spec("fairroc_studies") is None:
        raise FairrocError(
            "the paper's experiments are a package of their own, fairroc_studies, which must be installed. From a "
            "checkout of the source, run: pip install ./studies"
        )
    studies = import_module("fairroc_studies.reproduce")
    parser = arguments.parser(prog="fairroc reproduce")
    studies.add_arguments(parser)
    chosen = parser.parse_args(arguments.options)
    result = studies.reproduce(chosen, show_progress=lambda title: progress_bar(title, patience=0.0))
    put(as_json(result) if isinstance(result, dict) else result)
    say(f"results written to {chosen.output}")
    return 0
