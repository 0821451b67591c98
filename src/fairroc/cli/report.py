"""The command `fairroc report`: everything on one page."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairroc.cli.arguments import add_data, add_options, add_told_columns, add_tolerances, asked_for, values
from fairroc.cli.data import check_output, load_model, read_data, read_pack_rows, read_told
from fairroc.cli.next_step import columns, flags, goal, recommended, suggest, told_flags
from fairroc.cli.output import progress_bar, put_result
from fairroc.errors import DataError
from fairroc.options import (
    COMBINE,
    CONFIDENCE,
    EPSILON,
    FIT,
    LEVEL,
    MISSING,
    PACK,
    POSITIVE_MEANS,
    RATIO,
    REPORT,
    checked,
    same,
)

if TYPE_CHECKING:
    from fairroc.fairmodel import FairModel
    from fairroc.people.people import People
    from fairroc.report.data import ReportData, Source
    from fairroc.report.pack import PackData


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
    add_told_columns(parser)
    parser.add_argument("--title", metavar="WORDS", help="of the page (default: the name of the file)")
    parser.add_argument("-o", "--output", metavar="PAGE", help="file to write, .html")
    parser.add_argument("--json", metavar="FILE", help="also write everything that the page shows, unrounded, as .json")
    pack = parser.add_argument_group(
        "for the regulator", "A folder with impact ratios (New York City Local Law 144), the four-fifths rule, a model "
        "card and technical documentation (EU AI Act), as Markdown, CSV and JSON. No legal advice."
    )  # fmt: skip
    pack.add_argument("--pack", metavar="DIR", help="folder to write, new or empty; beside -o or without it")
    pack.add_argument(
        "--category",
        action="append",
        metavar="[NAME=]COLUMN",
        help="column by which people are compared, such as sex or race; may repeat, and every two are also taken "
        "together (default: the groups)",
    )
    pack.add_argument(
        "--unknown", action="append", metavar="VALUE", help="means an unknown category, as blanks do; may repeat"
    )
    pack.add_argument(
        "--model", metavar="MODEL", help="model whose fair score is shown, instead of one fitted at --epsilon"
    )
    add_options(pack, PACK)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.report.data import Asked, gather
    from fairroc.report.pack import check_asked, write_folder
    from fairroc.report.page import JSON_SUFFIXES, SUFFIXES, begin_page
    from fairroc.tables.write import written_together

    if not arguments.use_group or arguments.combine != COMBINE.default or arguments.control or told_flags(arguments):
        return _families(arguments)
    asked = Asked.checked(**asked_for(arguments, REPORT, required=False))
    _check_places(arguments)
    check_output(arguments, arguments.output, SUFFIXES)
    check_output(arguments, arguments.json, JSON_SUFFIXES)
    source = _source(arguments)
    title = Path(arguments.data).name if arguments.title is None else arguments.title
    model = None if arguments.model is None else load_model(arguments)
    settings = checked(PACK, values(arguments, PACK))
    labelled = arguments.pack is None or arguments.output is not None or arguments.label is not None
    asked = check_asked(asked, model, settings["selection_rate"], labelled=labelled)
    packing = _packing(arguments, model, settings | {"threshold": asked.settings.threshold, "title": title})
    if not labelled:
        return _tables(arguments, packing(None, source))
    small, missing = (asked.settings.small_rule, None) if model is None else (model.small_rule, model.missing)
    people = read_data(arguments, small=small, missing=missing)
    with progress_bar("report") as show:
        data = gather(people, asked, title=title, source=source, progress=show, page=arguments.output is not None)
        pack = None if arguments.pack is None else packing((people, data), source)
        with written_together() as begin:
            if arguments.output is not None:
                begin_page(begin, arguments.output, data, arguments.json)
            if pack is not None:
                write_folder(arguments.pack, pack)
    ahead = data.outlook
    expected = "" if ahead is None else f", {ahead.gap_estimate:.3f} expected of new people's fair score"
    put_result(
        arguments.format,
        {
            **({} if arguments.output is None else {"output": str(arguments.output)}),
            **{"rows": people.rows, "gap": data.audit.gap, "fair": data.audit.fair},
            **({} if arguments.pack is None else {"pack": str(arguments.pack)}),
            **({} if arguments.json is None else {"json": str(arguments.json)}),
            **({} if ahead is None else {"new_people": ahead.to_dict()}),
            **({} if people.small is None else {"small_groups": asdict(people.small)}),
        },
        lambda: (
            f"largest gap {data.audit.gap:.3f} on {people.rows:,} rows{expected}"
            f"{'' if arguments.output is None else f'; report written to {arguments.output}'}"
            f"{'' if arguments.pack is None else f'; pack written to {arguments.pack}'}"
            f"{'' if arguments.json is None else f', its numbers to {arguments.json}'}"
        ),
    )
    if model is None:
        _suggest(arguments, data)
    return 0


def _families(arguments: argparse.Namespace) -> int:
    """The page of a fit whose score is not told the groups that it compares."""
    from fairroc.report.families import family_options, gather_families
    from fairroc.report.page import SUFFIXES, write_family_page

    for flag in ("pack", "json", "threshold", "category", "unknown", "model", "selection_rate"):
        if getattr(arguments, flag) is not None:
            raise DataError(
                f"--{flag.replace('_', '-')} must be left out with --use-group never, --combine each, --control and "
                "--group-probability: their page is of one fit. fairroc fit --format json has its figures."
            )
    if arguments.output is None or arguments.label is None:
        raise DataError("give -o PAGE, the report to write, and --label, the column of true labels.")
    check_output(arguments, arguments.output, SUFFIXES)
    fits = {option.name for option in FIT} - {CONFIDENCE.name}  # of the page it is that of intervals
    asked = asked_for(arguments, REPORT, required=False)
    options = family_options(**{name: value for name, value in asked.items() if name in fits})
    word = POSITIVE_MEANS.checked(arguments.positive_means)
    scores, y, how = read_told(arguments)
    with progress_bar("report") as show:
        data = gather_families(
            scores,
            y,
            options,
            title=Path(arguments.data).name if arguments.title is None else arguments.title,
            source=_source(arguments),
            progress=show,
            positive_means=word,
            **how,
        )
        write_family_page(arguments.output, data)
    found = data.certificate
    put_result(
        arguments.format,
        {"output": str(arguments.output), "rows": found.rows, "gap_before": found.gap_before, "gap": found.gap},
        lambda: (
            f"largest gap {found.gap_before:.3f} on {found.rows:,} rows, {found.gap:.3f} for the fair score, "
            f"{data.outlook.gap_estimate:.3f} expected of new people's; report written to {arguments.output}"
        ),
    )
    return 0


def _source(arguments: argparse.Namespace) -> Source:
    """Where the rows are."""
    from fairroc.report.data import Source

    return Source(
        **same(arguments, "data", "score", "label", "weight", "pos_label"),
        groups=tuple(arguments.group),
        counts=None if arguments.positives is None else (arguments.positives, arguments.negatives),
    )


def _check_places(arguments: argparse.Namespace) -> None:
    """Raise unless it is clear what to write where."""
    from fairroc.report.pack import check_folder

    if arguments.pack is not None:
        check_folder(arguments.pack)
        for file in filter(None, (arguments.output, arguments.json)):
            if Path(file).resolve().is_relative_to(Path(arguments.pack).resolve()):
                raise DataError(
                    f"the pack '{arguments.pack}' must hold its own files alone, got '{file}'; name another."
                )
        if arguments.positives is not None or arguments.negatives is not None:
            raise DataError("--pack needs one row for each person; got an aggregated table (--positives, --negatives).")
        if arguments.pos_label is not None and arguments.label is None:
            raise DataError("--pos-label goes with --label; without labels there is no positive one.")
    elif arguments.output is None:
        raise DataError("give -o PAGE, the report to write, or --pack DIR, a folder for the regulator, or both.")
    for flag in () if arguments.pack is not None else ("category", "unknown", "model", "selection_rate"):
        if getattr(arguments, flag) is not None:
            raise DataError(f"--{flag.replace('_', '-')} goes with --pack DIR; add it, or leave this out.")
    if arguments.json is not None and arguments.output is None:
        raise DataError("--json goes with -o PAGE, whose figures it holds; the pack has its own pack.json.")


def _packing(
    arguments: argparse.Namespace, model: FairModel | None, settings: dict[str, Any]
) -> Callable[[tuple[People, ReportData] | None, Source], PackData]:
    """What makes a pack of a report; all that can be wrong with the rest of the arguments is found before."""
    from fairroc.report.pack import file_facts, gather_pack
    from fairroc.tables.files import find_parts

    rows = None if arguments.pack is None else read_pack_rows(arguments)
    how: dict[str, Any] = {"model": model, "unknown": arguments.unknown or (), **settings}

    def made(seen: tuple[People, ReportData] | None, source: Source) -> PackData:
        assert rows is not None
        found = gather_pack(rows, seen, source=source, **how)
        read = [
            *(part.path for part in find_parts(arguments.data)),
            *([] if model is None else [Path(arguments.model)]),
        ]
        return replace(found, command=shlex.join(["fairroc", *map(str, arguments.words)]), files=file_facts(read))

    return made


def _tables(arguments: argparse.Namespace, pack: PackData) -> int:
    """Write a pack of people without labels."""
    from fairroc.report.pack import write_folder

    write_folder(arguments.pack, pack)
    put_result(
        arguments.format,
        {"rows": pack.rows, "pack": str(arguments.pack)},
        lambda: (
            f"impact ratios of {pack.rows:,} rows; pack written to {arguments.pack} (with --label also a model card "
            "and technical documentation)"
        ),
    )
    return 0


def _suggest(arguments: argparse.Namespace, data: ReportData) -> None:
    """Fit what the page shows, or the epsilon that it recommends."""
    people = (arguments.data, *columns(arguments))
    allowed, asked = recommended(data.frontier), goal(arguments)
    if arguments.output is None and not asked:
        return suggest(arguments, "see what a fair score would cost", "frontier", *people)
    if not asked and not allowed:
        return None
    what = "pack" if arguments.output is None else "page"
    why = f"fit what the {what} shows" if asked else f"fit at the recommended {allowed[0][2:]}"
    how = flags(arguments, [option for option in REPORT if option in FIT and option not in (EPSILON, RATIO, MISSING)])
    how += flags(arguments, [LEVEL] * (arguments.promise == "population"))
    return suggest(arguments, why, "fit", *people, *(asked or allowed), *how, "-o", "model.json")
