"""What models are told in place of the groups that they compare: rows of a file in memory, and their flags."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

from fairroc.cli.data import read_whole
from fairroc.cli.next_step import named
from fairroc.errors import DataError

if TYPE_CHECKING:
    from fairroc.model.model import ModelData

SPREAD = "a model of --use-group never, --combine each or --control"


class Told(NamedTuple):
    """Columns of a file: scores, and by name what else the arguments ask for."""

    scores: Any
    label: Any
    weight: Any
    groups: dict[str, Any] | None
    probabilities: dict[str, Any] | None
    controls: dict[str, Any] | None


def refuse_told(arguments: argparse.Namespace) -> None:
    """Raise if there are flags that a model does not need which is told the groups that it compares, or no groups."""
    for flag in ("group_probability", "control"):
        if getattr(arguments, flag) is not None:
            raise DataError(f"--{flag.replace('_', '-')} goes with {SPREAD}; this one needs --group alone.")
    if arguments.group is None:
        raise DataError("--group must name the column of groups that the model was fitted with, got none.")


def read_told(arguments: argparse.Namespace, model: ModelData | None = None, *, groups: bool = True) -> Told:
    """All rows that the arguments name, in memory; with ``groups``, or a model that is told them, these must be."""
    from fairroc.tables.files import find_parts

    for flag in ("stream", "max_distinct", "positives", "negatives"):
        if getattr(arguments, flag, None):
            name = flag.replace("_", "-")
            raise DataError(f"--{name} must be left out with {SPREAD}: it needs one row for each person, in memory.")
    if arguments.group is None and (groups or (model is not None and model.use_group)):
        raise DataError("--group must name the columns of groups that the model compares, got none.")
    columns = [tuple(part or ()) for part in (arguments.group, arguments.group_probability, arguments.control)]
    texts = list(dict.fromkeys((*columns[0], *columns[2])))
    numbers = [name for name in (arguments.score, arguments.weight, *columns[1]) if name is not None]
    labels = [] if arguments.label is None else [arguments.label]
    wanted = list(dict.fromkeys((*numbers, *texts, *labels)))
    kept = texts if arguments.pos_label is None else [*texts, *labels]  # '1' and 'TRUE' as they stand
    coded = [name for name in (*texts, *labels) if name not in numbers]
    table = read_whole(find_parts(arguments.data), wanted, kept, numbers, coded)
    by_name = [{name: table.column(name) for name in part} or None for part in columns]
    label = None if arguments.label is None else table.column(arguments.label)
    weight = None if arguments.weight is None else table.column(arguments.weight)
    return Told(table.column(arguments.score), label, weight, *by_name)


def told_flags(arguments: argparse.Namespace) -> list[str]:
    """The flags of these columns, as the user gave them."""
    return [*named("--group-probability", arguments.group_probability), *named("--control", arguments.control)]
