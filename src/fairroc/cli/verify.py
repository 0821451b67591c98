"""The command `fairroc verify`: check a model file without trusting the fit."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fairroc.cli.arguments import add_data, add_told_columns
from fairroc.cli.data import SPREAD, read_data, read_told, refuse_told
from fairroc.cli.next_step import columns, people_file, suggest, told_flags
from fairroc.cli.output import progress_bar, put_result, say
from fairroc.errors import DataError

if TYPE_CHECKING:
    from fairroc.verifying.check import Verification
    from fairroc.verifying.spread import Needs

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
    add_told_columns(parser)
    parser.add_argument("--certificate", metavar="FILE", help="what 'fairroc fit --certificate' wrote: checked too")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.auditing.verify import file_text
    from fairroc.verifying.spread import needs

    model = file_text(arguments.model, "model")
    certificate = None if arguments.certificate is None else file_text(arguments.certificate, "certificate")
    asked = needs(model)
    found = _groups(arguments, model, certificate) if asked is None else _cells(arguments, model, certificate, asked)
    put_result(arguments.format, found.to_dict(), lambda: str(found))
    if found.passed:
        groups = columns(arguments, labels=False)[2:] if asked is None or asked.use_group else []
        told = ("--score", arguments.score, *groups, *told_flags(arguments))
        new = (people_file(arguments), "--model", arguments.model, *told, "--id", "ID")
        suggest(arguments, "give people their fair scores", "transform", *new, "-o", "fair.csv")
    else:
        again = (arguments.data, *columns(arguments), "--epsilon", "EPSILON", "-o", "model.json")
        suggest(arguments, "fit again and keep the file as it is written", "fit", *again)
    return 0 if found.passed else 1


def _groups(arguments: argparse.Namespace, model: str, certificate: str | None) -> Verification:
    """A model that is told the groups that it compares."""
    from fairroc.auditing.verify import cells_of, rules
    from fairroc.verifying.check import seconds, verify_texts

    refuse_told(arguments)
    missing, small = rules(model)
    people = cells_of(read_data(arguments, missing=missing, small=small))
    if (long := seconds(people)) > LONG:
        say(f"exact rationals are slow: this takes about {long / 60:.0f} minutes.")
    with progress_bar("verifying") as show:
        return verify_texts(model, certificate, people, show)


def _cells(arguments: argparse.Namespace, model: str, certificate: str | None, asked: Needs) -> Verification:
    """A model that is told something else."""
    from fairroc.auditing.verify import rules, table_of
    from fairroc.verifying.check import verify_texts

    if arguments.label is None:
        raise DataError(f"--label must name the column of true labels with {SPREAD}, got none.")
    scores, y, how = read_told(arguments)
    table = table_of(asked, scores, y, missing=rules(model)[0], **how)
    with progress_bar("verifying") as show:
        return verify_texts(model, certificate, table, show)
