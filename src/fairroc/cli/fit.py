"""The command `fairroc fit`: fit the fair score and write a model file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fairroc.cli.arguments import add_data, add_options, add_tolerances, asked_for
from fairroc.cli.data import named_files, read_data, read_key
from fairroc.cli.next_step import columns, flags, people_file, suggest
from fairroc.cli.output import as_json, progress_bar, put, say
from fairroc.errors import DataError
from fairroc.options import EPSILON, FIT, KEY, LEVEL, MISSING, POSITIVE_MEANS, Options


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("fit", help="fit the fair score and write a model file")
    add_data(parser, counts=True)
    options = [option for option in (*FIT, KEY, POSITIVE_MEANS) if option is not MISSING]
    add_options(parser, options, asked=[EPSILON])
    add_tolerances(parser)
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="model file to write, .json")
    parser.add_argument("--certificate", metavar="FILE", help="file of the certificate to write, .json, for verify")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.fitting.certificate import certificate_text, certify
    from fairroc.fitting.fit import fit
    from fairroc.fitting.one_draw import one_draw
    from fairroc.fitting.outlook import outlook
    from fairroc.model.file import save
    from fairroc.people.small import SmallRule
    from fairroc.stats.bootstrap import portion
    from fairroc.tables.files import check_writable
    from fairroc.tables.write import write_text_atomic
    from fairroc.text.certificate import fit_text

    word = POSITIVE_MEANS.checked(arguments.positive_means)
    options = Options.checked(**asked_for(arguments, FIT))
    key = read_key(arguments)
    for path in filter(None, (arguments.output, arguments.certificate)):
        check_writable(path, (".json",), read=named_files(arguments))
    if arguments.certificate is not None and Path(arguments.certificate).resolve() == Path(arguments.output).resolve():
        raise DataError(f"--certificate must be another file than the model, got {arguments.output!r} for both.")
    people = read_data(arguments, small=SmallRule.of(options))
    with progress_bar("fitting") as show:
        fitted = fit(people, options, key=key, progress=show)
    with progress_bar("writing the model"):
        save(fitted.model, arguments.output)  # what follows only describes it: who stops that keeps the model
    say(f"model written to {arguments.output}")
    with progress_bar("bounding the AUC, and what to expect of new people") as show:
        ahead = outlook(fitted, options.confidence or LEVEL.default)
        show(40, 100)
        certificate = certify(fitted)
        if arguments.certificate is not None:
            write_text_atomic(arguments.certificate, certificate_text(fitted, certificate))
            say(f"certificate written to {arguments.certificate}")
        drawn = one_draw(fitted, progress=portion(show, 70, 100))
    if arguments.format == "json":
        put(as_json(certificate.to_dict() | {"one_draw": drawn.to_dict(), "new_people": ahead.to_dict()}))
    else:
        put(fit_text(certificate, ahead, drawn, positive_means=word, verbose=arguments.verbose))
    new = (people_file(arguments), "--model", arguments.output, *columns(arguments, labels=False))
    draws = [] if fitted.model.draws_nobody else ["--id", "ID", *flags(arguments, (KEY,))]
    why = "give people their fair scores" + (" (ID: the column that names people)" if draws else "")
    suggest(arguments, why, "transform", *new, *draws, "-o", "fair.csv")
    return 0
