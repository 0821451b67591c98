"""The command `fairroc report`: everything on one page."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairroc.cli.arguments import add_data, add_options, add_tolerances, asked_for
from fairroc.cli.data import named_files, read_data
from fairroc.cli.next_step import columns, flags, goal, recommended, suggest
from fairroc.cli.output import progress_bar, put_result
from fairroc.options import EPSILON, FIT, LEVEL, MISSING, RATIO, REPORT

if TYPE_CHECKING:
    from fairroc.report.data import ReportData


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "report",
        help="write a report as one HTML file that opens offline",
        description="Audit, frontier and, with --epsilon or --ratio, the fit's certificate on one page with sliders.",
    )
    add_data(parser, counts=True)
    add_options(parser, [option for option in REPORT if option is not MISSING])
    add_tolerances(parser)
    parser.add_argument("--title", metavar="WORDS", help="of the page (default: the name of the file)")
    parser.add_argument("-o", "--output", required=True, metavar="PAGE", help="file to write, .html")
    parser.add_argument("--json", metavar="FILE", help="also write everything that the page shows, unrounded, as .json")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.report.data import Asked, Source, gather
    from fairroc.report.page import JSON_SUFFIXES, SUFFIXES, write_page
    from fairroc.tables.files import check_writable

    asked = Asked.checked(**asked_for(arguments, REPORT, required=False))
    check_writable(arguments.output, SUFFIXES, read=named_files(arguments))
    if arguments.json is not None:
        check_writable(arguments.json, JSON_SUFFIXES, read=named_files(arguments))
    source = Source(
        data=arguments.data,
        score=arguments.score,
        label=arguments.label,
        groups=tuple(arguments.group),
        weight=arguments.weight,
        pos_label=arguments.pos_label,
        counts=None if arguments.positives is None else (arguments.positives, arguments.negatives),
    )
    people = read_data(arguments, small=asked.settings.small_rule)
    title = Path(arguments.data).name if arguments.title is None else arguments.title
    with progress_bar("report") as show:
        data = gather(people, asked, title=title, source=source, progress=show)
        write_page(arguments.output, data, arguments.json)
    ahead = data.outlook
    expected = "" if ahead is None else f", {ahead.gap_estimate:.3f} expected of new people's fair score"
    put_result(
        arguments.format,
        {
            **{"output": str(arguments.output), "rows": people.rows, "gap": data.audit.gap, "fair": data.audit.fair},
            **({} if arguments.json is None else {"json": str(arguments.json)}),
            **({} if ahead is None else {"new_people": ahead.to_dict()}),
            **({} if people.small is None else {"small_groups": asdict(people.small)}),
        },
        lambda: (
            f"largest gap {data.audit.gap:.3f} on {people.rows:,} rows{expected}; report written to {arguments.output}"
            f"{'' if arguments.json is None else f', its numbers to {arguments.json}'}"
        ),
    )
    _suggest(arguments, data)
    return 0


def _suggest(arguments: argparse.Namespace, data: ReportData) -> None:
    """Fit what the page shows, or the epsilon that it recommends."""
    allowed, asked = recommended(data.frontier), goal(arguments)
    why = "fit what the page shows" if asked else f"fit at the recommended {allowed[0][2:]}"
    how = flags(arguments, [option for option in REPORT if option in FIT and option not in (EPSILON, RATIO, MISSING)])
    how += flags(arguments, [LEVEL] * (arguments.promise == "population"))
    people = (arguments.data, *columns(arguments))
    suggest(arguments, why, "fit", *people, *(asked or allowed), *how, "-o", "model.json")
