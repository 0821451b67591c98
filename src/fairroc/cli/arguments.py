"""Arguments that several commands share."""

from __future__ import annotations

import argparse


def add_data(parser: argparse.ArgumentParser, *, counts: bool = False) -> None:
    """Where the rows are; with ``counts`` they may be aggregated."""
    parser.add_argument("data", metavar="DATA", help="CSV (also .gz), Parquet or Arrow file")
    parser.add_argument("--score", required=True, metavar="P", help="column of scores, higher means positive")
    parser.add_argument(
        "--label", required=not counts, metavar="Y", help="column of true labels: 0/1, or see --pos-label"
    )
    if counts:
        parser.add_argument("--positives", metavar="N", help="of an aggregated table, instead of --label: column that")
        parser.add_argument("--negatives", metavar="N", help="counts people of a score and group, by true label")
    parser.add_argument("--group", required=True, action="append", metavar="G", help="column of groups; may repeat")
    parser.add_argument("--weight", metavar="W", help="column of row weights")
    parser.add_argument("--pos-label", metavar="VALUE", help="the label that counts as positive")
    parser.add_argument(
        "--missing", choices=("error", "group"), default="error", help="rows without a group: error, or a group"
    )
    add_format(parser)


def add_streaming(parser: argparse.ArgumentParser) -> None:
    """Whether and how tables are read in batches."""
    parser.add_argument("--stream", action="store_true", help="read in batches, as large files and folders are anyway")
    parser.add_argument(
        "--max-distinct", type=whole, metavar="N", help="scores kept apart when streaming (default: 2**22), see docs"
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """Text or JSON."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of the standard output")


def number(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, '{text}' came") from None


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, '{text}' came") from None


def numbers(text: str) -> list[float]:
    """Numbers between commas."""
    return [number(part.strip()) for part in text.split(",")]
