"""Commands that explore a trade-off or a model: `fairroc frontier`, `report`, `threshold`, `explain`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fairroc.cli.main import _columns, _data_arguments, _format_argument, _json, _number, _put, _say, _whole
from fairroc.cli.monitor import add_monitor_parser
from fairroc.cli.reproduce import add_reproduce_parser
from fairroc.cli.sql import add_sql_parser
from fairroc.errors import DataError

__all__ = ["add_parsers"]


def add_parsers(commands: Any) -> None:
    """Add the commands of this module."""
    _frontier_parser(commands)
    _report_parser(commands)
    _threshold_parser(commands)
    _explain_parser(commands)
    add_monitor_parser(commands)
    add_sql_parser(commands)
    add_reproduce_parser(commands)


def _frontier_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "frontier",
        help="what fairness costs at every epsilon",
        description="Writes a table with one row for each epsilon: AUC, its bound, accuracy, disparate impact, groups.",
    )
    _data_arguments(parser, counts=True)
    parser.add_argument(
        "--epsilons", type=_numbers, metavar="E,E,...", help="allowed gaps (default: 21, from 0 to the score's own gap)"
    )
    parser.add_argument("--norm", default="1", metavar="1|inf", help="|dFPR| + |dTPR|, or the larger (default: 1)")
    parser.add_argument("--method", default="optimal", metavar="optimal|froc", help="as in fit (default: optimal)")
    parser.add_argument("--queries", type=_whole, metavar="K", help="look at K equidistant thresholds only")
    parser.add_argument(
        "--ties", default=None, metavar="draw|order", help="draw (default: what is possible), or order, fit's default"
    )
    parser.add_argument("--no-bound", action="store_true", help="leave out the bound for every fair score")
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write: CSV, Parquet or Arrow")
    parser.set_defaults(run=_frontier)


def _report_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="write a report as one HTML file that opens offline",
        description="Audit, frontier and, with --epsilon, the fit's certificate on one page with sliders.",
    )
    _data_arguments(parser, counts=True)
    parser.add_argument(
        "--epsilon", type=_number, metavar="E", help="allowed gap, 0 to 2; without it nothing is fitted"
    )
    parser.add_argument("--norm", default="1", metavar="1|inf", help="|dFPR| + |dTPR|, or the larger (default: 1)")
    parser.add_argument("--ties", default=None, metavar="draw|order", help="as in fit")
    parser.add_argument("--threshold", type=_number, metavar="T", help="where the page starts (default: largest gap)")
    parser.add_argument(
        "--confidence", type=_number, default=0.95, metavar="C", help="of intervals and bands (default: 0.95)"
    )
    parser.add_argument(
        "--bootstrap", type=_whole, default=1000, metavar="N", help="number of draws (default: 1000; 0: none)"
    )
    parser.add_argument("--seed", type=_whole, default=0, metavar="S", help="of the bootstrap (default: 0)")
    parser.add_argument("--title", metavar="WORDS", help="of the page (default: the name of the file)")
    parser.add_argument("-o", "--output", required=True, metavar="PAGE", help="file to write, .html")
    parser.set_defaults(run=_report)


def _threshold_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "threshold",
        help="choose a threshold of the fair score",
        description="Give --cost-fp with --cost-fn, or one of --selection-rate, --precision and --recall.",
    )
    _data_arguments(parser)
    parser.add_argument("--model", required=True, metavar="MODEL", help="model file that 'fairroc fit' wrote")
    parser.add_argument("--cost-fp", type=_number, metavar="A", help="cost of a false positive")
    parser.add_argument("--cost-fn", type=_number, metavar="B", help="cost of a false negative")
    parser.add_argument("--selection-rate", type=_number, metavar="R", help="accept at most this share of people")
    parser.add_argument("--precision", type=_number, metavar="Q", help="have at least this precision")
    parser.add_argument("--recall", type=_number, metavar="Q", help="have at least this true positive rate")
    parser.add_argument("--on-unknown-group", metavar="GROUP", help="fitted group that unknown groups are treated as")
    parser.set_defaults(run=_threshold)


def _explain_parser(commands: Any) -> None:
    parser = commands.add_parser("explain", help="what can happen to one person, and why")
    parser.add_argument("--model", required=True, metavar="MODEL", help="model file that 'fairroc fit' wrote")
    parser.add_argument("--score", required=True, type=_number, metavar="S", help="the person's original score")
    parser.add_argument("--group", required=True, action="append", metavar="G", help="the person's group; may repeat")
    parser.add_argument("--threshold", type=_number, metavar="T", help="add the probability of reaching it")
    parser.add_argument(
        "--id", metavar="ID", help="add the draw of this id; a whole number counts as an integer, as in CSV files"
    )
    parser.add_argument("--key-file", metavar="FILE", help="secret key that the draws of ids depend on")
    parser.add_argument("--on-unknown-group", metavar="GROUP", help="fitted group that unknown groups are treated as")
    _format_argument(parser)
    parser.set_defaults(run=_explain)


def _numbers(text: str) -> list[float]:
    return [_number(part.strip()) for part in text.split(",")]


def _frontier(arguments: argparse.Namespace) -> int:
    from fairroc.cli.progress import progress_bar
    from fairroc.fitting.fit import Options
    from fairroc.fitting.frontier import FRONTIER_TIES, checked_epsilons, frontier_of
    from fairroc.tables.files import check_writable, write_table
    from fairroc.text.frontier import frontier_text

    options = Options.checked(
        epsilon=0.0,
        norm=arguments.norm,
        method=arguments.method,
        queries=arguments.queries,
        ties=FRONTIER_TIES if arguments.ties is None else arguments.ties,
        missing=arguments.missing,
    )
    epsilons = None if arguments.epsilons is None else checked_epsilons(arguments.epsilons)
    if arguments.output is not None:
        check_writable(arguments.output)
    columns = _columns(arguments)
    with progress_bar("epsilons") as show:
        found = frontier_of(columns, options, epsilons=epsilons, bound=not arguments.no_bound, progress=show)
    if arguments.output is not None:
        write_table(_arrow_table(found.to_columns()), arguments.output)
    _put(_json(found.to_dict()) if arguments.format == "json" else frontier_text(found))
    if arguments.output is not None:
        _say(f"frontier written to {arguments.output}")
    return 0


def _report(arguments: argparse.Namespace) -> int:
    from fairroc.cli.progress import progress_bar
    from fairroc.report.data import Asked, Source, gather
    from fairroc.report.html import SUFFIXES, require_plotly, write_page
    from fairroc.tables.files import check_writable

    require_plotly()
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
    columns = _columns(arguments)
    title = Path(arguments.data).name if arguments.title is None else arguments.title
    with progress_bar("report") as show:
        data = gather(columns, asked, title=title, source=source, progress=show)
    write_page(arguments.output, data)
    summary = {"output": str(arguments.output), "rows": columns.rows, "gap": data.audit.gap, "fair": data.audit.fair}
    words = f"largest gap {data.audit.gap:.4f} on {columns.rows:,} rows; report written to {arguments.output}"
    _put(_json(summary) if arguments.format == "json" else words)
    return 0


def _arrow_table(columns: dict[str, list[Any]]) -> Any:
    """A pyarrow table; columns that are empty throughout count as numbers."""
    import pyarrow as pa

    arrays = {name: pa.array(values) for name, values in columns.items()}
    return pa.table(
        {name: array.cast(pa.float64()) if pa.types.is_null(array.type) else array for name, array in arrays.items()}
    )


def _threshold(arguments: argparse.Namespace) -> int:
    from fairroc.fitting.ladder import Aim
    from fairroc.fitting.thresholds import choose_threshold_of
    from fairroc.model.model import FairModel
    from fairroc.text.frontier import choice_text

    aim = Aim.checked(
        cost_fp=arguments.cost_fp,
        cost_fn=arguments.cost_fn,
        selection_rate=arguments.selection_rate,
        precision=arguments.precision,
        recall=arguments.recall,
    )
    model = FairModel.load(arguments.model)
    if model.missing == "group":
        arguments.missing = "group"
    choice = choose_threshold_of(model, _columns(arguments), aim, on_unknown_group=arguments.on_unknown_group)
    _put(_json(choice.to_dict()) if arguments.format == "json" else choice_text(choice))
    return 0


def _explain(arguments: argparse.Namespace) -> int:
    from fairroc.model.draw import read_key_file
    from fairroc.model.model import FairModel

    if arguments.key_file is not None and arguments.id is None:
        raise DataError("--key-file goes with --id; without an id nothing is drawn.")
    if arguments.id == "":  # transform, too, takes an empty field for a missing id
        raise DataError("--id must not be empty; give the person's id, or leave --id out for an answer without a draw.")
    model = FairModel.load(arguments.model)
    key = None if arguments.key_file is None else read_key_file(arguments.key_file)
    groups = tuple(group or None for group in arguments.group)  # an empty field is a missing one, as in CSV files
    found = model.explain(
        arguments.score,
        groups if len(groups) > 1 else groups[0],
        threshold=arguments.threshold,
        id=None if arguments.id is None else _id(arguments.id),
        key=key,
        on_unknown_group=arguments.on_unknown_group,
    )
    _put(_json(found.to_dict()) if arguments.format == "json" else found.text)
    return 0


def _id(text: str) -> int | str:
    """An id as it would be read from a CSV file."""
    import pyarrow as pa

    from fairroc.tables.files import ids_from_text

    value = ids_from_text(pa.array([text], pa.string()))[0]
    return value if isinstance(value, int | str) else value.as_py()
