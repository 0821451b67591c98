"""Arguments that several commands share; those of parameters come from `fairroc.options`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from fairroc.options import MAX_DISTINCT, MISSING, POS_LABEL, Option


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


def _numbers(text: str) -> list[float]:
    return [number(part.strip()) for part in text.split(",")]


PARSERS: dict[str, Callable[[str], Any]] = {"text": str, "number": number, "whole": whole, "numbers": _numbers}


def add_options(
    parser: argparse.ArgumentParser, options: Iterable[Option], *, required: Collection[Option] = ()
) -> None:
    """Add a flag for each parameter that has one, with its sentence and its default."""
    for option in options:
        if option.flag is not None:
            needed = option in required
            default = "" if option.default is None or needed else f" (default: {option.default})"
            parser.add_argument(
                option.flag,
                dest=option.name,
                type=PARSERS[option.parse],
                default=None if needed else option.default,
                required=needed,
                metavar=option.metavar or "|".join(option.values),
                help=f"{option.help}{default}".replace("%", "%%"),
            )


def values(arguments: argparse.Namespace, options: Iterable[Option]) -> dict[str, Any]:
    """What the arguments say about each parameter that has a flag, by its name in Python."""
    return {option.name: getattr(arguments, option.name) for option in options if option.flag is not None}


def add_data(parser: argparse.ArgumentParser, *, counts: bool = False) -> None:
    """Where the labelled rows are; with ``counts`` they may be aggregated."""
    parser.add_argument("data", metavar="DATA", help="CSV (also .gz), Parquet or Arrow file")
    add_columns(parser)
    parser.add_argument(
        "--label", required=not counts, metavar="Y", help="column of true labels: 0/1, or see --pos-label"
    )
    if counts:
        parser.add_argument("--positives", metavar="N", help="of an aggregated table, instead of --label: column that")
        parser.add_argument("--negatives", metavar="N", help="counts people of a score and group, by true label")
    parser.add_argument("--weight", metavar="W", help="column of row weights")
    add_options(parser, (POS_LABEL, MISSING))
    add_format(parser)


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Which columns hold scores and groups."""
    parser.add_argument("--score", required=True, metavar="P", help="column of scores, higher means positive")
    parser.add_argument("--group", required=True, action="append", metavar="G", help="column of groups; may repeat")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model."""
    parser.add_argument("--model", required=True, metavar="MODEL", help="model file that 'fairroc fit' wrote")


def add_streaming(parser: argparse.ArgumentParser) -> None:
    """Whether and how a table is counted in batches."""
    parser.add_argument("--stream", action="store_true", help="read in batches, as large files and folders are anyway")
    add_options(parser, (replace(MAX_DISTINCT, default=None),))


def add_format(parser: argparse.ArgumentParser) -> None:
    """Text or JSON."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of the standard output")
