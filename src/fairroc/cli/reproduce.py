"""The command `fairroc reproduce`: the paper's experiments, run again."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fairroc.cli.arguments import add_format, whole
from fairroc.cli.output import as_json, progress_bar, put, say
from fairroc.errors import DataError

if TYPE_CHECKING:
    from fairroc.experiments.plan import Plan

SPLITS, DRAWS, EPSILONS, TARGET, FOLDER = 10, 10, 20, "Attractive", "reproduce"
QUICK_MODELS = ("lr", "rf")


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "reproduce",
        help="run the FROC paper's experiments again, and say what was reproduced",
        description="Trains models on Adult and COMPAS, makes their scores fair by the paper's method and by the exact "
        "one, measures both on the people fitted and on others, and writes a page with the paper's figures and a "
        "verdict on each of its claims. What was computed before is taken from a cache.",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="lr and rf on adult and compas (default); up to 3 minutes")
    size.add_argument(
        "--full",
        action="store_true",
        help="every problem and model that is installed or at hand, and peers; half an hour",
    )
    parser.add_argument(
        "--problems", type=_names, metavar="P,P,...", help="these problems, for example adult,compas-race"
    )
    parser.add_argument("--models", type=_names, metavar="M,M,...", help="these models, for example lr,fnnc")
    _counts(parser)
    parser.add_argument(
        "--celeba", metavar="FOLDER", help="folder of CelebA's attribute lists, and of its pictures for resnet"
    )
    parser.add_argument("--target", default=TARGET, metavar="NAME", help=f"CelebA's label (default: {TARGET})")
    parser.add_argument(
        "--peers",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="other libraries on the same scores (default: with --full only)",
    )
    parser.add_argument("--jobs", type=whole, metavar="N", help="processes at a time (default: one for each core)")
    keep = parser.add_mutually_exclusive_group()
    keep.add_argument("--cache", metavar="FOLDER", help="where results are kept (default: in the user's cache)")
    keep.add_argument("--no-cache", action="store_true", help="compute everything anew, and keep nothing")
    add_format(parser)
    parser.add_argument("-o", "--output", default=FOLDER, metavar="FOLDER", help=f"for the results (default: {FOLDER})")
    parser.set_defaults(run=run)


def _counts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--splits", type=whole, default=SPLITS, metavar="N", help=f"splits of each problem (default: {SPLITS})"
    )
    parser.add_argument(
        "--draws", type=whole, default=DRAWS, metavar="N", help=f"draws of decisions, first split (default: {DRAWS})"
    )
    parser.add_argument(
        "--epsilons",
        type=whole,
        default=EPSILONS,
        metavar="K",
        help=f"epsilons from .001 to .1, as in the paper; rf on adult: to .2 (default: {EPSILONS})",
    )
    parser.add_argument("--rows", type=whole, metavar="N", help="about N people of each problem, for a first look")


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.experiments.output import check_folder, study_dict, study_text, write
    from fairroc.experiments.protocol import run as run_study

    plan, date = _plan(arguments), _date()
    check_folder(arguments.output)
    with progress_bar("models and peers" if plan.peers else "models", patience=0.0) as show:
        study = run_study(plan, progress=show)
    found = write(study, arguments.output, command=_command(arguments), date=date)
    show_result = study_dict if arguments.format == "json" else study_text
    result = show_result(study, found, arguments.output)
    put(as_json(result) if isinstance(result, dict) else result)
    say(f"results written to {arguments.output}")
    return 0


def _plan(arguments: argparse.Namespace) -> Plan:
    """What the arguments ask for, checked before anything is loaded."""
    from fairroc.experiments.plan import Plan
    from fairroc.experiments.problems import PAPER, PROBLEMS, QUICK
    from fairroc.experiments.recipes import RECIPES

    for name in ("splits", "draws", "epsilons", "rows", "jobs"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise DataError(f"--{name} must be a whole number >= 1, got {value}.")
    problems = _chosen("problems", arguments.problems, tuple(PROBLEMS) if arguments.full else QUICK, PROBLEMS)
    models = _chosen("models", arguments.models, tuple(RECIPES) if arguments.full else QUICK_MODELS, RECIPES)
    options: dict[str, Any] = {} if arguments.cache is None else {"cache": arguments.cache}
    return Plan(
        problems=problems,
        models=models,
        splits=arguments.splits,
        draws=arguments.draws,
        epsilons=arguments.epsilons,
        rows=arguments.rows,
        celeba=arguments.celeba,
        target=arguments.target,
        peers=arguments.full if arguments.peers is None else arguments.peers,
        jobs=arguments.jobs,
        heavy=PAPER if arguments.problems is None else None,
        stored=arguments.rows is None,
        **({"cache": None} if arguments.no_cache else options),
    )


def _chosen(what: str, asked: Sequence[str] | None, default: tuple[str, ...], known: Iterable[str]) -> tuple[str, ...]:
    if asked is None:
        return default
    names = list(known)
    unknown = [name for name in asked if name not in names]
    if unknown or not asked:
        came = ", ".join(map(repr, unknown)) or "nothing"
        raise DataError(f"--{what} must be among {', '.join(names)}; {came} came. Separate several by commas.")
    return tuple(asked)


def _date() -> str:
    """Today, or the day that SOURCE_DATE_EPOCH names, in UTC."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        day = datetime.now(UTC) if not given else datetime.fromtimestamp(int(given), UTC)
    except (ValueError, OverflowError, OSError):
        raise DataError(f"SOURCE_DATE_EPOCH must be seconds since 1970, got {given!r}; mend or unset it.") from None
    return day.date().isoformat()


def _command(arguments: argparse.Namespace) -> str:
    """The command as somebody else would repeat it: without what does not change results, nor where data lie."""
    words = ["fairroc", "reproduce", "--full" if arguments.full else "--quick"]
    for name in ("problems", "models"):
        if getattr(arguments, name) is not None:
            words += [f"--{name}", ",".join(getattr(arguments, name))]
    defaults = {"splits": SPLITS, "draws": DRAWS, "epsilons": EPSILONS, "rows": None, "target": TARGET}
    for name, default in defaults.items():
        if getattr(arguments, name) != default:
            words += [f"--{name}", str(getattr(arguments, name))]
    if arguments.celeba is not None:
        words += ["--celeba", "FOLDER"]
    if arguments.peers is not None and arguments.peers != arguments.full:
        words.append("--peers" if arguments.peers else "--no-peers")
    return shlex.join(words)
