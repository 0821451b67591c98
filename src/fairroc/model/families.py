"""People as a model sees them that is not told the groups it compares: by segments, and by families of groups.

A model of ``use_group=False``, ``combine="each"`` or control features treats people by segments; the groups that it
keeps close are spread over these. Here new people are sorted into both, so that exact rates can be told of the groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, IntArray
from fairroc.core.mixture import Mixture
from fairroc.core.realised import RealisedRoc
from fairroc.errors import DataError, several
from fairroc.model.model import Compared, ModelData
from fairroc.people.door import people_of
from fairroc.people.factorise import as_column, group_codes
from fairroc.people.people import People
from fairroc.people.rows import Columns, read_columns
from fairroc.people.small import MERGED
from fairroc.people.spread import Family, SpreadRows, named_features


@dataclass(frozen=True, eq=False)
class FamilyPeople:
    """Those new people whom one family of groups compares, and whom the model can treat.

    Attributes
    ----------
    compared : the family, as the model has it.
    names : its groups that have such people.
    columns : scores (not below the lowest fitted one of the segment), labels, groups and weights.
    original : the scores as they came.
    segments : (n,) numbers of the model's segments.
    others : rows of the family's people who are of no compared group, by the name of theirs.
    """

    compared: Compared
    names: tuple[str, ...]
    columns: Columns
    original: FloatArray
    segments: IntArray
    others: dict[str, int]

    @cached_property
    def people(self) -> People:
        """With their original scores."""
        return people_of(replace(self.columns, scores=self.original))

    def only(self, groups: Sequence[int]) -> FamilyPeople:
        """The people of some of the groups."""
        table = np.full(len(self.names), -1, dtype=np.intp)
        table[list(groups)] = np.arange(len(groups))
        codes = table[self.columns.groups]
        kept = np.flatnonzero(codes >= 0)
        names = tuple(self.names[g] for g in groups)
        weights = None if self.columns.weights is None else self.columns.weights[kept]
        columns = Columns(self.columns.scores[kept], self.columns.labels[kept], codes[kept], names, weights)
        return replace(self, names=names, columns=columns, original=self.original[kept], segments=self.segments[kept])

    def unlabelled(self) -> FamilyPeople:
        """Everybody once as a negative and once as a positive."""
        one = self.columns
        scores, groups = np.tile(one.scores, 2), np.tile(one.groups, 2)
        labels = np.repeat([False, True], len(one.scores))
        weights = None if one.weights is None else np.tile(one.weights, 2)
        columns = Columns(scores, labels, groups, one.names, weights)
        return replace(self, columns=columns, original=np.tile(self.original, 2), segments=np.tile(self.segments, 2))

    def mixture(self, power: int = 1) -> tuple[Mixture, list[int]]:
        """These people by the segments that any of them is in, and the numbers of these; weights to a power."""
        there, segments = np.unique(self.segments, return_inverse=True)
        one = self.columns
        heaviest = 1.0 if one.weights is None else float(one.weights.max())
        rows = SpreadRows(
            one.scores,
            one.labels,
            None if one.weights is None else (one.weights / heaviest) ** power,
            (Family(self.compared.attribute, self.compared.stratum, self.names, one.groups.astype(np.intp)),),
            segments,
            tuple(map(str, there.tolist())),
            np.zeros(len(segments), dtype=np.intp),
            ("everybody",),
        )
        return rows.mixture(), there.tolist()

    def realised(self, model: ModelData, power: int = 1) -> tuple[RealisedRoc, ...]:
        """What a model that changes the score does to every group, and to all of them together (the last): exact
        shares over the draw at every place."""
        mixture, segments = self.mixture(power)
        kernels = [model.kernels[segment] for segment in segments]
        return tuple(mixture.realised(kernels, p) for p in range(len(mixture.priors)))


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
    columns = read_columns(
        scores,
        y,
        sensitive_features=told,
        sample_weight=sample_weight,
        pos_label=pos_label,
        missing="group",
        whole=whole,
    )
    known, other = model.codes, None if on_unknown_group is None else model.codes[on_unknown_group]
    table = [known.get(name, -1 if other is None else other) for name in columns.names]
    segments = np.array(table, dtype=np.intp)[columns.groups]
    low = columns.scores
    if model.kernels:
        lowest = np.array([kernel.thresholds[-1] for kernel in model.kernels])
        low = np.where(segments >= 0, np.maximum(columns.scores, lowest[segments]), columns.scores)
    attributes = attribute_columns(model, sensitive_features)
    strata: NDArray[Any] = np.zeros(rows, dtype=np.intp)
    strata_names: tuple[str, ...] = ("everybody",)
    if model.controls:
        strata, strata_names = group_codes(named_features(control_features, "control_features"), "group")
    used = segments >= 0
    if columns.weights is not None:
        used &= columns.weights > 0
    found = []
    for one in model.compared:
        codes, names = group_codes(attributes[one.attribute], "group")
        if len(codes) != rows:
            raise DataError(f"sensitive_features must have one row for each score, got {len(codes)} and {rows} scores.")
        inside = used.copy()
        if one.stratum is not None:
            inside &= strata == (strata_names.index(one.stratum) if one.stratum in strata_names else -1)
        found.append(_family(one, codes.astype(np.intp), names, inside, columns, low, segments))
    return found


def _family(
    one: Compared,
    codes: IntArray,
    names: tuple[str, ...],
    inside: BoolArray,
    columns: Columns,
    low: FloatArray,
    segments: IntArray,
) -> FamilyPeople:
    """The people of one family."""
    known = [group.name for group in one.groups]
    merged = known.index(MERGED) if MERGED in known else -1
    place = np.array([known.index(name) if name in known else merged for name in names], dtype=np.intp)
    group = np.where(inside, place[codes], -1)
    kept = np.flatnonzero(group >= 0)
    there = np.unique(group[kept])
    lost = np.bincount(codes[inside & (group < 0)], minlength=len(names)).tolist()
    weights = None if columns.weights is None else columns.weights[kept]
    present = tuple(known[code] for code in there.tolist())
    own = Columns(low[kept], columns.labels[kept], np.searchsorted(there, group[kept]), present, weights)
    others = {name: count for name, count in zip(names, lost, strict=True) if count}
    return FamilyPeople(one, present, own, columns.scores[kept], segments[kept], others)


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
