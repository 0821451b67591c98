"""Arguments that several commands share; those of parameters come from `fairroc.options`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from fairroc.errors import DataError
from fairroc.options import MAX_DISTINCT, MISSING, POS_LABEL, QUIET, VERBOSE, Option

ALWAYS = {True: "always", False: "never"}
"""What a flag says about something that is either done or not."""


def number(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got '{text}'") from None


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got '{text}'") from None


def window(text: str) -> tuple[float, float]:
    """Two numbers with a colon between."""
    low, colon, high = text.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"must be two numbers with a colon between, such as 0:0.2, got '{text}'")
    return number(low), number(high)


def always(text: str) -> bool:
    """Whether something is done: always, or never."""
    if text not in (ALWAYS[True], ALWAYS[False]):
        raise argparse.ArgumentTypeError(f"must be always or never, got '{text}'")
    return text == ALWAYS[True]


def named_number(text: str) -> tuple[str, float]:
    """A name and a number with an equals sign between."""
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"must be a name and a number, such as sex=0.05, got '{text}'")
    return name, number(value)


def _numbers(text: str) -> list[float]:
    return [number(part.strip()) for part in text.split(",")]


PARSERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "number": number,
    "whole": whole,
    "numbers": _numbers,
    "window": window,
    "always": always,
}


def add_options(
    parser: argparse.ArgumentParser,
    options: Iterable[Option],
    *,
    required: Collection[Option] = (),
    asked: Collection[Option] = (),
) -> None:
    """Add a flag for each parameter that has one, with its sentence and its default.

    Those ``asked`` for have no default, as other flags can say the same.
    """
    for option in options:
        if option.flag is not None and option.parse == "flag":
            parser.add_argument(option.flag, dest=option.name, action="store_true", help=option.help)
        elif option.flag is not None:
            open_ = option in required or option in asked
            told = ALWAYS.get(option.default) if option.parse == "always" else option.default
            default = "" if option.default is None or open_ else f" (default: {told})"
            parser.add_argument(
                option.flag,
                dest=option.name,
                type=PARSERS[option.parse],
                default=None if open_ else option.default,
                required=option in required,
                metavar=option.metavar or "|".join(option.values),
                help=f"{option.help}{default}".replace("%", "%%"),
            )


def values(arguments: argparse.Namespace, options: Iterable[Option]) -> dict[str, Any]:
    """What the arguments say about each parameter that has a flag, by its name in Python."""
    return {option.name: getattr(arguments, option.name) for option in options if option.flag is not None}


def add_tolerances(parser: argparse.ArgumentParser) -> None:
    """A tolerance for each of two rates, instead of one for both."""
    for rate in ("fpr", "tpr"):
        flag, words = f"--epsilon-{rate}", f"equalized odds, instead of --epsilon: largest gap of the {rate.upper()}"
        parser.add_argument(flag, type=number, default=None, metavar="E", help=words)


def add_families(parser: argparse.ArgumentParser) -> None:
    """Strata, and a tolerance for each attribute."""
    parser.add_argument(
        "--epsilon-of",
        type=named_number,
        action="append",
        metavar="NAME=E",
        help="with --combine each, instead of --epsilon: largest gap of one group column; may repeat",
    )
    add_control(parser)


def add_control(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Which columns hold strata."""
    words = f"column of strata: groups are compared within each; may repeat{more}"
    parser.add_argument("--control", action="append", metavar="COL", help=words)


def add_probabilities(parser: argparse.ArgumentParser, words: str) -> None:
    """Which columns hold probabilities of the groups."""
    parser.add_argument("--group-probability", action="extend", nargs="+", metavar="COL", help=words)


def asked_for(arguments: argparse.Namespace, options: Iterable[Option], *, required: bool = True) -> dict[str, Any]:
    """The values of options, with epsilon from whichever flags say it; one of them must where it is ``required``."""
    found = values(arguments, options)
    if (each := getattr(arguments, "epsilon_of", None)) is not None:
        return found | {"epsilon": _of_attributes(arguments, each)}
    own = {rate: getattr(arguments, f"epsilon_{rate}", None) for rate in ("fpr", "tpr")}
    if any(value is not None for value in own.values()):
        if found["epsilon"] is not None or found.get("ratio") is not None or None in own.values():
            raise DataError(
                "give --epsilon-fpr and --epsilon-tpr together, and neither --epsilon nor --ratio beside them. Try "
                "--epsilon-fpr 0.1 --epsilon-tpr 0.05."
            )
        return found | {"epsilon": own}
    if required and found["epsilon"] is None and found.get("ratio") is None:
        raise DataError(
            "give --epsilon E, the largest gap allowed (try 0.05), or for one rate --ratio R (try 0.8), or "
            "--epsilon-fpr and --epsilon-tpr; got none of them."
        )
    return found if found["epsilon"] is not None else {k: v for k, v in found.items() if k != "epsilon"}


def _of_attributes(arguments: argparse.Namespace, each: list[tuple[str, float]]) -> dict[str, float]:
    """An epsilon for each attribute."""
    others = ("epsilon", "ratio", "epsilon_fpr", "epsilon_tpr")
    if any(getattr(arguments, name, None) is not None for name in others) or arguments.combine != "each":
        raise DataError(
            "--epsilon-of goes with --combine each, and neither with --epsilon, --epsilon-fpr, --epsilon-tpr nor with "
            "--ratio. Try --combine each --epsilon-of sex=0.05 --epsilon-of race=0.1."
        )
    named = [name for name, _ in each]
    if sorted(named) != sorted(arguments.group):
        raise DataError(
            f"--epsilon-of must name every group column once ({', '.join(map(repr, arguments.group))}), got "
            f"{', '.join(map(repr, named))}."
        )
    return dict(each)


DATA = "CSV (also .gz), Parquet or Arrow file, a folder of such files, or a pattern in quotes"


def add_data(parser: argparse.ArgumentParser, *, counts: bool = False, required: bool = True) -> None:
    """Where the labelled rows are; with ``counts`` they may be aggregated."""
    parser.add_argument("data", metavar="DATA", nargs=None if required else "?", help=DATA)
    parser.add_argument("--score", required=required, metavar="P", help="column of scores, higher means positive")
    parser.add_argument("--group", required=required, action="append", metavar="G", help="column of groups; may repeat")
    parser.add_argument(
        "--label", required=not counts, metavar="Y", help="column of true labels: 0/1, or see --pos-label"
    )
    if counts:
        parser.add_argument("--positives", metavar="N", help="of an aggregated table, instead of --label: column that")
        parser.add_argument("--negatives", metavar="N", help="counts people of a score and group, by true label")
    parser.add_argument("--weight", metavar="W", help="column of row weights")
    add_options(parser, (POS_LABEL, MISSING))
    add_streaming(parser)
    add_format(parser)


def add_told(parser: argparse.ArgumentParser, *, group: str = "") -> None:
    """Which columns hold scores and what a model is told beside them; which it needs is known once it is loaded."""
    parser.add_argument("--score", required=True, metavar="P", help="column of scores, higher means positive")
    words = group or "column of groups; may repeat; not for a model of --use-group never"
    parser.add_argument("--group", action="append", metavar="G", help=words)
    add_told_columns(parser)


def add_told_columns(parser: argparse.ArgumentParser) -> None:
    """Which columns hold probabilities of the groups, and strata, for a model that is told them."""
    add_probabilities(
        parser, "for a model of --use-group never: columns of the groups' probabilities, by the names of the fit or in "
        "its order"
    )  # fmt: skip
    add_control(parser, ", in the order of the fit")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model."""
    parser.add_argument("--model", required=True, metavar="MODEL", help="model file that 'fairroc fit' wrote")


def add_streaming(parser: argparse.ArgumentParser) -> None:
    """Whether and how a table is counted in batches."""
    parser.add_argument("--stream", action="store_true", help="read in batches, as large files and folders are anyway")
    add_options(parser, (replace(MAX_DISTINCT, default=None),))


def add_format(parser: argparse.ArgumentParser) -> None:
    """Text or JSON, and how much of it."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of the standard output")
    add_options(parser, (VERBOSE, QUIET))
