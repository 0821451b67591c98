"""The command `fairroc fit`: fit the fair score and write a model file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fairroc.cli.arguments import (
    add_data,
    add_families,
    add_options,
    add_probabilities,
    add_tolerances,
    asked_for,
)
from fairroc.cli.data import check_output, read_data, read_in_memory, read_key
from fairroc.cli.next_step import flags, people_file, suggest, told
from fairroc.cli.output import progress_bar, put_result, say
from fairroc.errors import DataError, ModelFileError, warn_all
from fairroc.options import EPSILON, FIT, KEY, LEVEL, MISSING, POSITIVE_MEANS, Options

if TYPE_CHECKING:
    from fairroc.fitting.certificate import Certificate
    from fairroc.fitting.one_draw import OneDraw
    from fairroc.fitting.outlook import Outlook
    from fairroc.model.model import ModelData

Found: TypeAlias = "tuple[ModelData, Certificate, Outlook, OneDraw]"

LOOKING = "bounding the AUC, and what to expect of new people"


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("fit", help="fit the fair score and write a model file")
    add_data(parser, counts=True)
    options = [option for option in (*FIT, KEY, POSITIVE_MEANS) if option is not MISSING]
    add_options(parser, options, asked=[EPSILON])
    add_tolerances(parser)
    add_probabilities(
        parser, "with --use-group never: columns of the groups' probabilities, in the order of the groups' names; of "
        "two groups the second one's alone will do"
    )  # fmt: skip
    add_families(parser)
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="model file to write, .json")
    parser.add_argument("--certificate", metavar="FILE", help="file of the certificate to write, .json, for verify")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.text.certificate import fit_text

    word = POSITIVE_MEANS.checked(arguments.positive_means)
    options = Options.checked(**asked_for(arguments, FIT))
    key = read_key(arguments)
    for path in filter(None, (arguments.output, arguments.certificate)):
        check_output(arguments, path, (".json",))
    if arguments.certificate is not None and Path(arguments.certificate).resolve() == Path(arguments.output).resolve():
        raise DataError(f"--certificate must be another file than the model, got {arguments.output!r} for both.")
    by_cells = options.is_spread or arguments.control is not None or arguments.group_probability is not None
    model, certificate, ahead, drawn = (_fit_by_cells if by_cells else _fit)(arguments, options, key)
    put_result(
        arguments.format,
        certificate.to_dict() | {"one_draw": drawn.to_dict(), "new_people": ahead.to_dict()},
        lambda: fit_text(certificate, ahead, drawn, positive_means=word, verbose=arguments.verbose),
    )
    new = (people_file(arguments), "--model", arguments.output, *told(arguments))
    draws = ["--id", "ID", *flags(arguments, (KEY,))] if model.needs_ids else []
    why = "give people their fair scores" + (" (ID: the column that names people)" if draws else "")
    suggest(arguments, why, "transform", *new, *draws, "-o", "fair.csv")
    return 0


def _fit(arguments: argparse.Namespace, options: Options, key: bytes | None) -> Found:
    """By the closed form."""
    from fairroc.fitting.certificate import certificate_text, certify
    from fairroc.fitting.fit import fit_quietly
    from fairroc.fitting.one_draw import one_draw
    from fairroc.fitting.outlook import outlook
    from fairroc.people.small import SmallRule
    from fairroc.stats.bootstrap import portion
    from fairroc.tables.write import write_text_atomic

    people = read_data(arguments, small=SmallRule.of(options))
    with progress_bar("fitting") as show:
        fitted = fit_quietly(people, options, key=key, progress=show)
    warn_all(fitted.notes)  # what is to be said of new people stands in the text
    _write(fitted.model, arguments)
    with progress_bar(LOOKING) as show:
        ahead = outlook(fitted, options.confidence or LEVEL.default)
        show(40, 100)
        certificate = certify(fitted)
        if arguments.certificate is not None:
            write_text_atomic(arguments.certificate, certificate_text(fitted, certificate))
            say(f"certificate written to {arguments.certificate}")
        drawn = one_draw(fitted, progress=portion(show, 70, 100))
    return fitted.model, certificate, ahead, drawn


def _fit_by_cells(arguments: argparse.Namespace, options: Options, key: bytes | None) -> Found:
    """By the linear program: without the group, by several attributes each for itself, within strata."""
    from fairroc.fitting.spread import fit_spread_quietly, spread_rows
    from fairroc.fitting.spread_results import certify_spread, spread_model, spread_one_draw, spread_outlook

    why = "--use-group never, --combine each and --control"
    if arguments.certificate is not None:
        raise DataError(
            f"--certificate must be left out with {why}: there is no file that proves their bound. --format json has "
            "the figures."
        )
    options.check_spread()
    scores, y, how = read_in_memory(arguments, why)
    with progress_bar("checking"):
        rows = spread_rows(scores, y, options, **how)
    with progress_bar("fitting") as show:
        found = fit_spread_quietly(rows, options, progress=show)
        model = spread_model(found, key=key)
    warn_all(found.notes)
    _write(model, arguments)
    with progress_bar(LOOKING) as show:
        ahead = spread_outlook(found)
        show(40, 100)
        certificate = certify_spread(found, model)
        show(70, 100)
        drawn = spread_one_draw(found, model)
    return model, certificate, ahead, drawn


def _write(model: ModelData, arguments: argparse.Namespace) -> None:
    """Write the model: what follows only describes it, and who stops that keeps the model."""
    from fairroc.model.file import load, save

    try:
        before = load(arguments.output).needs_ids
    except ModelFileError:  # no model was there
        before = model.needs_ids
    with progress_bar("writing the model"):
        save(model, arguments.output)
    say(f"model written to {arguments.output}")
    if model.needs_ids and not before:
        say(f"The model that was in {arguments.output} needed no ids; this one needs ids: pass --id ID to transform.")
    elif before and not model.needs_ids:
        say(f"The model that was in {arguments.output} needed ids; this one needs none: calls may go on passing them.")
