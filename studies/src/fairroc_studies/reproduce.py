"""What ``fairroc reproduce`` asks and does: the paper's experiments, run again. The command itself is fairroc's."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fairroc.errors import DataError

if TYPE_CHECKING:
    from fairroc_studies.paper.study import Plan

SPLITS, DRAWS, EPSILONS, TARGET, FOLDER = 10, 10, 20, "Attractive", "reproduce"
QUICK_MODELS = ("lr", "rf")
PLAIN = ("splits", "draws", "epsilons", "rows", "celeba", "target", "jobs")
"""Options that a plan takes as they are."""
DESCRIPTION = """Trains models on Adult and COMPAS, makes their scores fair by the paper's method and by the exact one,
measures both on the people fitted and on others, and writes a page with the paper's figures and a verdict on each of
its claims. What was computed before is taken from a cache."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Every option of the command."""
    parser.description = DESCRIPTION
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="lr and rf on adult and compas (default); up to 3 minutes")
    size.add_argument(
        "--full",
        action="store_true",
        help="every problem and model that is installed or at hand, and peers; half an hour",
    )
    add = parser.add_argument
    add("--problems", type=_names, metavar="P,P,...", help="these problems, for example adult,compas-race")
    add("--models", type=_names, metavar="M,M,...", help="these models, for example lr,fnnc")
    add("--splits", type=_count, default=SPLITS, metavar="N", help=f"splits of each problem (default: {SPLITS})")
    add("--draws", type=_count, default=DRAWS, metavar="N", help=f"draws of decisions, first split (default: {DRAWS})")
    add(
        "--epsilons",
        type=_count,
        default=EPSILONS,
        metavar="K",
        help=f"epsilons from .001 to .1, as in the paper; rf on adult: to .2 (default: {EPSILONS})",
    )
    add("--rows", type=_count, metavar="N", help="about N people of each problem, for a first look")
    add("--celeba", metavar="FOLDER", help="folder of CelebA's attribute lists, and of its pictures for resnet")
    add("--target", default=TARGET, metavar="NAME", help=f"CelebA's label (default: {TARGET})")
    add(
        "--peers",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="other libraries on the same scores (default: with --full only)",
    )
    add("--jobs", type=_count, metavar="N", help="processes at a time (default: one for each core)")
    keep = parser.add_mutually_exclusive_group()
    keep.add_argument("--cache", metavar="FOLDER", help="where results are kept (default: in the user's cache)")
    keep.add_argument("--no-cache", action="store_true", help="compute everything anew, and keep nothing")
    add("--format", choices=("text", "json"), default="text", help="of the standard output")
    add("-o", "--output", default=FOLDER, metavar="FOLDER", help=f"for the results (default: {FOLDER})")


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1, got {number}")
    return number


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def reproduce(
    arguments: argparse.Namespace, *, show_progress: Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
) -> str | dict[str, Any]:
    """Run what the arguments ask for and write the results; what the command prints, as text or as data for JSON.

    ``show_progress(title)`` gives, for as long as something runs, what is told of the jobs done and of all jobs.
    """
    from fairroc_studies.paper import protocol
    from fairroc_studies.paper.output import check_folder, study_dict, study_text, write

    plan, date = _plan(arguments), _date()
    check_folder(arguments.output)
    with show_progress("models and peers" if plan.peers else "models") as show:
        study = protocol.run(plan, progress=show)
    found = write(study, arguments.output, command=_command(arguments), date=date)
    show_result = study_dict if arguments.format == "json" else study_text
    return show_result(study, found, arguments.output)


def _plan(arguments: argparse.Namespace) -> Plan:
    """What the arguments ask for, checked before anything is loaded."""
    from fairroc_studies.models.recipes import RECIPES
    from fairroc_studies.paper.study import Plan
    from fairroc_studies.problems.registry import FULL, PAPER, PROBLEMS, QUICK

    kept: dict[str, Any] = {} if arguments.cache is None else {"cache": arguments.cache}
    return Plan(
        problems=_chosen("problems", arguments.problems, FULL if arguments.full else QUICK, PROBLEMS),
        models=_chosen("models", arguments.models, tuple(RECIPES) if arguments.full else QUICK_MODELS, RECIPES),
        peers=arguments.full if arguments.peers is None else arguments.peers,
        heavy=PAPER if arguments.problems is None else None,
        stored=arguments.rows is None,
        **{name: getattr(arguments, name) for name in PLAIN},
        **({"cache": None} if arguments.no_cache else kept),
    )


def _chosen(what: str, asked: Sequence[str] | None, default: tuple[str, ...], known: Iterable[str]) -> tuple[str, ...]:
    if asked is None:
        return default
    names = list(known)
    unknown = [name for name in asked if name not in names]
    if unknown or not asked:
        got = ", ".join(map(repr, unknown)) or "nothing"
        raise DataError(f"--{what} must be among {', '.join(names)}; got {got}. Separate several by commas.")
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
