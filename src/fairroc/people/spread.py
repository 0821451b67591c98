"""The door for people whose groups are spread over segments: several attributes each for itself, strata within which
groups are compared, and probabilities of the groups in place of the groups.

`SpreadRows` has the checked columns; `SpreadRows.mixture` counts them into what :mod:`fairroc.core.mixture` works on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, IntArray
from fairroc.core.mixture import Mixture, Segment
from fairroc.errors import DataError, number_of_rows, several
from fairroc.options import Missing
from fairroc.people.factorise import MAKE_A_GROUP, group_codes, sensitive_columns
from fairroc.people.rows import checked_numbers, read_columns, same_length
from fairroc.people.small import MERGED, REFUSE, SmallGroups, SmallRule, too_small

SEGMENT_ROWS, FEWEST_ROWS = 30, 10
"""Segments with fewer rows of a label are treated alike: by themselves they would follow chance, and be used to balance
large ones. Where that would be all of them, the second number counts."""

WHAT = "group_probabilities"
PROBABILITIES = (
    "Pass the probability of each group, from a model of the group that does not need the group: one column for each, "
    "in the order of the groups' names; of two groups the second one's alone will do."
)


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Groups that are compared with each other: those of one attribute, or of one attribute inside a stratum.

    ``codes`` are (n,) numbers of the groups, -1 for people outside of the stratum; ``small`` the groups that were made
    one. Groups that are not ``compared`` are looked at for information.
    """

    name: str
    stratum: str | None
    groups: tuple[str, ...]
    codes: IntArray
    small: SmallGroups | None = None
    compared: bool = True

    @property
    def title(self) -> str:
        """The attribute, and the stratum it is looked at in."""
        return self.name if self.stratum is None else f"{self.name} within {self.stratum}"

    def renamed(self, called: Mapping[int, str]) -> Family:
        """With some of its groups only, called so by their numbers; groups of one name are one."""
        groups = tuple(sorted(set(called.values())))
        table = np.full(len(self.groups) + 1, -1, dtype=np.intp)  # the last one for the code -1
        for code, name in called.items():
            table[code] = groups.index(name)
        return replace(self, groups=groups, codes=table[self.codes])

    def taken(self, rows: NDArray[Any]) -> Family:
        """The same of some of the rows."""
        return replace(self, codes=self.codes[rows])


@dataclass(frozen=True, slots=True, eq=False)
class SpreadRows:
    """Checked rows, with whom they are compared and what is known of them when a score is made.

    Attributes
    ----------
    families : whom to compare.
    segments, names : (n,) numbers of the segments, and what these are called, sorted.
    small : the segments that were made one.
    probabilities, columns : (n, columns) probabilities of the groups, and the columns' names.
    strata, strata_names : (n,) numbers and names of the strata; one, without control features.
    controls : number of control features.
    attributes, control_names : names of the columns of groups and of control features.
    probability_of : the group that each column of probabilities stands for; empty where their number does not tell.
    """

    scores: FloatArray
    labels: BoolArray
    weights: FloatArray | None
    families: tuple[Family, ...]
    segments: IntArray
    names: tuple[str, ...]
    strata: IntArray
    strata_names: tuple[str, ...]
    controls: int = 0
    probabilities: FloatArray | None = None
    columns: tuple[str, ...] = ()
    small: SmallGroups | None = None
    attributes: tuple[str, ...] = ()
    control_names: tuple[str, ...] = ()
    probability_of: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return len(self.scores)

    @property
    def mass(self) -> FloatArray:
        """(n,) weight of every row."""
        return np.ones(self.rows) if self.weights is None else self.weights

    @property
    def members(self) -> list[IntArray]:
        """For every family, the numbers of its groups among all families' groups."""
        ends = np.cumsum([len(family.groups) for family in self.families])
        return [np.arange(end - len(family.groups), end) for end, family in zip(ends, self.families, strict=True)]

    def counts(self, codes: IntArray, size: int) -> IntArray:
        """(size, 2) rows of positive weight by code and label; the code -1 is not counted."""
        used = np.flatnonzero((codes >= 0) & (self.mass > 0))
        place = 2 * codes[used].astype(np.intp) + self.labels[used]
        return np.bincount(place, minlength=2 * size).reshape(size, 2)

    def taken(self, rows: NDArray[Any]) -> SpreadRows:
        """Some of the rows."""
        return replace(
            self,
            scores=self.scores[rows],
            labels=self.labels[rows],
            weights=None if self.weights is None else self.weights[rows],
            families=tuple(family.taken(rows) for family in self.families),
            segments=self.segments[rows],
            strata=self.strata[rows],
            probabilities=None if self.probabilities is None else self.probabilities[rows],
        )

    def segmented(self, leaf: IntArray, names: Sequence[str]) -> SpreadRows:
        """The same rows with segments by leaves of a tree over their probabilities, inside every stratum."""
        strata = [f"{stratum} & " for stratum in self.strata_names] if self.controls else [""]
        joined = tuple(f"{stratum}{name}" for stratum in strata for name in names)
        return _small_as_one(replace(self, segments=self.strata * len(names) + leaf, names=joined, small=None))

    def mixture(self) -> Mixture:
        """These people by segments and scores. O(n log n)."""
        mass, scores = self.mass, self.scores + 0.0  # -0.0 is 0.0
        order = np.lexsort((-scores, self.segments))
        order = order[mass[order] > 0]
        segment, score = self.segments[order], scores[order]
        new = np.concatenate(([True], (segment[1:] != segment[:-1]) | (score[1:] != score[:-1])))
        cell, heads = np.cumsum(new) - 1, np.flatnonzero(new)
        labels, mass = self.labels[order].astype(np.intp), mass[order]
        codes = [family.codes[order] for family in self.families]
        members = [
            own == group
            for family, own in zip(self.families, codes, strict=True)
            for group in range(len(family.groups))
        ]
        masses = np.zeros((len(members) + 1, 2 * len(heads)))
        for p, mine in enumerate([*members, np.ones(len(order), dtype=np.bool_)]):
            masses[p] = np.bincount(labels[mine] * len(heads) + cell[mine], mass[mine], 2 * len(heads))
        both = masses.reshape(len(masses), 2, len(heads))
        totals = both.sum(axis=2)
        both /= np.where(totals > 0, totals, 1.0)[:, :, None]  # a group for information may lack people of a label
        ends = np.searchsorted(segment[heads], np.arange(1, len(self.names)))
        parts = zip(np.split(score[heads], ends), np.split(both, ends, axis=2), strict=True)
        segments = tuple(Segment(values.copy(), part.copy()) for values, part in parts)
        whole = np.maximum(totals.sum(axis=1), np.finfo(float).tiny)
        return Mixture(segments, totals[:, 1] / whole, float(mass.min() / mass.sum()))


def read_spread(
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    each: bool = False,
    use_group: bool = True,
    control_features: Any = None,
    group_probabilities: Any = None,
    missing: Missing = "error",
    small: SmallRule = REFUSE,
    **how: Any,
) -> SpreadRows:
    """Check the columns to fit on. ``each``: every attribute is compared for itself; else their intersections are.
    Weights and positive label are given as `read_columns` takes them.

    Without the use of groups every stratum is a segment, until `SpreadRows.segmented` makes more by the probabilities;
    else segments are the intersections of control features and attributes.
    """
    columns = read_columns(scores, y, sensitive_features=sensitive_features, missing=missing, **how)
    n = len(columns.scores)
    attributes = feature_columns(sensitive_features, "sensitive_features")
    controls = {} if control_features is None else feature_columns(control_features, "control_features")
    parts = {} if group_probabilities is None else feature_columns(group_probabilities, WHAT)
    same_length(scores=columns.scores, **controls, **parts)
    strata_names: tuple[str, ...] = ("everybody",)
    strata = np.zeros(n, dtype=np.intp)
    if controls:
        codes, strata_names = group_codes(controls, missing, MAKE_A_GROUP)
        strata = codes.astype(np.intp)
    found = {feature_name(what): group_codes({what: column}, missing) for what, column in attributes.items()}
    if not each:
        found = {" & ".join(found): (columns.groups, columns.names)}
    families = [
        Family(name, strata_names[stratum] if controls else None, groups, np.where(strata == stratum, codes, -1))
        for name, (codes, groups) in found.items()
        for stratum in range(len(strata_names))
    ]
    rows = SpreadRows(
        columns.scores.copy(),
        columns.labels.copy(),
        None if columns.weights is None else columns.weights.copy(),
        tuple(families),
        strata,
        strata_names,
        strata,
        strata_names,
        controls=len(controls),
        attributes=tuple(map(feature_name, attributes)),
        control_names=tuple(map(feature_name, controls)),
        probability_of=_stands_for(len(parts), {name: groups for name, (_, groups) in found.items()}),
    )
    usable = [_usable(rows, family, small) for family in families]
    if len(found) > 1:
        crossed = Family(" & ".join(found), None, columns.names, columns.groups.astype(np.intp), compared=False)
        usable.append(_with_both_labels(rows, crossed))
    rows = replace(rows, families=tuple(usable))
    if not use_group:
        rows = replace(rows, probabilities=read_probabilities(parts, n), columns=tuple(map(feature_name, parts)))
        return rows.segmented(np.zeros(n, dtype=np.intp), ("cell 1",))
    codes, names = group_codes({**controls, **attributes}, missing)
    return _small_as_one(replace(rows, segments=codes.astype(np.intp), names=names))


def feature_columns(features: Any, what: str) -> dict[str, Any]:
    """Columns by the name that messages give them; rows of a list may be lists."""
    if isinstance(features, list | tuple) and features and isinstance(features[0], list | tuple | np.ndarray):
        features = np.array(features, dtype=object)
    return sensitive_columns(features, what)


def feature_name(what: str) -> str:
    """The name of a column inside ``sensitive_features['sex']``; of one that has none, what it is."""
    _, bracket, inside = what.removesuffix("]").partition("[")
    if not bracket:
        return {"sensitive_features": "group", "control_features": "stratum"}.get(what, "probability")
    return inside[1:-1] if inside[0] in "'\"" else f"column {inside}"


def _stands_for(columns: int, groups: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The groups whose probabilities so many columns are: all of every attribute, or of two the second alone."""
    for short in (False, True):
        named = [
            f"{attribute}: {group}" if len(groups) > 1 else group
            for attribute, own in groups.items()
            for group in (own[1:] if short and len(own) == 2 else own)
        ]
        if len(named) == columns:
            return tuple(named)
    return ()


def named_features(features: Any, what: str) -> dict[str, Any]:
    """Columns by their own names, or by what they are and their number."""
    return {feature_name(said): column for said, column in feature_columns(features, what).items()}


def probabilities_of(probabilities: Any, columns: Sequence[str]) -> FloatArray:
    """(n, columns) checked probabilities of new people, in the order of the fit; named columns are found by name."""
    if probabilities is None:
        raise DataError(
            f"{WHAT} must be given, one row for each score, got none: this model is told probabilities of the groups "
            f"({several(list(columns), ', ')}) in place of the group."
        )
    parts = feature_columns(probabilities, WHAT)
    given = list(parts.items())
    parts = dict(given[place] for place in order_of([feature_name(what) for what in parts], columns))
    return read_probabilities(parts, same_length(**parts))


def order_of(given: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Places of the fit's columns of probabilities among those given: found by name, or else one after the other."""
    if set(given) >= set(columns):
        return [given.index(name) for name in columns]
    if len(given) != len(columns):
        raise DataError(
            f"{WHAT} must have the {len(columns)} columns of the fit ({several(list(columns), ', ')}), got "
            f"{len(given)} ({several(list(given), ', ')}). Pass them in the same order, or by the same names."
        )
    return list(range(len(columns)))


def read_probabilities(parts: Mapping[str, Any], rows: int) -> FloatArray:
    """(n, columns) checked probabilities."""
    found: list[FloatArray] = []
    for what, column in parts.items():
        numbers = checked_numbers(column, what, PROBABILITIES) if len(column) else np.empty(0)
        beyond = int(((numbers < 0) | (numbers > 1)).sum())
        if beyond:
            raise DataError(f"{what} must lie between 0 and 1, but {beyond} of {len(numbers)} do not. {PROBABILITIES}")
        found.append(numbers)
    return np.stack(found, axis=1) if found else np.empty((rows, 0))


def _small_as_one(rows: SpreadRows) -> SpreadRows:
    """Segments with few people of a label become one; those with nobody go."""
    counts = rows.counts(rows.segments, len(rows.names))
    there = np.flatnonzero(counts.sum(axis=1))
    names, counts = [rows.names[code] for code in there], counts[there]
    least = FEWEST_ROWS if too_small(counts, SEGMENT_ROWS).all() else SEGMENT_ROWS
    small = too_small(counts, least)
    while small.any() and not small.all() and not counts[small].sum(axis=0).all():  # together they lack a label too
        least = int(counts[~small].min()) + 1
        small = too_small(counts, least)
    found = SmallRule("merge", least).found(names, counts, counts.sum(axis=1), counts[:, 1])
    called = (MERGED if few else name for name, few in zip(names, small.tolist(), strict=True))
    known = Family("", None, rows.names, rows.segments).renamed(dict(zip(there.tolist(), called, strict=True)))
    return replace(rows, segments=np.maximum(known.codes, 0), names=known.groups, small=found)


def _with_both_labels(rows: SpreadRows, family: Family) -> Family:
    """Those groups of a family that have some people of both labels."""
    kept = np.flatnonzero(~too_small(rows.counts(family.codes, len(family.groups)), FEWEST_ROWS))
    return family.renamed({code: family.groups[code] for code in kept.tolist()})


def _usable(rows: SpreadRows, family: Family, small: SmallRule) -> Family:
    """A family whose groups can be compared: two or more, with both labels; small ones are made one if asked for."""
    counts = rows.counts(family.codes, len(family.groups))
    there = np.flatnonzero(counts.sum(axis=1))
    names, counts = [family.groups[code] for code in there], counts[there]
    found = small.found(names, counts, counts.sum(axis=1), counts[:, 1])
    new = {} if found is None else found.renamed(names)
    kept = family.renamed({code: str(new.get(name, name)) for code, name in zip(there.tolist(), names, strict=True)})
    groups = kept.groups
    where = "" if family.stratum is None else f" within {family.stratum!r}"
    if len(groups) < 2:
        way = "Leave this column out" if family.stratum is None else "Take coarser control features"
        raise DataError(
            f"{family.name} must have two groups or more{where}, got {', '.join(map(repr, groups)) or 'none'}: there "
            f"is nothing to compare. {way}."
        )
    least = max(1, small.minimum)
    broken = [
        f"group {name!r} of {family.name} has {number_of_rows(int(own.min()))} with label {int(own.argmin())}{where}"
        for name, own in zip(groups, rows.counts(kept.codes, len(groups)), strict=True)
        if own.min() < (1 if name == MERGED else least)
    ]
    if broken:
        way = "" if family.stratum is None else "coarser control features, or "
        raise DataError(
            f"{several(broken)}; at least {least} of each label are needed. Take {way}small_groups='merge' "
            "(--small-groups merge), which makes small groups one."
        )
    return replace(kept, small=found)
