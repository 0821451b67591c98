"""The command line: `fairroc audit`, `fit`, `transform`, `froc`, `demo`; more in `cli_more`.

Data goes to standard output, words to standard error. Exit 0: done; 1: an audit found a gap above epsilon; 2: could
not run (one line says why, and no output file is touched).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from fairroc._version import __version__
from fairroc.errors import DataError, FairrocError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Errors of usage in one line, like all others."""
        _say(f"{self.prog}: {' '.join(message.split())}; see '{self.prog} --help'.")
        raise SystemExit(2)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    arguments = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        warnings.simplefilter("always")
        try:
            return run(arguments)
        except FairrocError as error:
            _say(f"fairroc {arguments.command}: {' '.join(str(error).split())}")
            return 2
        except MemoryError:
            _say(f"fairroc {arguments.command}: not enough memory for this file.")
            return 2
        except BrokenPipeError:  # the reader of the output went away, as `head` does: nothing more to say
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 2
        except KeyboardInterrupt:
            _say("stopped.")
            return 130
        except Exception as error:  # an exit code of 1 would mean that an audit found a gap
            if os.environ.get("FAIRROC_TRACEBACK"):
                raise
            _say(f"fairroc {arguments.command}: {_unexpected(error)}")
            return 2


def _unexpected(error: Exception) -> str:
    """An error nobody foresaw, in one line."""
    words = " ".join(str(error).split()) or "no message"
    if isinstance(error, OSError):
        return f"the system refused ({words}); check disk space, permissions and paths."
    return f"unexpected {type(error).__name__} ({words}); please report it, with FAIRROC_TRACEBACK=1 set for details."


def _say(words: str) -> None:
    print(words, file=sys.stderr)


def _put(text: str) -> None:
    """Print a result; if the output's encoding lacks some character, all but ASCII is escaped as in JSON."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = "".join(letter if letter.isascii() else json.dumps(letter)[1:-1] for letter in text)
    print(text, flush=True)


def _show_warning(message: Warning | str, *_: Any) -> None:
    _say(f"warning: {' '.join(str(message).split())}")


def _parser() -> argparse.ArgumentParser:
    from fairroc.cli.more import add_parsers

    parser = _Parser(
        prog="fairroc",
        description="Make a trained classifier's score fair at every threshold, at the least loss of AUC.",
        epilog="DATA is CSV (also .gz), Parquet or Arrow, by its suffix; audit, fit and transform also take a folder "
        "of such files or a pattern in quotes, and read large data in batches. Start with: fairroc audit DATA "
        "--score P --label Y --group G",
    )
    parser.add_argument("--version", action="version", version=f"fairroc {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _audit_parser(commands)
    _fit_parser(commands)
    _transform_parser(commands)
    _froc_parser(commands)
    add_parsers(commands)
    demo = commands.add_parser("demo", help="run the whole way on a real data set and leave the results in a folder")
    demo.add_argument("-o", "--output", default="demo", metavar="FOLDER", help="folder for the results (default: demo)")
    demo.add_argument("--epsilon", type=_number, default=0.05, help="allowed gap (default: 0.05)")
    demo.set_defaults(run=_demo)
    return parser


def _audit_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "audit",
        help="how far apart the groups are at every threshold",
        description="Exit 1 if the gap exceeds epsilon.",
    )
    _data_arguments(parser, counts=True)
    _stream_arguments(parser)
    parser.add_argument("--epsilon", type=_number, metavar="E", help="allowed gap; exit 1 if it is exceeded")
    parser.add_argument("--norm", default="1", metavar="P", help="distance of two ROC points: any p >= 1 or inf")
    parser.add_argument("--threshold", type=_number, metavar="T", help="also look at the one decision score >= T")
    parser.add_argument(
        "--confidence", type=_number, default=0.95, metavar="C", help="of intervals and bands (default: 0.95)"
    )
    parser.add_argument(
        "--bootstrap", type=_whole, default=1000, metavar="N", help="number of draws (default: 1000; 0: none)"
    )
    parser.add_argument("--seed", type=_whole, default=0, metavar="S", help="of the bootstrap (default: 0)")
    parser.set_defaults(run=_audit)


def _fit_parser(commands: Any) -> None:
    parser = commands.add_parser("fit", help="fit the fair score and write a model file")
    _data_arguments(parser, counts=True)
    _stream_arguments(parser)
    parser.add_argument("--epsilon", type=_number, required=True, metavar="E", help="allowed gap, 0 to 2")
    parser.add_argument("--norm", default="1", metavar="1|inf", help="|dFPR| + |dTPR|, or the larger (default: 1)")
    parser.add_argument(
        "--method", default="optimal", metavar="optimal|froc", help="the optimum (default), or the paper's"
    )
    parser.add_argument(
        "--queries", type=_whole, metavar="K", help="look at K equidistant thresholds only (froc: 100 by default)"
    )
    parser.add_argument(
        "--ties", default=None, metavar="draw|order", help="inside hull blocks: draw, or keep raw order"
    )
    parser.add_argument(
        "--curve",
        default="auto",
        metavar="NAME",
        help="ROC curves to work on: raw, smooth, binormal, calibrated, shrunk (default: smooth for small samples)",
    )
    parser.add_argument(
        "--confidence", type=_number, metavar="C", help="promise epsilon for the population, at this level such as 0.95"
    )
    parser.add_argument(
        "--folds", type=_whole, default=5, metavar="K", help="of the estimate for new people; 0: none (default: 5)"
    )
    parser.add_argument("--hash", default="xxh64", metavar="H", help="of ids: xxh64 (default) or blake2b (slower)")
    parser.add_argument(
        "--key-file", metavar="FILE", help="secret key the draws will depend on; its fingerprint is kept"
    )
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="model file to write, .json")
    parser.set_defaults(run=_fit)


def _transform_parser(commands: Any) -> None:
    parser = commands.add_parser("transform", help="add a column of fair scores to a file")
    parser.add_argument("data", metavar="DATA", help="file, folder of files, or pattern in quotes")
    parser.add_argument("--model", required=True, metavar="MODEL", help="model file that 'fairroc fit' wrote")
    parser.add_argument("--score", required=True, metavar="P", help="column of scores")
    parser.add_argument("--group", required=True, action="append", metavar="G", help="column of groups; may repeat")
    parser.add_argument("--id", metavar="ID", help="column of ids: the same id always gets the same draw")
    parser.add_argument("--key-file", metavar="FILE", help="secret key that the draws of ids depend on")
    parser.add_argument("--seed", type=_whole, metavar="N", help="draw from a seed instead of ids, for simulation")
    parser.add_argument("--on-unknown-group", metavar="GROUP", help="fitted group that unknown groups are treated as")
    parser.add_argument("--column", metavar="NAME", help="name of the new column (default: P_fair)")
    _format_argument(parser)
    parser.add_argument("--stream", action="store_true", help="in batches, as large files are anyway")
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="CSV, Parquet or Arrow file to write; or a folder, OUT/"
    )
    parser.set_defaults(run=_transform)


def _froc_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "froc",
        help="draw one step of the paper's algorithm",
        description="Draws one index of the paper's Algorithm 1: two groups' curves, the norm boundary, its cuts and "
        "the shift. To fit by the paper's method: fairroc fit --method froc.",
    )
    _data_arguments(parser, counts=True)
    parser.add_argument("--epsilon", type=_number, required=True, metavar="E", help="radius of the norm set, 0 to 2")
    parser.add_argument("--queries", type=_whole, metavar="K", help="number of equidistant thresholds (default: 100)")
    parser.add_argument("--index", type=_whole, required=True, metavar="I", help="query to draw; 1 is the strictest")
    parser.add_argument(
        "--upper", metavar="GROUP", help="group whose query moves (default: the one that moves farthest there)"
    )
    parser.add_argument("-o", "--output", required=True, metavar="PICTURE", help="file to write: .png, .pdf or .svg")
    parser.set_defaults(run=_froc)


def _data_arguments(parser: argparse.ArgumentParser, *, counts: bool = False) -> None:
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
    _format_argument(parser)


def _stream_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stream", action="store_true", help="read in batches, as large files and folders are anyway")
    parser.add_argument(
        "--max-distinct", type=_whole, metavar="N", help="scores kept apart when streaming (default: 2**22), see docs"
    )


def _format_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of the standard output")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, '{text}' came") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, '{text}' came") from None


def _columns(arguments: argparse.Namespace) -> Any:
    """Checked columns of the file that the arguments name, or counts if it is an aggregated table."""
    from fairroc.people.rows import read_columns, take_columns
    from fairroc.tables.files import read_table

    if _aggregated(arguments):
        return _counts(arguments)
    if (parts := _streamed_parts(arguments)) is not None:
        return _streamed_counts(arguments, parts)
    groups: list[str] = arguments.group
    wanted = [arguments.score, arguments.label, *groups, *([arguments.weight] if arguments.weight else [])]
    texts = groups if arguments.pos_label is None else [*groups, arguments.label]  # '1' and 'TRUE' as they stand
    table = read_table(arguments.data, columns=wanted, text_columns=texts)
    table = _with_numbers(arguments, table, [arguments.score, *([arguments.weight] if arguments.weight else [])])
    taken = take_columns(
        table,
        score=arguments.score,
        label=arguments.label,
        group=groups if len(groups) > 1 else groups[0],
        weight=arguments.weight,
    )
    return read_columns(
        taken.score,
        taken.label,
        sensitive_features=taken.group,
        sample_weight=taken.weight,
        pos_label=arguments.pos_label,
        missing=arguments.missing,
    )


def _streamed_parts(arguments: argparse.Namespace) -> Any:
    """The files to be read in batches, where the command can and the data are many or that is asked for."""
    from fairroc.tables.batches import find_parts, is_large

    if not hasattr(arguments, "stream"):
        return None
    parts = find_parts(arguments.data)
    asked = arguments.stream or getattr(arguments, "max_distinct", None) is not None
    one_file = parts[0].path == Path(arguments.data)
    return parts if asked or not one_file or is_large(parts) else None


def _streamed_counts(arguments: argparse.Namespace, parts: Any) -> Any:
    from fairroc.cli.progress import progress_bar
    from fairroc.people.streaming import MOST_DISTINCT, TableNames, count_table

    names = TableNames(arguments.score, arguments.label, tuple(arguments.group), arguments.weight)
    with progress_bar("reading, MB") as show:
        counts = count_table(
            parts,
            names,
            pos_label=arguments.pos_label,
            missing=arguments.missing,
            most=MOST_DISTINCT if arguments.max_distinct is None else arguments.max_distinct,
            progress=show,
        )
    return counts.complete()


def _with_numbers(arguments: argparse.Namespace, table: Any, names: list[str]) -> Any:
    """The table with numbers in these columns, where it comes from a file that holds text only."""
    from fairroc.tables.files import is_csv, numbers_from_text

    for name in dict.fromkeys(names) if is_csv(arguments.data) else ():
        place = table.column_names.index(name)
        table = table.set_column(place, name, numbers_from_text(table.column(name), name))
    return table


def _aggregated(arguments: argparse.Namespace) -> bool:
    """Whether the rows are aggregated: counts of positives and negatives instead of labels."""
    both = [getattr(arguments, name, None) for name in ("positives", "negatives")]
    if both == [None, None] and arguments.label is not None:
        return False
    if None in both or arguments.label is not None:
        raise DataError(
            "give either --label (one row for each person) or both --positives and --negatives (an aggregated table: "
            "columns that count the people of each score and group)."
        )
    if arguments.weight is not None or arguments.pos_label is not None:
        raise DataError("--weight and --pos-label go with --label; --positives and --negatives count people.")
    return True


def _counts(arguments: argparse.Namespace) -> Any:
    """Counts from an aggregated table; what ScoreCounts.save wrote keeps its bins."""
    from fairroc.people.counts import ScoreCounts, is_saved
    from fairroc.people.rows import take_columns
    from fairroc.tables.files import read_table

    groups, score, sums = arguments.group, arguments.score, [arguments.positives, arguments.negatives]
    table = read_table(arguments.data, columns=[score, *sums, *groups], text_columns=groups)
    if is_saved(table):
        return ScoreCounts.load(arguments.data).complete()
    table = _with_numbers(arguments, table, [score, *sums])
    taken = take_columns(table, score=score, group=groups if len(groups) > 1 else groups[0])
    hits, misses = (table.column(name) for name in sums)
    counts = ScoreCounts.from_table(
        taken.score, hits, misses, sensitive_features=taken.group, missing=arguments.missing
    )
    return counts.complete()


def _audit(arguments: argparse.Namespace) -> int:
    from fairroc.auditing.audit import Settings, audit_columns
    from fairroc.cli.progress import progress_bar
    from fairroc.text.audit import audit_text

    settings = Settings.checked(
        norm=arguments.norm,
        epsilon=arguments.epsilon,
        confidence=arguments.confidence,
        threshold=arguments.threshold,
        bootstrap=arguments.bootstrap,
        random_state=arguments.seed,
    )
    columns = _columns(arguments)
    with progress_bar("bootstrap") as show:
        found = audit_columns(columns, settings, progress=show)
    _put(_json(found.to_dict()) if arguments.format == "json" else audit_text(found))
    return 1 if found.fair is False else 0


def _fit(arguments: argparse.Namespace) -> int:
    from fairroc.cli.progress import progress_bar
    from fairroc.fitting.certificate import certify
    from fairroc.fitting.fit import Options, fit
    from fairroc.fitting.outlook import LEVEL, check_folds, outlook
    from fairroc.model.draw import read_key_file
    from fairroc.tables.files import check_writable
    from fairroc.text.certificate import certificate_text, outlook_text

    options = Options.checked(
        epsilon=arguments.epsilon,
        norm=arguments.norm,
        method=arguments.method,
        queries=arguments.queries,
        hash=arguments.hash,
        missing=arguments.missing,
        curve=arguments.curve,
        confidence=arguments.confidence,
        **({} if arguments.ties is None else {"ties": arguments.ties}),
    )
    check_folds(arguments.folds)
    key = None if arguments.key_file is None else read_key_file(arguments.key_file)
    check_writable(arguments.output, (".json",))
    fitted = fit(_columns(arguments), options, key=key)
    certificate = certify(fitted)
    with progress_bar("looking ahead, folds") as show:
        ahead = outlook(fitted, arguments.confidence or LEVEL, folds=arguments.folds, progress=show)
    fitted.model.save(arguments.output)
    if arguments.format == "json":
        _put(_json(certificate.to_dict() | {"new_people": ahead.to_dict()}))
    else:
        _put(f"{certificate_text(certificate)}\n\n{outlook_text(ahead)}")
    _say(f"model written to {arguments.output}")
    return 0


def _transform(arguments: argparse.Namespace) -> int:
    from fairroc.backends.files import Rewriting, check_output, is_folder, transform_table
    from fairroc.cli.progress import progress_bar
    from fairroc.model.draw import read_key_file
    from fairroc.model.model import FairModel
    from fairroc.tables.files import ids_from_text, is_csv, numbers_from_text, read_table, write_table

    if (arguments.id is None) == (arguments.seed is None):
        raise DataError(
            "give either --id (a column: the same person gets the same fair score every time) or --seed N (one "
            "simulated draw); the fair score is drawn at random."
        )
    if arguments.key_file is not None and arguments.id is None:
        raise DataError("--key-file goes with --id; a seeded simulation uses no key.")
    check_output(arguments.output)
    model = FairModel.load(arguments.model)
    key = None if arguments.key_file is None else read_key_file(arguments.key_file)
    column = arguments.column or f"{arguments.score}_fair"
    arguments.stream = arguments.stream or is_folder(arguments.output)
    if (parts := _streamed_parts(arguments)) is not None:
        how = Rewriting(
            score=arguments.score,
            groups=tuple(arguments.group),
            column=column,
            id=arguments.id,
            seed=arguments.seed,
            key=key,
            on_unknown_group=arguments.on_unknown_group,
        )
        with progress_bar("transforming, MB") as show:
            rows, unknown = transform_table(model, parts, arguments.output, how, data=arguments.data, progress=show)
        return _put_transformed(arguments, rows, unknown, column)
    table = read_table(arguments.data, text_columns=None)
    _require(arguments, table.column_names, column)
    groups, score = table.select(arguments.group), table.column(arguments.score)
    ids = None if arguments.id is None else table.column(arguments.id)
    if is_csv(arguments.data):  # files with types keep them: there, ids that are text are hashed as text
        score, ids = numbers_from_text(score, arguments.score), None if ids is None else ids_from_text(ids)
    scores = model.read(
        score,
        groups if len(arguments.group) > 1 else groups.column(0),
        arguments.on_unknown_group,
    )
    uniforms = model.uniforms(table.num_rows, ids=ids, random_state=arguments.seed, key=key)
    fair = model.fair_scores(scores, uniforms)
    write_table(table.append_column(column, [fair]), arguments.output)
    return _put_transformed(arguments, table.num_rows, scores.unknown, column)


def _put_transformed(arguments: argparse.Namespace, rows: int, unknown: int, column: str) -> int:
    summary = {"rows": rows, "column": column, "output": str(arguments.output), "unknown": unknown}
    words = f"{rows:,} rows with fair scores in column '{column}' written to {arguments.output}"
    _put(_json(summary) if arguments.format == "json" else words)
    return 0


def _require(arguments: argparse.Namespace, present: list[str], column: str) -> None:
    from fairroc.people.rows import require_columns

    require_columns([arguments.score, *arguments.group, *([arguments.id] if arguments.id else [])], present)
    if column in present:
        raise DataError(f"'{arguments.data}' already has a column '{column}'; name another with --column.")


def _froc(arguments: argparse.Namespace) -> int:
    from fairroc.froc.index import froc_index, moving_group, paper_run_on
    from fairroc.options import check_epsilon
    from fairroc.plot import require_matplotlib
    from fairroc.plot.froc import geometry_figure
    from fairroc.tables.files import check_writable
    from fairroc.text.certificate import index_text

    check_epsilon(arguments.epsilon)
    require_matplotlib()
    check_writable(arguments.output, (".png", ".pdf", ".svg"))
    columns = _columns(arguments)
    done = paper_run_on(columns, epsilon=arguments.epsilon, queries=arguments.queries)
    group = moving_group(done, columns.names, arguments.index, arguments.upper)
    step = froc_index(done, columns.names, group, arguments.index)
    geometry_figure(done, group, arguments.index - 1, columns.names).savefig(arguments.output, dpi=120)
    _put(_json(step.to_dict()) if arguments.format == "json" else index_text(step))
    _say(f"picture written to {arguments.output}")
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    from fairroc.cli.demo import run_demo

    _put(run_demo(Path(arguments.output), epsilon=arguments.epsilon, say=_say))
    return 0


def _json(data: dict[str, Any]) -> str:
    from fairroc.model.file import pretty

    return pretty(data)
