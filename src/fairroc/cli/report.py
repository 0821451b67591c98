"""The command `fairroc report`: everything on one page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fairroc.cli.arguments import add_data, number, whole
from fairroc.cli.data import read_data
from fairroc.cli.output import as_json, progress_bar, put


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "report",
        help="write a report as one HTML file that opens offline",
        description="Audit, frontier and, with --epsilon, the fit's certificate on one page with sliders.",
    )
    add_data(parser, counts=True)
    parser.add_argument("--epsilon", type=number, metavar="E", help="allowed gap, 0 to 2; without it nothing is fitted")
    parser.add_argument("--norm", default="1", metavar="1|inf", help="|dFPR| + |dTPR|, or the larger (default: 1)")
    parser.add_argument("--ties", default=None, metavar="draw|order", help="as in fit")
    parser.add_argument("--threshold", type=number, metavar="T", help="where the page starts (default: largest gap)")
    parser.add_argument(
        "--confidence", type=number, default=0.95, metavar="C", help="of intervals and bands (default: 0.95)"
    )
    parser.add_argument(
        "--bootstrap", type=whole, default=1000, metavar="N", help="number of draws (default: 1000; 0: none)"
    )
    parser.add_argument("--seed", type=whole, default=0, metavar="S", help="of the bootstrap (default: 0)")
    parser.add_argument("--title", metavar="WORDS", help="of the page (default: the name of the file)")
    parser.add_argument("-o", "--output", required=True, metavar="PAGE", help="file to write, .html")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.report.data import Asked, Source, gather
    from fairroc.report.page import SUFFIXES, write_page
    from fairroc.report.templates import require_report
    from fairroc.tables.files import check_writable

    require_report()
    asked = Asked.checked(
        epsilon=arguments.epsilon,
        norm=arguments.norm,
        ties=arguments.ties,
        threshold=arguments.threshold,
        confidence=arguments.confidence,
        bootstrap=arguments.bootstrap,
        random_state=arguments.seed,
        missing=arguments.missing,
    )
    check_writable(arguments.output, SUFFIXES)
    source = Source(
        data=arguments.data,
        score=arguments.score,
        label=arguments.label,
        groups=tuple(arguments.group),
        weight=arguments.weight,
        pos_label=arguments.pos_label,
        counts=None if arguments.positives is None else (arguments.positives, arguments.negatives),
    )
    columns = read_data(arguments)
    title = Path(arguments.data).name if arguments.title is None else arguments.title
    with progress_bar("report") as show:
        data = gather(columns, asked, title=title, source=source, progress=show)
    write_page(arguments.output, data)
    summary = {"output": str(arguments.output), "rows": columns.rows, "gap": data.audit.gap, "fair": data.audit.fair}
    words = f"largest gap {data.audit.gap:.4f} on {columns.rows:,} rows; report written to {arguments.output}"
    put(as_json(summary) if arguments.format == "json" else words)
    return 0
