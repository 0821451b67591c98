"""The command `fairroc verify`: check a model file without trusting the fit."""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_data
from fairroc.cli.data import read_data
from fairroc.cli.next_step import columns, people_file, suggest
from fairroc.cli.output import progress_bar, put_result, say

LONG = 60
"""Seconds beyond which it is said beforehand how long it takes."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "verify",
        help="check a model file and its certificate, independently of the fit",
        description="Derives in exact rationals what a model does to the people it was fitted to, and compares that "
        "with what its file and its certificate state. Exit 1 if anything is wrong.",
    )
    parser.add_argument("model", metavar="MODEL", help="model file that 'fairroc fit' wrote")
    add_data(parser, counts=True)
    parser.add_argument("--certificate", metavar="FILE", help="what 'fairroc fit --certificate' wrote: checked too")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.auditing.verify import cells_of, file_text, rules
    from fairroc.verifying.check import seconds, verify_texts

    model = file_text(arguments.model, "model")
    certificate = None if arguments.certificate is None else file_text(arguments.certificate, "certificate")
    missing, small = rules(model)
    people = cells_of(read_data(arguments, missing=missing, small=small))
    if (long := seconds(people)) > LONG:
        say(f"exact rationals are slow: this takes about {long / 60:.0f} minutes.")
    with progress_bar("verifying") as show:
        found = verify_texts(model, certificate, people, show)
    put_result(arguments.format, found.to_dict(), lambda: str(found))
    if found.passed:
        new = (people_file(arguments), "--model", arguments.model, *columns(arguments, labels=False), "--id", "ID")
        suggest(arguments, "give people their fair scores", "transform", *new, "-o", "fair.csv")
    else:
        again = (arguments.data, *columns(arguments), "--epsilon", "EPSILON", "-o", "model.json")
        suggest(arguments, "fit again and keep the file as it is written", "fit", *again)
    return 0 if found.passed else 1
