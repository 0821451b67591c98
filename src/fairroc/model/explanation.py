"""What can happen to one person, and why: the possible fair scores, their probabilities, and the draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fairroc.core.kernel import Kernel
from fairroc.docstrings import FITTED, documented
from fairroc.errors import DataError, UnknownGroupError
from fairroc.model.model import Compared, GroupRecord, ModelData, check_threshold
from fairroc.model.proxy import ProxyTree
from fairroc.model.tables import ordered_blocks
from fairroc.options import CONSTRAINT, KEPT, same
from fairroc.people.factorise import as_column, group_codes, sensitive_columns
from fairroc.people.rows import ScoreColumns
from fairroc.people.spread import named_features, probabilities_of
from fairroc.summary import Part, Result, Summary, short

ALONE = 0.1
"""An interval of fair scores with at least this probability gets a line of its own."""

TOGETHER = 0.25
"""Intervals that are less probable share lines of about this probability."""


@dataclass(frozen=True, slots=True, repr=False)
class Outcome(Part):
    """The fair score lies from ``low`` to ``high`` with this probability; one score where the two are equal."""

    low: float
    high: float
    probability: float


@dataclass(frozen=True, slots=True, repr=False)
class Block(Part):
    """Scores ``low <= score < high`` of a group that share their treatment.

    In the highest block ``high`` is the highest fitted score, and scores above are treated like it; in the lowest all
    scores below are treated like ``low``.
    """

    low: float
    high: float
    highest: bool
    lowest: bool


@dataclass(frozen=True, slots=True)
class Draw:
    """What the draw of one id gave; ``accepted`` is None without a threshold."""

    id: int | str
    score: float
    accepted: bool | None


@dataclass(frozen=True, slots=True, repr=False)
class Cell(Part):
    """For auditors: the cell that a person is in, of a model that is told probabilities in place of the group.

    ``rows`` were fitted in it. ``bounds`` has, for columns of probabilities that matter, ``(column, above, upto)``:
    ``above < probability <= upto``. It tells what the model goes by, and so a guess of the group.
    """

    name: str
    rows: int
    bounds: tuple[tuple[str, float, float], ...]


@documented(setup=f'{FITTED}\n>>> found = post.model_.explain(0.4, "m", threshold=0.5)')
@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Result):
    """What the model can do to a person of this score and group.

    Attributes
    ----------
    treated_as : the fitted group whose treatment is given; another than ``group`` only where that was asked for, or
        where the fit merged small groups (``merged``).
    outside : "above" or "below" where the score lies outside what was fitted in the group, else None (as in a model
        that leaves the score unchanged, which keeps no record of the range).
    reason : "unchanged" (the model returns every score as it is), "order" (the fair score is fixed: people here keep
        their order), "shared" (fixed too: people here share one fair score), "transport" (drawn: fairness moves people
        here) or "ties" (drawn only among people with equal or neighbouring scores).
    outcomes : every possible level of the fair score as an interval, from the highest down; probabilities sum to one.
    lines : the same with neighbouring intervals merged, for reading.
    threshold, accepted_before, acceptance : the threshold, whether the original score reaches it, and the probability
        that the fair score does; ``hangs_on_draw`` whether that is neither none nor one, so that the draw decides. None
        without a threshold.
    draw : what the draw of an id gave, if one was given.
    constraint, ratio, tolerances, draws_nobody, where : what the model keeps close, and how.
    attributes : name and value of each attribute, where the model keeps several close, each for itself.
    stratum : of the person, where there are control features.
    compared : the families of groups that the model keeps close and that are about this person's stratum.
    cells : number of cells of a model that is not told the group. Then ``group``, ``treated_as`` and ``group_rows`` are
        None, lest the explanation reveal a guess of the person's group; ``cell`` has them for auditors who asked.

    >>> found.accepted_before, 0 <= found.acceptance <= 1, sum(line.probability for line in found.lines)
    (False, True, 1.0)
    """

    score: float
    group: str | None
    treated_as: str | None
    epsilon: float
    norm: int | str
    rows: int
    group_rows: int | None
    outside: str | None
    reason: str
    block: Block | None
    outcomes: tuple[Outcome, ...]
    lines: tuple[Outcome, ...]
    threshold: float | None
    accepted_before: bool | None
    acceptance: float | None
    hangs_on_draw: bool | None
    draw: Draw | None
    merged: bool = False
    constraint: str = CONSTRAINT.default
    ratio: float | None = None
    tolerances: tuple[float, float] | None = None
    draws_nobody: bool = False
    where: tuple[float, float] | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    stratum: str | None = None
    compared: tuple[Compared, ...] = ()
    cells: int | None = None
    cell: Cell | None = None
    text: str = field(default="", repr=False)

    def _summary(self) -> Summary:
        why = {
            "unchanged": "the model returns every score as it is",
            "order": "fixed: people here keep their order",
            "shared": "fixed: people here share one fair score",
            "transport": "drawn: fairness moves people here",
            "ties": "drawn among people with equal or neighbouring scores",
        }
        facts = [("fair score", why[self.reason])]
        facts += [] if self.treated_as in (None, self.group) else [("treated as", str(self.treated_as))]
        if self.acceptance is not None:
            before = "selected before" if self.accepted_before else "not selected before"
            now = "selected" if self.acceptance else "not selected"
            now = f"with chance {self.acceptance:.3f}" if self.hangs_on_draw else now
            facts.append((f"at threshold {self.threshold:.4g}", f"{before}, now {now}"))
        facts += [] if self.draw is None else [("score of this id", f"{self.draw.score:.4g}")]
        rows = [[_range(line), f"{line.probability:.3f}"] for line in self.lines]
        title = f"Explanation: score {self.score:.4g}"
        title += "" if self.group is None else f", group '{short(self.group)}'"
        return Summary(title, facts, ["fair score", "probability"], rows, noun="intervals")

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; without the words, and with ``merged`` and what is about models that are not told
        the groups they compare only where it is so.

        >>> found.to_dict()["group"]
        'm'
        """
        rare = ("merged", "attributes", "stratum", "compared", "cells", "cell")
        return {name: value for name, value in asdict(self).items() if name != "text" and (name not in rare or value)}


def _range(line: Outcome) -> str:
    return f"{line.low:.4g}" if line.low == line.high else f"{line.low:.4g} to {line.high:.4g}"


def explain(
    model: ModelData,
    score: Any,
    group: Any = None,
    *,
    threshold: float | None = None,
    id: int | str | None = None,
    key: bytes | str | None = None,
    on_unknown_group: str | None = None,
    control_features: Any = None,
    group_probabilities: Any = None,
    verbose: bool = False,
) -> Explanation:
    """Explain what a model does to one person, as data; `FairModel.explain` documents it and adds the words."""
    controls, probabilities = one_row(control_features), one_row(group_probabilities)
    groups = [None] if group is None and model.use_group else one_row(group, named=True)
    features = model.told(groups, probabilities, controls, 1)
    stratum = None
    if controls is not None:
        stratum = group_codes(named_features(controls, "control_features"), "group")[1][0]
    row = _read(model, score, features, on_unknown_group, stratum)
    name = group_codes(sensitive_columns(features), model.missing)[1][0]
    value, g = float(row.scores[0]), int(row.groups[0])
    limit = None if threshold is None else check_threshold(threshold)
    if limit is not None and not np.isfinite(limit):  # JSON, in which explanations are handed on, has no such number
        raise DataError(f"threshold must be a finite number on the score's scale, got {threshold!r}. Try 0.5.")
    block, reason, outcomes = _outcomes(model, row)
    acceptance = None if limit is None else float(model.rates(row, limit)[0])
    record, hidden = model.groups[g], model.proxy is not None
    return Explanation(
        score=value,
        group=None if hidden else name,
        treated_as=None if hidden else record.name,
        **same(model, *KEPT, "epsilon"),
        rows=model.record.rows,
        group_rows=None if hidden else record.rows,
        outside=None if model.unchanged else _outside(model.kernels[g], value),
        reason=reason,
        block=block,
        outcomes=outcomes,
        lines=readable(outcomes),
        threshold=limit,
        accepted_before=None if limit is None else value >= limit,
        acceptance=acceptance,
        hangs_on_draw=None if acceptance is None else 0 < acceptance < 1,
        draw=None if id is None else _draw(model, row, limit, id, key),
        merged=name != record.name and not row.unknown and not hidden,
        draws_nobody=not model.needs_ids,
        attributes=_attributes(model, groups),
        stratum=stratum,
        compared=tuple(one for one in model.compared if one.stratum in (None, stratum)),
        cells=None if model.proxy is None else len(model.proxy.leaves),
        cell=_cell(model, record, probabilities) if verbose else None,
    )


def one_row(value: Any, *, named: bool = False) -> Any:
    """What is known of one person as columns of one row: a value, several in order, or several by name."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {str(name): [part] for name, part in value.items()}
    if isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim == 1):
        parts = {str(i): [part] for i, part in enumerate(value)}
        return parts if named or len(parts) != 1 else parts["0"]
    return [value]


def _read(model: ModelData, score: Any, features: Any, other: str | None, stratum: str | None) -> ScoreColumns:
    """The person, checked; an error does not tell the cell."""
    if model.proxy is None:
        return model.read([score], features, other)
    try:
        return model.read([score], features, other)
    except UnknownGroupError:
        raise UnknownGroupError(
            f"the model was fitted to nobody like this person in the stratum {stratum!r}. Fit again with such people, "
            "or say in on_unknown_group= whose treatment they shall get."
        ) from None


def _attributes(model: ModelData, groups: Any) -> tuple[tuple[str, str], ...]:
    """Name and value of every attribute that is kept close for itself."""
    names = list(dict.fromkeys(one.attribute for one in model.compared))
    if not model.use_group or len(names) < 2:
        return ()
    parts = groups.items() if isinstance(groups, dict) else [("group", groups)]
    values = [group_codes({name: as_column(value, name)}, model.missing)[1][0] for name, value in parts]
    return tuple(zip(names, values, strict=True)) if len(names) == len(values) else ()


def _cell(model: ModelData, record: GroupRecord, probabilities: Any) -> Cell | None:
    """The cell of a person, and between which probabilities it lies."""
    tree = model.proxy
    if tree is None:
        return None
    known = probabilities_of(probabilities, tree.columns)[0] if tree.columns else np.empty(0)
    bounds = tree.bounds(int(tree.leaf(known[None])[0]))
    told = tuple((tree.columns[column], low, high) for column, (low, high) in bounds.items())
    return Cell(record.name, record.rows, told)


def _draw(model: ModelData, row: ScoreColumns, limit: float | None, id: int | str, key: bytes | str | None) -> Draw:
    fair = float(model.drawn(row, [id], None, key)[0])
    return Draw(id, fair, None if limit is None else fair >= limit)


def _outside(kernel: Kernel, score: float) -> str | None:
    if score > kernel.ceiling:
        return "above"
    return "below" if score < kernel.thresholds[-1] else None


def _outcomes(model: ModelData, row: ScoreColumns) -> tuple[Block | None, str, tuple[Outcome, ...]]:
    """The block a person is in, why its people are drawn or not, and the possible fair scores."""
    score = float(row.scores[0])
    if model.scale is None:
        return None, "unchanged", (Outcome(score, score, 1.0),)
    kernel = model.kernels[int(row.groups[0])]
    last = len(kernel.thresholds) - 1
    b = min(int(np.searchsorted(-kernel.thresholds, -score)), last)
    high = float(kernel.ceiling if b == 0 else kernel.thresholds[b - 1])
    block = Block(float(kernel.thresholds[b]), high, b == 0, b == last)
    if ordered_blocks(kernel)[b]:
        fair = float(model.fair_scores(row, np.zeros(1))[0])  # whatever the number: nobody is drawn here
        reason = "order" if kernel.start[b] < kernel.stop[b] else "shared"
        return block, reason, (Outcome(fair, fair, 1.0),)
    table = kernel.table[kernel.row[b]]
    level = np.flatnonzero(table > 0)
    begin = level + np.where(level == kernel.first[b], kernel.start[b], 0.0)
    end = level + np.where(level == kernel.last[b], kernel.stop[b], 1.0)
    high_score, low_score = (model.scale.to_score(place.astype(np.float64)) for place in (begin, end))
    chance = table[level] / table[level].sum()
    found = zip(low_score.tolist(), high_score.tolist(), chance.tolist(), strict=True)
    reason = "transport" if kernel.transported[b] else "ties"
    return block, reason, tuple(Outcome(*outcome) for outcome in found)


def readable(outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    """Few intervals instead of many: probable ones stand alone, the others are merged with their neighbours.

    >>> readable((Outcome(0.8, 0.9, 0.05), Outcome(0.7, 0.8, 0.05), Outcome(0.6, 0.7, 0.9)))
    (Outcome(low=0.7, high=0.9, probability=0.1), Outcome(low=0.6, high=0.7, probability=0.9))
    """
    lines: list[list[Outcome]] = []
    for outcome in outcomes:
        line = lines[-1] if lines else []
        full = not line or line[0].probability >= ALONE or sum(part.probability for part in line) >= TOGETHER
        if full or outcome.probability >= ALONE:
            lines.append([outcome])
        else:
            line.append(outcome)
    return tuple(Outcome(line[-1].low, line[0].high, sum(part.probability for part in line)) for line in lines)


# ---- made-up people --------------------------------------------------------------------------------------------------


class Told(NamedTuple):
    """What a model is told of a person beside the score; ``groups`` has several values where columns were crossed."""

    groups: tuple[str, ...]
    controls: tuple[str, ...]
    probabilities: dict[str, float]


def told_examples(model: ModelData) -> list[Told]:
    """What a model would be told of one person of each group that has a name of its own; without columns to split it
    at, a name is the one value."""
    tree = model.proxy
    small = () if model.small_groups is None or model.small_groups.merged_into is None else model.small_groups.groups
    found = []
    for name in (*model.names, *small):
        parts = tuple(name.split(" & "))
        strata, rest = parts[: model.controls], parts[model.controls :]
        if not rest or (tree is not None and rest[0] not in tree.names):
            continue  # the merged one, which nobody is called
        if tree is None:
            found.append(Told(rest, strata, {}))
        else:
            chances = inside(tree, tree.names.index(rest[0])) if tree.columns else []
            found.append(Told((), strata, dict(zip(tree.columns, chances, strict=True))))
    return found


def inside(tree: ProxyTree, leaf: int) -> list[float]:
    """Probabilities that lead to a leaf, in few digits where that will do."""
    bounds = tree.bounds(leaf)
    middle = np.array([sum(bounds.get(column, (0.0, 1.0))) / 2 for column in range(len(tree.columns))])
    short = np.array([float(f"{one:.2g}") for one in middle.tolist()])
    found: list[float] = (short if tree.leaf(short[None])[0] == leaf else middle).tolist()
    return found
