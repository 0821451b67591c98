"""The command `fairroc audit`: how far apart the groups are at every threshold."""

from __future__ import annotations

import argparse
from typing import Any

from fairroc.cli.arguments import add_data, add_streaming, number, whole
from fairroc.cli.data import read_data
from fairroc.cli.output import as_json, progress_bar, put


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "audit",
        help="how far apart the groups are at every threshold",
        description="Exit 1 if the gap exceeds epsilon.",
    )
    add_data(parser, counts=True)
    add_streaming(parser)
    parser.add_argument("--epsilon", type=number, metavar="E", help="allowed gap; exit 1 if it is exceeded")
    parser.add_argument("--norm", default="1", metavar="P", help="distance of two ROC points: any p >= 1 or inf")
    parser.add_argument("--threshold", type=number, metavar="T", help="also look at the one decision score >= T")
    parser.add_argument(
        "--confidence", type=number, default=0.95, metavar="C", help="of intervals and bands (default: 0.95)"
    )
    parser.add_argument(
        "--bootstrap", type=whole, default=1000, metavar="N", help="number of draws (default: 1000; 0: none)"
    )
    parser.add_argument("--seed", type=whole, default=0, metavar="S", help="of the bootstrap (default: 0)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.auditing.audit import Settings, audit_columns
    from fairroc.text.audit import audit_text

    settings = Settings.checked(
        norm=arguments.norm,
        epsilon=arguments.epsilon,
        confidence=arguments.confidence,
        threshold=arguments.threshold,
        bootstrap=arguments.bootstrap,
        random_state=arguments.seed,
    )
    columns = read_data(arguments)
    with progress_bar("bootstrap") as show:
        found = audit_columns(columns, settings, progress=show)
    put(as_json(found.to_dict()) if arguments.format == "json" else audit_text(found))
    return 1 if found.fair is False else 0
