"""The people whose table the arguments of a command name."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fairroc.cli.output import progress_bar
from fairroc.errors import DataError, warn_user
from fairroc.options import MAX_DISTINCT, Missing
from fairroc.tables.files import TABLE_SUFFIXES, check_writable, find_parts, load_module, require_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairroc.fairmodel import FairModel
    from fairroc.people.counts import ScoreCounts
    from fairroc.people.people import People
    from fairroc.people.rows import TakenColumns
    from fairroc.people.small import SmallRule
    from fairroc.report.pack import PackRows
    from fairroc.tables.columns import ColumnNames
    from fairroc.tables.files import Part

Rows: TypeAlias = "tuple[Any, Any, dict[str, Any]]"
"""Scores, labels, and what else the arguments say of people, by the names that Python's functions have for it."""

SPREAD = "a model of --use-group never, --combine each or --control"

MOST_EXACT = 1 << 26
"""Distinct (group, label, score) where only exact counts will do, unless another number is asked for."""


def read_data(
    arguments: argparse.Namespace,
    *,
    missing: Missing | None = None,
    small: SmallRule | None = None,
    in_order: bool = False,
    unlabelled: bool = False,
    whole: bool = True,
    exact: bool = False,
) -> People:
    """The people of the files that the arguments name: one row for each, or an aggregated table.

    ``missing`` takes the place of the argument of that name; ``small``, ``in_order`` and ``whole`` are those of
    `read_people`. With ``unlabelled`` labels may be left out: then all count as negatives. With ``exact`` scores are
    never counted in bins.
    """
    from fairroc.people.door import read_people
    from fairroc.people.small import REFUSE
    from fairroc.tables.read import is_large

    given = [getattr(arguments, name, None) for name in ("label", "positives", "negatives")]
    unlabelled = unlabelled and given == [None, None, None]
    if unlabelled and arguments.pos_label is not None:
        raise DataError("--pos-label goes with --label; without labels there is no positive one.")
    small = REFUSE if small is None or (unlabelled and whole) else small
    missing = missing or arguments.missing
    whole = whole and not unlabelled
    if not unlabelled and _aggregated(arguments):
        return _counts(arguments).people(small=small)
    if hasattr(arguments, "stream"):
        parts = find_parts(arguments.data)
        asked = arguments.stream or arguments.max_distinct is not None or parts[0].path != Path(arguments.data)
        summed = exact and arguments.weight is not None  # weights are summed by score: no longer row by row
        if asked or (not summed and is_large(parts, _names(arguments).all)):
            return _streamed_counts(arguments, parts, missing, whole, exact).people(small=small, whole=whole)
    taken = _read_rows(arguments)
    with progress_bar("checking and sorting"):
        return read_people(
            taken.score,
            taken.label,
            sensitive_features=taken.group,
            sample_weight=taken.weight,
            pos_label=arguments.pos_label,
            missing=missing,
            small=small,
            in_order=in_order,
            whole=whole,
        )


def _read_rows(arguments: argparse.Namespace) -> TakenColumns:
    """The columns that the arguments name, of one file with a row for each person."""
    from fairroc.people.rows import take_columns
    from fairroc.tables.read import read_table

    names, texts = _names(arguments), arguments.group
    if arguments.pos_label is not None:
        texts = [*texts, arguments.label]  # '1' and 'TRUE' as they stand
    coded = [name for name in (*names.groups, names.label) if name is not None and name not in names.numbers]
    with progress_bar("reading, MB") as show:
        how: dict[str, Any] = {"numbers": names.numbers, "categories": coded, "progress": show}
        return take_columns(read_table(arguments.data, names.all, texts, **how), names)


def read_pack_rows(arguments: argparse.Namespace) -> PackRows:
    """Scores, groups, weights and categories of all rows, in memory, for a pack."""
    from fairroc.auditing.impact import classify
    from fairroc.people.rows import take_columns
    from fairroc.report.pack import PackRows
    from fairroc.tables.columns import ColumnNames
    from fairroc.tables.read import part_schema

    known = part_schema(find_parts(arguments.data)[0]).names
    named = {}
    for text in arguments.category or arguments.group:
        name, _, column = (text, "", text) if text in known else text.partition("=")
        if (name := name or column) in named:
            raise DataError(f"--category must name every column once, got {name!r} twice.")
        named[name] = column or name
    require_columns(named.values(), known)
    names = ColumnNames(arguments.score, tuple(arguments.group), None, arguments.weight)
    texts = list(dict.fromkeys((*arguments.group, *named.values())))
    wanted = list(dict.fromkeys((*names.all, *texts)))
    table = _whole_table(arguments, wanted, texts, numbers=names.numbers, categories=texts)
    taken = take_columns(table, names)
    categories = {name: table.column(column) for name, column in named.items()}
    return PackRows(taken.score, taken.group, classify(categories, arguments.unknown or ()), taken.weight)


def _names(arguments: argparse.Namespace) -> ColumnNames:
    from fairroc.tables.columns import ColumnNames

    more = (tuple(getattr(arguments, name, None) or ()) for name in ("group_probability", "control"))
    return ColumnNames(arguments.score, tuple(arguments.group), arguments.label, arguments.weight, None, *more)


def read_in_memory(arguments: argparse.Namespace, why: str) -> Rows:
    """All labelled rows that the arguments name; ``why`` says what needs them in memory."""
    if arguments.stream or arguments.max_distinct is not None:
        raise DataError(f"--stream and --max-distinct must be left out with {why}, which needs all rows in memory.")
    if getattr(arguments, "positives", None) is not None or getattr(arguments, "negatives", None) is not None:
        raise DataError(
            f"--positives and --negatives must be left out with {why}: counts by score and group do not tell what else "
            "is known of a person. Give --label and one row for each person."
        )
    if arguments.label is None:
        raise DataError(f"--label must name the column of true labels with {why}, got none.")
    _names(arguments)  # each once
    return _all_rows(arguments)


def told_columns(arguments: argparse.Namespace) -> dict[str, Any]:
    """The columns of what a model is told, by the names that Python's functions have for them."""
    return {
        "score": arguments.score,
        "group": arguments.group or [],
        "group_probabilities": arguments.group_probability,
        "control_features": arguments.control,
    }


def read_told(arguments: argparse.Namespace, *, groups: bool = True) -> Rows:
    """All rows that the arguments name, for a model that is told something in place of the groups that it compares;
    whether ``groups`` must be named."""
    for flag in ("stream", "max_distinct", "positives", "negatives"):
        if getattr(arguments, flag, None):
            name = flag.replace("_", "-")
            raise DataError(f"--{name} must be left out with {SPREAD}: it needs one row for each person, in memory.")
    if groups and arguments.group is None:
        raise DataError("--group must name the columns of groups that the model compares, got none.")
    return _all_rows(arguments)


def refuse_told(arguments: argparse.Namespace) -> None:
    """Raise if there are flags that a model does not need which is told the groups that it compares, or no groups."""
    for flag in ("group_probability", "control"):
        if getattr(arguments, flag) is not None:
            raise DataError(f"--{flag.replace('_', '-')} goes with {SPREAD}; this one needs --group alone.")
    if arguments.group is None:
        raise DataError("--group must name the column of groups that the model was fitted with, got none.")


def _all_rows(arguments: argparse.Namespace) -> Rows:
    """All rows, of one file or several, with a row for each person; several columns of a kind by name."""
    given = (getattr(arguments, name, None) or () for name in ("group", "control", "group_probability"))
    groups, controls, probabilities = given
    labels = [] if arguments.label is None else [arguments.label]
    numbers = [arguments.score, *([] if arguments.weight is None else [arguments.weight]), *probabilities]
    texts = [*groups, *controls]
    kept = texts if arguments.pos_label is None else [*texts, *labels]  # '1' and 'TRUE' as they stand
    coded = [name for name in (*texts, *labels) if name not in numbers]
    table = _whole_table(arguments, [*numbers, *labels, *texts], kept, numbers=numbers, categories=coded)

    def by_name(columns: Sequence[str]) -> dict[str, Any] | None:
        return {name: table.column(name) for name in columns} or None

    how = {
        "sensitive_features": by_name(groups),
        "sample_weight": None if arguments.weight is None else table.column(arguments.weight),
        "pos_label": arguments.pos_label,
        "control_features": by_name(controls),
        "group_probabilities": by_name(probabilities),
    }
    return table.column(arguments.score), None if arguments.label is None else table.column(arguments.label), how


def _whole_table(arguments: argparse.Namespace, wanted: Sequence[str], texts: Sequence[str], **how: Any) -> Any:
    """The columns of all files that the arguments name, as `read_table` has them."""
    from fairroc.tables.read import read_table

    with progress_bar("reading"):
        tables = [read_table(part.path, wanted, texts, **how) for part in find_parts(arguments.data)]
        return tables[0] if len(tables) == 1 else load_module("pyarrow").concat_tables(tables)


def _streamed_counts(
    arguments: argparse.Namespace, parts: Sequence[Part], missing: Missing, whole: bool, exact: bool
) -> ScoreCounts:
    from fairroc.people.streaming import count_table

    most = arguments.max_distinct
    with progress_bar("reading, MB") as show:
        counts = count_table(
            parts,
            _names(arguments),
            pos_label=arguments.pos_label,
            missing=missing,
            most=most if most is not None else MOST_EXACT if exact else MAX_DISTINCT.default,
            whole=whole,
            progress=show,
        )
    if exact and counts.bits is not None:
        raise DataError(
            f"there may be {most or MOST_EXACT:,} different (group, label, score) at most, but there are more; allow "
            "more with --max-distinct, or round the scores as those of the fit are."
        )
    if counts.error and arguments.command not in ("audit", "fit"):  # which say so themselves
        warn_user(
            f"scores were counted in bins, so that rates can be off by up to {counts.error:.2g}; --max-distinct N "
            "allows more bins."
        )
    return counts


def _aggregated(arguments: argparse.Namespace) -> bool:
    """Whether the rows are aggregated: counts of positives and negatives instead of labels."""
    both = [getattr(arguments, name, None) for name in ("positives", "negatives")]
    if both == [None, None] and arguments.label is not None:
        return False
    if None in both or arguments.label is not None:
        raise DataError(
            "give either --label (one row for each person) or both --positives and --negatives (an aggregated table: "
            "columns that count the people of each score and group). Without labels only fairroc audit --constraint "
            "demographic_parity runs."
        )
    if arguments.weight is not None or arguments.pos_label is not None:
        raise DataError("--weight and --pos-label go with --label; --positives and --negatives count people.")
    return True


def _counts(arguments: argparse.Namespace) -> ScoreCounts:
    """Counts from an aggregated table; what ScoreCounts.save wrote keeps its bins."""
    from fairroc.people.counts import ScoreCounts, is_saved
    from fairroc.people.rows import take_columns
    from fairroc.tables.read import read_table

    names, sums = _names(arguments), [arguments.positives, arguments.negatives]
    table = read_table(arguments.data, [*names.all, *sums], arguments.group, numbers=[*names.numbers, *sums])
    if is_saved(table):
        return ScoreCounts.load(arguments.data)
    taken = take_columns(table, names)
    hits, misses = (table.column(name) for name in sums)
    return ScoreCounts.from_table(taken.score, hits, misses, sensitive_features=taken.group, missing=arguments.missing)


def named_files(arguments: argparse.Namespace) -> list[str]:
    """The files that the arguments name to be read."""
    given = (getattr(arguments, name, None) for name in ("data", "model", "key"))
    return [name for name in given if name is not None]


def check_output(
    arguments: argparse.Namespace, output: str | Path | None, suffixes: Sequence[str] | None = TABLE_SUFFIXES
) -> None:
    """Raise unless a file, if one is named, can be written and is none of those that are read."""
    if output is not None:
        check_writable(output, suffixes, read=named_files(arguments))


def load_model(arguments: argparse.Namespace) -> FairModel:
    """The model in the file that --model names."""
    from fairroc.fairmodel import FairModel

    return FairModel.load(arguments.model)


def read_key(arguments: argparse.Namespace) -> bytes | None:
    """The secret key in the file that --key-file names, if it was given."""
    from fairroc.model.draw import read_key_file

    return None if arguments.key is None else read_key_file(arguments.key)
