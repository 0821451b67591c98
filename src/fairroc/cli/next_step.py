"""Which command may come next, with the user's own files and columns, ready to paste."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fairroc.cli.arguments import ALWAYS
from fairroc.cli.output import say
from fairroc.options import MISSING, POS_LABEL, Option

if TYPE_CHECKING:
    from fairroc.fitting.frontier import Frontier

NEW = "NEW.csv"
"""Stands for a file of people to come; other words in capitals stand for what only the user knows."""


def suggest(arguments: argparse.Namespace, why: str, *words: object) -> None:
    """Say a command on standard error; not beside JSON, nor to who asked for quiet."""
    if arguments.format != "json" and not arguments.quiet:
        say(f"\nNext, {why}:\n  {shlex.join(['fairroc', *map(str, words)])}")


def people_file(arguments: argparse.Namespace) -> str:
    """The file of people; one to come where the user's own holds counts."""
    return NEW if getattr(arguments, "positives", None) is not None else str(arguments.data)


def told(arguments: argparse.Namespace) -> list[str]:
    """The flags that name the columns of what a model is told of people, as the user gave them to fit it."""
    groups = (
        ("--group", arguments.group) if arguments.use_group else ("--group-probability", arguments.group_probability)
    )
    return ["--score", str(arguments.score), *named(*groups), *named("--control", arguments.control)]


def known(arguments: argparse.Namespace) -> list[str]:
    """The flags that name the columns of what a model is told of people, as the user gave them to apply it."""
    return ["--score", str(arguments.score), *named("--group", arguments.group), *told_flags(arguments)]


def told_flags(arguments: argparse.Namespace) -> list[str]:
    """The flags of columns that take the place of groups, or stand beside them, as the user gave them."""
    return [*named("--group-probability", arguments.group_probability), *named("--control", arguments.control)]


def named(flag: str, columns: Iterable[str] | None) -> list[str]:
    """A flag for each of some columns."""
    return [word for name in columns or () for word in (flag, str(name))]


def columns(arguments: argparse.Namespace, *, labels: bool = True) -> list[str]:
    """The flags that name the columns of people, as the user gave them."""
    found = ["--score", str(arguments.score)]
    if labels and getattr(arguments, "positives", None) is not None:
        found += ["--positives", arguments.positives, "--negatives", arguments.negatives]
    elif labels:
        found += ["--label", getattr(arguments, "label", None) or "LABEL"]
    found += named("--group", arguments.group or ["GROUP"])
    if not labels:
        return found
    weight = [] if getattr(arguments, "weight", None) is None else ["--weight", arguments.weight]
    return [*found, *weight, *flags(arguments, (POS_LABEL, MISSING))]


def flags(asked: Any, options: Iterable[Option]) -> list[str]:
    """The flags of options that are not at their default, as arguments or a model have them."""
    both = ((option, getattr(asked, option.name, None)) for option in options)
    return [word for o, value in both if value not in (None, o.default) for word in (str(o.flag), _word(value))]


def goal(arguments: argparse.Namespace) -> list[str]:
    """What gap is allowed, in the flags that said so."""
    names = ("epsilon", "ratio", "epsilon_fpr", "epsilon_tpr")
    both = ((name, getattr(arguments, name, None)) for name in names)
    found = [word for name, x in both if x is not None for word in (f"--{name.replace('_', '-')}", f"{x:.15g}")]
    each = getattr(arguments, "epsilon_of", None) or ()
    return [*found, *(word for name, x in each for word in ("--epsilon-of", f"{name}={x:.15g}"))]


def recommended(found: Frontier) -> list[str]:
    """The flag of what a frontier recommends, in few digits; in all where the original score may only just meet it.
    Nothing where it recommends nothing."""
    best = found.recommended
    if best is None:
        return []
    name, value = ("--epsilon", best.epsilon) if best.ratio is None else ("--ratio", best.ratio)
    return [name, f"{value:.15g}" if found.points[best.index].unchanged else f"{value:.4g}"]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return ALWAYS[value]
    return ":".join(f"{end:.15g}" for end in value) if isinstance(value, tuple) else str(value)
