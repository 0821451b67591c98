"""People as a model sees them that is told something else than the groups it compares: by segments, and by families.

A model of ``use_group=False``, ``combine="each"`` or control features treats people by segments; the groups that it
keeps close are spread over these. Here people are sorted into both, so that exact rates can be told of the groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, IntArray
from fairroc.core.kernel import Kernel
from fairroc.core.mixture import Mixture
from fairroc.core.realised import RealisedRoc, all_points
from fairroc.errors import DataError, several
from fairroc.model.model import Compared, ModelData, people_of_steps, steps_of
from fairroc.options import Missing, same
from fairroc.people.door import people_of_family, read_people
from fairroc.people.factorise import as_column, group_codes
from fairroc.people.people import People
from fairroc.people.rows import ScoreColumns, read_columns, same_length
from fairroc.people.small import MERGED
from fairroc.people.spread import Family, SpreadRows, named_features


def families_of(
    sensitive_features: Any,
    control_features: Any = None,
    *,
    each: bool = False,
    missing: Missing = "error",
    compared: Sequence[Compared] = (),
) -> tuple[Family, ...]:
    """Whom to compare: the groups of every attribute (``each``) or their intersections, inside every stratum.

    Groups that a fit made one are one here too: ``compared`` tells of it.
    """
    attributes = named_features(sensitive_features, "sensitive_features")
    controls = {} if control_features is None else named_features(control_features, "control_features")
    same_length(
        **{f"sensitive_features[{name!r}]": column for name, column in attributes.items()},
        **{f"control_features[{name!r}]": column for name, column in controls.items()},
    )
    crossed = (
        {name: {name: column} for name, column in attributes.items()} if each else {" & ".join(attributes): attributes}
    )
    return _families(crossed, controls, missing, compared)


def _families(
    crossed: Mapping[str, dict[str, Any]], controls: dict[str, Any], missing: Missing, compared: Sequence[Compared]
) -> tuple[Family, ...]:
    """The same from columns: those of controls, and those of every attribute or intersection."""
    strata: list[tuple[str | None, Any]] = [(None, slice(None))]
    if controls:
        inside, names = group_codes(controls, missing)
        strata = [(name, np.flatnonzero(inside == code)) for code, name in enumerate(names)]
    merged = {(one.attribute, one.stratum): {group.name for group in one.groups} for one in compared}
    found = []
    for name, columns in crossed.items():
        codes, groups = group_codes(columns, missing)
        for stratum, rows in strata:
            known = merged.get((name, stratum), set())
            there = np.unique(codes[rows]).tolist()
            called = {code: MERGED if MERGED in known and groups[code] not in known else groups[code] for code in there}
            own = np.full(len(codes), -1, dtype=np.intp)
            own[rows] = codes[rows]
            found.append(Family(name, stratum, groups, own).renamed(called))
    return tuple(found)


def people_in(family: Family, scores: NDArray[Any], labels: NDArray[Any], weights: NDArray[Any] | None) -> People:
    """The people of one family by their groups, with checked columns."""
    mine = np.flatnonzero(family.codes >= 0)
    try:
        return read_people(
            scores[mine],
            labels[mine],
            sensitive_features=np.array(family.groups)[family.codes[mine]],
            sample_weight=None if weights is None else weights[mine],
        )
    except DataError as error:
        if family.stratum is None:
            raise
        raise DataError(f"within {family.stratum!r}: {error} Coarser control features have more people each.") from None


@dataclass(frozen=True, eq=False)
class Treated:
    """People as a model treats them, and whom to compare among them.

    ``columns`` are their original scores, and their segments by the model's numbers, in the order of the rows.
    """

    model: ModelData
    families: tuple[Family, ...]
    columns: ScoreColumns
    labels: BoolArray
    weights: FloatArray | None

    def before(self) -> tuple[People, ...]:
        """Every family under the original score."""
        return tuple(people_in(family, self.columns.scores, self.labels, self.weights) for family in self.families)

    def mixture(self, power: int = 1) -> tuple[Mixture, tuple[Kernel, ...]]:
        """These people by segments, and the kernel of each; the populations are all families' groups, and everybody.
        Weights to a power."""
        there, codes = np.unique(self.columns.groups, return_inverse=True)
        kernels = tuple(self.model.kernels[code] for code in there.tolist())
        lows = np.array([float(kernel.thresholds[-1]) for kernel in kernels])
        rows = SpreadRows(
            np.maximum(self.columns.scores, lows[codes]),  # scores below all fitted ones are treated like the lowest
            self.labels,
            None if self.weights is None else (self.weights / self.weights.max()) ** power,
            self.families,
            codes.astype(np.intp),
            tuple(self.model.names[code] for code in there.tolist()),
            np.zeros(len(codes), dtype=np.intp),
            ("everybody",),
        )
        return rows.mixture(), kernels

    def realised(self, power: int = 1) -> tuple[RealisedRoc, ...]:
        """What a model that changes the score does to every group, and to everybody (the last): exact shares over the
        draw at every place."""
        mixture, kernels = self.mixture(power)
        return tuple(mixture.realised(kernels, p) for p in range(len(mixture.priors)))

    def expected(self) -> tuple[People, ...]:
        """The fair score of every family in expectation over the draw, as people with weights: see
        `fairroc.model.model.expected_people`."""
        before = self.before()  # raises where a group lacks a label
        if self.model.unchanged:
            return before
        every, kept, begin = self.realised(), [], 0
        for people in before:
            own = every[begin : begin + len(people.names)]
            begin += len(people.names)
            (fpr, tpr), totals = all_points(own), np.array([sample.totals for sample in people.samples])
            kept.append(people_of_steps(people.names, steps_of(fpr) * totals[:, 0], steps_of(tpr) * totals[:, 1]))
        return tuple(kept)

    def taken(self, rows: IntArray) -> Self:
        """Some of the rows."""
        return replace(
            self,
            families=tuple(family.taken(rows) for family in self.families),
            columns=ScoreColumns(self.columns.scores[rows], self.columns.groups[rows], 0),
            labels=self.labels[rows],
            weights=None if self.weights is None else self.weights[rows],
        )


@dataclass(frozen=True, eq=False)
class FamilyPeople(Treated):
    """Those new people whom one family of groups compares, and whom the model can treat.

    Attributes
    ----------
    compared : the family, as the model has it.
    others : rows of the family's people who are of no compared group, by the name of theirs.
    """

    compared: Compared
    others: dict[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        """The groups that have such people."""
        return self.families[0].groups

    @cached_property
    def people(self) -> People:
        """With their original scores."""
        return people_of_family(self.families[0], self.columns.scores, self.labels, self.weights)

    def only(self, groups: Sequence[int]) -> Self:
        """The people of some of the groups."""
        family = self.families[0].renamed({g: self.names[g] for g in groups})
        return replace(self, families=(family,)).taken(np.flatnonzero(family.codes >= 0))

    def unlabelled(self) -> Self:
        """Everybody once as a negative and once as a positive."""
        rows = np.arange(len(self.labels))
        return replace(self.taken(np.tile(rows, 2)), labels=np.repeat([False, True], len(rows)))


def treated_rows(
    model: ModelData,
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    group_probabilities: Any = None,
    on_unknown_group: str | None = None,
    **how: Any,
) -> Treated:
    """Check people whose groups are known, to be compared as the model's fit compared them; weights and positive label
    as `read_columns` takes them."""
    each, known = model.combine == "each", same(model, "missing", "compared")
    families = families_of(sensitive_features, control_features, each=each, **known)
    columns = read_columns(scores, y, sensitive_features=sensitive_features, missing=model.missing, **how)
    told = model.told(
        sensitive_features if model.use_group else None,
        group_probabilities,
        control_features if model.controls else None,
        len(columns.scores),
    )
    seen = model.read(columns.scores, told, on_unknown_group, allow_out_of_range=True)
    return Treated(model, families, replace(seen, scores=seen.scores + 0.0), columns.labels, columns.weights)


def family_people(
    model: ModelData,
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    group_probabilities: Any = None,
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    on_unknown_group: str | None = None,
    whole: bool = False,
) -> list[FamilyPeople]:
    """New people by the families of groups that a model compares; ``y`` may be None.

    People of segments that the model does not know are left out, unless ``on_unknown_group`` says whose treatment they
    get. A merged group of the fit takes everybody of a group that is not compared by itself.
    """
    rows = len(as_column(scores, "scores"))
    told = model.told(sensitive_features if model.use_group else None, group_probabilities, control_features, rows)
    y, pos_label = (np.zeros(rows, dtype=np.int8), None) if y is None else (y, pos_label)
    how = {"sensitive_features": told, "sample_weight": sample_weight, "missing": "group", "whole": whole}
    columns = read_columns(scores, y, pos_label=pos_label, **how)
    known, other = model.codes, None if on_unknown_group is None else model.codes[on_unknown_group]
    table = [known.get(name, -1 if other is None else other) for name in columns.names]
    segments = np.array(table, dtype=np.intp)[columns.groups]
    attributes = attribute_columns(model, sensitive_features)
    for column in (column for parts in attributes.values() for column in parts.values()):
        if len(column) != rows:
            raise DataError(
                f"sensitive_features must have one row for each score, got {len(column)} and {rows} scores."
            )
    controls = named_features(control_features, "control_features") if model.controls else {}
    families = _families(attributes, controls, "group", model.compared)
    used = segments >= 0
    if columns.weights is not None:
        used &= columns.weights > 0
    treated = Treated(model, (), ScoreColumns(columns.scores, segments, 0), columns.labels, columns.weights)
    there = {(family.name, family.stratum): family for family in families}
    return [_family(one, there.get((one.attribute, one.stratum)), treated, used) for one in model.compared]


def _family(one: Compared, family: Family | None, treated: Treated, used: BoolArray) -> FamilyPeople:
    """Those used rows that a family compares, given the family of all rows, if it has any."""
    if family is None:
        family = Family(one.attribute, one.stratum, (), np.full(len(used), -1))
    family, known = replace(family, codes=np.where(used, family.codes, -1)), {group.name for group in one.groups}
    counts = np.bincount(family.codes + 1, minlength=len(family.groups) + 1)[1:].tolist()
    there = [(code, name, count) for code, (name, count) in enumerate(zip(family.groups, counts, strict=True)) if count]
    others = {name: count for _, name, count in there if name not in known}
    kept = family.renamed({code: name for code, name, _ in there if name in known})
    rows = replace(treated, families=(kept,)).taken(np.flatnonzero(kept.codes >= 0))
    return FamilyPeople(treated.model, rows.families, rows.columns, rows.labels, rows.weights, one, others)


def attribute_columns(model: ModelData, sensitive_features: Any) -> dict[str, dict[str, Any]]:
    """The columns of every attribute that a model compares; with several attributes each for itself they are found by
    the names of the fit, or by their order."""
    if sensitive_features is None:
        raise DataError("sensitive_features must be given, one row for each score, got none: groups are compared.")
    given = named_features(sensitive_features, "sensitive_features")
    names = list(dict.fromkeys(one.attribute for one in model.compared))
    if len(names) == 1:
        return {names[0]: given}
    if set(names) <= set(given):
        return {name: {name: given[name]} for name in names}
    if len(given) == len(names):
        return {name: {own: column} for name, (own, column) in zip(names, given.items(), strict=True)}
    raise DataError(
        f"sensitive_features must have the columns of the fit ({several(names, ', ')}), got "
        f"{several(list(given), ', ')}. Pass them by the same names, or in the same order."
    )
