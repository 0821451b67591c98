"""The command `fairroc monitor`: are new people still like those a model was fitted to?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fairroc.cli.arguments import DATA, add_format, add_model, add_options, add_streaming, add_told, values
from fairroc.cli.data import load_model, read_data, read_told, refuse_told
from fairroc.cli.next_step import NEW, columns, flags, named, suggest, told_flags
from fairroc.cli.output import progress_bar, put_result
from fairroc.errors import DataError
from fairroc.options import (
    CONFIDENCE,
    CONSTRAINT,
    DRAW,
    METHOD,
    MONITOR,
    NORM,
    POS_LABEL,
    POSITIVE_MEANS,
    PROMISE,
    WHERE,
)

if TYPE_CHECKING:
    from fairroc.fairmodel import FairModel
    from fairroc.monitoring.drift import Drift
    from fairroc.monitoring.gap import Watch


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "monitor",
        help="have scores or groups moved since the fit, is the gap still within epsilon",
        description="Compares new people with those a model was fitted to. Exit 1 if something moved, a group is "
        "unknown, or (with --label; demographic parity needs none) the gap is shown to exceed the model's epsilon.",
    )
    parser.add_argument("data", metavar="DATA", help=DATA)
    add_model(parser)
    add_told(parser, group="column of groups; may repeat; for a model of --use-group never only to measure the gap")
    parser.add_argument("--label", metavar="Y", help="column of true labels, where known: any gap is checked then")
    parser.add_argument("--weight", metavar="W", help="column of row weights")
    add_streaming(parser)
    add_options(parser, (POS_LABEL, *MONITOR, POSITIVE_MEANS))
    add_format(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from fairroc.monitoring.gap import Watch
    from fairroc.text.drift import drift_text

    word = POSITIVE_MEANS.checked(arguments.positive_means)
    model, watch = load_model(arguments), Watch.checked(**values(arguments, MONITOR))
    found = _by_cells(arguments, model) if model.compared else _by_groups(arguments, model, watch)
    put_result(
        arguments.format, found.to_dict(), lambda: drift_text(found, positive_means=word, verbose=arguments.verbose)
    )
    (_suggest_by_cells if model.compared else _suggest)(arguments, model, found)
    return 1 if found.drifted else 0


def _by_groups(arguments: argparse.Namespace, model: FairModel, watch: Watch) -> Drift:
    """For a model that is told the groups that it compares."""
    from fairroc.fairmodel import check_people
    from fairroc.people.rows import known_groups

    refuse_told(arguments)
    known_groups(model.names, watch.on_unknown_group)
    people = read_data(arguments, missing="group", small=model.small_rule, unlabelled=True, whole=False, exact=True)
    with progress_bar("comparing"):
        return check_people(model, people, watch, labelled=arguments.label is not None)


def _by_cells(arguments: argparse.Namespace, model: FairModel) -> Drift:
    """For a model that is told something else."""
    if arguments.pos_label is not None and arguments.label is None:
        raise DataError("--pos-label goes with --label; without labels there is no positive one.")
    scores, y, how = read_told(arguments, groups=model.use_group)
    with progress_bar("comparing"):
        return model.check(scores, y=y, **how, **values(arguments, MONITOR))


def _suggest(arguments: argparse.Namespace, model: FairModel, found: Drift) -> None:
    """Fit again, look at the gap, or wait for the next people."""
    watched = ("--model", arguments.model)
    if found.drifted:
        allowed = ["--epsilon", f"{model.epsilon:.15g}"] if model.ratio is None else ["--ratio", f"{model.ratio:.15g}"]
        norm = [NORM]
        if model.tolerances is not None:
            fpr, tpr = (f"{each:.15g}" for each in model.tolerances)
            allowed, norm = ["--epsilon-fpr", fpr, "--epsilon-tpr", tpr], []
        same = flags(model, (CONSTRAINT, *norm, DRAW, METHOD, WHERE, PROMISE, CONFIDENCE))
        goal = (*allowed, *same, "-o", "model.json")
        suggest(arguments, "fit again to people like these", "fit", arguments.data, *columns(arguments), *goal)
    elif arguments.label is None and model.fairness.needs_labels:
        why = "check the gap too, once true labels are known"
        suggest(arguments, why, "monitor", arguments.data, *watched, *columns(arguments))
    else:
        known = columns(arguments, labels=arguments.label is not None)
        suggest(arguments, "watch the next people", "monitor", NEW, *watched, *known)


def _suggest_by_cells(arguments: argparse.Namespace, model: FairModel, found: Drift) -> None:
    """The same for models that are told something else than the groups; only the user knows how they were fitted."""
    groups = named("--group", arguments.group or ["GROUP"])
    known = ("--model", arguments.model, "--score", arguments.score, *groups, *told_flags(arguments))
    why, people = "watch the next people", NEW
    if found.gap is None:
        why, people = "check the gap too, once true labels and groups are known", arguments.data
    suggest(arguments, why, "monitor", people, *known, "--label", arguments.label or "LABEL")
